"""Any feasible point of a problem, whatever it costs: the problem without its objective."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec import structs

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.restriction import has_point, solve_part
from gsdsl_backends.protocol import Backend, SolveOptions


def find_any_point(problem: Problem, backend: Backend, options: SolveOptions, budget: HeuristicBudget) -> Floats | None:
    """A point that the backend finds without costs; None if it finds none within the budget.

    Without costs, presolve fixes many more columns, and the first point found ends the solve. With capacity for all
    jobs but little to spare, this takes seconds where the search with costs finds no point in minutes. Integer columns
    are rounded; the caller verifies the point.
    """
    if budget.over:
        return None
    in_time = structs.replace(options, extra={}, time_limit=budget.remaining_seconds)
    answer = solve_part(backend, replace(problem, objectives=()), in_time, None, budget)
    if not has_point(answer):
        return None
    assert answer.values is not None
    return np.where(problem.integer, np.rint(answer.values), answer.values)
