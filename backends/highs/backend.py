"""HiGHS behind the backend protocol: bulk transfer of arrays, changes in place, interruptible solves."""

from __future__ import annotations

import importlib.metadata
import time
from dataclasses import replace
from functools import cache
from typing import Any

import highspy
import numpy as np
from highspy import HighsModelStatus as Raw

from gpusched_dsl.backends.highs.options import apply_options
from gpusched_dsl.backends.highs.quadratic import (
    EXACT,
    TangentPlanes,
    hessian,
    proves,
    quadratic_options,
    reduced_costs,
    tangent_bound,
)
from gpusched_dsl.backends.highs.quiet import QuietHighs
from gpusched_dsl.backends.highs.ranging import FourRanges, ranging_of
from gpusched_dsl.backends.highs.warm_resolve import Relaxations, ResolveAttempt, basis_in, set_basis
from gpusched_dsl.backends.interrupt import Control, run_stoppable
from gpusched_dsl.backends.protocol import Capabilities, Monitor, SolveOptions
from gpusched_dsl.compiling.analysis.bounds import propagate
from gpusched_dsl.compiling.convexity.quadratic_objective import QuadraticObjective
from gpusched_dsl.compiling.passes.steps import QUADRATIC_OBJECTIVE
from gpusched_dsl.ir.arrays import Floats, Int32s
from gpusched_dsl.ir.changes import Changes
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.magnitudes import largest_coefficient, largest_cost_of, largest_number
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

# How long, at least and as a multiple of the first run, a problem found infeasible is solved again without presolve.
SECOND_OPINION_SECONDS = 5.0
SECOND_OPINION = 2.0

# Beyond this count one bulk hand-over is faster than changes one by one.
MOST_SINGLE_COEFFICIENTS = 2_000

LIMITS = {
    Raw.kTimeLimit: "time",
    Raw.kInterrupt: "interrupt",
    Raw.kIterationLimit: "iterations",
    Raw.kSolutionLimit: "nodes",
    Raw.kMemoryLimit: "memory",
    Raw.kObjectiveBound: "objective",
    Raw.kObjectiveTarget: "objective",
}


@cache
def _versions() -> dict[str, str]:
    return {"HiGHS": QuietHighs().version(), "highspy": importlib.metadata.version("highspy")}


class HighsBackend:
    """Linear and mixed-integer problems, and convex quadratic objectives without integers, by HiGHS."""

    name = "highs"
    capabilities = Capabilities(
        in_place_update=True,
        carries=True,
        tightens=True,
        accepts=frozenset({QUADRATIC_OBJECTIVE}),
        nonlinear_integers=False,
    )

    def versions(self) -> dict[str, str]:
        return dict(_versions())

    def open(self, problem: Problem) -> HighsSession:
        return HighsSession(problem)


class HighsSession:
    """One problem inside one HiGHS instance."""

    def __init__(self, problem: Problem) -> None:
        self._quadratic = QuadraticObjective.of(problem)
        problem = problem if self._quadratic is None else self._quadratic.linear
        self._problem = problem
        assert not any(np.isin(problem.matrix.columns, d.results).any() for d in problem.definitions)
        self._abandoned = False  # a second Ctrl-C left the solver running: it must not be touched any more
        self._is_changed = False  # whether the problem is a changed one, and its relaxation is tried first
        self._relaxations = Relaxations()
        self._highs = QuietHighs()
        self._load(problem)

    # --- handing over -------------------------------------------------------------------------------------------

    def _load(self, problem: Problem) -> None:
        costs, offset, sense = _objective(problem)
        matrix = problem.matrix
        status = self._highs.passModel(
            problem.columns,
            problem.rows,
            matrix.nonzeros,
            int(highspy.MatrixFormat.kRowwise),
            int(sense),
            offset,
            costs,
            problem.lower,
            problem.upper,
            problem.row_lower,
            problem.row_upper,
            matrix.starts.astype(np.int32),
            matrix.columns,
            matrix.values,
            problem.integer.astype(np.int32),
        )
        if status != highspy.HighsStatus.kError and self._quadratic is not None:
            status = self._highs.passHessian(hessian(self._quadratic))
            if not problem.rows:  # `highs/quadratic.py` tells why
                self._highs.addRow(
                    -np.inf, np.inf, problem.columns, np.arange(problem.columns), np.ones(problem.columns)
                )
        if status == highspy.HighsStatus.kError:
            raise DiagnosticError([_refusal(self._highs, problem)])

    def update(self, problem: Problem) -> None:
        """Load the differences; the basis is kept, so a linear problem starts from its last optimum.

        A quadratic problem is loaded anew: HiGHS begins it from nothing.
        """
        before, self._quadratic = self._quadratic, QuadraticObjective.of(problem)
        if before is not None or self._quadratic is not None:
            self._problem = problem if self._quadratic is None else self._quadratic.linear
            self._load(self._problem)
            return
        old, self._problem = self._problem, problem
        self._is_changed = True
        highs = self._highs
        changed_values = np.flatnonzero(old.matrix.values != problem.matrix.values)
        if len(changed_values) > MOST_SINGLE_COEFFICIENTS:
            self._reload(problem)
            return
        rows, columns = problem.matrix.row_of, problem.matrix.columns
        for k in changed_values.tolist():
            highs.changeCoeff(int(rows[k]), int(columns[k]), float(problem.matrix.values[k]))
        costs, offset, sense = _objective(problem)
        old_costs, _, _ = _objective(old)
        changed = np.flatnonzero(costs != old_costs).astype(np.int32)
        highs.changeColsCost(len(changed), changed, costs[changed])
        highs.changeObjectiveOffset(offset)
        highs.changeObjectiveSense(sense)
        changed = _changed_entries(old.lower, problem.lower, old.upper, problem.upper)
        highs.changeColsBounds(len(changed), changed, problem.lower[changed], problem.upper[changed])
        changed = _changed_entries(old.row_lower, problem.row_lower, old.row_upper, problem.row_upper)
        self._change_rows(changed, problem.row_lower[changed], problem.row_upper[changed])

    def _change_rows(self, rows: Int32s, lower: Floats, upper: Floats) -> None:
        if hasattr(self._highs, "changeRowsBounds"):
            self._highs.changeRowsBounds(len(rows), rows, lower, upper)
        elif len(rows) > MOST_SINGLE_COEFFICIENTS:
            self._reload(self._problem)
        else:
            for row, low, high in zip(rows.tolist(), lower.tolist(), upper.tolist(), strict=True):
                self._highs.changeRowBounds(row, low, high)

    def add_rows(self, rows: Matrix, lower: Floats, upper: Floats) -> None:
        """Add rows behind the others of a linear problem."""
        old = self._problem
        family = Family(f"added {old.rows}", old.rows, IntervalDomain(1, rows.rows))
        self._problem = replace(
            old,
            constraints=(*old.constraints, family),
            matrix=old.matrix.with_rows_below(rows),
            row_lower=np.concatenate((old.row_lower, lower)),
            row_upper=np.concatenate((old.row_upper, upper)),
        )
        starts = rows.starts[:-1].astype(np.int32)
        self._highs.addRows(rows.rows, lower, upper, rows.nonzeros, starts, rows.columns, rows.values)

    def change_bounds(self, columns: Int32s, lower: Floats, upper: Floats) -> None:
        """Change the bounds of some columns."""
        low, high = self._problem.lower.copy(), self._problem.upper.copy()
        low[columns], high[columns] = lower, upper
        self._problem = replace(self._problem, lower=low, upper=high)
        self._highs.changeColsBounds(len(columns), columns, lower, upper)

    def _reload(self, problem: Problem) -> None:
        basis = self._highs.getBasis()
        self._load(problem)
        if basis.valid:
            self._highs.setBasis(basis)

    def carry(self, problem: Problem, changes: Changes) -> None:
        """Load a problem with other columns and rows; kept ones keep their status in the basis.

        All of it is loaded anew, which is faster than it sounds (docs/solving.md) and leaves columns in their order.
        """
        self._relaxations.adapt_to(changes)
        before, self._quadratic = self._quadratic, QuadraticObjective.of(problem)
        if before is not None or self._quadratic is not None:
            self._problem = problem if self._quadratic is None else self._quadratic.linear
            self._load(self._problem)
            return
        basis = None if self._problem.is_mip else basis_in(self._highs, self._problem)
        self._problem = problem
        self._is_changed = True
        self._load(problem)
        if basis is not None and not problem.is_mip:
            set_basis(self._highs, problem, basis.adapt_to(changes))

    def close(self) -> None:
        if not self._abandoned:
            self._highs.clear()

    # --- solving ------------------------------------------------------------------------------------------------

    def solve(self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None) -> SolverResult:
        """Solve; raises DiagnosticError for an unknown option and when HiGHS ends with an error."""
        began = time.perf_counter()
        apply_options(self._highs, options, self._problem)
        control = Control()
        self._limit_to_rest(control, options)
        if self._quadratic is not None:
            found = self._solve_quadratic(self._quadratic, control, monitor, options)
            return replace(found, solve_seconds=time.perf_counter() - began)
        if self._is_changed and self._problem.is_mip and self._problem.objectives and self._relaxations.worth_trying():
            answer, start = self._try_relaxation(control, monitor, options, start)
            if answer is not None:
                return replace(answer, solve_seconds=time.perf_counter() - began)
        without = time.perf_counter()
        if start is not None and self._problem.is_mip:
            self._highs.setSolution(len(start), np.arange(len(start), dtype=np.int32), start)
        self._run(control, monitor)
        status = self._highs.getModelStatus()
        if status in (Raw.kUnknown, Raw.kSolveError, Raw.kPresolveError, Raw.kPostsolveError):
            status = self._run_again(control, monitor, options, "presolve", "off")
        if status == Raw.kInfeasible:
            status = self._second_opinion(control, monitor, options)
        answer = self._answer(status)
        if start is not None and answer.status is Status.OPTIMAL and _without_work(answer):
            answer = self._solve_without_start(answer, control, monitor, options)
        if status == Raw.kUnboundedOrInfeasible or (self._problem.is_mip and status == Raw.kUnbounded):
            answer = SolverResult(self._decide_unbounded(control, monitor, options))
        self._relaxations.last_seconds = time.perf_counter() - without
        return replace(answer, solve_seconds=time.perf_counter() - began)

    def _solve_quadratic(
        self, quadratic: QuadraticObjective, control: Control, monitor: Monitor | None, options: SolveOptions
    ) -> SolverResult:
        """Solve a quadratic problem: where HiGHS does not prove its point, by linear programs."""
        highs = self._highs
        for name, value in quadratic_options(self._problem).items():
            if name not in options.extra:
                highs.setOptionValue(name, value)
        self._run(control, monitor)
        near: Floats | None = None
        if self._has_point():
            solution = highs.getSolution()
            near, duals = np.array(solution.col_value), np.array(solution.row_dual)[: self._problem.rows]
            value = quadratic.value(near)
            bound = tangent_bound(quadratic, propagate(quadratic.linear), near, duals) if solution.dual_valid else None
            if bound is not None and proves(quadratic, bound, value):
                statistics = {"nodes": 0.0, "iterations": float(max(highs.getInfo().qp_iteration_count, 0))}
                costs = reduced_costs(quadratic, near, duals)
                return SolverResult(
                    Status.OPTIMAL, quadratic.full(near), value, bound, duals, costs, statistics=statistics
                )
            reason = LIMITS.get(highs.getModelStatus(), "")
            if reason in ("time", "interrupt"):
                return SolverResult(Status.LIMIT, quadratic.full(near), value, reason=reason)

        def rest() -> SolveOptions:
            limit = options.time_limit
            left = None if limit is None else max(0.0, limit - control.seconds)
            return replace(options, time_limit=left, tight=True, extra=EXACT)

        return TangentPlanes(quadratic, HighsSession, rest, monitor).solve(near)

    def _try_relaxation(
        self, control: Control, monitor: Monitor | None, options: SolveOptions, start: Floats | None
    ) -> tuple[SolverResult | None, Floats | None]:
        """The answer where the relaxation proves one, else None; and a start that may be better (`highs_again`)."""
        highs, rest = self._highs, self._relaxations

        allowed = np.inf if options.time_limit is None else max(0.0, options.time_limit - control.seconds)
        until = control.seconds + rest.limit(allowed)

        def remaining_seconds() -> float:
            return max(0.0, until - control.seconds)

        def relax() -> None:
            highs.setOptionValue("solve_relaxation", True)
            self._limit_to(remaining_seconds(), branches=False)
            self._run(control, monitor, relaxed=True)
            highs.setOptionValue("solve_relaxation", False)
            highs.setOptionValue("time_limit", np.inf)
            self._limit_to_rest(control, options)

        def solve_other(problem: Problem, options: SolveOptions) -> SolverResult:
            session = HighsSession(problem)
            try:
                answer = session.solve(replace(options, time_limit=remaining_seconds()), None, monitor)
                control.stop_requested = control.stop_requested or answer.reason == "interrupt"
                return answer
            finally:
                session.close()

        answer, start = ResolveAttempt(highs, self._problem, rest, options, relax, solve_other).answer(start)
        rest.record(answer is not None)
        return answer, start

    def _run(self, control: Control, monitor: Monitor | None, relaxed: bool = False) -> None:
        highs = self._highs
        is_mip = self._problem.is_mip and not relaxed

        def look(event: Any) -> None:
            event.interrupt(control.stop_requested)  # said every time: HiGHS remembers it from one run to the next
            if control.wants_progress and not control.stop_requested:
                seen = event.data_out
                if is_mip:
                    control.report(_finite(seen.mip_primal_bound), _finite(seen.mip_dual_bound), seen.mip_node_count)
                else:
                    control.report(None, None)

        def work() -> None:
            try:
                highs.run()
            finally:
                # The scheduler belongs to this thread and fixes the number of threads when it starts.
                QuietHighs.resetGlobalScheduler(False)

        callbacks = (highs.cbSimplexInterrupt, highs.cbIpmInterrupt, highs.cbMipInterrupt)
        for callback in callbacks:
            callback.subscribe(look)
        try:
            run_stoppable(work, control, monitor)
        except KeyboardInterrupt:
            self._abandoned = True
            raise
        finally:
            for callback in () if self._abandoned else callbacks:
                callback.unsubscribe(look)

    def _second_opinion(self, control: Control, monitor: Monitor | None, options: SolveOptions) -> Any:
        """Ask again without presolve before a problem is called infeasible.

        Presolve of HiGHS 1.7 to 1.15 has called feasible problems infeasible (tests/conformance has two). The second
        run gets `SECOND_OPINION` times the time of the first; where that does not suffice the first word stands.
        """
        given = max(SECOND_OPINION_SECONDS, SECOND_OPINION * control.seconds)
        if options.time_limit is not None:
            given = min(given, options.time_limit - control.seconds)
        if given <= 0 or control.stop_requested:
            return Raw.kInfeasible
        options = replace(options, time_limit=control.seconds + given)
        second = self._run_again(control, monitor, options, "presolve", "off")
        unbounded = second in (Raw.kUnbounded, Raw.kUnboundedOrInfeasible)
        return second if unbounded or self._has_point() else Raw.kInfeasible

    def _solve_without_start(
        self, first: SolverResult, control: Control, monitor: Monitor | None, options: SolveOptions
    ) -> SolverResult:
        """Solve once more without the start, which HiGHS called optimal without a linear program or a node.

        Where presolve leaves no costs, HiGHS 1.15.1 takes the costs of the start for the bound, although presolve may
        have fixed columns at other values than the start (tests/conformance has one). Without its start such a problem
        takes no time. Where the second run proves nothing, the start is a point without a bound.
        """
        self._highs.clearSolver()
        self._limit_to_rest(control, options)
        self._run(control, monitor)
        second = self._highs.getModelStatus()
        if second == Raw.kInfeasible:  # although the start is feasible
            second = self._second_opinion(control, monitor, options)
        if second == Raw.kOptimal:
            return self._answer(second)
        return replace(first, status=Status.LIMIT, bound=None, reason=LIMITS.get(second, "accuracy"))

    def _run_again(
        self, control: Control, monitor: Monitor | None, options: SolveOptions, option: str, value: str
    ) -> Any:
        """Solve once more with another option, within the remaining time."""
        self._limit_to_rest(control, options)
        previous = self._highs.getOptionValue(option)[1]
        self._highs.setOptionValue(option, value)
        self._run(control, monitor)
        self._highs.setOptionValue(option, previous)
        return self._highs.getModelStatus()

    def _limit_to_rest(self, control: Control, options: SolveOptions) -> None:
        if options.time_limit is not None:
            self._limit_to(max(0.0, options.time_limit - control.seconds), self._problem.is_mip)

    def _limit_to(self, seconds: float, branches: bool) -> None:
        """Limit the next run. The clock of linear runs continues between runs, that of other runs restarts."""
        before = 0.0 if branches else self._highs.getRunTime()
        self._highs.setOptionValue("time_limit", before + seconds)

    def _decide_unbounded(self, control: Control, monitor: Monitor | None, options: SolveOptions) -> Status:
        """Distinguish the two: without costs the problem is feasible or not.

        HiGHS has shown that the relaxation is unbounded (or that nothing is feasible); a feasible point then makes the
        problem unbounded, as its data are rational.
        """
        costs, _, _ = _objective(self._problem)
        columns = np.arange(len(costs), dtype=np.int32)
        self._limit_to_rest(control, options)
        self._highs.changeColsCost(len(costs), columns, np.zeros(len(costs)))
        self._run(control, monitor)
        status = self._highs.getModelStatus()
        if status == Raw.kInfeasible:
            status = self._second_opinion(control, monitor, options)
        self._highs.changeColsCost(len(costs), columns, costs)
        if status == Raw.kOptimal:
            return Status.UNBOUNDED
        return Status.INFEASIBLE if status == Raw.kInfeasible else Status.INFEASIBLE_OR_UNBOUNDED

    def ranging(self) -> FourRanges | None:
        """Return the ranges of costs and sides after an optimal solve of a linear problem, as `ranging_of`."""
        if self._quadratic is not None:
            return None
        return ranging_of(self._highs, self._problem.columns, self._problem.rows)

    def _has_point(self) -> bool:
        feasible = highspy.SolutionStatus.kSolutionStatusFeasible
        return bool(self._highs.getInfo().primal_solution_status == feasible)

    def _answer(self, status: Any) -> SolverResult:
        highs, problem = self._highs, self._problem
        info = highs.getInfo()
        statistics = {
            "nodes": float(max(info.mip_node_count, 0)),
            "iterations": float(max(info.simplex_iteration_count, 0) + max(info.ipm_iteration_count, 0)),
        }
        if status == Raw.kInfeasible:
            return SolverResult(Status.INFEASIBLE, statistics=statistics)
        if status == Raw.kUnbounded:
            return SolverResult(Status.UNBOUNDED, statistics=statistics)
        if status == Raw.kUnboundedOrInfeasible:
            return SolverResult(Status.INFEASIBLE_OR_UNBOUNDED, statistics=statistics)
        optimal = status == Raw.kOptimal
        if not optimal and status not in LIMITS:
            raise DiagnosticError([_failure(highs.modelStatusToString(status), self._problem)])
        bound = _finite(info.mip_dual_bound) if problem.is_mip else None
        if not self._has_point():
            if optimal:
                raise DiagnosticError([_failure("optimal, but without a feasible point", self._problem)])
            return SolverResult(Status.LIMIT, bound=bound, reason=LIMITS[status], statistics=statistics)
        solution = highs.getSolution()
        objective = float(info.objective_function_value)
        linear = optimal and not problem.is_mip
        return SolverResult(
            Status.OPTIMAL if optimal else Status.LIMIT,
            values=np.array(solution.col_value),
            objective=objective,
            bound=objective if linear else bound,
            row_duals=np.array(solution.row_dual) if linear and solution.dual_valid else None,
            reduced_costs=np.array(solution.col_dual) if linear and solution.dual_valid else None,
            reason="" if optimal else LIMITS[status],
            statistics=statistics,
        )


def _without_work(answer: SolverResult) -> bool:
    return not answer.statistics["nodes"] and not answer.statistics["iterations"]


def _objective(problem: Problem) -> tuple[Floats, float, highspy.ObjSense]:
    if not problem.objectives:
        return np.zeros(problem.columns), 0.0, highspy.ObjSense.kMinimize
    objective = problem.objectives[0]
    sense = highspy.ObjSense.kMaximize if objective.sense == "maximize" else highspy.ObjSense.kMinimize
    return objective.costs(problem.columns), objective.offset, sense


def _changed_entries(old_lower: Floats, lower: Floats, old_upper: Floats, upper: Floats) -> Int32s:
    return np.flatnonzero((old_lower != lower) | (old_upper != upper)).astype(np.int32)


def _finite(value: float) -> float | None:
    """A bound or objective, None while it is still infinite."""
    return float(value) if np.isfinite(value) else None


def _refusal(highs: highspy.Highs, problem: Problem) -> Diagnostic:
    largest, where, span = largest_coefficient(problem)
    limit = float(highs.getOptionValue("large_matrix_value")[1])
    note = f"the largest coefficient is {largest:g}, of {where}; HiGHS accepts less than {limit:g}"
    help = "state the data in larger units, so that numbers stay within a few powers of ten of 1"
    notes: tuple[str, ...] = (note,)
    place = span if largest >= limit else None
    cost, column, objective = largest_cost_of(problem)
    if cost >= limit:
        notes, place = (*notes, f"the largest cost is {cost:g}, of {column}"), place or objective
    return Diagnostic("GSM4006", "HiGHS rejected the problem", place, notes=notes, help=help)


def _failure(what: str, problem: Problem) -> Diagnostic:
    help = "numbers of very different size are the usual cause; try other units, or another backend"
    largest, where, span = largest_number(problem)
    note = f"the largest number is {largest:g}, of {where}"
    return Diagnostic("GSM4007", f"HiGHS ended without a result: {what}", span, notes=(note,), help=help)
