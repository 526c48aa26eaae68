"""Coefficients of very different size brought closer together by powers of two, which round nothing.

    a_ij  ->  2^(r_i) a_ij 2^(c_j)         column j stands for x_j / 2^(c_j); integer columns keep c_j = 0

`scaling_of` only proposes r and c, with their effect; `PowerOfTwoScaling` is the reduction that applies them,
run only when it is asked for: solvers scale by themselves, and a tolerance of a scaled row is another one of the
author's. It takes linear problems.

Source: A. R. Curtis, J. K. Reid, On the automatic scaling of matrices for Gaussian elimination, IMA Journal of Applied
Mathematics 10 (1972); here with the middle of the smallest and largest exponent in place of their mean.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Codes, Floats, Int32s
from gpusched_dsl.ir.problem import Objective, Problem

ROUNDS = 4


class Scaling(Struct, frozen=True, eq=False):
    """Exponents of two for `rows` and `columns`; largest over smallest coefficient `before` and `after`.

    `spread[i]` is that quotient within row i as it stands, 1 for a row of less than two coefficients.
    """

    rows: Codes
    columns: Codes
    before: float
    after: float
    spread: Floats


def scaling_of(problem: Problem) -> Scaling:
    """Powers of two for rows and continuous columns that bring the coefficients of the rows towards 1."""
    matrix = problem.matrix
    used = np.flatnonzero(matrix.values)
    row, column = matrix.row_of[used], matrix.columns[used]
    size = np.log2(np.abs(matrix.values[used]))
    rows, columns = np.zeros(problem.rows), np.zeros(problem.columns)
    low, high = _ends(row, size, problem.rows)
    spread = np.exp2(np.where(np.isfinite(high - low), high - low, 0.0))
    for _ in range(ROUNDS):
        rows = -_middle(row, size + columns[column], problem.rows)
        columns = np.where(problem.integer, 0.0, -_middle(column, size + rows[row], problem.columns))
    rows, columns = np.rint(rows), np.rint(columns)
    before = float(np.exp2(np.ptp(size))) if len(size) else 1.0
    after = float(np.exp2(np.ptp(size + rows[row] + columns[column]))) if len(size) else 1.0
    if after >= before:
        rows, columns, after = np.zeros_like(rows), np.zeros_like(columns), before
    return Scaling(rows.astype(np.int64), columns.astype(np.int64), before, after, spread)


def _ends(groups: Int32s, size: Floats, count: int) -> tuple[Floats, Floats]:
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, groups, size)
    np.maximum.at(high, groups, size)
    return low, high


def _middle(groups: Int32s, size: Floats, count: int) -> Floats:
    low, high = _ends(groups, size, count)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(low), (low + high) / 2.0, 0.0)


class PowerOfTwoScaling:
    """A linear problem -> the same in other units."""

    name: ClassVar[str] = "scaling"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return analysis.problem.is_linear

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem = analysis.problem
        scaling = scaling_of(problem)
        if not (scaling.rows.any() or scaling.columns.any()):
            return PassResult(problem)
        row, column = np.exp2(scaling.rows), np.exp2(scaling.columns)
        matrix = problem.matrix
        scaled = replace(
            problem,
            lower=problem.lower / column,
            upper=problem.upper / column,
            matrix=structs.replace(matrix, values=matrix.values * row[matrix.row_of] * column[matrix.columns]),
            row_lower=problem.row_lower * row,
            row_upper=problem.row_upper * row,
            objectives=tuple(_costs(o, column) for o in problem.objectives),
        )
        effect = f"coefficients within a factor of {scaling.after:.3g}, {scaling.before:.3g} before"
        note = Note(self.name, problem.name, effect, int(np.count_nonzero(scaling.rows)))
        return PassResult(scaled, (note,), lambda point: point * column, lambda point: point / column)


def _costs(objective: Objective, column: Floats) -> Objective:
    terms = tuple(structs.replace(t, coefficients=t.coefficients * column[t.columns]) for t in objective.terms)
    return structs.replace(objective, terms=terms)
