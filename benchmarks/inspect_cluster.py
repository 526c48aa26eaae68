"""`gsdsl inspect` of a made cluster with 4,000 nodes, on which 10,000 jobs wait: CPU seconds by part.

    python -m benchmarks.inspect_cluster [NODES [WAITING]]

The jobs of the past are run by the queue of the simulation, then jobs that wait are added. Kernels are compiled before:
the first line is the time for it, once after an installation.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from gpusched_dsl.policies.kernels.compiled import ready_seconds
from gsdsl_clusters.inspecting.inspection import inspect
from gsdsl_clusters.inspecting.past_state import state_at
from gsdsl_clusters.inspecting.queue_simulation import QueueRule, past, simulate
from gsdsl_clusters.inspecting.snapshot import JOB_COLUMNS, NODE_COLUMNS, ClusterSnapshot, SnapshotState, complete

TYPES = np.array(["a100", "h100", "v100"])
SHAPES = np.array([(1, 1), (2, 1), (4, 1), (8, 1), (8, 2), (8, 4), (8, 16)])  # GPUs on each node, nodes
SHARES = [0.35, 0.2, 0.2, 0.15, 0.05, 0.03, 0.02]


def made_cluster(nodes: int, waiting: int, seed: int = 1) -> ClusterSnapshot:
    """A cluster in four partitions with three types, after 20 past jobs for each node."""
    random = np.random.default_rng(seed)
    jobs = 22 * nodes + waiting
    number = np.arange(nodes)
    table = pl.DataFrame(
        {
            "node": [f"n{at}" for at in number],
            "gpus": [8] * nodes,
            "gpu_type": TYPES[number % 3].tolist(),
            "partitions": [[f"p{at % 4}"] for at in number],
        }
    )
    gpus, wanted = SHAPES[random.choice(len(SHAPES), jobs, p=SHARES)].T
    limit = random.choice([3600.0, 14400.0, 86400.0, 172800.0], jobs)
    length = np.maximum(limit * random.beta(1, 3, jobs), 60)
    user = random.integers(0, 200, jobs)
    gap = float((gpus * wanted * length).mean()) / (8 * nodes * 1.02)
    submitted = 1_800_000_000.0 + np.cumsum(random.exponential(gap, jobs))
    history = pl.DataFrame(
        {
            "job": [f"j{at}" for at in range(jobs)],
            "state": ["ended"] * jobs,
            "gpus": gpus,
            "nodes": wanted,
            "user": [f"u{each}" for each in user],
            "team": [f"t{each % 10}" for each in user],
            "name": ["train"] * jobs,
            "submitted": submitted,
            "duration": length,
            "limit": limit,
            "gpu_types": [[str(TYPES[at % 3])] if at % 2 else [] for at in range(jobs)],
            "partitions": [[f"p{at % 4}"] for at in range(jobs)],
        }
    )
    empty = ClusterSnapshot(
        "made", submitted[0], complete(table, NODE_COLUMNS), complete(history, JOB_COLUMNS), has_starts=False
    )
    run = simulate(past(empty), QueueRule.EASY)
    places = [run.nodes_of(at) for at in range(jobs)]
    whole = run.data.table.with_columns(
        pl.Series("started", run.start, nan_to_null=True),
        pl.Series("ended", run.end, nan_to_null=True),
        pl.Series("on_nodes", [list(found) for found in places], dtype=pl.List(pl.String)),
        pl.Series("on_gpus", [list(found.values()) for found in places], dtype=pl.List(pl.Int32)),
    )
    now = float(submitted[22 * nodes - 1])
    then = state_at(replace(empty, jobs=complete(whole, JOB_COLUMNS), has_starts=True), now)
    later = complete(
        history.tail(waiting).with_columns(
            pl.lit(SnapshotState.WAITING.value).alias("state"),
            pl.lit(now - 100.0).alias("submitted"),
            pl.lit(None, pl.Float64).alias("duration"),
        ),
        JOB_COLUMNS,
    )
    return replace(then, jobs=pl.concat([then.jobs, later]))


def main(arguments: Sequence[str]) -> None:
    nodes, waiting = ([int(text) for text in arguments] + [4000, 10_000][len(arguments) :])[:2]
    snapshot = made_cluster(nodes, waiting)
    print(f"kernels compiled or loaded in {ready_seconds():.1f} s")
    before = time.process_time()
    found = inspect(snapshot)
    print(f"inspection: {time.process_time() - before:.1f} CPU s; {found.starts.draws} futures")
    before = time.process_time()
    found.lines()
    print(f"text: {time.process_time() - before:.1f} CPU s")
    before = time.process_time()
    found.html_text()
    print(f"page: {time.process_time() - before:.1f} CPU s")
    print(found.headline())


if __name__ == "__main__":
    main(sys.argv[1:])
