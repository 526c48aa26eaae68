"""What convex functions of several arguments share."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions.base import Definition
from gpusched_dsl.ir.definitions.intervals import Interval


class ConvexDefinition(Definition):
    """A convex function of its arguments together. Passes make them of other terms; no problem states them."""

    def convexity_of_moving(self, low: Floats, high: Floats, moving: Codes) -> tuple[Bools, Bools]:
        return np.ones(self.size, dtype=np.bool_), np.zeros(self.size, dtype=np.bool_)

    def sums(self, values: Floats) -> Floats:
        """Return the sums of a value per argument, for each entry."""
        return np.add.reduceat(values, self.starts[:-1]) if self.size else np.zeros(0)


def size_range(low: Floats, high: Floats) -> Interval:
    """The smallest and the largest absolute value within intervals."""
    largest = np.maximum(np.abs(low), np.abs(high))
    return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high))), largest
