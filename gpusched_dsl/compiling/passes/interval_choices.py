"""Intervals whose start, length and presence are chosen by 0/1 columns: one row for each time, without a new column.

Takes `r == [no two of the intervals overlap]` and `r == [the load of the intervals is at most C]`, r binary, if all
that an interval reads is decided by 0/1 columns of one set with at most one at 1 (`tightening/at_most_one.py`): such a
column itself, the truth of a comparison of them, or a column that an equality row gives as a sum of them, as in

    start == sum_v v at_v,    present == [sum_v at_v >= 1],    sum_v at_v <= 1

Column b at 1 then decides the interval: it starts at s(b) and lasts p(b). For every time t at which one may start, if r
is 1,

    sum of d(b) b over the intervals and their columns b that make them present with s(b) <= t < s(b) + p(b)   <= C

with d = C = 1 for intervals that do not overlap. An interval that is present if all its columns are 0 has the summand
`1 - sum b` besides. Requires lengths above 0 where intervals do not overlap (one of length 0 is not inside of another
one), lengths and demands that are never negative, and that it is not needed that r is 1 where the intervals fit.
A target that takes intervals gets these rows for `no_overlap` all the same: they are clauses of columns that it has.

Proof. At an integer point at most one summand of an interval is 1: that of the column that decides it. The sum is
therefore the load at time t. A load that is not negative is largest where an interval starts, and two intervals overlap
if and only if one of them runs where the other one starts. The columns of one time are a clique, and no constant is as
large as a horizon, so the bound of these rows is that of the time-indexed form.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.passes.interval_loads import no_negative_capacity
from gpusched_dsl.compiling.passes.interval_pairs import Intervals, entries_not_taken, surely_positive
from gpusched_dsl.compiling.passes.interval_slots import MOST_VALUES, add_loads
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.rows import RowBuilder
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, PassResult, Target
from gpusched_dsl.compiling.tightening.at_most_one import AtMostOne, at_most_one
from gpusched_dsl.compiling.tightening.column_sets import ColumnSets, containments
from gpusched_dsl.compiling.tightening.row_sides import plain_rows, zero_one
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions import Affines, Cumulative, IntervalDefinition, NoOverlap, Reified
from gpusched_dsl.ir.definitions.reified import within_steps
from gpusched_dsl.ir.matrix import Matrix, stack
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import ROUNDING

NONE = -1  # the choice of no column


class IntervalChoices:
    """NoOverlap and Cumulative of intervals that 0/1 columns choose -> rows for every time."""

    name: ClassVar[str] = "interval_choices"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return target.takes(INTEGERS) and any(
            _open_entries(analysis, target, d).any()
            for d in analysis.problem.definitions
            if isinstance(d, NoOverlap | Cumulative)
        )

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        sets = at_most_one(analysis.problem)
        for definition in analysis.problem.definitions:
            if isinstance(definition, NoOverlap | Cumulative):
                entries = _open_entries(analysis, target, definition)
                if entries.any():
                    _reformulate(builder, analysis, sets, definition, entries)
        return builder.step() if builder.notes else PassResult(analysis.problem)


def _open_entries(analysis: Analysis, target: Target, definition: NoOverlap | Cumulative) -> Bools:
    sure = analysis.bounds.lower[definition.results] > 0.5
    needed = np.asarray(sure | ~analysis.directions.down[definition.results])
    return needed if isinstance(definition, NoOverlap) else needed & entries_not_taken(analysis, target, definition)


def _reformulate(
    builder: ProblemBuilder, analysis: Analysis, sets: AtMostOne, definition: IntervalDefinition, entries: Bools
) -> None:
    intervals = Intervals.of(builder, analysis, definition, entries)
    if not intervals.count:
        return
    known = _Functions.of(analysis.problem, intervals)
    choices, suitable = _choices(intervals, known, sets)
    entries = entries.copy()
    entries[intervals.entry[~suitable]] = False
    if not entries.any():
        return
    kept = entries[intervals.entry]
    number = np.cumsum(kept) - 1
    choices = choices.take(kept[choices.interval])
    chosen = Intervals(builder, analysis, definition, intervals.first[kept], intervals.entry[kept])
    rows = builder.rows
    if isinstance(definition, Cumulative):
        no_negative_capacity(chosen, np.flatnonzero(entries))
    add_loads(chosen, number[choices.interval], _taken(choices), choices.start, choices.length, choices.demand)
    builder.replace(definition, entries, ())
    did = "the load is counted at every time, by the columns that choose" if isinstance(definition, Cumulative) else (
        "at most one of the columns that choose is 1 at every time"
    )  # fmt: skip
    builder.notes.append(
        Note(IntervalChoices.name, definition.name, did, int(entries.sum()), builder.rows - rows, span=definition.span)
    )


# --- columns as functions of 0/1 columns -----------------------------------------------------------------------------


class _Functions(Struct, frozen=True, eq=False):
    """Columns as functions of 0/1 columns: column c is `number[c]`; -1: it is none.

    A function is the sum of `values` times the columns of its set, plus its constant. Where `is_truth`, it is 1 where
    that is between `lower` and `upper`, else 0.
    """

    sets: ColumnSets
    values: Floats
    constants: Floats
    lower: Floats
    upper: Floats
    steps: Floats
    is_truth: Bools
    number: Codes

    @staticmethod
    def of_columns(problem: Problem, needed: Bools) -> _Functions:
        fixed, binary = problem.lower == problem.upper, zero_one(problem)
        number = np.full(problem.columns, -1, dtype=np.int64)
        matrices: list[Matrix] = []
        constants: list[Floats] = []
        ends: tuple[list[Floats], list[Floats], list[Floats]] = [], [], []
        count = 0

        def add(columns: Codes, matrix: Matrix, constant: Floats, *truth: Floats) -> None:
            nonlocal count
            number[columns] = count + np.arange(len(columns))
            count += len(columns)
            matrices.append(matrix)
            constants.append(constant)
            for found, given in zip(ends, truth or 3 * [np.full(len(columns), np.nan)], strict=True):
                found.append(given)

        for definition in problem.definitions:
            if isinstance(definition, Reified) and definition.size:
                rows = np.flatnonzero(needed[definition.results] & (np.diff(definition.starts) == 1))
                argument = definition.arguments.take(definition.starts[rows])
                rows = rows[_all(argument.matrix, (binary | fixed)[argument.matrix.columns])]
                argument = definition.arguments.take(definition.starts[rows])
                add(definition.results[rows].astype(np.int64), argument.matrix, argument.constants,
                    definition.lower[rows], definition.upper[rows], definition.steps[rows])  # fmt: skip
        plain = np.flatnonzero(needed & (number < 0) & (binary | fixed))
        add(plain, Affines.of_columns(plain.astype(np.int32)).matrix, np.zeros(len(plain)))
        add(*_given_by_rows(problem, needed & (number < 0), binary | fixed))
        matrix = stack(matrices)
        gone = fixed[matrix.columns]
        inside = np.where(gone, matrix.values * problem.lower[matrix.columns], 0.0)
        all_constants = np.concatenate(constants) + np.bincount(matrix.row_of, weights=inside, minlength=matrix.rows)
        kept = ~gone & (matrix.values != 0)
        sizes = np.bincount(matrix.row_of[kept], minlength=matrix.rows)
        sets = ColumnSets(np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), matrix.columns[kept])
        lower, upper, steps = (np.concatenate(e) for e in ends)
        return _Functions(sets, matrix.values[kept], all_constants, lower, upper, steps, ~np.isnan(lower), number)

    @staticmethod
    def of(problem: Problem, intervals: Intervals) -> _Functions:
        needed = np.zeros(problem.columns, dtype=np.bool_)
        for part in range(intervals.definition.each):
            needed[intervals.part(part).matrix.columns] = True
        return _Functions.of_columns(problem, needed)

    def at(self, functions: Codes, columns: Codes) -> Floats:
        """The values of functions where a 0/1 column is 1 and all others are 0; `NONE`: where all are 0."""
        entries = np.full(len(functions), -1, dtype=np.int64)
        some = columns != NONE
        entries[some] = self.sets.find(functions[some], columns[some])
        values = self.constants[functions] + np.where(
            entries >= 0, self.values[entries] if len(self.values) else 0.0, 0.0
        )
        slack = within_steps(ROUNDING * np.maximum(1.0, np.abs(values)), self.steps[functions])
        true = (values >= self.lower[functions] - slack) & (values <= self.upper[functions] + slack)
        return np.where(self.is_truth[functions], true, values)


def _given_by_rows(problem: Problem, needed: Bools, known: Bools) -> tuple[Codes, Matrix, Floats]:
    """The needed columns that are alone in an equality row with columns of 0/1, and what the row makes them."""
    matrix = problem.matrix
    equal = plain_rows(problem) & (problem.row_lower == problem.row_upper)
    others = np.bincount(matrix.row_of[~known[matrix.columns]], minlength=matrix.rows)
    entries = np.flatnonzero((equal & (others == 1))[matrix.row_of] & needed[matrix.columns])
    columns, first = np.unique(matrix.columns[entries], return_index=True)
    entries = entries[first]
    rows, scale = matrix.row_of[entries].astype(np.int64), matrix.values[entries]
    taken = matrix.take(rows)
    values = np.where(taken.columns == columns[taken.row_of], 0.0, -taken.values / scale[taken.row_of])
    return columns.astype(np.int64), Matrix(taken.starts, taken.columns, values), problem.row_lower[rows] / scale


def _all(matrix: Matrix, flags: Bools) -> Bools:
    """Whether all entries of each row have a flag."""
    found: Bools = np.bincount(matrix.row_of[~flags], minlength=matrix.rows) == 0
    return found


# --- what each column makes of an interval ---------------------------------------------------------------------------


class _Choices(Struct, frozen=True, eq=False):
    """What makes intervals present: a 0/1 column at 1, or with `NONE` all columns of the interval (`others`) at 0."""

    interval: Codes
    column: Codes
    start: Floats
    length: Floats
    demand: Floats
    others: tuple[Codes, Codes]  # the columns of the intervals with a choice of none: interval, column

    def take(self, kept: Bools) -> _Choices:
        return _Choices(
            self.interval[kept], self.column[kept], self.start[kept], self.length[kept], self.demand[kept], self.others
        )


def _choices(intervals: Intervals, known: _Functions, sets: AtMostOne) -> tuple[_Choices, Bools]:
    """The choices of all intervals, and which intervals have this form."""
    parts = [intervals.part(number) for number in range(intervals.definition.each)]
    suitable = np.ones(intervals.count, dtype=np.bool_)
    for part in parts:
        suitable &= _all(part.matrix, known.number[part.matrix.columns] >= 0)
    owner = np.concatenate([part.matrix.row_of for part in parts]).astype(np.int64)
    function = np.concatenate([known.number[part.matrix.columns] for part in parts])
    owner, function = _distinct(owner, function, suitable[owner])
    exact = np.zeros(intervals.count, dtype=np.bool_)
    suitable &= _in_one_set(known, sets, intervals.count, owner, function, exact)

    interval = np.flatnonzero(suitable)
    start = _values(parts[2], known, interval, np.full(len(interval), NONE))
    bare = np.zeros(intervals.count, dtype=np.bool_)
    bare[interval[start > 0.5]] = True
    presence = known.number[parts[2].matrix.columns]
    chooser = np.concatenate((parts[2].matrix.row_of.astype(np.int64), owner[bare[owner]]))
    read = np.concatenate((presence, function[bare[owner]]))
    chooser, read = _distinct(chooser, read, suitable[chooser])
    sizes = known.sets.sizes[read]
    intervals.builder.expect(int(sizes.sum()), intervals.definition.name, intervals.definition.span)
    spread = known.sets.take(read)
    who, column = _distinct(np.repeat(chooser, sizes), spread.columns.astype(np.int64), slice(None))
    others = who[bare[who]], column[bare[who]]
    alone = np.flatnonzero(bare & ~exact)
    who, column = np.concatenate((who, alone)), np.concatenate((column, np.full(len(alone), NONE)))
    present = _values(parts[2], known, who, column) > 0.5
    who, column = who[present], column[present]
    values = [_values(part, known, who, column) for part in (parts[0], parts[1], *parts[3:])]
    demand = values[2] if len(values) > 2 else np.ones(len(who))
    if isinstance(intervals.definition, NoOverlap):
        wrong = ~surely_positive(values[1])
    else:
        wrong = (values[1] < 0) | (demand < 0)
    suitable[who[wrong]] = False
    suitable &= np.bincount(who, minlength=intervals.count) <= MOST_VALUES
    return _Choices(who, column, values[0], values[1], demand, others), suitable


def _distinct(owner: Codes, other: Codes, kept: Bools | slice) -> tuple[Codes, Codes]:
    """Pairs without repeats, in order."""
    pairs = np.unique(np.stack((owner[kept], other[kept])), axis=1)
    return pairs[0], pairs[1]


def _in_one_set(known: _Functions, sets: AtMostOne, count: int, owner: Codes, function: Codes, exact: Bools) -> Bools:
    """Which intervals read columns of one set only, or one column; flags in `exact` where always one of them is 1."""
    moving = known.sets.sizes[function] > 0
    owner, function = owner[moving], function[moving]
    reads = np.bincount(owner, minlength=count)
    sizes = known.sets.sizes[function]
    column = known.sets.columns[known.sets.starts[:-1][function]].astype(np.int64)
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(low, owner, np.where(sizes == 1, column, -1))
    np.maximum.at(high, owner, np.where(sizes == 1, column, np.iinfo(np.int64).max))
    single: Bools = (reads == 0) | (low == high)
    used = np.unique(function)
    columns = len(known.number)
    within = containments(known.sets.take(used), sets.sets, columns)
    order = np.argsort(within.inner, kind="stable")
    outer, counts = within.outer[order], np.bincount(within.inner, minlength=len(used))
    begins = np.cumsum(counts) - counts
    at = np.searchsorted(used, function)
    many = counts[at]
    place = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    family = outer[np.repeat(begins[at], many) + place]
    keys, met = np.unique(np.repeat(owner, many) * max(sets.count, 1) + family, return_counts=True)
    who, family = np.divmod(keys, max(sets.count, 1))
    common = met == reads[who]
    found: Bools = single.copy()
    found[who[common]] = True
    # One of the columns is always 1: the set is exact, and the interval reads all of it.
    widest = np.zeros(count, dtype=np.int64)
    np.maximum.at(widest, owner, sizes)
    full = common & sets.exact[family] & (sets.heads[family] < 0) & (sets.sets.sizes[family] == widest[who])
    exact[who[full]] = True
    return found


def _values(part: Affines, known: _Functions, interval: Codes, column: Codes) -> Floats:
    """The value of an argument of intervals under a choice."""
    matrix = part.matrix
    counts = np.diff(matrix.starts)[interval]
    place = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.repeat(matrix.starts[:-1][interval], counts) + place
    of = np.repeat(np.arange(len(interval)), counts)
    values = matrix.values[at] * known.at(known.number[matrix.columns[at]], column[of])
    total: Floats = part.constants[interval] + np.bincount(of, weights=values, minlength=len(interval))
    return total


def _taken(choices: _Choices) -> Affines:
    """1 where a choice is made."""
    count = len(choices.interval)
    rows, some = RowBuilder(count), np.flatnonzero(choices.column != NONE)
    rows.add(some, choices.column[some].astype(np.int32), 1.0)
    none = np.flatnonzero(choices.column == NONE)
    rows.constants[none] = 1.0
    interval, column = choices.others
    place = np.full(int(max(choices.interval.max(initial=0), interval.max(initial=0))) + 1, -1)
    place[choices.interval[none]] = none
    mine = place[interval] >= 0
    rows.add(place[interval[mine]], column[mine].astype(np.int32), -1.0)
    return Affines(rows.matrix(), rows.constants)
