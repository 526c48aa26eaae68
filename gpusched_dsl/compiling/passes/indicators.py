"""Rows under a condition as plain rows with the smallest big M that the bounds allow.

Takes rows `L <= a x <= U` that must hold only where a binary column c has the value v. With off = 0 where c = v, or 1:

    a x <= U + M off,   M = max(a x where c != v) - U
    a x >= L - M off,   M = L - min(a x where c != v)

over the bounds; the value of c itself counts where it stands in the row. Sides are first moved to the next value that
integer columns can reach. A side that cannot be broken where c = v goes. Where U is the least value that a x can have,
every column must be at its end, and each says so for itself: `a_j x_j <= least_j + (most_j - least_j) off`, which is
tighter than their sum. A fixed c leaves the row without a condition, or no row; a row that no point fulfils fixes c.

Proof. With off = 0 the rows are the ones taken; with off = 1 they hold for all points within the bounds.

Leaves the rows whose M would be infinite, or too large to be told from rounding errors, where the target takes
conditions; where it does not, an infinite M is GSM3202, which names the column without a bound.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.passes.missing_bounds import missing_bounds
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.rewriting import index_of_rows, with_conditions, with_rows, without_rows
from gpusched_dsl.compiling.passes.rows import RowBuilder, numbers_within
from gpusched_dsl.compiling.passes.steps import INDICATOR, Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s, unique
from gpusched_dsl.ir.definitions import Affines, within_steps
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

# A target that takes conditions gets them where M is larger: 1e-6 times M is then no longer a small violation.
LARGE = 1e4


class Indicators:
    """Rows under a condition -> rows with a big M."""

    name: ClassVar[str] = "indicators"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return len(analysis.problem.conditions.rows) > 0

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        given = _IndicatorRows.of(analysis)
        kept = given.largest > (LARGE if target.takes(INDICATOR) else np.inf)
        if not target.takes(INDICATOR) and np.isinf(given.largest).any():
            raise DiagnosticError(_refusals(analysis, given))
        return _rewrite(analysis.problem, given, ~kept)


class _IndicatorRows(Struct, frozen=True, eq=False):
    """The rows under a condition with their sides sharpened; all arrays have a value per condition.

    `upper_m`, `lower_m` are the big M of the sides that can be broken (`upper_broken`, `lower_broken`) where c = v;
    `at_least`: U is the least value there, `at_most`: L is the largest. `always` and `never`: c is fixed.
    `impossible`: no point within the bounds fulfils the row, so c must not be v.
    """

    matrix: Matrix
    column: Int32s
    value: Bools
    lower: Floats
    upper: Floats
    lower_broken: Bools
    upper_broken: Bools
    lower_m: Floats
    upper_m: Floats
    at_least: Bools
    at_most: Bools
    always: Bools
    never: Bools
    impossible: Bools

    @property
    def largest(self) -> Floats:
        return np.maximum(self.lower_m, self.upper_m)

    @staticmethod
    def of(analysis: Analysis) -> _IndicatorRows:
        problem, bounds, conditions = analysis.problem, analysis.bounds, analysis.problem.conditions
        matrix, value = problem.matrix.take(conditions.rows), conditions.values
        step = steps_of(Affines(matrix, np.zeros(matrix.rows)), problem.integer)
        lower, upper = _sharpen(problem, step)
        on_low, on_high = _range(analysis, matrix, value)
        off_low, off_high = _range(analysis, matrix, ~value)
        fixed = bounds.lower[conditions.columns] == bounds.upper[conditions.columns]
        at_value = (bounds.lower[conditions.columns] > 0.5) == value
        up_slack, low_slack = _slack(upper, step), _slack(lower, step)
        impossible = ~fixed & ((lower > upper + up_slack) | (on_low > upper + up_slack) | (on_high < lower - low_slack))
        either = ~fixed & ~impossible
        upper_broken = (on_high > upper + up_slack) & either
        lower_broken = (on_low < lower - low_slack) & either
        at_least = upper_broken & (np.abs(upper - on_low) <= up_slack)
        at_most = lower_broken & (np.abs(lower - on_high) <= low_slack)
        with np.errstate(invalid="ignore"):
            upper_m = np.where(upper_broken, np.maximum(off_high - upper, 0.0), 0.0)
            lower_m = np.where(lower_broken, np.maximum(lower - off_low, 0.0), 0.0)
        return _IndicatorRows(
            matrix, conditions.columns, value, lower, upper, lower_broken, upper_broken, lower_m, upper_m,
            at_least, at_most, fixed & at_value, fixed & ~at_value, impossible,
        )  # fmt: skip

    def take(self, some: Codes) -> _IndicatorRows:
        return _IndicatorRows(
            self.matrix.take(some), *(getattr(self, name)[some] for name in self.__struct_fields__[1:])
        )


def _slack(side: Floats, step: Floats) -> Floats:
    """By how much a side may be broken by rounding errors."""
    return within_steps(ROUNDING * np.maximum(1.0, np.abs(np.where(np.isfinite(side), side, 0.0))), step)


def _sharpen(problem: Problem, step: Floats) -> tuple[Floats, Floats]:
    """Move the sides to values that integer columns can reach."""
    rows = problem.conditions.rows
    lower, upper = problem.row_lower[rows], problem.row_upper[rows]
    by, ones = np.where(step > 0, step, 1.0), np.ones(len(step))
    least, most = lower / by, upper / by
    lower = np.where(step > 0, np.ceil(least - _slack(least, ones)) * by, lower)
    return lower, np.where(step > 0, np.floor(most + _slack(most, ones)) * by, upper)


def _range(analysis: Analysis, matrix: Matrix, value: Bools) -> tuple[Floats, Floats]:
    """The least and the largest value of each row where its condition's column has this value."""
    low, high = _terms(analysis, matrix)
    own = matrix.columns == analysis.problem.conditions.columns[matrix.row_of]
    fixed = matrix.values * value[matrix.row_of]
    low, high = np.where(own, fixed, low), np.where(own, fixed, high)
    count = matrix.rows
    least, most = (np.bincount(matrix.row_of, weights=ends, minlength=count) for ends in (low, high))
    return least.astype(np.float64, copy=False), most.astype(np.float64, copy=False)


def _terms(analysis: Analysis, matrix: Matrix) -> tuple[Floats, Floats]:
    """The least and the largest value of each nonzero times its column."""
    bounds, columns, values = analysis.bounds, matrix.columns, matrix.values
    positive = values > 0
    low = values * np.where(positive, bounds.lower[columns], bounds.upper[columns])
    return low, values * np.where(positive, bounds.upper[columns], bounds.lower[columns])


def _rewrite(problem: Problem, given: _IndicatorRows, done: Bools) -> PassResult:
    some = np.flatnonzero(done)
    part, rows = given.take(some), problem.conditions.rows[some]
    each = part.at_least | part.at_most
    upper, lower = part.upper_broken & ~each, part.lower_broken & ~each
    # A row has place for both sides where they need no M; else the lower one gets a row of its own.
    apart = upper & lower & (part.largest > 0)
    gone = np.zeros(problem.rows, dtype=np.bool_)
    gone[rows[part.never | ~(upper | lower | part.always)]] = True
    here = np.flatnonzero(upper | lower)
    here_lower = (lower & ~apart)[here]
    m = np.where(upper, part.upper_m, -part.lower_m)[here]
    value = part.value[here]
    changed = with_rows(
        problem, rows[here], _with_switch(part, here, m),
        np.where(here_lower, (part.lower - part.lower_m * part.value)[here], -np.inf),
        np.where(upper[here], part.upper[here] + part.upper_m[here] * value, np.inf),
    )  # fmt: skip
    builder = ProblemBuilder(with_conditions(changed, ~done))
    for needed in (True, False):
        columns = unique(part.column[part.impossible & (part.value == needed)])
        builder.bound(columns, 0.0 if needed else 1.0, 0.0 if needed else 1.0)
    for family in problem.constraints:
        inside = (rows >= family.first) & (rows < family.stop)
        if inside.any():
            before = builder.rows
            _add_lower(builder, family, part, rows, np.flatnonzero(inside & apart))
            _add_each(builder, family, part, rows, np.flatnonzero(inside & each))
            added = builder.rows - before - int(gone[family.slice].sum())
            builder.notes.append(_note(family, part, inside, gone[rows], each, added))
    step = builder.step()
    gone = np.concatenate((gone, np.zeros(builder.rows - problem.rows, dtype=np.bool_)))
    smaller, numbers = without_rows(step.problem, gone)
    return structs.replace(step, problem=smaller, rows=numbers[: problem.rows])


def _with_switch(part: _IndicatorRows, some: Codes, m: Floats) -> Matrix:
    """The rows `a x + M c` where v = 1, `a x - M c` where v = 0."""
    every = np.arange(len(some), dtype=np.int64)
    matrix = part.matrix.take(some)
    rows = RowBuilder(len(some)).add(matrix.row_of, matrix.columns, matrix.values)
    return rows.add(every, part.column[some], np.where(part.value[some], m, -m)).matrix()


def _add_lower(builder: ProblemBuilder, family: Family, part: _IndicatorRows, rows: Codes, some: Codes) -> None:
    """Add `a x >= L - M off` for rows that have the upper side."""
    if len(some):
        side = (part.lower - part.lower_m * part.value)[some]
        matrix = _with_switch(part, some, -part.lower_m[some])
        builder.add_rows(f"{family.name}.lower", index_of_rows(family, rows[some]), matrix, side, np.inf, family.span)


def _add_each(builder: ProblemBuilder, family: Family, part: _IndicatorRows, rows: Codes, some: Codes) -> None:
    """Every column at its end where c = v, in rows with coefficients 1."""
    if not len(some):
        return
    matrix = part.matrix.take(some)
    of, columns, values = matrix.row_of, matrix.columns, matrix.values
    column, value = part.column[some][of], part.value[some][of]
    low, high = builder.problem.lower[columns], builder.problem.upper[columns]
    moving = np.flatnonzero((columns != column) & (low < high))
    of, columns, column, value = of[moving], columns[moving], column[moving], value[moving]
    low, high = low[moving], high[moving]
    to_low = (values[moving] > 0) == part.at_least[some][of]
    width = np.where(value, high - low, low - high)
    every = np.arange(len(of), dtype=np.int64)
    built = RowBuilder(len(of)).add(every, columns, 1.0).add(every, column, np.where(to_low, width, -width))
    builder.add_rows(
        f"{family.name}.each", index_of_rows(family, rows[some][of], numbers_within(of)), built.matrix(),
        np.where(to_low, -np.inf, np.where(value, low, high)), np.where(to_low, np.where(value, high, low), np.inf),
        family.span,
    )  # fmt: skip


def _note(family: Family, part: _IndicatorRows, inside: Bools, gone: Bools, each: Bools, added: int) -> Note:
    m = np.concatenate((part.lower_m[inside & ~each], part.upper_m[inside & ~each]))
    m = m[m > 0]
    effects = [("big M", len(m) > 0), ("column by column", bool((inside & each).any())),
            ("impossible conditions fixed", bool((inside & part.impossible).any())),
            ("redundant rows dropped", bool((inside & gone & ~each & ~part.impossible).any()))]  # fmt: skip
    words = "; ".join(w for w, so in effects if so) or "stated without the condition"
    big_m = (float(m.min()), float(m.max())) if len(m) else None
    return Note(Indicators.name, term_of(family), words, int(inside.sum()), added, big_m=big_m, span=family.span)


def term_of(family: Family) -> str:
    """Return the name of the constraint; for rows added by a pass, the text of their term."""
    added_by_pass = family.span is not None and "." in family.name
    return " ".join(family.span.text.split()) if added_by_pass and family.span is not None else family.name


def _refusals(analysis: Analysis, given: _IndicatorRows) -> list[Diagnostic]:
    """Return the missing bounds, one diagnostic per constraint."""
    problem, bounds, rows = analysis.problem, analysis.bounds, analysis.problem.conditions.rows
    found: list[Diagnostic] = []
    expressions = Affines(given.matrix, np.zeros(len(rows)))
    for family in problem.constraints:
        inside = (rows >= family.first) & (rows < family.stop)
        needed = np.flatnonzero(inside & np.isinf(given.lower_m)), np.flatnonzero(inside & np.isinf(given.upper_m))
        if len(needed[0]) + len(needed[1]):
            found += missing_bounds(problem, bounds, expressions, needed, term_of(family), family.span)
    return found
