"""Idle GPUs given to the job that they save most time, always or where it pays: against the rule written out slowly."""

from __future__ import annotations

import numpy as np
import pytest
from sharing_clusters import PARTS, cluster, filled

from gpusched_dsl.policies.kernels.construct import look_up
from gpusched_dsl.policies.kernels.finishing import GROW_BY_TIME, GROW_IF_CHEAPER, finish
from gpusched_dsl.policies.kernels.free_capacity import copy_schedule
from gpusched_dsl.policies.kernels.pricing import TOTAL, price
from gpusched_dsl.policies.verifying import violations
from gpusched_dsl.policies.workload import NONE, Schedule, Workload, empty_schedule


def quicker(work: Workload) -> Workload:
    """The same with times that fall with the size, so that growing saves some."""
    base = np.repeat(np.random.default_rng(len(work.job)).uniform(5, 20, len(work.due)), np.diff(work.first_way))
    time = base / (work.size / PARTS) ** 0.8
    late = work.weight[work.job] * np.maximum(0, time - work.due[work.job])
    return work._replace(time=time, late=late)


def slowly(work: Workload, plan: Schedule, queue: np.ndarray, if_cheaper: bool) -> None:
    """One GPU after the other, as the rule reads; on ties the larger weight, then the earlier job in the queue."""
    for n in range(len(plan.kind)):
        while work.units[plan.kind[n]] - plan.used[n] >= PARTS:
            options = []
            for place, j in enumerate(queue.tolist()):
                w = plan.way[j]
                if plan.node[j] != n or work.size[w] < PARTS:
                    continue
                new = work.way_at[j, plan.kind[n], work.size[w] + PARTS]
                if new == NONE or work.time[new] >= work.time[w]:
                    continue
                dearer = (work.rate[new] - work.rate[w]) * work.time[new]
                if work.node_rate.shape[1]:
                    in_use = plan.used[n] // PARTS
                    rates = work.node_rate[plan.kind[n]]
                    dearer = (rates[in_use + 1] - rates[in_use]) * work.time[new]
                if not if_cheaper or dearer <= work.late[w] - work.late[new]:
                    options.append((work.time[new] - work.time[w], -work.weight[j], place, j, new))
            if not options:
                break
            *_, j, new = min(options)
            plan.way[j] = new
            plan.used[n] += PARTS


@pytest.mark.parametrize("by_node", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_against_the_rule(seed: int, by_node: bool) -> None:
    rng = np.random.default_rng(seed)
    work = quicker(cluster(rng, jobs=6, nodes=3, gpus=5))
    if by_node:
        rates = np.concatenate((np.zeros((2, 1)), np.cumsum(rng.uniform(0, 2, (2, 5)), axis=1)), axis=1)
        work = work._replace(node_rate=rates)
    begun, queue = filled(work, rng), rng.permutation(6)
    nothing = empty_schedule(work)
    for code in (GROW_BY_TIME, GROW_IF_CHEAPER):
        plan, expected = empty_schedule(work), empty_schedule(work)
        copy_schedule(begun, plan)
        copy_schedule(begun, expected)
        finish(work, look_up(work), np.array([code]), plan, queue, nothing)
        slowly(work, expected, queue, code == GROW_IF_CHEAPER)
        assert plan.way.tolist() == expected.way.tolist()
        assert plan.used.tolist() == expected.used.tolist()
        assert violations(work, plan) == []
        if code == GROW_IF_CHEAPER and not by_node:
            assert price(work, plan, TOTAL) <= price(work, begun, TOTAL) + 1e-9


def test_it_grows_somewhere() -> None:
    grown = []
    for code in (GROW_BY_TIME, GROW_IF_CHEAPER):
        total = 0
        for seed in range(25):
            rng = np.random.default_rng(seed)
            work = quicker(cluster(rng, jobs=6, nodes=3, gpus=5))
            plan = filled(work, rng)
            before = plan.used.sum()
            finish(work, look_up(work), np.array([code]), plan, rng.permutation(6), empty_schedule(work))
            total += int(plan.used.sum() - before)
        grown.append(total)
    assert grown[0] > grown[1] > 0
