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


def read_log(raw: Raw, fields: Sequence[Field]) -> SelectedRows:
    """Jobs in the columns of `fields`; they are counted instead of lines.

    A job ran as long as its attempts together, on the most GPUs and nodes that one of them had; its GPU time is that of
    all attempts. Attempts without a beginning or an end count for nothing. Raises Unreadable (GSM2008, GSM2009).
    """
    import numpy as np
    import polars as pl

    jobs = _jobs(raw)
    totals = _attempts(jobs)
    frame = jobs.select("row", *_TEXTS).join(totals, on="row", how="left", maintain_order="left")
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
    """Per job: seconds run, GPUs, nodes, and GPU seconds, of those attempts that began and ended."""
    import polars as pl

    machines = pl.element().struct.field("gpus").list.len()
    tries = jobs.select("row", "attempts").explode("attempts").unnest("attempts")
    times = [pl.col(n).str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False).alias(n) for n in ("start_time", "end_time")]
    detail = pl.col("detail").list
    tries = tries.with_columns(*times, detail.eval(machines).list.sum().alias("gpus"), detail.len().alias("nodes"))
    tries = tries.with_columns((pl.col("end_time") - pl.col("start_time")).dt.total_seconds().alias("seconds"))
    tries = tries.filter(pl.col("seconds") >= 0)
    return tries.group_by("row").agg(
        pl.col("seconds").sum().alias("duration_s"),
        pl.col("gpus").max().alias("num_gpus"),
        pl.col("nodes").max().alias("num_nodes"),
        (pl.col("gpus") * pl.col("seconds")).sum().alias("gpu_time_gpu_s"),
    )
