"""N7: the GPUs of the node of a late job are distributed among its jobs in another way.

All distributions are tried where there are few (70 on eight GPUs), else those that give one GPU of another job, or an
idle one, to the late job. Nodes with shared GPUs are left alone. Signature and ties: `moves/swaps.py`.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.moves.change import ScheduleChange, clear
from gpusched_dsl.policies.kernels.moves.delta_evaluation import DeltaEvaluation, tolerance
from gpusched_dsl.policies.kernels.moves.shapes import is_first, shares_gpus, sizes_of, try_ways, ways_of
from gpusched_dsl.policies.kernels.moves.swaps import first_of
from gpusched_dsl.policies.workload import Schedule, Workload

FEW = 2000  # distributions of one node


@compiled
def regroup_gpus(work: Workload, plan: Schedule, delta: DeltaEvaluation, length: int, change: ScheduleChange) -> float:
    """Apply N7: see above."""
    best, margin = np.inf, tolerance(delta.sums[0])
    clear(change)
    most = plan.jobs.max() if len(plan.jobs) else 0
    now, sizes, ways = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    late = delta.late[: first_of(delta.counts[0], length)]
    for i in range(len(late)):
        n = plan.node[late[i]]
        here = delta.member[delta.member_from[n] : delta.member_from[n + 1]]
        gpus = work.units[plan.kind[n]] // work.parts
        few = distributions(gpus, len(here)) <= FEW
        if shares_gpus(plan.spare[n]) or (few and not is_first(plan.node, late, i)):
            continue
        sizes_of(here, plan.way, work.size, now)
        turn = 0
        while True:
            if few:
                more = next_of_all(sizes, len(here), work.parts, gpus, turn)
            else:
                more = next_transfer(now, sizes, here, late[i], work.parts, turn)
            if not more:
                break
            turn += 1
            if differ(now, sizes, len(here)):
                ways_of(here, work.way_at, plan.kind[n], sizes, ways)
                best = try_ways(work, plan, delta, n, plan.kind[n], ways, best, margin, change)
    return best


@compiled_in_place
def distributions(gpus: int, jobs: int) -> int:
    """The ways to give each job at least one of the GPUs, all or not: `gpus` over `jobs`; stops above `FEW`."""
    number = 1
    for i in range(jobs):
        number = number * (gpus - i) // (i + 1)
        if number > FEW and i < gpus // 2:
            return number
    return number


@compiled_in_place
def next_of_all(sizes: Ints, count: int, parts: int, gpus: int, turn: int) -> bool:
    """Return the next distribution of complete GPUs in lexicographic order, the first at turn 0; False if
    there is none.
    """
    if turn == 0:
        for i in range(count):
            sizes[i] = parts
        return True
    total = 0
    for i in range(count):
        total += sizes[i]
    for last in range(count - 1, -1, -1):
        if total < gpus * parts:
            sizes[last] += parts
            return True
        total -= sizes[last] - parts
        sizes[last] = parts
    return False


@compiled_in_place
def next_transfer(now: Ints, sizes: Ints, here: Ints, late: int, parts: int, turn: int) -> bool:
    """One GPU more for the late job: an idle one at turn 0, then one of each job that has two; False at the end."""
    count = len(here)
    if turn > count:
        return False
    for i in range(count):
        sizes[i] = now[i] + (parts if here[i] == late else 0)
    if turn > 0 and here[turn - 1] != late:
        if now[turn - 1] <= parts:
            for i in range(count):
                sizes[i] = now[i]
        else:
            sizes[turn - 1] -= parts
    return True


@compiled_in_place
def differ(now: Ints, sizes: Ints, count: int) -> bool:
    """Whether a distribution is another one."""
    for i in range(count):  # noqa: SIM110
        if now[i] != sizes[i]:
            return True
    return False
