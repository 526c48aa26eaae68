"""The activity of rows: the smallest and largest value of each within the bounds of its columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.problem import Matrix, Problem
from gpusched_dsl.ir.tolerances import FEASIBILITY

CERTAIN = FEASIBILITY  # a contradiction must be larger than this, relative to its numbers


@dataclass(frozen=True, eq=False)
class Activity:
    """The smallest and largest value of each row within bounds, with infinite terms counted apart."""

    matrix: Matrix
    small: Floats  # the smallest value of each entry's term
    large: Floats
    low: Floats  # the sum of the finite smallest terms of each row
    high: Floats
    open_below: Codes  # how many of the smallest terms of each row are infinite
    open_above: Codes
    size: Floats  # the largest finite term of each row in absolute value

    @staticmethod
    def of(matrix: Matrix, lower: Floats, upper: Floats) -> Activity:
        low, high = lower[matrix.columns], upper[matrix.columns]
        with np.errstate(invalid="ignore"):
            small = np.where(matrix.values > 0, matrix.values * low, matrix.values * high)
            large = np.where(matrix.values > 0, matrix.values * high, matrix.values * low)
        small[matrix.values == 0] = large[matrix.values == 0] = 0.0
        rows, count = matrix.row_of, matrix.rows
        closed_below, closed_above = np.isfinite(small), np.isfinite(large)
        terms_below, terms_above = np.where(closed_below, small, 0.0), np.where(closed_above, large, 0.0)
        size = np.zeros(count)
        filled = np.flatnonzero(np.diff(matrix.starts))
        if len(filled):
            sizes = np.maximum(np.abs(terms_below), np.abs(terms_above))
            size[filled] = np.maximum.reduceat(sizes, matrix.starts[filled])
        return Activity(
            matrix,
            small,
            large,
            np.bincount(rows, weights=terms_below, minlength=count).astype(np.float64, copy=False),
            np.bincount(rows, weights=terms_above, minlength=count).astype(np.float64, copy=False),
            np.bincount(rows[~closed_below], minlength=count),
            np.bincount(rows[~closed_above], minlength=count),
            size,
        )

    @property
    def smallest_values(self) -> Floats:
        return np.where(self.open_below > 0, -np.inf, self.low)

    @property
    def largest_values(self) -> Floats:
        return np.where(self.open_above > 0, np.inf, self.high)

    def excesses(self, problem: Problem) -> tuple[Floats, Floats]:
        """Return by how much each row is above its upper side and below its lower side whatever the columns are.

        Both are divided by the magnitude that the row is judged by, and negative where the side is satisfied.
        """
        scale = np.maximum(1.0, self.size)
        with np.errstate(invalid="ignore"):
            above = (self.smallest_values - problem.row_upper) / np.maximum(scale, np.abs(problem.row_upper))
            below = (problem.row_lower - self.largest_values) / np.maximum(scale, np.abs(problem.row_lower))
        above[np.isneginf(problem.row_upper)] = np.inf
        below[np.isposinf(problem.row_lower)] = np.inf
        return _plain(above), _plain(below)

    def most_violated_row(self, problem: Problem) -> tuple[int, bool] | None:
        """The row that is broken most whatever the columns are, and whether by its upper side; None when none is."""
        if not problem.rows:
            return None
        above, below = self.excesses(problem)
        at_above, at_below = int(np.argmax(above)), int(np.argmax(below))
        if not max(above[at_above], below[at_below]) > CERTAIN:
            return None
        return (at_above, True) if above[at_above] >= below[at_below] else (at_below, False)

    def bounds_from(self, sides: Floats, *, smallest: bool) -> Floats:
        """For every entry the bound of its column that a side of its row and the other terms leave; NaN-free.

        With `smallest` the upper sides are given, and the other terms are at their smallest.
        """
        terms, total, opened = (
            (self.small, self.low, self.open_below) if smallest else (self.large, self.high, self.open_above)
        )
        rows = self.matrix.row_of
        infinite = ~np.isfinite(terms)
        others = np.where(infinite, total[rows], total[rows] - np.where(infinite, 0.0, terms))
        known = (opened[rows] - infinite) == 0
        known &= np.isfinite(sides[rows]) & (self.matrix.values != 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = (sides[rows] - others) / self.matrix.values
        is_upper = (self.matrix.values > 0) == smallest
        return np.where(known & np.isfinite(bound), bound, np.where(is_upper, np.inf, -np.inf))


def _plain(values: Floats) -> Floats:
    return np.where(np.isnan(values), -np.inf, values)
