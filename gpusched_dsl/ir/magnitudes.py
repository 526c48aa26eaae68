"""The magnitudes of the numbers of a problem."""

from __future__ import annotations

import math
import sys

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.source import Span


def largest_coefficient(problem: Problem) -> tuple[float, str, Span | None]:
    """Return the size of the largest coefficient, its place, and the declaration of that constraint."""
    sizes = np.abs(problem.matrix.values)
    if not len(sizes):
        return 0.0, "nowhere", None
    k = int(sizes.argmax())
    row = int(np.searchsorted(problem.matrix.starts, k, side="right")) - 1
    number = int(problem.matrix.columns[k])
    from gpusched_dsl.ir.names import entry_name

    column = entry_name(problem.column_family(number), number)
    place = f"`{column}` in `{entry_name(problem.row_family(row), row)}`"
    return float(sizes[k]), place, problem.row_family(row).span


def largest_cost_of(problem: Problem) -> tuple[float, str, Span | None]:
    """The size of the largest cost of the first objective, its column, and the declaration of that objective."""
    costs = np.abs(problem.objectives[0].costs(problem.columns)) if problem.objectives else np.zeros(0)
    if not costs.any():
        return 0.0, "nothing", None
    column = int(costs.argmax())
    from gpusched_dsl.ir.names import entry_name

    name = entry_name(problem.column_family(column), column)
    return float(costs[column]), f"`{name}` in the objective", problem.objectives[0].span


def largest_number(problem: Problem) -> tuple[float, str, Span | None]:
    """The larger one of the largest coefficient and the largest cost."""
    return max(largest_coefficient(problem), largest_cost_of(problem), key=lambda found: found[0])


def largest_cost(costs: Floats) -> float:
    return float(np.abs(costs).max(initial=0.0))


def smallest_cost(problem: Problem) -> float:
    """The size of the smallest cost of the first objective that is not 0, infinite where there is none."""
    costs = np.abs(problem.objectives[0].costs(problem.columns)) if problem.objectives else np.zeros(0)
    return float(costs.min(where=costs > 0.0, initial=np.inf))


def power_of_two(size: float) -> float:
    """The largest power of two that is not above `size`, at most 2^1000; 1 for 0."""
    return 2.0 ** min(math.floor(math.log2(min(size, sys.float_info.max))), 1000) if size > 0 else 1.0
