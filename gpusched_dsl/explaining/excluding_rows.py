"""Rows that by themselves exclude a job from elements of the placement, whatever the other variables are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.activity import Activity
from gpusched_dsl.ir.arrays import Bools, Floats, Int32s, Ints
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.solving.primal.propagation import PropagationDomain
from gpusched_dsl.solving.primal.rows import entries, rows_of

TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class ExcludingRows:
    """The rows that exclude an element by themselves: `column`, `row`, what the element `needs` and what is `free`.

    `column` is a position in the family. `most`: what is free without other jobs.
    """

    column: Ints
    row: Ints
    needs: Floats
    free: Floats
    most: Floats

    @property
    def alone(self) -> Bools:
        """Which rows exclude the element without other jobs too."""
        return self.needs > self.most + TOLERANCE * np.maximum(1.0, np.abs(self.needs))


def excluding_rows(problem: Problem, family: Family, candidates: Ints, times: float = 1.0) -> ExcludingRows:
    """Return the rows that exclude candidates (positions in the family).

    `times`: each candidate needs so many times its coefficient.
    """
    none, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
    if not problem.rows:
        return ExcludingRows(none, none, nothing, nothing, nothing)
    rows = rows_of(problem)
    domain = PropagationDomain(problem, rows)
    if not domain.settle():  # a tolerance of the plan: nothing follows from single rows
        return ExcludingRows(none, none, nothing, nothing, nothing)
    columns = (family.first + candidates).astype(np.int32)
    at, counts = entries(rows.column_starts, columns)
    row, value = rows.rows[at].astype(np.int64), rows.column_values[at]
    column = np.repeat(candidates, counts)
    empty_lower = problem.lower.copy()
    empty_lower[family.slice] = 0.0  # without other jobs
    empty = Activity.of(problem.matrix, empty_lower, problem.upper)
    row_upper, row_lower = problem.row_upper[row], problem.row_lower[row]
    with np.errstate(invalid="ignore"):
        free: Floats = np.where(value > 0, row_upper - _values(domain.least, domain.least_open, -np.inf)[row],
                        _values(domain.most, domain.most_open, np.inf)[row] - row_lower)  # fmt: skip
        most: Floats = np.where(value > 0, row_upper - empty.smallest_values[row],
                                empty.largest_values[row] - row_lower)  # fmt: skip
    needs = times * np.abs(value)
    violated = needs > free + TOLERANCE * np.maximum(1.0, np.maximum(needs, np.abs(free)))
    return ExcludingRows(column[violated], row[violated], needs[violated], free[violated], most[violated])


def _values(sums: Floats, infinite: Int32s, otherwise: float) -> Floats:
    """The smallest or largest values of rows; `otherwise` for those with infinite terms."""
    found: Floats = np.where(infinite > 0, otherwise, sums)
    return found
