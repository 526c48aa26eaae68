"""Whether values are distinct, by a count of each value: the assignment form.

Takes `r == [a_1, ..., a_n are distinct]`, r binary, where each a_j moves in steps between finite bounds. With binaries
`y_jv == [a_j == v]` for every value v that more than one a_j can have, it keeps the half that is needed:

    r <= [distinct]:   sum_j y_jv <= 1                                   where r = 1, for each v
    r >= [distinct]:   2 z_v <= sum_j y_jv,   r + sum_v z_v >= 1         with binaries z_v

If there are as many values as arguments and r is 1, each value is taken once: `sum_j y_jv == 1`. A value that only one
argument can have is taken by nobody else, and needs nothing, but for that case.

The `y_jv` are left for `chosen_values`, which makes them a choice for each a_j, shared with all that reads `a_j == v`.
Where the arguments have many more values than there are pairs of arguments, the binaries are `[a_i - a_j == 0]`:
`r + y_ij <= 1` for each pair, and `r + sum_ij y_ij >= 1`.

Proof. Arguments are equal if and only if some v is taken by two of them. z_v = 1 only if it is.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.passes.missing_bounds import missing_bounds
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.rows import RowBuilder, numbered_index, numbers_within
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, PassResult, Target, not_taken
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines, Distinct, Reified, unary_starts
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

# Values for each pair of arguments from which on pairs are compared. With 20 jobs in 2,000 places (210 values a pair)
# HiGHS needs 21 s by values and has no proof after 40 s by pairs; 8 jobs in 1,000 places (290) take 3 s and 0.2 s.
MANY_VALUES = 1_000


class DistinctValues:
    """Distinct -> rows over comparisons with values."""

    name: ClassVar[str] = "distinct values"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return target.takes(INTEGERS) and bool(not_taken(analysis, target, Distinct))

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        for definition in not_taken(analysis, target, Distinct):
            _reformulate(builder, analysis, definition)
        return builder.step()


def _reformulate(builder: ProblemBuilder, analysis: Analysis, definition: Distinct) -> None:
    rows, columns = builder.rows, builder.columns
    low, high = analysis.bounds.of(definition.arguments)
    steps = _steps(analysis, definition)
    unknown = np.flatnonzero((steps == 0) & (low < high))
    if len(unknown):
        raise DiagnosticError([_refusal(analysis, definition, int(unknown[0]))])
    endless = np.flatnonzero(~np.isfinite(low)), np.flatnonzero(~np.isfinite(high))
    if any(map(len, endless)):
        problem, bounds = analysis.problem, analysis.bounds
        missing = missing_bounds(problem, bounds, definition.arguments, endless, definition.name, definition.span)
        raise DiagnosticError(missing)
    by = np.where(steps > 0, steps, 1.0)
    constants = definition.arguments.constants
    with np.errstate(invalid="ignore"):
        least = np.ceil((low - constants) / by - ROUNDING * np.maximum(1.0, np.abs(low / by)))
        most = np.floor((high - constants) / by + ROUNDING * np.maximum(1.0, np.abs(high / by)))
    counts = np.maximum(most - least + 1, 0.0)
    counts[low >= high] = 1.0
    arguments = np.diff(definition.starts)
    by_pairs = np.add.reduceat(counts, definition.starts[:-1]) > MANY_VALUES * arguments * (arguments - 1) / 2
    by_pairs &= arguments > 1
    did = []
    made: list[Reified] = []
    if not by_pairs.all():
        some = ~by_pairs
        inside = np.flatnonzero(some[definition.entry_of])
        values = _Values.of(definition, inside, counts[inside].astype(np.int64), (low, constants + by * least, by))
        made += _by_values(builder, analysis, definition, values, some)
        did.append("each value is taken once")
    if by_pairs.any():
        made += _by_pairs(builder, analysis, definition, by_pairs)
        did.append("each pair is compared")
    builder.replace(definition, None, tuple(made))
    builder.notes.append(
        Note(
            DistinctValues.name, definition.name, "; ".join(did), definition.size, builder.rows - rows,
            builder.columns - columns, span=definition.span,
        )
    )  # fmt: skip


def _steps(analysis: Analysis, definition: Distinct) -> Floats:
    steps = steps_of(definition.arguments, analysis.problem.integer)
    return steps if (steps > 0).all() else np.where(steps > 0, steps, steps_of(definition.arguments, analysis.units))


# --- by values -------------------------------------------------------------------------------------------------------


class _Values(Struct, frozen=True, eq=False):
    """Which argument can have which value: a row for each, in the order of entry and value.

    The values are numbered through all entries: row i is about value `number[i]`, value k belongs to `entry[k]`.
    """

    argument: Codes
    value: Floats
    number: Codes
    entry: Codes

    @property
    def count(self) -> int:
        return len(self.entry)

    @staticmethod
    def in_order(argument: Codes, value: Floats, entry: Codes) -> _Values:
        order = np.lexsort((value, entry))
        argument, value, entry = argument[order], value[order], entry[order]
        new = np.ones(len(order), dtype=np.bool_)
        near = ROUNDING * np.maximum(1.0, np.abs(value[1:]))
        new[1:] = (np.diff(entry) != 0) | (np.diff(value) > near)
        return _Values(argument, value, np.cumsum(new) - 1, entry[new])

    @staticmethod
    def of(definition: Distinct, arguments: Codes, counts: Codes, ends: tuple[Floats, Floats, Floats]) -> _Values:
        low, first, step = (e[arguments] for e in ends)
        of = np.repeat(np.arange(len(arguments)), counts)
        place = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
        value = np.where(counts[of] == 1, low[of], first[of] + step[of] * place)
        return _Values.in_order(arguments[of], value, definition.entry_of[arguments][of])

    def take(self, rows: Bools) -> _Values:
        """Some of the rows, with the values numbered anew."""
        used, of = np.unique(self.number[rows], return_inverse=True)
        return _Values(self.argument[rows], self.value[rows], of.reshape(-1), self.entry[used])


def _by_values(
    builder: ProblemBuilder, analysis: Analysis, definition: Distinct, values: _Values, some: Bools
) -> list[Reified]:
    results, directions = definition.results, analysis.directions
    builder.expect(len(values.number), definition.name, definition.span)
    arguments = np.diff(definition.starts)
    per_entry = np.bincount(values.entry, minlength=definition.size)
    sure = analysis.bounds.lower[results] > 0.5
    few = some & (per_entry < arguments)
    builder.bound(results[few], 0.0, 0.0)
    all_taken = some & (per_entry == arguments) & sure & (arguments > 1)
    several = np.bincount(values.number, minlength=values.count) > 1
    kept = (several | all_taken[values.entry]) & ~few[values.entry]
    values = values.take(kept[values.number])
    columns, constant, made = _equalities(builder, analysis, definition, values)
    entry, needed = values.entry, directions.up[results]
    names = _Names(builder, definition)
    total = RowBuilder(values.count).add(values.number[columns >= 0], columns[columns >= 0], 1.0)
    np.add.at(total.constants, values.number, constant)
    matrix, side = total.matrix(), total.side

    for what, mine, condition in (("once", needed & sure, False), ("once_if", needed & ~sure, True)):
        rows = np.flatnonzero(mine[entry])
        if len(rows):
            exactly = all_taken[entry[rows]] & ~np.bool_(condition)
            upper = 1.0 + side[rows]
            builder.add_rows(
                names.of(what), names.index(entry[rows]), matrix.take(rows), np.where(exactly, upper, -np.inf), upper,
                definition.span, (results[entry[rows]], np.ones(len(rows), dtype=np.bool_)) if condition else None,
            )  # fmt: skip
    unless = directions.down[results] & ~few & some
    rows = np.flatnonzero(unless[entry])
    counted = matrix.take(rows)
    twice = np.zeros(0, dtype=np.int32)
    if len(rows):
        beyond = 2.0 + side[rows]

        def is_twice(point: Floats) -> Floats:
            return (counted.activity(point) >= beyond - 0.5).astype(np.float64)

        index = names.index(entry[rows])
        twice = builder.add_columns(names.of("twice"), index, 0.0, 1.0, True, is_twice, definition.span)
        every = np.arange(len(rows), dtype=np.int64)
        two = RowBuilder(len(rows)).add(counted.row_of.astype(np.int64), counted.columns, counted.values)
        two.add(every, twice, -2.0)
        builder.add_rows(names.of("two"), index, two.matrix(), side[rows], np.inf, definition.span)
    _add_unless(builder, definition, names, np.flatnonzero(unless), entry[rows], twice)
    return made


def _equalities(
    builder: ProblemBuilder, analysis: Analysis, definition: Distinct, values: _Values
) -> tuple[Int32s, Floats, list[Reified]]:
    """The column of `a_j == v` for each row, -1 and a constant 1 where a_j is always v, and what defines them."""
    low, high = analysis.bounds.of(definition.arguments)
    fixed = (low == high)[values.argument]
    columns, moving = np.full(len(fixed), -1, dtype=np.int32), np.flatnonzero(~fixed)
    if not len(moving):
        return columns, fixed.astype(np.float64), []
    order = moving[np.argsort(values.argument[moving], kind="stable")]
    argument = values.argument[order]
    a = definition.arguments.take(argument)
    side = values.value[order] - a.constants
    plain = Affines(a.matrix, np.zeros(a.count))
    builder.expect(a.matrix.nonzeros, definition.name, definition.span)

    def is_value(point: Floats) -> Floats:
        return _is_near(plain.values(point), side)

    names = _Names(builder, definition)
    index = names.index(definition.entry_of[argument])
    columns[order] = builder.add_columns(names.of("is"), index, 0.0, 1.0, True, is_value, definition.span)
    starts, name = unary_starts(a.count), definition.name
    steps = steps_of(plain, analysis.problem.integer)
    made = Reified(columns[order], starts, plain, definition.span, name, side, side, steps)
    return columns, fixed.astype(np.float64), [made]


def _is_near(values: Floats, side: Floats) -> Floats:
    return (np.abs(values - side) <= ROUNDING * np.maximum(1.0, np.abs(side))).astype(np.float64)


# --- by pairs --------------------------------------------------------------------------------------------------------


def _by_pairs(builder: ProblemBuilder, analysis: Analysis, definition: Distinct, some: Bools) -> list[Reified]:
    results, directions = definition.results, analysis.directions
    first, second = _pairs(definition, some)
    entry = definition.entry_of[first]
    builder.expect(len(entry), definition.name, definition.span)
    every = np.arange(len(entry), dtype=np.int64)
    difference = RowBuilder(len(entry))
    difference.add_affines(every, definition.arguments.take(first), 1.0)
    difference.add_affines(every, definition.arguments.take(second), -1.0)
    a, side = Affines(difference.matrix(), np.zeros(len(entry))), difference.side

    def is_equal(point: Floats) -> Floats:
        return _is_near(a.values(point), side)

    names = _Names(builder, definition)
    index = names.index(entry)
    equal = builder.add_columns(names.of("equal"), index, 0.0, 1.0, True, is_equal, definition.span)
    rows = np.flatnonzero(directions.up[results][entry])
    if len(rows):
        apart = RowBuilder(len(rows)).add(np.arange(len(rows), dtype=np.int64), equal[rows], 1.0)
        apart.add(np.arange(len(rows), dtype=np.int64), results[entry[rows]], 1.0)
        builder.add_rows(names.of("apart"), names.index(entry[rows]), apart.matrix(), -np.inf, 1.0, definition.span)
    unless = directions.down[results] & some
    mine = np.flatnonzero(unless[entry])
    _add_unless(builder, definition, names, np.flatnonzero(unless), entry[mine], equal[mine])
    starts = unary_starts(len(entry))
    steps = steps_of(a, analysis.problem.integer)
    return [Reified(equal, starts, a, definition.span, definition.name, side, side, steps)]


def _pairs(definition: Distinct, some: Bools) -> tuple[Codes, Codes]:
    """All pairs of arguments of the same entry, of some entries."""
    inside = np.flatnonzero(some[definition.entry_of])
    behind = definition.starts[1:][definition.entry_of[inside]] - inside - 1  # arguments behind each in its entry
    first = np.repeat(inside, behind)
    return first, first + numbers_within(first)


def _add_unless(
    builder: ProblemBuilder, definition: Distinct, names: _Names, entries: Codes, entry: Codes, equal: Int32s
) -> None:
    """`r + sum of equal >= 1` for some entries."""
    if not len(entries):
        return
    place = np.full(definition.size, -1, dtype=np.int64)
    place[entries] = np.arange(len(entries))
    rows = RowBuilder(len(entries)).add(place[entries], definition.results[entries], 1.0).add(place[entry], equal, 1.0)
    builder.add_rows(
        names.of("unless"), builder.index_of(definition, entries), rows.matrix(), 1.0, np.inf, definition.span
    )


# --- names and refusals ----------------------------------------------------------------------------------------------


class _Names:
    """Names and indices of what belongs to entries of a definition."""

    def __init__(self, builder: ProblemBuilder, definition: Distinct) -> None:
        self.builder, self.definition = builder, definition
        self.family = builder.problem.column_family(int(definition.results[0])).name

    def of(self, what: str) -> str:
        return f"{self.family}.{what}"

    def index(self, entry: Codes) -> Domain:
        """The index of each entry, with a number."""
        return numbered_index(self.builder.index_of(self.definition), entry)


def _refusal(analysis: Analysis, definition: Distinct, argument: int) -> Diagnostic:
    problem = analysis.problem
    part = definition.arguments.take(np.array([argument])).matrix
    declared = part.columns[~problem.integer[part.columns] & (part.columns < sum(f.size for f in problem.variables))]
    cause = "the values of its terms have no common step"
    if len(declared):
        column = int(declared[0])
        cause = f"`{entry_name(problem.column_family(column), column)}` is continuous"
    return Diagnostic(
        "GSM3205",
        f"`{definition.name}` cannot be told from its opposite: {cause}",
        definition.span,
        "equal and almost equal values cannot be told apart",
        help="compare expressions of integer variables with integer coefficients",
    )
