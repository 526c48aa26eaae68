"""Histories of a cluster whose queue is known: jobs with limits and shorter lengths, run by the simulation itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from gsdsl_clusters.inspecting.past_state import state_at
from gsdsl_clusters.inspecting.queue_simulation import QueueRule, past, simulate
from gsdsl_clusters.inspecting.snapshot import JOB_COLUMNS, NODE_COLUMNS, ClusterSnapshot, complete, frame


def made_history(
    seed: int = 1, *, jobs: int = 600, nodes: int = 6, load: float = 1.1, rule: QueueRule = QueueRule.EASY,
    start: float = 1_700_000_000.0,
) -> ClusterSnapshot:  # fmt: skip
    """A cluster after two thirds of the arrivals: some jobs have ended, some run, some wait; 8 GPUs on each node."""
    random = np.random.default_rng(seed)
    gpus = random.choice([1, 2, 4, 8], jobs, p=[0.4, 0.3, 0.2, 0.1])
    wanted = np.where(gpus == 8, random.choice([1, 2], jobs), 1)
    user = random.integers(0, 8, jobs)
    limit = 3600.0 * random.choice([2, 4, 8, 24], jobs)
    share = np.clip(random.beta(1 + user, 6, jobs), 0.02, 1.0)  # each user overestimates in an own way
    length = limit * share
    work = float((gpus * wanted * length).mean())
    gap = work / (8 * nodes * load)
    submitted = start + np.cumsum(random.exponential(gap, jobs))
    table = pl.DataFrame(
        {
            "job": [f"j{at}" for at in range(jobs)],
            "state": ["ended"] * jobs,
            "outcome": ["COMPLETED"] * jobs,
            "gpus": gpus,
            "nodes": wanted,
            "user": [f"u{at}" for at in user],
            "team": [f"t{at % 2}" for at in user],
            "name": ["train"] * jobs,
            "submitted": submitted,
            "duration": length,
            "limit": limit,
        }
    )
    names = [{"node": f"n{at}", "gpus": 8, "gpu_type": "a100"} for at in range(nodes)]
    empty = ClusterSnapshot("made", start, frame(names, NODE_COLUMNS), complete(table, JOB_COLUMNS), has_starts=False)
    run = simulate(past(empty), rule)
    places = [run.nodes_of(at) for at in range(jobs)]
    whole = complete(
        run.data.table.with_columns(
            pl.Series("started", run.start, nan_to_null=True),
            pl.Series("ended", run.end, nan_to_null=True),
            pl.Series("on_nodes", [list(found) for found in places], dtype=pl.List(pl.String)),
            pl.Series("on_gpus", [list(found.values()) for found in places], dtype=pl.List(pl.Int32)),
        ),
        JOB_COLUMNS,
    )
    return state_at(replace(empty, jobs=whole, has_starts=True), float(submitted[2 * jobs // 3]))
