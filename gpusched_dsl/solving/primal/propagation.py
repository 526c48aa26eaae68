"""Bounds of columns that tighten as columns are fixed, with a trail to undo steps.

Of every row the smallest and the largest value within the bounds are kept up to date: the sum of the finite terms and
the number of infinite ones. A row `sum a_j x_j <= b` then gives `a_k (x_k - nearest bound) <= b - smallest value`. All
columns that changed are followed at once: their rows by the columns' entries, what these rows say by the rows' entries,
so that a step costs what it touches and no loop runs over elements.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.ir.arrays import Bools, Floats, Int32s
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import INTEGRALITY, LARGEST_BOUND, MEETING, STEP_WORTH
from gpusched_dsl.solving.primal.rows import PropagationRows, distinct_numbers, entries

# A chain of steps on continuous columns may go on for ever; what is known when it is cut is sound.
MOST_ROUNDS = 100

Sums = tuple[Floats, Floats, Int32s, Int32s]


@dataclass(frozen=True, eq=False)
class _Step:
    """The state before a step."""

    columns: Int32s
    lower: Floats
    upper: Floats
    rows: Int32s
    sums: Sums


class PropagationDomain:
    """The bounds of all columns; see above. `conflict` is the last violated row (-1: none known)."""

    def __init__(self, problem: Problem, rows: PropagationRows) -> None:
        self.rows = rows
        self.lower, self.upper = problem.lower.copy(), problem.upper.copy()
        integer = problem.integer
        self.lower[integer] = np.ceil(self.lower[integer] - INTEGRALITY)
        self.upper[integer] = np.floor(self.upper[integer] + INTEGRALITY)
        self.conflict = -1
        self._trail: list[_Step] = []
        self._sum_up()

    def _sum_up(self) -> None:
        rows = self.rows
        row_of = np.repeat(np.arange(rows.count, dtype=np.int32), np.diff(rows.starts))
        positive = rows.values > 0
        low, high = self.lower[rows.columns], self.upper[rows.columns]

        def total(near: Floats) -> tuple[Floats, Int32s]:
            infinite = np.isinf(near)
            terms = rows.values * np.where(infinite, 0.0, near)
            sums = np.bincount(row_of, weights=terms, minlength=rows.count).astype(np.float64, copy=False)
            return sums, np.bincount(row_of[infinite], minlength=rows.count).astype(np.int32)

        self.least, self.least_open = total(np.where(positive, low, high))
        self.most, self.most_open = total(np.where(positive, high, low))

    # --- steps and the way back ----------------------------------------------------------------------------------

    @property
    def mark(self) -> int:
        """Return the position of the trail, for `undo`."""
        return len(self._trail)

    def undo(self, mark: int) -> None:
        """Undo all steps since `mark`, exactly."""
        while len(self._trail) > mark:
            step = self._trail.pop()
            self.lower[step.columns], self.upper[step.columns] = step.lower, step.upper
            at = step.rows
            self.least[at], self.most[at], self.least_open[at], self.most_open[at] = step.sums

    def is_free(self, columns: NDArray[np.integer]) -> Bools:
        result: Bools = self.lower[columns] < self.upper[columns]
        return result

    def narrow(self, columns: NDArray[np.integer], lower: Floats, upper: Floats) -> bool:
        """Tighten the bounds of distinct columns and propagate through rows; return whether no row is violated.

        Where one is, bounds are left somewhere on the way: the caller takes the step back.
        """
        self.conflict = -1
        return self._follow(self._take(columns.astype(np.int32, copy=False), lower, upper))

    def settle(self) -> bool:
        """Propagate all rows; return whether none is violated."""
        self.conflict = -1
        return self._follow(np.arange(self.rows.count, dtype=np.int32))

    def _take(self, columns: Int32s, lower: Floats, upper: Floats) -> Int32s:
        """Change bounds and the sums of rows; the rows that are touched."""
        rows = self.rows
        at, counts = entries(rows.column_starts, columns)
        row, value = rows.rows[at], rows.column_values[at]
        touched = distinct_numbers(row, rows.count)
        old_lower, old_upper = self.lower[columns], self.upper[columns]
        sums = (self.least[touched], self.most[touched], self.least_open[touched], self.most_open[touched])
        self._trail.append(_Step(columns, old_lower, old_upper, touched, sums))
        self.lower[columns], self.upper[columns] = lower, upper

        positive = value > 0
        low, low_open = _change(old_lower, lower)
        high, high_open = _change(old_upper, upper)
        low, high = value * np.repeat(low, counts), value * np.repeat(high, counts)
        np.add.at(self.least, row, np.where(positive, low, high))
        np.add.at(self.most, row, np.where(positive, high, low))
        if low_open.any() or high_open.any():
            low_open, high_open = np.repeat(low_open, counts), np.repeat(high_open, counts)
            np.add.at(self.least_open, row, np.where(positive, low_open, high_open))
            np.add.at(self.most_open, row, np.where(positive, high_open, low_open))
        return touched

    # --- what rows say -------------------------------------------------------------------------------------------

    def _follow(self, touched: Int32s) -> bool:
        for _ in range(MOST_ROUNDS):
            if not len(touched):
                return True
            rows = self.rows
            room = rows.upper[touched] - self.least[touched]  # for `<=`
            excess = rows.lower[touched] - self.most[touched]  # for `>=`, at most 0 where it can be fulfilled
            open_least, open_most = self.least_open[touched], self.most_open[touched]
            tolerance = rows.tolerance[touched]
            broken = ((room < -tolerance) & (open_least == 0)) | ((excess > tolerance) & (open_most == 0))
            if broken.any():
                self.conflict = int(touched[int(np.argmax(broken))])
                return False
            reach = rows.reach[touched]
            above = ((open_least == 0) & (room < reach)) | ((open_least == 1) & (room < np.inf))
            below = ((open_most == 0) & (-excess < reach)) | ((open_most == 1) & (excess > -np.inf))
            found = [
                self._implied_bounds(touched[above], np.maximum(room[above], 0.0), open_least[above], True),
                self._implied_bounds(touched[below], np.minimum(excess[below], 0.0), open_most[below], False),
            ]
            columns = np.concatenate([f[0] for f in found])
            if not len(columns):
                return True
            bounds, uppers = np.concatenate([f[1] for f in found]), np.concatenate([f[2] for f in found])
            source_rows = np.concatenate([f[3] for f in found])
            changed = distinct_numbers(columns, len(self.lower))
            lower, upper = self.lower[changed], self.upper[changed]
            place = np.searchsorted(changed, columns)
            np.minimum.at(upper, place[uppers], bounds[uppers])
            np.maximum.at(lower, place[~uppers], bounds[~uppers])
            size = np.maximum(1.0, np.abs(np.where(np.isfinite(lower), lower, upper)))
            crossing = lower - upper > np.where(rows.integer[changed], 0.5, INTEGRALITY * size)
            if crossing.any():
                column = changed[int(np.argmax(crossing))]
                self.conflict = int(source_rows[int(np.argmax(columns == column))])
                return False
            meet = lower > upper - MEETING * size
            middle = np.clip(lower, self.lower[changed], upper)
            lower, upper = np.where(meet, middle, lower), np.where(meet, middle, upper)
            touched = self._take(changed, lower, upper)
        return True

    def _implied_bounds(
        self, rows: Int32s, room: Floats, infinite: Int32s, at_most: bool
    ) -> tuple[Int32s, Floats, Bools, Int32s]:
        """Return useful bounds implied by rows: columns, bounds, which are upper bounds, and their rows."""
        stored_rows = self.rows
        at, counts = entries(stored_rows.starts, rows)
        column = stored_rows.columns[at]
        free = self.lower[column] < self.upper[column]
        row = np.repeat(np.arange(len(rows), dtype=np.int32), counts)[free]
        column, value = column[free], stored_rows.values[at[free]]
        low, high = self.lower[column], self.upper[column]
        positive = value > 0
        near = np.where(positive == at_most, low, high)
        alone = np.isinf(near)
        usable = (value != 0) & (infinite[row] == alone)
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.where(alone, 0.0, near) + room[row] / value
        bound_is_upper = positive == at_most
        is_integer = stored_rows.integer[column]
        slack = INTEGRALITY * np.maximum(1.0, np.abs(bound))
        rounded = np.where(bound_is_upper, np.floor(bound + slack), np.ceil(bound - slack))
        bound = np.where(is_integer, rounded, bound)
        with np.errstate(invalid="ignore"):
            gain = np.where(bound_is_upper, high - bound, bound - low)
            width = high - low
        least = np.where(is_integer, 0.5, np.where(np.isfinite(width), STEP_WORTH * width + MEETING, 0.0))
        # A continuous column that meets its other bound is fixed, however narrow it was.
        usable &= (gain > least) & (np.abs(bound) < LARGEST_BOUND)
        return column[usable], bound[usable], bound_is_upper[usable], rows[row[usable]]


def _change(old: Floats, new: Floats) -> tuple[Floats, Int32s]:
    """Return the change of the finite part and of the number of infinite terms."""
    before, after = np.isinf(old), np.isinf(new)
    difference = np.where(after, 0.0, new) - np.where(before, 0.0, old)
    return difference, after.astype(np.int32) - before.astype(np.int32)
