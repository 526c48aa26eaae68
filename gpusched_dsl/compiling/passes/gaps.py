"""Gaps in the values of columns: `x <= U or x >= L` with `U < L` excludes all values between.

Semicontinuous variables are stated so, and so are ranges that an author excludes. The opposite of `x >= t`, with t in
the gap or at its upper end, is then `x <= U`: a comparison of a continuous column that has one.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Bools, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines, Reified
from gpusched_dsl.ir.problem import Problem


class Gaps(Struct, frozen=True, eq=False):
    """The column `columns[i]` has no value between `low[i]` and `high[i]`; columns ascend, and may occur again."""

    columns: Int32s
    low: Floats
    high: Floats

    def beyond(self, columns: Int32s, sides: Floats, is_lower: Bools) -> Floats:
        """Return the next value that each column can have on the other side of a lower or an upper side; NaN: unknown.

        It is known where a gap begins at the side, or reaches over it.
        """
        begin, end = (np.searchsorted(self.columns, columns, side) for side in ("left", "right"))
        counts = end - begin
        entry = np.repeat(np.arange(len(columns)), counts)
        gap = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts, counts) + begin[entry]
        low, high, side, lower = self.low[gap], self.high[gap], sides[entry], is_lower[entry]
        fits = np.where(lower, (low < side) & (side <= high), (low <= side) & (side < high))
        result = np.full(len(columns), np.nan)
        result[entry[fits]] = np.where(lower, low, high)[fits]
        return result


def gaps_of(problem: Problem) -> Gaps:
    """Return the gaps that rows `[x <= U] + [x >= L] >= 1` over comparisons of one column state."""
    column = np.full(problem.columns, -1, dtype=np.int32)
    most, least = np.full(problem.columns, np.nan), np.full(problem.columns, np.nan)
    for definition in problem.definitions:
        if isinstance(definition, Reified):
            _read(definition, column, most, least)
    rows = problem.matrix
    clause = (np.diff(rows.starts) == 2) & (problem.row_lower == 1.0)
    clause[problem.conditions.rows] = False
    first = rows.starts[:-1][clause]
    first = first[(rows.values[first] == 1.0) & (rows.values[first + 1] == 1.0)]
    one, other = rows.columns[first], rows.columns[first + 1]
    swapped = np.isnan(most[one])
    low, high = np.where(swapped, other, one), np.where(swapped, one, other)
    gap = (column[low] >= 0) & (column[low] == column[high]) & (most[low] < least[high])
    order = np.argsort(column[low][gap], kind="stable")
    return Gaps(column[low][gap][order], most[low][gap][order], least[high][gap][order])


def single_columns(affines: Affines) -> tuple[Bools, Int32s, Floats]:
    """Return which expressions are `a * x + b`, and of these the columns and factors (else 0 and 1)."""
    starts = affines.matrix.starts
    single = np.diff(starts) == 1
    columns, factors = np.zeros(affines.count, dtype=np.int32), np.ones(affines.count)
    columns[single] = affines.matrix.columns[starts[:-1][single]]
    factors[single] = affines.matrix.values[starts[:-1][single]]
    return single & (factors != 0.0), columns, np.where(factors == 0.0, 1.0, factors)


def _read(definition: Reified, column: Int32s, most: Floats, least: Floats) -> None:
    """Fill in the side of one-sided comparisons of a column."""
    single, columns, factors = single_columns(definition.arguments)
    lower = (definition.lower - definition.arguments.constants) / factors
    upper = (definition.upper - definition.arguments.constants) / factors
    lower, upper = np.where(factors > 0, lower, upper), np.where(factors > 0, upper, lower)
    for one_sided, side, into in (
        (single & np.isneginf(lower) & np.isfinite(upper), upper, most),
        (single & np.isposinf(upper) & np.isfinite(lower), lower, least),
    ):
        results = definition.results[one_sided]
        column[results], into[results] = columns[one_sided], side[one_sided]
