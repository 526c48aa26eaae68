"""Removes redundant and duplicate rows.

    least(a x) >= L and most(a x) <= U within the bounds of the columns     ->  no row
    b == f a for two rows without conditions                                ->  one row, with the tighter sides

The bounds are the declared ones, not propagated ones: those may follow from the very row. A reduction, run only when it
is asked for: solvers do the same, and a row that is gone has no dual value. Families keep the index tuples of the rows
that stay. Leaves everything else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.analysis.bounds import Bounds
from gpusched_dsl.compiling.passes.rewriting import without_rows
from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, unique
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem

# A row that is exceeded by less, relative to the sizes of its terms, counts as holding.
ROUNDING = 1e-12


class RedundantRows:
    """Rows -> fewer rows with the same points."""

    name: ClassVar[str] = "redundant_rows"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return analysis.problem.rows > 0

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem = analysis.problem
        idle = _redundant_rows(problem)
        merged, twins = _merge_parallel(problem, ~idle)
        gone = idle | (twins >= 0)
        if not gone.any():
            return PassResult(problem)
        smaller, numbers = without_rows(merged, gone)
        numbers = np.where(twins >= 0, numbers[np.maximum(twins, 0)], numbers)
        notes = []
        for family in problem.constraints:
            for flags, effect in ((idle, "are implied by the bounds"), (twins >= 0, "repeat other rows")):
                count = int(flags[family.slice].sum())
                if count:
                    notes.append(Note(self.name, family.name, effect, count, rows=-count, span=family.span))
        return PassResult(smaller, tuple(notes), rows=numbers)


def _redundant_rows(problem: Problem) -> Bools:
    matrix = problem.matrix
    rows = Affines(matrix, np.zeros(problem.rows))
    least, most = Bounds(problem.lower, problem.upper).of(rows)
    ends = np.maximum(np.abs(problem.lower), np.abs(problem.upper))[matrix.columns]
    with np.errstate(invalid="ignore"):
        size = np.bincount(matrix.row_of, weights=np.abs(matrix.values) * ends, minlength=problem.rows)
    slack = ROUNDING * np.where(np.isfinite(size), size, 0.0)
    return np.asarray((least >= problem.row_lower - slack) & (most <= problem.row_upper + slack))


def _merge_parallel(problem: Problem, considered: Bools) -> tuple[Problem, Codes]:
    """Merge the sides of parallel rows in the first, whose number the others get."""
    twins = np.full(problem.rows, -1, dtype=np.int64)
    considered = considered & (np.diff(problem.matrix.starts) > 0)
    considered[problem.conditions.rows] = False
    rows = np.flatnonzero(considered)
    if len(rows) < 2:
        return problem, twins
    scale, marks = _marks(problem.matrix.take(rows), problem.columns)
    order = np.lexsort((np.arange(len(rows)), *marks.T))
    same = (marks[order][1:] == marks[order][:-1]).all(axis=1)
    leader = np.maximum.accumulate(np.where(np.concatenate(([True], ~same)), np.arange(len(rows)), 0))
    first = rows[order[leader]]  # lexsort is stable: the leader has the smallest number
    twins[rows[order]] = np.where(first == rows[order], -1, first)

    lower, upper = problem.row_lower[rows] / scale, problem.row_upper[rows] / scale
    lower, upper = np.where(scale > 0, lower, upper), np.where(scale > 0, upper, lower)
    row_lower, row_upper = problem.row_lower.copy(), problem.row_upper.copy()
    low, high = np.full(problem.rows, -np.inf), np.full(problem.rows, np.inf)
    np.maximum.at(low, first, lower[order])
    np.minimum.at(high, first, upper[order])
    scales = np.ones(problem.rows)
    scales[rows] = scale
    leads = unique(first[twins[rows[order]] >= 0])
    factor = scales[leads]
    begin, end = low[leads] * factor, high[leads] * factor
    row_lower[leads], row_upper[leads] = np.where(factor > 0, begin, end), np.where(factor > 0, end, begin)
    return replace(problem, row_lower=row_lower, row_upper=row_upper), twins


def _marks(matrix: Matrix, columns: int) -> tuple[Floats, Floats]:
    """Return the coefficient of the lowest column of each row, and three numbers that identify rows up to a factor.

    Two are random sums over the entries in the order of columns; two different rows share both with a chance of about
    2^-100. Factors that do not divide exactly may hide a twin, which then stays.
    """
    order = np.lexsort((matrix.columns, matrix.row_of))
    places, values = matrix.columns[order], matrix.values[order]
    scale = values[matrix.starts[:-1]]
    normal = values / scale[matrix.row_of]
    random = np.random.default_rng(0).standard_normal((2, columns))
    sums = [np.add.reduceat(normal * weights[places], matrix.starts[:-1]) for weights in random]
    return scale, np.stack((*sums, np.diff(matrix.starts).astype(np.float64)), axis=1)
