"""The sides of rows as `values @ columns <= limit`, and queries of passes about columns and rows."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import FEASIBILITY

# Two sides that differ by less than this, relative to their size, may both hold at a point that a solver returns.
MARGIN = FEASIBILITY
# Sums may be wrong by this much, relative to what was added.
ROUNDING = 1e-12


class Sides(Struct, frozen=True, eq=False, dict=True):
    """Some sides of some rows, each as `matrix row @ point <= limits`; `rows` are the numbers of the rows.

    `opposite` is what `matrix row @ point` is at least, minus infinity where the row has one side only.
    """

    rows: Codes
    matrix: Matrix
    limits: Floats
    opposite: Floats

    @cached_property
    def sizes(self) -> Codes:
        return np.diff(self.matrix.starts)

    def take(self, some: Codes) -> Sides:
        return Sides(self.rows[some], self.matrix.take(some), self.limits[some], self.opposite[some])


def upper_sides(problem: Problem, rows: Codes) -> Sides:
    """Return the upper sides."""
    return Sides(rows, problem.matrix.take(rows), problem.row_upper[rows], problem.row_lower[rows])


def lower_sides(problem: Problem, rows: Codes) -> Sides:
    """Lower sides, with the signs turned."""
    matrix = problem.matrix.take(rows)
    matrix = Matrix(matrix.starts, matrix.columns, -matrix.values)
    return Sides(rows, matrix, -problem.row_lower[rows], -problem.row_upper[rows])


def zero_one(problem: Problem) -> Bools:
    """The columns that can only be 0 or 1."""
    return np.asarray(problem.integer & (problem.lower >= 0.0) & (problem.upper <= 1.0))


def plain_columns(problem: Problem) -> Bools:
    """The columns that no definition gives or reads and no condition names."""
    plain = np.ones(problem.columns, dtype=np.bool_)
    for definition in problem.definitions:
        plain[definition.results] = plain[definition.arguments.matrix.columns] = False
    plain[problem.conditions.columns] = False
    return plain


def plain_rows(problem: Problem) -> Bools:
    """Return the unconditional rows."""
    plain = np.ones(problem.rows, dtype=np.bool_)
    plain[problem.conditions.rows] = False
    return plain


def counts(matrix: Matrix, flags: Bools) -> Codes:
    """Count the flagged entries of each row."""
    return totals(matrix, flags.astype(np.int32)).astype(np.int64)


def totals(matrix: Matrix, values: Floats | Int32s) -> Floats:
    """The sum of a value per entry, for each row."""
    return _reduce(np.add, matrix, values, 0.0)


def least(matrix: Matrix, values: Floats) -> Floats:
    """The smallest value of the entries of each row; infinity where there is none."""
    return _reduce(np.minimum, matrix, values, np.inf)


def _reduce(ufunc: np.ufunc, matrix: Matrix, values: Floats | Int32s, empty: float) -> Floats:
    result = np.full(matrix.rows, empty)
    filled = np.flatnonzero(matrix.starts[1:] > matrix.starts[:-1])
    if len(filled):
        result[filled] = ufunc.reduceat(values, matrix.starts[filled])
    return result
