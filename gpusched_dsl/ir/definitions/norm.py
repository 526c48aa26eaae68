"""Euclidean norms of affine expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.definitions.convex import ConvexDefinition, size_range
from gpusched_dsl.ir.definitions.intervals import Interval, loosen


@dataclass(frozen=True, eq=False)
class Norm(ConvexDefinition):
    """The root of the sum of the squares of the arguments."""

    op: ClassVar[str] = "norm"
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {"norm": ("a norm", "linear rows cannot express it")}

    def evaluate(self, arguments: Floats) -> Floats:
        """Return the norms; the largest argument is factored out, so that no square overflows."""
        if not self.size:
            return np.zeros(0)
        largest = np.maximum.reduceat(np.abs(arguments), self.starts[:-1])
        unit = np.where(largest > 0, largest, 1.0)
        return largest * np.sqrt(self.sums((arguments / unit[self.entry_of]) ** 2))

    def image(self, low: Floats, high: Floats) -> Interval:
        small, large = size_range(low, high)
        with np.errstate(invalid="ignore"):  # infinite ends
            return loosen(np.sqrt(self.sums(small**2)), np.sqrt(self.sums(large**2)))

    def preimage(self, low: Floats, high: Floats, small: Floats, large: Floats) -> Interval:
        return -large, large

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        return high > 0, low < 0

    def derivatives(self, inside: Floats, values: Floats) -> Floats:
        size = values[self.entry_of]
        return np.where(size > 0, inside / np.where(size > 0, size, 1.0), 0.0)
