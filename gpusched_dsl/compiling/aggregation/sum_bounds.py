"""How large the sum of a column over a class can be, by the rows that no element indexes.

sum_k a_k x_k <= u     gives     x <= (u - smallest value of the others) / a     where a > 0
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.symmetry.quotient import Quotient
from gpusched_dsl.ir.arrays import Codes, Floats


def sum_bounds(quotient: Quotient, columns: Codes) -> Floats:
    """The largest sums over their class of some columns (numbers in the quotient's problem, ascending).

    Infinite where no row bounds them. Uses bounds of columns and one row at a time.
    """
    problem = quotient.problem
    rows = np.flatnonzero(quotient.row_class < 0)
    matrix = problem.matrix.take(rows)
    row, column, value = matrix.row_of, matrix.columns, matrix.values
    found = np.full(len(columns), np.inf)
    place = np.minimum(np.searchsorted(columns, column), max(len(columns) - 1, 0))
    matching = columns[place] == column if len(columns) else np.zeros(len(column), dtype=np.bool_)
    sizes = quotient.classes.sizes[np.maximum(quotient.column_class[column], 0)]
    for sign, side in ((1.0, problem.row_upper[rows]), (-1.0, -problem.row_lower[rows])):
        signed = value * sign
        with np.errstate(invalid="ignore"):
            least = np.where(signed > 0, signed * problem.lower[column], signed * problem.upper[column])
        least[signed == 0] = 0.0
        endless = np.isneginf(least)
        total = np.bincount(row, weights=np.where(endless, 0.0, least), minlength=len(rows))
        many = np.bincount(row, weights=endless, minlength=len(rows))
        at = np.flatnonzero(matching & (signed > 0) & np.isfinite(side)[row] & (many[row] == 0))
        of_others = total[row[at]] - least[at]
        bound = (side[row[at]] - of_others) / signed[at] * sizes[at]
        np.minimum.at(found, place[at], bound)
    return found
