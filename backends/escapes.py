"""Whether a nonlinear problem is seen to be unbounded from a point that a solver ended at.

Solvers work within large boxes: at the end of the box they report an optimum, or go on searching. Starting there, a
point that can be scaled by ever more powers of ten, feasible and better each time, shows that there is no optimum.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpusched_dsl.compiling.passes.steps import Analysis
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Floats, Int32s, Problem
from gpusched_dsl.ir.verify import verify

DECADES = (1, 2, 4, 8, 16, 32, 64)
# So many of them must be gone; later ones may overflow.
NEEDED = 4
# By how much every step must be better, of the value.
BETTER = 1e-6
SINGLE_COLUMNS = 50


def may_be_unbounded(problem: Problem) -> bool:
    """Whether interval arithmetic leaves the objective of a nonlinear problem without a bound."""
    if problem.is_linear or not problem.objectives:
        return False
    objective = problem.objectives[0]
    costs = objective.costs(problem.columns)
    used = np.flatnonzero(costs).astype(np.int32)
    row = Matrix(np.array([0, len(used)], dtype=np.int64), used, costs[used])
    low, high = Analysis(problem).bounds.of(Affines(row, np.zeros(1)))
    best = low if objective.sense == "minimize" else high
    return not bool(np.isfinite(best[0]))


def escapes(problem: Problem, point: Floats) -> bool:
    """Whether scaling some columns of `point` gives feasible points that are better without end."""
    sign = 1.0 if problem.objectives[0].sense == "minimize" else -1.0
    return any(
        _goes_on(problem, sign, point, columns, power)
        for power in (1.0, -1.0)
        for columns in _columns(problem, point, power)
    )


def _columns(problem: Problem, point: Floats, power: float) -> Iterator[Int32s]:
    """All columns that may grow (or shrink), and each of the largest alone."""
    declared = np.zeros(problem.columns, dtype=bool)
    for family in problem.variables:
        declared[family.slice] = True
    if power > 0:
        free = np.isinf(np.where(point > 0, problem.upper, problem.lower))
    else:
        free = (problem.lower <= 0) & (problem.upper >= 0)
    movable = np.flatnonzero(declared & free & (point != 0)).astype(np.int32)
    if len(movable):
        yield movable
    if len(movable) > 1:
        yield from movable[np.argsort(-np.abs(point[movable]))][:SINGLE_COLUMNS, None]


def _goes_on(problem: Problem, sign: float, point: Floats, columns: Int32s, power: float) -> bool:
    best = sign * verify(problem, point).objectives[0].value
    gone = 0
    for decade in DECADES:
        moved = point.copy()
        moved[columns] *= 10.0 ** (power * decade)
        found = verify(problem, moved)
        if not found.feasible:
            break
        value = sign * found.objectives[0].value
        if not value < best - BETTER * max(1.0, abs(best)):
            return False
        best, gone = value, gone + 1
    return gone >= NEEDED
