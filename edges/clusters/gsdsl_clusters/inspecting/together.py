"""Components of het jobs of Slurm, which start together: which rows belong to one job."""

from __future__ import annotations

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Ints
from gsdsl_clusters.inspecting.snapshot import SnapshotState

# The job that a row belongs to: a component belongs to its het job, all others are jobs by themselves.
WHOLE_JOB = pl.when(pl.col("het_job") == "").then("job").otherwise("het_job")


def whole_jobs(jobs: pl.DataFrame) -> pl.DataFrame:
    """The jobs with one row for each het job: that of its first component, with the name of the het job."""
    return jobs.filter(WHOLE_JOB.is_first_distinct()).with_columns(WHOLE_JOB.alias("job"))


def rows_together(jobs: pl.DataFrame) -> list[Ints]:
    """The rows of each het job with at least two components in the table, in the order of the table."""
    rows = jobs.select(pl.int_range(pl.len()).alias("at"), "het_job").filter(pl.col("het_job") != "")
    groups = rows.group_by("het_job", maintain_order=True).agg("at").filter(pl.col("at").list.len() > 1)
    return [np.array(found, dtype=np.int64) for found in groups["at"].to_list()]


def blocked_together(jobs: pl.DataFrame) -> pl.DataFrame:
    """The jobs, with all waiting components blocked of a het job that has a blocked one, for its reason."""
    state, member = pl.col("state"), pl.col("het_job") != ""
    blocked = member & (state == SnapshotState.BLOCKED.value)
    if not jobs.select(blocked.any()).item():
        return jobs
    reason = pl.col("reason").filter(blocked).first().over("het_job")
    follows = member & (state == SnapshotState.WAITING.value) & blocked.any().over("het_job")
    return jobs.with_columns(
        pl.when(follows).then(pl.lit(SnapshotState.BLOCKED.value)).otherwise(state).alias("state"),
        pl.when(follows).then(reason).otherwise("reason").alias("reason"),
    )
