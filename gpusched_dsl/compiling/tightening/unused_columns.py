"""Fixes columns that are optimal at one bound for any values of the others, and removes them.

    no row and no objective gets worse when x falls, lower(x) finite     ->   x = lower(x)
    no row and no objective gets worse when x rises, upper(x) finite     ->   x = upper(x)
    x in no row and in no objective                                      ->   x = its value nearest to 0

A row `a x + ... <= b` with a > 0 gets worse when x rises, with a < 0 when it falls; a row with two sides counts for
both.

Proof. Move x of any feasible point to that end: all rows still hold, and no objective is worse. So among the best
points there is one with x there, also when objectives are optimised in order; and a start loses nothing by the move.
The problem is infeasible or unbounded after exactly when it was before.

Takes integer columns (the ends rounded inwards) and continuous ones. Left alone: columns that definitions or conditions
know, those in rows under a condition, those already fixed (a change of their bounds is then no change of structure),
ends that are infinite, and ends above `LARGEST`, which would drown the sides of rows that they move into.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.analysis.rows import integers_below
from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.compiling.tightening.row_sides import plain_columns
from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.problem import Problem

LARGEST = 1e6
SWEEPS = 10


class UnusedColumns:
    """Columns that are optimal at one bound -> constants."""

    name: ClassVar[str] = "unused_columns"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return analysis.problem.columns > 0

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem = analysis.problem
        analysis.sweep(SWEEPS)
        value = best_ends(problem)
        fixed = ~np.isnan(value)
        if not fixed.any():
            return PassResult(problem)
        value = np.where(fixed, value, 0.0)
        kept = np.flatnonzero(~fixed)

        def recover(point: Floats) -> Floats:
            full = value.copy()
            full[kept] = point
            return full

        notes = tuple(
            Note(self.name, f.name, "are optimal at one bound", count, columns=-count, span=f.span)
            for f in problem.column_families
            if (count := int(fixed[f.slice].sum()))
        )
        from gpusched_dsl.compiling.passes.removing import without_columns

        return PassResult(without_columns(problem, fixed, value), notes, recover, lambda point: point[kept])


def best_ends(problem: Problem) -> Floats:
    """The value at which each column can be fixed, NaN for those that stay."""
    lower, upper = _ends(problem)
    fits = removable_columns(problem) & (lower <= upper) & (problem.lower < problem.upper)
    rises, falls = _harmless_directions(problem)
    down = fits & falls & (np.abs(lower) <= LARGEST)
    up = fits & rises & (np.abs(upper) <= LARGEST) & ~down
    nothing = fits & rises & falls
    value = np.full(problem.columns, np.nan)
    value[down] = lower[down]
    value[up] = upper[up]
    value[nothing] = np.clip(0.0, lower[nothing], upper[nothing])
    return value


def removable_columns(problem: Problem) -> Bools:
    """Return the columns without definitions, conditions and conditional rows."""
    plain = plain_columns(problem)
    plain[problem.matrix.take(problem.conditions.rows).columns] = False
    return plain


def _ends(problem: Problem) -> tuple[Floats, Floats]:
    """Return the bounds, rounded inwards for integer columns."""
    lower = np.where(problem.integer, -integers_below(-problem.lower), problem.lower)
    upper = np.where(problem.integer, integers_below(problem.upper), problem.upper)
    return lower + 0.0, upper + 0.0


def _harmless_directions(problem: Problem) -> tuple[Bools, Bools]:
    """Return the columns that may rise without harm, and those that may fall."""
    rises, falls = np.ones(problem.columns, dtype=np.bool_), np.ones(problem.columns, dtype=np.bool_)
    matrix = problem.matrix
    above = np.isfinite(problem.row_upper)[matrix.row_of]
    below = np.isfinite(problem.row_lower)[matrix.row_of]
    positive, negative = matrix.values > 0, matrix.values < 0
    rises[matrix.columns[(positive & above) | (negative & below)]] = False
    falls[matrix.columns[(positive & below) | (negative & above)]] = False
    for objective in problem.objectives:
        costs = objective.costs(problem.columns)
        if objective.sense == "maximize":
            costs = -costs
        rises &= costs <= 0
        falls &= costs >= 0
    return rises, falls
