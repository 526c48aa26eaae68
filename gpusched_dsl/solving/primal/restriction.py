"""A problem with some columns fixed: these columns removed, and also rows that are always satisfied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.problem import Family, Matrix, Objective, Problem, Term
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.solving.lexicographic import undo_cost_scaling, with_visible_costs
from gpusched_dsl.solving.precheck import answer_without_solver
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions


@dataclass(frozen=True, eq=False)
class Restriction:
    """`problem` has the columns `columns` of `original`; the others have the values of `base`."""

    original: Problem
    problem: Problem
    columns: Ints
    base: Floats

    def point(self, values: Floats) -> Floats:
        """Return the point of the complete problem for a point of the restricted problem."""
        point = self.base.copy()
        point[self.columns] = values
        return point

    def values(self, point: Floats) -> Floats:
        return np.clip(point[self.columns], self.problem.lower, self.problem.upper)


def restrict(
    problem: Problem, lower: Floats, upper: Floats, *, relaxed: bool = False, costs: Floats | None = None
) -> Restriction:
    """Restrict a linear problem to narrower bounds; remove columns with equal bounds.

    `relaxed` lets integer columns be fractional; `costs` replaces the objective (to be minimised).
    Rows are left out where no point within the bounds breaks them.
    """
    fixed = lower >= upper
    base = np.where(fixed, lower, 0.0)
    kept = np.flatnonzero(~fixed)
    number = np.full(problem.columns, -1, dtype=np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    matrix = problem.matrix
    free = ~fixed[matrix.columns]
    row_of = matrix.row_of
    shift = np.bincount(row_of[~free], weights=(matrix.values * base[matrix.columns])[~free], minlength=matrix.rows)
    row_of, columns, values = row_of[free], number[matrix.columns[free]], matrix.values[free]
    row_lower, row_upper = problem.row_lower - shift, problem.row_upper - shift

    positive = values > 0
    low, high = lower[kept][columns], upper[kept][columns]
    with np.errstate(invalid="ignore"):
        least = np.bincount(row_of, weights=values * np.where(positive, low, high), minlength=matrix.rows)
        most = np.bincount(row_of, weights=values * np.where(positive, high, low), minlength=matrix.rows)
        needed = (least < row_lower) | (most > row_upper) | np.isnan(least) | np.isnan(most)
    # What is broken by a rounding error, without a column to repair it, is left to the check of the complete point.
    needed &= np.bincount(row_of, minlength=matrix.rows) > 0
    rows = np.flatnonzero(needed)
    new_row = np.cumsum(needed) - 1
    used = needed[row_of]
    row_of, columns, values = new_row[row_of[used]], columns[used], values[used]
    starts = np.concatenate(([0], np.cumsum(np.bincount(row_of, minlength=len(rows))))).astype(np.int64)
    integer = np.zeros(len(kept), dtype=np.bool_) if relaxed else problem.integer[kept]
    objectives = _objectives(problem, kept, base, costs)
    smaller = Problem(
        name=problem.name,
        variables=(Family("x", 0, IntervalDomain(0, len(kept) - 1)),),
        lower=lower[kept],
        upper=upper[kept],
        integer=integer,
        constraints=(Family("row", 0, IntervalDomain(0, len(rows) - 1)),),
        matrix=Matrix(starts, columns, values),
        row_lower=row_lower[rows],
        row_upper=row_upper[rows],
        objectives=objectives,
    )
    return Restriction(problem, smaller, kept, base)


def solve_part(
    backend: Backend, problem: Problem, options: SolveOptions, start: Floats | None, monitor: Monitor
) -> SolverResult:
    """Solve a part of a search; it has no time to lose, so a start that is refused is left out."""
    answer = answer_without_solver(problem)
    if answer is not None:
        return answer
    visible, factor = with_visible_costs(problem)
    if not backend.capabilities.warm_start or not problem.is_mip:
        start = None
    session = backend.open(visible)
    try:
        return undo_cost_scaling(session.solve(options, start, monitor), factor)
    finally:
        session.close()


def has_point(answer: SolverResult) -> bool:
    """Whether it has a point with numbers."""
    unsolved = (Status.INFEASIBLE, Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)
    return answer.status not in unsolved and answer.values is not None and bool(np.isfinite(answer.values).all())


def _objectives(problem: Problem, kept: Ints, base: Floats, costs: Floats | None) -> tuple[Objective, ...]:
    if costs is None and not problem.objectives:
        return ()
    sense, offset = "minimize", 0.0
    if costs is None:
        sense, costs = problem.objectives[0].sense, problem.objectives[0].costs(problem.columns)
        offset = problem.objectives[0].offset + float(costs @ base)
    own = costs[kept]
    used = np.flatnonzero(own)
    return (Objective(sense, (Term(None, used.astype(np.int32), own[used], offset),)),)
