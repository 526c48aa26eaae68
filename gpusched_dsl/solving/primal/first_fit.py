"""First fit decreasing for packings that are recognised from rows.

    sum_b x_ib == 1 (or >= 1) for each item i          sum_i a_i x_ib <= c y_b (or <= c), in each of some resources

The items are taken by decreasing size, and each goes to the first bin with room; an item of several copies (`== 5`, x
integer) to the first ones. Which rows and columns these are follows from signs only, so there may be other rows, and
bins of different kinds: what is chosen here is a proposal, which propagation and verification complete or refuse.

Source: D. S. Johnson, Near-optimal bin packing algorithms, MIT 1973; sizes of several resources as in L. T. Kou,
G. Markowsky, Multidimensional bin packing algorithms, IBM Journal of Research and Development 21, 1977.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints, unique
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import ROUNDING

if TYPE_CHECKING:  # for it loads SciPy
    from gpusched_dsl.solving.primal.rows import PropagationRows

SHARE = 0.5  # of the integer columns that must be those of items


def first_fits(problem: Problem, rows: PropagationRows) -> list[tuple[Ints, Floats]]:
    """Columns of items and their values, for sizes by the largest share of a bin and by the sum of shares.

    Empty where the rows are not those of a packing. A fit in which an item finds no bin is left out.
    """
    row = np.repeat(np.arange(rows.count), np.diff(rows.starts))
    column, value = rows.columns.astype(np.int64), rows.values
    plain = np.bincount(row, weights=(value <= 0) | ~problem.integer[column], minlength=rows.count) == 0
    covers = plain & (rows.lower > 0) & np.isfinite(rows.lower)
    item = np.full(problem.columns, -1, dtype=np.int64)
    amount = np.zeros(problem.columns)
    at = np.flatnonzero(covers[row])
    item[column[at]], amount[column[at]] = row[at], value[at]
    # Bins: the largest room of a row, and what one of a column takes of it.
    opens = np.flatnonzero((value < 0) & np.isfinite(problem.upper[column]))
    opened = np.bincount(row[opens], weights=value[opens] * problem.upper[column[opens]], minlength=rows.count)
    room = rows.upper - opened
    used = np.flatnonzero((~covers & np.isfinite(room) & (room > 0))[row] & (value > 0) & (item[column] >= 0))
    share = value[used] / room[row[used]]
    items = unique(column[used])
    if not len(items) or len(items) < SHARE * int(problem.integer.sum()):
        return []
    largest, total = np.zeros(problem.columns), np.zeros(problem.columns)
    np.maximum.at(largest, column[used], share)
    np.add.at(total, column[used], share)
    order = np.lexsort((column[used], item[column[used]]))
    takes = _Takes(items, item[items], amount[items], column[used][order], row[used][order], value[used][order])
    found = (takes.fit(problem, rows, room.copy(), size[items]) for size in (largest, total))
    return [f for f in found if f is not None]


@dataclass(frozen=True, eq=False)
class _Takes:
    """What the columns of items take: entry k is `value[k]` of the room of row `row[k]`, for column `column[k]`.

    Entries are those of an item after another, by column; `amount` is what a column adds to the row of its item.
    """

    items: Ints
    item: Ints
    amount: Floats
    column: Ints
    row: Ints
    value: Floats

    def fit(self, problem: Problem, rows: PropagationRows, room: Floats, size: Floats) -> tuple[Ints, Floats] | None:
        """The columns that items go to, the largest items first, and how many copies; None where one has no bin."""
        kinds, number = np.unique(self.item, return_inverse=True)
        most = np.zeros(len(kinds))
        np.maximum.at(most, number, size)
        tolerance = ROUNDING * np.maximum(1.0, np.abs(room))
        begins = np.searchsorted(self.item[np.searchsorted(self.items, self.column)], kinds)
        ends = np.append(begins[1:], len(self.column))
        amount = np.zeros(problem.columns)
        amount[self.items] = self.amount
        chosen: list[Ints] = []
        copies: list[Floats] = []
        for k in np.argsort(-most, kind="stable").tolist():
            own = slice(begins[k], ends[k])
            columns, first = np.unique(self.column[own], return_index=True)
            takes, bins = self.value[own], self.row[own]
            fits = np.floor((room[bins] + tolerance[bins]) / takes)
            count = np.minimum(np.minimum.reduceat(fits, first), problem.upper[columns])
            # The first bins with room get the copies that are left.
            left = np.ceil(rows.lower[kinds[k]] / amount[columns] - ROUNDING)
            count = np.maximum(count, 0.0)
            count = np.clip(left - (np.cumsum(count) - count), 0.0, count)
            if count.sum() < left.max():
                return None
            where = np.flatnonzero(count)
            np.subtract.at(room, bins, takes * np.repeat(count, np.diff(np.append(first, len(bins)))))
            chosen.append(columns[where])
            copies.append(count[where])
        return np.concatenate(chosen), np.concatenate(copies)
