"""Refutes a claim that a nonlinear problem has no feasible point: samples points, and moves the best ones.

Solvers of nonlinear problems lose points where a function has a pole or is steep. A sample costs little, and a single
feasible point, verified as any other, is enough. That none is found proves nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from gpusched_dsl.compiling.analysis.bounds import propagate
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import Tolerances, verify

SAMPLES = 300
# Seconds for one claim: as long as the solver took, within these.
LEAST_SECONDS, MOST_SECONDS = 0.05, 0.5
FARTHEST = 1e3  # from 0, or from the only bound, where a column has no bound
DECADES = 9.0  # how close to a bound samples come, in powers of ten of the range
IMPROVED = 3  # samples that are moved
SHRINK, LEAST_STEP = 0.3, 1e-9  # of the steps of columns, as shares of their ranges


def find_feasible_point(problem: Problem, tolerances: Tolerances, seconds: float) -> Floats | None:
    """Return a feasible point of a problem that is said to have none; None if a search of some `seconds` finds none.

    Ranges are those that rows and definitions imply. The samples are the same each time.
    """
    until = time.perf_counter() + min(MOST_SECONDS, max(LEAST_SECONDS, seconds))
    bounds = propagate(problem)
    if not bounds.feasible:
        return None
    low = np.where(np.isfinite(bounds.lower), bounds.lower, np.minimum(bounds.upper, FARTHEST) - 2 * FARTHEST)
    high = np.where(np.isfinite(bounds.upper), bounds.upper, np.maximum(low, -FARTHEST) + 2 * FARTHEST)
    random = np.random.default_rng(0)
    tried: list[tuple[float, int, Floats]] = []
    for number in range(SAMPLES):
        if time.perf_counter() > until:
            break
        point = _sample(problem, low, high, random)
        excess = _excess(problem, point)
        if excess <= tolerances.feasibility and verify(problem, point, tolerances).feasible:
            return complete(problem.definitions, point)
        tried.append((excess, number, point))
    for _, _, point in sorted(tried, key=lambda one: one[:2])[:IMPROVED]:
        moved = _move(problem, point, low, high, lambda: time.perf_counter() > until)
        if verify(problem, moved, tolerances).feasible:
            return complete(problem.definitions, moved)
    return None


def _sample(problem: Problem, low: Floats, high: Floats, random: np.random.Generator) -> Floats:
    """Draw columns within their ranges: anywhere, at an end, or close to one."""
    count = len(low)
    share = random.random(count)
    close = 10.0 ** (-DECADES * random.random(count))
    kind = random.integers(0, 6, count)
    place = np.select([kind <= 1, kind == 2, kind == 3, kind == 4], [share, close, 1.0 - close, 0.0], 1.0)
    return _rounded(problem, low + place * (high - low), low, high)


def _rounded(problem: Problem, point: Floats, low: Floats, high: Floats) -> Floats:
    return np.clip(np.where(problem.integer, np.rint(point), point), low, high)


def _excess(problem: Problem, point: Floats) -> float:
    """By how much rows and bounds are broken, in all; infinite where a value that matters does not exist."""
    with np.errstate(all="ignore"):
        full = complete(problem.definitions, point)
        required = problem.conditions.active(problem.rows, full)
        matrix = problem.matrix.take(np.flatnonzero(required)) if len(problem.conditions.rows) else problem.matrix
        sides = (matrix.activity(full), problem.row_lower[required], problem.row_upper[required])
        total = 0.0
        for values, lower, upper in (sides, (full, problem.lower, problem.upper)):
            total += float(np.maximum(np.maximum(lower - values, values - upper), 0.0).sum())
    return total if np.isfinite(total) else np.inf


def _move(problem: Problem, point: Floats, low: Floats, high: Floats, is_over: Callable[[], bool]) -> Floats:
    """Move one column at a time while rows and bounds are broken by less, with ever smaller steps."""
    declared = np.ones(problem.columns, dtype=np.bool_)
    for definition in problem.definitions:
        declared[definition.results] = False
    movable = np.flatnonzero(declared & (low < high)).tolist()
    best, step = _excess(problem, point), SHRINK
    while best > 0.0 and step > LEAST_STEP:
        before = best
        for column in movable:
            if is_over():
                return point
            for side in (-1.0, 1.0):
                other = point.copy()
                other[column] += side * step * (high[column] - low[column])
                other = _rounded(problem, other, low, high)
                if (excess := _excess(problem, other)) < best:
                    point, best = other, excess
        if not best < before:
            step *= SHRINK
    return point
