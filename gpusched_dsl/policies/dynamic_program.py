"""Which jobs run now, on which kind of GPU and on how many: one kind after another, each by an exact recursion.

The proxy of the dynamic programme that Filippini et al. (2024) compare with: what it costs to run a job now, or to let
it wait, added up over the jobs. Jobs that wait on one kind are considered on the next.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.dynamic_program import allot
from gpusched_dsl.policies.workload import NONE


def admit(
    job: Ints, kind: Ints, amount: Ints, run: Floats, wait: Floats, capacity: Ints, queue: Ints, kinds: Ints
) -> Ints:
    """The option that each job gets (a place in `job`, ...), NONE where it waits; shape as `wait`.

    Option o runs `job[o]` on `amount[o]` units of `kind[o]` at the price `run[o]`. Jobs are served in the order of
    `queue` and kinds in that of `kinds`; jobs that are not in `queue` wait. Of equally cheap choices a job runs rather
    than waits, with the smaller amount. Raises ValueError for amounts below 1, and prices that are not finite.
    """
    if len(amount) and int(amount.min()) < 1:
        raise ValueError("an option must take at least one unit")
    if not (np.isfinite(run).all() and np.isfinite(wait).all()):
        raise ValueError("prices must be finite")
    found = np.full(len(wait), NONE, dtype=np.int64)
    place = np.full(len(wait), NONE, dtype=np.int64)
    place[queue] = np.arange(len(queue))
    for k in kinds.tolist():
        options = np.flatnonzero((kind == k) & (place[job] >= 0) & (found[job] == NONE))
        options = options[np.lexsort((amount[options], place[job[options]]))]
        served, counts = np.unique(place[job[options]], return_counts=True)
        if not len(served):
            continue
        jobs = queue[served]
        first = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
        # Beyond what all jobs together can take, capacity is worth nothing.
        most = int(np.minimum(capacity[k], np.maximum.reduceat(amount[options], first[:-1]).sum()))
        if most < 1:
            continue
        chosen = allot(first, amount[options], run[options], wait[jobs], most)
        runs = chosen != NONE
        found[jobs[runs]] = options[chosen[runs]]
    return found
