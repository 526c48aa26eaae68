"""Changes of a problem that keep its columns: other bounds, sides, and one row more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Problem

Columns = Codes | Int32s | Bools | Sequence[int] | slice  # numbers, a mask, or a range
Values = Floats | float


def with_bounds(
    problem: Problem, columns: Columns, lower: Values | None = None, upper: Values | None = None
) -> Problem:
    """The problem with other bounds of some columns; None keeps the present ones."""
    low, high = problem.lower.copy(), problem.upper.copy()
    if lower is not None:
        low[columns] = lower
    if upper is not None:
        high[columns] = upper
    return replace(problem, lower=low, upper=high)


def with_fixed(problem: Problem, columns: Columns, values: Values) -> Problem:
    """The problem with some columns fixed."""
    return with_bounds(problem, columns, values, values)


def with_sides(problem: Problem, rows: Columns, lower: Values | None = None, upper: Values | None = None) -> Problem:
    """The problem with other sides of some rows; None keeps the present ones."""
    low, high = problem.row_lower.copy(), problem.row_upper.copy()
    if lower is not None:
        low[rows] = lower
    if upper is not None:
        high[rows] = upper
    return replace(problem, row_lower=low, row_upper=high)


def with_row(
    problem: Problem, name: str, columns: Columns, values: Values, lower: float, upper: float = np.inf
) -> Problem:
    """The problem with one more row: `lower <= sum(values * point[columns]) <= upper`; `columns` are distinct."""
    at = np.asarray(columns, dtype=np.int32)
    row = Matrix(np.array([0, len(at)], dtype=np.int64), at, np.broadcast_to(np.asarray(values, np.float64), at.shape))
    return replace(
        problem,
        constraints=(*problem.constraints, Family(name, problem.rows, IntervalDomain(0, 0))),
        matrix=problem.matrix.with_rows_below(row),
        row_lower=np.append(problem.row_lower, lower),
        row_upper=np.append(problem.row_upper, upper),
    )
