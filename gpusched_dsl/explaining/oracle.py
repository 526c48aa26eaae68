"""Answers whether a part of a problem is feasible, by a solver, and remembers the points it was shown."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from gpusched_dsl.backends.protocol import Backend, SolveOptions
from gpusched_dsl.explaining.clock import SearchClock
from gpusched_dsl.explaining.elements import Elements
from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solve import solve_problem

POINTS_KEPT, BYTES_KEPT = 64, 1 << 26
# Most sub-problems are easy. The first try is short, so that solving again what was found infeasible is short as well.
FIRST_TRY = 0.25
MOST = 0.7  # of the time, for the problem itself


class Feasibility(StrEnum):
    FEASIBLE = "feasible"  # a point was found and checked
    INFEASIBLE = "infeasible"  # the solver proved that there is none
    UNKNOWN = "unknown"  # neither, within its time


class Oracle:
    """Solves parts of one problem for feasibility. `best` is the smallest part that was proved infeasible."""

    def __init__(self, elements: Elements, backend: Backend | str, clock: SearchClock) -> None:
        self.elements = elements
        self.backend = backend
        self.clock = clock
        self.best: Bools | None = None
        self.solves = 0
        self._satisfied_elements: list[Bools] = []

    def is_infeasible(self, kept: Bools) -> bool:
        """Whether it is proved that a part has no point; raises Stopped when time is up."""
        return self.verdict(kept) is Feasibility.INFEASIBLE

    def verdict(self, kept: Bools, *, complete: bool = False) -> Feasibility:
        """Return the verdict on a part, from a remembered point or the solver; raise Stopped when the time is over.

        `complete`: it is the problem itself, which gets most of the time. Raises DiagnosticError then for data that no
        solver can take.
        """
        if any(not np.any(kept & ~known) for known in reversed(self._satisfied_elements)):
            return Feasibility.FEASIBLE
        self.clock.check()
        part = self.elements.part(kept)
        self.solves += 1
        verdict, point = decide(part.problem, self.backend, self.clock, complete=complete)
        if point is not None:
            self.remember(part.complete_point(point), kept)
        if verdict is Feasibility.INFEASIBLE and (self.best is None or kept.sum() < self.best.sum()):
            self.best = kept.copy()
        self.clock.check()
        return verdict

    def remember(self, point: Floats, kept: Bools | None = None) -> None:
        """Use a point as proof that everything it satisfies is feasible; `kept` is a part for which a
        solver verified it.
        """
        known = self.elements.satisfied_elements(point)
        self._satisfied_elements.append(known if kept is None else known | kept)
        del self._satisfied_elements[: -max(2, min(POINTS_KEPT, BYTES_KEPT // len(known)))]


def decide(
    problem: Problem, backend: Backend | str, clock: SearchClock, *, complete: bool = False
) -> tuple[Feasibility, Floats | None]:
    """Whether a problem without objective has a point, and one if it has; a solver that fails has decided nothing.

    Its failure is raised only for the `complete` problem.
    """
    share = clock.share(MOST) if complete else clock.share()
    for limit in (share,) if complete else (FIRST_TRY, share):
        seconds = limit if share is None else min(limit or share, share)
        try:
            verdict, point = _ask(problem, backend, clock, seconds)
        except DiagnosticError:
            if complete:
                raise
            return Feasibility.UNKNOWN, None
        if verdict is not Feasibility.UNKNOWN or clock.over:
            break
    return verdict, point


def _ask(
    problem: Problem, backend: Backend | str, clock: SearchClock, limit: float | None
) -> tuple[Feasibility, Floats | None]:
    try:
        solved = solve_problem(problem, backend, SolveOptions(time_limit=limit), monitor=clock.monitor)
    except KeyboardInterrupt:
        clock.abandoned = True
        raise
    solved.close()
    if solved.reason == "interrupt":
        clock.interrupted = True
    if solved.point is not None:
        return Feasibility.FEASIBLE, solved.point
    return (Feasibility.INFEASIBLE if solved.status is Status.INFEASIBLE else Feasibility.UNKNOWN), None
