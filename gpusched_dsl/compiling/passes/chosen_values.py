"""Comparisons of one expression with several values, as a choice among the values.

Takes `r_v == [a == v]`, r_v binary, for two or more values v of the same a, which moves in steps between finite bounds.
The values cut the range of a into themselves and the gaps between them, `first_k .. last_k`; with a binary g_k for each
gap it leaves

    sum_v r_v + sum_k g_k = 1,
    sum_v v r_v + sum_k first_k g_k  <=  a  <=  sum_v v r_v + sum_k last_k g_k

(one row where every gap is a single value). Expressions are the same up to a factor and a constant: of `x == 3` and
`2 * x + 1 == 7` one r is left. Where nobody gains from a larger r_v than the truth, the whole range is the only gap.

Proof. Exactly one binary is 1, and it says in which part a lies; the parts are disjoint and cover the range. The rows
are the convex hull of the points (a, r, g), so no other form has a tighter relaxation. With the whole range as the only
gap, r_v = 1 still says a == v, and r = 0 says nothing, which is what is needed.

Comparisons with one value only, and all others, are left for `reified`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder, index_of_columns
from gpusched_dsl.compiling.passes.rows import RowBuilder, number_index
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Reified
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.ir.tolerances import ON_STEP, ROUNDING

Hashes = NDArray[np.uint64]
MOST_TICKS = 2.0**52  # values of an expression that are still told apart


class ChosenValues:
    """Reified, Reified, ... -> a choice among values."""

    name: ClassVar[str] = "chosen values"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return target.takes(INTEGERS) and sum(d.size for d in _comparisons_for(analysis, target)) > 1

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        definitions = _comparisons_for(analysis, target)
        marks = np.random.default_rng(0).integers(0, 2**64, size=(2, analysis.problem.columns), dtype=np.uint64)
        equalities = _Equalities.join([_equalities(analysis, d, n, marks) for n, d in enumerate(definitions)])
        choices = _Choices.of(equalities)
        if not len(choices.points):
            return PassResult(analysis.problem)
        builder = ProblemBuilder(analysis.problem)
        for number, definition in enumerate(definitions):
            _state(builder, definition, choices, np.flatnonzero(choices.definition == number))
        _merge(builder, choices)
        for number, definition in enumerate(definitions):
            entries = np.zeros(definition.size, dtype=np.bool_)
            entries[choices.taken.entry[choices.taken.definition == number]] = True
            if entries.any():
                builder.remove(definition, entries)
        return builder.step()


def _comparisons_for(analysis: Analysis, target: Target) -> list[Reified]:
    return [d for d in analysis.problem.definitions if isinstance(d, Reified) and d.size and not target.takes(d.op)]


# --- equalities ------------------------------------------------------------------------------------------------------


class _Equalities(Struct, frozen=True, eq=False):
    """`results[i] == [a == constant[i] + step[i] * point[i]]`, entry `entry[i]` of a definition.

    The values of a are `constant + step * t` for whole t in `low .. high`. Equal `hashes` tell equal expressions, with
    the sign of `step` chosen for that. `down`: somebody gains from a smaller result.
    """

    hashes: Hashes
    definition: Codes
    entry: Codes
    results: Int32s
    constant: Floats
    step: Floats
    point: Codes
    low: Codes
    high: Codes
    down: Bools

    def take(self, some: Codes) -> _Equalities:
        return _Equalities(*(getattr(self, name)[some] for name in self.__struct_fields__))

    @staticmethod
    def join(parts: list[_Equalities]) -> _Equalities:
        return _Equalities(
            *(np.concatenate([getattr(p, name) for p in parts]) for name in _Equalities.__struct_fields__)
        )


def _equalities(analysis: Analysis, definition: Reified, number: int, marks: Hashes) -> _Equalities:
    """The comparisons that are true for one value of an expression within its finite bounds."""
    a, results = definition.arguments, definition.results
    low, high = analysis.bounds.of(a)
    step = _steps(analysis, definition)
    by = np.where(step > 0, step, 1.0)
    with np.errstate(invalid="ignore"):
        ends = [(side - a.constants) / by for side in (low, high, definition.lower, definition.upper)]
        slack = [np.minimum(ROUNDING * np.maximum(1.0, np.abs(e)), ON_STEP) for e in ends]
        least, most = np.ceil(ends[0] - slack[0]), np.floor(ends[1] + slack[1])
        first = np.maximum(np.ceil(ends[2] - slack[2]), least)
        last = np.minimum(np.floor(ends[3] + slack[3]), most)
        coefficients = a.matrix.values / by[a.matrix.row_of]
    ticks = np.rint(coefficients)
    sound = np.ones(definition.size, dtype=np.bool_)
    np.logical_and.at(sound, a.matrix.row_of, np.abs(coefficients - ticks) <= ON_STEP)
    needed = analysis.directions.down[results] | analysis.directions.up[results]
    narrow = np.maximum(np.abs(least), np.abs(most)) < MOST_TICKS  # false for NaN
    some = np.flatnonzero(sound & needed & narrow & (step > 0) & (first == last) & (np.diff(a.matrix.starts) > 0))
    hashes = np.zeros((definition.size, 2), dtype=np.uint64)
    filled = np.flatnonzero(np.diff(a.matrix.starts))
    if len(filled):
        weights = ticks.astype(np.int64).view(np.uint64)
        for at, mark in enumerate(marks):
            products = weights * mark[a.matrix.columns]
            hashes[filled, at] = np.add.reduceat(products, a.matrix.starts[filled])
    opposite = np.zeros_like(hashes) - hashes
    turned = opposite[:, 0] < hashes[:, 0]
    sign = np.where(turned, -1.0, 1.0)
    point = (first * sign)[some].astype(np.int64)
    begin = np.where(turned, -most, least)[some].astype(np.int64)
    end = np.where(turned, -least, most)[some].astype(np.int64)
    return _Equalities(
        np.where(turned[:, None], opposite, hashes)[some],
        np.full(len(some), number, dtype=np.int64), some, results[some], a.constants[some], (step * sign)[some],
        point, begin, end, analysis.directions.down[results][some],
    )  # fmt: skip


def _steps(analysis: Analysis, definition: Reified) -> Floats:
    step = steps_of(definition.arguments, analysis.problem.integer)
    if (step > 0).all() or analysis.problem.integer[definition.arguments.matrix.columns].all():
        return step
    return np.where(step > 0, step, steps_of(definition.arguments, analysis.units))


# --- choices ---------------------------------------------------------------------------------------------------------


class _Choices(Struct, frozen=True, eq=False):
    """Expressions with several values: `points` in order of expression and value, the first equality with each.

    Expression i has the points `starts[i] .. starts[i+1]-1` and whole t in `low .. high`; a definition contains it.
    `full`: somebody gains from a smaller result of it. `taken` are all equalities of these expressions, `owner` has the
    number of the point of each.
    """

    points: Codes
    starts: Codes
    definition: Codes
    low: Codes
    high: Codes
    full: Bools
    taken: _Equalities
    owner: Codes

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    @staticmethod
    def of(all_: _Equalities) -> _Choices:
        order = np.lexsort((all_.point, all_.hashes[:, 1], all_.hashes[:, 0]))
        found = all_.take(order)
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (found.hashes[1:] != found.hashes[:-1]).any(axis=1)
        group = np.cumsum(new) - 1
        distinct = new.copy()
        distinct[1:] |= found.point[1:] != found.point[:-1]
        begins = np.flatnonzero(new)
        if len(begins):
            low, high = np.maximum.reduceat(found.low, begins), np.minimum.reduceat(found.high, begins)
            several = (np.add.reduceat(distinct, begins) > 1) & (high - low > 1)
        else:
            low = high = np.zeros(0, dtype=np.int64)
            several = np.zeros(0, dtype=np.bool_)
        kept = np.flatnonzero(several[group]) if len(order) else order
        taken, distinct, group = found.take(kept), distinct[kept], group[kept]
        points = np.flatnonzero(distinct)
        begins = np.flatnonzero(np.diff(group[points], prepend=-1))
        starts = np.append(begins, len(points))
        chosen = np.flatnonzero(several)
        first = points[begins]
        down = np.logical_or.reduceat(taken.down, first) if len(first) else np.zeros(0, dtype=np.bool_)
        return _Choices(
            points, starts, taken.definition[first], low[chosen], high[chosen], down, taken,
            np.cumsum(distinct) - 1,
        )  # fmt: skip


class _Gaps(Struct, frozen=True, eq=False):
    """The values `first .. last` of expression `of`, none of which is a point."""

    of: Codes
    first: Codes
    last: Codes

    @staticmethod
    def between(choices: _Choices) -> _Gaps:
        """The gaps of all expressions: of those that are not `full` the whole range."""
        values = choices.taken.point[choices.points]
        of = np.repeat(np.arange(choices.count), np.diff(choices.starts))
        begins = choices.starts[:-1]
        before = np.concatenate((np.zeros(1, dtype=np.int64), values[:-1]))
        before[begins] = choices.low - 1
        last = values[choices.starts[1:] - 1]
        every = np.arange(choices.count, dtype=np.int64)
        full, bare = choices.full, ~choices.full
        inner, behind = np.flatnonzero((values > before + 1) & full[of]), np.flatnonzero((last < choices.high) & full)
        return _Gaps(
            np.concatenate((of[inner], behind, every[bare])),
            np.concatenate((before[inner] + 1, last[behind] + 1, choices.low[bare])),
            np.concatenate((values[inner] - 1, choices.high[behind], choices.high[bare])),
        )


# --- rows ------------------------------------------------------------------------------------------------------------


def _state(builder: ProblemBuilder, definition: Reified, choices: _Choices, some: Codes) -> None:
    """Add the rows of those expressions that are written in one definition."""
    if not len(some):
        return
    rows, columns = builder.rows, builder.columns
    taken, begins = choices.taken, choices.starts[some]
    place = np.full(choices.count, -1, dtype=np.int64)
    place[some] = np.arange(len(some))
    points = np.flatnonzero(place[np.repeat(np.arange(choices.count), np.diff(choices.starts))] >= 0)
    of = np.repeat(np.arange(len(some)), np.diff(choices.starts)[some])
    results = taken.results[choices.points[points]]
    lead = choices.points[begins]  # the equality that gives the expression
    a, step, constant = definition.arguments.take(taken.entry[lead]), taken.step[lead], taken.constant[lead]
    index = index_of_columns(builder.problem, taken.results[lead])
    family = builder.problem.column_family(int(taken.results[lead[0]])).name
    gaps = _Gaps.between(choices)
    mine = np.flatnonzero(place[gaps.of] >= 0)
    gap_of, first, last = place[gaps.of[mine]], gaps.first[mine], gaps.last[mine]
    order = np.argsort(gap_of, kind="stable")
    gap_of, first, last = gap_of[order], first[order], last[order]
    full = choices.full[some]

    def is_between(point: Floats) -> Floats:
        ticks = np.rint((a.values(point) - constant) / step)[gap_of]
        none = np.bincount(of, weights=point[results] > 0.5, minlength=len(some)) == 0
        return np.where(full[gap_of], (ticks >= first) & (ticks <= last), none[gap_of]).astype(np.float64)

    within = np.arange(len(gap_of)) - np.searchsorted(gap_of, gap_of) + 1
    between = np.zeros(0, dtype=np.int32)
    if len(gap_of):
        numbered = number_index(builder.problem, taken.results[lead][gap_of], within)
        between = builder.add_columns(f"{family}.between", numbered, 0.0, 1.0, True, is_between, definition.span)
    every = np.arange(len(some), dtype=np.int64)
    one = RowBuilder(len(some)).add(of, results, 1.0).add(gap_of, between, 1.0)
    builder.add_rows(f"{family}.one_value", index, one.matrix(), 1.0, 1.0, definition.span)

    values = constant[of] + step[of] * taken.point[choices.points[points]]
    ends = constant[gap_of] + step[gap_of] * first, constant[gap_of] + step[gap_of] * last
    wide = np.zeros(len(some), dtype=np.bool_)
    wide[gap_of[first < last]] = True
    least = RowBuilder(len(some)).add_affines(every, a, 1.0)
    least.add(of, results, -values).add(gap_of, between, -np.minimum(*ends))
    builder.add_rows(
        f"{family}.value", index, least.matrix(), least.side, np.where(wide, np.inf, least.side), definition.span
    )
    upper = np.flatnonzero(wide)
    if len(upper):
        row = np.full(len(some), -1, dtype=np.int64)
        row[upper] = np.arange(len(upper))
        most = RowBuilder(len(upper)).add_affines(np.arange(len(upper), dtype=np.int64), a.take(upper), 1.0)
        inside, gap_inside = np.flatnonzero(row[of] >= 0), np.flatnonzero(row[gap_of] >= 0)
        most.add(row[of[inside]], results[inside], -values[inside])
        most.add(row[gap_of[gap_inside]], between[gap_inside], -np.maximum(*ends)[gap_inside])
        index = index_of_columns(builder.problem, taken.results[lead][upper])
        builder.add_rows(f"{family}.most", index, most.matrix(), -np.inf, most.side, definition.span)
    did = "one binary for each value and each gap between values"
    builder.notes.append(
        Note(
            ChosenValues.name, definition.name, did, len(points), builder.rows - rows, builder.columns - columns,
            span=definition.span,
        )
    )  # fmt: skip


def _merge(builder: ProblemBuilder, choices: _Choices) -> None:
    """Equal comparisons of an expression have one result."""
    owners = choices.points[choices.owner]
    again = np.flatnonzero(owners != np.arange(len(owners)))
    if len(again):
        builder.substitute(choices.taken.results[again], choices.taken.results[owners[again]])
