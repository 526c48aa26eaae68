"""Solves variants of a problem (other bounds, sides, rows or objectives) with one solver, within one time limit."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from enum import StrEnum

from msgspec import structs

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import INTERRUPT, Deadline
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.relaxation import relax_integers
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import Backend, Monitor, Silent, SolveOptions
from gsdsl_backends.registry import backend as backend_named

# No variant may take more than this share of what is left, but each gets at least so many seconds.
SHARE = 0.3
LEAST_SECONDS = 1.0
# Most questions of feasibility are easy. The first try is short, so that solving again what was found infeasible is
# short as well.
FIRST_TRY = 0.25
MOST = 0.7  # of the time, for a problem itself
GAP = 1e-6
LINEAR = "highs"


class Feasibility(StrEnum):
    FEASIBLE = "feasible"  # a point was found and checked
    INFEASIBLE = "infeasible"  # the solver proved that there is none
    UNKNOWN = "unknown"  # neither, within its time


class VariantSolver:
    """One solver and one clock for all variants: `clock` ends after `seconds` from now (None: no limit).

    `backend` may be a function that loads the solver when the first variant is solved. The monitor, and Ctrl-C in a
    solve, end the clock early. `abandoned`: a second Ctrl-C left a solver running.
    """

    def __init__(
        self,
        backend: Backend | str | Callable[[], Backend] = "highs",
        seconds: float | None = None,
        monitor: Monitor | None = None,
        options: SolveOptions | None = None,
        share: float = SHARE,
    ) -> None:
        self._backend = backend
        self.monitor = monitor or Silent()
        self.options = options or SolveOptions(gap=GAP)
        self.clock = Deadline(seconds, lambda: self.monitor.stop_requested)
        self.abandoned = False
        self._share = share

    @property
    def backend(self) -> Backend:
        if isinstance(self._backend, str):
            self._backend = backend_named(self._backend)
        elif callable(self._backend):
            self._backend = self._backend()
        return self._backend

    def of(self, backend: Backend, options: SolveOptions | None = None) -> VariantSolver:
        """Return another solver, or one with other options, with the same clock."""
        other = copy(self)
        other._backend, other.options = backend, options or self.options
        return other

    @property
    def over(self) -> bool:
        """Whether there is no time left, or the user wants the results so far."""
        return bool(self.clock.reason)

    def solve(self, problem: Problem, start: Floats | None = None, *, seconds: float | None = None) -> Solution:
        """Solve a variant within its share of the time, or within `seconds`; raises DiagnosticError as solvers do."""
        limit = self.share() if seconds is None else seconds
        options = self.options if limit is None else structs.replace(self.options, time_limit=limit)
        try:
            found = solve_problem(problem, self.backend, options, start, self.monitor)
        except KeyboardInterrupt:
            self.abandoned = True
            raise
        found.close()
        if found.reason == INTERRUPT:
            self.clock.interrupt()
        return found

    def solve_relaxed(self, problem: Problem) -> Solution:
        """Solve a variant without integers: by HiGHS if the solver takes no continuous columns."""
        solver = self
        if not self.backend.capabilities.continuous:
            solver = self.of(backend_named(LINEAR), structs.replace(self.options, extra={}))
        options = structs.replace(solver.options, tighten=False, heuristic="off", decompose="off")
        return solver.of(solver.backend, options).solve(relax_integers(problem, solver.backend))

    def attempt(self, problem: Problem) -> Solution | None:
        """Solve a variant; None for a solver that fails."""
        try:
            return self.solve(problem)
        except DiagnosticError:
            return None

    def decide(self, problem: Problem, *, complete: bool = False) -> tuple[Feasibility, Floats | None]:
        """Whether a problem without objective has a point, and one if it has; a solver that fails has decided nothing.

        A `complete` problem gets most of the time, and its failure is raised.
        """
        share = self.share(MOST if complete else None)
        for limit in (share,) if complete else (FIRST_TRY, share):
            try:
                found = self.solve(problem, seconds=limit if share is None else min(limit or share, share))
            except DiagnosticError:
                if complete:
                    raise
                return Feasibility.UNKNOWN, None
            if found.point is not None:
                return Feasibility.FEASIBLE, found.point
            if found.status is Status.INFEASIBLE:
                return Feasibility.INFEASIBLE, None
            if self.over:
                break
        return Feasibility.UNKNOWN, None

    def share(self, of_rest: float | None = None) -> float | None:
        """Return the seconds for one variant."""
        rest = self.clock.remaining_seconds
        return None if rest is None else min(rest, max(LEAST_SECONDS, (of_rest or self._share) * rest))
