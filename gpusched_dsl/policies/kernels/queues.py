"""Appends jobs to queues in turn: each to its best node, or to the node on which it ends first.

Where rows of the model are asked, positions are counted from the end of a queue, so that each job changes those of
others. The queues as they are with a job are entered in the guard as a whole: the job is refused if they break a row.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.ranking import are_same
from gpusched_dsl.policies.kernels.row_guard import COLUMN, PLACE, RowGuard, column_of, restart, take, undo
from gpusched_dsl.policies.workload import NONE


@compiled
def append_all(
    order: Ints, first: Ints, node: Ints, time: Floats, ready: Floats, earliest_finish: bool, rank: Ints,
    start: Ints, guard: RowGuard | None,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Return the candidate of each job (NONE: it has none), and its position from the beginning of that queue.

    `order` has the jobs in the order in which they are appended; the candidates of job j are `first[j]` to
    `first[j + 1]`, the best first. `node` and `time` are of candidates, `ready` (of queues) is added to.
    With `earliest_finish` a job takes the candidate that ends first, of equal ones the better.

    A job takes no candidate that `guard` refuses; the guard has the plan at the end. `rank` of candidates is the order
    of a queue then. The column of candidate c, p places before the end, is `column[first[c] + place[p]]`. The queues
    begin with the candidates of `start`, which rows allow together.
    """
    jobs = len(first) - 1
    taken, place, from_end = np.full(jobs, NONE), np.zeros(jobs, np.int64), np.zeros(jobs, np.int64)
    length = np.zeros(len(ready), np.int64)
    refused = np.zeros(len(node), np.bool_)
    if guard is not None:
        restart(guard)
    for j in order:
        if start[j] != NONE:
            taken[j] = start[j]
            _insert(taken, from_end, node, rank, j, 1)
            n = node[start[j]]
            place[j] = length[n]
            length[n] += 1
            ready[n] += time[start[j]]
    for j in order:
        while start[j] == NONE:
            best = _best_candidate(first[j], first[j + 1], node, time, ready, earliest_finish, refused)
            if best == NONE:
                break
            taken[j] = best
            if guard is not None:
                _insert(taken, from_end, node, rank, j, 1)
                if not _holds(guard, taken, from_end):
                    _insert(taken, from_end, node, rank, j, -1)
                    taken[j] = NONE
                    refused[best] = True
                    continue
            n = node[best]
            place[j] = length[n]
            length[n] += 1
            ready[n] += time[best]
            break
    if guard is not None:
        _holds(guard, taken, from_end)
    return taken, place


@compiled_in_place
def _best_candidate(
    begin: int, end: int, node: Ints, time: Floats, ready: Floats, earliest_finish: bool, refused: Bools
) -> int:
    """The first candidate that is not refused, or the one of these that ends first; NONE if there is none."""
    best, least = NONE, np.inf
    for c in range(begin, end):
        if refused[c]:
            continue
        if not earliest_finish:
            return c
        other = ready[node[c]] + time[c]
        if best == NONE or (other < least and not are_same(other, least)):
            best, least = c, other
    return int(best)


@compiled_in_place
def _insert(taken: Ints, from_end: Ints, node: Ints, rank: Ints, j: int, step: int) -> None:
    """Put job j into its queue (`step` 1), or take it out (-1)."""
    own = taken[j]
    after = 0
    for i in range(len(taken)):
        if i == j or taken[i] == NONE or node[taken[i]] != node[own]:
            continue
        if rank[taken[i]] < rank[own]:
            from_end[i] += step
        else:
            after += 1
    from_end[j] = after


@compiled_in_place
def _holds(guard: RowGuard, taken: Ints, from_end: Ints) -> bool:
    """Whether no row is broken by the queues; they are entered then, else in part."""
    undo(guard, 0)
    for i in range(len(taken)):
        if taken[i] == NONE:
            continue
        if from_end[i] >= guard.ints[COLUMN] - guard.ints[PLACE]:
            return False
        c = column_of(guard, taken[i], from_end[i])
        if c == NONE or not take(guard, c, 1.0):
            return False
    return True
