"""Pending arrays of Slurm, `17_[3-5,9%2]`, as one row for each task."""

from __future__ import annotations

import polars as pl

from gsdsl_clusters.inspecting.snapshot import SnapshotState

_ARRAY = r"^(\d+)_\[([^\]%]*)(?:%(\d+))?\]$"
_TASK = r"^(\d+)_(\d+)$"
MOST_TASKS = 1_000_000
LIMIT_REASON = "JobArrayTaskLimit"


def split_arrays(jobs: pl.DataFrame) -> pl.DataFrame:
    """One row for each task of a pending array, and the array of tasks. Needs `job`, `state` and `reason`.

    Tasks that wait for the limit of their array wait if the limit is known: the simulation obeys it.
    """
    parts = jobs["job"].str.extract_groups(_ARRAY).struct.unnest()
    array, ranges, limit = parts.get_columns()
    pending = array.is_not_null()
    tasks = {text: _tasks(text) for text in ranges.filter(pending).unique().to_list()}
    numbers = [tasks[text] if text is not None else [None] for text in ranges.to_list()]
    own = jobs["array_limit"] if "array_limit" in jobs.columns else pl.Series([None] * jobs.height, dtype=pl.Int32)
    table = jobs.with_columns(
        pl.coalesce(array, jobs["job"].str.extract(_TASK, 1)).fill_null("").alias("array"),
        pl.select(pl.coalesce(limit.cast(pl.Int32), own)).to_series().alias("array_limit"),
        pl.Series("_task", numbers, dtype=pl.List(pl.Int64)),
    ).explode("_task", keep_nulls=True, empty_as_null=True)
    name = pl.when(pl.col("_task").is_null()).then("job").otherwise(pl.format("{}_{}", "array", "_task"))
    known = (pl.col("reason") == LIMIT_REASON) & pl.col("array_limit").is_not_null()
    waits = known & (pl.col("state") == SnapshotState.BLOCKED.value)
    return (
        table.with_columns(
            name.alias("job"),
            pl.when(waits).then(pl.lit(SnapshotState.WAITING.value)).otherwise("state").alias("state"),
        )
        .drop("_task")
        .unique("job", keep="first", maintain_order=True)
    )


def _tasks(text: str) -> list[int | None]:
    """The numbers of `1-10:3,15`; one unknown task for another form, such as a shortened list."""
    found: list[int | None] = []
    for part in text.split(","):
        bounds, _, step = part.partition(":")
        first, _, last = bounds.partition("-")
        if not (first.isdigit() and (last or first).isdigit() and (step or "1").isdigit() and int(step or 1) > 0):
            continue
        stop = min(int(last or first) + 1, int(first) + MOST_TASKS)
        found += range(int(first), stop, int(step or 1))
    return found[:MOST_TASKS] or [None]
