"""Results of HiGHS in our terms: status, values, bound and duals, or a diagnostic where there is no result."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
from highspy import HighsModelStatus as Raw

from gpusched_dsl.ir.magnitudes import largest_number
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

LIMITS = {
    Raw.kTimeLimit: "time",
    Raw.kInterrupt: "interrupt",
    Raw.kIterationLimit: "iterations",
    Raw.kSolutionLimit: "nodes",
    Raw.kMemoryLimit: "memory",
    Raw.kObjectiveBound: "objective",
    Raw.kObjectiveTarget: "objective",
}


def result_of(highs: Any, problem: Problem, status: Any) -> SolverResult:
    """Return the result of the last run; `status` is the one to believe.

    Raises DiagnosticError if HiGHS ended with an error.
    """
    info = highs.getInfo()
    statistics = {
        "nodes": float(max(info.mip_node_count, 0)),
        "iterations": float(max(info.simplex_iteration_count, 0) + max(info.ipm_iteration_count, 0)),
    }
    if status == Raw.kInfeasible:
        return SolverResult(Status.INFEASIBLE, statistics=statistics)
    if status == Raw.kUnbounded:
        return SolverResult(Status.UNBOUNDED, statistics=statistics)
    if status == Raw.kUnboundedOrInfeasible:
        return SolverResult(Status.INFEASIBLE_OR_UNBOUNDED, statistics=statistics)
    optimal = status == Raw.kOptimal
    if not optimal and status not in LIMITS:
        raise DiagnosticError([_failure(highs.modelStatusToString(status), problem)])
    bound = finite(info.mip_dual_bound) if problem.is_mip else None
    if not has_point(highs):
        if optimal:
            raise DiagnosticError([_failure("optimal, but without a feasible point", problem)])
        return SolverResult(Status.LIMIT, bound=bound, reason=LIMITS[status], statistics=statistics)
    solution = highs.getSolution()
    objective = float(info.objective_function_value)
    linear = optimal and not problem.is_mip
    return SolverResult(
        Status.OPTIMAL if optimal else Status.LIMIT,
        values=np.array(solution.col_value),
        objective=objective,
        bound=objective if linear else bound,
        row_duals=np.array(solution.row_dual) if linear and solution.dual_valid else None,
        reduced_costs=np.array(solution.col_dual) if linear and solution.dual_valid else None,
        reason="" if optimal else LIMITS[status],
        statistics=statistics,
    )


def has_point(highs: Any) -> bool:
    """Return whether the last run ended with a feasible point."""
    feasible = highspy.SolutionStatus.kSolutionStatusFeasible
    return bool(highs.getInfo().primal_solution_status == feasible)


def is_without_work(result: SolverResult) -> bool:
    """Return whether a result came without a linear program or a node."""
    return not result.statistics["nodes"] and not result.statistics["iterations"]


def finite(value: float) -> float | None:
    """Return a bound or objective, None while it is still infinite."""
    return float(value) if np.isfinite(value) else None


def _failure(what: str, problem: Problem) -> Diagnostic:
    help = "numbers of very different size are the usual cause; try other units, or another backend"
    largest, where, span = largest_number(problem)
    note = f"the largest number is {largest:g}, of {where}"
    return Diagnostic("GSM4007", f"HiGHS ended without a result: {what}", span, notes=(note,), help=help)
