"""The node of a late job becomes another: of a faster kind, of twice the GPUs, of half of them.

Nodes to be rented change their kind. Nodes that are there cannot: the late job goes to a node of a faster kind with as
many GPUs; the jobs of a node take twice as many of its GPUs, or half as many. Jobs that share GPUs keep their parts: a
faster kind takes them as they are, the other moves leave their nodes alone. Signature and ties: `moves/swaps.py`.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.moves.change import ScheduleChange, clear, name_job
from gpusched_dsl.policies.kernels.moves.delta_evaluation import DeltaEvaluation, tolerance
from gpusched_dsl.policies.kernels.moves.gains import reshape_gain, shift_gain
from gpusched_dsl.policies.kernels.moves.swaps import first_of
from gpusched_dsl.policies.kernels.row_guard import RowGuard, holds, holds_with, keep_place, kept_way
from gpusched_dsl.policies.workload import NONE, Schedule, Workload


@compiled
def faster_type(work: Workload, plan: Schedule, delta: DeltaEvaluation, length: int, change: ScheduleChange) -> float:
    """N4: the node becomes one of as many GPUs on which the times of its jobs sum to less."""
    best, margin = np.inf, tolerance(delta.sums[0])
    clear(change)
    most = plan.jobs.max() if len(plan.jobs) else 0
    forms, ways = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    for i in range(first_of(delta.counts[0], length)):
        j = delta.late[i]
        n = plan.node[j]
        if work.node_kind[n] >= 0:
            best = _faster_node(work, plan, delta, j, best, margin, change)
            continue
        if not is_first(plan.node, delta.late, i):
            continue
        here = delta.member[delta.member_from[n] : delta.member_from[n + 1]]
        sizes_of(here, plan.way, work.form, forms)
        for kind in range(len(work.units)):
            if kind != plan.kind[n] and work.units[kind] == work.units[plan.kind[n]]:
                ways_of(here, work.like_at, kind, forms, ways)
                saved = _time_saved(here, plan.way, ways, work.time)
                if saved > tolerance(saved):
                    best = try_ways(work, plan, delta, n, kind, ways, best, margin, change)
    return best


@compiled
def double_gpus(work: Workload, plan: Schedule, delta: DeltaEvaluation, length: int, change: ScheduleChange) -> float:
    """Apply N5: the node becomes one of the same family with twice the GPUs, and so do the sizes of its jobs."""
    return best_resize(work, plan, delta, length, change, True)


@compiled
def halve_gpus(work: Workload, plan: Schedule, delta: DeltaEvaluation, length: int, change: ScheduleChange) -> float:
    """Apply N6: the node becomes one of the same family with half the GPUs, and so do the sizes of its jobs."""
    return best_resize(work, plan, delta, length, change, False)


@compiled
def best_resize(
    work: Workload, plan: Schedule, delta: DeltaEvaluation, length: int, change: ScheduleChange, up: bool
) -> float:
    """Return the best of the nodes with twice, or half, the GPUs for all jobs."""
    times, over = (2, 1) if up else (1, 2)
    best, margin = np.inf, tolerance(delta.sums[0])
    clear(change)
    most = plan.jobs.max() if len(plan.jobs) else 0
    sizes, ways = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    for n in late_nodes(plan.node, delta.late[: first_of(delta.counts[0], length)]):
        here = delta.member[delta.member_from[n] : delta.member_from[n + 1]]
        sizes_of(here, plan.way, work.size, sizes)
        if shares_gpus(plan.spare[n]) or not _rescale(sizes, len(here), work.parts, times, over):
            continue
        old = plan.kind[n]
        for kind in range(len(work.units)):
            same = kind != old and work.family[kind] == work.family[old] and work.node_kind[n] < 0
            if kind == work.node_kind[n] or (same and work.units[kind] * over == work.units[old] * times):
                ways_of(here, work.way_at, kind, sizes, ways)
                best = try_ways(work, plan, delta, n, kind, ways, best, margin, change)
    return best


@compiled_in_place
def try_ways(
    work: Workload,
    plan: Schedule,
    delta: DeltaEvaluation,
    n: int,
    kind: int,
    ways: Ints,
    best: float,
    margin: float,
    change: ScheduleChange,
) -> float:
    """The better of the best gain so far and that of a node's new ways, which are written down if they win."""
    gain = reshape_gain(work, plan, delta, n, kind, ways)
    if not gain < best - margin or not reshape_keeps_rows(delta.guard, plan, delta, n, ways):
        return best
    clear(change)
    if kind != plan.kind[n]:
        change.shape[1] = n
        change.shape[2] = kind
    for i in range(plan.jobs[n]):
        j = delta.member[delta.member_from[n] + i]
        name_job(change, j, ways[i], n, plan.gpu[j])
    return gain


@compiled_in_place
def reshape_keeps_rows(guard: RowGuard | None, plan: Schedule, delta: DeltaEvaluation, n: int, ways: Ints) -> bool:
    """Whether no row is broken by new ways of the jobs of a node."""
    if guard is None:
        return True
    first = delta.member_from[n]
    for i in range(plan.jobs[n]):
        j = delta.member[first + i]
        keep_place(guard, j, n, plan.way[j])
        plan.way[j] = ways[i]
    fits = holds(guard, plan.node, plan.way)
    for i in range(plan.jobs[n]):
        j = delta.member[first + i]
        plan.way[j] = kept_way(guard, j)
    return fits


@compiled_in_place
def _faster_node(
    work: Workload, plan: Schedule, delta: DeltaEvaluation, j: int, best: float, margin: float, change: ScheduleChange
) -> float:
    """Move a job of complete GPUs to an existing node on which the same number of GPUs is faster."""
    if plan.gpu[j] >= 0:
        return best
    old, n = plan.way[j], plan.node[j]
    for m in range(len(work.node_kind)):
        kind = work.node_kind[m]
        if kind < 0 or kind == plan.kind[n]:
            continue
        way = work.like_at[j, kind, work.form[old]]
        if way < 0 or not work.time[way] < work.time[old] - tolerance(work.time[old]):
            continue
        gain = shift_gain(work, plan, delta, j, m, way)
        if gain < best - margin and shift_keeps_rows(delta.guard, plan, j, m, way):
            best = gain
            clear(change)
            name_job(change, j, way, m, NONE)
    return best


@compiled_in_place
def shift_keeps_rows(guard: RowGuard | None, plan: Schedule, j: int, m: int, w: int) -> bool:
    """Whether no row is broken once a job has moved to another node."""
    if guard is None:
        return True
    n = plan.node[j]
    plan.node[j] = m
    fits = holds_with(guard, plan.node, plan.way, j, w)
    plan.node[j] = n
    return fits


# What follows takes the arrays that it reads: whole schedules as arguments take the compiler long.


@compiled
def late_nodes(node: Ints, late: Ints) -> Ints:
    """The nodes of late jobs, in the order of these, once each."""
    nodes = np.empty(len(late), dtype=np.int64)
    found = 0
    for i in range(len(late)):
        if is_first(node, late, i):
            nodes[found] = node[late[i]]
            found += 1
    return nodes[:found]


@compiled_in_place
def is_first(node: Ints, late: Ints, i: int) -> bool:
    """Whether none of the jobs before the i-th one is on its node."""
    for before in range(i):  # noqa: SIM110
        if node[late[before]] == node[late[i]]:
            return False
    return True


@compiled_in_place
def shares_gpus(spare: Ints) -> bool:
    """Whether a node has GPUs that are given out in parts."""
    for left in spare:  # noqa: SIM110
        if left != NONE:
            return True
    return False


@compiled_in_place
def sizes_of(here: Ints, way: Ints, size: Ints, sizes: Ints) -> None:
    """The units, or forms, of the jobs of a node."""
    for i in range(len(here)):
        sizes[i] = size[way[here[i]]]


@compiled_in_place
def ways_of(here: Ints, way_at: Ints, kind: int, sizes: Ints, ways: Ints) -> None:
    """The ways of the jobs of a node on a kind, by units or forms; NONE where there is none."""
    for i in range(len(here)):
        ways[i] = way_at[here[i], kind, sizes[i]] if sizes[i] < way_at.shape[2] else NONE


@compiled_in_place
def _time_saved(here: Ints, way: Ints, ways: Ints, time: Floats) -> float:
    """Return the total reduction of the times of the jobs of a node."""
    saved = 0.0
    for i in range(len(here)):
        if ways[i] >= 0:
            saved += time[way[here[i]]] - time[ways[i]]
    return saved


@compiled_in_place
def _rescale(sizes: Ints, count: int, parts: int, times: int, over: int) -> bool:
    """Multiply units by `times / over`, in place; return False if that is not a number of complete GPUs."""
    for i in range(count):
        if sizes[i] // parts % over != 0:
            return False
        sizes[i] = sizes[i] * times // over
    return True
