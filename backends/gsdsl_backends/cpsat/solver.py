"""CP-SAT in the process that has it: a problem in integers as the text of a model, its solves, and their results.

The binding of OR-Tools takes constraints one by one, or all of them as text; text is faster.
"""

from __future__ import annotations

import time

import numpy as np
from ortools.sat.python.cp_model_helper import (
    CpModelProto,
    CpSatHelper,
    CpSolverResponse,
    CpSolverStatus,
    SolutionCallback,
    SolveWrapper,
)

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.definitions import Conditions
from gpusched_dsl.ir.magnitudes import largest_cost
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status, relative_gap
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.cpsat.backend import CAPABILITIES, CpsatBackend
from gsdsl_backends.cpsat.finite_bounds import finite_bounds
from gsdsl_backends.cpsat.grid import grid_steps
from gsdsl_backends.cpsat.integer_form import IntegerCosts, IntegerForm, IntegerRows, integer_form
from gsdsl_backends.cpsat.intervals import IntervalText
from gsdsl_backends.cpsat.options import parameters_of
from gsdsl_backends.interrupt import Control, run_stoppable
from gsdsl_backends.protocol import Monitor, Session, SolveOptions

LEAST, MOST = -(2**63), 2**63 - 1  # sides that say nothing


class CpsatSolver:
    """The backend as its own process sees it."""

    name = CpsatBackend.name
    capabilities = CAPABILITIES

    def versions(self) -> dict[str, str]:
        raise NotImplementedError  # the other process knows

    def open(self, problem: Problem) -> Session:
        return CpsatSession(problem)


class CpsatSession(Session):
    """One problem as the text of a model; None if its bounds cross."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._form: IntegerForm | None = None
        steps = grid_steps(problem)
        bounds = finite_bounds(problem)
        if bounds is None:
            return
        form = integer_form(problem, steps, *bounds)
        if (form.lower > form.upper).any():
            return
        self._form = form
        self._model = CpModelProto()
        if not self._model.parse_text_format(_text_of(problem, form)):
            raise AssertionError("CP-SAT cannot read the text of a model")
        wrong = CpSatHelper.validate_model(self._model)
        if wrong:
            message = f"CP-SAT rejected the problem: {wrong.splitlines()[0]}"
            help = "numbers of very different size are the usual cause; try other units, or another backend"
            raise DiagnosticError([Diagnostic("GSM4006", message, help=help)])
        self._largest_cost = largest_cost(problem.objectives[0].costs(problem.columns)) if problem.objectives else 0.0

    def close(self) -> None:
        """Nothing outlasts the objects."""

    def solve(self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None) -> SolverResult:
        """Solve; raises DiagnosticError (GSM4004, GSM4005) for wrong options."""
        began = time.perf_counter()
        parameters = parameters_of(options)
        if self._form is None:
            return SolverResult(Status.INFEASIBLE)
        model = CpModelProto()
        model.copy_from(self._model)
        if start is not None:
            model.merge_text_format(_hint(self._form, start))
        control, solver = Control(), SolveWrapper()
        solver.set_parameters(parameters)
        watch = _Watch(self._form, self._largest_cost, options.gap, control, solver)
        solver.add_solution_callback(watch)
        solver.add_best_bound_callback(watch.on_bound)
        found: list[CpSolverResponse] = []

        def work() -> None:
            found.append(solver.solve(model))  # type: ignore[no-untyped-call]

        run_stoppable(work, control, monitor, solver.stop_search)
        solver.clear_solution_callback(watch)
        reason = "interrupt" if control.stop_requested else _limit(found[0], options)
        return self._result(found[0], reason, watch, time.perf_counter() - began)

    def _result(self, response: CpSolverResponse, reason: str, watch: _Watch, seconds: float) -> SolverResult:
        form = self._form
        assert form is not None
        counts = {"nodes": float(response.num_branches), "iterations": float(response.num_conflicts)}
        status = response.status
        if status == CpSolverStatus.INFEASIBLE:
            return SolverResult(Status.INFEASIBLE, solve_seconds=seconds, statistics=counts)
        if status == CpSolverStatus.MODEL_INVALID:
            message = f"CP-SAT ended without a result: {response.solution_info or 'invalid model'}"
            raise DiagnosticError([Diagnostic("GSM4007", message, help="try other options, or another backend")])
        optimal = status == CpSolverStatus.OPTIMAL
        known = status != CpSolverStatus.UNKNOWN
        bound = watch.bound_of(response.best_objective_bound) if form.costs is not None else None
        if not known:
            return SolverResult(Status.LIMIT, bound=bound, reason=reason, solve_seconds=seconds, statistics=counts)
        values = _values(response, form.steps)
        objective = self._problem.objectives[0].value(values) if form.costs is not None else None
        close = objective is not None and bound is not None and watch.is_close(objective, bound)
        solved = optimal or close
        return SolverResult(
            Status.OPTIMAL if solved else Status.LIMIT, values, objective, bound,
            reason="" if solved else reason, solve_seconds=seconds, statistics=counts,
        )  # fmt: skip


def _values(response: CpSolverResponse, steps: Floats) -> Floats:
    """The values of the columns; other variables follow them."""
    return np.array(list(response.solution)[: len(steps)], dtype=np.float64) * steps


# Parameters that end a run, and what it is then said to have reached.
LIMITS = {
    "stop_after_first_solution": "solutions",
    "max_memory_in_mb": "memory",
    "max_number_of_conflicts": "nodes",
    "max_deterministic_time": "nodes",
}


def _limit(response: CpSolverResponse, options: SolveOptions) -> str:
    """Which limit ended a run that was not stopped from outside: CP-SAT does not say."""
    named = [reason for name, reason in LIMITS.items() if name in options.extra]
    if options.time_limit is None or (named and response.wall_time < 0.9 * options.time_limit):
        return named[0] if named else "nodes"
    return "time"


class _Watch(SolutionCallback):
    """Reports incumbents and bounds while CP-SAT works, and stops it at the gap that was asked for."""

    def __init__(
        self, form: IntegerForm, largest_cost: float, gap: float, control: Control, solver: SolveWrapper
    ) -> None:
        super().__init__()
        self._steps, self._costs, self._largest_cost, self._gap = form.steps, form.costs, largest_cost, gap
        self._control, self._solver = control, solver
        self._objective: float | None = None
        self._bound: float | None = None

    def OnSolutionCallback(self) -> None:
        """Called at every better point."""
        if self._costs is not None:
            self._objective = self._costs.offset + self._costs.unit * self.ObjectiveValue()
            self._bound = self.bound_of(self.BestObjectiveBound())
        if self._control.exchanges:
            self._control.improve(_values(self.Response(), self._steps))  # type: ignore[no-untyped-call]
        self._look()

    def on_bound(self, bound: float) -> None:
        """Called at every better bound."""
        self._bound = self.bound_of(bound)
        self._look()

    def bound_of(self, integer_bound: float) -> float | None:
        """The bound of the objective; None while there is none."""
        costs = self._costs
        if costs is None or not abs(integer_bound) < 2.0**62:
            return None
        return costs.offset + costs.unit * integer_bound - (costs.error if costs.minimizes else -costs.error)

    def is_close(self, objective: float, bound: float) -> bool:
        return relative_gap(objective, bound, self._largest_cost) <= self._gap

    def _look(self) -> None:
        if self._control.wants_progress:
            self._control.report(self._objective, self._bound)
        if self._objective is not None and self._bound is not None and self.is_close(self._objective, self._bound):
            self._solver.stop_search()


# --- text ------------------------------------------------------------------------------------------------------------


def _text_of(problem: Problem, form: IntegerForm) -> str:
    """A model in the text format of `cp_model.proto`."""
    variables = [
        f"variables{{domain:[{a}, {b}]}}" for a, b in zip(form.lower.tolist(), form.upper.tolist(), strict=True)
    ]
    rows = _rows(form.rows, form.conditions)
    more = IntervalText(form.steps, form.lower, form.upper, len(variables), len(rows))
    more.add_definitions(problem)
    return "\n".join([*variables, *more.variables, *rows, *more.lines, _objective(form.costs)])


def _rows(rows: IntegerRows, conditions: Conditions) -> list[str]:
    literals = [""] * len(rows.lower)
    for row, column, value in zip(
        conditions.rows.tolist(), conditions.columns.tolist(), conditions.values.tolist(), strict=True
    ):
        literals[row] = f"enforcement_literal:{column if value else -column - 1} "
    starts, columns, values = rows.starts.tolist(), rows.columns.tolist(), rows.values.tolist()
    lower = np.where(rows.below, rows.lower, LEAST).tolist()
    upper = np.where(rows.above, rows.upper, MOST).tolist()
    return [  # a row whose sides cross is false: a clause without literals
        f"constraints{{{literal}linear{{vars:{columns[a:b]} coeffs:{values[a:b]} domain:[{low}, {high}]}}}}"
        if low <= high
        else f"constraints{{{literal}bool_or{{}}}}"
        for literal, a, b, low, high in zip(literals, starts[:-1], starts[1:], lower, upper, strict=True)
    ]


def _objective(costs: IntegerCosts | None) -> str:
    """CP-SAT minimises; with `scaling_factor` -1 it reports values of what is maximised."""
    if costs is None:
        return ""
    sign = 1 if costs.minimizes else -1
    scale = "" if costs.minimizes else " scaling_factor:-1"
    return f"objective{{vars:{costs.columns.tolist()} coeffs:{(sign * costs.values).tolist()}{scale}}}"


def _hint(form: IntegerForm, start: Floats) -> str:
    values = np.clip(np.rint(start / form.steps), form.lower, form.upper).astype(np.int64)
    return f"solution_hint{{vars:{list(range(len(values)))} values:{values.tolist()}}}"
