"""Measured speeds of training: Gavel's throughputs alone and sharing a GPU, ElasticFlow's, and Sia's step times.

What is measured more than once stays so: a data statement says by `mean` or `first` what becomes of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gpusched_dsl.data.formats.fields import POSITIVE, Field, SelectedRows, read_rows, rows_of
from gpusched_dsl.data.formats.separators import TEXT_OPTIONS
from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Option, Raw, Setting
from gpusched_dsl.data.sources.files import Fault, Unreadable, check_text
from gpusched_dsl.data.sources.json_keys import check_keys
from gsdsl_formats.training import JOB_TYPE, join_job_type, split_job_type

if TYPE_CHECKING:
    import polars as pl

_NO_GPUS = "no GPUs"
_UNFIT = Option("unfit", "include rows with a speed of 0 (the job does not fit)", False)


def _speed_format(
    name: str,
    doc: str,
    source: str,
    columns: Sequence[FormatColumn],
    read: Callable[[Raw], SelectedRows],
    speeds: Sequence[str],
) -> Format:
    """Return a table of speeds; rows of speed 0 only if requested."""

    def take(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
        assert raw is not None
        rows = read(raw)
        if not settings.get("unfit", False):
            for speed in speeds:
                rows.leave_out("a speed of 0 (the job does not fit)", rows[speed] <= 0, asked=True)
        return rows.table(c.name for c in columns)

    return Format(name, doc, tuple(columns), take, (_UNFIT, *TEXT_OPTIONS), source)


_GPU_TYPE = FormatColumn("gpu_type", "GPU model")
_NETWORK = FormatColumn("network", "trained network")
_BATCH = FormatColumn("batch_size", "samples of one iteration")
_GPUS = FormatColumn("gpus", "number of GPUs")
_SPEED = FormatColumn("speed", "iterations per time", "iteration/s")

# --- ElasticFlow -----------------------------------------------------------------------------------------------------

_ELASTICFLOW = (
    Field("gpu_type", ("gpu_type",)),
    Field("network", ("model",)),
    Field("batch_size", ("global_batch_size",), "integer", least=1),
    Field("gpus", ("num_gpus",), "integer", least=1, reason=_NO_GPUS),
    Field("speed", ("iterations_per_s",), "number", least=0),
)
ELASTICFLOW = _speed_format(
    "elasticflow_throughputs",
    "Speeds of ElasticFlow by GPU model, network, batch size of all GPUs together, and number of GPUs.",
    "pkusys/ElasticFlow (Apache-2.0): Gu et al., ASPLOS 2023",
    (_GPU_TYPE, _NETWORK, _BATCH, _GPUS, _SPEED),
    lambda raw: read_rows(raw, _ELASTICFLOW),
    ("speed",),
)

# --- Gavel -----------------------------------------------------------------------------------------------------------

_GAVEL = "stanford-futuredata/gavel (MIT): Narayanan et al., OSDI 2020"
_ALONE = (
    Field("gpu_type", ("gpu_type",)),
    Field("network", ("model",)),
    Field("batch_size", ("batch_size",), "integer", blank=True),
    Field("gpus", ("num_gpus",), "integer", least=1, reason=_NO_GPUS),
    Field("speed", ("iters_per_s",), "number", least=0),
)
_TOGETHER = (
    Field("gpu_type", ("gpu_type",)),
    Field("network", ("model1",)),
    Field("batch_size", ("batch1",), "integer", blank=True),
    Field("gpus", ("num_gpus1",), "integer", least=1, reason=_NO_GPUS),
    Field("other_network", ("model2",)),
    Field("other_batch_size", ("batch2",), "integer", blank=True),
    Field("other_gpus", ("num_gpus2",), "integer", least=1, reason=_NO_GPUS),
    Field("speed", ("iters_per_s1",), "number", least=0),
    Field("other_speed", ("iters_per_s2",), "number", least=0),
)
_KEY = r"^\('(.*)', (\d+)\)$"


def _is_json(raw: Raw) -> bool:
    return raw.data.lstrip().startswith(b"{")


def _document(raw: Raw) -> dict[str, dict[str, dict[str, Any]]]:
    """GPU model -> job -> "null" or another job -> speeds; raises Unreadable (GSM2008) where it is not so."""
    raw.limits.allow_json(raw.data, raw.name)
    try:
        found = json.loads(check_text(raw.name, raw.data))
        sound = isinstance(found, dict) and all(
            isinstance(jobs, dict) and all(isinstance(others, dict) for others in jobs.values())
            for jobs in found.values()
        )
    except (ValueError, RecursionError) as error:
        note = str(error) or type(error).__name__
        raise Unreadable(Fault("GSM2008", f"data file `{raw.name}` is not JSON", notes=(note,))) from None
    if not sound:
        message = f"data file `{raw.name}` does not contain speeds in the form of Gavel"
        raise Unreadable(
            Fault("GSM2008", message, help="speeds must be indexed by GPU model, job, and `null` or another job")
        )
    check_keys(raw.name, raw.data)
    return dict(found)


def _rows_of_json(raw: Raw, together: bool) -> SelectedRows:
    """One row for each number, or pair of numbers, of the document; rows are counted instead of lines."""
    import numpy as np
    import polars as pl

    entries = [
        (gpu, job, other, speeds)
        for gpu, jobs in _document(raw).items()
        for job, others in jobs.items()
        for other, speeds in others.items()
        if (other != "null") == together
    ]
    texts: dict[str, list[str | None]] = {
        "gpu_type": [gpu for gpu, _, _, _ in entries],
        "key": [job for _, job, _, _ in entries],
        "speed": [_cell(speeds, 0, together) for _, _, _, speeds in entries],
    }
    fields = [Field("gpu_type", ()), Field("key", ()), Field("speed", (), "number", least=0)]
    if together:
        texts["other_key"] = [other for _, _, other, _ in entries]
        texts["other_speed"] = [_cell(speeds, 1, together) for _, _, _, speeds in entries]
        fields += [Field("other_key", ()), Field("other_speed", (), "number", least=0)]
    columns = {name: pl.Series(name, cells, dtype=pl.String) for name, cells in texts.items()}
    rows = rows_of(columns, np.arange(1, len(entries) + 1), fields)
    for prefix in ("", "other_") if together else ("",):
        key = rows[f"{prefix}key"]
        rows.leave_out("a job that is not `('model', GPUs)`", ~key.str.contains(_KEY))
        key = rows[f"{prefix}key"]
        rows.put(
            key.str.extract(_KEY, 1).alias(f"{prefix}job_type"),
            key.str.extract(_KEY, 2).cast(pl.Int64, strict=False).alias(f"{prefix}gpus"),
        )
        rows.leave_out(_NO_GPUS, rows[f"{prefix}gpus"].fill_null(0) < 1)
        split_job_type(rows, f"{prefix}job_type", f"{prefix}network", f"{prefix}batch_size")
    return rows


def _cell(speeds: object, place: int, together: bool) -> str | None:
    """A number of the document as the text that any other file would have."""
    if together:
        speeds = speeds[place] if isinstance(speeds, list) and len(speeds) == 2 else "no pair"
    return None if speeds is None else str(speeds)


def _read_alone(raw: Raw) -> SelectedRows:
    if _is_json(raw):
        return _rows_of_json(raw, together=False)
    rows = read_rows(raw, _ALONE)
    join_job_type(rows, "job_type")
    return rows


def _read_together(raw: Raw) -> SelectedRows:
    if _is_json(raw):
        return _rows_of_json(raw, together=True)
    rows = read_rows(raw, _TOGETHER)
    join_job_type(rows, "job_type")
    join_job_type(rows, "other_job_type", "other_network", "other_batch_size")
    return rows


GAVEL = _speed_format(
    "gavel_throughputs",
    "Speeds of Gavel's jobs alone on their GPUs; CSV or the original JSON.",
    _GAVEL,
    (_GPU_TYPE, JOB_TYPE, _NETWORK, _BATCH, _GPUS, _SPEED),
    _read_alone,
    ("speed",),
)

GAVEL_COLOCATED = _speed_format(
    "gavel_colocated",
    "Speeds of two of Gavel's jobs that share their GPUs; CSV or the original JSON.",
    _GAVEL,
    (
        _GPU_TYPE,
        JOB_TYPE,
        _NETWORK,
        _BATCH,
        _GPUS,
        _SPEED,
        FormatColumn("other_job_type", "the other job, as `job_type`"),
        FormatColumn("other_network", "trained network of the other job"),
        FormatColumn("other_batch_size", "its batch size"),
        FormatColumn("other_gpus", "its GPUs"),
        FormatColumn("other_speed", "its iterations per time", "iteration/s"),
    ),
    _read_together,
    ("speed", "other_speed"),
)

# --- Sia and Pollux --------------------------------------------------------------------------------------------------

_SIA = "siasosp23/artifacts, on petuum/adaptdl (Apache-2.0): Subramanya et al., SOSP 2023"
_STEP = (
    Field("step_time", ("step_time",), "number", least=POSITIVE, reason="no step time"),
    Field("sync_time", ("sync_time",), "number", least=0),
)
_PLACEMENTS = (
    Field("network", ("model",)),
    Field("cluster", ("cluster",)),
    Field("layout", ("placement",)),
    Field("batch_size", ("local_bsz",), "integer", least=1),
    *_STEP,
)
_SCALABILITY = (
    Field("network", ("model",)),
    Field("cluster", ("cluster",)),
    Field("nodes", ("num_nodes",), "integer", least=1),
    Field("gpus", ("num_replicas",), "integer", least=1, reason=_NO_GPUS),
    Field("batch_size", ("local_bsz",), "integer", least=1),
    *_STEP,
)
_COMMON = (
    _NETWORK,
    FormatColumn("cluster", "type of nodes, such as aws, dgx, rtx"),
    FormatColumn("nodes", "number of nodes"),
    _GPUS,
    FormatColumn("batch_size", "samples of one iteration on one GPU"),
    FormatColumn("step_time", "time of one iteration", "s"),
    FormatColumn("sync_time", "part of this time for synchronisation", "s"),
)


def _sia_placements(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    """A layout is a digit for each node: its replicas."""
    import polars as pl

    assert raw is not None
    rows = read_rows(raw, _PLACEMENTS)
    rows.leave_out("a layout that is not a sequence of digits", ~rows["layout"].str.contains(r"^[1-9]+$"))
    rows.put(rows["layout"].str.len_chars().cast(pl.Int64).alias("nodes"))
    digits: pl.Expr = pl.sum_horizontal(pl.col("layout").str.count_matches(str(d)) * d for d in range(1, 10))
    rows.put(digits.cast(pl.Int64).alias("gpus"))
    return rows.table(c.name for c in SIA_PLACEMENTS.columns)


def _sia_scalability(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    assert raw is not None
    rows = read_rows(raw, _SCALABILITY)
    return rows.table(c.name for c in _COMMON)


SIA_PLACEMENTS = Format(
    "sia_placements",
    "Step times of Pollux and Sia by the number of replicas on each node.",
    (
        _COMMON[0],
        _COMMON[1],
        FormatColumn("layout", "one digit for each node, its number of replicas: `44`"),
        *_COMMON[2:],
    ),
    _sia_placements,
    TEXT_OPTIONS,
    _SIA,
)
SIA_SCALABILITY = Format(
    "sia_scalability",
    "Step times of Pollux and Sia by nodes and replicas; some occur twice; use their `mean`.",
    _COMMON,
    _sia_scalability,
    TEXT_OPTIONS,
    _SIA,
)

FORMATS = MappingProxyType({f.name: f for f in (ELASTICFLOW, GAVEL, GAVEL_COLOCATED, SIA_PLACEMENTS, SIA_SCALABILITY)})
