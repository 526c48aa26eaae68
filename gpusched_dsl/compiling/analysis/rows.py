"""Bounds of columns implied by rows: one sweep over all entries at once.

A row `sum a_j x_j <= b` gives `a_k x_k <= b - (smallest value of the other terms)`. Infinite terms are counted, not
added: a row with one infinite term says something about that column only, with two about none.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Bools, Floats, Int32s
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.tolerances import FEASIBILITY, INTEGRALITY, ON_STEP, ROUNDING

# A bound moves only for this share of the width of its column (of its size where the column is unbounded): many tiny
# steps cost more than they are worth.
WORTH = 1e-3
# Sums are this wrong at most, relative to the sizes that were added (rows have up to some thousand entries).
SUMS = 2.0**-44
# Smaller errors, relative to the bound itself, are not worth an ugly number.
UGLY = 1e-12
# A column whose bounds come this close (relatively) is fixed. Bounds that cross by less than a point may break them by
# have not crossed.
MEETING = ROUNDING
CROSSING = FEASIBILITY


class Upper(Struct, frozen=True, eq=False, dict=True):
    """Rows in the form `matrix @ point <= limits` (finite limits)."""

    matrix: Matrix
    limits: Floats

    @cached_property
    def sizes(self) -> Floats:
        return np.abs(self.matrix.values)

    @staticmethod
    def of(matrix: Matrix, lower: Floats, upper: Floats, used: Bools | None = None) -> Upper:
        """All finite sides of some rows (all by default) in that form."""
        below, above = np.isfinite(upper), np.isfinite(lower)
        if used is not None:
            below, above = below & used, above & used
        first, second = np.flatnonzero(below), np.flatnonzero(above)
        le, ge = matrix.take(first), matrix.take(second)
        return Upper(
            le.with_rows_below(Matrix(ge.starts, ge.columns, -ge.values)),
            np.concatenate((upper[first], -lower[second])),
        )

    def rows_with(self, changed: Bools) -> Upper:
        """The rows with a changed column."""
        rows = np.zeros(self.matrix.rows, dtype=np.bool_)
        rows[self.matrix.row_of[changed[self.matrix.columns]]] = True
        return self if rows.all() else Upper(self.matrix.take(np.flatnonzero(rows)), self.limits[rows])


class WorkingBounds(Struct, eq=False):
    """Bounds while they shrink. `feasible` is false once bounds cross: they are then left as they were."""

    lower: Floats
    upper: Floats
    integer: Bools
    changed: Bools
    feasible: bool = True

    def raise_lower(self, columns: Int32s, values: Floats) -> None:
        """Tighten lower bounds if that pays; columns may repeat."""
        self._move(columns, -values, -1.0)

    def cut_upper(self, columns: Int32s, values: Floats) -> None:
        self._move(columns, values, 1.0)

    def _move(self, columns: Int32s, values: Floats, sign: float) -> None:
        """Upper bounds of `sign * column`."""
        finite = np.isfinite(values)
        if not finite.all():
            columns, values = columns[finite], values[finite]
        if not len(columns):
            return
        near, far = (self.upper, self.lower) if sign > 0 else (self.lower, self.upper)
        best = sign * near
        integer = self.integer[columns]
        np.minimum.at(best, columns, np.where(integer, integers_below(values), values))
        seen = np.zeros(len(near), dtype=np.bool_)
        seen[columns] = True
        at = np.flatnonzero(seen)
        best, old, other = best[at], sign * near[at], sign * far[at]
        size = np.maximum(1.0, np.abs(other))
        most = np.where(self.integer[at], ON_STEP, np.inf)  # large integers are not their neighbours
        with np.errstate(invalid="ignore"):
            room = np.minimum(CROSSING * size, most)
            if (best < other - room).any():
                self.feasible = False
            sound = best >= other - room
            best = np.where(best <= other + np.minimum(MEETING * size, most), other, best)
            width = np.where(np.isfinite(old - other), old - other, np.maximum(1.0, np.abs(best)))
            better = sound & (best < old) & ((best == other) | (old - best > WORTH * width))
        at, best = at[better], sign * best[better]
        near[at] = best
        self.changed[at] = True


def integers_below(values: Floats) -> Floats:
    """Return the largest integers within upper bounds of integer columns, with a tolerance for errors of the bounds."""
    return np.floor(values + np.minimum(INTEGRALITY * np.maximum(1.0, np.abs(values)), ON_STEP))


def sweep(box: WorkingBounds, rows: Upper) -> None:
    """Shrink the bounds by every row once."""
    matrix = rows.matrix
    if not matrix.nonzeros:
        return
    values, columns, row_of, count = matrix.values, matrix.columns, matrix.row_of, matrix.rows
    positive = values > 0
    low, high = box.lower[columns], box.upper[columns]
    near = values * np.where(positive, low, high)  # the smallest value of each term
    infinite = np.isinf(near)
    open_terms = np.bincount(row_of, weights=infinite, minlength=count) if infinite.any() else np.zeros(count)
    counted = np.where(infinite, 0.0, near)
    gap = rows.limits - np.bincount(row_of, weights=counted, minlength=count)
    with np.errstate(invalid="ignore"):
        moves = np.where(
            infinite, open_terms[row_of] == 1, (open_terms[row_of] == 0) & (rows.sizes * (high - low) > gap[row_of])
        )
    at = np.flatnonzero(moves)
    if not len(at):
        return
    added = np.bincount(row_of, weights=np.abs(counted), minlength=count) + np.abs(rows.limits)
    row, size, start = row_of[at], rows.sizes[at], counted[at] / values[at]
    reach, error = gap[row] / size, SUMS * added[row] / size
    up = positive[at]
    bound = np.where(up, start + reach, start - reach)
    error = np.where(error > UGLY * np.maximum(1.0, np.abs(bound)), error, 0.0)
    box.cut_upper(columns[at[up]], (bound + error)[up])
    box.raise_lower(columns[at[~up]], (bound - error)[~up])
