"""A job takes a place on any node, in any of its ways; jobs that have no room beside it go elsewhere, or wait.

The other moves look ways up by their number of GPUs. This one takes ways one by one, told apart by all indices of the
placement (a position on a divided GPU, a mode, a class of prices), and asks the rows for each place. What leaves a node
and what waits is inserted again, the job that gains most for its GPUs first, each in its cheapest place (an ejection
chain: F. Glover, Ejection chains, reference structures and alternating path methods for traveling salesman problems,
Discrete Applied Mathematics 65, 1996). Signature and ties: `moves/swaps.py`.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.free_capacity import (
    copy_schedule,
    has_capacity_when_empty,
    has_room,
    put,
    tightest_gpu,
)
from gpusched_dsl.policies.kernels.moves.change import ScheduleChange, clear, name_job, take_out
from gpusched_dsl.policies.kernels.moves.delta_evaluation import DeltaEvaluation, tolerance
from gpusched_dsl.policies.kernels.moves.ruin_and_recreate import copy_of, members
from gpusched_dsl.policies.kernels.pricing import price
from gpusched_dsl.policies.kernels.row_guard import (
    RowGuard,
    admits,
    column_of,
    commit,
    enter,
    holds,
    mark,
    restart,
    take,
    undo,
)
from gpusched_dsl.policies.workload import NONE, Schedule, Workload

PAIRS = 400  # of nodes that are tried
UNKNOWN = NONE - 1  # what the rows were asked last changed their state


@compiled
def insert_job(work: Workload, plan: Schedule, delta: DeltaEvaluation, length: int, change: ScheduleChange) -> float:
    """Insert each of the `length` most expensive waiting jobs and of as many running ones (0: all) at each place."""
    clear(change)
    guard = delta.guard
    best, margin, nodes = 0.0, tolerance(delta.sums[0]), len(plan.kind)
    trial, found = copy_of(plan), copy_of(plan)
    of_unit, of_job = best_gains(work, delta.usable, True), best_gains(work, delta.usable, False)
    waiting, running = most_expensive(work, plan, of_unit, length)
    for step in range(1 + min(nodes - 1, PAIRS // max(nodes, 1))):
        if best < 0.0:
            break  # pairs of nodes only where no single node gains
        looked_at_closed = False
        for m in range(nodes):
            other = m if step == 0 else (m + step) % nodes
            if step > 0 and (plan.jobs[other] == 0 or work.node_kind[other] < 0):
                continue
            if plan.jobs[m] == 0 and work.node_kind[m] < 0:
                if looked_at_closed and guard is None:
                    continue  # they are all alike
                looked_at_closed = True
            own = members(delta, m) if step == 0 else np.concatenate((members(delta, m), members(delta, other)))
            without = UNKNOWN  # the job of another node that is not entered in the rows
            for a in np.concatenate((waiting, running)):
                by_unit = in_order_of_gain(of_unit, a, own, waiting)
                by_job = in_order_of_gain(of_job, a, own, waiting)
                elsewhere = a if plan.node[a] != m and plan.node[a] != other and plan.node[a] != NONE else NONE
                for at in range(2 * work.first_way[a], 2 * work.first_way[a + 1] + 2):
                    w = at // 2 if at < 2 * work.first_way[a + 1] else NONE
                    if w == NONE:  # it leaves its node and waits
                        if plan.node[a] != m or step > 0:
                            continue
                    elif delta.usable[w] == 0 or not is_open_to(work, plan, a, m, w):
                        continue
                    if not enter_first(guard, plan, delta.usable, work, elsewhere, without != elsewhere, m, other, w):
                        without = elsewhere
                        continue
                    without = elsewhere
                    copy_schedule(plan, trial)
                    if insert_first(work, trial, delta.usable, own, a, m, w):
                        jobs, stay = (by_unit, step == 0) if at % 2 == 0 else (by_job, False)
                        insert_again(work, trial, delta.usable, guard, plan, jobs, stay)
                        gain = price(work, trial, delta.price_kind) - delta.sums[0]
                        if gain < best - margin:
                            without = UNKNOWN
                            if obeys(guard, trial.node, trial.way):
                                best = gain
                                copy_schedule(trial, found)
                    if without != UNKNOWN:
                        take_back(guard)
    if best == 0.0:
        return np.inf
    write_difference(plan, found, change)
    return best


@compiled
def best_gains(work: Workload, usable: Ints, by_unit: bool) -> Floats:
    """What each job, or a unit of it, gains in its best way, against being postponed; minus infinity without a way."""
    gain = np.full(len(work.postponed), -np.inf)
    for w in range(len(work.job)):
        if usable[w] == 1:
            j = work.job[w]
            gain[j] = max(gain[j], -loss(work, w) / (max(work.size[w], 1) if by_unit else 1))
    return gain


@compiled_in_place
def loss(work: Workload, w: int) -> float:
    """What a job costs in a way until it ends, minus what it costs to postpone it."""
    return float(work.late[w] + work.rate[w] * work.time[w] - work.postponed[work.job[w]])


@compiled
def most_expensive(work: Workload, plan: Schedule, gain: Floats, length: int) -> tuple[Ints, Ints]:
    """The waiting jobs and the running ones that may move, the most expensive first, so many of each (0: all)."""
    cost = work.postponed.copy()
    for j in range(len(cost)):
        if plan.way[j] >= 0:
            cost[j] += loss(work, plan.way[j])
    order = np.argsort(-cost, kind="mergesort")
    movable = gain[order] > -np.inf
    waiting, running = order[movable & (plan.way[order] < 0)], order[movable & (plan.way[order] >= 0)]
    if length > 0:
        return waiting[:length].copy(), running[:length].copy()
    return waiting, running


@compiled
def in_order_of_gain(gain: Floats, a: int, own: Ints, waiting: Ints) -> Ints:
    """The jobs of a node and waiting ones without job a, those that gain most for a unit first."""
    both = np.concatenate((own, waiting))
    both = both[(both != a) & (gain[both] > -np.inf)]
    found: Ints = both[np.argsort(-gain[both], kind="mergesort")]
    return found


@compiled_in_place
def is_open_to(work: Workload, plan: Schedule, a: int, m: int, w: int) -> bool:
    """Whether a node may have the kind of a way of job a, and is another place for it."""
    k = work.kind[w]
    if plan.node[a] == m and plan.way[a] == w:
        return False
    if work.node_kind[m] >= 0:
        return bool(work.node_kind[m] == k)
    leaves = plan.node[a] >= 0 and plan.jobs[plan.node[a]] == 1
    if plan.jobs[m] > 0 and not (leaves and plan.node[a] == m):
        return bool(plan.kind[m] == k)
    rented = 0
    for n in range(len(plan.kind)):
        if plan.kind[n] == k and plan.jobs[n] > 0 and not (leaves and plan.node[a] == n):
            rented += 1
    return bool(rented < work.stock[k])


@compiled_in_place
def enter_first(
    guard: RowGuard | None,
    plan: Schedule,
    usable: Ints,
    work: Workload,
    elsewhere: int,
    anew: bool,
    m: int,
    other: int,
    w: int,
) -> bool:
    """Let the others run, if the rows have to know them `anew`, and a job in way w on node m (NONE: it waits).

    Returns whether no row is broken; if one is, the job is taken back. Without rows the argument is None: functions
    that are compiled leave out what follows such a test of an argument, but not of a field.
    """
    if guard is None:
        return True
    if anew:
        enter_others(guard, plan, usable, work, elsewhere, m, other)
    if w != NONE and not take(guard, column_of(guard, w, m), 1.0):
        undo(guard, 0)
        return False
    return True


@compiled_in_place
def take_back(guard: RowGuard | None) -> None:
    """Take back all but the others."""
    if guard is None:
        return
    undo(guard, 0)


@compiled_in_place
def obeys(guard: RowGuard | None, node: Ints, way: Ints) -> bool:
    """Whether a plan breaks no row."""
    if guard is None:
        return True
    return holds(guard, node, way)


@compiled_in_place
def enter_others(guard: RowGuard, plan: Schedule, usable: Ints, work: Workload, a: int, m: int, other: int) -> None:
    """Let all jobs run but job a (NONE: none) and those that may leave one of two nodes."""
    restart(guard)
    for j in range(len(plan.node)):
        n = plan.node[j]
        if j != a and n != NONE and ((n != m and n != other) or not may_move(work, usable, j)):
            enter(guard, plan.way[j], n)
    commit(guard)


@compiled_in_place
def may_move(work: Workload, usable: Ints, j: int) -> bool:
    """Whether a job has ways that moves may give it."""
    for w in range(work.first_way[j], work.first_way[j + 1]):  # noqa: SIM110 - a generator is slow where it is compiled
        if usable[w] == 1:
            return True
    return False


@compiled_in_place
def insert_first(work: Workload, trial: Schedule, usable: Ints, own: Ints, a: int, m: int, w: int) -> bool:
    """Take jobs out that may leave their node, and put job a on one (NONE: it waits); whether it has room."""
    if trial.node[a] >= 0:
        take_out(work, trial, a)
    for j in own:
        if j != a and may_move(work, usable, j):
            take_out(work, trial, j)
    if w == NONE:
        return True
    k = work.kind[w]
    if trial.kind[m] != k:
        trial.kind[m] = k
        for r in range(work.room.shape[1]):
            trial.left[m, r] = work.room[k, r]
    empty = trial.jobs[m] == 0
    size = work.size[w]
    if empty and not has_capacity_when_empty(work.units, work.parts, work.needs, work.room, k, size, w):
        return False
    if not empty and not has_room(work, trial, m, w):
        return False
    put(work, trial, a, m, w, tightest_gpu(trial.spare, m, work.size[w]), 0)
    return True


@compiled_in_place
def insert_again(
    work: Workload, trial: Schedule, usable: Ints, guard: RowGuard | None, plan: Schedule, jobs: Ints, stay: bool
) -> None:
    """Put jobs into their cheapest places, in turn; with `stay` first back where they were, as far as there is room."""
    for j in jobs:
        if stay and plan.node[j] >= 0:
            _put_if_admitted(work, trial, guard, j, plan.node[j], plan.way[j])
    for j in jobs:
        if trial.node[j] >= 0:
            continue
        best_node, best_way, best, least_free = NONE, NONE, 0.0, 0
        for w in range(work.first_way[j], work.first_way[j + 1]):
            if usable[w] == 0 or not loss(work, w) < best + tolerance(best):
                continue
            for n in range(len(trial.kind)):
                if trial.kind[n] != work.kind[w] or (trial.jobs[n] == 0 and work.node_kind[n] < 0):
                    continue
                idle = work.idle[trial.kind[n]] / work.parts
                cost = loss(work, w) - idle * work.size[w]
                if trial.jobs[n] == 0:
                    cost += idle * work.units[trial.kind[n]]
                free = work.units[trial.kind[n]] - trial.used[n]
                better = cost < best - tolerance(best)
                if best_node >= 0 and not better:
                    better = cost < best + tolerance(best) and free < least_free
                if better and has_room(work, trial, n, w) and (guard is None or admits(guard, w, n)):
                    best_node, best_way, best, least_free = n, w, cost, free
        if best_node >= 0:
            _put_if_admitted(work, trial, guard, j, best_node, best_way)


@compiled_in_place
def _put_if_admitted(work: Workload, trial: Schedule, guard: RowGuard | None, j: int, n: int, w: int) -> None:
    """Put a job on a node in use or that is there, if there is room and no row is broken."""
    if trial.kind[n] != work.kind[w] or not has_room(work, trial, n, w):
        return
    if guard is not None:
        at = mark(guard)
        if not take(guard, column_of(guard, w, n), 1.0):
            undo(guard, at)
            return
    put(work, trial, j, n, w, tightest_gpu(trial.spare, n, work.size[w]), 0)


@compiled_in_place
def write_difference(before: Schedule, after: Schedule, change: ScheduleChange) -> None:
    """Name the jobs whose places differ, and the node in use that has another kind."""
    clear(change)
    for j in range(len(before.node)):
        if before.node[j] != after.node[j] or before.way[j] != after.way[j] or before.gpu[j] != after.gpu[j]:
            name_job(change, j, after.way[j], after.node[j], after.gpu[j])
    for n in range(len(before.kind)):
        if after.jobs[n] > 0 and before.kind[n] != after.kind[n]:
            change.shape[1], change.shape[2] = n, after.kind[n]
