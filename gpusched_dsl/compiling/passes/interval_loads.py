"""The load of intervals, at the start of each: the form by pairs, for times of any kind.

Takes `r == [at every time, the demands d_k of the intervals (s_k, p_k) with x_k == 1 are at most C]`, r binary. The
load is largest where an interval starts. For each i, where r is 1,

    d_i x_i + sum_k d_k a_ki <= C,    a_ki >= [k starts before or with i] - b_ki + x_k + x_i - 2
    s_k + p_k <= s_i   where b_ki = 1

and a_ki <= x_k if d_k may be negative, as it may for an absent k, which must not lessen the load.

Who starts first of two is a binary: `s_i <= s_k` where o_ik = 1, `s_k <= s_i` where o_ik = 0. Of intervals that start
together, one must count all others, so orders may have no cycles: `n_i + 1 <= n_k` where o_ik = 1, and the opposite.
An interval of length 0 has no load: where p_i may be 0, x_i - z_i stands for x_i, with `p_i <= 0` where z_i = 1.
Demands, capacity and lengths of present intervals are not negative. If it is needed that r is 1 where the load fits,

    r == min over i of max([d_i + sum_k d_k u_ki <= C], 1 - x_i, [p_i <= 0]),
    u_ki == min([s_k <= s_i], 1 - [s_k + p_k <= s_i], x_k)

which later passes take. Leaves entries that must be true to targets that take them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.analysis.integrality import integer_affines
from gpusched_dsl.compiling.passes.interval_pairs import (
    Intervals,
    entries_not_taken,
    is_at_most_zero,
    negate,
    opposite,
    surely_positive,
)
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.rows import RowBuilder
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines, Cumulative, Definition, Product


class IntervalLoads:
    """Cumulative -> rows under conditions, or comparisons."""

    name: ClassVar[str] = "interval_loads"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return target.takes(INTEGERS) and any(
            isinstance(d, Cumulative) and entries_not_taken(analysis, target, d).any()
            for d in analysis.problem.definitions
        )

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        for definition in analysis.problem.definitions:
            if isinstance(definition, Cumulative):
                entries = entries_not_taken(analysis, target, definition)
                if entries.any():
                    _reformulate(builder, analysis, definition, entries)
        return builder.step()


def _reformulate(builder: ProblemBuilder, analysis: Analysis, definition: Cumulative, entries: Bools) -> None:
    rows, columns = builder.rows, builder.columns
    sure = analysis.bounds.lower[definition.results] > 0.5
    both_ways = entries & ~sure & analysis.directions.down[definition.results]
    made: list[Definition] = []
    one_way = entries & ~both_ways
    if one_way.any():
        made += _state(Intervals.of(builder, analysis, definition, one_way), np.flatnonzero(one_way))
    if both_ways.any():
        made += _define(Intervals.of(builder, analysis, definition, both_ways), np.flatnonzero(both_ways))
    builder.replace(definition, entries, tuple(made))
    builder.notes.append(
        Note(
            IntervalLoads.name, definition.name, "the load is counted where an interval starts", int(entries.sum()),
            builder.rows - rows, builder.columns - columns, span=definition.span,
        )
    )  # fmt: skip


def _meeting(intervals: Intervals) -> tuple[Codes, Codes]:
    """The pairs that can overlap; intervals that are always of length 0 are in none."""
    one, other = intervals.pairs
    bounds = intervals.analysis.bounds
    first, second = intervals.end_after_start(one, other), intervals.end_after_start(other, one)
    meet = np.flatnonzero(surely_positive(bounds.of(first)[1]) & surely_positive(bounds.of(second)[1]))
    return one[meet], other[meet]


# --- rows where the condition is true --------------------------------------------------------------------------------


def _state(intervals: Intervals, entries: Codes) -> list[Definition]:
    no_negative(intervals, entries)
    if not intervals.count:
        return []
    working = _presence(intervals)
    one, other = _meeting(intervals)
    counted, owner, truths = _countable_pairs(intervals, one, other, working)
    own, made = weigh_by_truth(intervals, "load", intervals.entry, working, intervals.part(3))
    others, more = weigh_by_truth(intervals, "loads", intervals.entry[owner], truths, intervals.part(3, counted))
    rows, every = RowBuilder(intervals.count), np.arange(intervals.count, dtype=np.int64)
    rows.add_affines(every, own, 1.0).add_affines(owner, others, 1.0)
    rows.add_affines(every, capacity_of(intervals, intervals.entry), -1.0)
    intervals.add_where_true("at_start", intervals.entry, rows, 0.0)
    return [*made, *more]


def no_negative(intervals: Intervals, entries: Codes) -> None:
    """State that lengths and demands of present intervals are not negative, and capacities."""
    intervals.add_no_negative(1, "length")
    intervals.add_no_negative(3, "demand")
    no_negative_capacity(intervals, entries)


def no_negative_capacity(intervals: Intervals, entries: Codes) -> None:
    """State that capacities are not negative."""
    capacities = capacity_of(intervals, entries)
    low, _ = intervals.analysis.bounds.of(capacities)
    mine = np.flatnonzero(surely_positive(-low))
    if len(mine):
        rows = RowBuilder(len(mine)).add_affines(np.arange(len(mine)), capacities.take(mine), -1.0)
        intervals.add_where_true("capacity", entries[mine], rows, 0.0)


def capacity_of(intervals: Intervals, entry: Codes) -> Affines:
    definition = intervals.definition
    assert isinstance(definition, Cumulative)
    return definition.arguments.take(definition.capacities[entry])


def _presence(intervals: Intervals) -> Affines:
    """1 for intervals that are present and not of length 0."""
    low, _ = intervals.analysis.bounds.of(intervals.part(1))
    empty = np.flatnonzero(~surely_positive(low))
    rows, every = RowBuilder(intervals.count), np.arange(intervals.count, dtype=np.int64)
    rows.add_affines(every, intervals.part(2), 1.0)
    if len(empty):
        entry, lengths = intervals.entry[empty], intervals.part(1, empty)
        present, span = intervals.part(2, empty), intervals.definition.span

        def values(point: Floats) -> Floats:
            return is_at_most_zero(lengths, point) * present.values(point)

        columns = intervals.builder.add_columns(
            intervals.name("empty"), intervals.index(entry), 0.0, 1.0, True, values, span
        )
        intervals.add_at_most_zero("empty_if", entry, lengths, (columns, True))
        # An absent interval is not counted as empty, too.
        less = RowBuilder(len(empty)).add(np.arange(len(empty), dtype=np.int64), columns, 1.0)
        less.add_affines(np.arange(len(empty)), present, -1.0)
        intervals.add_at_most_zero("empty_one", entry, Affines(less.matrix(), less.constants))
        rows.add(empty, columns, -1.0)
    return Affines(rows.matrix(), rows.constants)


def _countable_pairs(intervals: Intervals, one: Codes, other: Codes, working: Affines) -> tuple[Codes, Codes, Affines]:
    """Who may be counted at whose start, and 0/1 values that are 1 where they must be."""
    bounds, entry = intervals.analysis.bounds, intervals.entry[one]
    earlier = intervals.start_after_start(one, other)
    low, high = bounds.of(earlier)
    first, second = high <= 0, surely_positive(low)  # of two that start together, the first is counted first
    columns = _no_cycles(intervals, one, other, first, second)
    undecided = np.flatnonzero(~first & ~second)
    started = [RowBuilder(len(one)), RowBuilder(len(one))]
    for rows, constant in zip(started, (first, second), strict=True):
        rows.constants += constant
    if columns is not None:
        part = earlier.take(undecided)
        intervals.add_at_most_zero("starts_first", entry[undecided], part, (columns, True))
        intervals.add_at_most_zero("starts_second", entry[undecided], negate(part), (columns, False))
        started[0].add(undecided, columns, 1.0)
        started[1].add(undecided, columns, -1.0).constants[undecided] += 1.0
    who, at, truths = [], [], []
    for counted, owner, rows, never in ((one, other, started[0], second), (other, one, started[1], first)):
        mine = np.flatnonzero(~never)
        if not len(mine):
            continue
        who.append(counted[mine])
        at.append(owner[mine])
        begun = Affines(rows.matrix(), rows.constants).take(mine)
        truths.append(_runs(intervals, counted[mine], owner[mine], begun, working))
    if not who:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, Affines(RowBuilder(0).matrix(), np.zeros(0))
    rows, place = RowBuilder(sum(map(len, who))), 0
    for found in truths:
        rows.add_affines(np.arange(place, place + found.count), found, 1.0)
        place += found.count
    return np.concatenate(who), np.concatenate(at), Affines(rows.matrix(), rows.constants)


def _runs(intervals: Intervals, counted: Codes, owner: Codes, begun: Affines, working: Affines) -> Affines:
    """1 where the first runs at the start of the second: where it has begun, has not ended, and both are there."""
    entry = intervals.entry[counted]
    over = intervals.end_after_start(counted, owner)
    size, every = len(counted), np.arange(len(counted), dtype=np.int64)
    rows = RowBuilder(size).add_affines(every, begun, 1.0)
    rows.add_affines(every, intervals.part(2, counted), 1.0).add_affines(every, working.take(owner), 1.0)
    may_end = np.flatnonzero(~surely_positive(intervals.analysis.bounds.of(over)[0]))
    if len(may_end):
        ended = intervals.order_columns("ended", entry[may_end], over.take(may_end))
        intervals.add_at_most_zero("ended_if", entry[may_end], over.take(may_end), (ended, True))
        rows.add(may_end, ended, -1.0)
    needed = Affines(rows.matrix(), rows.constants - 2.0)

    def values(point: Floats) -> Floats:
        return np.clip(np.rint(needed.values(point)), 0.0, 1.0)

    columns = intervals.builder.add_columns(
        intervals.name("runs"), intervals.index(entry), 0.0, 1.0, True, values, intervals.definition.span
    )
    counting = RowBuilder(size).add_affines(every, needed, 1.0).add(every, columns, -1.0)
    intervals.add_at_most_zero("counted", entry, Affines(counting.matrix(), counting.constants))
    may_lessen = np.flatnonzero(surely_positive(-intervals.analysis.bounds.of(intervals.part(3, counted))[0]))
    if len(may_lessen):
        places = np.arange(len(may_lessen), dtype=np.int64)
        present = RowBuilder(len(may_lessen)).add(places, columns[may_lessen], 1.0)
        present.add_affines(places, intervals.part(2, counted[may_lessen]), -1.0)
        intervals.add_at_most_zero("counted_one", entry[may_lessen], Affines(present.matrix(), present.constants))
    return Affines.of_columns(columns)


def _no_cycles(intervals: Intervals, one: Codes, other: Codes, first: Bools, second: Bools) -> Int32s | None:
    """Numbers in the order of starts; return the binaries of the pairs whose order is undecided."""
    starts, entry = intervals.part(0), intervals.entry
    most: Floats = np.bincount(entry, minlength=intervals.definition.size)[entry].astype(np.float64) - 1.0

    def numbers(point: Floats) -> Floats:
        order = np.lexsort((starts.values(point), entry))
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        numbered: Floats = place - np.searchsorted(entry, entry)
        return numbered

    builder, span = intervals.builder, intervals.definition.span
    ranks = builder.add_columns(intervals.name("number"), intervals.index(entry), 0.0, most, True, numbers, span)
    undecided = np.flatnonzero(~first & ~second)
    part = intervals.start_after_start(one[undecided], other[undecided])
    columns = intervals.order_columns("order", entry[one][undecided], part) if len(undecided) else None
    for what, decided, value, begin, end in (("up", first, True, one, other), ("down", second, False, other, one)):
        for mine, condition in ((np.flatnonzero(decided), None), (undecided, columns)):
            rows, every = RowBuilder(len(mine)), np.arange(len(mine), dtype=np.int64)
            rows.add(every, ranks[begin[mine]], 1.0).add(every, ranks[end[mine]], -1.0)
            affines = Affines(rows.matrix(), np.ones(len(mine)))
            given = None if condition is None else (condition, value)
            intervals.add_at_most_zero(f"{what}_if" if given else what, entry[one][mine], affines, given)
    return columns


def weigh_by_truth(
    intervals: Intervals, what: str, entry: Codes, truths: Affines, amounts: Affines
) -> tuple[Affines, list[Definition]]:
    """Amounts where truth values are 1, else 0; products of two decided factors are new columns."""
    rows, every = RowBuilder(truths.count), np.arange(truths.count, dtype=np.int64)
    known, always = (np.diff(a.matrix.starts) == 0 for a in (amounts, truths))
    rows.add_affines(every[known], truths.take(every[known]), amounts.constants[known])
    mine = every[always & ~known]
    rows.add_affines(mine, amounts.take(mine), truths.constants[mine])
    both = every[~known & ~always]
    if not len(both):
        return Affines(rows.matrix(), rows.constants), []
    factors = truths.take(both), amounts.take(both)
    low, high = intervals.analysis.bounds.of(factors[1])

    def values(point: Floats) -> Floats:
        return factors[0].values(point) * factors[1].values(point)

    integer = integer_affines(factors[1], intervals.builder.integer)
    columns = intervals.builder.add_columns(
        intervals.name(what), intervals.index(entry[both]), np.minimum(low, 0.0), np.maximum(high, 0.0), integer,
        values, intervals.definition.span,
    )  # fmt: skip
    rows.add(both, columns, 1.0)
    pair = RowBuilder(2 * len(both)).add_affines(2 * np.arange(len(both)), factors[0], 1.0)
    pair.add_affines(2 * np.arange(len(both)) + 1, factors[1], 1.0)
    arguments = Affines(pair.matrix(), pair.constants)
    starts = 2 * np.arange(len(both) + 1, dtype=np.int64)
    made = Product(columns, starts, arguments, intervals.definition.span, intervals.definition.name)
    return Affines(rows.matrix(), rows.constants), [made]


# --- the truth of the condition --------------------------------------------------------------------------------------


def _define(intervals: Intervals, entries: Codes) -> list[Definition]:
    made: list[Definition] = []
    parts: list[tuple[Codes, Affines]] = []
    for number, what in ((1, "length"), (3, "demand")):
        more, truths = intervals.nonnegative(number, what)
        made, parts = [*made, *more], [*parts, *truths]
    low, _ = intervals.analysis.bounds.of(capacity_of(intervals, entries))
    below = entries[surely_positive(-low)]
    if len(below):
        enough = intervals.comparisons("capacity", below, negate(capacity_of(intervals, below)))
        made.append(enough)
        parts.append((below, Affines.of_columns(enough.results)))
    if intervals.count:
        fits, more = _fits(intervals)
        made += more
        parts.append((intervals.entry, fits))
    return [*made, intervals.all_of(entries, parts)]


def _fits(intervals: Intervals) -> tuple[Affines, list[Definition]]:
    """Whether the load at the start of each interval fits, or the interval is not there."""
    pairs, entry = _meeting(intervals), intervals.entry
    counted, owner = np.concatenate(pairs), np.concatenate(pairs[::-1])
    every = np.arange(intervals.count, dtype=np.int64)
    load = RowBuilder(intervals.count).add_affines(every, intervals.part(3), 1.0)
    load.add_affines(every, capacity_of(intervals, entry), -1.0)
    made: list[Definition] = []
    if len(counted):
        of = entry[counted]
        begun = intervals.comparisons("begun", of, intervals.start_after_start(counted, owner))
        ended = intervals.comparisons("ended", of, intervals.end_after_start(counted, owner))
        # It runs unless it has not begun, has ended, or is absent.
        reasons = [
            opposite(Affines.of_columns(begun.results)),
            Affines.of_columns(ended.results),
            opposite(intervals.part(2, counted)),
        ]
        away, definition = intervals.any_of("away", of, reasons)
        amounts, products = weigh_by_truth(intervals, "loads", of, opposite(away), intervals.part(3, counted))
        load.add_affines(owner, amounts, 1.0)
        made += [begun, ended, definition, *products]
    fit = intervals.comparisons("fits", entry, Affines(load.matrix(), load.constants))
    choices = [Affines.of_columns(fit.results), opposite(intervals.part(2))]
    made.append(fit)
    low, _ = intervals.analysis.bounds.of(intervals.part(1))
    if not surely_positive(low).all():
        empty = intervals.comparisons("empty", entry, intervals.part(1))
        made.append(empty)
        choices.append(Affines.of_columns(empty.results))
    truths, definition = intervals.any_of("fine", entry, choices)
    return truths, [*made, definition]
