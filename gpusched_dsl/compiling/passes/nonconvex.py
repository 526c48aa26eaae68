"""Finds terms that are not convex, also not together with the other terms of their sums."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.convexity.bent import bent_entries
from gpusched_dsl.compiling.passes.convex_forms import ConvexForms
from gpusched_dsl.compiling.passes.steps import CONVEX_FORMS, INTEGERS, Analysis, Target
from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.definitions import PartialExpectation
from gpusched_dsl.ir.problem import Problem

# What convex solvers support.
CONVEX = Target("convex", frozenset({INTEGERS, "power", "exp", "log", "abs"}) | CONVEX_FORMS, convex=True)

# Concave functions that convex solvers get as curves.
JUDGED = CONVEX.accepts | {PartialExpectation.op}


def nonconvex_columns(analysis: Analysis) -> tuple[Bools, Problem]:
    """Return the results that are not convex in a needed direction, and the problem with all convex forms."""
    step = ConvexForms().apply(analysis, CONVEX)
    convex = Analysis(step.problem, swept=True)
    found = np.zeros(step.problem.columns, dtype=np.bool_)
    for definition in convex.problem.definitions:
        if definition.size:
            bent = bent_entries(convex, definition)
            found[definition.results] = bent | (definition.operation not in JUDGED)
    if step.columns is not None:
        found = (step.columns >= 0) & found[step.columns]
    return found[: analysis.problem.columns], step.problem
