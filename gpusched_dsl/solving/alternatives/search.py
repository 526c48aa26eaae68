"""Enumerates solutions from the best on: each solve excludes those found before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.alternatives.compared import Compared
from gpusched_dsl.solving.alternatives.exclusion import exclude_points, with_cutoff
from gpusched_dsl.solving.alternatives.symmetry import Symmetry
from gpusched_dsl.solving.solution import ObjectiveResult, Solution
from gpusched_dsl.solving.verification import CheckedPoint, check_point

# Solves that may end with a solution that is known under other names; rows exclude most of these.
MOST_REPEATED = 100

Solve = Callable[[Problem], Solution]


@dataclass(frozen=True, eq=False)
class FoundAlternatives:
    """Solutions from the best on, the given one among them; `differ` is in how many compared values from the best.

    `complete`: no others are within the limit, by the proofs of the solver. Otherwise `reason` says why the search
    ended: `count`, or that of the last solve, such as `time`; `repeated` for too many equal ones; `error` for the
    `failure` of a solve.
    """

    solutions: tuple[Solution, ...]
    differ: tuple[int, ...]
    complete: bool
    reason: str
    repeated: int
    failure: tuple[Diagnostic, ...] = ()


def find_alternatives(
    first: Solution, compared: Compared, symmetry: Symmetry, count: int, within: float, solve: Solve
) -> FoundAlternatives:
    """Find up to `count` solutions, with `first`, whose first objective is within this share of the best.

    `first` has a point of the problem that `compared` belongs to. Each is the best of those that remain, within the gap
    of `solve`, and excluded under all names. What `solve` raises ends the search: those found so far remain.
    """
    problem, found = compared.problem, [first]
    assert first.point is not None
    excluded: list[Floats] = [first.point]
    known = {symmetry.signature(first.point): [first.point]}
    limited = problem
    if problem.objectives:
        best = problem.objectives[0].value(first.point)
        sign = 1.0 if problem.objectives[0].sense == "minimize" else -1.0
        limited = with_cutoff(problem, best + sign * within * abs(best))
    complete, reason, repeated = False, "count", 0
    failure: tuple[Diagnostic, ...] = ()
    while len(found) < count:
        step = exclude_points(limited, compared, excluded, symmetry)
        try:
            solved = solve(step.problem)
        except DiagnosticError as error:
            reason, failure = "error", tuple(error.diagnostics)
            break
        solved.close()
        if solved.status is Status.INFEASIBLE:
            complete, reason = True, ""
            break
        if solved.point is None:
            reason = solved.reason or solved.status.value
            break
        point = step.invert(solved.point)
        excluded.append(point)
        equal = known.setdefault(symmetry.signature(point), [])
        if any(symmetry.same(point, other) for other in equal):
            repeated += 1
            if repeated > MOST_REPEATED:
                reason = "repeated"
                break
            continue
        equal.append(point)
        found.append(restate(first, problem, symmetry.align(point, first.point), point, solved))
        if solved.reason in ("time", "interrupt"):
            reason = solved.reason
            break
    ranked = sorted(found, key=lambda one: _rank(problem, one))
    reference = compared.values(_point(ranked[0]))
    aligned = [symmetry.align(_point(one), _point(ranked[0])) for one in ranked]
    differ = tuple(int((compared.values(point) != reference).sum()) for point in aligned)
    return FoundAlternatives(tuple(ranked), differ, complete, reason, repeated, failure)


def restate(first: Solution, problem: Problem, point: Floats, otherwise: Floats, solved: Solution) -> Solution:
    """A solution of the problem with a point that was found for it with more rows.

    `otherwise` is the point with the names that its solver gave, if the other one is not accepted. Raises
    DiagnosticError (GSM4008) where the rows of the problem are broken.
    """
    name = solved.backend.name
    try:
        checked = check_point(problem, point, first.tolerances, name)
    except DiagnosticError:
        checked = check_point(problem, otherwise, first.tolerances, name)
    return replace(
        first, problem=problem, point=checked.point, verification=checked.verification, is_integral=checked.is_integral,
        status=solved.status, reason=solved.reason, objectives=_objectives(problem, checked, solved),
        row_duals=None, reduced_costs=None, session=None, aggregated=None, size=None, members=(), contradictions=(),
        warnings=(), solve_seconds=solved.solve_seconds, load_seconds=solved.load_seconds,
    )  # fmt: skip


def _objectives(problem: Problem, checked: CheckedPoint, solved: Solution) -> tuple[ObjectiveResult, ...]:
    """Without bounds: those of the solver are bounds of what was left."""
    return tuple(
        ObjectiveResult.of(objective, value, None, result.status, result.seconds, problem.columns)
        for objective, value, result in zip(
            problem.objectives, checked.verification.objectives, solved.objectives, strict=True
        )
    )


def _rank(problem: Problem, solution: Solution) -> tuple[float, ...]:
    return tuple(
        (1.0 if o.sense == "minimize" else -1.0) * (r.value or 0.0)
        for o, r in zip(problem.objectives, solution.objectives, strict=True)
    )


def _point(solution: Solution) -> Floats:
    assert solution.point is not None
    return solution.point
