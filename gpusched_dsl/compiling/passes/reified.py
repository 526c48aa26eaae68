"""Comparisons with a decision as truth value, as rows with conditions.

Takes `r == [L <= a <= U]`, r binary, and keeps the half that is needed:

    r <= [L <= a <= U]:   L <= a <= U                     where r = 1
    r >= [a <= U]:        a >= U'                         where r = 0
    r >= [a >= L]:        a <= L'                         where r = 0
    r >= [L <= a <= U]:   a >= U' where p = 1, a <= L' where q = 1, r + p + q = 1, binaries p and q

U' is the next value above U that a can have, L' the next below L: a must move in steps, as expressions of integer
columns do, or be a column with a gap at this side, as semicontinuous ones are (`gaps.py`). A side that no point within
the bounds breaks is left out first: an equality with an end of the range is one-sided. Where a has two values only, r
is affine in it.

Results of terms move in steps, too, such as `min(x / 2, y / 4)` of integer x and y (`result_steps`); that is seen as
long as the terms are there. So `ReifiedSteps` comes before every pass that removes terms, and takes the entries that
read such results.

Proof. At r = 0 the comparison does not hold if and only if a lies above U or below L, that is at U' or L' or beyond.

The rows under a condition are for `indicators` to make plain. Of an expression without steps the negation would be
`a > U`, which no row can say: GSM3205 asks the author for a margin.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.analysis.ranges import image_of
from gpusched_dsl.compiling.passes.gaps import gaps_of, single_columns
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder, index_of_columns
from gpusched_dsl.compiling.passes.rows import RowBuilder
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, PassResult, Target, not_taken
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines, Reified, within_steps
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span


class ReifiedSteps:
    """Reified comparisons of expressions that move in steps because of the terms in them -> rows under conditions on
    the result."""

    name: ClassVar[str] = "steps of terms"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return target.takes(INTEGERS) and any(
            not analysis.problem.integer[d.arguments.matrix.columns].all() for d in not_taken(analysis, target, Reified)
        )

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem = analysis.problem
        builder, units = ProblemBuilder(problem), analysis.units
        for definition in not_taken(analysis, target, Reified):
            plain = steps_of(definition.arguments, problem.integer)
            taken = (plain == 0) & (steps_of(definition.arguments, units) > 0)
            taken &= _is_open(definition, analysis)
            if taken.any():
                part = definition.take(np.flatnonzero(taken))
                builder.replace(definition, taken, (part,))
                _reformulate(builder, analysis, part, units)
        return builder.step() if builder.notes else PassResult(problem)


class ReifiedComparisons:
    """Reified -> rows under conditions on the result."""

    name: ClassVar[str] = "reified"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return target.takes(INTEGERS) and bool(not_taken(analysis, target, Reified))

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        found: list[Diagnostic] = []
        for definition in not_taken(analysis, target, Reified):
            found += _reformulate(builder, analysis, definition, analysis.problem.integer)
        if found:
            raise DiagnosticError(found)
        return builder.step()


def _is_open(definition: Reified, analysis: Analysis) -> Bools:
    """Return the comparisons that bounds do not decide; `fixed_factors` handles the others."""
    least, most = image_of(definition, *analysis.bounds.of(definition.arguments))
    return np.asarray(least < most)


class _Comparisons(Struct, frozen=True, eq=False):
    """`results[i] == [lower[i] <= a[i] <= upper[i]]`, a with values within `low .. high`, `step` apart or anywhere (0).

    Sides that cannot be broken are infinite, others moved to values of a. `below` and `above` are the next outside.
    """

    results: Int32s
    a: Affines
    low: Floats
    high: Floats
    step: Floats
    lower: Floats
    upper: Floats
    below: Floats
    above: Floats
    down: Bools
    up: Bools
    family: str
    span: Span | None

    @staticmethod
    def of(definition: Reified, analysis: Analysis, units: Bools | Floats) -> _Comparisons:
        a, results = definition.arguments, definition.results
        low, high = analysis.bounds.of(a)
        step = steps_of(a, units)
        lower = np.where(low >= definition.lower - _slack(definition.lower, step), -np.inf, definition.lower)
        upper = np.where(high <= definition.upper + _slack(definition.upper, step), np.inf, definition.upper)
        by = np.where(step > 0, step, 1.0)
        first, last = (lower - a.constants) / by, (upper - a.constants) / by
        first = np.ceil(first - _slack(first, np.ones(len(by))))  # the first value of a that is not below `lower`
        last = np.floor(last + _slack(last, np.ones(len(by))))
        moves_in_steps = step > 0
        return _Comparisons(
            results, a, low, high, step,
            np.where(moves_in_steps, a.constants + by * first, lower),
            np.where(moves_in_steps, a.constants + by * last, upper),
            a.constants + by * (first - 1), a.constants + by * (last + 1),
            analysis.directions.down[results], analysis.directions.up[results],
            analysis.problem.column_family(int(results[0])).name, definition.span,
        )  # fmt: skip

    def rows(
        self, builder: ProblemBuilder, name: str, some: Bools, lower: Floats, upper: Floats, when: Int32s, value: bool
    ) -> None:
        """`lower <= a <= upper` where the columns `when` have the value."""
        entries = np.flatnonzero(some)
        if not len(entries):
            return
        a = self.a.take(entries)
        index = index_of_columns(builder.problem, self.results[entries])
        builder.add_rows(
            f"{self.family}.{name}", index, a.matrix, lower[entries] - a.constants, upper[entries] - a.constants,
            self.span, (when[entries], np.full(len(entries), value)),
        )  # fmt: skip


def _reformulate(
    builder: ProblemBuilder, analysis: Analysis, definition: Reified, units: Bools | Floats
) -> list[Diagnostic]:
    holds = _Comparisons.of(definition, analysis, units)
    before = builder.rows, builder.columns
    never = (holds.lower > holds.upper) | (holds.low > holds.upper + _slack(holds.upper, holds.step))
    never |= holds.high < holds.lower - _slack(holds.lower, holds.step)
    always = ~never & np.isneginf(holds.lower) & np.isposinf(holds.upper)
    builder.bound(holds.results[never], 0.0, 0.0)
    builder.bound(holds.results[always], 1.0, 1.0)
    rest = ~never & ~always
    # The values of a are its ends: one of them is on the side that holds.
    two = rest & (holds.step > 0) & (holds.high - holds.low <= holds.step * (1 + ROUNDING))
    _state_affine(builder, holds, np.flatnonzero(two))
    rest &= ~two
    unless = rest & holds.down
    loose = unless & (holds.step == 0)
    if loose.any():
        loose &= ~_step_over_gaps(builder, holds, loose)
    if loose.any():
        return [_refusal(analysis, definition, int(np.flatnonzero(loose)[0]))]
    infinite = np.full(definition.size, np.inf)
    holds.rows(builder, "if", rest & holds.up, holds.lower, holds.upper, holds.results, True)
    from_above, from_below = np.isfinite(holds.upper), np.isfinite(holds.lower)
    both = unless & from_above & from_below
    holds.rows(builder, "unless", unless & ~both & from_above, holds.above, infinite, holds.results, False)
    holds.rows(builder, "unless", unless & ~both & from_below, -infinite, holds.below, holds.results, False)
    if both.any():
        _state_outside(builder, holds, np.flatnonzero(both), infinite)
    builder.remove(definition)
    effects = [("affine in a term with two values", bool(two.any())), ("is fixed", bool((never | always).any())),
            ("rows under a condition", bool((rest & (holds.up | holds.down)).any())),
            ("binaries for above and below", bool(both.any())),
            ("never used", bool((rest & ~holds.up & ~holds.down).any()))]  # fmt: skip
    words = "; ".join(w for w, so in effects if so)
    rows, columns = builder.rows - before[0], builder.columns - before[1]
    builder.notes.append(
        Note(ReifiedComparisons.name, definition.name, words, definition.size, rows, columns, span=definition.span)
    )
    return []


def _step_over_gaps(builder: ProblemBuilder, holds: _Comparisons, loose: Bools) -> Bools:
    """Set `below` and `above` of one-sided comparisons of a column with a gap at this side; return which these are."""
    single, columns, factors = single_columns(holds.a)
    rises = np.isfinite(holds.lower)
    one_sided = loose & single & (rises != np.isfinite(holds.upper))
    sides = (np.where(rises, holds.lower, holds.upper) - holds.a.constants) / factors
    beyond = factors * gaps_of(builder.problem).beyond(columns, sides, rises == (factors > 0)) + holds.a.constants
    found = one_sided & ~np.isnan(beyond)
    holds.below[found & rises] = beyond[found & rises]
    holds.above[found & ~rises] = beyond[found & ~rises]
    return np.asarray(found)


def _state_affine(builder: ProblemBuilder, holds: _Comparisons, entries: Codes) -> None:
    """Return `r = (a - low) / (high - low)` if the larger value is true, `(high - a) / (high - low)` otherwise."""
    if not len(entries):
        return
    a, low, high = holds.a.take(entries), holds.low[entries], holds.high[entries]
    rising = np.isfinite(holds.lower[entries])
    slope = np.where(rising, 1.0, -1.0) / (high - low)
    every = np.arange(len(entries), dtype=np.int64)
    rows = RowBuilder(len(entries)).add(every, holds.results[entries], 1.0).add_affines(every, a, -slope)
    side = rows.side - slope * np.where(rising, low, high)
    index = index_of_columns(builder.problem, holds.results[entries])
    builder.add_rows(f"{holds.family}.switch", index, rows.matrix(), side, side, holds.span)


def _state_outside(builder: ProblemBuilder, holds: _Comparisons, entries: Codes, infinite: Floats) -> None:
    """Add a binary for the side of the argument if a comparison with two sides is false."""
    index = index_of_columns(builder.problem, holds.results[entries])
    a, half = holds.a.take(entries), holds.step[entries] / 2
    above, below = holds.above[entries] - half, holds.below[entries] + half

    def is_above(point: Floats) -> Floats:
        return (a.values(point) > above).astype(np.float64)

    def is_below(point: Floats) -> Floats:
        return (a.values(point) < below).astype(np.float64)

    p, q = np.zeros(len(holds.results), dtype=np.int32), np.zeros(len(holds.results), dtype=np.int32)
    p[entries] = builder.add_columns(f"{holds.family}.above", index, 0.0, 1.0, True, is_above, holds.span)
    q[entries] = builder.add_columns(f"{holds.family}.below", index, 0.0, 1.0, True, is_below, holds.span)
    some = np.zeros(len(holds.results), dtype=np.bool_)
    some[entries] = True
    holds.rows(builder, "high", some, holds.above, infinite, p, True)
    holds.rows(builder, "low", some, -infinite, holds.below, q, True)
    every = np.arange(len(entries), dtype=np.int64)
    rows = RowBuilder(len(entries))
    for columns in (holds.results, p, q):
        rows.add(every, columns[entries], 1.0)
    builder.add_rows(f"{holds.family}.one", index, rows.matrix(), 1.0, 1.0, holds.span)


def _slack(side: Floats, step: Floats) -> Floats:
    """By how much a side may differ from a value that it means, as in `Reified.evaluate`."""
    return within_steps(ROUNDING * np.maximum(1.0, np.abs(np.where(np.isfinite(side), side, 0.0))), step)


def _refusal(analysis: Analysis, definition: Reified, entry: int) -> Diagnostic:
    problem = analysis.problem
    part = definition.arguments.take(np.arange(entry, entry + 1, dtype=np.int64)).matrix
    continuous = part.columns[~problem.integer[part.columns]]
    declared = continuous[continuous < sum(f.size for f in problem.variables)]
    cause = "the values of its terms have no common step"
    if len(declared):
        column = int(declared[0])
        cause = f"`{entry_name(problem.column_family(column), column)}` is continuous"
    return Diagnostic(
        "GSM3205",
        f"`{definition.name}` cannot be told from its opposite: {cause}",
        definition.span,
        "one of the two is a strict inequality",
        notes=(
            "solvers support only `<=` and `>=`: they cannot distinguish a value just outside from a value just inside",
        ),
        help="state the opposite case with a margin, as in `late => end >= due + 1[s]; not late => end <= due`",
    )
