"""Sums of squares of affine expressions, divided by an affine expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions.convex import ConvexDefinition, size_range
from gpusched_dsl.ir.definitions.intervals import Interval, loosen
from gpusched_dsl.ir.definitions.power import AWAY


@dataclass(frozen=True, eq=False)
class QuadraticOverLinear(ConvexDefinition):
    """The sum of the squares of all arguments but the last, divided by the last, which is positive."""

    op: ClassVar[str] = "quadratic_over_linear"
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {
        "quadratic_over_linear": ("a quadratic over a linear expression", "linear rows cannot express it")
    }

    @cached_property
    def last(self) -> Codes:
        """The place of the denominator of each entry."""
        return self.starts[1:] - 1

    def _squares(self, values: Floats) -> Floats:
        squares = values**2
        squares[self.last] = 0.0
        return self.sums(squares)

    def evaluate(self, arguments: Floats) -> Floats:
        denominators = arguments[self.last]
        with np.errstate(all="ignore"):
            return np.where(denominators > 0, self._squares(arguments) / denominators, np.nan)

    def image(self, low: Floats, high: Floats) -> Interval:
        small, large = size_range(low, high)
        least, most = np.maximum(low[self.last], 0.0), np.maximum(high[self.last], 0.0)
        with np.errstate(all="ignore"):
            least, most = self._squares(small) / most, self._squares(large) / least
        return loosen(np.where(np.isnan(least), 0.0, least), np.where(np.isnan(most), np.inf, most))

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        """It falls with the denominator; near a denominator of 0 nothing may be concluded."""
        rising, falling = high > 0, low < 0
        rising[self.last], falling[self.last] = False, True
        undefined = (low[self.last] <= 0)[self.entry_of]
        return rising | undefined, falling | undefined

    def move_into_domain(self, arguments: Floats) -> Floats:
        moved = arguments.copy()
        moved[self.last] = np.maximum(moved[self.last], AWAY)
        return moved

    def derivatives(self, inside: Floats, values: Floats) -> Floats:
        denominators = inside[self.last]
        result = 2.0 * inside / denominators[self.entry_of]
        result[self.last] = -values / denominators
        return result
