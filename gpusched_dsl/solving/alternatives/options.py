"""The options of one job: each placement that it may have, with everything else decided for the best."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.ir.domains import Packing
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.solving.alternatives.compared import Compared
from gpusched_dsl.solving.alternatives.search import Solve, restate
from gpusched_dsl.solving.alternatives.symmetry import InterchangeableSet, Symmetry
from gpusched_dsl.solving.solution import Solution

NOT_PLACED = "not placed"
ENDED = (Status.INFEASIBLE, Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)


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
    best: Solution, compared: Compared, symmetry: Symmetry, own: Ints, job: str, most: int, solve: Solve
) -> JobOptions:
    """Solve once for each option of a job, up to the names of interchangeable elements.

    `own` are the positions of the job's elements in the first compared family, the placement's variable. Raises what
    `solve` raises.
    """
    problem, family = compared.problem, compared.families[0]
    assert best.point is not None
    planned = np.rint(best.point[family.slice])
    orbits = _orbits(family, own, planned, symmetry.sets)
    waits = bool((problem.lower[family.slice][own] <= 0).all())
    options, complete = [], True
    for number, (position, alike) in enumerate(orbits[:most]):
        chosen = planned[position] > 0
        lower = problem.lower.copy()
        lower[family.slice.start + position] = max(1.0, lower[family.slice.start + position])
        entry = entry_name(family, family.slice.start + position)
        options.append(
            _option(best, replace(problem, lower=lower), compared, symmetry, own, entry, alike, bool(chosen), solve)
        )
        if options[-1].reason in ("time", "interrupt"):
            complete = number + 1 == len(orbits) and not waits
            break
    if waits and complete:
        upper = problem.upper.copy()
        upper[family.slice.start + own] = 0.0
        none = not planned[own].any()
        options.append(
            _option(best, replace(problem, upper=upper), compared, symmetry, own, NOT_PLACED, 1, none, solve)
        )
    ranked = sorted(options, key=lambda one: _rank(problem, one))
    left_out = len(orbits) - sum(one.entry != NOT_PLACED for one in ranked)
    return JobOptions(job, tuple(ranked), complete and not left_out, left_out)


def _option(
    best: Solution, problem: Problem, compared: Compared, symmetry: Symmetry, own: Ints, entry: str, alike: int,
    is_best: bool, solve: Solve,
) -> JobOption:  # fmt: skip
    assert best.point is not None
    if is_best:
        return JobOption(entry, alike, best, best.status, best.reason, 0, True)
    solved = solve(problem)
    solved.close()
    if solved.point is None:
        return JobOption(entry, alike, None, solved.status, solved.reason, 0, False)
    original = compared.problem
    point = symmetry.align(solved.point, best.point)
    solution = restate(best, original, point, solved.point, solved)
    assert solution.point is not None
    differs = compared.values(solution.point) != compared.values(best.point)
    differs[own] = False
    return JobOption(entry, alike, solution, solved.status, solved.reason, int(differs.sum()), False)


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
    return tuple(
        (1.0 if o.sense == "minimize" else -1.0) * (r.value or 0.0)
        for o, r in zip(problem.objectives, option.solution.objectives, strict=True)
    ) or (0.0,)
