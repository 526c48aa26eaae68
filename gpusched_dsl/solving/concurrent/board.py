"""What several solvers know together: the best point, the bound of each, and whether that suffices."""

from __future__ import annotations

import threading
from contextlib import suppress

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.magnitudes import largest_cost
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import relative_gap
from gpusched_dsl.ir.verify import Tolerances
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.verification import CheckedPoint, allowed_error, check_point
from gsdsl_backends.protocol import SolverProgress


class Board:
    """The shared state of the solvers of one problem. Every method may be called from every thread.

    Points are verified here before anyone gets them. `reason` is why the work ends: `proved`, `time`, `interrupt` or
    `failed`; "" while it goes on.
    """

    def __init__(self, problem: Problem, gap: float) -> None:
        self.problem, self.gap = problem, gap
        self.objective = problem.objectives[0] if problem.objectives else None
        self.sign = -1.0 if self.objective is not None and self.objective.sense == "maximize" else 1.0
        self.best: CheckedPoint | None = None
        self.best_by = ""
        self.reason = ""
        self.bounds: dict[str, float] = {}
        self._largest_cost = 0.0 if self.objective is None else largest_cost(self.objective.costs(problem.columns))
        self._lock = threading.Lock()

    @property
    def value(self) -> float | None:
        """The objective of the best point; None without one, 0 without an objective."""
        return None if self.best is None else self._value(self.best)

    def offer(self, solver: str, values: Floats) -> None:
        """Take a point of a solver if it is feasible and better than the best one."""
        with suppress(DiagnosticError):
            self.take(solver, check_point(self.problem, values, Tolerances(), solver))

    def take(self, solver: str, point: CheckedPoint, prefer: bool = False) -> None:
        """Take a verified point if it is better; with `prefer` also if it is as good, within rounding."""
        with self._lock:
            if self.best is None or self._is_better(point, prefer):
                self.best, self.best_by = point, solver
            self._end_if_proved()

    def take_bound(self, solver: str, bound: float) -> None:
        """Take a bound of a solver."""
        with self._lock:
            earlier = self.bounds.get(solver)
            if earlier is None or self.sign * bound > self.sign * earlier:
                self.bounds[solver] = bound
            self._end_if_proved()

    def end(self, reason: str) -> None:
        """Ask all solvers to stop; the first reason counts."""
        with self._lock:
            self.reason = self.reason or reason

    def refuted_bounds(self) -> dict[str, float]:
        """Return the bounds that the best point beats by more than rounding."""
        value = self.value
        if self.best is None or value is None or self.objective is None:
            return {}
        allowed = self._allowed_error(self.best)
        return {s: b for s, b in self.bounds.items() if self.sign * (b - value) > allowed}

    def bound(self) -> tuple[str, float] | None:
        """Return the best bound that no point refutes, and whose it is."""
        refuted = self.refuted_bounds()
        good = {solver: bound for solver, bound in self.bounds.items() if solver not in refuted}
        if not good:
            return None
        solver = max(good, key=lambda one: self.sign * good[one])
        return solver, good[solver]

    def is_closed(self) -> bool:
        """Whether the best point is within the gap of the best bound; without an objective, whether there is one."""
        value, bound = self.value, self.bound()
        if value is None or self.objective is None:
            return value is not None
        if bound is None:
            return False
        return self.sign * (value - bound[1]) <= 0 or relative_gap(value, bound[1], self._largest_cost) <= self.gap

    def progress(self, seconds: float) -> SolverProgress:
        bound = self.bound()
        return SolverProgress(seconds, self.value, None if bound is None else bound[1])

    def _end_if_proved(self) -> None:
        if not self.reason and self.is_closed():
            self.reason = "proved"

    def _value(self, point: CheckedPoint) -> float:
        return point.verification.objectives[0].value if self.objective is not None else 0.0

    def _is_better(self, point: CheckedPoint, prefer: bool) -> bool:
        assert self.best is not None
        gain = self.sign * (self._value(self.best) - self._value(point))
        return gain > (-self._allowed_error(point) if prefer else 0.0)

    def _allowed_error(self, point: CheckedPoint) -> float:
        if self.objective is None:
            return 0.0
        return allowed_error(self.problem, self.objective, point.verification.objectives[0], point.point)
