"""Integers as sums of binary digits; a column that is requested again keeps its digits."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.rows import RowBuilder, number_index
from gpusched_dsl.ir.arrays import Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.language.source import Span


class Digits:
    """The digits that a pass has given to integers."""

    def __init__(self, builder: ProblemBuilder) -> None:
        self.builder = builder
        self._first = np.full(builder.problem.columns, -1, dtype=np.int32)  # the lowest digit of a column

    def of(
        self, numbers: Affines, low: Floats, high: Floats, family: str, results: Int32s, span: Span | None
    ) -> tuple[Codes, Codes, Int32s]:
        """Return the digits of some integers in `low .. high` (`low < high`), as (number, place, column) of each digit.

        `numbers[i] == low[i] + sum_k 2^k digit_k`; the families of new digits are named after `family` and indexed as
        `results`, the first result with a number standing for all with the same column.
        """
        counts = np.floor(np.log2(np.maximum(high - low, 1.0))).astype(np.int64) + 1
        single = numbers.single
        known = np.where(single >= 0, self._first[single], -1)
        # Of the numbers without digits, one per column, and every expression of its own.
        keys = np.where(single >= 0, single, len(self._first) + np.arange(len(single)))
        new = np.flatnonzero(known < 0)
        _, chosen = np.unique(keys[new], return_index=True)
        new = new[np.sort(chosen)]
        first = known.astype(np.int32)
        if len(new):
            new_columns = self._add(numbers.take(new), low[new], counts[new], family, results[new], span)
            plain = single[new] >= 0
            self._first[single[new][plain]] = new_columns[plain]
            first[new] = new_columns
            first = np.where((first < 0) & (single >= 0), self._first[single], first).astype(np.int32)
        owner = np.repeat(np.arange(len(single)), counts)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        return owner, place, (first[owner] + place).astype(np.int32)

    def _add(
        self, numbers: Affines, low: Floats, counts: Codes, family: str, results: Int32s, span: Span | None
    ) -> Int32s:
        """New digits with their rows; the first column of each number."""
        builder = self.builder
        owner = np.repeat(np.arange(numbers.count), counts)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)

        def values(point: Floats) -> Floats:
            rest = np.rint(numbers.values(point) - low).astype(np.int64)[owner]
            return ((rest >> place) & 1).astype(np.float64)

        index = number_index(builder.problem, results[owner], place)
        digits = builder.add_columns(f"{family}.digits", index, 0.0, 1.0, True, values, span)
        every = np.arange(numbers.count)
        rows = RowBuilder(numbers.count).add_affines(every, numbers, 1.0).add(owner, digits, -np.exp2(place))
        side = low + rows.side
        builder.add_rows(f"{family}.number", IntervalDomain(1, numbers.count), rows.matrix(), side, side, span)
        first: Int32s = digits[np.cumsum(counts) - counts]
        return first
