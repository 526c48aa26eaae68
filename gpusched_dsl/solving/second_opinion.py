"""HiGHS without presolve confirms what a solver claims after a short run.

Solvers of integer problems have called suboptimal points optimal and feasible problems infeasible; almost all of these
defects are in their presolve (tests/conformance). Where two claims cannot both be true, a verified point decides: it
refutes a bound that it beats, and a claim that no point exists.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import numpy as np
from msgspec import structs

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import StoppedEarly
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import GAP_FLOOR, SolverResult, Status, relative_gap
from gpusched_dsl.ir.tolerances import TIGHT
from gpusched_dsl.ir.verify import Tolerances, verify
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.concurrent.board import Board
from gpusched_dsl.solving.concurrent.contradictions import contradictions, status_after_contradiction
from gpusched_dsl.solving.lexicographic import undo_cost_scaling, with_visible_costs
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.verification import tidy_point
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions
from gsdsl_backends.registry import backend as backend_named

MOST_SECONDS: Final = 1.0  # of the first run: longer ones are not confirmed
LEAST_SECONDS: Final = 0.1  # for the second run, so that those of a few milliseconds are confirmed, too
SECONDS_PER_NONZERO: Final = 5e-7  # to load a problem into HiGHS, more or less

SOLVER, NAME = "highs", "highs without presolve"
CONFIGURATION: Final[Mapping[str, str]] = {"presolve": "off"}

# A point that refutes a claim must be clean: solvers use their tolerances up, and large costs turn these into gains.
PROOF: Final = Tolerances(10 * TIGHT, 10 * TIGHT)

HELP = (
    "compare with another solver, such as `--method scip`, before you use this result, and report the defect, if "
    "possible with the input"
)


def is_worth_confirming(
    problem: Problem, first: SolverResult, backend: Backend, options: SolveOptions, seconds: float
) -> bool:
    """Return whether a claim gets a second opinion: a proof for a linear problem with integers, after a short run.

    HiGHS itself solves a problem again without presolve before it calls it infeasible (`second_opinions.py`).
    """
    if seconds > MOST_SECONDS or not problem.is_mip or not problem.is_linear:
        return False
    if problem.matrix.nonzeros * SECONDS_PER_NONZERO > _budget(seconds):
        return False
    is_without_presolve = first.status is Status.INFEASIBLE or options.extra.get("presolve") in ("off", False)
    if backend.name == SOLVER and is_without_presolve:
        return False  # it would be the same once more
    return first.status is Status.INFEASIBLE or (first.status is Status.OPTIMAL and first.values is not None)


def with_second_opinion(
    problem: Problem,
    first: SolverResult,
    backend: Backend,
    options: SolveOptions,
    seconds: float,
    monitor: Monitor | None = None,
) -> tuple[SolverResult, bool]:
    """Return the result of a run of `seconds` after a second run of at most as long, and whether that was interrupted.

    The result is the same except for statistics and time, unless a verified point refutes one of the claims: then it
    has the best point, the best bound that no point refutes, the status that these give, and what was claimed
    (`contradictions`). `options` hold the rest of the time limit; their solver options are for the first run only.
    """
    began = time.perf_counter()
    budget = _budget(seconds)
    limit = budget if options.time_limit is None else min(budget, options.time_limit)
    options = structs.replace(options, extra=CONFIGURATION)
    second = None
    with suppress(DiagnosticError, StoppedEarly):
        second = _solve(problem, options, limit, monitor)
    if second is None:
        return _with_statistics(first, began, confirmed=False), False
    found = _settled(problem, (backend.name, first), (NAME, second), options, limit, monitor)
    confirmed = found is first and _confirms(problem, first, second, options.gap)
    return _with_statistics(found, began, confirmed), second.reason == "interrupt"


def _budget(seconds: float) -> float:
    return max(LEAST_SECONDS, seconds)


def _solve(problem: Problem, options: SolveOptions, limit: float, monitor: Monitor | None) -> SolverResult | None:
    """Solve without a start; None where loading alone takes all of the time."""
    budget = HeuristicBudget(limit, monitor)
    visible, factor = with_visible_costs(problem)
    session = backend_named(SOLVER).open(visible)
    try:
        if budget.over:
            return None
        options = structs.replace(options, time_limit=budget.remaining_seconds)
        return undo_cost_scaling(session.solve(options, None, budget), factor)
    finally:
        session.close()


def _settled(
    problem: Problem,
    first: tuple[str, SolverResult],
    second: tuple[str, SolverResult],
    options: SolveOptions,
    limit: float,
    monitor: Monitor | None,
) -> SolverResult:
    """Return the first result, or what verified points leave of both where they refute a claim."""
    results = dict((first, second))
    claims = {name: result.status for name, result in results.items()}
    board = _board(problem, results, options.gap)
    if not contradictions(claims, board, HELP):
        return first[1]
    budget = HeuristicBudget(max(LEAST_SECONDS, limit), monitor)
    exact = {name: _exact(problem, result, options, budget) for name, result in results.items()}
    board = _board(problem, exact, options.gap)
    found = contradictions(claims, board, HELP)
    if not found:
        return first[1]
    status, reason = status_after_contradiction(claims.values(), board)
    bound = board.bound()
    result = structs.replace(
        first[1],
        status=status,
        reason=reason,
        bound=None if bound is None else bound[1],
        row_duals=None,
        reduced_costs=None,
        contradictions=(*first[1].contradictions, *found),
    )
    if board.best is None:
        return structs.replace(result, values=None, objective=None)
    if board.best_by == first[0]:
        return result
    return structs.replace(result, values=board.best.point, objective=board.value if problem.objectives else None)


def _board(problem: Problem, results: Mapping[str, SolverResult], gap: float) -> Board:
    """Return the verified points and the claimed bounds."""
    board = Board(problem, gap)
    for name, result in results.items():
        bound = _claimed_bound(result, board.sign, gap)
        if bound is not None:
            board.take_bound(name, bound)
        if result.values is not None and np.shape(result.values) == (problem.columns,):
            board.offer(name, result.values)
    return board


def _claimed_bound(result: SolverResult, sign: float, gap: float) -> float | None:
    """Return the bound of a result; an optimum is a claim about all other points even without one."""
    if result.bound is not None or result.status is not Status.OPTIMAL or result.objective is None:
        return result.bound
    return result.objective - sign * gap * max(abs(result.objective), GAP_FLOOR)


def _exact(problem: Problem, result: SolverResult, options: SolveOptions, budget: HeuristicBudget) -> SolverResult:
    """Return the result with its point made clean (`PROOF`), its integers kept; without a point if there is none."""
    return structs.replace(result, values=_exact_point(problem, result, options, budget))


def _exact_point(
    problem: Problem, result: SolverResult, options: SolveOptions, budget: HeuristicBudget
) -> Floats | None:
    values = result.values
    if values is None or np.shape(values) != (problem.columns,) or not np.isfinite(values).all():
        return None
    point = tidy_point(problem, values)
    if verify(problem, point, PROOF).feasible:
        return point
    exactly = structs.replace(options, tight=True, time_limit=budget.remaining_seconds)
    unproved = structs.replace(result, status=Status.LIMIT)  # so that a point of another value is returned, too
    repaired = None
    from gpusched_dsl.solving.repair import repair

    with suppress(DiagnosticError, StoppedEarly):
        repaired = repair(backend_named(SOLVER), problem, unproved, exactly, budget)
    if repaired is None or repaired.values is None:
        return None
    point = tidy_point(problem, repaired.values)
    return point if verify(problem, point, PROOF).feasible else None


def _confirms(problem: Problem, first: SolverResult, second: SolverResult, gap: float) -> bool:
    """Return whether the second run proves the claim of the first by itself."""
    if first.status is Status.INFEASIBLE:
        return second.status is Status.INFEASIBLE
    if not problem.objectives or first.objective is None:
        return second.values is not None
    return second.bound is not None and relative_gap(first.objective, second.bound) <= gap + 1e-6


def _with_statistics(result: SolverResult, began: float, confirmed: bool) -> SolverResult:
    seconds = time.perf_counter() - began
    own = {"second_opinions": 1.0, "second_opinion_seconds": seconds}
    if confirmed:
        own["confirmed_claims"] = 1.0
    if result.contradictions:
        own["contradictions"] = float(len(result.contradictions))
    statistics = {**result.statistics, **own}
    return structs.replace(result, statistics=statistics, solve_seconds=result.solve_seconds + seconds)
