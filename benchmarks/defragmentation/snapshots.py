"""Snapshots of a fragmented cluster, drawn from a seed: running jobs on nodes of 8 GPUs, and waiting gangs.

Jobs have 1, 2, 4 or 8 GPUs of one node. Random placement fills the cluster, then random jobs end until the load is
reached: that fragments a cluster. The last job of a node does not end: gangs that wait have taken all empty nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints

GPUS = 8
SIZES = np.array([1, 2, 4, 8])
SHARES = np.array([0.45, 0.2, 0.2, 0.15])  # of the jobs
AWAY = 1.0  # hours until a halted job gets other GPUs


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Running jobs and waiting gangs, an entry each. Times are in hours, `age` is the time since the start of a job."""

    nodes: int
    node: Ints
    size: Ints
    priority: Ints
    age: Floats
    unsaved: Floats
    restart: Floats
    gangs: Ints  # workers with a whole node each
    gang_priority: Ints

    @property
    def lost(self) -> Floats:
        """GPU hours that are lost if a job moves or halts: its work since the last checkpoint and its restart."""
        return self.size * (self.unsaved + self.restart)

    @property
    def free(self) -> Ints:
        """Free GPUs of each node."""
        return GPUS - np.bincount(self.node, weights=self.size, minlength=self.nodes).astype(np.int64)


def draw(seed: int, nodes: int = 1000) -> Snapshot:
    """The snapshot of a seed: 70 to 90 % of the GPUs in use, one to three gangs that need 4 to 16 whole nodes."""
    rng = np.random.default_rng(seed)
    load = rng.uniform(0.7, 0.9)
    free, placed = np.full(nodes, GPUS), []
    while free.sum() > 0.02 * nodes * GPUS:
        size = int(rng.choice(SIZES, p=SHARES))
        fitting = np.flatnonzero(free >= size)
        if len(fitting):
            chosen = int(rng.choice(fitting))
            free[chosen] -= size
            placed.append((chosen, size))
    node, size = np.array(placed).T
    used, present = np.bincount(node, minlength=nodes), np.ones(len(node), dtype=np.bool_)
    for job in rng.permutation(len(node)).tolist():
        if size[present].sum() <= load * nodes * GPUS:
            break
        if used[node[job]] > 1:
            used[node[job]] -= 1
            present[job] = False
    node, size = node[present], size[present]
    jobs = len(node)
    age = rng.exponential(12.0, jobs)
    between = rng.choice([0.5, 1.0, 2.0, 4.0], jobs)  # checkpoints
    gangs = rng.integers(4, 17, int(rng.integers(1, 4)))
    return Snapshot(
        nodes, node, size, rng.integers(0, 3, jobs), age, np.minimum(age, rng.uniform(0, between)),
        rng.uniform(0.05, 0.25, jobs), gangs, np.full(len(gangs), 2),
    )  # fmt: skip
