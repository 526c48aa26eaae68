"""Convex quadratic objectives: HiGHS gets the matrix, and its point is believed as far as its dual values prove it.

HiGHS 1.16 calls problems without rows unbounded (so it always gets one), and adds a small multiple of x^2, which moves
the optimum of unbounded problems far away; HiGHS 1.15 also cycled on one in a hundred of random small problems. At a
point x0 a convex objective is at least its tangent plane, so multipliers of the rows give a bound on it by linear
programming duality. Where that is not near the value, linear programs find the optimum, or that there is none:

    min c x + sum s_k      with u == F x,  s_k >= 2 v u_k - v^2 for more and more v      (F'F the matrix)

Every optimum of them is a bound, and gives the next v for each k; the distance to `u_k^2` shrinks to about a quarter
each time. `u` is kept in a box, which grows where the optimum is at its side, until no longer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import highspy
import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.analysis.bounds import Bounds
from gpusched_dsl.compiling.convexity.quadratic_objective import QuadraticObjective
from gpusched_dsl.ir.arrays import Codes, Floats, Int32s
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.matrix import Matrix, stack
from gpusched_dsl.ir.problem import Family, Problem, Term
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.ir.tolerances import SOLVER, TIGHT
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.protocol import Monitor, SolveOptions

# A bound this near to the value, relative to it and to 1, proves the optimum.
PRECISE = 1e-7
# Reduced costs below this are rounding errors, relative to the slopes of the objective and to 1.
ROUNDED = 1e-7
# Linear programs go on to this, as a point is only as exact as the root of it.
CLOSEST = 1e-11
ROUNDS = 100
# Of u^2: a tangent that cuts off less is of no use.
NOTHING = 1e-13
# The box of u: how far beyond the first points, how near its side counts, and how it grows. Points further off than
# `FAR` are no help.
WIDER, AT_THE_SIDE, FURTHER, FAR = 10.0, 1e-9, 100.0, 1e7
# What HiGHS is asked for beside: exact vertices. (Its presolve prints on some of these problems.)
EXACT: dict[str, bool | int | float | str] = {
    "solver": "simplex",
    "dual_feasibility_tolerance": TIGHT,
    "presolve": "off",
}
# Iterations that HiGHS may take for each row and column, before it is taken to go round in circles.
ITERATIONS, LEAST_ITERATIONS = 20, 1000


def quadratic_options(problem: Problem) -> dict[str, bool | int | float | str]:
    """What HiGHS is asked for where it gets a matrix.

    It adds a number to its diagonal, without which it fails on singular ones; its usual 1e-7 makes optima worse.
    """
    iterations = LEAST_ITERATIONS + ITERATIONS * (problem.columns + problem.rows)
    return {"qp_iteration_limit": iterations, "qp_regularization_value": 1e-9}


def hessian(quadratic: QuadraticObjective) -> Any:
    """The lower half of the matrix, column by column, as HiGHS wants it."""
    from scipy.sparse import tril

    half = tril(quadratic.matrix).tocsc()
    half.sort_indices()
    given = highspy.HighsHessian()
    given.dim_ = quadratic.linear.columns
    given.format_ = highspy.HessianFormat.kTriangular
    given.start_, given.index_, given.value_ = half.indptr, half.indices, half.data
    return given


def tangent_bound(quadratic: QuadraticObjective, bounds: Bounds, point: Floats, row_duals: Floats) -> float | None:
    """The bound on the objective that the tangent plane at a point and multipliers prove.

    `bounds` are those of the columns that the rows imply.
    """
    from gsdsl_backends.highs.relaxation import dual_bound

    gradient = quadratic.gradient(point)
    used = np.flatnonzero(gradient).astype(np.int32)
    offset = quadratic.value(point) - float(gradient @ point)
    plane = structs.replace(quadratic.objective, terms=(Term(None, used, gradient[used], offset),))
    linear = replace(quadratic.linear, objectives=(plane,), lower=bounds.lower, upper=bounds.upper)
    if float(np.abs(point).max(initial=0.0)) > FAR:  # slopes within the tolerance may have led there
        return None
    found = dual_bound(linear, row_duals, SOLVER)
    return None if found is None else found.value


def reduced_costs(quadratic: QuadraticObjective, point: Floats, row_duals: Floats) -> Floats:
    """The slope of the objective in each column, less the prices of its rows."""
    matrix, gradient = quadratic.linear.matrix, quadratic.gradient(point)
    priced = np.bincount(matrix.columns, weights=matrix.values * row_duals[matrix.row_of], minlength=len(gradient))
    size = float(np.abs(gradient).max(initial=1.0))
    found = gradient - priced
    return np.where(np.abs(found) <= ROUNDED * size, 0.0, found)


def proves(quadratic: QuadraticObjective, bound: float, value: float) -> bool:
    """Whether a bound is as good as a value."""
    from gsdsl_backends.highs.relaxation import distance

    return distance(quadratic.objective, value, bound) <= PRECISE * max(1.0, abs(value))


class LinearSession(Protocol):
    """What the linear programs need of a session."""

    def solve(
        self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None
    ) -> SolverResult: ...

    def add_rows(self, rows: Matrix, lower: Floats, upper: Floats) -> None: ...

    def change_bounds(self, columns: Int32s, lower: Floats, upper: Floats) -> None: ...

    def close(self) -> None: ...


class TangentPlanes:
    """Linear programs that close in on the optimum, from tangents at some points on.

    `options` says what is left of the time limit.
    """

    def __init__(
        self,
        quadratic: QuadraticObjective,
        open_session: Callable[[Problem], LinearSession],
        options: Callable[[], SolveOptions],
        monitor: Monitor | None,
    ) -> None:
        self.quadratic, self.monitor = quadratic, monitor
        self._open, self._options = open_session, options
        self.forms = quadratic.square_roots()
        self.best: Floats | None = None
        self.bound: float | None = None
        self.iterations = 0.0

    def solve(self, near: Floats | None) -> SolverResult:
        """The answer; `near` is a point that may be near the optimum."""
        feasible = self._feasible_point()
        if feasible.values is None:
            return feasible
        points = [feasible.values]
        if near is not None and np.isfinite(near).all() and float(np.abs(near).max(initial=0.0)) < FAR:
            points.append(near)
        self._offer(feasible.values)
        u = np.stack([self.forms.activity(point) for point in points])
        width = WIDER * np.maximum(1.0, np.abs(u).max(axis=0))
        session = self._open(self._program(width))
        try:
            for values in u:
                self._add_tangents(session, np.arange(self.forms.rows), values)
            return self._close_in(session, width)
        finally:
            session.close()

    def _feasible_point(self) -> SolverResult:
        session = self._open(replace(self.quadratic.linear, objectives=()))
        try:
            return session.solve(self._options(), None, self.monitor)
        finally:
            session.close()

    def _program(self, width: Floats) -> Problem:
        """The rows of the problem and `F x - u == 0`, over x, u and s."""
        linear, forms, every = self.quadratic.linear, self.forms, np.arange(self.forms.rows)
        count, columns, rows = forms.rows, linear.columns, linear.rows
        of_u = Matrix(np.arange(count + 1), (columns + every).astype(np.int32), np.full(count, -1.0))
        own = Matrix(*_beside(forms, of_u))
        plain = self.quadratic.objective
        of_s = Term(None, (columns + count + every).astype(np.int32), np.full(count, self.quadratic.sign))
        zero, far = np.zeros(count), np.full(count, np.inf)
        return replace(
            linear,
            auxiliary=(*linear.auxiliary, Family("tangents", columns, IntervalDomain(1, 2 * count))),
            lower=np.concatenate((linear.lower, -width, zero)),
            upper=np.concatenate((linear.upper, width, far)),
            integer=np.concatenate((linear.integer, np.zeros(2 * count, dtype=np.bool_))),
            constraints=(*linear.constraints, Family("forms", rows, IntervalDomain(1, count))),
            matrix=stack([linear.matrix, own]),
            row_lower=np.concatenate((linear.row_lower, zero)),
            row_upper=np.concatenate((linear.row_upper, zero)),
            objectives=(structs.replace(plain, terms=(*plain.terms, of_s)),),
        )

    def _add_tangents(self, session: LinearSession, which: Codes, at: Floats) -> None:
        """`s_k - 2 v u_k >= -v^2`."""
        columns, count = self.quadratic.linear.columns, self.forms.rows
        places = np.stack((columns + which, columns + count + which), axis=1).reshape(-1).astype(np.int32)
        values = np.stack((-2.0 * at, np.ones(len(at))), axis=1).reshape(-1)
        rows = Matrix(2 * np.arange(len(at) + 1, dtype=np.int64), places, values)
        session.add_rows(rows, -(at**2), np.full(len(at), np.inf))

    def _close_in(self, session: LinearSession, width: Floats) -> SolverResult:
        columns, count = self.quadratic.linear.columns, self.forms.rows
        last = SolverResult(Status.LIMIT, reason="accuracy")
        for _ in range(ROUNDS):
            try:
                answer = session.solve(self._options(), None, self.monitor)
            except DiagnosticError:  # HiGHS fails on some programs with many almost parallel tangents
                break
            self.iterations += answer.statistics.get("iterations", 0.0)
            if answer.status is not Status.OPTIMAL or answer.values is None:
                return self._best_so_far(answer)
            last = answer
            point, u, s = np.split(answer.values, (columns, columns + count))
            self._offer(point)
            at_side = np.abs(u) >= width * (1.0 - AT_THE_SIDE)
            if at_side.any():
                width = np.where(at_side, width * FURTHER, width)
                places = (columns + np.flatnonzero(at_side)).astype(np.int32)
                session.change_bounds(places, -width[at_side], width[at_side])
            elif answer.objective is not None:
                self.bound = answer.objective
                if self._apart() <= CLOSEST * self._size:
                    return self._with_bound(answer)
            error = u**2 - s
            more = np.flatnonzero(error > NOTHING * np.maximum(1.0, u**2))
            if not len(more) and not at_side.any():
                break
            self._add_tangents(session, more, u[more])
        if self.bound is not None and self._apart() <= max(PRECISE, self._options().gap) * self._size:
            return self._with_bound(last)
        return self._best_so_far(SolverResult(Status.LIMIT, reason="accuracy"))

    def _offer(self, point: Floats) -> None:
        """Keep the best point."""
        from gsdsl_backends.highs.relaxation import distance

        value, objective = self.quadratic.value(point), self.quadratic.objective
        if self.best is None or distance(objective, value, self.quadratic.value(self.best)) < 0:
            self.best = point

    def _apart(self) -> float:
        from gsdsl_backends.highs.relaxation import distance

        assert self.best is not None
        assert self.bound is not None
        return distance(self.quadratic.objective, self.quadratic.value(self.best), self.bound)

    @property
    def _size(self) -> float:
        assert self.best is not None
        return max(1.0, abs(self.quadratic.value(self.best)))

    def _with_bound(self, answer: SolverResult) -> SolverResult:
        assert self.best is not None
        linear, value = self.quadratic.linear, self.quadratic.value(self.best)
        duals = answer.row_duals
        own = None if duals is None else duals[: linear.rows]
        return SolverResult(
            Status.OPTIMAL, self.quadratic.full(self.best), value, self.bound,
            row_duals=own,
            reduced_costs=None if own is None else reduced_costs(self.quadratic, self.best, own),
            statistics={"nodes": 0.0, "iterations": self.iterations},
        )  # fmt: skip

    def _best_so_far(self, answer: SolverResult) -> SolverResult:
        """The best point so far, where the linear programs were stopped, or have shown that there is no optimum."""
        statistics = {"nodes": 0.0, "iterations": self.iterations}
        if answer.status is not Status.LIMIT:
            return SolverResult(answer.status, statistics=statistics)
        assert self.best is not None
        return SolverResult(
            Status.LIMIT, self.quadratic.full(self.best), self.quadratic.value(self.best), self.bound,
            reason=answer.reason, statistics=statistics,
        )  # fmt: skip


def _beside(one: Matrix, other: Matrix) -> tuple[Codes, Int32s, Floats]:
    """The entries of two matrices of as many rows, row by row."""
    rows = np.concatenate((one.row_of, other.row_of))
    order = np.argsort(rows, kind="stable")
    columns, values = np.concatenate((one.columns, other.columns)), np.concatenate((one.values, other.values))
    return (one.starts + other.starts).astype(np.int64), columns[order], values[order]
