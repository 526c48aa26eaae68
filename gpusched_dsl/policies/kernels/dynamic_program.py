"""The division of one capacity among jobs with the least total cost of running and waiting: an exact recursion.

With V[j](c) the least cost of the first j jobs on at most c units, V[0] = 0 and

    V[j](c) = min(V[j-1](c) + wait[j], min over options o of j with amount[o] <= c of V[j-1](c - amount[o]) + run[o]).

Source: Filippini et al. (2024), section 6, after the elastic scheduler that they compare with. O(options x capacity).
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.workload import NONE

# Costs that differ relatively by less are equal; then a job runs rather than waits, and with the option named first.
EQUAL = 1e-12


@compiled
def allot(first: Ints, amount: Ints, run: Floats, wait: Floats, capacity: int) -> Ints:
    """The option of each job, NONE where it waits.

    The options of job j are `first[j]` to `first[j + 1]`, the one to take of equally cheap ones before the others.
    """
    jobs = len(wait)
    value = np.zeros(capacity + 1)
    taken = np.full((jobs, capacity + 1), NONE)
    for j in range(jobs):
        best = value + wait[j]
        for o in range(first[j], first[j + 1]):
            a = amount[o]
            if a > capacity:
                continue
            cost = value[: capacity + 1 - a] + run[o]
            behind, slack = best[a:], EQUAL * np.abs(best[a:])
            better = np.where(taken[j, a:] == NONE, cost <= behind + slack, cost < behind - slack)
            best[a:] = np.where(better, cost, behind)
            taken[j, a:] = np.where(better, o, taken[j, a:])
        value = best
    chosen = np.full(jobs, NONE)
    left = capacity
    for j in range(jobs - 1, -1, -1):
        chosen[j] = taken[j, left]
        if chosen[j] != NONE:
            left -= amount[chosen[j]]
    return chosen
