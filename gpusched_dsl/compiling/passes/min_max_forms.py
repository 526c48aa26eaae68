"""Entries `t == max(b_1, ..., b_n)` with the ranges of their arguments, and the rows that need no binaries."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder, index_of_columns
from gpusched_dsl.compiling.passes.rows import RowBuilder, number_index, numbers_within
from gpusched_dsl.compiling.passes.steps import Analysis
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines, Definition, MinMax, Reified, Unary
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.source import Span


class Maxima(Struct, frozen=True, eq=False, dict=True):
    """`t[i] == max` of the expressions `starts[i] .. starts[i+1]-1` of `b`, where `t[i] = sign * results[i]`.

    `low .. high` are the ranges of the expressions. `lower[i]`: `t >= max b` is needed, `upper[i]`: `t <= max b` is.
    `integer` flags the integer columns of the problem, `column_low .. column_high` are the bounds of its columns.
    """

    sign: float
    results: Int32s
    starts: Codes
    b: Affines
    low: Floats
    high: Floats
    lower: Bools
    upper: Bools
    integer: Bools
    column_low: Floats
    column_high: Floats
    one_sided: Bools
    family: str
    name: str
    span: Span | None
    mirrored: bool = False

    @staticmethod
    def of(definition: Definition, analysis: Analysis) -> Maxima:
        bounds, arguments, starts = analysis.bounds, definition.arguments, definition.starts
        sign = -1.0 if isinstance(definition, MinMax) and not definition.largest else 1.0
        b = Affines(
            structs.replace(arguments.matrix, values=sign * arguments.matrix.values), sign * arguments.constants
        )
        mirrored = isinstance(definition, Unary)
        if mirrored:  # abs(a): a and -a side by side
            b, starts = _with_negatives(b), 2 * np.arange(definition.size + 1, dtype=np.int64)
        low, high = bounds.of(b)
        down, up = analysis.directions.down[definition.results], analysis.directions.up[definition.results]
        problem = analysis.problem
        family = problem.column_family(int(definition.results[0])).name if definition.size else ""
        return Maxima(
            sign, definition.results, starts, b, low, np.maximum(low, high),
            down if sign > 0 else up, up if sign > 0 else down,
            problem.integer, bounds.lower, bounds.upper, _one_sided(problem), family, definition.name, definition.span,
            mirrored,
        )  # fmt: skip

    # --- parts -------------------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        return len(self.results)

    @cached_property
    def counts(self) -> Codes:
        return np.diff(self.starts)

    @cached_property
    def entry_of(self) -> Codes:
        return np.repeat(np.arange(self.size, dtype=np.int64), self.counts)

    @cached_property
    def floor(self) -> Floats:
        """The largest lower end of the arguments of each entry: t is nowhere below."""
        return np.maximum.reduceat(self.low, self.starts[:-1]) if self.size else np.zeros(0)

    @cached_property
    def ceiling(self) -> Floats:
        return np.maximum.reduceat(self.high, self.starts[:-1]) if self.size else np.zeros(0)

    @cached_property
    def constant(self) -> Bools:
        """Which arguments read no column."""
        constant: Bools = np.diff(self.b.matrix.starts) == 0
        return constant

    def take(self, entries: Codes) -> Maxima:
        if len(entries) == self.size:
            return self
        kept = np.zeros(self.size, dtype=np.bool_)
        kept[entries] = True
        taken = self._with_arguments(kept[self.entry_of])
        counts = self.counts[entries]
        return structs.replace(
            taken, results=self.results[entries], starts=np.concatenate(([0], np.cumsum(counts))),
            lower=self.lower[entries], upper=self.upper[entries],
        )  # fmt: skip

    def _with_arguments(self, kept: Bools) -> Maxima:
        at = np.flatnonzero(kept)
        counts = np.bincount(self.entry_of[at], minlength=self.size)
        starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        return structs.replace(self, starts=starts, b=self.b.take(at), low=self.low[at], high=self.high[at])

    def without_dominated(self) -> Maxima:
        """The same without arguments that another one exceeds or equals everywhere.

        That is the one whose lower end is the largest, or one that differs by a constant.
        """
        if not self.size:
            return self
        single = ~self._repeated_arguments()
        anchor = first_true(single & (self.low == self.floor[self.entry_of]), self.starts)
        kept = single & (self.high > self.floor[self.entry_of])
        kept[anchor] = True
        return self if kept.all() else self._with_arguments(kept)

    def _repeated_arguments(self) -> Bools:
        """Return arguments with the columns of another argument of their entry and a larger, or an equal
        later, constant.
        """
        # Two random numbers for each column: sums of them tell expressions apart, but for a chance of about 2^-100.
        matrix = self.b.matrix
        marks = np.random.default_rng(0).standard_normal((2, len(self.column_low)))
        sums = [np.bincount(matrix.row_of, matrix.values * mark[matrix.columns], matrix.rows) for mark in marks]
        order = np.lexsort((-self.b.constants, *sums, self.entry_of))
        keys = np.column_stack((self.entry_of, *sums))[order]
        repeated = np.zeros(matrix.rows, dtype=np.bool_)
        repeated[order[1:]] = (keys[1:] == keys[:-1]).all(axis=1)
        return repeated

    def any_argument(self, flags: Bools) -> Bools:
        """Whether some argument of each entry is flagged."""
        found: Bools = np.bincount(self.entry_of[flags], minlength=self.size) > 0
        return found

    @cached_property
    def entry_of_nonzero(self) -> Codes:
        """The entry of each nonzero of the arguments."""
        return self.entry_of[self.b.matrix.row_of]

    @cached_property
    def literal(self) -> Bools:
        """Return which nonzeros belong to integer columns with two values."""
        columns = self.b.matrix.columns
        literal: Bools = self.integer[columns] & (self.column_high[columns] - self.column_low[columns] == 1.0)
        return literal

    @cached_property
    def least(self) -> Floats:
        """The smallest value of each nonzero times its column."""
        columns, values = self.b.matrix.columns, self.b.matrix.values
        return np.where(values > 0, values * self.column_low[columns], values * self.column_high[columns])

    # --- rows --------------------------------------------------------------------------------------------------------

    def state_equal(self, builder: ProblemBuilder, halves: bool) -> None:
        """t is its only argument: the column itself where that is a plain one, else by a row.

        With `halves` the row states the needed half only: an equation needs both halves of a convex term inside.
        """
        single = (
            self.b.single
            if self.sign > 0
            else Affines(structs.replace(self.b.matrix, values=-self.b.matrix.values), -self.b.constants).single
        )
        plain = np.flatnonzero(single >= 0)
        if len(plain):
            builder.substitute(self.results[plain], single[plain])
        rest = np.flatnonzero(single < 0)
        if len(rest):
            rows = self.rows_against(rest, np.arange(len(rest), dtype=np.int64))
            index = index_of_columns(builder.problem, self.results[rest])
            low, high = self._sides(rows.side, rest, halves)
            builder.add_rows(f"{self.family}.equal", index, rows.matrix(), low, high, self.span)

    def rows_against(self, arguments: Codes, rows: Codes) -> RowBuilder:
        """Rows `result - argument` in the author's signs."""
        built = RowBuilder(int(rows.max(initial=-1)) + 1)
        built.add(rows, self.results[self.entry_of[arguments]], 1.0)
        return built.add_affines(rows, self.b.take(arguments), -self.sign)

    def state_lower(self, builder: ProblemBuilder) -> None:
        """Add `t >= b_k` for every nonconstant argument: the bounds of t cover the constants."""
        arguments = np.flatnonzero(~self.constant)
        rows = self.rows_against(arguments, np.arange(len(arguments), dtype=np.int64))
        low, high = (rows.side, np.inf) if self.sign > 0 else (-np.inf, rows.side)
        numbers = numbers_within(self.entry_of[arguments])
        index = number_index(builder.problem, self.results[self.entry_of[arguments]], numbers)
        builder.add_rows(f"{self.family}.epigraph", index, rows.matrix(), low, high, self.span)

    def of_one_binary(self) -> Bools:
        """Return which entries read only one column, integer and with two values."""
        found = np.zeros(self.size, dtype=np.bool_)
        entry, columns = self.entry_of_nonzero, self.b.matrix.columns
        first = np.full(self.size, -1, dtype=np.int64)
        first[entry[::-1]] = columns[::-1]
        found[entry] = True
        found[entry[(columns != first[entry]) | ~self.literal]] = False
        return found

    def state_switched(self, builder: ProblemBuilder) -> None:
        """`t = f(l) + (f(l + 1) - f(l)) (x - l)` for the one column x with values l and l + 1."""
        x = np.zeros(self.size, dtype=np.int32)
        x[self.entry_of_nonzero] = self.b.matrix.columns
        at = self.column_low.copy()
        off, on = self._values(at), self._values(at + 1.0)
        slope = on - off
        each = np.arange(self.size, dtype=np.int64)
        rows = RowBuilder(self.size).add(each, self.results, 1.0).add(each, x, -self.sign * slope)
        side = self.sign * (off - slope * at[x])
        index = index_of_columns(builder.problem, self.results)
        low, high = self._sides(side, np.arange(self.size), False)
        builder.add_rows(f"{self.family}.switch", index, rows.matrix(), low, high, self.span)

    def _sides(self, side: Floats, entries: Codes, halves: bool) -> tuple[Floats, Floats]:
        """The sides of rows `t - f == side`; of one half only, where no other is needed.

        An equality is stronger, but asks for both halves of the results that it reads, which some comparisons lack.
        """
        below, above = (self.lower, self.upper) if self.sign > 0 else (self.upper, self.lower)
        half = self._reads_one_sided()[entries] | halves
        low = np.where(half & above[entries] & ~below[entries], -np.inf, side)
        return low, np.where(half & below[entries] & ~above[entries], np.inf, side)

    def _reads_one_sided(self) -> Bools:
        """Which entries read the truth of a comparison that cannot be negated."""
        found = np.zeros(self.size, dtype=np.bool_)
        found[self.entry_of_nonzero[self.one_sided[self.b.matrix.columns]]] = True
        return found

    def _values(self, point: Floats) -> Floats:
        return np.maximum.reduceat(self.b.values(point), self.starts[:-1])


def _one_sided(problem: Problem) -> Bools:
    """Return the truth columns of comparisons with continuous arguments: no row states the opposite."""
    found = np.zeros(problem.columns, dtype=np.bool_)
    for definition in problem.definitions:
        if isinstance(definition, Reified):
            found[definition.results[steps_of(definition.arguments, problem.integer) == 0]] = True
    return found


def _with_negatives(affines: Affines) -> Affines:
    """Every expression followed by its negative."""
    count = affines.count
    twice = affines.take(np.repeat(np.arange(count, dtype=np.int64), 2))
    sign = np.tile([1.0, -1.0], count)
    matrix = twice.matrix
    return Affines(structs.replace(matrix, values=matrix.values * sign[matrix.row_of]), twice.constants * sign)


def first_true(flags: Bools, starts: Codes) -> Codes:
    """The first place in each group at which the flag is set (each group has one)."""
    places = np.where(flags, np.arange(len(flags), dtype=np.int64), len(flags))
    return np.minimum.reduceat(places, starts[:-1])
