"""Duals, reduced costs and ranges of a linear program, or of a problem with its integers fixed at a solution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions
from gsdsl_backends.registry import backend as registered_backend

LINEAR = "highs"  # solves the linear programs, and ranges them
NEAR = 1e-6  # how far, relatively, an activity at a side of its row may lie from it


class Ranges(Struct, frozen=True):
    """Between which values one number may change so that the basis stays optimal, all other numbers as they are.

    `cost_*` have an entry for each column, `side_*` for each row: the range of the side at which the row lies, or, for
    a row with slack, of the side that it would reach first. NaN: there is no such number.
    """

    cost_lower: Floats
    cost_upper: Floats
    side_lower: Floats
    side_upper: Floats


class Sensitivity(Struct, frozen=True):
    """`row_duals` and `reduced_costs` as in `Solution`. `fixed` has the integer columns, fixed at the solution.

    `ranges` is None for problems with nonlinear terms or conditions.
    """

    row_duals: Floats
    reduced_costs: Floats
    fixed: Bools
    ranges: Ranges | None


def sensitivity_of(solved: Solution) -> Sensitivity:
    """Return the sensitivity of the first objective at a solution. Integer columns are fixed at their values.

    Raises DiagnosticError (GSM6010) without a point, for several objectives, and for a solution of which only the
    nonzero part was built; and as `solve_problem` does.
    """
    problem = solved.problem
    if solved.point is None:
        raise _impossible("there is no solution", "check `status` first")
    if len(problem.objectives) != 1:
        raise _impossible("the problem does not have exactly one objective", "keep one objective")
    if solved.size is not None and solved.size.columns != problem.columns:
        help = "solve it without aggregation: `--without aggregation`"
        raise _impossible("interchangeable elements were aggregated in this large problem", help)
    fixed = problem.integer.copy()
    program = _with_fixed_integers(problem, solved.point) if fixed.any() else problem
    backend = registered_backend(LINEAR)
    if not program.is_linear and not fixed.any():
        return _of_solver(solved, fixed)
    options = SolveOptions(time_limit=solved.options.time_limit, tighten=False, heuristic="off", decompose="off")
    again = solve_problem(program, backend, options, solved.point)
    again.close()
    if again.status is not Status.OPTIMAL:
        raise _impossible(f"the linear program with fixed integers ended as `{again.status.value}`", "")
    ranges = _ranges(program, fixed, options) if program.is_linear else None
    return structs.replace(_of_solver(again, fixed), ranges=ranges)


def _of_solver(solved: Solution, fixed: Bools) -> Sensitivity:
    if solved.row_duals is None or solved.reduced_costs is None:
        raise _impossible(f"`{solved.backend.name}` gave none", "solve to optimality, or choose another solver")
    return Sensitivity(solved.row_duals, solved.reduced_costs, fixed, None)


def _with_fixed_integers(problem: Problem, point: Floats) -> Problem:
    at = np.where(problem.integer, np.rint(point), 0.0)
    return replace(
        problem,
        lower=np.where(problem.integer, at, problem.lower),
        upper=np.where(problem.integer, at, problem.upper),
        integer=np.zeros_like(problem.integer),
    )


def _ranges(problem: Problem, fixed: Bools, options: SolveOptions) -> Ranges | None:
    """Return the ranges that the solver computes for its own copy of a linear program."""
    from gsdsl_backends.highs.session import HighsSession  # loads the solver

    session = HighsSession(problem)
    try:
        answer = session.solve(options)
        found = session.ranging() if answer.status is Status.OPTIMAL else None
    finally:
        session.close()
    if found is None or answer.values is None:
        return None
    cost_lower, cost_upper, side_lower, side_upper = found
    activity = problem.matrix.activity(answer.values)
    scale = NEAR * np.maximum(1.0, np.abs(activity))
    below, above = activity - problem.row_lower, problem.row_upper - activity
    slack = np.minimum(below, above) > scale
    to_upper = above <= below
    side_lower = np.where(slack, np.where(to_upper, activity, -np.inf), side_lower)
    side_upper = np.where(slack, np.where(to_upper, np.inf, activity), side_upper)
    free = np.isneginf(problem.row_lower) & np.isposinf(problem.row_upper)
    side_lower[free], side_upper[free] = np.nan, np.nan
    return Ranges(np.where(fixed, np.nan, cost_lower), np.where(fixed, np.nan, cost_upper), side_lower, side_upper)


def _impossible(why: str, help: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic("GSM6010", f"there are no duals: {why}", help=help or None)])
