"""Results of the linear relaxation: a bound from its duals, and the few columns that are worth deciding again."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions import Conditions
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.problem import Family, Matrix, Objective, Problem, Term

# A reduced cost that rounding left where it should be 0, relative to the costs.
ROUNDING = 1e-9

INTEGRALITY = 1e-6

# How far outside its sides, relatively, a row of fixed columns may be.
FIXED_ROWS = 1e-6


class DualBound(Struct, frozen=True, eq=False):
    """`value`: no point of the problem is better. `reduced_costs` of the problem as one to minimise."""

    value: float
    reduced_costs: Floats


def dual_bound(problem: Problem, row_duals: Floats, tolerance: float = ROUNDING) -> DualBound | None:
    """Return the bound on the first objective that multipliers of the rows prove, None if they prove nothing.

    For any y with the right signs, `c x >= y b + min over the bounds of (c - A'y) x` holds for every feasible x: weak
    duality. `row_duals` (`d objective / d side`) may be wrong: signs are corrected, the rest makes the bound weaker.
    Reduced costs of columns without a bound count as 0 up to `tolerance`, relative to the largest cost.
    """
    objective = problem.objectives[0]
    sign = _sign(objective)
    duals, reduced = priced(problem, row_duals)
    ends = np.where(reduced > 0, problem.lower, problem.upper)
    costs = objective.costs(problem.columns)
    rounding = tolerance * max(1.0, float(np.abs(costs).max(initial=0.0)))
    reduced = np.where(~np.isfinite(ends) & (np.abs(reduced) <= rounding), 0.0, reduced)
    sides = np.where(duals > 0, problem.row_lower, problem.row_upper)
    used, moved = duals != 0, reduced != 0
    value = float((duals[used] * sides[used]).sum() + (reduced[moved] * ends[moved]).sum()) + sign * objective.offset
    return DualBound(sign * value, reduced) if np.isfinite(value) else None


def priced(problem: Problem, row_duals: Floats) -> tuple[Floats, Floats]:
    """The duals with corrected signs, and the reduced costs, both of the first objective as one to minimise."""
    objective, matrix = problem.objectives[0], problem.matrix
    sign = _sign(objective)
    duals = sign * row_duals
    duals = np.where((duals > 0) & np.isneginf(problem.row_lower), 0.0, duals)
    duals = np.where((duals < 0) & np.isposinf(problem.row_upper), 0.0, duals)
    weights = matrix.values * duals[matrix.row_of]
    prices = np.bincount(matrix.columns, weights=weights, minlength=problem.columns)
    return duals, sign * objective.costs(problem.columns) - prices


def distance(objective: Objective, value: float, bound: float) -> float:
    """By how much `value` is worse than `bound`; negative where it is better."""
    return _sign(objective) * (value - bound)


def is_feasible(problem: Problem, point: Floats, tolerance: float = 1e-9) -> bool:
    """Whether a point is within bounds, rows and integrality, all but for rounding errors."""
    integers = point[problem.integer]
    if (point < problem.lower - tolerance).any() or (point > problem.upper + tolerance).any():
        return False
    if (np.abs(integers - np.rint(integers)) > tolerance).any():
        return False
    activity = problem.matrix.activity(point)
    slack = tolerance * np.maximum(1.0, np.abs(activity))
    return bool((activity >= problem.row_lower - slack).all() and (activity <= problem.row_upper + slack).all())


class Rest(Struct, frozen=True, eq=False):
    """A problem in the columns `free` and the rows that have any, with the other columns fixed.

    `complete_point` extends a point to all columns. `is_possible` is false where the fixed columns break another row.
    """

    problem: Problem
    free: Codes
    rows: Codes
    fixed: Floats
    is_possible: bool

    def complete_point(self, point: Floats) -> Floats:
        full = self.fixed.copy()
        full[self.free] = point
        return full


def undecided_columns(problem: Problem, point: Floats, bound: DualBound, slack: float) -> Bools:
    """The columns that may differ from the optimum `point` of the relaxation in a solution within `slack` of `bound`.

    A column at a bound with reduced cost d makes the objective worse by d for every unit it moves. So integer columns
    with |d| > slack stay where they are in every such solution (reduced-cost fixing). Continuous ones could move by
    slack / |d|; those that could not cross their range are left out here, which is a restriction: what is found is
    feasible, but that nothing is found proves nothing.
    """
    integral = np.abs(point - np.rint(point)) <= INTEGRALITY
    return ~unchanged_columns(problem, bound.reduced_costs, slack) | (problem.integer & ~integral)


def unchanged_columns(problem: Problem, reduced_costs: Floats, slack: float) -> Bools:
    """The columns that reduced costs keep where they are in every solution within `slack` (`undecided_columns`)."""
    span = np.where(problem.integer, 1.0, np.minimum(problem.upper - problem.lower, 1.0))
    return np.abs(reduced_costs) * span > slack


def rest_of(problem: Problem, point: Floats, free: Bools) -> Rest:
    """`problem` with all columns fixed at `point` (integer ones rounded) that are not `free`."""
    fixed = np.where(problem.integer, np.rint(point), point)
    fixed[free] = 0.0
    matrix = problem.matrix
    shift = matrix.activity(fixed)
    at = free[matrix.columns]
    counts = np.bincount(matrix.row_of[at], minlength=problem.rows)
    rows = np.flatnonzero(counts)
    numbers = np.cumsum(free) - 1
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts[rows])))
    few = Matrix(starts, numbers[matrix.columns[at]].astype(np.int32), matrix.values[at])
    columns = np.flatnonzero(free)
    objective = problem.objectives[0]
    costs = objective.costs(problem.columns)
    term = Term(None, np.arange(len(columns), dtype=np.int32), costs[columns], objective.value(fixed))
    smaller = Problem(
        name=problem.name,
        variables=(Family("column", 0, IntervalDomain(0, len(columns) - 1)),),
        lower=problem.lower[columns],
        upper=problem.upper[columns],
        integer=problem.integer[columns],
        constraints=(Family("row", 0, IntervalDomain(0, len(rows) - 1)),),
        matrix=few,
        row_lower=problem.row_lower[rows] - shift[rows],
        row_upper=problem.row_upper[rows] - shift[rows],
        objectives=(structs.replace(objective, terms=(term,)),),
        conditions=Conditions.none(),
    )
    slack = FIXED_ROWS * np.maximum(1.0, np.abs(shift))
    is_possible = (counts > 0) | ((shift >= problem.row_lower - slack) & (shift <= problem.row_upper + slack))
    return Rest(smaller, columns, rows, fixed, bool(is_possible.all()))


def _sign(objective: Objective) -> float:
    return -1.0 if objective.sense == "maximize" else 1.0
