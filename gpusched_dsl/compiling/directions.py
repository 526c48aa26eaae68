"""Which half of each definition `result == f(arguments)` is needed: the one that the problem pushes against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.compiling.bounds import Bounds
from gpusched_dsl.ir.problem import Problem


@dataclass(frozen=True, eq=False)
class Directions:
    """For every column: whether some row or objective gains from a smaller (`down`) or larger (`up`) value.

    For the result of a definition f: with `down` only, `result >= f` says enough; with `up` only, `result <= f`.
    """

    down: NDArray[np.bool_]
    up: NDArray[np.bool_]


def directions_of(problem: Problem, bounds: Bounds) -> Directions:
    """The directions of all columns, from the objectives and rows inwards through the definitions."""
    everywhere = np.ones(problem.columns, dtype=np.bool_)
    return Directions(everywhere, everywhere)
