"""Upper bounds of counts that single rows imply.

A sum over n elements of a 0/1 column may be n as far as its own bounds go; `sum[k in Nodes] train[b, k, h] <= home[b]`
says that it is 0 or 1. Solvers find that out themselves, but decomposition recognises problems by their
bounds (`solving/decomposition`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import ROUNDING


def with_implied_counts(problem: Problem, first: int) -> Problem:
    """The problem with upper bounds of integer columns from number `first` on as the rows imply them, one by one."""
    upper = problem.upper.copy()
    for sign, sides in ((1.0, problem.row_upper), (-1.0, -problem.row_lower)):
        bounds = _largest_counts(problem, sign, sides)
        upper[first:] = np.minimum(upper[first:], bounds[first:])
    return replace(problem, upper=np.where(problem.integer, np.maximum(upper, problem.lower), problem.upper))


def _largest_counts(problem: Problem, sign: float, sides: Floats) -> Floats:
    """Return the largest integer value of every column by rows `sign * matrix @ x <= sides`."""
    matrix = problem.matrix
    values = sign * matrix.values
    ends = np.where(values > 0, problem.lower[matrix.columns], problem.upper[matrix.columns])
    with np.errstate(invalid="ignore"):
        least = np.bincount(matrix.row_of, weights=values * ends, minlength=matrix.rows)
        room = sides - least
    at = np.flatnonzero((values > 0) & np.isfinite(room)[matrix.row_of])
    columns = matrix.columns[at]
    most = problem.lower[columns] + room[matrix.row_of[at]] / values[at]
    found = np.full(problem.columns, np.inf)
    np.minimum.at(found, columns, np.floor(most + ROUNDING * np.maximum(1.0, np.abs(most))))
    return found
