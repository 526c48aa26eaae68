"""Continuous columns of an element that are integer at an optimum because of its rows.

A column with bounds 0 and 1 that no other rows than those of the element read, that stands once at most in rows of its
member and once at most in rows over all members, with coefficients 1 or -1, where the sides of these rows and all other
coefficients are integer and the other columns either integer or of the same kind.

Proof. For fixed integer columns the rows that are left for such columns are a bipartite incidence matrix with integer
sides, up to signs of rows: every column has one entry at most in each of two parts. It is totally unimodular (A. J.
Hoffman, J. B. Kruskal, 1956), so among the best values for the columns, which the objective sees linearly, some are
integer.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.interchangeable.quotient import Quotient
from gpusched_dsl.compiling.lowering.spreading import reached_rows
from gpusched_dsl.ir.arrays import Bools, Codes


def integer_columns_by_rows(quotient: Quotient, columns: Codes, rows: Codes, of_member: Bools) -> Bools:
    """Return which columns of a component are integer or equivalent to it; `of_member`: rows indexed by a member."""
    problem = quotient.problem
    integer = problem.integer[columns]
    fits = ~integer & (problem.lower[columns] == 0) & (problem.upper[columns] == 1)
    matrix = problem.matrix
    shared = (quotient.row_class < 0)[matrix.row_of]
    read = np.zeros(problem.columns, dtype=np.bool_)
    read[matrix.columns[shared]] = True
    fits &= ~read[columns]

    local = matrix.take(rows)
    at = np.searchsorted(columns, local.columns)
    values, row = local.values, local.row_of
    for part in (of_member, ~of_member):
        inside = part[row]
        fits &= np.bincount(at[inside], minlength=len(columns)) <= 1
    odd = np.abs(values) != 1
    fits[at[odd]] = False
    sides = np.stack((problem.row_lower[rows], problem.row_upper[rows]))
    uneven = (np.isfinite(sides) & (sides != np.rint(sides))).any(axis=0)
    uneven |= np.bincount(row, weights=values != np.rint(values), minlength=len(rows)) > 0
    # Rows with a column that is neither integer nor of this kind have no integer sides for the others.
    loose = uneven | (np.bincount(row, weights=~(fits | integer)[at], minlength=len(rows)) > 0)
    links = fits[at]
    loose = reached_rows(loose, row[links], at[links], len(columns))
    fits[at[links & loose[row]]] = False
    return np.asarray(fits | integer)
