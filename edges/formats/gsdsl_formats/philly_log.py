"""The original log of Philly, `cluster_job_log`: a JSON list of jobs with their attempts on machines and GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpusched_dsl.data.formats.fields import Field, SelectedRows, rows_of
from gpusched_dsl.data.formats.shape import Raw
from gpusched_dsl.data.sources.files import Fault, Unreadable, check_text
from gpusched_dsl.data.sources.json_keys import check_keys

if TYPE_CHECKING:
    import polars as pl

_TEXTS = ("jobid", "submitted_time", "status", "vc", "user")


def read_log(raw: Raw, fields: Sequence[Field], attempts: bool = False) -> SelectedRows:
    """Jobs, or their `attempts`, in the columns of `fields`; they are counted instead of lines.

    A job ran as long as its attempts together, on the most GPUs and nodes that one of them had; its GPU time is that of
    all attempts. Attempts without a beginning or an end count for nothing. Raises Unreadable (GSM2008, GSM2009).
    """
    import numpy as np
    import polars as pl

    jobs = _jobs(raw)
    if attempts:
        frame = _each_attempt(jobs)
    else:
        frame = jobs.select("row", *_TEXTS).join(_totals(_attempts(jobs)), on="row", how="left", maintain_order="left")
    names = {f.name: next((s for s in f.sources if s in frame.columns), None) for f in fields}
    texts = {name: frame[source].cast(pl.String) for name, source in names.items() if source is not None}
    return rows_of({n: t.replace("None", None) for n, t in texts.items()}, np.arange(1, frame.height + 1), fields)


def _jobs(raw: Raw) -> pl.DataFrame:
    import polars as pl

    from gpusched_dsl.data.sources.panics import Panic, guard

    machine = pl.Struct({"ip": pl.String, "gpus": pl.List(pl.String)})
    attempt = pl.Struct({"start_time": pl.String, "end_time": pl.String, "detail": pl.List(machine)})
    schema: dict[str, pl.DataType] = {**dict.fromkeys(_TEXTS, pl.String()), "attempts": pl.List(attempt)}
    raw.limits.allow_json(raw.data, raw.name)
    data = check_text(raw.name, raw.data)
    if not data.strip():
        raise Unreadable(Fault("GSM2010", f"data file `{raw.name}` is empty", help="it has no job"))
    try:
        with guard():
            jobs = pl.read_json(data, schema=schema)
    except (pl.exceptions.PolarsError, Panic, RecursionError, ValueError) as error:
        note = str(error).splitlines()[0] if str(error) else type(error).__name__
        message = f"data file `{raw.name}` does not contain jobs in the form of the Philly log"
        raise Unreadable(
            Fault("GSM2008", message, notes=(note,), help="it must be a list of jobs with `attempts`")
        ) from None
    check_keys(raw.name, data)
    if not jobs.height:
        raise Unreadable(Fault("GSM2010", f"data file `{raw.name}` is empty", help="it has no job"))
    return jobs.with_row_index("row")


def _attempts(jobs: pl.DataFrame) -> pl.DataFrame:
    """The attempts that began and ended, in their order, with seconds run, GPUs and nodes."""
    import polars as pl

    machines = pl.element().struct.field("gpus").list.len()
    tries = jobs.select("row", "attempts").explode("attempts").unnest("attempts")
    times = [_moment(name) for name in ("start_time", "end_time")]
    detail = pl.col("detail").list
    tries = tries.with_columns(*times, detail.eval(machines).list.sum().alias("gpus"), detail.len().alias("nodes"))
    tries = tries.with_columns((pl.col("end_time") - pl.col("start_time")).dt.total_seconds().alias("seconds"))
    return tries.filter(pl.col("seconds") >= 0)


def _moment(name: str) -> pl.Expr:
    import polars as pl

    return pl.col(name).str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False)


def _totals(tries: pl.DataFrame) -> pl.DataFrame:
    """Per job: seconds run, GPUs, nodes, and GPU seconds of all attempts."""
    import polars as pl

    return tries.group_by("row").agg(
        pl.col("seconds").sum().alias("duration_s"),
        pl.col("gpus").max().alias("num_gpus"),
        pl.col("nodes").max().alias("num_nodes"),
        (pl.col("gpus") * pl.col("seconds")).sum().alias("gpu_time_gpu_s"),
    )


def _each_attempt(jobs: pl.DataFrame) -> pl.DataFrame:
    """A row for each attempt, submitted when the former one ended; starts are on the clock of the submissions."""
    import polars as pl

    tries = _attempts(jobs).sort("row", "start_time", maintain_order=True)
    number = pl.int_range(1, pl.len() + 1).over("row")
    former = pl.col("end_time").shift(1).over("row")
    tries = tries.join(jobs.select("row", *_TEXTS), on="row", how="left", maintain_order="left").with_columns(
        number.alias("attempt"), (number == pl.len().over("row")).alias("last")
    )
    first = jobs.select(_moment("submitted_time").dt.truncate("1d").min()).item()
    submitted = pl.coalesce(former, _moment("submitted_time"))
    return tries.select(
        pl.col("jobid").alias("of_job"),
        pl.format("{}/{}", "jobid", "attempt").alias("jobid"),
        submitted.dt.strftime("%Y-%m-%d %H:%M:%S").alias("submitted_time"),
        ((pl.col("start_time") - pl.lit(first)).dt.total_seconds()).alias("start_time"),
        pl.when("last").then("status").otherwise(pl.lit("Failed")).alias("status"),
        "vc", "user", "attempt",
        pl.col("seconds").alias("duration_s"), pl.col("gpus").alias("num_gpus"), pl.col("nodes").alias("num_nodes"),
    )  # fmt: skip
