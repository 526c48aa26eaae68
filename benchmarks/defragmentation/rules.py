"""Rules of two schedulers that make room for gangs, written from their documentation.

`by_preemption`: preemption within a ClusterQueue of Kueue (kueue.sigs.k8s.io/docs/concepts/preemption). Candidates are
jobs of lower priority, the lowest priority first, the latest start first. They are chosen until the gang fits; then, in
reverse, each is kept if the gang fits without its preemption. "Fits" looks at whole nodes.

`by_consolidation`: the action of KAI (docs/developer/action-framework.md). Jobs of lightly loaded nodes are moved to
other nodes, here to the fullest ones with room; nothing is done unless all of them have one. Then jobs are preempted.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchmarks.defragmentation.snapshots import GPUS, Snapshot
from gpusched_dsl.ir.arrays import Ints


@dataclass
class Change:
    """The nodes of jobs after the change (-1: halted), and the gangs that start."""

    node: Ints
    started: list[int] = field(default_factory=list)


def lost(snapshot: Snapshot, change: Change) -> float:
    """GPU hours that all jobs lose that do not stay."""
    return float(snapshot.lost[change.node != snapshot.node].sum())


def by_preemption(snapshot: Snapshot) -> Change:
    """Preempt jobs for one gang after the other."""
    change, taken = Change(snapshot.node.copy()), np.zeros(snapshot.nodes, dtype=np.bool_)
    for gang in range(len(snapshot.gangs)):
        if _preempt(snapshot, change, taken, gang):
            _start(snapshot, change, taken, gang)
    return change


def by_consolidation(snapshot: Snapshot) -> Change:
    """Consolidate for one gang after the other; preempt where that is not enough."""
    change, taken = Change(snapshot.node.copy()), np.zeros(snapshot.nodes, dtype=np.bool_)
    for gang in range(len(snapshot.gangs)):
        if _consolidate(snapshot, change, taken, gang) or _preempt(snapshot, change, taken, gang):
            _start(snapshot, change, taken, gang)
    return change


def _used(snapshot: Snapshot, node: Ints) -> Ints:
    """The GPUs in use of each node."""
    runs = node >= 0
    return np.bincount(node[runs], weights=snapshot.size[runs], minlength=snapshot.nodes).astype(np.int64)


def _start(snapshot: Snapshot, change: Change, taken: np.ndarray, gang: int) -> None:
    empty = np.flatnonzero((_used(snapshot, change.node) == 0) & ~taken)
    taken[empty[: snapshot.gangs[gang]]] = True
    change.started.append(gang)


def _preempt(snapshot: Snapshot, change: Change, taken: np.ndarray, gang: int) -> bool:
    needed, used = int(snapshot.gangs[gang]), _used(snapshot, change.node)
    empty = int(((used == 0) & ~taken).sum())
    candidates = np.flatnonzero((snapshot.priority < snapshot.gang_priority[gang]) & (change.node >= 0))
    chosen = []
    for job in candidates[np.lexsort((snapshot.age[candidates], snapshot.priority[candidates]))].tolist():
        if empty >= needed:
            break
        node = change.node[job]
        used[node] -= snapshot.size[job]
        empty += used[node] == 0
        chosen.append(job)
    if empty < needed:
        return False
    for job in reversed(chosen):
        node = change.node[job]
        if used[node] > 0 or empty > needed:
            empty -= used[node] == 0
            used[node] += snapshot.size[job]
        else:
            change.node[job] = -1
    return True


def _consolidate(snapshot: Snapshot, change: Change, taken: np.ndarray, gang: int) -> bool:
    used = _used(snapshot, change.node)
    free = np.where(taken, 0, GPUS - used)
    needed = int(snapshot.gangs[gang]) - int(((used == 0) & ~taken).sum())
    light = np.flatnonzero((used > 0) & ~taken)
    emptied = light[np.argsort(used[light], kind="stable")][: max(0, needed)]
    if len(emptied) < needed:
        return False
    free[emptied] = 0
    free[(used == 0) & ~taken] = 0  # the gang needs these
    node = change.node.copy()
    moving = np.flatnonzero(np.isin(node, emptied))
    for job in moving[np.argsort(-snapshot.size[moving], kind="stable")].tolist():
        fitting = np.flatnonzero(free >= snapshot.size[job])
        if not len(fitting):
            return False
        target = int(fitting[np.argmin(free[fitting])])
        free[target] -= snapshot.size[job]
        node[job] = target
    change.node = node
    return True
