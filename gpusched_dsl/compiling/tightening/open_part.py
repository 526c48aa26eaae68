"""The part of a linear problem that a fixed plan leaves open.

With every way to run at 0 or 1, most of the other columns have one value: `first <= run` and `run == 0`. Presolve of
solvers finds that, too, but of millions of columns it takes longer than the plan, and a run without presolve, for a
second opinion on an infeasible problem, does not end.

Proof. Every solution has 0 in a removed column, by bounds that follow from the rows. A removed row holds for all values
of the other columns within their declared bounds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusched_dsl.compiling.analysis.bounds import Bounds, propagate
from gpusched_dsl.compiling.passes.removing import without_columns
from gpusched_dsl.compiling.passes.rewriting import without_rows
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.families import kept_families
from gpusched_dsl.ir.problem import Problem


def open_part(problem: Problem) -> Problem:
    """Return the problem without columns that can only be 0 and without rows that always hold.

    A problem with nonlinear parts, or that is infeasible by its bounds, is returned as it is. Variables without an
    index stay; of others perhaps an empty family is left.
    """
    if not problem.is_linear:
        return problem
    bounds = propagate(problem)
    if not bounds.feasible:
        return problem
    gone = (bounds.lower == 0.0) & (bounds.upper == 0.0)
    for family in problem.variables:
        gone[family.slice] &= family.domain.arity > 0
    smaller = without_columns(problem, gone, np.zeros(problem.columns))
    least, most = Bounds(smaller.lower, smaller.upper).of(Affines(smaller.matrix, np.zeros(smaller.rows)))
    always = (least >= smaller.row_lower) & (most <= smaller.row_upper)
    variables = kept_families(problem.variables, ~gone, with_empty=True)
    return without_rows(replace(smaller, variables=variables), always)[0]
