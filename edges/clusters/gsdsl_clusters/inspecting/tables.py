"""The tables of an inspection as files: each part that the page shows, with all rows."""

from __future__ import annotations

import polars as pl

from gsdsl_clusters.inspecting.inspection import ClusterInspection

_QUEUE = ("name", "mean_wait", "weighted_wait", "wait_95", "used")


def inspection_tables(found: ClusterInspection) -> dict[str, pl.DataFrame]:
    """The tables by the name of their file, without those that have no content.

    Times are seconds on the clock of the snapshot, waits in seconds; starts are seconds from now on, as in the report.
    Several names in one cell are separated by commas.
    """
    text = found.clock.text
    waiting = {
        "job": [job.job for job in found.waiting],
        "blocked": [job.reason is None and job.shape < 0 for job in found.waiting],
        "why": [
            "; ".join([*([] if job.reason is None else job.reason.lines(text)), *job.notes]) for job in found.waiting
        ],
    }
    tables = {
        "types": found.by_type,
        "teams": found.by_team,
        "waiting": pl.DataFrame(waiting, schema={"job": pl.String, "blocked": pl.Boolean, "why": pl.String}),
        "blocking": found.blocking,
        "starts": found.starts.table,
    }
    if found.queues is not None and found.queues.jobs:
        outcomes = [*([] if found.queues.real is None else [found.queues.real]), found.queues.own, *found.queues.others]
        rows = [{name: getattr(outcome, name) for name in _QUEUE} for outcome in outcomes]
        tables["queues"] = pl.DataFrame(rows, infer_schema_length=None).rename({"name": "queue"})
    if found.changes:
        changes = [{"change": c.text, "mean_wait": c.mean_wait, "starts_now": c.starts_now} for c in found.changes]
        tables["changes"] = pl.DataFrame(changes, infer_schema_length=None)
    if found.unused is not None:
        hours = {"hour": list(range(24)), "used": found.unused.used, "unused": found.unused.unused}
        tables["unused"] = pl.DataFrame(hours)
    return {name: _flat(table) for name, table in tables.items() if table.height}


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """The table with lists as texts, which a CSV file can have."""
    lists = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    return table.with_columns(pl.col(name).cast(pl.List(pl.String)).list.join(", ") for name in lists)
