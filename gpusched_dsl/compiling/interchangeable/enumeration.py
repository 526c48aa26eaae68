"""Lists all integer points of small systems of rows, column by column, for all partial points at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpusched_dsl.compiling.interchangeable.equivalence_classes import distinct_rows
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.work import STEP, ElementWork
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints
from gpusched_dsl.ir.tolerances import ROUNDING

MOST_DISTINCT = 4_000  # activities, up to which counting points is cheaper than listing them


def integer_points(
    matrix: Floats, lower: Floats, upper: Floats, low: Ints, high: Ints, most: int, work: ElementWork | None = None
) -> Ints:
    """The points `low <= x <= high` with `lower <= matrix @ x <= upper`, one a row, in lexicographic order.

    `matrix` is dense (rows x columns). Partial points that no choice of the other columns completes are cut off, row by
    row. Raises Obstacle when there are more than `most` of them at some stage, or when `work` is used up.
    """
    if (high - low).max(initial=0) >= most:
        raise _too_many(most)
    system = _System(matrix, lower, upper, low, high, work)
    activity = np.zeros((1, len(lower)))
    steps: list[tuple[Codes, Ints]] = []  # which partial point each comes from, and the value of its last column
    for at in range(matrix.shape[1]):
        parents, values, activities = [], [], []
        for choice, fits, trial in system.choices(at, activity):
            parents.append(fits)
            values.append(np.full(len(fits), choice, dtype=np.int64))
            activities.append(trial)
            if sum(map(len, parents)) > most:
                raise _too_many(most)
        if not parents:
            return np.zeros((0, matrix.shape[1]), dtype=np.int64)
        activity = np.concatenate(activities)
        steps.append((np.concatenate(parents), np.concatenate(values)))
    last = np.flatnonzero(system.satisfies_rows(activity))
    points = np.zeros((len(last), matrix.shape[1]), dtype=np.int64)
    for at in reversed(range(matrix.shape[1])):
        parent, value = steps[at]
        points[:, at] = value[last]
        last = parent[last]
    order = np.lexsort(points.T[::-1]) if points.shape[1] else np.arange(len(points))
    ordered: Ints = points[order]
    return ordered


def count_points(
    matrix: Floats, lower: Floats, upper: Floats, low: Ints, high: Ints, work: ElementWork | None = None
) -> int | None:
    """Return the number of points that `integer_points` lists; None if counting takes as long as listing.

    Partial points with equal activities are counted together: with integers such as GPUs there are few of these.
    """
    if (high - low).max(initial=0) >= MOST_DISTINCT:
        return None
    system = _System(matrix, lower, upper, low, high, work)
    activity = np.zeros((1, len(lower)))
    times: Floats = np.ones(1)
    for at in range(matrix.shape[1]):
        found = [(trial, times[fits]) for _, fits, trial in system.choices(at, activity)]
        if not found:
            return 0
        together = np.concatenate([t for t, _ in found])
        amounts = np.concatenate([n for _, n in found])
        first, which = distinct_rows(np.round(together, 9) + 0.0)
        activity = together[first]
        times = np.bincount(which, weights=amounts, minlength=len(first)).astype(np.float64)
        if len(first) > MOST_DISTINCT:
            return None
    total = float(times[system.satisfies_rows(activity)].sum())
    return int(min(total, 2.0**62))


def _too_many(most: int) -> Obstacle:
    return Obstacle(f"one element has more than {most:,} possible uses")


class _System:
    """Rows over integer columns, and the range that the later columns can still add to a row."""

    def __init__(
        self, matrix: Floats, lower: Floats, upper: Floats, low: Ints, high: Ints, work: ElementWork | None
    ) -> None:
        self.matrix, self.lower, self.upper, self.low, self.high, self.work = matrix, lower, upper, low, high, work
        ends = np.stack((matrix * low, matrix * high))
        # A row that is exceeded by less, relative to its largest entry, counts as kept.
        self.slack = ROUNDING * np.maximum(1.0, np.abs(matrix).max(axis=1, initial=0.0))
        self.least, self.most = _sums_over_later(ends.min(axis=0)), _sums_over_later(ends.max(axis=0))

    def choices(self, at: int, activity: Floats) -> Iterator[tuple[int, Codes, Floats]]:
        """The values of a column, and for each which partial points it extends and their activities then."""
        column = self.matrix[:, at]
        on = np.flatnonzero(column)
        upper, lower = self.upper[on] + self.slack[on], self.lower[on] - self.slack[on]
        grows = bool((column[np.isfinite(self.upper)] >= 0).all())
        for choice in range(int(self.low[at]), int(self.high[at]) + 1):
            if self.work is not None:
                self.work.spend(STEP + activity.size)
            reached = activity[:, on] + column[on] * choice
            below = (reached + self.least[on, at] <= upper).all(axis=1)
            if grows and not below.any():
                break  # larger choices do not fit either
            fits = np.flatnonzero(below & (reached + self.most[on, at] >= lower).all(axis=1))
            yield choice, fits, activity[fits] + column * choice

    def satisfies_rows(self, activity: Floats) -> Bools:
        """Return which activities of integer points satisfy the rows."""
        below = (activity <= self.upper + self.slack).all(axis=1)
        return np.asarray(below & (activity >= self.lower - self.slack).all(axis=1))


def _sums_over_later(ends: Floats) -> Floats:
    """Return for every column the sum over the later columns."""
    sums = np.cumsum(ends[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate((sums[:, 1:], np.zeros((len(ends), 1))), axis=1)
