"""Intervals that do not overlap, by the order of each pair: the disjunctive form.

Takes `r == [no two of the intervals (s_i, p_i) with x_i == 1 overlap]`, r binary. Of each pair that can overlap,

    s_i + p_i <= s_j   where o_ij = 1,    s_j + p_j <= s_i   where o_ij = 0          one binary o_ij

if both are always present and r is 1, else with two binaries

    s_i + p_i <= s_j   where b_ij = 1,    s_j + p_j <= s_i   where b_ji = 1,    b_ij + b_ji >= x_i + x_j + r - 2

An order that the bounds exclude has no binary, a pair that they keep apart nothing at all. Lengths of present
intervals are not negative: `p_i >= least (1 - x_i)`. If it is needed that r is 1 where no intervals overlap,

    r == min of t_ij,   t_ij == max([s_i + p_i <= s_j], [s_j + p_j <= s_i], 1 - x_i, 1 - x_j)

which later passes take. Leaves entries that must be true to targets that take them.

Proof. Two intervals do not overlap if and only if one of them ends before the other starts.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.interval_pairs import Intervals, entries_not_taken, opposite, surely_positive
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.rows import RowBuilder
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.ir.definitions import Affines, Definition, NoOverlap


class IntervalOrders:
    """NoOverlap -> rows under conditions, or comparisons."""

    name: ClassVar[str] = "interval_orders"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return target.takes(INTEGERS) and any(
            isinstance(d, NoOverlap) and entries_not_taken(analysis, target, d).any()
            for d in analysis.problem.definitions
        )

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        for definition in analysis.problem.definitions:
            if isinstance(definition, NoOverlap):
                entries = entries_not_taken(analysis, target, definition)
                if entries.any():
                    _reformulate(builder, analysis, definition, entries)
        return builder.step()


def _reformulate(builder: ProblemBuilder, analysis: Analysis, definition: NoOverlap, entries: Bools) -> None:
    rows, columns = builder.rows, builder.columns
    sure = analysis.bounds.lower[definition.results] > 0.5
    both_ways = entries & ~sure & analysis.directions.down[definition.results]
    made: list[Definition] = []
    if (entries & ~both_ways).any():
        _state(Intervals.of(builder, analysis, definition, entries & ~both_ways))
    if both_ways.any():
        made = _define(Intervals.of(builder, analysis, definition, both_ways), np.flatnonzero(both_ways))
    builder.replace(definition, entries, tuple(made))
    builder.notes.append(
        Note(
            IntervalOrders.name, definition.name, "each pair is ordered", int(entries.sum()), builder.rows - rows,
            builder.columns - columns, span=definition.span,
        )
    )  # fmt: skip


def _state(intervals: Intervals) -> None:
    """Rows that keep intervals apart where their entry is true."""
    intervals.add_no_negative(1, "length")
    one, other, first, second = _meeting_pairs(intervals)
    bounds, entry = intervals.analysis.bounds, intervals.entry[one]
    never_first, never_second = (surely_positive(bounds.of(a)[0]) for a in (first, second))
    plain = intervals.sure[entry] & intervals.is_fixed[one] & intervals.is_fixed[other]

    for what, chosen, affines in (("after", never_first, second), ("before", never_second & ~never_first, first)):
        mine = np.flatnonzero(plain & chosen)
        intervals.add_at_most_zero(what, entry[mine], affines.take(mine))

    either = np.flatnonzero(plain & ~never_first & ~never_second)
    if len(either):
        order = intervals.order_columns("order", entry[either], first.take(either))
        intervals.add_at_most_zero("before_if", entry[either], first.take(either), (order, True))
        intervals.add_at_most_zero("after_if", entry[either], second.take(either), (order, False))

    mine = np.flatnonzero(~plain)
    if not len(mine):
        return
    rows, every = RowBuilder(len(mine)), np.arange(len(mine), dtype=np.int64)
    for what, affines, never in (("first", first, never_first), ("second", second, never_second)):
        possible = np.flatnonzero(~never[mine])
        if len(possible):
            pairs = mine[possible]
            ordered = intervals.order_columns(what, entry[pairs], affines.take(pairs))
            intervals.add_at_most_zero(f"{what}_if", entry[pairs], affines.take(pairs), (ordered, True))
            rows.add(possible, ordered, -1.0)
    for part in (one, other):
        rows.add_affines(every, intervals.part(2, part[mine]), 1.0)
    sure = intervals.sure[entry[mine]]
    rows.add(every[~sure], intervals.definition.results[entry[mine]][~sure], 1.0)
    matrix, side = rows.matrix(), rows.side + np.where(sure, 1.0, 2.0)
    intervals.builder.add_rows(
        intervals.name("ordered"), intervals.index(entry[mine]), matrix, -np.inf, side, intervals.definition.span
    )


def _meeting_pairs(intervals: Intervals) -> tuple[Codes, Codes, Affines, Affines]:
    """The pairs that can overlap; the end of each of the two minus the start of the other."""
    one, other = intervals.pairs
    first, second = intervals.end_after_start(one, other), intervals.end_after_start(other, one)
    bounds = intervals.analysis.bounds
    meet = np.flatnonzero(surely_positive(bounds.of(first)[1]) & surely_positive(bounds.of(second)[1]))
    return one[meet], other[meet], first.take(meet), second.take(meet)


def _define(intervals: Intervals, entries: Codes) -> list[Definition]:
    """The truth of entries from comparisons of times."""
    one, other, first, second = _meeting_pairs(intervals)
    made, parts = intervals.nonnegative(1, "length")
    if len(one):
        entry = intervals.entry[one]
        before, after = intervals.comparisons("first", entry, first), intervals.comparisons("second", entry, second)
        absent = [opposite(intervals.part(2, i)) for i in (one, other)]
        choices = [Affines.of_columns(before.results), Affines.of_columns(after.results), *absent]
        apart, definition = intervals.any_of("apart", entry, choices)
        made += [before, after, definition]
        parts.append((entry, apart))
    return [*made, intervals.all_of(entries, parts)]
