"""Repacks one or two nodes: the best of their jobs and the postponed ones, in the best ways, on the best kind.

A knapsack: f[u, v] is the least price of jobs on u units of the one node and v of the other, against all of them being
postponed. It is exact: whatever may run on these nodes while the others stay as they are is considered. The table of
the postponed jobs is the same for all nodes of a kind, so a node takes O(its jobs x units x ways), two nodes of at most
U units O(their jobs x U^2 x ways). With more than `MANY_NODES` nodes a sweep takes pairs of nodes that are near in
their order, as many as with so many nodes. For the price to the end of every job (`TOTAL`), where jobs of other nodes
do not matter; without parts of GPUs and further capacities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.moves.change import ScheduleChange, apply, clear, keeps_rows, name_job
from gpusched_dsl.policies.kernels.moves.delta_evaluation import DeltaEvaluation, tolerance, update_delta_evaluation
from gpusched_dsl.policies.kernels.pricing import TOTAL
from gpusched_dsl.policies.workload import NONE, Schedule, Workload

MANY_NODES = 200


class PackingTable(NamedTuple):
    """Row i + 1 of `price` is after job i; its columns are the pairs of units used. `taken` is the way of job i: its
    way on the first node, W more on the second, NONE if it does not run.
    """

    job: Ints
    price: Floats
    taken: Ints


@compiled
def repack_node(work: Workload, plan: Schedule, delta: DeltaEvaluation, length: int, change: ScheduleChange) -> float:
    """Repack one node, which may change its kind, be opened or closed; with the `length` most expensive
    postponed jobs.
    """
    clear(change)
    if not is_separable(work, delta):
        return np.inf
    waiting = postponed_jobs(work, plan, length)
    table = empty_table(len(waiting) + len(plan.node), int(work.units.max()) + 1)
    best, best_node, best_kind = np.inf, NONE, NONE
    margin = tolerance(delta.sums[0])
    for k in range(len(work.units)):
        add_jobs(work, table, waiting, 0, k, NONE)
        looked_at_closed = False
        for n in range(len(plan.kind)):
            if plan.jobs[n] == 0 and work.node_kind[n] < 0:
                if looked_at_closed and delta.guard is None:
                    continue  # they are all alike
                looked_at_closed = True
            own = members(delta, n)
            if may_become(work, plan, delta, n, k) and are_movable(work, plan, own):
                add_jobs(work, table, own, len(waiting), k, NONE)
                gain = least_packing(work, table, len(waiting) + len(own), k, NONE)[0] - price_now(work, plan, delta, n)
                if gain < best - margin:
                    if delta.guard is not None:
                        clear(change)
                        write(work, plan, table, len(waiting) + len(own), n, k, NONE, NONE, change)
                        if not keeps_rows(delta.guard, plan, change):
                            continue
                    best, best_node, best_kind = gain, n, k
    clear(change)
    if best_node != NONE:
        own = members(delta, best_node)
        add_jobs(work, table, waiting, 0, best_kind, NONE)
        add_jobs(work, table, own, len(waiting), best_kind, NONE)
        write(work, plan, table, len(waiting) + len(own), best_node, best_kind, NONE, NONE, change)
    return best


@compiled
def repack_two(work: Workload, plan: Schedule, delta: DeltaEvaluation, length: int, change: ScheduleChange) -> float:
    """Repack every two nodes in use, or near ones; they keep their kinds. With the `length` most expensive postponed
    jobs.

    What is for the better is carried out at once, on a copy, so that one sweep finds many changes; together they are
    the candidate.
    """
    clear(change)
    if not is_separable(work, delta):
        return np.inf
    trial = copy_of(plan)
    waiting = postponed_jobs(work, trial, length)
    most = int(work.units.max()) + 1
    table = empty_table(len(plan.node), most * most)
    total = 0.0
    margin = tolerance(delta.sums[0])
    nodes = len(plan.kind)
    reach = nodes if nodes <= MANY_NODES else max(MANY_NODES * MANY_NODES // (2 * nodes), 1)
    for n in range(nodes):
        for m in range(n + 1, min(n + 1 + reach, nodes)):
            if trial.jobs[n] == 0 or trial.jobs[m] == 0:
                continue
            if not are_movable(work, trial, members(delta, n)) or not are_movable(work, trial, members(delta, m)):
                continue
            k, other = trial.kind[n], trial.kind[m]
            add_jobs(work, table, waiting, 0, k, other)
            add_jobs(work, table, members(delta, n), len(waiting), k, other)
            rows = len(waiting) + trial.jobs[n]
            add_jobs(work, table, members(delta, m), rows, k, other)
            rows += trial.jobs[m]
            gain = (
                least_packing(work, table, rows, k, other)[0]
                - price_now(work, trial, delta, n)
                - price_now(work, trial, delta, m)
            )
            if gain < -margin:
                write(work, trial, table, rows, n, k, m, other, change)
                if not keeps_rows(delta.guard, trial, change):
                    clear(change)
                    continue
                apply(work, trial, change)
                update_delta_evaluation(work, trial, delta)
                waiting = postponed_jobs(work, trial, length)
                clear(change)
                total += gain
    for j in range(len(plan.node)):
        if trial.way[j] != plan.way[j] or trial.node[j] != plan.node[j]:
            name_job(change, j, trial.way[j], trial.node[j], NONE)
    if total < 0.0:
        update_delta_evaluation(work, plan, delta)
        return total
    return np.inf


@compiled
def copy_of(plan: Schedule) -> Schedule:
    """A schedule that may be changed."""
    return Schedule(
        plan.node.copy(), plan.way.copy(), plan.gpu.copy(), plan.kind.copy(), plan.used.copy(), plan.jobs.copy(),
        plan.opened.copy(), plan.left.copy(), plan.spare.copy(), plan.chosen.copy(),
    )  # fmt: skip


@compiled_in_place
def is_separable(work: Workload, delta: DeltaEvaluation) -> bool:
    """Whether a node's price is independent of other nodes, and its jobs need only complete GPUs."""
    plain = work.parts == 1 and work.needs.shape[1] == 0 and work.node_rate.shape[1] == 0
    return bool(delta.price_kind == TOTAL and plain)


@compiled
def postponed_jobs(work: Workload, plan: Schedule, length: int) -> Ints:
    """Return jobs that do not run, the most expensive first; the `length` first of them (0: all)."""
    waiting = np.flatnonzero(plan.way < 0)
    found = waiting[np.argsort(-work.postponed[waiting], kind="mergesort")]
    return found[: min(length, len(found))].copy() if length > 0 else found


@compiled
def members(delta: DeltaEvaluation, n: int) -> Ints:
    """The jobs of a node."""
    return delta.member[delta.member_from[n] : delta.member_from[n + 1]]


@compiled_in_place
def are_movable(work: Workload, plan: Schedule, jobs: Ints) -> bool:
    """Whether jobs that run may be moved: one that must not has no ways, not even its own."""
    own = 0
    for j in jobs:
        own = min(own, work.way_at[j, work.kind[plan.way[j]], work.size[plan.way[j]]])
    return bool(own >= 0)


@compiled_in_place
def may_become(work: Workload, plan: Schedule, delta: DeltaEvaluation, n: int, k: int) -> bool:
    """Whether a node may be of a kind."""
    if work.node_kind[n] >= 0:
        return bool(work.node_kind[n] == k)
    return bool(plan.kind[n] == k or delta.of_kind[k] < work.stock[k])


@compiled
def price_now(work: Workload, plan: Schedule, delta: DeltaEvaluation, n: int) -> float:
    """Return the cost of a node minus its cost if all of its jobs were postponed."""
    if plan.jobs[n] == 0:
        return 0.0
    k = plan.kind[n]
    found = work.idle[k] * (work.units[k] - plan.used[n])
    for j in members(delta, n):
        found += delta.alone[plan.way[j]] - work.postponed[j]
    return float(found)


@compiled
def empty_table(jobs: int, pairs: int) -> PackingTable:
    """Room for so many jobs and pairs of units used."""
    return PackingTable(
        np.empty(jobs, dtype=np.int64), np.empty((jobs + 1, pairs)), np.empty((jobs, pairs), dtype=np.int64)
    )


@compiled_in_place
def add_jobs(work: Workload, table: PackingTable, jobs: Ints, row: int, k: int, other: int) -> None:
    """Add jobs from `row`, on a node of kind k, or on one of kind `other` (NONE: there is no other)."""
    first = work.units[k]
    second = 0 if other == NONE else work.units[other]
    wide = second + 1
    if row == 0:
        table.price[0, : (first + 1) * wide] = np.inf
        table.price[0, 0] = 0.0
    for j in jobs:
        before, after, taken = table.price[row], table.price[row + 1], table.taken[row]
        table.job[row] = j
        row += 1
        for at in range((first + 1) * wide):
            after[at] = before[at]
            taken[at] = NONE
        for side in range(1 if other == NONE else 2):
            kind, step = (k, wide) if side == 0 else (other, 1)
            for s in range(1, work.units[kind] + 1):
                w = work.way_at[j, kind, s]
                if w < 0:
                    continue
                value = work.late[w] + work.rate[w] * work.time[w] - work.postponed[j] - work.idle[kind] * s
                if value >= 0.0:
                    continue  # it would rather wait
                low_u, low_v = (s, 0) if side == 0 else (0, s)
                for u in range(low_u, first + 1):
                    for v in range(low_v, second + 1):
                        at = u * wide + v
                        if before[at - s * step] + value < after[at]:
                            after[at] = before[at - s * step] + value
                            taken[at] = w + side * len(work.job)


@compiled_in_place
def least_packing(work: Workload, table: PackingTable, rows: int, k: int, other: int) -> tuple[float, int]:
    """The least price of both nodes, and the pair of units that has it; a node without jobs is closed, for nothing."""
    second = 0 if other == NONE else work.units[other]
    wide = second + 1
    best, found = 0.0, 0
    for u in range(work.units[k] + 1):
        for v in range(second + 1):
            value = table.price[rows, u * wide + v]
            if u > 0:
                value += work.idle[k] * work.units[k]
            if v > 0:
                value += work.idle[other] * work.units[other]
            if value < best:
                best, found = value, u * wide + v
    return best, found


@compiled_in_place
def write(
    work: Workload,
    plan: Schedule,
    table: PackingTable,
    rows: int,
    n: int,
    k: int,
    m: int,
    other: int,
    change: ScheduleChange,
) -> None:
    """Record the jobs that arrive, stay or leave."""
    at = least_packing(work, table, rows, k, other)[1]
    wide = 1 if other == NONE else work.units[other] + 1
    if at > 0 and plan.kind[n] != k:
        change.shape[1], change.shape[2] = n, k
    for row in range(rows - 1, -1, -1):
        j, w = table.job[row], table.taken[row, at]
        if w == NONE:
            if plan.way[j] >= 0:
                name_job(change, j, NONE, NONE, NONE)
        elif w < len(work.job):
            name_job(change, j, w, n, NONE)
            at -= work.size[w] * wide
        else:
            name_job(change, j, w - len(work.job), m, NONE)
            at -= work.size[w - len(work.job)]
