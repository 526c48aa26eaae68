"""Logarithms of sums of exponentials of affine expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.definitions.convex import ConvexDefinition
from gpusched_dsl.ir.definitions.intervals import Interval, loosen


@dataclass(frozen=True, eq=False)
class LogSumExp(ConvexDefinition):
    """The logarithm of the sum of the exponentials of the arguments."""

    op: ClassVar[str] = "log_sum_exp"
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {
        "log_sum_exp": ("a logarithm of exponentials", "linear rows cannot express it")
    }

    def evaluate(self, arguments: Floats) -> Floats:
        """Return the logarithms; the largest argument is taken out, so that nothing overflows."""
        if not self.size:
            return np.zeros(0)
        largest = np.maximum.reduceat(arguments, self.starts[:-1])
        shift = np.where(np.isfinite(largest), largest, 0.0)
        with np.errstate(all="ignore"):
            return shift + np.log(self.sums(np.exp(arguments - shift[self.entry_of])))

    def image(self, low: Floats, high: Floats) -> Interval:
        return loosen(self.evaluate(low), self.evaluate(high))

    def preimage(self, low: Floats, high: Floats, small: Floats, large: Floats) -> Interval:
        return np.full(len(low), -np.inf), large

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        return np.ones(len(low), dtype=np.bool_), np.zeros(len(low), dtype=np.bool_)

    def derivatives(self, inside: Floats, values: Floats) -> Floats:
        return np.asarray(np.exp(inside - values[self.entry_of]))
