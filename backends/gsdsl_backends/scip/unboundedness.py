"""Whether a nonlinear problem is seen to be unbounded from points that a solver ended at.

Solvers work within large boxes: at the end of the box they report an optimum, or go on searching. Starting there, a
point that can be scaled by ever more powers of ten, feasible and better each time, shows that there is no optimum. So
does a ray: the best points within two boxes, and points ever further along the line through both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from gpusched_dsl.compiling.passes.steps import Analysis
from gpusched_dsl.ir.arrays import Floats, Int32s
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import verify

DECADES = (1, 2, 4, 8, 16, 32, 64)
# So many of them must be gone; later ones may overflow.
NEEDED = 4
# By how much every step must be better, of the value.
BETTER = 1e-6
SINGLE_COLUMNS = 50
# Parts of a ray that are smaller, relative to its largest part, are what a solver leaves undecided.
NOISE = 1e-6


def may_be_unbounded(problem: Problem, has_poles: bool) -> bool:
    """Whether interval arithmetic leaves the objective of a nonlinear problem without a bound.

    Without poles, functions of bounded columns are bounded, even if floating-point numbers do not reach so far.
    """
    if problem.is_linear or not problem.objectives:
        return False
    analysis = Analysis(problem)
    declared = np.ones(problem.columns, dtype=np.bool_)
    for definition in problem.definitions:
        declared[definition.results] = False
    bounds = analysis.bounds
    if not has_poles and np.isfinite(bounds.lower[declared]).all() and np.isfinite(bounds.upper[declared]).all():
        return False
    objective = problem.objectives[0]
    costs = objective.costs(problem.columns)
    used = np.flatnonzero(costs).astype(np.int32)
    row = Matrix(np.array([0, len(used)], dtype=np.int64), used, costs[used])
    low, high = bounds.of(Affines(row, np.zeros(1)))
    best = low if objective.sense == "minimize" else high
    return not bool(np.isfinite(best[0]))


def escapes(problem: Problem, point: Floats) -> bool:
    """Whether scaling some columns of `point` gives feasible points that are better without end."""
    sign = 1.0 if problem.objectives[0].sense == "minimize" else -1.0
    return any(
        _improves_at_every_scale(problem, sign, point, columns, power)
        for power in (1.0, -1.0)
        for columns in _columns(problem, point, power)
    )


def box(problem: Problem, size: float) -> Problem:
    """The problem with no column further from 0, or from its only finite bound, than `size`."""
    results = np.zeros(problem.columns, dtype=bool)
    for definition in problem.definitions:
        results[definition.results] = True
    low = np.where(np.isfinite(problem.upper), np.minimum(problem.upper, 0.0), 0.0) - size
    high = np.where(np.isfinite(problem.lower), np.maximum(problem.lower, 0.0), 0.0) + size
    return replace(
        problem,
        lower=np.where(results, problem.lower, np.maximum(problem.lower, low)),
        upper=np.where(results, problem.upper, np.minimum(problem.upper, high)),
    )


def improves_along(problem: Problem, near: Floats, far: Floats) -> bool:
    """Whether the ray from `near` through `far` has feasible points that are better without end."""
    ray = far - near
    ray[problem.integer] = np.rint(ray[problem.integer])
    longest = float(np.abs(ray).max(initial=0.0))
    if not np.isfinite(longest) or longest == 0.0:
        return False
    ray[np.abs(ray) < longest * NOISE] = 0.0
    sign = 1.0 if problem.objectives[0].sense == "minimize" else -1.0
    return _improves_each_time(problem, sign, far, (far + 10.0**decade * ray for decade in DECADES))


def _columns(problem: Problem, point: Floats, power: float) -> Iterator[Int32s]:
    """Return all columns that may grow (or shrink), and each of the largest separately."""
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


def _improves_at_every_scale(problem: Problem, sign: float, point: Floats, columns: Int32s, power: float) -> bool:
    def scaled_point(decade: int) -> Floats:
        moved = point.copy()
        moved[columns] *= 10.0 ** (power * decade)
        return moved

    return _improves_each_time(problem, sign, point, map(scaled_point, DECADES))


def _improves_each_time(problem: Problem, sign: float, point: Floats, others: Iterable[Floats]) -> bool:
    """Whether points that follow on `point` are feasible and each better than the one before."""
    best = sign * verify(problem, point).objectives[0].value
    gone = 0
    for moved in others:
        found = verify(problem, moved)
        if not found.feasible:
            break
        value = sign * found.objectives[0].value
        if not value < best - BETTER * max(1.0, abs(best)):
            return False
        best, gone = value, gone + 1
    return gone >= NEEDED
