"""Dual values of rows with one entry, for solvers that turn such rows into bounds."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.problem import Problem

TIGHT = 1e-6  # of the side, or absolute below 1
NOTHING = 1e-12


def duals_back_to_rows(problem: Problem, point: Floats, row_duals: Floats, reduced_costs: Floats) -> None:
    """Change the two arrays in place such that no reduced cost belongs to a bound that the column does not have.

    A reduced cost is that of a bound of its column when the point lies on that bound. Where it does not, a row with
    this column alone holds it there: the dual value is that row's, and the reduced cost is 0.
    """
    matrix = problem.matrix
    single = np.flatnonzero(np.diff(matrix.starts) == 1)
    if not len(single):
        return
    entry = matrix.starts[single]
    column, factor = matrix.columns[entry], matrix.values[entry]
    maximizes = bool(problem.objectives) and problem.objectives[0].sense == "maximize"
    pushed_up = reduced_costs > NOTHING if not maximizes else reduced_costs < -NOTHING  # held from below
    pushed_down = reduced_costs < -NOTHING if not maximizes else reduced_costs > NOTHING
    foreign = (pushed_up & ~_near(point, problem.lower)) | (pushed_down & ~_near(point, problem.upper))
    activity = factor * point[column]
    below = _near(activity, problem.row_lower[single])
    above = _near(activity, problem.row_upper[single])
    holds_from_below = np.where(factor > 0, below, above)
    holds_from_above = np.where(factor > 0, above, below)
    fits = foreign[column] & ((pushed_up[column] & holds_from_below) | (pushed_down[column] & holds_from_above))
    fits &= factor != 0
    columns, first = np.unique(column[fits], return_index=True)
    rows, factors = single[fits][first], factor[fits][first]
    row_duals[rows] += reduced_costs[columns] / factors
    reduced_costs[columns] = 0.0


def _near(values: Floats, sides: Floats) -> Bools:
    finite = np.where(np.isfinite(sides), sides, 0.0)
    close: Bools = np.abs(values - finite) <= TIGHT * np.maximum(1.0, np.abs(finite))
    return close & np.isfinite(sides)
