"""Two jobs exchange their places: a late one with a dear one, or with any; a postponed one with one that runs.

All moves share one signature: `length` is how much of its lists a move looks at (0: all of them); the best candidate is
written into `change`, its price minus the schedule's is returned, infinite if there is none. Of candidates equally good
the first one counts.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.moves.change import ScheduleChange, clear, keeps_rows, name_job
from gpusched_dsl.policies.kernels.moves.delta_evaluation import DeltaEvaluation, tolerance
from gpusched_dsl.policies.kernels.moves.gains import exchange_gain
from gpusched_dsl.policies.workload import NONE, Schedule, Workload


@compiled_in_place
def first_of(count: int, length: int) -> int:
    """Return the number of examined jobs of a list."""
    return count if length <= 0 else min(count, length)


@compiled_in_place
def swap_tardy_costly(
    work: Workload, plan: Schedule, delta: DeltaEvaluation, length: int, change: ScheduleChange
) -> float:
    """Apply N1: one of the latest jobs and one of the most expensive on-time jobs, on another node."""
    best, best_a, best_b = np.inf, NONE, NONE
    margin = tolerance(delta.sums[0])
    for i in range(first_of(delta.counts[0], length)):
        for k in range(first_of(delta.counts[1], length)):
            gain = exchange_gain(work, plan, delta, delta.late[i], delta.costly[k])
            if gain < best - margin and _is_kept(work, plan, delta, change, delta.late[i], delta.costly[k]):
                best, best_a, best_b = gain, delta.late[i], delta.costly[k]
    _write(work, plan, change, best_a, best_b)
    return best


@compiled_in_place
def swap_tardy_any(
    work: Workload, plan: Schedule, delta: DeltaEvaluation, length: int, change: ScheduleChange
) -> float:
    """N2: one of the latest jobs and any that runs on another node, the most urgent first."""
    best, best_a, best_b = np.inf, NONE, NONE
    margin = tolerance(delta.sums[0])
    for i in range(first_of(delta.counts[0], length)):
        a = delta.late[i]
        for b in delta.queue:
            if plan.way[b] >= 0 and b != a:
                gain = exchange_gain(work, plan, delta, a, b)
                if gain < best - margin and _is_kept(work, plan, delta, change, a, b):
                    best, best_a, best_b = gain, a, b
    _write(work, plan, change, best_a, best_b)
    return best


@compiled
def swap_postponed_running(
    work: Workload, plan: Schedule, delta: DeltaEvaluation, length: int, change: ScheduleChange
) -> float:
    """Apply N3: a postponed job, the most urgent first, replaces a less urgent one, which goes to the queue."""
    best, best_a, best_b = np.inf, NONE, NONE
    margin = tolerance(delta.sums[0])
    queue = delta.queue
    running = np.empty(len(queue), dtype=np.int64)  # the least urgent first
    count, equals = 0, len(queue)
    while equals > 0:  # equally urgent jobs stand by number
        start = equals - 1
        while start > 0 and delta.pressure[queue[start - 1]] == delta.pressure[queue[start]]:
            start -= 1
        for i in range(start, equals):
            if plan.way[queue[i]] >= 0:
                running[count] = queue[i]
                count += 1
        equals = start
    seen = 0
    for a in queue:
        if plan.way[a] >= 0:
            continue
        if length > 0 and seen == length:
            break
        seen += 1
        for i in range(count):
            b = running[i]
            if not delta.pressure[b] < delta.pressure[a]:
                break
            gain = exchange_gain(work, plan, delta, a, b)
            if gain < best - margin and _is_kept(work, plan, delta, change, a, b):
                best, best_a, best_b = gain, a, b
    _write(work, plan, change, best_a, best_b)
    return best


@compiled_in_place
def _is_kept(work: Workload, plan: Schedule, delta: DeltaEvaluation, change: ScheduleChange, a: int, b: int) -> bool:
    """Whether the exchange of two places breaks no row."""
    if delta.guard is None:
        return True
    _write(work, plan, change, a, b)
    return keeps_rows(delta.guard, plan, change)


@compiled_in_place
def _write(work: Workload, plan: Schedule, change: ScheduleChange, a: int, b: int) -> None:
    """Name the exchange of two places, if there is one."""
    clear(change)
    if a < 0:
        return
    n, m = plan.node[b], plan.node[a]
    name_job(change, a, work.way_at[a, plan.kind[n], work.size[plan.way[b]]], n, plan.gpu[b])
    if m < 0:
        name_job(change, b, NONE, NONE, NONE)
    else:
        name_job(change, b, work.way_at[b, plan.kind[m], work.size[plan.way[a]]], m, plan.gpu[a])
