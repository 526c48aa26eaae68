"""Continuous piecewise-linear functions of one number, many at once."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Codes, Floats


class Curves(Struct, frozen=True, eq=False):
    """Continuous piecewise-linear functions: curve c has the points `starts[c] .. starts[c+1]-1`, x increasing.

    Beyond its first and last point a curve goes on with `slope_before[c]` and `slope_after[c]`.
    `errors[c]` bounds how far the curve may lie from the function it stands for (0: it is that function).
    """

    starts: Codes
    x: Floats
    y: Floats
    slope_before: Floats
    slope_after: Floats
    errors: Floats

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    def values(self, which: Codes, at: Floats) -> Floats:
        """Curve `which[i]` at `at[i]`, for all i."""
        low, high = self.starts[which], self.starts[which + 1] - 1
        first, last = low.copy(), high.copy()
        while np.any(first < last):  # bisection in all curves at once: the last point not beyond `at`
            middle = (first + last + 1) // 2
            right = self.x[middle] <= at
            first, last = np.where(right, middle, first), np.where(right, last, middle - 1)
        here = np.clip(first, low, np.maximum(high - 1, low))
        after = np.minimum(here + 1, high)
        width = self.x[after] - self.x[here]
        inside = np.where(width > 0, (self.y[after] - self.y[here]) / np.where(width > 0, width, 1.0), 0.0)
        value = self.y[here] + inside * (at - self.x[here])
        before, beyond = at < self.x[low], at > self.x[high]
        value = np.where(before, self.y[low] + self.slope_before[which] * (at - self.x[low]), value)
        return np.where(beyond, self.y[high] + self.slope_after[which] * (at - self.x[high]), value)
