"""Exponentials of quotients, times the denominator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.definitions.convex import ConvexDefinition
from gpusched_dsl.ir.definitions.intervals import Interval, loosen
from gpusched_dsl.ir.definitions.power import AWAY


@dataclass(frozen=True, eq=False)
class ExponentialPerspective(ConvexDefinition):
    """`y * exp(x / y)` of two arguments, y > 0."""

    op: ClassVar[str] = "exponential_perspective"
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {
        "exponential_perspective": ("an exponential of a quotient", "linear rows cannot express it")
    }

    def evaluate(self, arguments: Floats) -> Floats:
        return _perspective(arguments[0::2], arguments[1::2])

    def image(self, low: Floats, high: Floats) -> Interval:
        """It rises with x, is at least `x + y`, and as a convex function largest at an end of y."""
        y_low, y_high = np.maximum(low[1::2], 0.0), np.maximum(high[1::2], 0.0)
        with np.errstate(all="ignore"):
            least = np.maximum(low[0::2] + y_low, 0.0)
            most = np.maximum(_perspective(high[0::2], y_low), _perspective(high[0::2], y_high))
        return loosen(np.where(np.isnan(least), 0.0, least), np.where(np.isnan(most), np.inf, most))

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        rising, falling = np.ones(len(low), dtype=np.bool_), np.zeros(len(low), dtype=np.bool_)
        rising[1::2] = high[1::2] > low[0::2]
        falling[1::2] = low[1::2] < high[0::2]
        undefined = (low[1::2] <= 0)[self.entry_of]
        return rising | undefined, falling | undefined

    def move_into_domain(self, arguments: Floats) -> Floats:
        moved = arguments.copy()
        moved[1::2] = np.maximum(moved[1::2], AWAY)
        return moved

    def derivatives(self, inside: Floats, values: Floats) -> Floats:
        ratio = inside[0::2] / inside[1::2]
        grown = np.exp(ratio)
        return np.stack((grown, grown * (1.0 - ratio)), axis=1).reshape(-1)


def _perspective(x: Floats, y: Floats) -> Floats:
    with np.errstate(all="ignore"):
        values = y * np.exp(x / y)
    return np.where(y > 0, values, np.nan)
