"""Columns with one possible value become constants.

    lower[j] == upper[j] == v    ->  no column; v times its coefficients moves into sides, costs and constants

A reduction, run only when it is asked for. Families keep the index tuples of the columns that stay. A condition on a
fixed column is decided: its row holds always, or goes. Results of definitions stay, for their definitions name them.
The way back puts the constants in their places again.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.removing import without_columns
from gpusched_dsl.compiling.passes.rewriting import with_conditions, without_rows
from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.problem import Problem


class FixedColumns:
    """Fixed columns -> constants."""

    name: ClassVar[str] = "fixed_columns"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return bool(_fixed_columns(analysis.problem).any())

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem = analysis.problem
        fixed = _fixed_columns(problem)
        value = np.where(fixed, problem.lower, 0.0)
        decided, numbers = _remove_decided_conditions(problem, fixed, value)
        kept = np.flatnonzero(~fixed)
        notes = tuple(
            Note(self.name, f.name, "are fixed", count, columns=-count, span=f.span)
            for f in problem.column_families
            if (count := int(fixed[f.slice].sum()))
        )
        notes += tuple(
            Note(self.name, f.name, "never apply", count, rows=-count, span=f.span)
            for f in problem.constraints
            if numbers is not None and (count := int((numbers[f.slice] < 0).sum()))
        )

        def recover(point: Floats) -> Floats:
            full = value.copy()
            full[kept] = point
            return full

        return PassResult(without_columns(decided, fixed, value), notes, recover, lambda point: point[kept], numbers)


def _fixed_columns(problem: Problem) -> Bools:
    fixed = (problem.lower == problem.upper) & (~problem.integer | (problem.lower == np.rint(problem.lower)))
    for definition in problem.definitions:
        fixed[definition.results] = False
    return np.asarray(fixed)


def _remove_decided_conditions(problem: Problem, fixed: Bools, value: Floats) -> tuple[Problem, Codes | None]:
    """The problem without conditions on fixed columns, and the numbers of rows if some went."""
    conditions = problem.conditions
    known = fixed[conditions.columns]
    if not known.any():
        return problem, None
    idle = known & ((value[conditions.columns] > 0.5) != conditions.values)
    gone = np.zeros(problem.rows, dtype=np.bool_)
    gone[conditions.rows[idle]] = True
    return without_rows(with_conditions(problem, ~known | idle), gone)
