"""Local search behind the backend protocol: points of linear models of any form and size, without proofs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import structs

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.version import __version__
from gsdsl_backends.interrupt import Control, CtrlC
from gsdsl_backends.protocol import (
    Capabilities,
    Monitor,
    Session,
    Silent,
    SolveOptions,
)
from gsdsl_backends.search.arrays import (
    arrays_of,
    begin_beyond,
    by_reduced_costs,
    first_point,
    rounded,
    set_best,
    state_at,
    with_own_sides,
)
from gsdsl_backends.search.kernels.annealing import search
from gsdsl_backends.search.kernels.jumps import (
    HAS_BEST,
    STEPS,
    SearchModel,
    SearchState,
)
from gsdsl_backends.search.run import SearchRun

# Options: steps in all, and steps without a better point, after which the search ends by itself.
DEFAULTS: Final[Mapping[str, float]] = {"steps": np.inf, "patience": 300_000.0}
STEPS_BY_COLUMN: Final = 20
REST_SECONDS: Final = 10.0  # for the continuous columns, without a time limit
FAR: Final = 0.05  # of its costs: by how much the rounded relaxation replaces a start, although it violates rows


class SearchBackend:
    """Linear problems by local search; everything else is reformulated first."""

    name = "search"
    capabilities = Capabilities(threads=False, proves=False)

    def versions(self) -> dict[str, str]:
        return {"gsdsl": __version__, "numpy": np.__version__}

    def open(self, problem: Problem) -> Session:
        return SearchSession(problem)


class SearchSession(Session):
    """One problem as the arrays of the search."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._relaxed: Floats | None = None

    @cached_property
    def _model(self) -> SearchModel:
        return arrays_of(self._problem)

    def advise(self, relaxed: Floats, reduced: Floats | None) -> None:
        self._relaxed = relaxed
        if reduced is not None:
            self._model = by_reduced_costs(self._model, reduced)

    def close(self) -> None:
        """Nothing outlasts the objects."""

    def solve(self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None) -> SolverResult:
        """Search from a start, or from the bounds that costs suggest. Raises DiagnosticError (GSM4004, GSM4005).

        Ends at the time limit, after `steps` steps, after `patience` steps without a better point or ten times as many
        without any, at Ctrl-C. With the same seed, and a limit in steps, the point is always the same.
        """
        began = time.perf_counter()
        steps, patience = _limits(options.extra, self._problem.columns)
        problem = self._problem
        ordered = (problem.lower <= problem.upper).all() and (problem.row_lower <= problem.row_upper).all()
        if not problem.is_mip and ordered:
            return self._linear(problem, options, began, monitor)
        exact = self._model
        model = with_own_sides(exact)
        if (model.lower > model.upper).any() or (model.row_lower > model.row_upper).any():
            return SolverResult(Status.INFEASIBLE)
        if not len(model.movable):
            answer = self._linear(self._at(model.lower), options, began, monitor)
            return structs.replace(answer, row_duals=None, reduced_costs=None) if problem.is_mip else answer
        point = first_point(model)
        if start is not None:
            given = np.where(np.isfinite(start), start, point)
            point = np.clip(np.where(problem.integer, np.rint(given), given), model.lower, model.upper)
        state = self._begin(model, point, start is not None)
        search(model, state, 0, np.random.default_rng(0))  # machine code, the first time: no time of the search
        began = time.perf_counter()
        control = Control()
        with CtrlC(control):
            run = SearchRun(problem, exact, model, state, options, control, monitor or Silent())
            try:
                reason = run.until_the_end(steps, patience)
            finally:
                run.close()
        counts = {"nodes": 0.0, "iterations": float(state.counts[STEPS])}
        has_point = bool(state.counts[HAS_BEST])
        found = self._with_rest(state.best if has_point else state.point, has_point, options, began)
        seconds = time.perf_counter() - began
        if found is None:
            reason = reason or "iterations"
            return SolverResult(Status.LIMIT, reason=reason, solve_seconds=seconds, statistics=counts)
        return SolverResult(
            Status.FEASIBLE, found, self._value(found), reason=reason, solve_seconds=seconds, statistics=counts
        )

    def _begin(self, model: SearchModel, point: Floats, given: bool) -> SearchState:
        """Return the state at a point, or at the rounded relaxation where the point is far from it or none was given.

        The point stays the best one if it satisfies the problem.
        """
        state = state_at(model, point)
        if self._relaxed is None:
            return state
        near = rounded(model, self._relaxed)
        value, least = (float(model.costs @ p) for p in (point, near))
        if given and value - least <= FAR * max(abs(value), abs(least)):
            return state
        if given:
            set_best(self._model, model, state, point)
        begin_beyond(model, state, near)
        return state

    def _value(self, point: Floats) -> float:
        return self._problem.objectives[0].value(point) if self._problem.objectives else 0.0

    def _at(self, point: Floats) -> Problem:
        """Return the linear problem whose integer columns have the values of a point."""
        lower, upper, at = self._problem.lower.copy(), self._problem.upper.copy(), self._problem.integer
        lower[at] = upper[at] = np.clip(np.rint(point[at]), self._model.lower[at], self._model.upper[at])
        return replace(self._problem, lower=lower, upper=upper, integer=np.zeros_like(at))

    @staticmethod
    def _linear(problem: Problem, options: SolveOptions, began: float, monitor: Monitor | None = None) -> SolverResult:
        """Solve a problem without integers exactly, in what is left of the time limit."""
        from gsdsl_backends.highs.backend import HighsBackend

        limit = options.time_limit
        left = None if limit is None else max(limit - (time.perf_counter() - began), 0.1)
        session = HighsBackend().open(problem)
        try:
            answer = session.solve(structs.replace(options, time_limit=left, threads=1, extra={}), None, monitor)
        finally:
            session.close()
        return structs.replace(answer, solve_seconds=time.perf_counter() - began)

    def _with_rest(self, point: Floats, is_feasible: bool, options: SolveOptions, began: float) -> Floats | None:
        """Return a point with the integers of this one, where a linear problem decides the continuous columns.

        If it cannot, the point itself where it satisfies everything, else None.
        """
        if not self._problem.integer.all():
            limit = REST_SECONDS if options.time_limit is None else options.time_limit
            values = self._linear(self._at(point), structs.replace(options, time_limit=limit), began).values
            if values is not None:
                return values
        return point if is_feasible else None


def _limits(extra: Mapping[str, bool | int | float | str], columns: int) -> tuple[float, float]:
    """Return the limits of all steps and of those without a better point. Raises DiagnosticError."""
    known = {**DEFAULTS, "patience": DEFAULTS["patience"] + STEPS_BY_COLUMN * columns}
    for name, value in extra.items():
        if name not in known:
            help = did_you_mean(name, known) or "it has `steps` and `patience`, numbers of steps"
            raise DiagnosticError([Diagnostic("GSM4004", f"`search` has no option `{name}`", help=help)])
        if isinstance(value, bool | str) or not value > 0:
            help = "its value must be a positive number of steps"
            raise DiagnosticError(
                [Diagnostic("GSM4005", f"`search` does not accept `{value}` for `{name}`", help=help)]
            )
        known[name] = float(value)
    return known["steps"], known["patience"]
