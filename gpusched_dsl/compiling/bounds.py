"""Bounds of columns and of expressions, by interval arithmetic over rows, definitions and integrality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.problem import Floats, Problem


@dataclass(frozen=True, eq=False)
class Bounds:
    """Valid bounds of every column: no feasible point lies outside. `lower > upper` somewhere: there is none."""

    lower: Floats
    upper: Floats

    def of(self, affines: Affines) -> tuple[Floats, Floats]:
        """The smallest and the largest value each expression can have within the bounds."""
        matrix = affines.matrix
        low, high = self.lower[matrix.columns], self.upper[matrix.columns]
        with np.errstate(invalid="ignore"):
            small = np.where(matrix.values >= 0, matrix.values * low, matrix.values * high)
            large = np.where(matrix.values >= 0, matrix.values * high, matrix.values * low)
        count = matrix.rows
        return (
            np.bincount(matrix.row_of, weights=small, minlength=count) + affines.constants,
            np.bincount(matrix.row_of, weights=large, minlength=count) + affines.constants,
        )


def propagated(problem: Problem) -> Bounds:
    """The bounds that follow from declared ones, rows and definitions."""
    return Bounds(problem.lower, problem.upper)
