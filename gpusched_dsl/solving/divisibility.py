"""Equations over integer columns that no integers fulfil: the side is no multiple of the greatest common divisor.

`2 x + 4 y == 7` has no solution in integers, but its relaxation has: branch and bound on unbounded columns never ends.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem

# A row is multiplied by one of these over its smallest coefficient: halves, thirds, ... and decimals become integers.
MULTIPLIERS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 25, 50, 60, 64, 100, 125, 250, 500, 1000, 10_000, 100_000)
# Coefficients are integers up to the rounding of the numbers they were computed from.
EXACT = 4 * np.finfo(np.float64).eps
LARGEST = 2.0**31
# A side that is nearer to a multiple than this, relative to the larger of 1 and itself, may be meant as one.
NEAR = 1e-6


def indivisible_rows(problem: Problem) -> Ints:
    """Return the equations with a side that is not a multiple of the granularity of their integer columns.

    Columns with equal bounds count as constants. Rows under a condition and rows with other continuous columns are left
    out, and rows whose coefficients have no common measure within `MULTIPLIERS`.
    """
    none = np.zeros(0, dtype=np.int64)
    equations = problem.row_lower == problem.row_upper
    equations[problem.conditions.rows] = False
    if not equations.any() or not problem.integer.any():
        return none
    matrix = problem.matrix
    fixed = problem.lower == problem.upper
    equations[matrix.row_of[~(problem.integer | fixed)[matrix.columns]]] = False
    rows = np.flatnonzero(equations).astype(np.int64)
    if not len(rows):
        return none
    part = matrix.take(rows)
    free = ~fixed[part.columns] & (part.values != 0.0)
    constants = np.where(free, 0.0, part.values * np.where(fixed, problem.lower, 0.0)[part.columns])
    sizes = np.maximum(1.0, np.abs(problem.row_lower[rows]))
    sides = problem.row_lower[rows] - np.bincount(part.row_of, weights=constants, minlength=len(rows))
    sizes = np.maximum(sizes, np.bincount(part.row_of, weights=np.abs(constants), minlength=len(rows)))
    kept = np.bincount(part.row_of[free], minlength=len(rows)) > 0  # the others are left to the solver
    counts = np.bincount(part.row_of[free], minlength=len(rows))[kept]
    entries = free & kept[part.row_of]
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    open_part = Matrix(starts, part.columns[entries], part.values[entries])
    return rows[kept][_indivisible(open_part, sides[kept], sizes[kept])]


def _indivisible(matrix: Matrix, sides: Floats, sizes: Floats) -> Bools:
    """Which rows have no integer solution; every row has an entry, and none is 0."""
    found = np.zeros(matrix.rows, dtype=np.bool_)
    if not matrix.rows:
        return found
    left = np.arange(matrix.rows, dtype=np.int64)
    smallest = np.minimum.reduceat(np.abs(matrix.values), matrix.starts[:-1])
    for multiplier in MULTIPLIERS:
        part = matrix.take(left)
        factors = multiplier / smallest[left]
        scaled = np.abs(part.values) * factors[part.row_of]
        integers = np.rint(scaled)
        good = (np.abs(scaled - integers) <= EXACT * scaled) & (integers <= LARGEST)
        exact = np.logical_and.reduceat(good, part.starts[:-1])
        divisors = np.gcd.reduceat(np.where(good, integers, 1.0).astype(np.int64), part.starts[:-1])
        step = divisors / factors  # what the row can move by, in its own numbers
        with np.errstate(invalid="ignore", over="ignore"):
            rest = np.abs(sides[left] - np.rint(sides[left] / step) * step)
        found[left] = exact & (rest > NEAR * np.maximum(sizes[left], step))
        left = left[~exact]
        if not len(left):
            break
    return found
