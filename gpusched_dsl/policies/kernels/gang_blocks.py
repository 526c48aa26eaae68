"""One gang in slots where rows of the model are asked: all of its workers in all of its slots are entered, or none."""

from __future__ import annotations

from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.policies.kernels.compiled import compiled_in_place
from gpusched_dsl.policies.kernels.row_guard import (
    DEEP,
    RowGuard,
    largest_value,
    lower_of,
    mark,
    take,
    undo,
    upper_of,
)
from gpusched_dsl.policies.workload import NONE


@compiled_in_place
def seat_block(guard: RowGuard, column: Ints, most: Ints, workers: int, own: Ints, counts: Ints) -> bool:
    """Enter the workers of a gang on nodes in their order, each with as many as it has room for and rows admit.

    `column` (n, d): the columns of each node, one for each slot, or one for the start. `own`: all columns of the job.
    `counts` gets the workers on each node. False, and nothing is entered, if workers are left over, or a row demands
    others of the job.
    """
    start, left, slots = mark(guard), workers, column.shape[1]
    counts[:] = 0
    for n in range(len(most)):
        k = min(most[n], left)
        for t in range(slots):
            if k > 0:
                k = 0 if column[n, t] == NONE else largest_value(guard, column[n, t], k)
        while k > 0:
            at, fits = mark(guard), True
            for t in range(slots):
                fits = fits and take(guard, column[n, t], float(k))
            if fits:
                break
            undo(guard, at)
            k -= 1
        counts[n] = k
        left -= k
    if left == 0 and _has_no_other(guard, own, workers * slots):
        return True
    undo(guard, start)
    return False


@compiled_in_place
def _has_no_other(guard: RowGuard, own: Ints, entered: int) -> bool:
    """Let no further workers of a job run; whether no row is broken by that, and none demands more than is entered."""
    total = 0.0
    for c in own:
        if c == NONE:
            continue
        total += lower_of(guard, c)
        if lower_of(guard, c) == upper_of(guard, c) or guard.ints[guard.ints[DEEP] + c] == 0:
            continue
        if lower_of(guard, c) > 0.0 or not take(guard, c, 0.0):
            return False
    return total < entered + 0.5
