"""Other solutions of a problem: from the best on, each excluding those before; and one for each option of a job.

Pools of solvers have symmetric copies, are not complete, and differ between backends; exclusion by a row works with
each. The problem of all elements is used: two plans may have the same numbers of patterns and differ in which jobs
share a node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.ir.deadline import INTERRUPT, TIME
from gpusched_dsl.ir.domains import Packing
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.variants import with_bounds
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.lexicographic import with_cutoff
from gpusched_dsl.solving.solution import ObjectiveResult, Solution
from gpusched_dsl.solving.variants.exclusion import exclude_points
from gpusched_dsl.solving.variants.same import Compared, InterchangeableSet, Symmetry
from gpusched_dsl.solving.variants.solver import VariantSolver
from gpusched_dsl.solving.verification import CheckedPoint, check_point

NOT_PLACED = "not placed"
ENDED = (Status.INFEASIBLE, Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)
# Solves that may end with a solution that is known under other names; rows exclude most of these.
MOST_REPEATED = 100


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
    first: Solution, compared: Compared, symmetry: Symmetry, count: int, within: float, solver: VariantSolver
) -> FoundAlternatives:
    """Find up to `count` solutions, with `first`, whose first objective is within this share of the best.

    `first` has a point of the problem that `compared` belongs to. Each is the best of those that remain, within the gap
    of the solver, and excluded under all names. What the solver raises ends the search: those found so far remain.
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
            solved = solver.solve(step.problem)
        except DiagnosticError as error:
            reason, failure = "error", tuple(error.diagnostics)
            break
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
        if solved.reason in (TIME, INTERRUPT):
            reason = solved.reason
            break
    ranked = sorted(found, key=lambda one: _costs(problem, one))
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


def _costs(problem: Problem, solution: Solution) -> tuple[float, ...]:
    """The values of the objectives, those to be maximised with the other sign."""
    return tuple(
        (1.0 if o.sense == "minimize" else -1.0) * (r.value or 0.0)
        for o, r in zip(problem.objectives, solution.objectives, strict=True)
    )


def _point(solution: Solution) -> Floats:
    assert solution.point is not None
    return solution.point


@dataclass(frozen=True, eq=False)
class JobOption:
    """An option: `entry` is the element of the placement's variable that is at least 1, or `NOT_PLACED`.

    `solution` is the best one with it, None without one: `status` is then `infeasible`, or why there is none. `alike`
    elements differ from it in the names of interchangeable elements only. `moved`: other values that differ from the
    best solution. `is_best`: the best solution has it.
    """

    entry: str
    alike: int
    solution: Solution | None
    status: Status
    reason: str
    moved: int
    is_best: bool


@dataclass(frozen=True, eq=False)
class JobOptions:
    """The options of a job, the best first; `complete` unless the time ended before all were solved."""

    job: str
    options: tuple[JobOption, ...]
    complete: bool
    left_out: int


def find_options(
    best: Solution, compared: Compared, symmetry: Symmetry, own: Ints, job: str, most: int, solver: VariantSolver
) -> JobOptions:
    """Solve once for each option of a job, up to the names of interchangeable elements.

    `own` are the positions of the job's elements in the first compared family, the placement's variable. Raises
    DiagnosticError as solvers do.
    """
    problem, family = compared.problem, compared.families[0]
    assert best.point is not None
    first, planned = family.first, np.rint(best.point[family.slice])
    orbits = _orbits(family, own, planned, symmetry.sets)
    waits = bool((problem.lower[first + own] <= 0).all())

    def option(entry: str, alike: int, is_best: bool, variant: Problem) -> JobOption:
        assert best.point is not None
        if is_best:
            return JobOption(entry, alike, best, best.status, best.reason, 0, True)
        solved = solver.solve(variant)
        if solved.point is None:
            return JobOption(entry, alike, None, solved.status, solved.reason, 0, False)
        solution = restate(best, problem, symmetry.align(solved.point, best.point), solved.point, solved)
        differs = compared.values(_point(solution)) != compared.values(best.point)
        differs[own] = False
        return JobOption(entry, alike, solution, solved.status, solved.reason, int(differs.sum()), False)

    options, complete = [], True
    for number, (position, alike) in enumerate(orbits[:most]):
        at = first + position
        variant = with_bounds(problem, [at], lower=max(1.0, problem.lower[at]))
        options.append(option(entry_name(family, at), alike, bool(planned[position] > 0), variant))
        if options[-1].reason in (TIME, INTERRUPT):
            complete = number + 1 == len(orbits) and not waits
            break
    if waits and complete:
        variant = with_bounds(problem, first + own, upper=0.0)
        options.append(option(NOT_PLACED, 1, not planned[own].any(), variant))
    ranked = sorted(options, key=lambda one: _rank(problem, one))
    left_out = len(orbits) - sum(one.entry != NOT_PLACED for one in ranked)
    return JobOptions(job, tuple(ranked), complete and not left_out, left_out)


def _orbits(family: Family, own: Ints, planned: Floats, sets: tuple[InterchangeableSet, ...]) -> list[tuple[int, int]]:
    """One element for each kind, one of the best solution if there is one, and how many are of its kind."""
    if not len(own):
        return []
    keys: list[Codes] = []
    components = family.domain.components
    for component, codes in zip(components, family.domain.columns(), strict=True):
        twice = sum(other is component for other in components) > 1  # whether the two are equal counts
        one = None if twice else next((s for s in sets if s.universe is component), None)
        keys.append(codes[own] if one is None else one.of[codes[own]])
    _, kind = np.unique(Packing.of(keys).keys(keys), return_inverse=True)
    kind = kind.reshape(-1)
    order = np.lexsort((own, -planned[own], kind))
    first = np.flatnonzero(np.diff(kind[order], prepend=-1))
    counts = np.bincount(kind)
    return sorted((int(own[order[at]]), int(counts[kind[order[at]]])) for at in first.tolist())


def _rank(problem: Problem, option: JobOption) -> tuple[float, ...]:
    if option.solution is None:
        return (np.inf, 0.0 if option.status not in ENDED else 1.0)
    return _costs(problem, option.solution) or (0.0,)
