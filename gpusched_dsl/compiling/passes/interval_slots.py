"""The load of intervals, at every time at which one may start: the time-indexed form.

Takes `r == [at every time, the demands d_k of the intervals (s_k, p_k) with x_k == 1 are at most C]`, r binary, where
starts move in steps between finite bounds, lengths and demands are data, and it is not needed that r is 1 where the
load fits. With binaries `y_kv == [s_k == v]` for every value v of s_k, and for every time t, where r is 1,

    sum over k, v with v <= t < v + p_k of d_k w_kv <= C,
    w_kv = y_kv, or w_kv >= y_kv + x_k - 1 where k may be absent

The `y_kv` are left for `chosen_values`, which makes them a choice for each s_k. Leaves what has more than `MOST_VALUES`
starts for an interval, and entries that must be true to targets that take them: there are as many rows as starts, and
as many nonzeros as starts times lengths. The form has a far better bound than that by pairs (`interval_loads`).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.interval_loads import capacity_of, no_negative
from gpusched_dsl.compiling.passes.interval_pairs import Intervals, entries_not_taken
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.rows import RowBuilder
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions import Affines, Cumulative, Reified, unary_starts
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.ir.tolerances import ROUNDING

MOST_VALUES = 400


class IntervalSlots:
    """Cumulative -> rows for every time."""

    name: ClassVar[str] = "interval_slots"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return target.takes(INTEGERS) and any(
            isinstance(d, Cumulative) and _suitable_entries(analysis, target, d).any()
            for d in analysis.problem.definitions
        )

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        for definition in analysis.problem.definitions:
            if isinstance(definition, Cumulative):
                entries = _suitable_entries(analysis, target, definition)
                if entries.any():
                    _reformulate(builder, analysis, definition, entries)
        return builder.step()


def _suitable_entries(analysis: Analysis, target: Target, definition: Cumulative) -> Bools:
    entries = entries_not_taken(analysis, target, definition)
    sure = analysis.bounds.lower[definition.results] > 0.5
    entries &= sure | ~analysis.directions.down[definition.results]
    if not entries.any():
        return entries
    first, entry, arguments = definition.intervals, definition.interval_entry, definition.arguments
    sized = np.diff(arguments.matrix.starts)
    counts = _value_counts(analysis, arguments.take(first))
    fixed = (sized[first + 1] == 0) & (arguments.constants[first + 1] >= 0)
    fixed &= (sized[first + 3] == 0) & (arguments.constants[first + 3] >= 0) & (counts <= MOST_VALUES)
    entries[entry[~fixed]] = False
    return entries


def _value_counts(analysis: Analysis, starts: Affines) -> Floats:
    """How many values each start can have; infinite where it does not move in steps."""
    low, high = analysis.bounds.of(starts)
    steps = _steps(analysis, starts)
    with np.errstate(all="ignore"):
        counts = np.floor((high - low) / steps + ROUNDING) + 1
    return np.where(low == high, 1.0, np.where((steps > 0) & np.isfinite(counts), counts, np.inf))


def _steps(analysis: Analysis, starts: Affines) -> Floats:
    return steps_of(starts, analysis.problem.integer)


def _reformulate(builder: ProblemBuilder, analysis: Analysis, definition: Cumulative, entries: Bools) -> None:
    rows, columns = builder.rows, builder.columns
    intervals = Intervals.of(builder, analysis, definition, entries)
    no_negative(intervals, np.flatnonzero(entries))
    made: tuple[Reified, ...] = ()
    if intervals.count:
        made = _add_slots(intervals)
    builder.replace(definition, entries, made)
    builder.notes.append(
        Note(
            IntervalSlots.name, definition.name, "the load is counted at every time", int(entries.sum()),
            builder.rows - rows, builder.columns - columns, span=definition.span,
        )
    )  # fmt: skip


def _add_slots(intervals: Intervals) -> tuple[Reified, ...]:
    interval, value = _values(intervals)
    taken, made = _chosen(intervals, interval, value)
    lengths, demands = (intervals.part(number).constants[interval] for number in (1, 3))
    add_loads(intervals, interval, taken, value, lengths, demands)
    return made


def add_loads(
    intervals: Intervals, interval: Codes, taken: Affines, value: Floats, length: Floats, demand: Floats
) -> None:
    """State that the load fits at every time at which an interval may start.

    `taken[i]` is 1 where `interval[i]` is present with a start, a length and a demand, of arrays in the same order.
    """
    if not len(interval):
        return
    entry = intervals.entry[interval]
    # The times of an entry are those at which one of its intervals may start.
    order = np.lexsort((value, entry))
    new = np.ones(len(order), dtype=np.bool_)
    near = ROUNDING * np.maximum(1.0, np.abs(value[order][1:]))
    new[1:] = (np.diff(entry[order]) != 0) | (np.diff(value[order]) > near)
    time, owner = value[order][new], entry[order][new]
    begin = np.empty(len(order), dtype=np.int64)
    begin[order] = np.cumsum(new) - 1
    # Times before the end of an interval that starts at a value, by the ends of entries and a search among all times.
    span = 2.0 * (np.abs(time).max() + length.max() + 1.0)
    ends = value + length
    ends -= ROUNDING * np.maximum(1.0, np.abs(ends))
    end = np.searchsorted(time + span * owner, ends + span * entry, side="left")
    last = np.searchsorted(owner, entry, side="right")
    lasting = np.maximum(np.minimum(end, last) - begin, 0)
    intervals.builder.expect(int(lasting.sum()), intervals.definition.name, intervals.definition.span)
    of = np.repeat(np.arange(len(value)), lasting)
    at = np.repeat(begin - (np.cumsum(lasting) - lasting), lasting) + np.arange(len(of))
    rows = RowBuilder(len(time)).add_affines(at, taken.take(of), demand[of])
    if isinstance(intervals.definition, Cumulative):
        rows.add_affines(np.arange(len(time)), capacity_of(intervals, owner), -1.0)
    else:
        rows.constants -= 1.0
    intervals.add_where_true("at_time", owner, rows, 0.0)


def _values(intervals: Intervals) -> tuple[Codes, Floats]:
    """Every interval with every value of its start."""
    starts = intervals.part(0)
    low, high = intervals.analysis.bounds.of(starts)
    counts = _value_counts(intervals.analysis, starts).astype(np.int64)
    steps = np.where(low == high, 1.0, _steps(intervals.analysis, starts))
    constants = starts.constants
    least = constants + steps * np.ceil((low - constants) / steps - ROUNDING * np.maximum(1.0, np.abs(low / steps)))
    least = np.where(low == high, low, least)
    interval = np.repeat(np.arange(intervals.count, dtype=np.int64), counts)
    place = np.arange(len(interval)) - np.repeat(np.cumsum(counts) - counts, counts)
    value: Floats = least[interval] + steps[interval] * place
    inside = value <= high[interval] + ROUNDING * np.maximum(1.0, np.abs(high[interval]))
    return interval[inside], value[inside]


def _chosen(intervals: Intervals, interval: Codes, value: Floats) -> tuple[Affines, tuple[Reified, ...]]:
    """1 where an interval is present and starts at a value."""
    counts = np.bincount(interval, minlength=intervals.count)
    moving = np.flatnonzero(counts[interval] > 1)
    rows = RowBuilder(len(interval))
    rows.constants[:] = 1.0
    made: tuple[Reified, ...] = ()
    if len(moving):
        made = (_equalities(intervals, interval[moving], value[moving]),)
        rows.constants[moving] = 0.0
        rows.add(moving, made[0].results, 1.0)
    here = Affines(rows.matrix(), rows.constants)
    absent = np.flatnonzero(~intervals.is_fixed[interval])
    if not len(absent):
        return here, made
    both = RowBuilder(len(absent)).add_affines(np.arange(len(absent)), here.take(absent), 1.0)
    both.add_affines(np.arange(len(absent)), intervals.part(2, interval[absent]), 1.0)
    needed = Affines(both.matrix(), both.constants - 1.0)

    def values(point: Floats) -> Floats:
        return np.clip(np.rint(needed.values(point)), 0.0, 1.0)

    entry = intervals.entry[interval[absent]]
    columns = intervals.builder.add_columns(
        intervals.name("used"), intervals.index(entry), 0.0, 1.0, True, values, intervals.definition.span
    )
    both.add(np.arange(len(absent), dtype=np.int64), columns, -1.0)
    intervals.add_at_most_zero("used_if", entry, Affines(both.matrix(), needed.constants))
    all_rows = RowBuilder(len(interval))
    present = np.flatnonzero(intervals.is_fixed[interval])
    all_rows.add_affines(present, here.take(present), 1.0).add(absent, columns, 1.0)
    return Affines(all_rows.matrix(), all_rows.constants), made


def _equalities(intervals: Intervals, interval: Codes, value: Floats) -> Reified:
    starts = intervals.part(0, interval)
    side = value - starts.constants
    plain = Affines(starts.matrix, np.zeros(starts.count))

    def values(point: Floats) -> Floats:
        near = np.abs(plain.values(point) - side) <= ROUNDING * np.maximum(1.0, np.abs(side))
        return near.astype(np.float64)

    entry, definition = intervals.entry[interval], intervals.definition
    columns = intervals.builder.add_columns(
        intervals.name("starts"), intervals.index(entry), 0.0, 1.0, True, values, definition.span
    )
    steps = steps_of(plain, intervals.builder.integer)
    return Reified(columns, unary_starts(starts.count), plain, definition.span, definition.name, side, side, steps)
