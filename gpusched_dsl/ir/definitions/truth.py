"""Definitions whose values are the truth of a condition: 1 or 0, in binary columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.definitions.base import Choices, Definition


@dataclass(frozen=True, eq=False)
class TruthDefinition(Definition):
    """1 where a condition on the arguments is true, else 0; the result columns are binary.

    By default a point keeps its truth and its arguments when it is moved to the nearest feasible one.
    """

    def integer_entries(self, arguments: Bools) -> Bools:
        return np.ones(self.size, dtype=np.bool_)

    def multiples(self, arguments: Floats) -> Floats:
        return np.ones(self.size)

    @property
    def exact_entries(self) -> Bools:
        return np.zeros(self.size, dtype=np.bool_)

    @property
    def is_tabulable(self) -> bool:
        return False

    def values_near(self, point: Floats, inside: Floats) -> Floats:
        return np.where(point[self.results] > 0.5, 1.0, 0.0)

    def derivatives(self, inside: Floats, values: Floats) -> Floats:
        return np.zeros(len(inside))

    def choices(self, arguments: Floats, inside: Floats, values: Floats) -> Choices:
        """None: a condition on several arguments leaves them as they are."""
        none = np.zeros(0)
        return Choices(np.zeros(0, dtype=np.int64), none, none, none, none)
