"""Traces of shared GPU clusters: Philly, Helios, Alibaba openb and PAI."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gpusched_dsl.data.formats.fields import POSITIVE, Field, SelectedRows, header_of, optional_field, read_rows
from gpusched_dsl.data.formats.jobs import trace
from gpusched_dsl.data.formats.separators import TEXT_OPTIONS
from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Option, Raw, Setting
from gsdsl_formats.philly_log import read_log

_NO_GPUS, _NO_TIME = "no GPUs", "no duration"


def _gpus(*sources: str, least: float = 1) -> Field:
    return Field("gpus", sources, "integer", least=least, reason=_NO_GPUS if least == 1 else "negative number of GPUs")


def _duration(*sources: str, scale: float = 1.0) -> Field:
    return Field("duration", sources, "number", scale, least=POSITIVE, reason=_NO_TIME)


_PHILLY = (
    Field("submitted", ("submit_time", "submitted_time"), "clock"),
    _gpus("num_gpus", "num_gpu"),
    _duration("duration_s", "duration"),
    optional_field("nodes", ("num_nodes",), "integer"),
    optional_field("job", ("job_id", "jobid"), "label"),
    optional_field("vc", ("vc",)),
    optional_field("status", ("status",)),
    optional_field("user", ("user",)),
    optional_field("gpu_time", ("gpu_time_gpu_s",), "number"),
)


def _read_attempts(raw: Raw) -> SelectedRows:
    """The original log, a row for each attempt."""
    return read_log(raw, _ATTEMPTS, attempts=True)


def _read_philly(raw: Raw) -> SelectedRows:
    """A CSV table of jobs, or the original log in JSON."""
    return read_log(raw, _PHILLY) if raw.data.lstrip().startswith(b"[") else read_rows(raw, _PHILLY)


_ATTEMPTS = (
    *_PHILLY,
    Field("started", ("start_time",), "number"),
    Field("attempt", ("attempt",), "integer"),
    Field("of_job", ("of_job",)),
)
PHILLY_ATTEMPTS = trace(
    "philly_attempts",
    "Attempts of Philly's jobs in the original `cluster_job_log`: each runs as a job, after the former one.",
    tuple(f for f in _ATTEMPTS if f.name != "gpu_time"),
    "msr-fiddle/philly-traces (CC-BY-4.0): Jeon et al., USENIX ATC 2019",
    read=_read_attempts,
    more_columns=(
        FormatColumn("submitted", "submission of the job, or the end of the former attempt", "s"),
        FormatColumn("started", "start of the attempt, on the clock of `submitted`", "s"),
        FormatColumn("status", "Failed for an attempt that another one follows, else the final status of the job"),
        FormatColumn("attempt", "number of the attempt, from 1"),
        FormatColumn("of_job", "the job of the attempt"),
    ),
    text_options=(),
)

PHILLY = trace(
    "philly",
    "Jobs of Microsoft's Philly clusters (2017): the original `cluster_job_log`, or a CSV table of them.",
    _PHILLY,
    "msr-fiddle/philly-traces (CC-BY-4.0): Jeon et al., USENIX ATC 2019",
    read=_read_philly,
)


_HELIOS = (
    Field("job", ("job_id",), "label"),
    _gpus("num_gpus", "gpu_num"),
    _duration("duration_s", "duration"),
    optional_field("nodes", ("num_nodes", "node_num"), "integer"),
    optional_field("cpus", ("cpu_num",), "number"),
    Field("status", ("final_status", "state")),
    optional_field("vc", ("vc",)),
    optional_field("user", ("user",)),
    optional_field("wait", ("queue",), "number"),
)
WAIT = FormatColumn("wait", "time from submission to start", "s")


def _read_helios(raw: Raw) -> SelectedRows:
    """The published logs have `submit_time` as date and time, cuts of it `submit_time_s` in seconds."""
    seconds = Field("submitted", ("submit_time_s",), "number")
    clock = Field("submitted", ("submit_time",), "clock")
    return read_rows(raw, (seconds if "submit_time_s" in header_of(raw) else clock, *_HELIOS))


HELIOS = trace(
    "helios",
    "Jobs of SenseTime's Helios clusters (2020).",
    (Field("submitted", ("submit_time_s",), "number"), *_HELIOS),
    "S-Lab-System-Group/HeliosData (CC-BY-4.0): Hu et al., SC 2021",
    read=_read_helios,
    more_columns=(WAIT,),
)

PAI = trace(
    "pai",
    "Jobs of Alibaba PAI (2020) as sampled by GAIA: hours, and the width as GPUs.",
    (
        Field("submitted", ("arrival_h", "arrival_time"), "number", 3600.0),
        _gpus("width", "cpus"),
        _duration("duration_h", "length", scale=3600.0),
    ),
    "umassos/GAIA (MIT), from alibaba/clusterdata cluster-trace-gpu-v2020 (CC-BY-4.0): Weng et al., NSDI 2022",
)


# --- openb -----------------------------------------------------------------------------------------------------------

_OPENB = "alibaba/clusterdata cluster-trace-gpu-v2023: Weng et al., USENIX ATC 2023"
_LEAST_GPUS = Option("least_gpus", "only jobs with at least this number of GPUs", 1, least=0)


def _drop_small_jobs(rows: SelectedRows, settings: Mapping[str, Setting]) -> None:
    least = settings.get("least_gpus", 1)
    assert isinstance(least, int)
    rows.leave_out(f"fewer than {least} GPUs", rows["gpus"] < least, asked=True)


def _openb_pods(rows: SelectedRows, settings: Mapping[str, Setting]) -> None:
    """Pods run from when they are scheduled to when they are deleted."""
    _drop_small_jobs(rows, settings)
    rows.leave_out("never started", rows["started"].is_null())
    rows.put((rows["deleted"] - rows["started"]).alias("duration"))
    rows.leave_out(_NO_TIME, rows["duration"] <= 0)


OPENB_PODS = trace(
    "openb_pods",
    "Pods of Alibaba's heterogeneous GPU cluster openb (2023), with shares of GPUs and allowed GPU models.",
    (
        Field("job", ("name",), "label"),
        Field("submitted", ("creation_time",), "number"),
        _gpus("num_gpu", least=0),
        Field("deleted", ("deletion_time",), "number"),
        Field("started", ("scheduled_time",), "number", blank=True),
        optional_field("gpu_share", ("gpu_milli",), "number", 1e-3),
        optional_field("gpu_types", ("gpu_spec",)),
        optional_field("cpus", ("cpu_milli",), "number", 1e-3),
        optional_field("memory", ("memory_mib",), "number"),
        optional_field("status", ("pod_phase",)),
        optional_field("qos", ("qos",)),
    ),
    _OPENB,
    change=_openb_pods,
    more_columns=(
        FormatColumn("duration", "time from start to deletion", "s"),
        FormatColumn("qos", "class of service: LS, BE, Burstable, Guaranteed"),
    ),
    more_options=(_LEAST_GPUS,),
)

_NODE_FIELDS = (
    Field("node", ("sn",), "label"),
    _gpus("gpu", least=0),
    optional_field("gpu_type", ("model",)),
    optional_field("cpus", ("cpu_milli",), "number", 1e-3),
    optional_field("memory", ("memory_mib",), "number"),
)


def _openb_nodes(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    assert raw is not None
    rows = read_rows(raw, _NODE_FIELDS)
    rows.keep_first("node")
    _drop_small_jobs(rows, settings)
    return rows.table(f.name for f in _NODE_FIELDS)


OPENB_NODES = Format(
    "openb_nodes",
    "Nodes of Alibaba's heterogeneous GPU cluster openb (2023).",
    (
        FormatColumn("node", "the node"),
        FormatColumn("gpus", "its GPUs"),
        FormatColumn("gpu_type", "their model"),
        FormatColumn("cpus", "its CPU cores"),
        FormatColumn("memory", "its main memory", "MiB"),
    ),
    _openb_nodes,
    (_LEAST_GPUS, *TEXT_OPTIONS),
    _OPENB,
)

FORMATS = MappingProxyType({f.name: f for f in (PHILLY, PHILLY_ATTEMPTS, HELIOS, PAI, OPENB_PODS, OPENB_NODES)})
