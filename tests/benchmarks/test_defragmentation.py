"""Snapshots of the benchmark of defragmentation, its two rules and its check, on small clusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.defragmentation.__main__ import by_model
from benchmarks.defragmentation.rules import Change, by_consolidation, by_preemption, lost
from benchmarks.defragmentation.snapshots import AWAY, GPUS, Snapshot, draw


def small(seed: int) -> Snapshot:
    """A snapshot of 30 nodes with a gang of two workers and one of one worker."""
    return replace(draw(seed, nodes=30), gangs=np.array([2, 1]), gang_priority=np.array([2, 2]))


def cost(snapshot: Snapshot, change: Change) -> float:
    """The objective of the model."""
    waiting = np.delete(snapshot.gangs, change.started).sum()
    return lost(snapshot, change) + AWAY * float(snapshot.size[change.node < 0].sum()) + 1000.0 * float(waiting)


@pytest.mark.parametrize("seed", range(6))
def test_no_rule_is_better_than_the_model(seed: int) -> None:
    snapshot = small(seed)
    change, status = by_model(snapshot)
    assert status == "optimal"
    for rule in (by_preemption, by_consolidation):
        made = rule(snapshot)
        runs = made.node >= 0
        used = np.bincount(made.node[runs], weights=snapshot.size[runs], minlength=snapshot.nodes)
        assert used.max() <= GPUS
        assert (used == 0).sum() >= snapshot.gangs[made.started].sum()
        assert cost(snapshot, change) <= cost(snapshot, made) + 1e-6


def test_preemption_takes_low_priorities_and_late_starts_and_keeps_what_it_need_not_take() -> None:
    """The job of the latest start is not needed: another job is on its node."""
    hours = np.zeros(5)
    snapshot = Snapshot(
        4, np.array([0, 1, 2, 3, 3]), np.array([8, 4, 8, 2, 2]), np.array([0, 0, 0, 1, 0]),
        np.array([3.0, 1.0, 2.0, 0.0, 0.5]), hours, hours, np.array([2]), np.array([2]),
    )  # fmt: skip
    assert by_preemption(snapshot).node.tolist() == [0, -1, -1, 3, 3]
    urgent = replace(snapshot, gang_priority=np.array([0]))
    assert by_preemption(urgent).started == []


def test_consolidation_moves_all_jobs_of_the_lightest_nodes_or_none() -> None:
    hours = np.zeros(4)
    snapshot = Snapshot(
        3, np.array([0, 1, 1, 2]), np.array([2, 1, 4, 6]), np.zeros(4, np.int64), hours, hours, hours,
        np.array([1]), np.array([1]),
    )  # fmt: skip
    assert by_consolidation(snapshot).node.tolist() == [2, 1, 1, 2]
    full = replace(snapshot, size=np.array([3, 2, 4, 6]))
    assert by_consolidation(full).node.tolist().count(-1) == 1  # no place for 3: a job is preempted
