"""Traces of training jobs with their networks: Gavel, Shockwave, Sia and Pollux, Tiresias."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gpusched_dsl.data.formats.fields import POSITIVE, Field, SelectedRows, header_of, optional_field, read_rows
from gpusched_dsl.data.formats.jobs import trace
from gpusched_dsl.data.formats.lines import read_lines
from gpusched_dsl.data.formats.separators import TEXT_OPTIONS
from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Raw, Setting

_NO_GPUS, _NO_TIME, _NO_STEPS = "no GPUs", "no duration", "no iterations"
JOB_TYPE = FormatColumn("job_type", "network and batch size in the form of Gavel, `ResNet-18 (batch size 32)`")
_SLO = FormatColumn("slo", "allowed time as a multiple of its duration; empty: no limit")
_GAVEL = "stanford-futuredata/gavel (MIT): Narayanan et al., OSDI 2020"

# The lines of .trace files, by the number of their cells.
_LAYOUTS = MappingProxyType(
    {
        7: ("job_type", "command", "steps_argument", "needs_data", "iterations", "submitted", "gpus"),
        10: ("job_type", "command", "folder", "steps_argument", "needs_data", "iterations", "gpus", "weight", "slo",
             "submitted"),
        12: ("job_type", "command", "folder", "steps_argument", "needs_data", "iterations", "gpus", "mode", "weight",
             "slo", "duration", "submitted"),
    }
)  # fmt: skip


def split_job_type(rows: SelectedRows, source: str, network: str = "network", batch: str = "batch_size") -> None:
    """`ResNet-18 (batch size 32)` as a network and a batch size; without one the batch size is not given."""
    import polars as pl

    column = rows[source]
    pattern = r"^(.*?)(?: \(batch size (\d+)\))?$"
    rows.put(column.str.extract(pattern, 1).alias(network), column.str.extract(pattern, 2).cast(pl.Int64).alias(batch))


def join_job_type(rows: SelectedRows, target: str, network: str = "network", batch: str = "batch_size") -> None:
    """The other way round."""
    import polars as pl

    joined = pl.format("{} (batch size {})", network, batch)
    rows.put(pl.when(pl.col(batch).is_null()).then(pl.col(network)).otherwise(joined).alias(target))


def _read(raw: Raw, fields: tuple[Field, ...]) -> SelectedRows:
    """Read CSV with a header, or the original lines with cells separated by tabs."""
    if len(header_of(raw, "\t")) == 1 or "model" in header_of(raw):
        rows = read_rows(raw, fields)
        join_job_type(rows, "job_type")
        return rows
    rows = read_lines(raw, _LAYOUTS, (Field("job_type", ("job_type",)), *fields), "\t")
    split_job_type(rows, "job_type")
    return rows


def _clear_undefined_slo(rows: SelectedRows, settings: Mapping[str, Setting]) -> None:
    import polars as pl

    if "slo" in rows:
        rows.put(pl.when(pl.col("slo") >= 0).then(pl.col("slo")).alias("slo"))


_SHARED = (
    Field("network", ("model",)),
    Field("batch_size", ("batch_size",), "integer", blank=True),
    Field("iterations", ("total_steps",), "number", least=POSITIVE, reason=_NO_STEPS),
    Field("gpus", ("num_gpus",), "integer", least=1, reason=_NO_GPUS),
    Field("submitted", ("arrival_s",), "number"),
    optional_field("weight", ("priority_weight",), "number"),
    optional_field("slo", ("slo",), "number"),
)
_SHOCKWAVE = (
    *_SHARED,
    Field("duration", ("duration_s",), "number", least=POSITIVE, reason=_NO_TIME),
    optional_field("mode", ("batch_size_mode",)),
)

GAVEL = trace(
    "gavel",
    "Jobs of Gavel, as CSV or as its original `.trace` lines of 7 or 10 cells.",
    _SHARED,
    _GAVEL,
    change=_clear_undefined_slo,
    more_columns=(JOB_TYPE, _SLO),
    read=lambda raw: _read(raw, _SHARED),
)

SHOCKWAVE = trace(
    "shockwave",
    "Jobs of Shockwave, with changing batch sizes; as CSV or as its original `.trace` lines of 12 cells.",
    _SHOCKWAVE,
    "uw-mad-dash/shockwave (MIT): Zheng et al., NSDI 2023",
    change=_clear_undefined_slo,
    more_columns=(JOB_TYPE, _SLO, FormatColumn("mode", "mode of changes of its batch size: static, accordion, gns")),
    read=lambda raw: _read(raw, _SHOCKWAVE),
)

SIA = trace(
    "sia",
    "Workloads of Pollux and Sia.",
    (
        Field("job", ("name",), "label"),
        Field("submitted", ("time",), "number"),
        Field("network", ("application",)),
        Field("gpus", ("num_replicas",), "integer", least=1, reason=_NO_GPUS),
        optional_field("batch_size", ("batch_size",), "integer"),
    ),
    "siasosp23/artifacts, on petuum/adaptdl (Apache-2.0): Subramanya et al., SOSP 2023",
)

_TIRESIAS = "SymbioticLab/Tiresias (Apache-2.0): Gu et al., NSDI 2019"
TIRESIAS = trace(
    "tiresias",
    "Sample workloads of Tiresias.",
    (
        Field("job", ("job_id",), "label"),
        Field("submitted", ("submit_time",), "number"),
        Field("gpus", ("num_gpu",), "integer", least=1, reason=_NO_GPUS),
        Field("duration", ("duration",), "number", least=POSITIVE, reason=_NO_TIME),
        optional_field("network", ("model_name",)),
        Field("iterations", ("iterations",), "number", needed=False, least=POSITIVE, reason=_NO_STEPS),
    ),
    _TIRESIAS,
)

_CLUSTER = tuple(
    Field(name, (source,), "integer", least=least)
    for name, source, least in (
        ("switches", "num_switch", 1),
        ("per_switch", "num_node_p_switch", 1),
        ("gpus", "num_gpu_p_node", 0),
        ("cpus", "num_cpu_p_node", 0),
        ("memory", "mem_p_node", 0),
    )
)
_MOST_NODES = 1_000_000


def _tiresias_nodes(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    """One row for each node of the clusters that the file describes, numbered from 1."""
    import polars as pl

    assert raw is not None
    rows = read_rows(raw, _CLUSTER)
    count = rows["switches"] * rows["per_switch"]
    rows.leave_out(f"more than {_MOST_NODES} nodes", (count > _MOST_NODES) | (count <= 0))
    rows.put((rows["switches"] * rows["per_switch"]).alias("count"))
    rows.put(rows.frame.select(pl.int_ranges(0, pl.col("count"))).to_series().alias("place"))
    rows.frame = rows.frame.explode("place")
    rows.put((pl.col("place") // pl.col("per_switch") + 1).alias("switch"))
    rows.put(pl.int_range(1, rows.frame.height + 1, eager=True).alias("node"))
    return rows.table(("node", "switch", "gpus", "cpus", "memory"))


TIRESIAS_NODES = Format(
    "tiresias_nodes",
    "Clusters of Tiresias, `n32g4.csv`: one row per node.",
    (
        FormatColumn("node", "number of the node, from 1"),
        FormatColumn("switch", "number of its switch"),
        FormatColumn("gpus", "its GPUs"),
        FormatColumn("cpus", "its CPU cores"),
        FormatColumn("memory", "its main memory", "GB"),
    ),
    _tiresias_nodes,
    TEXT_OPTIONS,
    _TIRESIAS,
)

FORMATS = MappingProxyType({f.name: f for f in (GAVEL, SHOCKWAVE, SIA, TIRESIAS, TIRESIAS_NODES)})
