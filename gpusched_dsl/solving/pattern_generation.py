"""Solves an aggregated problem with pools of patterns, only few of which matter.

1. The linear relaxation is solved over the patterns at hand; dual values price all others, and the cheapest join, until
   none has a negative reduced cost: its value z then bounds the problem with all patterns (column generation, P. C.
   Gilmore, R. E. Gomory, 1961; over a listed pool, sifting).
2. The problem is solved over the patterns at hand: a plan of value u.
3. Where u - z is more than the gap g that was asked for, it is solved over all columns whose reduced cost is at most
   u - g |u| - z, and those of the plan. A plan that uses another one costs at least u - g |u|, so a solver's bound up
   to that holds for all columns, and more need not be proved (reduced cost fixing, with the gap in the cutoff).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs
from scipy import sparse

from gpusched_dsl.compiling.interchangeable.assembling import AggregatedProblem, assemble
from gpusched_dsl.compiling.interchangeable.parts import AggregatedComponent
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import Deadline
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions

LINEAR = "highs"  # the relaxations are solved by it, whatever the backend is
PRECISION = 1e-9  # a reduced cost above minus this, relative to the objective, counts as none
ROUNDING = 1e-12  # of a bound, relative to it
MOST_ROUNDS = 500
FIRST_SHARE = 0.4  # of the time for the first plan


def is_pooled(aggregated: AggregatedProblem) -> bool:
    return any(part.pool is not None for part in aggregated.parts)


def solve_pooled(
    aggregated: AggregatedProblem,
    backend: Backend | str,
    options: SolveOptions,
    start: Floats | None = None,
    monitor: Monitor | None = None,
) -> tuple[AggregatedProblem, Solution]:
    """Return the problem with the last examined patterns, and its solution with a bound for all patterns.

    By a backend that proves nothing the solution has no bound: nobody asked for one.
    """
    examined, solved = _solve_pooled(aggregated, backend, options, start, monitor)
    return examined, solved if solved.backend.capabilities.proves else _without_bound(solved)


def _solve_pooled(
    aggregated: AggregatedProblem,
    backend: Backend | str,
    options: SolveOptions,
    start: Floats | None,
    monitor: Monitor | None,
) -> tuple[AggregatedProblem, Solution]:
    clock = _Clock(structs.replace(options, second_opinion=False), monitor)
    sign = _sign(aggregated.problem)
    own = (backend if isinstance(backend, str) else backend.name) == LINEAR
    relaxation = _sift(aggregated, clock, options.extra if own else {})
    small = relaxation.aggregated
    if start is not None:
        start = None if small.problem.columns != aggregated.problem.columns else start
    first = solve_problem(small.problem, backend, clock.options(FIRST_SHARE), start, monitor)
    if relaxation.infeasible:
        return small, replace(first, status=Status.INFEASIBLE, reason="", point=None)
    if first.status in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED):
        return small, first  # more patterns change nothing about that
    if first.status is Status.INFEASIBLE and relaxation.value is not None and not clock.reason:
        first.close()
        every = relaxation.problem_within(np.inf)
        return every, solve_problem(every.problem, backend, clock.options(1.0), None, monitor)
    if first.point is None or first.objective is None or relaxation.value is None:
        reason = first.reason or clock.reason or "patterns"
        return small, _conclude(replace(first, status=Status.LIMIT, reason=reason), relaxation.value, options)
    conclusion = _conclude(first, relaxation.value, options)
    if conclusion.status is Status.OPTIMAL or clock.reason or first.reason == "interrupt":
        return small, conclusion
    value, size = sign * first.objective, abs(first.objective)
    limit = (value - options.gap * size - sign * relaxation.value) * (1 + 1e-9) + PRECISION * max(1.0, size)
    wide = relaxation.problem_within(limit)
    again = wide.aggregate(small.disaggregate(first.point))
    first.close()
    wide = replace(wide, problem=relaxation.fixed_by_reduced_cost(wide.problem, limit, again))
    second = solve_problem(wide.problem, backend, clock.options(1.0), again, monitor)
    if second.objective is None:
        return small, conclusion
    bounds = [sign * relaxation.value]
    if second.bound is not None:
        bounds.append(min(sign * second.bound, sign * relaxation.value + limit))
    return wide, _conclude(second, sign * max(bounds), options)


class _Clock(Deadline):
    """The remaining time of a request."""

    def __init__(self, request: SolveOptions, monitor: Monitor | None) -> None:
        super().__init__(request.time_limit, None if monitor is None else lambda: monitor.stop_requested)
        self.request, self.monitor = request, monitor

    def options(self, share: float) -> SolveOptions:
        left = self.remaining_seconds
        return structs.replace(self.request, time_limit=None if left is None else left * share)


@dataclass(frozen=True, eq=False)
class _SiftedRelaxation:
    """The relaxation solved over the pool: its `value` (None if it did not finish) and dual values."""

    aggregated: AggregatedProblem
    value: float | None
    duals: Floats | None = None
    infeasible: bool = False

    def problem_within(self, limit: float) -> AggregatedProblem:
        """Return the problem with all patterns of a reduced cost up to a limit."""
        assert self.duals is not None
        relaxed = _relax(self.aggregated.problem)
        parts = []
        for part, prices, duals in _prices(self.aggregated, relaxed, self.duals):
            parts.append(part if part.pool is None else part.pool.component_within(prices, duals, limit))
        return assemble(self.aggregated.quotient, parts)

    def fixed_by_reduced_cost(self, problem: Problem, limit: float, point: Floats | None) -> Problem:
        """Return the problem with integer columns at a bound that cost more than a limit for each unit away from it.

        Those that the point has away from their bounds stay free.
        """
        assert self.duals is not None
        matrix = _sparse(problem.matrix, problem.columns)
        costs = _sign(problem) * problem.objectives[0].costs(problem.columns) - matrix.T @ self.duals
        low, high = problem.integer & (costs > limit), problem.integer & (costs < -limit)
        if point is not None:
            low &= point < problem.lower + 0.5
            high &= point > problem.upper - 0.5
        lower, upper = np.where(high, problem.upper, problem.lower), np.where(low, problem.lower, problem.upper)
        return replace(problem, lower=lower, upper=upper)


def _sift(
    aggregated: AggregatedProblem, clock: _Clock, extra: Mapping[str, bool | int | float | str]
) -> _SiftedRelaxation:
    """Solve the relaxation; `extra` are options of the solver that solves it."""
    sign = _sign(aggregated.problem)
    missing = True  # no point of the relaxation is known yet

    def options() -> SolveOptions:
        return structs.replace(clock.options(1.0), extra=extra)

    for _ in range(MOST_ROUNDS):
        if clock.reason:
            break
        relaxed = _relax(aggregated.problem)
        solved = solve_problem(relaxed, LINEAR, options(), None, clock.monitor)
        solved.close()
        if missing and solved.status is Status.INFEASIBLE:
            relaxed = _elastic(relaxed)
            solved = solve_problem(relaxed, LINEAR, options(), None, clock.monitor)
            solved.close()
        else:
            missing = False
        if solved.row_duals is None or solved.objective is None:
            break
        duals = solved.row_duals[: aggregated.problem.rows]
        precision = PRECISION * max(1.0, abs(solved.objective))
        found: list[AggregatedComponent] = []
        joined = False
        below = 0.0  # what patterns of negative reduced cost, one for each element, could still gain
        for part, prices, own in _prices(aggregated, relaxed, duals):
            least, more = (0.0, None) if part.pool is None else part.pool.price(prices, own, precision)
            joined |= more is not None
            below += min(0.0, least) * int(aggregated.quotient.classes.sizes[part.component.kind])
            found.append(more or part)
        if not joined:
            if missing:
                return _SiftedRelaxation(aggregated, None, infeasible=solved.objective > 1e-6)
            return _SiftedRelaxation(aggregated, sign * (solved.objective + below), duals)
        aggregated = assemble(aggregated.quotient, found)
    return _SiftedRelaxation(aggregated, None)


def _sign(problem: Problem) -> float:
    return -1.0 if problem.objectives[0].sense == "maximize" else 1.0


def _conclude(solved: Solution, bound: float | None, options: SolveOptions) -> Solution:
    """A solve over some patterns with a bound for all of them, and the status that follows from it.

    A solver that has proved its plan to be best may give a bound that is off by a rounding error: then this may be too.
    """
    if not solved.objectives:
        return solved
    own = solved.objectives[0]
    allowed = options.gap
    if solved.status is Status.OPTIMAL and own.gap is not None:
        allowed = max(allowed, own.gap) + ROUNDING
    first = structs.replace(own, bound=bound, status=Status.OPTIMAL)
    if first.gap is not None and first.gap <= allowed:
        return replace(solved, status=Status.OPTIMAL, reason="", objectives=(first,))
    first = structs.replace(first, status=Status.LIMIT)
    reason = "patterns" if solved.status is Status.OPTIMAL else solved.reason
    return replace(solved, status=Status.LIMIT, reason=reason, objectives=(first,))


def _without_bound(solved: Solution) -> Solution:
    """The same point without a proof."""
    found = solved.point is not None
    status = Status.FEASIBLE if found and solved.status in (Status.OPTIMAL, Status.LIMIT) else solved.status
    objectives = tuple(structs.replace(o, bound=None, status=status) for o in solved.objectives)
    reason = "" if found and solved.reason == "patterns" else solved.reason
    return replace(solved, status=status, reason=reason, objectives=objectives)


def _relax(problem: Problem) -> Problem:
    """The linear relaxation, minimised."""
    objective, sign = problem.objectives[0], _sign(problem)
    terms = tuple(
        structs.replace(t, coefficients=sign * t.coefficients, constant=sign * t.constant) for t in objective.terms
    )
    return replace(
        problem,
        integer=np.zeros(problem.columns, dtype=np.bool_),
        objectives=(structs.replace(objective, sense="minimize", terms=terms),),
    )


def _sparse(matrix: Matrix, columns: int) -> sparse.csr_matrix:
    return sparse.csr_matrix((matrix.values, matrix.columns, matrix.starts), shape=(matrix.rows, columns))


def _elastic(problem: Problem) -> Problem:
    """Return the elastic problem: the deficit of rows costs 1 per unit, and nothing else has a cost."""
    rows, columns = problem.rows, problem.columns
    wide = sparse.hstack((_sparse(problem.matrix, columns), sparse.eye(rows), -sparse.eye(rows))).tocsr()
    slack = Term(None, np.arange(columns, columns + 2 * rows, dtype=np.int32), np.ones(2 * rows))
    return replace(
        problem,
        lower=np.concatenate((problem.lower, np.zeros(2 * rows))),
        upper=np.concatenate((problem.upper, np.full(2 * rows, np.inf))),
        integer=np.zeros(columns + 2 * rows, dtype=np.bool_),
        auxiliary=(*problem.auxiliary, Family("lack", columns, IntervalDomain(1, 2 * rows))),
        matrix=Matrix(wide.indptr.astype(np.int64), wide.indices.astype(np.int32), wide.data.astype(np.float64)),
        objectives=(Objective("minimize", (slack,)),),
    )


def _prices(
    aggregated: AggregatedProblem, relaxed: Problem, duals: Floats
) -> Sequence[tuple[AggregatedComponent, Floats, tuple[Floats, ...]]]:
    """Return, for each part, the reduced costs of its columns, as sums, and the duals of its own rows."""
    quotient = aggregated.quotient
    full_matrix = _sparse(quotient.problem.matrix, quotient.problem.columns)
    costs = np.zeros(quotient.problem.columns)
    if relaxed.columns == aggregated.problem.columns:  # else it only looks for a point
        costs = _sign(aggregated.problem) * quotient.problem.objectives[0].costs(quotient.problem.columns)
    reduced = costs - full_matrix[aggregated.rows].T @ duals[: len(aggregated.rows)]
    found = []
    at = len(aggregated.rows)
    for part in aggregated.parts:
        own = []
        for rows in part.rows:
            own.append(duals[at : at + rows.domain.size])
            at += rows.domain.size
        size = int(quotient.classes.sizes[part.component.kind])
        found.append((part, reduced[part.component.columns] / size, tuple(own)))
    return found
