"""Relative entropies of affine expressions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.definitions.convex import ConvexDefinition
from gpusched_dsl.ir.definitions.intervals import Interval, loosen
from gpusched_dsl.ir.definitions.power import AT_THE_END, AWAY


@dataclass(frozen=True, eq=False)
class RelativeEntropy(ConvexDefinition):
    """`x * log(x / y)` of two arguments, x >= 0 and y > 0; at x = 0 it is 0. With y = 1 it is `x * log(x)`."""

    op: ClassVar[str] = "relative_entropy"
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {
        "relative_entropy": ("a relative entropy", "linear rows cannot express it")
    }

    def evaluate(self, arguments: Floats) -> Floats:
        return _entropy(arguments[0::2], arguments[1::2])

    def image(self, low: Floats, high: Floats) -> Interval:
        """It is convex in x with the least value `-y / e` at `y / e`, and falls with y."""
        x_low, x_high = np.maximum(low[0::2], 0.0), np.maximum(high[0::2], 0.0)
        y_low, y_high = np.maximum(low[1::2], 0.0), np.maximum(high[1::2], 0.0)
        with np.errstate(all="ignore"):
            lowest = np.clip(y_high / math.e, x_low, x_high)
            least = _entropy(lowest, y_high)
            most = np.maximum(_entropy(x_low, y_low), _entropy(x_high, y_low))
        return loosen(np.where(np.isnan(least), -np.inf, least), np.where(np.isnan(most), np.inf, most))

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        rising, falling = np.zeros(len(low), dtype=np.bool_), np.ones(len(low), dtype=np.bool_)
        rising[0::2] = high[0::2] * math.e > low[1::2]
        falling[0::2] = low[0::2] * math.e < high[1::2]
        undefined = ((low[0::2] < 0) | (low[1::2] <= 0))[self.entry_of]
        return rising | undefined, falling | undefined

    def move_into_domain(self, arguments: Floats) -> Floats:
        return np.maximum(arguments, AWAY)

    def derivatives(self, inside: Floats, values: Floats) -> Floats:
        x, y = inside[0::2], inside[1::2]
        return np.stack((np.log(x / y) + 1.0, -x / y), axis=1).reshape(-1)


def _entropy(x: Floats, y: Floats) -> Floats:
    lifted = np.where((x < 0) & (x > -AT_THE_END), 0.0, x)
    with np.errstate(all="ignore"):
        values = np.where(lifted == 0, 0.0, lifted * np.log(lifted / y))
    return np.where(y > 0, values, np.where((y == 0) & (lifted > 0), np.inf, np.nan))
