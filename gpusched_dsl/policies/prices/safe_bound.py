"""A bound on the optimum that holds for any dual values, computed with directed rounding.

For dual values v of the rows `lower <= A x <= upper`, each with the sign that its finite sides allow, weak duality says
that no point within the bounds of the columns and the rows costs less than

    offset + sum_i (lower_i v_i if v_i > 0 else upper_i v_i) + sum_j min { r_j x_j : l_j <= x_j <= u_j },   r = c - A'v.

So solver tolerances and early ends make the bound worse, not wrong. What rounding can do is subtracted: each r_j is
known within an interval, the error of a sum of n floating-point products being at most g(n) times the sum of their
sizes, g(n) = n u / (1 - n u) with the unit roundoff u (N. J. Higham, Accuracy and Stability of Numerical Algorithms,
2002, section 3.1); A. Neumaier and O. Shcherbina, Safe bounds in linear and mixed-integer linear programming,
Mathematical Programming 99, 2004.

Columns without the bound that their reduced cost asks for are repaired by a dual value nearer to 0 in one of their
rows. Otherwise they get a bound from the rows, by propagation, made wider by more than rounding can amount to. If there
is none, there is no bound.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusched_dsl.compiling.analysis.bounds import propagate
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem

UNIT = 2.0**-53
REPAIRS = 4
REPAIR = 1.5  # times the error of a reduced cost, which changes with the dual value
WIDER = 1e-6  # of propagated bounds, relative to their size; they come from a few operations on the numbers of a row


def safe_bound(problem: Problem, duals: Floats) -> float | None:
    """Return a bound on the first objective of a linear problem, below (`minimize`) or above; None if there is none.

    `duals` has `d objective / d side` of each row, of any accuracy.
    """
    objective = problem.objectives[0]
    sign = 1.0 if objective.sense == "minimize" else -1.0
    costs = sign * objective.costs(problem.columns)
    cost_error = _cost_error(problem)
    duals = _with_allowed_signs(problem, sign * duals)
    low, high = _reduced_costs(problem, costs, cost_error, duals)
    lower, upper = problem.lower, problem.upper
    for _ in range(REPAIRS):
        if not _needs_bounds(low, high, lower, upper).any():
            break
        duals = _repair_duals(problem, duals, low, high)
        low, high = _reduced_costs(problem, costs, cost_error, duals)
    if _needs_bounds(low, high, lower, upper).any():
        lower, upper = _propagate_bounds(problem)
        if _needs_bounds(low, high, lower, upper).any():
            return None
    parts = [_least_products(low, high, lower, upper), _of_rows(problem, duals)]
    parts += [np.array([sign * term.constant for term in objective.terms])]
    value = _down_sum(np.concatenate(parts))
    return sign * value if np.isfinite(value) else None


def _reduced_costs(problem: Problem, costs: Floats, cost_error: Floats, duals: Floats) -> tuple[Floats, Floats]:
    """Return an interval with the exact reduced cost of each column."""
    matrix = problem.matrix
    products = matrix.values * duals[matrix.row_of]
    reduced = costs - np.bincount(matrix.columns, weights=products, minlength=problem.columns)
    size = np.abs(costs) + np.bincount(matrix.columns, weights=np.abs(products), minlength=problem.columns)
    entries = np.bincount(matrix.columns, minlength=problem.columns).astype(np.float64)
    error = _sum_error(entries + 2) * size + cost_error
    exact = size == 0  # without cost and prices
    return np.where(exact, 0.0, _down(reduced - error)), np.where(exact, 0.0, _up(reduced + error))


def _repair_duals(problem: Problem, duals: Floats, low: Floats, high: Floats) -> Floats:
    """Return dual values nearer to 0, in rows that make reduced costs of columns without a bound have the wrong sign.

    Basic columns have reduced costs of 0 up to rounding. For each, the row with the largest product is chosen.
    """
    matrix = problem.matrix
    wrong = np.where(np.isinf(problem.upper), np.minimum(low, 0.0), 0.0)
    wrong = np.where((wrong == 0) & np.isinf(problem.lower), np.maximum(high, 0.0), wrong)
    entry = np.flatnonzero(wrong[matrix.columns])
    column, row = matrix.columns[entry], matrix.row_of[entry]
    product = matrix.values[entry] * duals[row]
    right = product * wrong[column] < 0
    entry, column, row, product = entry[right], column[right], row[right], np.abs(product[right])
    order = np.lexsort((-product, column))
    first = order[np.concatenate(([True], np.diff(column[order]) != 0))] if len(order) else order
    change = np.zeros(problem.rows)
    needed = REPAIR * np.abs(wrong[column[first]]) / np.abs(matrix.values[entry[first]])
    np.maximum.at(change, row[first], needed)
    return np.asarray(np.sign(duals) * np.maximum(np.abs(duals) - change, 0.0))


def _cost_error(problem: Problem) -> Floats:
    """Return how far the computed cost of each column, a sum over the terms of the objective, may be off."""
    terms, size = np.zeros(problem.columns), np.zeros(problem.columns)
    for term in problem.objectives[0].terms:
        terms[term.columns] += 1
        size[term.columns] += np.abs(term.coefficients)
    return np.asarray(np.where(terms > 1, _sum_error(terms + 1) * size, 0.0))


def _with_allowed_signs(problem: Problem, duals: Floats) -> Floats:
    duals = np.where(np.isfinite(duals), duals, 0.0)
    duals = np.where(np.isfinite(problem.row_lower), duals, np.minimum(duals, 0.0))
    return np.where(np.isfinite(problem.row_upper), duals, np.maximum(duals, 0.0))


def _of_rows(problem: Problem, duals: Floats) -> Floats:
    """Return what each row contributes, rounded down."""
    used = np.flatnonzero(duals)
    side = np.where(duals[used] > 0, problem.row_lower[used], problem.row_upper[used])
    return np.where(side == 0, 0.0, _down(duals[used] * side))


def _needs_bounds(low: Floats, high: Floats, lower: Floats, upper: Floats) -> np.ndarray:
    """Return which columns have no finite least product."""
    return np.asarray(((low < 0) & np.isinf(upper)) | ((high > 0) & np.isinf(lower)))


def _least_products(low: Floats, high: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return the least `r x` with `low <= r <= high` and `lower <= x <= upper`, rounded down.

    An infinite side of x is the wrong one for the sign of r: `_needs_bounds` has seen to that.
    """
    least = np.full(len(low), np.inf)
    for x in (lower, upper):
        finite = np.isfinite(x)
        for r in (low, high):
            np.minimum(least, np.where(finite, r * np.where(finite, x, 0.0), np.inf), out=least)
    least[np.isinf(least)] = 0.0  # no side is finite, and r is 0
    return np.where(least == 0, 0.0, _down(least))


def _propagate_bounds(problem: Problem) -> tuple[Floats, Floats]:
    """Return the bounds of columns that follow from the rows, made wider."""
    found = propagate(replace(problem, integer=np.zeros_like(problem.integer)))
    if not found.feasible:
        return problem.lower, problem.upper
    lower = found.lower - WIDER * np.maximum(1.0, np.abs(found.lower))
    upper = found.upper + WIDER * np.maximum(1.0, np.abs(found.upper))
    return np.maximum(problem.lower, lower), np.minimum(problem.upper, upper)


def _sum_error(terms: Floats) -> Floats:
    """Return the largest relative error of sums of so many products, rounded up."""
    return np.asarray(terms * UNIT / (1.0 - terms * UNIT) * 1.0001)


def _down(values: Floats) -> Floats:
    return np.asarray(np.nextafter(values, -np.inf))


def _up(values: Floats) -> Floats:
    return np.asarray(np.nextafter(values, np.inf))


def _down_sum(values: Floats) -> float:
    """Return a sum, rounded down by more than its rounding errors; a sum of zeros is exact."""
    if not values.any():
        return 0.0
    relative = float(_sum_error(np.array([len(values) + 1.0]))[0])
    error = relative * float(np.abs(values).sum()) * 1.0001
    return float(np.nextafter(float(values.sum()) - error, -np.inf))
