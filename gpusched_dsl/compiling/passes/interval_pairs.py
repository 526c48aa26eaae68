"""Intervals of the entries of a condition, their pairs, and rows about them, for the passes that reformulate them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.passes.missing_bounds import missing_bounds
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.rows import RowBuilder, numbered_index, numbers_within
from gpusched_dsl.compiling.passes.steps import Analysis, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines, Definition, IntervalDefinition, MinMax, Reified, unary_starts
from gpusched_dsl.ir.definitions.scheduling import room
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


def entries_not_taken(analysis: Analysis, target: Target, definition: IntervalDefinition) -> Bools:
    """The entries that a pass must reformulate: a target takes only conditions that must be true."""
    must = analysis.bounds.lower[definition.results] > 0.5
    return ~must if target.takes(definition.op) else np.ones(definition.size, dtype=np.bool_)


class Intervals(Struct, frozen=True, eq=False, dict=True):
    """The intervals of some entries of a definition that may be present.

    `first` is the first argument of each, `entry` its entry.
    """

    builder: ProblemBuilder
    analysis: Analysis
    definition: IntervalDefinition
    first: Codes
    entry: Codes

    @staticmethod
    def of(builder: ProblemBuilder, analysis: Analysis, definition: IntervalDefinition, entries: Bools) -> Intervals:
        first, entry = definition.intervals, definition.interval_entry
        _, present = analysis.bounds.of(definition.arguments.take(first + 2))
        kept = entries[entry] & (present > 0.5)
        return Intervals(builder, analysis, definition, first[kept], entry[kept])

    @property
    def count(self) -> int:
        return len(self.first)

    @cached_property
    def sure(self) -> Bools:
        """Which entries must be true."""
        return np.asarray(self.analysis.bounds.lower[self.definition.results] > 0.5)

    @cached_property
    def is_fixed(self) -> Bools:
        """Which intervals are always present."""
        return np.asarray(self.analysis.bounds.of(self.part(2))[0] > 0.5)

    def part(self, number: int, intervals: Codes | None = None) -> Affines:
        """The arguments with this number, of some intervals or of all."""
        first = self.first if intervals is None else self.first[intervals]
        return self.definition.arguments.take(first + number)

    @cached_property
    def pairs(self) -> tuple[Codes, Codes]:
        """All pairs of intervals of one entry, each once."""
        counts = np.bincount(self.entry, minlength=self.definition.size)
        behind = np.cumsum(counts)[self.entry] - np.arange(self.count) - 1
        one = np.repeat(np.arange(self.count, dtype=np.int64), behind)
        self.builder.expect(len(one), self.definition.name, self.definition.span)
        return one, one + numbers_within(one)

    def end_after_start(self, one: Codes, other: Codes) -> Affines:
        """The end of the first of two intervals minus the start of the second."""
        return self._difference(one, other, (0, 1))

    def start_after_start(self, one: Codes, other: Codes) -> Affines:
        """The start of the first of two intervals minus the start of the second."""
        return self._difference(one, other, (0,))

    def _difference(self, one: Codes, other: Codes, parts: tuple[int, ...]) -> Affines:
        rows, every = RowBuilder(len(one)), np.arange(len(one), dtype=np.int64)
        for part in parts:
            rows.add_affines(every, self.part(part, one), 1.0)
        rows.add_affines(every, self.part(0, other), -1.0)
        return Affines(rows.matrix(), rows.constants)

    # --- columns and rows --------------------------------------------------------------------------------------------

    def name(self, what: str) -> str:
        return f"{self.builder.problem.column_family(int(self.definition.results[0])).name}.{what}"

    def index(self, entry: Codes) -> Domain:
        """The index of each entry, with a number."""
        return numbered_index(self.builder.index_of(self.definition), entry)

    def order_columns(self, what: str, entry: Codes, difference: Affines) -> Int32s:
        """Binaries that a start sets to 1 where a difference of times is at most 0."""

        def values(point: Floats) -> Floats:
            return is_at_most_zero(difference, point)

        return self.builder.add_columns(
            self.name(what), self.index(entry), 0.0, 1.0, True, values, self.definition.span
        )

    def add_at_most_zero(
        self, what: str, entry: Codes, affines: Affines, condition: tuple[Int32s, bool] | None = None
    ) -> None:
        """State that expressions are at most 0, where a binary has a value if one is given."""
        if not affines.count:
            return
        given = None if condition is None else (condition[0], np.full(affines.count, condition[1]))
        self.builder.add_rows(
            self.name(what), self.index(entry), affines.matrix, -np.inf, 0.0 - affines.constants,
            self.definition.span, given,
        )  # fmt: skip

    def add_where_true(self, what: str, entry: Codes, rows: RowBuilder, upper: Floats | float) -> None:
        """State that rows are at most `upper`, each where its entry is true."""
        sure = self.sure[entry]
        matrix, side = rows.matrix(), upper + rows.side
        for mine, name in ((np.flatnonzero(sure), what), (np.flatnonzero(~sure), f"{what}_if")):
            if len(mine):
                results = self.definition.results[entry[mine]]
                condition = None if sure[mine[0]] else (results, np.ones(len(mine), dtype=np.bool_))
                self.builder.add_rows(
                    self.name(name), self.index(entry[mine]), matrix.take(mine), -np.inf, side[mine],
                    self.definition.span, condition,
                )  # fmt: skip

    def add_no_negative(self, number: int, what: str) -> None:
        """State that an argument of present intervals is not negative: `a >= least (1 - present)`.

        Raises DiagnosticError (GSM3202) for an argument without a least value if its interval may be absent.
        """
        low, _ = self.analysis.bounds.of(self.part(number))
        low = np.where(self.is_fixed & np.isinf(low), -1.0, low)  # any number below 0: nothing is absent
        endless = np.flatnonzero(np.isinf(low))
        if len(endless):
            problem, bounds, needed = self.builder.problem, self.analysis.bounds, (endless, endless[:0])
            definition = self.definition
            raise DiagnosticError(
                missing_bounds(problem, bounds, self.part(number), needed, definition.name, definition.span)
            )
        mine = np.flatnonzero(surely_positive(-low))
        if not len(mine):
            return
        rows, every = RowBuilder(len(mine)), np.arange(len(mine), dtype=np.int64)
        rows.add_affines(every, self.part(number, mine), -1.0)
        rows.add_affines(every, self.part(2, mine), -low[mine])
        self.add_where_true(what, self.entry[mine], rows, -low[mine])

    def comparisons(self, what: str, entry: Codes, difference: Affines) -> Reified:
        """The truth of "a difference is at most 0", in new columns."""
        columns = self.order_columns(what, entry, difference)
        plain = Affines(difference.matrix, np.zeros(difference.count))
        steps = steps_of(plain, self.builder.integer)
        lower, upper = np.full(difference.count, -np.inf), 0.0 - difference.constants
        definition = self.definition
        return Reified(
            columns, unary_starts(difference.count), plain, definition.span, definition.name, lower, upper, steps
        )

    def any_of(self, what: str, entry: Codes, choices: list[Affines]) -> tuple[Affines, MinMax]:
        """New columns that are 1 where one of the 0/1 choices of a row is."""

        def values(point: Floats) -> Floats:
            found: Floats = np.maximum.reduce([c.values(point) for c in choices])
            return found

        index, span = self.index(entry), self.definition.span
        columns = self.builder.add_columns(self.name(what), index, 0.0, 1.0, True, values, span)
        every = np.arange(len(entry), dtype=np.int64)
        made = self.extremes(columns, [(every, c) for c in choices], largest=True)
        return Affines.of_columns(columns), made

    def all_of(self, entries: Codes, parts: list[tuple[Codes, Affines]]) -> MinMax:
        """The truth of entries: that of all 0/1 values, each with its entry."""
        number = np.full(self.definition.size, -1, dtype=np.int64)
        number[entries] = np.arange(len(entries))
        always = (np.arange(len(entries)), Affines(RowBuilder(len(entries)).matrix(), np.ones(len(entries))))
        numbered = [(number[entry], truths) for entry, truths in parts]
        return self.extremes(self.definition.results[entries], [always, *numbered], largest=False)

    def extremes(self, results: Int32s, parts: list[tuple[Codes, Affines]], largest: bool) -> MinMax:
        """The largest or smallest of the expressions of each result; `parts` have the place of the result of each."""
        owners = np.concatenate([owner for owner, _ in parts])
        place = np.empty(len(owners), dtype=np.int64)
        place[np.argsort(owners, kind="stable")] = np.arange(len(owners))
        rows, first = RowBuilder(len(owners)), 0
        for _, affines in parts:
            rows.add_affines(place[first : first + affines.count], affines, 1.0)
            first += affines.count
        starts = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=len(results))))).astype(np.int64)
        arguments = Affines(rows.matrix(), rows.constants)
        return MinMax(results, starts, arguments, self.definition.span, self.definition.name, largest)

    def nonnegative(self, number: int, what: str) -> tuple[list[Definition], list[tuple[Codes, Affines]]]:
        """The truth of "an argument of a present interval is not negative", where it may be, with its entries."""
        low, _ = self.analysis.bounds.of(self.part(number))
        mine = np.flatnonzero(surely_positive(-low))
        if not len(mine):
            return [], []
        entry, amounts = self.entry[mine], self.part(number, mine)
        usable = self.comparisons(what, entry, negate(amounts))
        choices = [Affines.of_columns(usable.results), opposite(self.part(2, mine))]
        columns, made = self.any_of(f"{what}_usable", entry, choices)
        return [usable, made], [(entry, columns)]


def negate(affines: Affines) -> Affines:
    rows, every = RowBuilder(affines.count), np.arange(affines.count, dtype=np.int64)
    rows.add_affines(every, affines, -1.0)
    return Affines(rows.matrix(), rows.constants)


def opposite(truths: Affines) -> Affines:
    """One minus 0/1 values."""
    less = negate(truths)
    return Affines(less.matrix, 1.0 + less.constants)


def is_at_most_zero(affines: Affines, point: Floats) -> Floats:
    """1 where a difference of times is at most 0, within the tolerance of intervals."""
    values = affines.values(point)
    found: Floats = (values <= room(values)).astype(np.float64)
    return found


def surely_positive(low: Floats) -> Bools:
    """Whether expressions are above 0 by more than rounding, from their least values."""
    return np.asarray(np.isposinf(low) | (low > ROUNDING * np.maximum(1.0, np.abs(low))))
