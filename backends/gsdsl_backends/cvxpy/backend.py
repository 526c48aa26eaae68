"""CVXPY behind the backend protocol: convex problems, compiled once and solved again with other numbers.

CVXPY takes seconds to load. It is loaded for nonlinear problems, which run on Clarabel, and where the option `solver`
names a solver that CVXPY knows. Linear problems, with or without integers, go to HiGHS as they are.
"""

from __future__ import annotations

import importlib.metadata
import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.passes.steps import CONVEX_FORMS, QUADRATIC_OBJECTIVE
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.changes import Changes
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status, relative_gap
from gsdsl_backends.cvxpy.halves import needed_halves
from gsdsl_backends.highs.session import HighsSession
from gsdsl_backends.protocol import Capabilities, Monitor, SolveOptions, SolverProgress
from gsdsl_backends.scip.unboundedness import escapes, may_be_unbounded

if TYPE_CHECKING:
    from gsdsl_backends.cvxpy.formulation import CvxpyFormulation
    from gsdsl_backends.cvxpy.runner import Runner

# As `cvxpy.terms.TAKEN`, which cannot be imported before CVXPY, and its quadratic objectives.
ACCEPTS = frozenset({"power", "exp", "log", QUADRATIC_OBJECTIVE}) | CONVEX_FORMS
# Limits of ours: the point is one of many on the way.
INTERRUPTED = frozenset({"time", "interrupt"})
DEFAULT_LINEAR, DEFAULT_CONIC = "highs", "clarabel"


@cache
def _versions() -> dict[str, str]:
    packages = {"CVXPY": "cvxpy", "Clarabel": "clarabel", "highspy": "highspy"}
    return {name: importlib.metadata.version(package) for name, package in packages.items()}


class CvxpyBackend:
    """Convex problems by CVXPY; with integers only linear ones."""

    name = "cvxpy"
    capabilities = Capabilities(
        in_place_update=True,
        carries=True,
        threads=False,
        accepts=ACCEPTS,
        convex=True,
        nonlinear_integers=False,
        tightens=True,
    )

    def versions(self) -> dict[str, str]:
        return dict(_versions())

    def open(self, problem: Problem) -> CvxpySession:
        return CvxpySession(problem)


class CvxpySession:
    """One problem, compiled by CVXPY or loaded into HiGHS as solves ask for it."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._model: CvxpyFormulation | None = None
        self._runner: Runner | None = None
        self._highs: HighsSession | None = None
        if problem.is_linear:
            self._highs = HighsSession(problem)
        else:
            self._compile()

    def update(self, problem: Problem) -> None:
        """Load new numbers; recompile if a side or bound appears, disappears, or meets its opposite.

        Large problems are always compiled anew, which is faster than to compile them with parameters.
        """
        self._problem = problem
        if self._highs is not None:
            self._highs.update(problem)
        if self._model is not None and not self._model.load(problem, needed_halves(problem)):
            self._model = None

    def carry(self, problem: Problem, changes: Changes) -> None:
        """Pass a linear problem with other columns and rows to HiGHS with its basis; CVXPY recompiles it."""
        self._problem, self._model = problem, None
        if self._highs is not None:
            self._highs.carry(problem, changes)

    def close(self) -> None:
        if self._highs is not None:
            self._highs.close()
        self._highs = self._model = self._runner = None

    def solve(self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None) -> SolverResult:
        """Solve; raises DiagnosticError for an unknown option and when the solver ends without an answer."""
        began = time.perf_counter()
        default = DEFAULT_LINEAR if self._problem.is_linear else DEFAULT_CONIC
        name = str(options.extra.get("solver", default)).lower()
        options = structs.replace(options, extra={n: v for n, v in options.extra.items() if n != "solver"})
        if name == DEFAULT_LINEAR and self._problem.is_linear:
            self._highs = self._highs or HighsSession(self._problem)
            return self._highs.solve(options, start, monitor)
        with silence():
            from gsdsl_backends.cvxpy.runner import runner_named

            if self._runner is None or self._runner.name != name.upper():
                self._runner = runner_named(name)
            answer = self._answer(self._compile(), self._runner, options, monitor)
            if self._escapes(answer):
                answer = SolverResult(Status.UNBOUNDED, statistics=answer.statistics)
            if answer.status is Status.INFEASIBLE_OR_UNBOUNDED:
                limit = options.time_limit
                rest = None if limit is None else max(0.0, limit - (time.perf_counter() - began))
                status = self._decide_unbounded(self._runner, structs.replace(options, time_limit=rest), monitor)
                answer = structs.replace(answer, status=status)
        return structs.replace(answer, solve_seconds=time.perf_counter() - began)

    def _compile(self) -> CvxpyFormulation:
        if self._model is None:
            with silence():
                from gsdsl_backends.cvxpy.formulation import CvxpyFormulation

                self._model = CvxpyFormulation(self._problem, needed_halves(self._problem))
        return self._model

    def _answer(
        self, model: CvxpyFormulation, runner: Runner, options: SolveOptions, monitor: Monitor | None
    ) -> SolverResult:
        """Return the solver's result in terms of the problem, which may be a maximisation."""
        from gsdsl_backends.cvxpy.runner import ACCURACY, Request

        problem = self._problem
        objective = problem.objectives[0] if problem.objectives else None
        sign = -1.0 if objective is not None and objective.sense == "maximize" else 1.0
        offset = 0.0 if objective is None else objective.offset
        watcher = monitor if monitor is None or sign > 0 else NegatedMonitor(monitor)
        answer = runner.run(model.problem, Request(options, watcher, sign * offset))
        bound = None if answer.bound is None else sign * answer.bound
        if model.x.value is None or answer.status not in (Status.OPTIMAL, Status.LIMIT):
            return structs.replace(answer, bound=bound)
        values = model.full(np.asarray(model.x.value, dtype=np.float64).reshape(-1))
        value = 0.0 if objective is None else objective.value(values)
        if answer.reason == "accuracy" and bound is not None and relative_gap(value, bound) <= options.gap:
            answer = structs.replace(answer, status=Status.OPTIMAL, reason="")
        proved = answer.status is Status.OPTIMAL
        if bound is None and proved:
            # A point that is repaired afterwards may be better than the solver's own by as much as that is wrong.
            bound = value - sign * ACCURACY.get(runner.name, 0.0) * max(1.0, abs(value))
        duals = model.duals(problem) if proved and not problem.is_mip else None
        return structs.replace(
            answer,
            values=values,
            objective=value,
            bound=bound,
            row_duals=None if duals is None else duals[0],
            reduced_costs=None if duals is None else duals[1],
        )

    def _escapes(self, answer: SolverResult) -> bool:
        """Whether the solver ended, somewhere far out, on the way to better and better points."""
        if answer.values is None or answer.reason in INTERRUPTED or not np.isfinite(answer.values).all():
            return False
        return may_be_unbounded(self._problem, has_poles=True) and escapes(self._problem, answer.values)

    def _decide_unbounded(self, runner: Runner, options: SolveOptions, monitor: Monitor | None) -> Status:
        """Distinguish the two: a solver that proves the dual infeasible does not decide whether a point exists."""
        from gsdsl_backends.cvxpy.formulation import CvxpyFormulation
        from gsdsl_backends.cvxpy.runner import Request

        feasibility = CvxpyFormulation(replace(self._problem, objectives=()), needed_halves(self._problem))
        status = runner.run(feasibility.problem, Request(options, monitor)).status
        decided = {Status.OPTIMAL: Status.UNBOUNDED, Status.INFEASIBLE: Status.INFEASIBLE}
        return decided.get(status, Status.INFEASIBLE_OR_UNBOUNDED)


class NegatedMonitor:
    """Passes on the progress of a problem with a negated objective."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor

    def progress(self, progress: SolverProgress) -> None:
        objective, bound = (None if v is None else -v for v in (progress.objective, progress.bound))
        self._monitor.progress(structs.replace(progress, objective=objective, bound=bound))

    @property
    def stop_requested(self) -> bool:
        return self._monitor.stop_requested


@contextmanager
def silence() -> Iterator[None]:
    """Without CVXPY's warnings and log lines, which are about its own workings."""
    logger = logging.getLogger("__cvxpy__")
    logger.addFilter(_is_error)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.removeFilter(_is_error)


def _is_error(record: logging.LogRecord) -> bool:
    return record.levelno > logging.WARNING
