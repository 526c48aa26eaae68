"""The running jobs that block most: without one of them, how many of the waiting jobs would have room now."""

from __future__ import annotations

import numpy as np
import polars as pl

from gpusched_dsl.inspecting.load import TOTAL, gpus_in_use, running_parts
from gpusched_dsl.inspecting.queue_simulation import demands
from gpusched_dsl.inspecting.snapshot import ClusterSnapshot, SnapshotState
from gpusched_dsl.ir.arrays import Bools, Floats, Ints


def blocking_jobs(snapshot: ClusterSnapshot) -> pl.DataFrame:
    """A row for each running job without which waiting jobs would have room: `job`, `user`, `team`, `gpus` in all, its
    nodes (`on_nodes`), the `end` of its limit (null: none), and the number of waiting jobs that each for itself would
    then have room (`blocks`), the largest first. Limits and the order of the queue are not considered.
    """
    running, waiting = (snapshot.jobs_in(state) for state in (SnapshotState.RUNNING, SnapshotState.WAITING))
    blocks = np.zeros(running.height, dtype=np.int64)
    if running.height and waiting.height:
        kind, suits = demands(snapshot, waiting)
        suits &= snapshot.nodes["up"].to_numpy()
        free = snapshot.nodes["gpus"].to_numpy().astype(np.float64) - gpus_in_use(snapshot)
        parts = running_parts(snapshot)
        keys = np.column_stack([kind, waiting["gpus"].to_numpy(), waiting["nodes"].to_numpy()])
        shapes, counts = np.unique(keys, axis=0, return_counts=True)
        for (demand, gpus, nodes), count in zip(shapes.tolist(), counts.tolist(), strict=True):
            blocks += count * _would_fit(free, suits[demand], parts, running.height, gpus, nodes)
    found = running.select(
        "job", "user", "team", TOTAL.alias("gpus"), "on_nodes", (pl.col("started") + pl.col("limit")).alias("end")
    ).with_columns(pl.Series("blocks", blocks))
    return found.filter(pl.col("blocks") > 0).sort("blocks", "gpus", descending=[True, False], maintain_order=True)


def _would_fit(free: Floats, suits: Bools, parts: tuple[Ints, Ints, Floats], jobs: int, gpus: int, nodes: int) -> Bools:
    """Whether a job that has no room now has it without each of the running jobs."""
    job, place, used = parts
    there = np.where(suits, np.maximum(free, 0.0), 0.0)
    gained = np.where(suits[place], np.maximum(free[place] + used, 0.0), 0.0) - there[place]
    enough = int((there >= gpus).sum())
    more = (there[place] < gpus) & (there[place] + gained >= gpus)
    number = enough + np.bincount(job[more], minlength=jobs)
    if enough >= max(nodes, 1):
        return np.zeros(jobs, dtype=np.bool_)
    found: Bools = number >= max(nodes, 1)
    if nodes == 0:  # also spread over any nodes
        if there.sum() >= gpus:
            return np.zeros(jobs, dtype=np.bool_)
        found |= there.sum() + np.bincount(job, gained, minlength=jobs) >= gpus
    return found
