"""Linear programs in which most columns are choices: rows `sum of a x <= b`, a > 0, that share no column.

Without its other rows such a program falls apart: for any prices of those, each choice takes its cheapest column. In a
quotient `a` is the number of elements that a column stands for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.problem import Problem

MOST_IN_FAMILY = 1_000  # rows of a family that have prices; larger families are relaxed, with the price 0


@dataclass(frozen=True, eq=False)
class ChoiceRows:
    """A minimum, taken apart.

    `rows` are the choices, with sides `most` (at least 0); `exact` ones must be met. Choice k has the columns
    `columns[first[k]:first[k + 1]]`, at least one, with the coefficients `factor`. `others` are the columns of no
    choice, `coupling` the rows with prices; all other rows have the price 0. `chosen` and `rest` are the matrices of
    the coupling rows over `columns`, divided by `factor`, and over `others`.
    """

    rows: Codes
    most: Floats
    exact: Bools
    columns: Codes
    factor: Floats
    first: Codes
    others: Codes
    coupling: Codes
    chosen: sparse.csr_matrix  # a row for each of `columns`
    rest: sparse.csr_matrix


def choice_rows_of(problem: Problem) -> ChoiceRows | None:
    """Return the structure with the family of rows that has the most columns as choices; None if no family has."""
    matrix = problem.matrix
    starts = matrix.starts
    best: tuple[int, slice] | None = None
    for family in problem.constraints:
        entries = slice(int(starts[family.first]), int(starts[family.stop]))
        count = entries.stop - entries.start
        if (best is None or count > best[0]) and count and _are_choices(problem, family.slice, entries):
            best = count, family.slice
    if best is None:
        return None
    rows = np.arange(best[1].start, best[1].stop)
    rows = rows[np.diff(starts)[rows] > 0]
    entries = slice(int(starts[best[1].start]), int(starts[best[1].stop]))
    columns, factor = matrix.columns[entries].astype(np.int64), matrix.values[entries]
    first = np.concatenate(([0], np.cumsum(np.diff(starts)[rows])))
    is_choice = np.zeros(problem.columns, dtype=np.bool_)
    is_choice[columns] = True
    others = np.flatnonzero(~is_choice)
    small = [
        np.arange(f.first, f.stop) for f in problem.constraints if f.size <= MOST_IN_FAMILY and f.first != best[1].start
    ]
    coupling = np.concatenate((np.zeros(0, dtype=np.int64), *small))
    part = matrix.take(coupling)
    by_column = sparse.csr_matrix((part.values, part.columns, part.starts), (len(coupling), problem.columns)).T.tocsr()
    most = problem.row_upper[rows]
    exact = problem.row_lower[rows] == most
    chosen = (sparse.diags(1.0 / factor) @ by_column[columns]).tocsr()
    return ChoiceRows(rows, most, exact, columns, factor, first, others, coupling, chosen, by_column[others])


def choice_costs(problem: Problem, choices: ChoiceRows) -> tuple[Floats, Floats]:
    """Return the costs of `columns`, divided by `factor`, and of `others`, as if the objective were minimised."""
    sign = 1.0 if problem.objectives[0].sense == "minimize" else -1.0
    costs = sign * problem.objectives[0].costs(problem.columns)
    return costs[choices.columns] / choices.factor, costs[choices.others]


def all_duals(problem: Problem, choices: ChoiceRows, prices: Floats) -> Floats:
    """Return dual values of all rows for prices of the coupling rows: each choice gets the best one for these.

    Prices are those of the minimum; dual values are `d objective / d side` whatever the sense.
    """
    sign = 1.0 if problem.objectives[0].sense == "minimize" else -1.0
    duals = np.zeros(problem.rows)
    duals[choices.coupling] = prices
    reduced = choice_costs(problem, choices)[0] - choices.chosen @ prices
    least = np.minimum.reduceat(reduced, choices.first[:-1])
    duals[choices.rows] = np.where(choices.exact, least, np.minimum(least, 0.0))
    return np.asarray(sign * duals)


def _are_choices(problem: Problem, rows: slice, entries: slice) -> bool:
    columns = problem.matrix.columns[entries]
    lower, upper = problem.row_lower[rows], problem.row_upper[rows]
    sides = np.isfinite(upper) & (upper >= 0) & ((lower == upper) | (lower <= 0))
    if not sides.all() or (problem.matrix.values[entries] <= 0.0).any() or (problem.lower[columns] != 0.0).any():
        return False
    side = np.repeat(upper, np.diff(problem.matrix.starts)[rows])
    if (problem.upper[columns] * problem.matrix.values[entries] < side).any():
        return False
    seen = np.zeros(problem.columns, dtype=np.bool_)
    seen[columns] = True
    return int(seen.sum()) == len(columns)
