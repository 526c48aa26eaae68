"""Columns that rows force to 0 if a binary column has a value: read from the rows, for requested pairs of columns.

A row `a y + sum_j a_j x_j <= b` in which the terms at their smallest, with y == v, use up all of b leaves every other
term at its smallest; for a term that is smallest at x_j == 0 that forces x_j == 0. So does a slack below |a_j| where
x_j is integer. Typical: `sum_j x_j <= U y` with x >= 0 (y == 0 forces x_j == 0), `x + y <= 1` (y == 1 forces x == 0),
and rows under a condition on y.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.analysis.rows import Upper
from gpusched_dsl.compiling.work_budget import WorkBudget
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import ROUNDING

# What is left of a row counts as nothing below this, relative to its side.
NOTHING = ROUNDING


class _Table(Struct, frozen=True, eq=False):
    """Facts of the form (column, row), sorted by column and then row, each with an amount."""

    columns: Codes
    keys: Codes
    amounts: Floats
    rows: int

    @staticmethod
    def of(columns: Codes, rows: Codes, amounts: Floats, count: int) -> _Table:
        keys = columns.astype(np.int64) * count + rows
        order = np.argsort(keys, kind="stable")
        return _Table(columns[order].astype(np.int64), keys[order], amounts[order], count)

    def occurrences(self, columns: Codes) -> tuple[Codes, Codes]:
        """For some columns: which of them, and where in the table, for every fact about it."""
        first = np.searchsorted(self.columns, columns, side="left")
        counts = np.searchsorted(self.columns, columns, side="right") - first
        which = np.repeat(np.arange(len(columns)), counts)
        shift = np.repeat(first - (np.cumsum(counts) - counts), counts)
        return which, np.arange(len(which)) + shift

    def count(self, columns: Codes) -> int:
        left, right = (np.searchsorted(self.columns, columns, side=side) for side in ("left", "right"))
        return int((right - left).sum())

    def row(self, places: Codes) -> Codes:
        return self.keys[places] - self.columns[places] * self.rows

    def find(self, columns: Codes, rows: Codes) -> Codes:
        """The place of each fact, -1 where there is none."""
        if not len(self.keys):
            return np.full(len(columns), -1, dtype=np.int64)
        wanted = columns.astype(np.int64) * self.rows + rows
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[at] == wanted, at, -1)


LOOKUP = 20  # entries that one search in an ordered array counts for


class Implications:
    """Implications of a problem about the columns in `columns_of_interest`; bounds are those of the columns."""

    def __init__(self, problem: Problem, columns_of_interest: Bools) -> None:
        rows = Upper.of(problem.matrix, problem.row_lower, problem.row_upper)
        origin = np.concatenate((np.flatnonzero(np.isfinite(problem.row_upper)),
                                 np.flatnonzero(np.isfinite(problem.row_lower))))  # fmt: skip
        matrix, count = rows.matrix, rows.matrix.rows
        values, columns, row_of = matrix.values, matrix.columns, matrix.row_of
        low, high = problem.lower[columns], problem.upper[columns]
        least = values * np.where(values > 0, low, high)
        slack = rows.limits - np.bincount(row_of, weights=least, minlength=count)  # infinite: nothing follows
        forced = columns_of_interest[columns] & (least == 0)
        # The amount of a term at 0: the least by which it can leave it, 0 if it is not integer.
        steps = np.where(problem.integer[columns], rows.sizes, 0.0)
        self._forced = _Table.of(columns[forced], row_of[forced], steps[forced], count)
        largest = np.zeros(count)
        np.maximum.at(largest, row_of[forced], steps[forced])
        enough = np.maximum(largest, NOTHING * np.maximum(1.0, np.abs(rows.limits)))
        self._nothing = NOTHING * np.maximum(1.0, np.abs(rows.limits))

        condition = np.full(problem.rows, -1, dtype=np.int64)
        condition[problem.conditions.rows] = problem.conditions.columns
        binary = columns_of_interest & problem.integer & (problem.lower == 0) & (problem.upper == 1)
        entries = np.flatnonzero(binary[columns] & (condition[origin] < 0)[row_of] & np.isfinite(slack)[row_of])
        self._forcing = []
        for value in (0.0, 1.0):
            left = slack[row_of[entries]] + least[entries] - values[entries] * value
            fine = left <= enough[row_of[entries]]
            at = entries[fine]
            under = np.flatnonzero(condition[origin] >= 0)
            wanted = np.zeros(problem.rows, dtype=np.bool_)
            wanted[problem.conditions.rows[problem.conditions.values == bool(value)]] = True
            under = under[wanted[origin[under]] & (slack[under] <= enough[under])]
            self._forcing.append(
                _Table.of(
                    np.concatenate((columns[at], condition[origin[under]])),
                    np.concatenate((row_of[at], under)),
                    np.concatenate((left[fine], slack[under])),
                    count,
                )
            )

    def forces(self, binary: Codes, column: Codes, value: int, work: WorkBudget) -> Bools:
        """For each pair: does `binary == value` force `column == 0`?

        Raises TooMuchWork where the rows of the columns, taken for each pair, are more than `work` allows.
        """
        forcing, forced = self._forcing[value], self._forced
        by_binary, by_column = forcing.count(binary), forced.count(column)
        work.spend(LOOKUP * (len(binary) + min(by_binary, by_column)))
        if by_binary <= by_column:
            which, one = forcing.occurrences(binary)
            other = forced.find(column[which], forcing.row(one))
            hit = other >= 0
            slack, step, row = forcing.amounts[one[hit]], forced.amounts[other[hit]], forcing.row(one[hit])
        else:
            which, other = forced.occurrences(column)
            one = forcing.find(binary[which], forced.row(other))
            hit = one >= 0
            slack, step, row = forcing.amounts[one[hit]], forced.amounts[other[hit]], forcing.row(one[hit])
        nothing = self._nothing[row]
        follows = (slack <= nothing) | (slack + nothing < step)
        result = np.zeros(len(binary), dtype=np.bool_)
        result[which[hit][follows]] = True
        return result
