"""Traces of jobs with deadlines: those of ElasticFlow and Chronus, and instances of the random greedy (GPUspb)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gpusched_dsl.data.formats.fields import HUGE, POSITIVE, Field, SelectedRows, optional_field, read_rows
from gpusched_dsl.data.formats.jobs import select_jobs, trace
from gpusched_dsl.data.formats.separators import TEXT_OPTIONS
from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Raw, Setting

_NO_GPUS, _NO_TIME = "no GPUs", "no duration"

ELASTICFLOW = trace(
    "elasticflow",
    "Jobs of Microsoft's ITP clusters (2021) with the deadlines, networks and iterations of ElasticFlow.",
    (
        Field("job", ("job_id",), "label"),
        Field("submitted", ("submission_time",), "number"),
        Field("gpus", ("num_gpu",), "integer", least=1, reason=_NO_GPUS),
        Field("duration", ("duration",), "number", least=POSITIVE, reason=_NO_TIME),
        Field("deadline", ("deadline",), "number"),
        optional_field("network", ("model_name",)),
        optional_field("batch_size", ("batch_size",), "integer"),
        Field("iterations", ("num_iteration",), "number", needed=False, least=POSITIVE, reason="no iterations"),
    ),
    "microsoft/elasticflow-traces (MIT): Gu et al., ASPLOS 2023",
)

# --- Chronus ---------------------------------------------------------------------------------------------------------

_CHRONUS_FIELDS = (
    Field("job", ("job_id",), "label"),
    Field("submitted", ("submit_time",), "number", 60.0),
    Field("gpus", ("num_gpu",), "integer", least=1, reason=_NO_GPUS),
    Field("duration", ("duration",), "number", 60.0, least=POSITIVE, reason=_NO_TIME),
    Field("expected", ("expect_time_list",)),
    Field("values", ("expect_value_list",)),
    Field("best_effort", ("best_effort",), "integer", least=0),
    optional_field("kind", ("job_type",)),
    optional_field("network", ("model_name",)),
    Field("iterations", ("iterations",), "number", needed=False, least=POSITIVE, reason="no iterations"),
    optional_field("vc", ("user", "vc")),
)


def _steps(rows: SelectedRows) -> None:
    """The curve of each row as lists of seconds after the submission and of values; rows without one are left out.

    A job of best effort has no deadline: its list repeats the submission.
    """
    import polars as pl

    lists = {
        name: rows[source].str.split("-").list.eval(pl.element().cast(pl.Float64, strict=False))
        for name, source in (("times", "expected"), ("worths", "values"))
    }
    rows.put(*(series.alias(name) for name, series in lists.items()))
    times, worths = rows["times"], rows["worths"]
    broken = times.list.len() != worths.list.len()
    for numbers in (times, worths):
        sound = numbers.list.eval((pl.element().abs() < HUGE).fill_null(False).all())
        broken |= ~sound.list.first().fill_null(False)
    rows.leave_out("an invalid curve of values", broken)


def _chronus(rows: SelectedRows, settings: Mapping[str, Setting]) -> None:
    """The first step of the curve is the deadline: until then the job has its full value."""
    import polars as pl

    _steps(rows)
    due = rows["times"].list.first() * 60.0 + rows["submitted"]
    rows.put(due.alias("deadline"), rows["worths"].list.first().alias("value"))
    without = pl.col("best_effort") != 0
    rows.put(*(pl.when(without).then(None).otherwise(pl.col(name)).alias(name) for name in ("deadline", "value")))


_CHRONUS_SOURCE = "S-Lab-System-Group/ChronusArtifact (MIT): Gao et al., SoCC 2021"
_KIND = FormatColumn("kind", "strict, soft, or best for jobs without a deadline")

CHRONUS = trace(
    "chronus",
    "Philly jobs with the deadlines and values of Chronus; best-effort jobs have neither.",
    _CHRONUS_FIELDS,
    _CHRONUS_SOURCE,
    change=_chronus,
    more_columns=(
        FormatColumn("deadline", "the first step of its curve of values", "s"),
        FormatColumn("value", "its value until then"),
        FormatColumn("best_effort", "1 if it has no deadline"),
        _KIND,
    ),
)


def _chronus_values(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    """One row for each step of the curve of each job that has deadlines, of the jobs that `chronus` would give."""
    import polars as pl

    assert raw is not None
    rows = read_rows(raw, _CHRONUS_FIELDS)
    _chronus(rows, settings)
    select_jobs(rows, settings, raw.name)
    rows.leave_out("best effort", rows["best_effort"] != 0, asked=True)
    rows.put((rows["times"].list.eval(pl.int_range(1, pl.len() + 1))).alias("step"))
    rows.frame = rows.frame.explode("step", "times", "worths")
    rows.put((rows["times"] * 60.0).alias("after"), rows["worths"].alias("value"))
    return rows.table(("job", "step", "after", "value"))


CHRONUS_VALUES = Format(
    "chronus_values",
    "The curves of values of Chronus: one row for each step of each job with deadlines; options as for `chronus`.",
    (
        FormatColumn("job", "the job"),
        FormatColumn("step", "number of the step, from 1"),
        FormatColumn("after", "the job has the value `value` if it ends within this time after its submission", "s"),
        FormatColumn("value", "its value then"),
    ),
    _chronus_values,
    CHRONUS.options,
    _CHRONUS_SOURCE,
)

# --- GPUspb ----------------------------------------------------------------------------------------------------------

_GPUSPB = "ai-sprint-eu-project/GPUScheduler (Apache-2.0): Filippini et al."

GPUSPB_JOBS = trace(
    "gpuspb_jobs",
    "Jobs of an instance of the random greedy: `Lof_Selectjobs.csv`.",
    (
        Field("job", ("UniqueJobsID",), "label"),
        Field("submitted", ("SubmissionTime",), "number"),
        Field("deadline", ("Deadline",), "number"),
        Field("weight", ("Tardinessweight",), "number", least=0),
        optional_field("application", ("Application",)),
        optional_field("shortest", ("MinExecTime",), "number"),
        optional_field("longest", ("MaxExecTime",), "number"),
    ),
    _GPUSPB,
    more_columns=(
        FormatColumn("weight", "money per second of tardiness", "$/s"),
        FormatColumn("application", "its application"),
        FormatColumn("shortest", "its shortest execution time", "s"),
        FormatColumn("longest", "its longest execution time", "s"),
    ),
)

_TIMES = (
    Field("job", ("UniqueJobsID",), "label"),
    Field("vm_type", ("VMtype",)),
    Field("gpus", ("nGPUs",), "integer", least=1, reason=_NO_GPUS),
    Field("duration", ("ExecutionTime",), "number", least=POSITIVE, reason="no execution time"),
    optional_field("gpu_type", ("GPUtype",)),
    optional_field("vm_gpus", ("max_nGPUs",), "integer"),
    optional_field("price", ("cost",), "number"),
)


def _gpuspb_times(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    assert raw is not None
    rows = read_rows(raw, _TIMES)
    return rows.table(f.name for f in _TIMES)


GPUSPB_TIMES = Format(
    "gpuspb_times",
    "Execution times of an instance of the random greedy: `SelectJobs_times.csv`.",
    (
        FormatColumn("job", "the job"),
        FormatColumn("vm_type", "type of virtual machine"),
        FormatColumn("gpus", "GPUs that the job uses"),
        FormatColumn("duration", "its execution time on them", "s"),
        FormatColumn("gpu_type", "GPU model of the machine"),
        FormatColumn("vm_gpus", "GPUs of the machine"),
        FormatColumn("price", "rent of the complete machine", "$/h"),
    ),
    _gpuspb_times,
    TEXT_OPTIONS,
    _GPUSPB,
)


def _gpuspb_nodes(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    assert raw is not None
    rows = read_rows(raw, (Field("node", ("Nodes",), "label"),))
    rows.keep_first("node")
    return rows.table(("node",))


GPUSPB_NODES = Format(
    "gpuspb_nodes",
    "Nodes of an instance of the random greedy: `tNodes.csv`.",
    (FormatColumn("node", "the node"),),
    _gpuspb_nodes,
    TEXT_OPTIONS,
    _GPUSPB,
)

FORMATS = MappingProxyType(
    {f.name: f for f in (ELASTICFLOW, CHRONUS, CHRONUS_VALUES, GPUSPB_JOBS, GPUSPB_TIMES, GPUSPB_NODES)}
)
