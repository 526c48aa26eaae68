"""Fix and propagate: integer columns fixed batch by batch in a given order, smaller batches where they contradict.

A batch of columns is fixed at once and followed through the rows. Where that breaks a row the batch is taken back and
halved, down to one column, which is then kept from the value it was meant to have. Where that fails too the search
stands at a dead end: the latest batches are taken back, the columns of the broken row come first, and it goes on.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.propagation import PropagationDomain
from gpusched_dsl.solving.primal.rows import entries

MOST_DEAD_ENDS = 24
GROWTH, SHRINKAGE = 2, 4


def fix_what_fits(box: PropagationDomain, order: Ints, targets: Floats, budget: HeuristicBudget) -> Ints:
    """Fix the columns of `order` at their targets where the rows allow that; the columns that were left as they are.

    As `fix`, but a column that contradicts those before it is passed over, and so is one whose bounds exclude its
    target.
    """
    waiting, size = order, len(order)
    left: list[Ints] = []
    while len(waiting) and not budget.over:
        batch, waiting = waiting[:size], waiting[size:]
        values = np.rint(targets[batch])
        fits = (values >= box.lower[batch]) & (values <= box.upper[batch])
        left.append(batch[~fits])
        free = fits & box.is_free(batch)
        mark = box.mark
        if not free.any() or box.narrow(batch[free], values[free], values[free]):
            size *= GROWTH
            continue
        box.undo(mark)
        if len(batch) > 1:
            waiting = np.concatenate((batch, waiting))
            left.pop()
            size = max(1, len(batch) // SHRINKAGE)
        else:
            left.append(batch)
    return np.concatenate((*left, waiting)) if left else waiting


def fix(
    box: PropagationDomain,
    order: Ints,
    targets: Floats,
    budget: HeuristicBudget,
    *,
    first: int = 1,
    dead_ends: int = MOST_DEAD_ENDS,
) -> bool:
    """Fix the integer columns of `order` near `targets` (a value per column of the problem); whether all are fixed.

    `first`: how many columns the first batch has. Where the answer is False, the box holds what could be fixed without
    a contradiction.
    """
    waiting, at, size = order[box.is_free(order)], 0, max(1, first)
    marks: list[int] = []
    ends = 0
    while at < len(waiting) and not budget.over:
        batch = waiting[at : at + size]
        free = batch[box.is_free(batch)]
        if not len(free):
            at += len(batch)
            continue
        mark = box.mark
        values = np.clip(np.rint(targets[free]), box.lower[free], box.upper[free])
        if box.narrow(free, values, values):
            marks.append(mark)
            at += len(batch)
            if len(free) * 4 < len(batch):  # most were fixed by others: look at the rest only
                waiting, at = _rest(box, waiting[at:]), 0
            size *= GROWTH
            continue
        broken = box.conflict
        box.undo(mark)
        if len(free) > 1:
            size = max(1, min(size, len(free)) // SHRINKAGE)
            if len(free) < len(batch):
                waiting, at = _rest(box, waiting[at:]), 0
            continue
        size = 1
        if _keep_from(box, int(free[0]), float(values[0])):
            marks.append(mark)
            continue
        box.undo(mark)
        ends += 1
        if ends > dead_ends or not marks:
            return False
        back = min(len(marks), 1 << min(ends // 3, 16))
        box.undo(marks[-back])
        del marks[-back:]
        urgent = _columns_of(box, broken if broken >= 0 else box.conflict, order)
        waiting, at = _rest(box, np.concatenate((free, urgent, order))), 0
    return not bool(box.is_free(order).any())


def _keep_from(box: PropagationDomain, column: int, value: float) -> bool:
    """Exclude a value of a column; if it is inside the bounds, also exclude all larger values."""
    lower, upper = box.lower[column], box.upper[column]
    lower, upper = (value + 1.0, upper) if value == lower else (lower, value - 1.0)
    return box.narrow(np.array([column]), np.array([lower]), np.array([upper]))


def _rest(box: PropagationDomain, order: Ints) -> Ints:
    """The columns that are not fixed, each once, in the order of their first places."""
    order = order[box.is_free(order)]
    first = np.unique(order, return_index=True)[1]
    return order[np.sort(first)] if len(first) < len(order) else order


def _columns_of(box: PropagationDomain, row: int, order: Ints) -> Ints:
    """The columns of a row that the search fixes, in its order."""
    if row < 0:
        return order[:0]
    at, _ = entries(box.rows.starts, np.array([row]))
    member = np.zeros(len(box.lower), dtype=np.bool_)
    member[box.rows.columns[at]] = True
    return order[member[order]]
