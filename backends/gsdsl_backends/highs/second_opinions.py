"""Statuses of HiGHS that are not believed at once: the problem is solved again in another way."""

from __future__ import annotations

from typing import Any

import numpy as np
from highspy import HighsModelStatus as Raw
from msgspec import structs

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.ir.tolerances import FEASIBILITY
from gpusched_dsl.ir.verify import objective_value
from gsdsl_backends.highs.loading import objective_of
from gsdsl_backends.highs.results import LIMITS, has_point, is_without_work, result_of
from gsdsl_backends.highs.run import HighsRun

# How long, at least and as a multiple of the first run, a problem found infeasible is solved again without presolve.
SECOND_OPINION_SECONDS = 5.0
SECOND_OPINION = 2.0


def confirm_infeasible(run: HighsRun) -> Any:
    """Solve again without presolve before a problem is called infeasible; return the status.

    Presolve of HiGHS 1.7 to 1.15 has called feasible problems infeasible (tests/conformance has two). The second run
    gets `SECOND_OPINION` times the time of the first; where that does not suffice the first status is returned.
    """
    options, control = run.options, run.control
    given = max(SECOND_OPINION_SECONDS, SECOND_OPINION * control.seconds)
    if options.time_limit is not None:
        given = min(given, options.time_limit - control.seconds)
    if given <= 0 or control.stop_requested:
        return Raw.kInfeasible
    run.options = structs.replace(options, time_limit=control.seconds + given)
    second = run.run_without_presolve()
    run.options = options
    unbounded = second in (Raw.kUnbounded, Raw.kUnboundedOrInfeasible)
    return second if unbounded or has_point(run.highs) else Raw.kInfeasible


def is_doubtful_after_start(problem: Problem, result: SolverResult) -> bool:
    """Return whether a run with a start may be wrong: an optimum without work, or the value of another point.

    Where presolve leaves no costs, HiGHS 1.15.1 and 1.16.0 take the costs of the start for the bound, although presolve
    may have fixed columns at other values than the start. HiGHS 1.16.0 also returns the start beside the objective of a
    better point that presolve has found. tests/conformance has a problem for each.
    """
    if result.values is None:
        return False
    if result.status is Status.OPTIMAL and is_without_work(result):
        return True
    return result.objective is not None and not _has_value(problem, result.values, result.objective)


def solve_without_start(run: HighsRun, first: SolverResult) -> SolverResult:
    """Solve once more without the start, within the remaining time.

    Where the second run proves nothing, the point of the first is a point without a bound.
    """
    run.highs.clearSolver()
    run.limit_to_rest()
    run.run()
    second = run.highs.getModelStatus()
    if second == Raw.kInfeasible:  # although the start is feasible
        second = confirm_infeasible(run)
    if second == Raw.kOptimal:
        return result_of(run.highs, run.problem, second)
    assert first.values is not None
    return structs.replace(
        first,
        status=Status.LIMIT,
        objective=_value(run.problem, first.values),
        bound=None,
        reason=LIMITS.get(second, "accuracy"),
    )


def _value(problem: Problem, point: Floats) -> float | None:
    return problem.objectives[0].value(point) if problem.objectives else None


def _has_value(problem: Problem, point: Floats, claimed: float) -> bool:
    """Return whether a point has the claimed objective, up to the rounding of its terms."""
    if not problem.objectives:
        return True
    value = objective_value(problem.objectives[0], point)
    return abs(value.value - claimed) <= FEASIBILITY * max(1.0, value.magnitude)


def unbounded_or_infeasible(run: HighsRun) -> Status:
    """Distinguish the two: without costs the problem is feasible or not.

    HiGHS has shown that the relaxation is unbounded (or that nothing is feasible); a feasible point then makes the
    problem unbounded, as its data are rational.
    """
    costs, _, _ = objective_of(run.problem)
    columns = np.arange(len(costs), dtype=np.int32)
    run.limit_to_rest()
    run.highs.changeColsCost(len(costs), columns, np.zeros(len(costs)))
    run.muted = True
    run.run()
    status = run.highs.getModelStatus()
    if status == Raw.kInfeasible:
        status = confirm_infeasible(run)
    run.highs.changeColsCost(len(costs), columns, costs)
    run.muted = False
    if status == Raw.kOptimal:
        return Status.UNBOUNDED
    return Status.INFEASIBLE if status == Raw.kInfeasible else Status.INFEASIBLE_OR_UNBOUNDED
