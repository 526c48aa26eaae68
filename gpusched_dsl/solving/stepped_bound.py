"""A bound rounded to a value that the objective can have.

Where the values of an objective at integer points differ by multiples of a step, no point has a value between a bound
and the next one of `value - k step`: with 2119 nodes found and a bound of 2118.9, 2119 is optimal. Solvers round so
within their search, but not what they report at a limit, and a bound may come from elsewhere.
"""

from __future__ import annotations

import math

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import FEASIBILITY
from gpusched_dsl.solving.lexicographic import value_step


def stepped_bound(problem: Problem, value: float, bound: float) -> float:
    """Return the bound on the first objective nearest to the value of an integer point that a proved one implies.

    A bound that crosses a step by less than what points may break rows is not rounded beyond it.
    """
    if not problem.is_mip or not problem.objectives or not math.isfinite(bound):
        return bound
    objective = problem.objectives[0]
    room = value - bound if objective.sense == "minimize" else bound - value
    step = value_step(problem, objective.costs(problem.columns)) if room > 0.0 else 0.0
    if step <= 0.0:
        return bound
    left = step * math.floor(room / step + FEASIBILITY * max(1.0, abs(value) / step))
    return bound if left >= room else value - left if objective.sense == "minimize" else value + left
