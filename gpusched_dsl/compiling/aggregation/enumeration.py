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
    points = np.zeros((1, 0), dtype=np.int64)
    activity = np.zeros((1, len(lower)))
    slack = ROUNDING * np.maximum(1.0, np.abs(matrix).max(axis=1, initial=0.0))
    ends = np.stack((matrix * low, matrix * high))
    least, greatest = ends.min(axis=0), ends.max(axis=0)
    rest_least = np.concatenate((np.cumsum(least[:, ::-1], axis=1)[:, ::-1][:, 1:], np.zeros((len(lower), 1))), axis=1)
    rest_most = np.concatenate(
        (np.cumsum(greatest[:, ::-1], axis=1)[:, ::-1][:, 1:], np.zeros((len(lower), 1))), axis=1
    )
    if not matrix.shape[1]:
        fits = bool((lower <= slack).all() and (upper >= -slack).all())
        return points if fits else points[:0]
    for at in range(matrix.shape[1]):
        choices = np.arange(low[at], high[at] + 1)
        column = matrix[:, at]
        touched = np.flatnonzero(column)
        # Choices beyond what the touched rows leave are never made: few are, where a column may take large values.
        kept_points, kept_activity = [], []
        for choice in choices.tolist():
            trial = activity + column * choice
            fits = (trial[:, touched] + rest_least[touched, at] <= upper[touched] + slack[touched]).all(axis=1)
            fits &= (trial[:, touched] + rest_most[touched, at] >= lower[touched] - slack[touched]).all(axis=1)
            if not fits.any() and choice > 0 and _only_grows(column, rest_least[:, at], upper):
                break
            kept_points.append(np.column_stack((points[fits], np.full(int(fits.sum()), choice))))
            kept_activity.append(trial[fits])
        points, activity = np.concatenate(kept_points), np.concatenate(kept_activity)
        if len(points) > most:
            raise Obstacle(f"one element has more than {most:,} ways to be used")
    whole = (activity <= upper + slack).all(axis=1) & (activity >= lower - slack).all(axis=1)
    points = points[whole]
    return points[np.lexsort(points.T[::-1])]


def _only_grows(column: Floats, rest: Floats, upper: Floats) -> bool:
    """Whether a larger choice breaks the rows that a smaller one breaks."""
    return bool(((column >= 0) | ~np.isfinite(upper)).all() and (column[np.isfinite(upper)] >= 0).all())
