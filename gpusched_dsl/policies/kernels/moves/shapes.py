"""The node of a late job becomes another: of a faster kind, of twice the GPUs, of half of them.

Nodes to be rented change their kind. Nodes that are there cannot: the late job goes to a node of a faster kind with as
many GPUs; the jobs of a node take twice as many of its GPUs, or half as many. Jobs that share GPUs keep their parts: a
faster kind takes them as they are, the other moves leave their nodes alone. Signature and ties: `moves/swaps.py`.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.kernels.moves.books import Books, tolerance
from gpusched_dsl.policies.kernels.moves.change import Change, clear, name_job
from gpusched_dsl.policies.kernels.moves.gains import reshape_gain, shift_gain
from gpusched_dsl.policies.kernels.moves.swaps import first_of
from gpusched_dsl.policies.workload import NONE, Ints, Schedule, Workload


@compiled
def faster_type(work: Workload, plan: Schedule, books: Books, length: int, change: Change) -> float:
    """N4: the node becomes one of as many GPUs on which the times of its jobs sum to less."""
    best, margin = np.inf, tolerance(books.sums[0])
    clear(change)
    ways = np.empty(plan.jobs.max() if len(plan.jobs) else 0, dtype=np.int64)
    for i in range(first_of(books.counts[0], length)):
        j = books.late[i]
        n = plan.node[j]
        if work.node_kind[n] >= 0:
            best = _faster_node(work, plan, books, j, best, margin, change)
            continue
        if not _first_on_node(plan, books, i):
            continue
        for kind in range(len(work.units)):
            if kind != plan.kind[n] and work.units[kind] == work.units[plan.kind[n]]:
                saved = _ways_at(work, plan, books, n, kind, 1, 1, ways)
                if saved > tolerance(saved):
                    best = _try(work, plan, books, n, kind, ways, best, margin, change)
    return best


@compiled
def double_gpus(work: Workload, plan: Schedule, books: Books, length: int, change: Change) -> float:
    """N5: the node becomes one of the same family with twice the GPUs, and its jobs take twice as many."""
    return resized(work, plan, books, length, change, True)


@compiled
def halve_gpus(work: Workload, plan: Schedule, books: Books, length: int, change: Change) -> float:
    """N6: the node becomes one of the same family with half the GPUs, and its jobs take half as many."""
    return resized(work, plan, books, length, change, False)


@compiled
def late_nodes(plan: Schedule, books: Books, length: int) -> Ints:
    """The nodes of the latest jobs, in that order, once each."""
    count = first_of(books.counts[0], length)
    nodes = np.empty(count, dtype=np.int64)
    found = 0
    for i in range(count):
        if _first_on_node(plan, books, i):
            nodes[found] = plan.node[books.late[i]]
            found += 1
    return nodes[:found]


@compiled
def shares_gpus(plan: Schedule, n: int) -> bool:
    """Whether a node has GPUs that are given out in parts."""
    for g in range(plan.spare.shape[1]):  # noqa: SIM110
        if plan.spare[n, g] != NONE:
            return True
    return False


@compiled
def write_node(plan: Schedule, books: Books, n: int, kind: int, ways: Ints, change: Change) -> None:
    """Name the new ways of all jobs of a node, and its new kind if it has one."""
    clear(change)
    if kind != plan.kind[n]:
        change.shape[1] = n
        change.shape[2] = kind
    for i in range(plan.jobs[n]):
        j = books.member[books.member_from[n] + i]
        name_job(change, j, ways[i], n, plan.gpu[j])


@compiled
def resized(work: Workload, plan: Schedule, books: Books, length: int, change: Change, up: bool) -> float:
    """The best of the nodes whose jobs take twice as many GPUs, or half as many."""
    times, over = (2, 1) if up else (1, 2)
    best, margin = np.inf, tolerance(books.sums[0])
    clear(change)
    ways = np.empty(plan.jobs.max() if len(plan.jobs) else 0, dtype=np.int64)
    for n in late_nodes(plan, books, length):
        if shares_gpus(plan, n) or not _divisible(work, plan, books, n, over):
            continue
        if work.node_kind[n] >= 0:
            _ways_at(work, plan, books, n, plan.kind[n], times, over, ways)
            best = _try(work, plan, books, n, plan.kind[n], ways, best, margin, change)
            continue
        old = plan.kind[n]
        for kind in range(len(work.units)):
            same = kind != old and work.family[kind] == work.family[old]
            if same and work.units[kind] * over == work.units[old] * times:
                _ways_at(work, plan, books, n, kind, times, over, ways)
                best = _try(work, plan, books, n, kind, ways, best, margin, change)
    return best


@compiled
def _try(
    work: Workload,
    plan: Schedule,
    books: Books,
    n: int,
    kind: int,
    ways: Ints,
    best: float,
    margin: float,
    change: Change,
) -> float:
    """The better of the best gain so far and that of a node's new ways, which are written down if they win."""
    gain = reshape_gain(work, plan, books, n, kind, ways)
    if gain < best - margin:
        write_node(plan, books, n, kind, ways, change)
        return gain
    return best


@compiled
def _faster_node(
    work: Workload, plan: Schedule, books: Books, j: int, best: float, margin: float, change: Change
) -> float:
    """A job of whole GPUs goes to a node that is there and on which as many of them are faster."""
    if plan.gpu[j] >= 0:
        return best
    old, n = plan.way[j], plan.node[j]
    for m in range(len(work.node_kind)):
        kind = work.node_kind[m]
        if kind < 0 or kind == plan.kind[n]:
            continue
        way = work.way_at[j, kind, work.size[old]]
        if way < 0 or not work.time[way] < work.time[old] - tolerance(work.time[old]):
            continue
        gain = shift_gain(work, plan, books, j, m, way)
        if gain < best - margin:
            best = gain
            clear(change)
            name_job(change, j, way, m, NONE)
    return best


@compiled
def _first_on_node(plan: Schedule, books: Books, i: int) -> bool:
    """Whether none of the later jobs stands on the node of the i-th latest one."""
    n = plan.node[books.late[i]]
    for before in range(i):  # noqa: SIM110
        if plan.node[books.late[before]] == n:
            return False
    return True


@compiled
def _divisible(work: Workload, plan: Schedule, books: Books, n: int, over: int) -> bool:
    """Whether the whole GPUs of all jobs of a node can be divided by a number."""
    for i in range(books.member_from[n], books.member_from[n + 1]):
        if work.size[plan.way[books.member[i]]] // work.parts % over != 0:
            return False
    return True


@compiled
def _ways_at(
    work: Workload, plan: Schedule, books: Books, n: int, kind: int, times: int, over: int, ways: Ints
) -> float:
    """The ways of a node's jobs on a kind, with `times / over` as many units; the time that they save in all."""
    saved = 0.0
    for i in range(plan.jobs[n]):
        j = books.member[books.member_from[n] + i]
        old = plan.way[j]
        size = work.size[old] * times // over
        ways[i] = work.way_at[j, kind, size] if size < work.way_at.shape[2] else NONE
        if ways[i] >= 0:
            saved += work.time[old] - work.time[ways[i]]
    return saved
