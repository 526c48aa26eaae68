"""All whole points of small systems of rows, column by column, for all partial points at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.compiling.symmetry.generic import Obstacle
from gpusched_dsl.ir.matrix import Floats

Wholes = NDArray[np.int64]

# A row that is exceeded by less, relative to its largest entry, counts as kept.
ROUNDING = 1e-9


def whole_points(matrix: Floats, lower: Floats, upper: Floats, low: Wholes, high: Wholes, most: int) -> Wholes:
    """The points `low <= x <= high` with `lower <= matrix @ x <= upper`, one a row, in lexicographic order.

    `matrix` is dense (rows x columns). Partial points that no choice of the other columns completes are cut off, row by
    row. Raises Obstacle when there are more than `most` of them at some stage.
    """
    if (high - low).max(initial=0) >= most:
        raise Obstacle(f"one element has more than {most:,} ways to be used")
    points = np.zeros((1, 0), dtype=np.int64)
    activity = np.zeros((1, len(lower)))
    slack = ROUNDING * np.maximum(1.0, np.abs(matrix).max(axis=1, initial=0.0))
    ends = np.stack((matrix * low, matrix * high))
    rest_least, rest_most = _behind(ends.min(axis=0)), _behind(ends.max(axis=0))
    for at in range(matrix.shape[1]):
        column = matrix[:, at]
        on = np.flatnonzero(column)
        grows = bool((column[np.isfinite(upper)] >= 0).all())
        kept_points, kept_activity = [np.zeros((0, at + 1), dtype=np.int64)], [activity[:0]]
        for choice in range(int(low[at]), int(high[at]) + 1):
            trial = activity + column * choice
            below = (trial[:, on] + rest_least[on, at] <= upper[on] + slack[on]).all(axis=1)
            if grows and not below.any():
                break  # larger choices do not fit either
            fits = below & (trial[:, on] + rest_most[on, at] >= lower[on] - slack[on]).all(axis=1)
            kept_points.append(np.column_stack((points[fits], np.full(int(fits.sum()), choice))))
            kept_activity.append(trial[fits])
        points, activity = np.concatenate(kept_points), np.concatenate(kept_activity)
        if len(points) > most:
            raise Obstacle(f"one element has more than {most:,} ways to be used")
    whole = (activity <= upper + slack).all(axis=1) & (activity >= lower - slack).all(axis=1)
    points = points[whole]
    order = np.lexsort(points.T[::-1]) if points.shape[1] else np.arange(len(points))
    ordered: Wholes = points[order]
    return ordered


def _behind(ends: Floats) -> Floats:
    """For every column the sum over the columns behind it."""
    sums = np.cumsum(ends[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate((sums[:, 1:], np.zeros((len(ends), 1))), axis=1)
