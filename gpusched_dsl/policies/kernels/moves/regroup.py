"""N7: the GPUs of the node of a late job are distributed among its jobs in another way.

All distributions are tried where there are few (70 on eight GPUs), else those that give one GPU of another job, or an
idle one, to the late job. Nodes with shared GPUs are left alone. Signature and ties: `moves/swaps.py`.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.kernels.moves.books import Books, tolerance
from gpusched_dsl.policies.kernels.moves.change import Change, clear
from gpusched_dsl.policies.kernels.moves.gains import reshape_gain
from gpusched_dsl.policies.kernels.moves.shapes import late_nodes, shares_gpus, write_node
from gpusched_dsl.policies.kernels.moves.swaps import first_of
from gpusched_dsl.policies.workload import NONE, Ints, Schedule, Workload

FEW = 2000  # distributions of one node


@compiled
def regroup_gpus(work: Workload, plan: Schedule, books: Books, length: int, change: Change) -> float:
    """N7: see above."""
    best, margin = np.inf, tolerance(books.sums[0])
    clear(change)
    most = plan.jobs.max() if len(plan.jobs) else 0
    sizes, ways = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    for n in late_nodes(plan, books, length):
        if shares_gpus(plan, n):
            continue
        count, gpus = plan.jobs[n], work.units[plan.kind[n]] // work.parts
        if distributions(gpus, count) > FEW:
            continue
        sizes[:count] = 1
        while sizes[0] > 0:
            if not _as_it_is(work, plan, books, n, sizes):
                best = _try(work, plan, books, n, sizes, ways, best, margin, change)
            _next(sizes, count, gpus)
    for i in range(first_of(books.counts[0], length)):
        n = plan.node[books.late[i]]
        gpus = work.units[plan.kind[n]] // work.parts
        if not shares_gpus(plan, n) and distributions(gpus, plan.jobs[n]) > FEW:
            best = _transfers(work, plan, books, books.late[i], sizes, ways, best, margin, change)
    return best


@compiled
def distributions(gpus: int, jobs: int) -> int:
    """The ways to give each job at least one of the GPUs, all or not: `gpus` over `jobs`; stops above `FEW`."""
    number = 1
    for i in range(jobs):
        number = number * (gpus - i) // (i + 1)
        if number > FEW and i < gpus // 2:
            return number
    return number


@compiled
def _next(sizes: Ints, count: int, gpus: int) -> None:
    """The next vector in the order of the alphabet; the first entry is 0 after the last one."""
    total = 0
    for i in range(count):
        total += sizes[i]
    last = count - 1
    while last >= 0:
        if total < gpus:
            sizes[last] += 1
            return
        total -= sizes[last] - 1
        sizes[last] = 1
        last -= 1
    sizes[0] = 0


@compiled
def _as_it_is(work: Workload, plan: Schedule, books: Books, n: int, sizes: Ints) -> bool:
    for i in range(plan.jobs[n]):
        if work.size[plan.way[books.member[books.member_from[n] + i]]] != sizes[i] * work.parts:
            return False
    return True


@compiled
def _try(
    work: Workload,
    plan: Schedule,
    books: Books,
    n: int,
    sizes: Ints,
    ways: Ints,
    best: float,
    margin: float,
    change: Change,
) -> float:
    kind = plan.kind[n]
    for i in range(plan.jobs[n]):
        size = sizes[i] * work.parts
        ways[i] = (
            NONE if size >= work.way_at.shape[2] else work.way_at[books.member[books.member_from[n] + i], kind, size]
        )
    gain = reshape_gain(work, plan, books, n, kind, ways)
    if gain < best - margin:
        write_node(plan, books, n, kind, ways, change)
        return gain
    return best


@compiled
def _transfers(
    work: Workload,
    plan: Schedule,
    books: Books,
    late: int,
    sizes: Ints,
    ways: Ints,
    best: float,
    margin: float,
    change: Change,
) -> float:
    """One GPU more for the late job: an idle one, or one of a job that keeps at least one."""
    n = plan.node[late]
    first, count = books.member_from[n], plan.jobs[n]
    at = 0
    for i in range(count):
        sizes[i] = work.size[plan.way[books.member[first + i]]] // work.parts
        if books.member[first + i] == late:
            at = i
    sizes[at] += 1
    best = _try(work, plan, books, n, sizes, ways, best, margin, change)
    for donor in range(count):
        if donor != at and sizes[donor] > 1:
            sizes[donor] -= 1
            best = _try(work, plan, books, n, sizes, ways, best, margin, change)
            sizes[donor] += 1
    return best
