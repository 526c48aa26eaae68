"""What is done once every job has had its turn: smaller nodes, idle GPUs given away, parts of GPUs made larger.

Jobs that were pinned before the pass keep their ways, and their nodes keep their kinds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.kernels.construct import Lookups
from gpusched_dsl.policies.kernels.ranking import TOLERANCE, same
from gpusched_dsl.policies.kernels.rooms import free_units
from gpusched_dsl.policies.workload import NONE, Ints, Schedule, Workload

SMALLER_TYPE, GROW, GROW_BY_ONE, EXPAND_PARTS = 0, 1, 2, 3  # the codes of `rules.FINISH_CODES`
_SLACK = 1e-9


class Tenants(NamedTuple):
    """The jobs on each node that the pass has placed, in the order of the queue: from `at[n]` on."""

    at: Ints  # (N + 1,)
    jobs: Ints
    pinned: Ints  # (N,) jobs on the node that were there before


@compiled
def finish(work: Workload, look: Lookups, rules: Ints, plan: Schedule, queue: Ints, start: Schedule) -> None:
    """The finishing rules one after the other, each on all nodes. `start` is the schedule before the pass."""
    if len(rules) == 0:
        return
    tenants = find_tenants(plan, queue, start)
    for code in rules:
        finish_by(work, look, code, plan, tenants)


@compiled
def finish_by(work: Workload, look: Lookups, code: int, plan: Schedule, tenants: Tenants) -> None:
    """One finishing rule, node by node in the order of nodes."""
    if code == SMALLER_TYPE:
        counts = np.zeros(len(work.units), np.int64)
        for k in plan.kind:
            if k != NONE:
                counts[k] += 1
        for n in range(len(plan.kind)):
            if plan.jobs[n] > 0 and work.node_kind[n] == NONE and tenants.pinned[n] == 0:
                shrink(work, look, plan, tenants, n, counts)
    elif code in (GROW, GROW_BY_ONE):
        for n in range(len(plan.kind)):
            if plan.jobs[n] > 0:
                grow(work, plan, tenants, n, code == GROW)
    elif code == EXPAND_PARTS:
        for n in range(len(plan.kind)):
            if plan.jobs[n] > 0:
                for gpu in range(plan.spare.shape[1]):
                    while plan.spare[n, gpu] > 0 and expand(work, plan, tenants, n, gpu):
                        pass


@compiled
def find_tenants(plan: Schedule, queue: Ints, start: Schedule) -> Tenants:
    """Jobs by node."""
    nodes = len(plan.kind)
    at = np.zeros(nodes + 1, np.int64)
    for j in queue:
        if plan.node[j] != NONE and start.node[j] == NONE:
            at[plan.node[j] + 1] += 1
    for n in range(nodes):
        at[n + 1] += at[n]
    ends = at.copy()
    jobs = np.empty(at[nodes], np.int64)
    for j in queue:
        n = plan.node[j]
        if n != NONE and start.node[j] == NONE:
            jobs[ends[n]] = j
            ends[n] += 1
    return Tenants(at, jobs, start.jobs)


@compiled
def shrink(work: Workload, look: Lookups, plan: Schedule, tenants: Tenants, n: int, counts: Ints) -> None:
    """Make a node the smallest kind of its family that holds what it has in use, unless a job would become slower."""
    old = plan.kind[n]
    new = NONE
    for k in look.smallest_first:
        if work.family[k] == work.family[old] and work.units[k] >= plan.used[n] and counts[k] < work.stock[k]:
            new = k
            break
    if new == NONE or work.units[new] >= work.units[old]:
        return
    for place in range(tenants.at[n], tenants.at[n + 1]):
        j = tenants.jobs[place]
        w = plan.way[j]
        other = work.way_at[j, new, work.size[w]]
        if other == NONE or (work.time[other] > work.time[w] and not same(work.time[other], work.time[w])):
            return
    for r in range(work.needs.shape[1]):
        taken = 0.0
        for place in range(tenants.at[n], tenants.at[n + 1]):
            j = tenants.jobs[place]
            taken += work.needs[work.way_at[j, new, work.size[plan.way[j]]], r]
        if taken > work.room[new, r] + _SLACK * abs(work.room[new, r]):
            return
    plan.left[n, :] = work.room[new]
    for place in range(tenants.at[n], tenants.at[n + 1]):
        j = tenants.jobs[place]
        plan.way[j] = work.way_at[j, new, work.size[plan.way[j]]]
        for r in range(work.needs.shape[1]):
            plan.left[n, r] -= work.needs[plan.way[j], r]
    plan.kind[n] = new
    counts[old] -= 1
    counts[new] += 1


@compiled
def grow(work: Workload, plan: Schedule, tenants: Tenants, n: int, all_at_once: bool) -> None:
    """Give the idle GPUs of a node, all or one by one, to the job that they speed up most, while one becomes faster.

    Of equal jobs to the one with the larger weight, then to the earlier one in the queue.
    """
    k = plan.kind[n]
    while True:
        idle = free_units(work, plan, n) // work.parts * work.parts
        if idle == 0:
            return
        step = idle if all_at_once else work.parts
        best, best_ratio = NONE, 1.0
        for place in range(tenants.at[n], tenants.at[n + 1]):
            j = tenants.jobs[place]
            w = plan.way[j]
            if work.size[w] < work.parts:
                continue
            larger = work.way_at[j, k, work.size[w] + step]
            if larger == NONE or not can_change(work, plan, n, w, larger):
                continue
            ratio = work.time[w] / work.time[larger] if work.time[larger] > 0 else np.inf
            if ratio <= 1 or same(ratio, 1.0):
                continue
            if (
                best == NONE
                or (ratio > best_ratio and not same(ratio, best_ratio))
                or (same(ratio, best_ratio) and is_heavier(work, j, best))
            ):
                best, best_ratio = j, ratio
        if best == NONE:
            return
        change(work, plan, best, work.way_at[best, k, work.size[plan.way[best]] + step])
        plan.used[n] += step


@compiled
def expand(work: Workload, plan: Schedule, tenants: Tenants, n: int, gpu: int) -> bool:
    """Make larger the part of the job on a shared GPU that gains most time by it; False if none gains any.

    Every job asks for the largest part that makes it faster. Of equal jobs the one with the larger weight, then the
    earlier one in the queue. A job that comes to have the whole GPU no longer counts as one with a part.
    """
    k = plan.kind[n]
    best, best_gain = NONE, 0.0
    best_way = NONE
    for place in range(tenants.at[n], tenants.at[n + 1]):
        j = tenants.jobs[place]
        if plan.gpu[j] != gpu:
            continue
        w = plan.way[j]
        for size in range(work.size[w] + plan.spare[n, gpu], work.size[w], -1):
            larger = work.way_at[j, k, size]
            if larger == NONE or not can_change(work, plan, n, w, larger):
                continue
            gain = work.time[w] - work.time[larger]
            if gain <= TOLERANCE * abs(work.time[w]):
                continue
            if (
                best == NONE
                or (gain > best_gain and not same(gain, best_gain))
                or (same(gain, best_gain) and is_heavier(work, j, best))
            ):
                best, best_gain, best_way = j, gain, larger
            break
    if best == NONE:
        return False
    plan.spare[n, gpu] -= work.size[best_way] - work.size[plan.way[best]]
    change(work, plan, best, best_way)
    if work.size[best_way] == work.parts:
        plan.spare[n, gpu] = NONE
        plan.gpu[best] = NONE
    return True


@compiled
def is_heavier(work: Workload, j: int, other: int) -> bool:
    """Whether being late costs more for one job than for the other."""
    return bool(work.weight[j] > work.weight[other] and not same(work.weight[j], work.weight[other]))


@compiled
def can_change(work: Workload, plan: Schedule, n: int, w: int, larger: int) -> bool:
    """Whether the further capacities of the node let a job go from one way to another."""
    for r in range(work.needs.shape[1]):
        more = work.needs[larger, r] - work.needs[w, r]
        if more > plan.left[n, r] + _SLACK * abs(work.room[plan.kind[n], r]):
            return False
    return True


@compiled
def change(work: Workload, plan: Schedule, j: int, w: int) -> None:
    """Change the way of a job on its node; the units are kept account of by the caller."""
    for r in range(work.needs.shape[1]):
        plan.left[plan.node[j], r] -= work.needs[w, r] - work.needs[plan.way[j], r]
    plan.way[j] = w
