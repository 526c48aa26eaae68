"""From a point of the problem that was stated to one of the problem that is solved."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.problem import Problem

FAR = 1e6  # where an unbounded column is tried


def map_start(reformulated: ReformulatedProblem, start: Floats | None) -> Floats | None:
    """Return a start for the reformulated problem; columns without a value start at 0.

    Where nothing is said (NaN), nothing is said of the columns that depend on it: the start is lifted several times
    with different values there, and what does not come out the same each time is unknown.
    """
    if start is None or reformulated.problem is reformulated.original:
        return start
    unknown = np.isnan(start)
    if not unknown.any():
        return _map_complete_start(reformulated, start)
    fillings = [
        _map_complete_start(reformulated, np.where(unknown, values, start)) for values in _trials(reformulated.original)
    ]
    first = fillings[0]
    agreed = np.logical_and.reduce([np.abs(first - other) <= 1e-9 for other in fillings[1:]])
    return np.where(agreed, first, np.nan)


def _map_complete_start(reformulated: ReformulatedProblem, start: Floats) -> Floats:
    full = reformulated.map_start(complete(reformulated.original.definitions, start))
    return np.where(np.isfinite(full), full, 0.0)


def _trials(problem: Problem) -> tuple[Floats, ...]:
    """Values of all columns: the lower bounds, the upper ones, and some between by lot."""
    lower = np.where(np.isfinite(problem.lower), problem.lower, np.minimum(problem.upper, FAR) - FAR)
    upper = np.where(np.isfinite(problem.upper), problem.upper, lower + FAR)
    drawn = lower + (upper - lower) * np.random.default_rng(1).random(problem.columns)
    return lower, upper, np.where(problem.integer, np.rint(drawn), drawn)
