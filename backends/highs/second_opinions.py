"""Statuses of HiGHS that are not believed at once: the problem is solved again in another way."""

from __future__ import annotations

from typing import Any

import numpy as np
from highspy import HighsModelStatus as Raw
from msgspec import structs

from gpusched_dsl.backends.highs.loading import objective_of
from gpusched_dsl.backends.highs.results import LIMITS, has_point, result_of
from gpusched_dsl.backends.highs.run import HighsRun
from gpusched_dsl.ir.solver_result import SolverResult, Status

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


def solve_without_start(run: HighsRun, first: SolverResult) -> SolverResult:
    """Solve once more without the start, which HiGHS called optimal without a linear program or a node.

    Where presolve leaves no costs, HiGHS 1.15.1 takes the costs of the start for the bound, although presolve may have
    fixed columns at other values than the start (tests/conformance has one). Without its start such a problem takes no
    time. Where the second run proves nothing, the start is a point without a bound.
    """
    run.highs.clearSolver()
    run.limit_to_rest()
    run.run()
    second = run.highs.getModelStatus()
    if second == Raw.kInfeasible:  # although the start is feasible
        second = confirm_infeasible(run)
    if second == Raw.kOptimal:
        return result_of(run.highs, run.problem, second)
    return structs.replace(first, status=Status.LIMIT, bound=None, reason=LIMITS.get(second, "accuracy"))


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
