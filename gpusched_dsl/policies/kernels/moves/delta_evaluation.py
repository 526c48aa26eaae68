"""The data for the prices of candidates: sums, first ends and lists that are constant until a change.

A schedule is searched far more often than it is changed, so the data are computed again after every change, in
O(J log J + N), and have no accumulated rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.pricing import TOTAL, price
from gpusched_dsl.policies.kernels.row_guard import RowGuard
from gpusched_dsl.policies.workload import NONE, Schedule, Workload

EPSILON = 1e-9  # times and prices that differ relatively by less are equal


class DeltaEvaluation(NamedTuple):
    """One schedule under one price. Arrays are overwritten in place."""

    price_kind: int  # code of `pricing.PRICES`
    pressure: Floats  # (J,) higher is more urgent
    queue: Ints  # (J,) jobs, the most urgent first, then by number
    alone: Floats  # (W,) what a job costs whatever the others do, if it runs this way
    sums: Floats  # (2,) the price; the rates of all nodes in use
    member_from: Ints  # (N + 1,) jobs of node n: `member[member_from[n]:member_from[n + 1]]`, by number
    member: Ints  # (J,)
    end: Floats  # (N,) first end on a node, infinite without jobs
    ender: Ints  # (N,) the job that ends first
    second_end: Floats  # (N,) first end on a node without that job
    rate: Floats  # (N,) money per time of a node
    enders: Ints  # (3,) the jobs that end first of all, NONE where fewer run
    ends: Floats  # (4,) their ends, infinite where fewer run; the first end on other nodes than the first job's
    of_kind: Ints  # (K,) nodes of a kind
    late: Ints  # (J,) jobs that run and are late, the latest first; `counts[0]` of them
    costly: Ints  # (J,) jobs that run and are on time, the dearest first; `counts[1]` of them
    counts: Ints  # (2,)
    usable: Ints  # (W,) 1: moves may give the job this way
    guard: RowGuard | None = None  # no change breaks one of its rows


def empty_delta_evaluation(
    work: Workload, price_kind: int, pressure: Floats, usable: Ints | None = None
) -> DeltaEvaluation:
    """Return empty data for schedules of a workload; `pressure` (J,) is higher for more urgent jobs.

    `usable` (W,) is 1 for the ways that moves may give to jobs, by default all.
    """
    jobs, nodes = len(work.due), len(work.node_kind)

    def ints(length: int) -> Ints:
        return np.zeros(length, dtype=np.int64)

    return DeltaEvaluation(
        price_kind=price_kind,
        pressure=pressure,
        queue=np.argsort(-pressure, kind="stable").astype(np.int64),
        alone=work.late + (work.rate * work.time if price_kind == TOTAL else 0.0),
        sums=np.zeros(2),
        member_from=ints(nodes + 1),
        member=ints(jobs),
        end=np.zeros(nodes),
        ender=ints(nodes),
        second_end=np.zeros(nodes),
        rate=np.zeros(nodes),
        enders=ints(3),
        ends=np.zeros(4),
        of_kind=ints(len(work.units)),
        late=ints(jobs),
        costly=ints(jobs),
        counts=ints(2),
        usable=np.ones(len(work.job), dtype=np.int64) if usable is None else usable,
    )


@compiled_in_place
def tolerance(value: float) -> float:
    """Return the rounding tolerance of a value."""
    return EPSILON * max(1.0, abs(value))


@compiled
def update_delta_evaluation(work: Workload, plan: Schedule, delta: DeltaEvaluation) -> None:
    """Write the data of a schedule."""
    delta.sums[0] = price(work, plan, delta.price_kind)
    _list_members(plan, delta)
    _list_ends(work, plan, delta)
    _list_late(work, plan, delta)


@compiled
def _list_members(plan: Schedule, delta: DeltaEvaluation) -> None:
    nodes = len(plan.kind)
    at = np.zeros(nodes, dtype=np.int64)
    for n in range(nodes):
        at[n] = delta.member_from[n]
        delta.member_from[n + 1] = delta.member_from[n] + plan.jobs[n]
    for j in range(len(plan.node)):
        n = plan.node[j]
        if n >= 0:
            delta.member[at[n]] = j
            at[n] += 1


@compiled_in_place
def _list_ends(work: Workload, plan: Schedule, delta: DeltaEvaluation) -> None:
    by_node = work.node_rate.shape[1] > 0
    delta.sums[1] = 0.0
    delta.of_kind[:] = 0
    delta.enders[:] = NONE
    delta.ends[:] = np.inf
    for n in range(len(plan.kind)):
        delta.end[n] = np.inf
        delta.second_end[n] = np.inf
        delta.ender[n] = NONE
        delta.rate[n] = 0.0
        for i in range(delta.member_from[n], delta.member_from[n + 1]):
            j = delta.member[i]
            time = work.time[plan.way[j]]
            delta.rate[n] += work.rate[plan.way[j]]
            if time < delta.end[n]:
                delta.second_end[n] = delta.end[n]
                delta.end[n] = time
                delta.ender[n] = j
            elif time < delta.second_end[n]:
                delta.second_end[n] = time
            for place in range(3):
                if time < delta.ends[place]:
                    for later in range(2, place, -1):
                        delta.ends[later] = delta.ends[later - 1]
                        delta.enders[later] = delta.enders[later - 1]
                    delta.ends[place] = time
                    delta.enders[place] = j
                    break
        if plan.kind[n] >= 0:
            delta.of_kind[plan.kind[n]] += 1
        if by_node and plan.jobs[n] > 0:
            delta.rate[n] = work.node_rate[plan.kind[n], plan.used[n] // work.parts]
        delta.sums[1] += delta.rate[n]
    for n in range(len(plan.kind)):
        if delta.enders[0] >= 0 and n != plan.node[delta.enders[0]]:
            delta.ends[3] = min(delta.ends[3], delta.end[n])


@compiled
def _list_late(work: Workload, plan: Schedule, delta: DeltaEvaluation) -> None:
    """List late jobs by tardiness, the others by their cost to their end; ties by number."""
    jobs = len(plan.way)
    key = np.zeros(jobs)
    late, costly = 0, 0
    for j in range(jobs):
        w = plan.way[j]
        if w >= 0:
            if work.time[w] > work.due[j] + tolerance(work.due[j]):
                key[j] = work.due[j] - work.time[w]
                delta.late[late] = j
                late += 1
            else:
                key[j] = -work.rate[w] * work.time[w]
                delta.costly[costly] = j
                costly += 1
    spare = np.empty(jobs, dtype=np.int64)
    sort_by(key, delta.late, late, spare)
    sort_by(key, delta.costly, costly, spare)
    delta.counts[0] = late
    delta.counts[1] = costly


@compiled_in_place
def sort_by(key: Floats, items: Ints, count: int, spare: Ints) -> None:
    """Sort the first `count` items by `key[item]`, in place and stable: pairs of sorted stretches are merged."""
    width = 1
    while width < count:
        for start in range(0, count - width, 2 * width):
            middle, stop = start + width, min(start + 2 * width, count)
            for at in range(start, middle):
                spare[at] = items[at]
            left, right, to = start, middle, start
            while left < middle:
                if right < stop and key[items[right]] < key[spare[left]]:
                    items[to] = items[right]
                    right += 1
                else:
                    items[to] = spare[left]
                    left += 1
                to += 1
        width *= 2
