"""Traces of clusters for large models: Acme (2023), and Alibaba's spot GPUs and image generation (2026)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gpusched_dsl.data.formats.fields import POSITIVE, Field, SelectedRows, optional_field, read_rows
from gpusched_dsl.data.formats.jobs import trace
from gpusched_dsl.data.formats.separators import TEXT_OPTIONS
from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Raw, Setting

_STARTED = FormatColumn("started", "start, on the clock of `submitted`", "s")


def _read_acme(raw: Raw) -> SelectedRows:
    """Times have offsets of their own. A job runs from its start to its end.

    In the table of Kalos, `duration` includes the time in the queue, against its description.
    """
    import polars as pl

    from gpusched_dsl.data.formats.moments import midnight_before, times_of

    rows = read_rows(raw, _ACME_TEXTS)
    names = ("submitted", "started", "ended")
    found = {name: times_of(rows[name], "UTC", "ymd") for name in names}
    for name in names:
        times = found[name]
        wrong = pl.Series(f"_{name} wrong", times.wrong | times.skipped)
        rows.put(pl.Series(name, times.micros / 1e6).set(~pl.Series(times.has_value), None), wrong)
    for name in names:
        rows.leave_out(f"{name} is not a time", rows[f"_{name} wrong"], column=name)
    rows.leave_out("never started", rows["started"].is_null() | rows["ended"].is_null())
    first = rows["submitted"].min()
    if isinstance(first, float):
        zero = midnight_before(int(first * 1e6), "UTC") / 1e6
        rows.put(*(rows[name] - zero for name in names))
        rows.facts.append(f"UnixStartTime: {zero:.0f}")
    rows.put((rows["ended"] - rows["started"]).alias("duration"))
    rows.leave_out("no duration", rows["duration"] <= 0)
    return rows


_ACME_TEXTS = (
    Field("job", ("job_id",), "label"),
    Field("submitted", ("submit_time",)),
    Field("started", ("start_time",), blank=True),
    Field("ended", ("end_time",), blank=True),
    Field("gpus", ("gpu_num",), "integer", least=1, reason="no GPUs"),
    optional_field("nodes", ("node_num",), "integer"),
    optional_field("cpus", ("cpu_num",), "number"),
    optional_field("user", ("user",)),
    optional_field("status", ("state",)),
    optional_field("workload", ("type",)),
)
ACME = trace(
    "acme",
    "Jobs of Acme's clusters Seren and Kalos (2023), `trace_seren.csv` and `trace_kalos.csv`.",
    (*_ACME_TEXTS, Field("duration", ("end_time",), "number")),
    "InternLM/AcmeTrace (CC-BY-4.0): Hu et al., NSDI 2024",
    read=_read_acme,
    more_columns=(
        _STARTED,
        FormatColumn("ended", "end, on the clock of `submitted`", "s"),
        FormatColumn("duration", "time from start to end", "s"),
        FormatColumn("workload", "type of the workload, such as Pretrain or Evaluation"),
    ),
)


def _spot_jobs(rows: SelectedRows, settings: Mapping[str, Setting]) -> None:
    """A job has the GPUs of all of its workers."""
    rows.put((rows["gpus"] * rows["workers"]).alias("gpus"))


_SPOT = "alibaba/clusterdata cluster-trace-v2026-spot-gpu: Duan et al., ASPLOS 2026"
SPOT_JOBS = trace(
    "spot_gpu",
    "Jobs of Alibaba's cluster with spot GPUs (2026), `job_info_df.csv`.",
    (
        Field("job", ("job_name",), "label"),
        Field("submitted", ("submit_time",), "number"),
        Field("gpus", ("gpu_request",), "integer", least=1, reason="no GPUs"),
        Field("workers", ("worker_num",), "integer", least=1, reason="no workers"),
        Field("duration", ("duration",), "number", least=POSITIVE, reason="no duration"),
        optional_field("cpus", ("cpu_request",), "number"),
        optional_field("vc", ("organization",)),
        optional_field("gpu_types", ("gpu_model",)),
        optional_field("qos", ("job_type",)),
    ),
    _SPOT,
    change=_spot_jobs,
    more_columns=(
        FormatColumn("gpus", "requested GPUs of all workers"),
        FormatColumn("workers", "number of workers"),
        FormatColumn("cpus", "CPU cores of a worker"),
        FormatColumn("vc", "the organisation that pays"),
        FormatColumn("qos", "HP (high priority) or Spot"),
    ),
)

_SPOT_NODES = (
    Field("node", ("node_name",), "label"),
    Field("gpus", ("gpu_capacity_num",), "integer", least=0),
    optional_field("gpu_type", ("gpu_model",)),
    optional_field("cpus", ("cpu_num",), "number"),
)


def _read_spot_nodes(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    assert raw is not None
    rows = read_rows(raw, _SPOT_NODES)
    rows.keep_first("node")
    return rows.table(f.name for f in _SPOT_NODES)


SPOT_NODES = Format(
    "spot_gpu_nodes",
    "Nodes of Alibaba's cluster with spot GPUs (2026), `node_info_df.csv`.",
    (
        FormatColumn("node", "the node"),
        FormatColumn("gpus", "its GPUs"),
        FormatColumn("gpu_type", "their model"),
        FormatColumn("cpus", "its CPU cores"),
    ),
    _read_spot_nodes,
    TEXT_OPTIONS,
    _SPOT,
)


def _one_gpu(rows: SelectedRows, settings: Mapping[str, Setting]) -> None:
    """Each request occupies one GPU: the trace states no other number."""
    import polars as pl

    rows.put(pl.lit(1, pl.Int64).alias("gpus"))


GENAI = trace(
    "genai_requests",
    "Requests for images to Alibaba's service (2026), `lora_request_trace.csv`; each is read as a job on one GPU.",
    (
        Field("submitted", ("gmt_create",), "clock"),
        Field("duration", ("exec_time_seconds",), "number", least=POSITIVE, reason="no duration"),
        optional_field("user", ("groupId",)),
        optional_field("network", ("checkpoint_model_version_id",)),
        optional_field("batch_size", ("num_images_per_prompt",), "number"),
        optional_field("iterations", ("num_inference_steps",), "number"),
        optional_field("status", ("predict_status",)),
        optional_field("kind", ("predict_type",)),
        optional_field("adapters", ("num_lora",), "integer"),
    ),
    "alibaba/clusterdata cluster-trace-v2026-GenAI: Lin et al., SoCC 2025",
    change=_one_gpu,
    more_columns=(
        FormatColumn("gpus", "1"),
        FormatColumn("network", "the base model"),
        FormatColumn("batch_size", "images of a request"),
        FormatColumn("iterations", "steps of diffusion", "iteration"),
        FormatColumn("kind", "kind of request: TXT_2_IMG, IMG_2_IMG, INPAINTING"),
        FormatColumn("adapters", "number of LoRA adapters"),
    ),
)

FORMATS = MappingProxyType({f.name: f for f in (ACME, SPOT_JOBS, SPOT_NODES, GENAI)})
