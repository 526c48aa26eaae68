"""Appends jobs to queues in turn: each to its best node, or to the node on which it ends first."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.kernels.ranking import are_same
from gpusched_dsl.policies.workload import NONE


@compiled
def append_all(first: Ints, node: Ints, time: Floats, ready: Floats, earliest_finish: bool) -> tuple[Ints, Ints]:
    """Return the candidate of each job (NONE: it has none), and its position from the beginning of that queue.

    Jobs are numbered in the order in which they are appended; the candidates of job j are `first[j]` to
    `first[j + 1]`, the best first. `node` and `time` are of candidates, `ready` (of queues) is added to.
    With `earliest_finish` a job takes the candidate that ends first, of equal ones the better.
    """
    jobs = len(first) - 1
    taken, place = np.full(jobs, NONE), np.zeros(jobs, np.int64)
    length = np.zeros(len(ready), np.int64)
    for j in range(jobs):
        if first[j] == first[j + 1]:
            continue
        best = first[j]
        if earliest_finish:
            end = ready[node[best]] + time[best]
            for c in range(first[j] + 1, first[j + 1]):
                other = ready[node[c]] + time[c]
                if other < end and not are_same(other, end):
                    best, end = c, other
        n = node[best]
        taken[j], place[j] = best, length[n]
        length[n] += 1
        ready[n] += time[best]
    return taken, place
