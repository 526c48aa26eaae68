"""Relabelling of equal nodes: against every labelling, and without a change of the plan."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from sharing_clusters import cluster, filled

from gpusched_dsl.policies.relabelling import relabel_schedule
from gpusched_dsl.policies.workload import NONE, Schedule, Workload


def contents(plan: Schedule, n: int) -> tuple:
    jobs = np.flatnonzero(plan.node == n)
    return (
        tuple(jobs.tolist()), tuple(plan.way[jobs].tolist()), tuple(plan.gpu[jobs].tolist()), int(plan.kind[n]),
        int(plan.used[n]), int(plan.jobs[n]), int(plan.opened[n]), tuple(plan.left[n]), tuple(plan.spare[n]),
    )  # fmt: skip


def most_kept(work: Workload, plan: Schedule, earlier: Schedule) -> int:
    """By enumeration of all labellings within classes."""
    classes = [np.flatnonzero(work.node_kind == k) for k in np.unique(work.node_kind)]
    best = 0
    for shuffles in product(*(permutations(range(len(c))) for c in classes)):
        label = np.empty(len(work.node_kind), dtype=np.int64)
        for members, shuffle in zip(classes, shuffles, strict=True):
            label[members] = members[list(shuffle)]
        both = (plan.node != NONE) & (plan.way == earlier.way)
        best = max(best, int((label[plan.node[both]] == earlier.node[both]).sum()))
    return best


@pytest.mark.parametrize("seed", range(40))
def test_against_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    work = cluster(rng, jobs=7, nodes=5, chosen=seed % 2 == 1)
    earlier, plan = filled(work, rng), filled(work, rng)
    best = most_kept(work, plan, earlier)
    before = sorted(contents(plan, n) for n in range(5))
    ways = plan.way.copy()
    kept = relabel_schedule(work, plan, earlier)
    both = (plan.node != NONE) & (plan.way == earlier.way)
    assert kept == best == int((plan.node[both] == earlier.node[both]).sum())
    assert sorted(contents(plan, n) for n in range(5)) == before
    assert plan.way.tolist() == ways.tolist()
    fixed = work.node_kind != NONE
    assert plan.kind[fixed].tolist() == work.node_kind[fixed].tolist()


def test_what_need_not_move_does_not() -> None:
    rng = np.random.default_rng(0)
    work = cluster(rng, jobs=7, nodes=5)
    plan = filled(work, rng)
    nobody = filled(work, rng)
    nobody.node[:] = NONE
    nodes = plan.node.copy()
    assert relabel_schedule(work, plan, nobody) == 0
    assert plan.node.tolist() == nodes.tolist()
