"""Conflicts of linear rows and bounds from a vertex of the alternative system, and points that prove them minimal.

In the form `a_i x >= b_i`, rows and bounds have no point exactly if some multipliers `y >= 0` have `sum y_i a_i = 0`
and `sum y_i b_i = 1` (Farkas). At a vertex of these multipliers the rows and bounds with `y_i > 0` are an irreducible
conflict (J. Gleeson, J. Ryan: Identifying minimally infeasible subsystems of inequalities, ORSA J. Computing 2, 1990).
Leaving out one of them, all others can hold with equality at once, which gives a point for each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.explaining.elements import Elements
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.domains import IntervalDomain, ScalarDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.solving.variants.solver import VariantSolver

NOTHING = ROUNDING  # of the largest multiplier
BOUND_PRICE = 1e-3  # a multiplier of a bound costs this share of a row's: few rows and many bounds are easier to read
MOST_DENSE = 1 << 24  # numbers of a matrix that is written out
HOLDS = 1e-7  # relative violation of a point that counts as none


@dataclass(frozen=True, eq=False)
class Inequalities:
    """Sides and bounds in the form `rows of matrix @ x >= sides`, each with the element that it belongs to."""

    matrix: Matrix
    sides: Floats
    elements: Codes
    is_bound: Bools

    @staticmethod
    def of(elements: Elements, kept: Bools) -> Inequalities:
        """Return the bounds of the elements of a mask, without integrality."""
        problem = elements.problem
        rows = elements.of("row", kept)
        low = np.flatnonzero(rows & np.isfinite(problem.row_lower))
        high = np.flatnonzero(rows & np.isfinite(problem.row_upper))
        lower, upper = np.flatnonzero(elements.of("lower", kept)), np.flatnonzero(elements.of("upper", kept))
        below, above = problem.matrix.take(low), problem.matrix.take(high)
        ones = np.concatenate((np.ones(len(lower)), -np.ones(len(upper))))
        columns = np.concatenate((lower, upper)).astype(np.int32)
        bounds = Matrix(np.arange(len(columns) + 1, dtype=np.int64), columns, ones)
        sides = (problem.row_lower[low], -problem.row_upper[high], problem.lower[lower], -problem.upper[upper])
        numbers = (low, high, elements.first("lower") + lower, elements.first("upper") + upper)
        matrix = below.with_rows_below(Matrix(above.starts, above.columns, -above.values)).with_rows_below(bounds)
        return Inequalities(
            matrix, np.concatenate(sides), np.concatenate(numbers),
            np.arange(matrix.rows) >= len(low) + len(high),
        )  # fmt: skip

    def take(self, which: Codes) -> Inequalities:
        return Inequalities(self.matrix.take(which), self.sides[which], self.elements[which], self.is_bound[which])


def linear_conflict(elements: Elements, kept: Bools, solver: VariantSolver) -> tuple[Bools, Bools] | None:
    """A conflict within the rows and bounds of `kept`, and which of its elements are proved to be needed.

    None when the relaxation has a point, or time does not suffice. Rounding may make the conflict too small: the caller
    asks a solver whether it is one.
    """
    system = Inequalities.of(elements, kept)
    multipliers = _multipliers(system, elements.problem.columns, solver)
    if multipliers is None:
        return None
    largest = _row_sizes(system.matrix)
    weights = multipliers * np.where(largest > 0, largest, 1.0)
    used = np.flatnonzero(weights > NOTHING * weights.max(initial=0.0))
    conflict = elements.none()
    conflict[system.elements[used]] = True
    needed = elements.none()
    if int((~system.is_bound[used]).sum()) * len(used) <= MOST_DENSE:
        proved = _find_needed(system.take(used), multipliers[used])
        needed[system.elements[used[proved]]] = True
        # An element with both of its sides in use is left out with both: a point without one of them proves nothing.
        twice = np.unique(system.elements[used], return_counts=True)
        needed[twice[0][twice[1] > 1]] = False
    return conflict, needed


def _multipliers(system: Inequalities, columns: int, solver: VariantSolver) -> Floats | None:
    """A vertex of the alternative system with a small sum of weighted multipliers."""
    count = system.matrix.rows
    if not count or not columns:
        return None
    order = np.argsort(system.matrix.columns, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(system.matrix.columns, minlength=columns))))
    transposed = Matrix(starts.astype(np.int64), system.matrix.row_of[order], system.matrix.values[order])
    nonzero = np.flatnonzero(system.sides)
    last = Matrix(np.array([0, len(nonzero)], dtype=np.int64), nonzero.astype(np.int32), system.sides[nonzero])
    sides = np.zeros(columns + 1)
    sides[-1] = 1.0
    sizes = _row_sizes(system.matrix)
    price = np.where(sizes > 0, sizes, 1.0) * np.where(system.is_bound, BOUND_PRICE, 1.0)
    alternative = Problem(
        name="alternative",
        variables=(Family("multiplier", 0, IntervalDomain(0, count - 1)),),
        lower=np.zeros(count),
        upper=np.full(count, np.inf),
        integer=np.zeros(count, dtype=np.bool_),
        constraints=(Family("column", 0, IntervalDomain(0, columns - 1)), Family("side", columns, ScalarDomain())),
        matrix=transposed.with_rows_below(last),
        row_lower=sides,
        row_upper=sides,
        objectives=(Objective("minimize", (Term(None, np.arange(count, dtype=np.int32), price),)),),
    )
    solved = solver.attempt(alternative)
    return solved.point if solved is not None and solved.status is Status.OPTIMAL else None


def _row_sizes(matrix: Matrix) -> Floats:
    """The largest coefficient of each row in absolute value."""
    sizes = np.zeros(matrix.rows)
    filled = np.flatnonzero(np.diff(matrix.starts))
    if len(filled):
        sizes[filled] = np.maximum.reduceat(np.abs(matrix.values), matrix.starts[filled])
    return sizes


def _find_needed(system: Inequalities, multipliers: Floats) -> Codes:
    """The inequalities without which a point satisfies all others, by points at which the others are equations.

    With M the rows and y the multipliers, `M x = b - t_i e_i` has a solution exactly for `t_i = y b / y_i`. Columns
    with a bound are known by it; the others follow from the rows.
    """
    count = system.matrix.rows
    rows, bounds = np.flatnonzero(~system.is_bound), np.flatnonzero(system.is_bound)
    at, signs = system.matrix.take(bounds).columns, system.matrix.take(bounds).values
    if len(np.unique(at)) < len(at) or not len(rows):  # both bounds of one column: no row has a part in it
        return np.zeros(0, dtype=np.int64)
    steps = float(multipliers @ system.sides) / multipliers
    columns, places = np.unique(system.matrix.take(rows).columns, return_inverse=True)
    dense = np.zeros((len(rows), len(columns)))
    dense[system.matrix.take(rows).row_of, places] = system.matrix.take(rows).values
    known = np.searchsorted(columns, at)
    if (columns[np.minimum(known, len(columns) - 1)] != at).any():
        return np.zeros(0, dtype=np.int64)
    free = np.setdiff1d(np.arange(len(columns)), known)
    points = np.zeros((len(columns), count))
    points[known] = (signs * system.sides[bounds])[:, None]
    points[known, bounds] -= signs * steps[bounds]
    wanted = np.tile(system.sides[rows][:, None], count)
    wanted[np.arange(len(rows)), rows] -= steps[rows]
    if len(free):
        try:
            points[free] = np.linalg.lstsq(dense[:, free], wanted - dense @ points, rcond=None)[0]
        except np.linalg.LinAlgError:
            return np.zeros(0, dtype=np.int64)
    size = np.maximum(np.maximum(1.0, np.abs(system.sides[rows]))[:, None], np.abs(dense) @ np.abs(points))
    broken = np.abs(system.sides[rows][:, None] - dense @ points) > HOLDS * size
    broken[np.arange(len(rows)), rows] = False
    return np.flatnonzero(~broken.any(axis=0))
