"""A problem inside HiGHS: loading, changes in place, solves."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from highspy import HighsModelStatus as Raw
from msgspec import structs

from gpusched_dsl.compiling.analysis.bounds import propagate
from gpusched_dsl.compiling.convexity.quadratic_objective import QuadraticObjective
from gpusched_dsl.ir.arrays import Floats, Int32s
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gsdsl_backends.highs.loading import load, load_changes
from gsdsl_backends.highs.options import apply_options
from gsdsl_backends.highs.quiet import QuietHighs
from gsdsl_backends.highs.results import LIMITS, has_point, result_of
from gsdsl_backends.highs.run import HighsRun, limit_to
from gsdsl_backends.interrupt import SolverOverran
from gsdsl_backends.protocol import Monitor, SolveOptions

if TYPE_CHECKING:
    from gpusched_dsl.ir.changes import Changes
    from gsdsl_backends.highs.ranging import FourRanges
    from gsdsl_backends.highs.warm_resolve import Relaxations


class HighsSession:
    """One problem inside one HiGHS instance."""

    def __init__(self, problem: Problem) -> None:
        self._quadratic = QuadraticObjective.of(problem)
        self._problem = problem if self._quadratic is None else self._quadratic.linear
        assert not any(np.isin(self._problem.matrix.columns, d.results).any() for d in self._problem.definitions)
        self._abandoned = False  # a second Ctrl-C left the solver running: it must not be touched any more
        self._is_changed = False  # whether the problem is a changed one, and its relaxation is tried first
        self._last_seconds = 0.0  # that the last solve took, without a relaxation first
        self._highs = QuietHighs()
        load(self._highs, self._problem, self._quadratic)
        self._is_loaded = True  # False: the problem is loaded when HiGHS needs all of it

    @cached_property
    def _relaxations(self) -> Relaxations:
        from gsdsl_backends.highs.warm_resolve import Relaxations

        return Relaxations()

    def update(self, problem: Problem) -> None:
        """Load the differences; the basis is kept, so a linear problem starts from its last optimum.

        A problem with integers is loaded later: most often a part of its relaxation is enough.
        """
        if self._load_quadratic(problem):
            return
        old, self._problem = self._problem, problem
        self._is_changed = True
        if problem.is_mip:
            self._is_loaded = False
        else:
            load_changes(self._highs, old, problem)

    def carry(self, problem: Problem, changes: Changes) -> None:
        """Load a problem with other columns and rows; kept ones keep their status in the basis.

        All of it is loaded anew, which is faster than it sounds (see solving.md) and leaves columns in their order.
        """
        from gsdsl_backends.highs.restricted_relaxation import basis_in, set_basis

        self._relaxations.adapt_to(changes)
        if self._load_quadratic(problem):
            return
        basis = None if self._problem.is_mip else basis_in(self._highs, self._problem)
        self._problem = problem
        self._is_changed = True
        self._is_loaded = False
        if problem.is_mip:
            return
        self._load()
        if basis is not None:
            set_basis(self._highs, problem, basis.adapt_to(changes))

    def _load_quadratic(self, problem: Problem) -> bool:
        """Load a problem anew if it is quadratic, or the last one was: HiGHS begins it from nothing."""
        before, self._quadratic = self._quadratic, QuadraticObjective.of(problem)
        if before is None and self._quadratic is None:
            return False
        self._problem = problem if self._quadratic is None else self._quadratic.linear
        load(self._highs, self._problem, self._quadratic)
        self._is_loaded = True
        return True

    def _load(self) -> None:
        """Load the problem unless it is loaded."""
        if not self._is_loaded:
            load(self._highs, self._problem)
            self._is_loaded = True

    def add_rows(self, rows: Matrix, lower: Floats, upper: Floats) -> None:
        """Add rows behind the others of a linear problem."""
        self._load()
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
        self._load()
        low, high = self._problem.lower.copy(), self._problem.upper.copy()
        low[columns], high[columns] = lower, upper
        self._problem = replace(self._problem, lower=low, upper=high)
        self._highs.changeColsBounds(len(columns), columns, lower, upper)

    def close(self) -> None:
        if not self._abandoned:
            self._highs.clear()

    def ranging(self) -> FourRanges | None:
        """Return the ranges of costs and sides after an optimal solve of a linear problem, as `ranging_of`."""
        from gsdsl_backends.highs.ranging import ranging_of

        if self._quadratic is not None:
            return None
        return ranging_of(self._highs, self._problem.columns, self._problem.rows)

    def solve(self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None) -> SolverResult:
        """Solve; raises DiagnosticError for an unknown option and when HiGHS ends with an error."""
        began = time.perf_counter()
        apply_options(self._highs, options, self._problem)
        run = HighsRun(self._highs, self._problem, options, monitor)
        run.limit_to_rest()
        try:
            found = (
                self._solve_linear(run, start) if self._quadratic is None else _solve_quadratic(self._quadratic, run)
            )
        finally:
            self._abandoned = self._abandoned or run.abandoned
        return structs.replace(found, solve_seconds=time.perf_counter() - began)

    def _solve_linear(self, run: HighsRun, start: Floats | None) -> SolverResult:
        highs, problem = self._highs, self._problem
        if self._is_changed and problem.is_mip and problem.objectives and self._relaxations.worth_trying():
            self._is_loaded = False
            result, start = _try_relaxation(run, self._relaxations, self._last_seconds, start)
            if result is not None:
                return result
        self._load()
        without = time.perf_counter()
        if start is not None and problem.is_mip:
            highs.setSolution(len(start), np.arange(len(start), dtype=np.int32), start)
        run.run()
        status = highs.getModelStatus()
        if status in (Raw.kUnknown, Raw.kSolveError, Raw.kPresolveError, Raw.kPostsolveError):
            status = run.run_without_presolve()
        if status == Raw.kInfeasible:
            from gsdsl_backends.highs.second_opinions import confirm_infeasible

            try:
                status = confirm_infeasible(run)
            except SolverOverran:  # the first status stands; nothing may be read from HiGHS any more
                return SolverResult(Status.INFEASIBLE)
        result = result_of(highs, problem, status)
        if start is not None and problem.is_mip:
            from gsdsl_backends.highs.second_opinions import is_doubtful_after_start, solve_without_start

            if is_doubtful_after_start(problem, result):
                result = solve_without_start(run, result)
        if status == Raw.kUnboundedOrInfeasible or (problem.is_mip and status == Raw.kUnbounded):
            from gsdsl_backends.highs.second_opinions import unbounded_or_infeasible

            result = SolverResult(unbounded_or_infeasible(run))
        self._last_seconds = time.perf_counter() - without
        return result


def _solve_quadratic(quadratic: QuadraticObjective, run: HighsRun) -> SolverResult:
    """Solve a quadratic problem: where HiGHS does not prove its point, by linear programs."""
    from gsdsl_backends.highs.quadratic import (
        EXACT,
        TangentPlanes,
        proves,
        quadratic_options,
        reduced_costs,
        tangent_bound,
    )

    highs, problem, options = run.highs, run.problem, run.options
    for name, value in quadratic_options(problem).items():
        if name not in options.extra:
            highs.setOptionValue(name, value)
    run.run()
    near: Floats | None = None
    if has_point(highs):
        solution = highs.getSolution()
        near, duals = np.array(solution.col_value), np.array(solution.row_dual)[: problem.rows]
        value = quadratic.value(near)
        bound = tangent_bound(quadratic, propagate(quadratic.linear), near, duals) if solution.dual_valid else None
        if bound is not None and proves(quadratic, bound, value):
            statistics = {"nodes": 0.0, "iterations": float(max(highs.getInfo().qp_iteration_count, 0))}
            costs = reduced_costs(quadratic, near, duals)
            return SolverResult(Status.OPTIMAL, quadratic.full(near), value, bound, duals, costs, statistics=statistics)
        reason = LIMITS.get(highs.getModelStatus(), "")
        if reason in ("time", "interrupt"):
            return SolverResult(Status.LIMIT, quadratic.full(near), value, reason=reason)

    def rest() -> SolveOptions:
        limit = options.time_limit
        left = None if limit is None else max(0.0, limit - run.control.seconds)
        return structs.replace(options, time_limit=left, tight=True, extra=EXACT)

    return TangentPlanes(quadratic, HighsSession, rest, run.monitor).solve(near)


def _try_relaxation(
    run: HighsRun, relaxations: Relaxations, last_seconds: float, start: Floats | None
) -> tuple[SolverResult | None, Floats | None]:
    """The result where the relaxation proves one, else None; and a start that may be better (`warm_resolve`)."""
    from gsdsl_backends.highs.warm_resolve import ResolveAttempt

    highs, control, options = run.highs, run.control, run.options
    allowed = np.inf if options.time_limit is None else max(0.0, options.time_limit - control.seconds)
    until = control.seconds + relaxations.limit(allowed, last_seconds)

    def remaining_seconds() -> float:
        return max(0.0, until - control.seconds)

    def relax() -> None:
        limit_to(highs, remaining_seconds(), branches=False)
        run.run_relaxation()
        highs.setOptionValue("time_limit", np.inf)
        run.limit_to_rest()

    def solve_other(problem: Problem, options: SolveOptions) -> SolverResult:
        session = HighsSession(problem)
        try:
            result = session.solve(structs.replace(options, time_limit=remaining_seconds()), None, run.monitor)
            control.stop_requested = control.stop_requested or result.reason == "interrupt"
            return result
        finally:
            session.close()

    result, start = ResolveAttempt(highs, run.problem, relaxations, options, relax, solve_other).answer(start)
    relaxations.record(result is not None)
    return result, start
