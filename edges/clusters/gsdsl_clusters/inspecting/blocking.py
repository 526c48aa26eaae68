"""The running jobs that block most: without one of them, how many of the waiting jobs would have room now."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import polars as pl

from gpusched_dsl.explaining.joint_room import place_together
from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gsdsl_clusters.inspecting.load import TOTAL, gpus_in_use, running_parts
from gsdsl_clusters.inspecting.queue_simulation import demands
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot, SnapshotState
from gsdsl_clusters.inspecting.together import rows_together


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
        fits = _Fits(free, parts, running.height)
        keys = np.column_stack([kind, waiting["gpus"].to_numpy(), waiting["nodes"].to_numpy()])
        joined = rows_together(waiting)
        together = np.zeros(waiting.height, dtype=np.bool_)
        together[np.concatenate([np.zeros(0, dtype=np.int64), *joined])] = True
        shapes, counts = np.unique(keys[~together], axis=0, return_counts=True)
        for (demand, gpus, nodes), count in zip(shapes.tolist(), counts.tolist(), strict=True):
            blocks += count * fits.only_without(suits[demand], gpus, nodes)
        for shape, count in Counter(tuple(sorted(map(tuple, keys[rows].tolist()))) for rows in joined).items():
            demand, gpus, nodes = (np.array(each, dtype=np.int64) for each in zip(*shape, strict=True))
            blocks += count * fits.all_only_without(suits[demand], gpus, nodes)
    found = running.select(
        "job", "user", "team", TOTAL.alias("gpus"), "on_nodes", (pl.col("started") + pl.col("limit")).alias("end")
    ).with_columns(pl.Series("blocks", blocks))
    return found.filter(pl.col("blocks") > 0).sort("blocks", "gpus", descending=[True, False], maintain_order=True)


@dataclass(frozen=True, eq=False)
class _Fits:
    """The `free` GPUs of each node (N,), and the `parts` of the running `jobs`: job, node and GPUs of each."""

    free: Floats
    parts: tuple[Ints, Ints, Floats]
    jobs: int

    def only_without(self, suits: Bools, gpus: int, nodes: int) -> Bools:
        """Whether a job has no room now and would have it without each of the running jobs."""
        now, without = self._with_and_without(suits, gpus, nodes)
        return np.zeros(self.jobs, dtype=np.bool_) if now else without

    def all_only_without(self, suits: Bools, gpus: Ints, nodes: Ints) -> Bools:
        """The same for parts (M) that start together: each must have room by itself, and all at once."""
        found = np.zeros(self.jobs, dtype=np.bool_)
        if place_together(self.free.astype(np.int64), suits, gpus, nodes) is not None:
            return found
        each = zip(suits, gpus.tolist(), nodes.tolist(), strict=True)
        possible = np.ones(self.jobs, dtype=np.bool_)
        for part in each:
            now, without = self._with_and_without(*part)
            possible &= now | without
        job, place, used = self.parts
        frees = np.zeros(self.jobs, dtype=np.bool_)
        wanted: Bools = np.logical_or.reduce(suits, axis=0)
        frees[job[wanted[place]]] = True
        for at in np.flatnonzero(possible & frees).tolist():
            own = job == at
            free = self.free + np.bincount(place[own], used[own], minlength=len(self.free))
            found[at] = place_together(free.astype(np.int64), suits, gpus, nodes) is not None
        return found

    def _with_and_without(self, suits: Bools, gpus: int, nodes: int) -> tuple[bool, Bools]:
        """Whether a job has room now, and whether it has without each of the running jobs."""
        job, place, used = self.parts
        there = np.where(suits, np.maximum(self.free, 0.0), 0.0)
        gained = np.where(suits[place], np.maximum(self.free[place] + used, 0.0), 0.0) - there[place]
        enough = int((there >= gpus).sum())
        more = (there[place] < gpus) & (there[place] + gained >= gpus)
        number = enough + np.bincount(job[more], minlength=self.jobs)
        now = enough >= max(nodes, 1)
        without: Bools = number >= max(nodes, 1)
        if nodes == 0:  # also spread over any nodes
            now |= bool(there.sum() >= gpus)
            without |= there.sum() + np.bincount(job, gained, minlength=self.jobs) >= gpus
        return now, without
