"""Rows about one quotient of affine expressions, multiplied by its denominator.

    n(x) / d(x) <= U   ->   n(x) <= U d(x)     where d >= 0 within the bounds
    n(x) / d(x) >= L   ->   n(x) >= L d(x)
    d <= 0: the same with -n and -d;  under a condition: under the same condition

Takes rows all of whose columns are `1/d` or products `y * (1/d)` with one and the same d of known sign; data may stand
beside them, as in `1 / (rate - share) + 1 / rate <= latency`. n is a number or affine.

Proof. Multiplying by d > 0 changes no solution. At d = 0 the quotient has no value, so the new row must exclude d = 0.
It does when it says `n <= 0` there and n > 0 within the bounds (or `n >= 0` and n < 0), and need not when 0 is no value
of d. Otherwise the row is left as it is: `n / d >= L` with n > 0 asks for a d near 0. Where a condition is off, d may
be 0: its row is not worked out then.

Unused definitions are removed. Leaves other uses of `1/d` for targets with powers; for other targets, GSM3204 reports
those in which d may be 0 and the objective gains from it, or d has values on both sides of 0.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.passes.indicators import term_of
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.removing import without_unread
from gpusched_dsl.compiling.passes.rewriting import add_beside, with_rows
from gpusched_dsl.compiling.passes.rows import RowBuilder
from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions import Affines, Power, Product
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.ir.matrix import Matrix, stack
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

# Values closer than this to a multiple of a step, relative to their number, are one.
CLOSE = ROUNDING


class Reciprocals:
    """Rows of a single quotient -> linear rows."""

    name: ClassVar[str] = "reciprocals"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return any(isinstance(d, Power) and (d.exponents < 0).any() for d in analysis.problem.definitions)

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        step = _multiply(analysis)
        if not target.takes("power"):
            refuse_vanishing(step.problem)
        return step


class _Quotients(Struct, frozen=True, eq=False):
    """Columns as quotients: column j is `scale[j] * numerators[numerator[j]] / denominators[denominator[j]]`.

    `numerator[j] == -1`: the number 1. `denominator[j] == -1`: no quotient.
    """

    denominator: Codes
    numerator: Codes
    scale: Floats
    numerators: Affines
    denominators: Affines

    @staticmethod
    def of(problem: Problem) -> _Quotients:
        denominator, numerator = np.full((2, problem.columns), -1, dtype=np.int64)
        scale = np.ones(problem.columns)
        below, above = [_no_affines()], [_no_affines()]
        count = 0
        for definition in problem.definitions:
            if isinstance(definition, Power):
                entries = np.flatnonzero(definition.exponents == -1.0)
                denominator[definition.results[entries]] = count + np.arange(len(entries))
                below.append(definition.arguments.take(entries))
                count += len(entries)
        reciprocal = denominator >= 0
        count = 0
        for definition in problem.definitions:
            if not isinstance(definition, Product):
                continue
            pairs = np.flatnonzero(np.diff(definition.starts) == 2)
            first = definition.starts[pairs]
            for factor, other in ((first, first + 1), (first + 1, first)):
                column, size = _multiples(definition.arguments, other)
                found = (column >= 0) & reciprocal[column] & (denominator[definition.results[pairs]] < 0)
                results = definition.results[pairs[found]]
                denominator[results] = denominator[column[found]]
                numerator[results] = count + np.arange(len(results))
                scale[results] = size[found]
                above.append(definition.arguments.take(factor[found]))
                count += len(results)
        return _Quotients(denominator, numerator, scale, _together(above), _together(below))


def _multiples(affines: Affines, rows: Codes) -> tuple[Codes, Floats]:
    """The column and the coefficient of expressions that are a multiple of one column, else -1."""
    alone = (np.diff(affines.matrix.starts)[rows] == 1) & (affines.constants[rows] == 0.0)
    at = np.where(alone, affines.matrix.starts[rows], 0)
    if not affines.matrix.nonzeros:
        return np.full(len(rows), -1, dtype=np.int64), np.ones(len(rows))
    return np.where(alone, affines.matrix.columns[at], -1).astype(np.int64), affines.matrix.values[at]


def _multiply(analysis: Analysis) -> PassResult:
    problem = analysis.problem
    quotients = _Quotients.of(problem)
    rows = _of_one_quotient(problem, quotients)
    if not len(rows):
        return PassResult(problem)
    above, below = _fractions(problem, quotients, rows)
    low, high = analysis.bounds.of(below)
    sign = np.where(low >= 0, 1.0, -1.0)
    lower, upper = problem.row_lower[rows], problem.row_upper[rows]
    least, most = (sign * e for e in analysis.bounds.of(above))
    least, most = np.minimum(least, most), np.maximum(least, most)
    apart = (low > 0) | (high < 0)
    excluded = (np.isfinite(upper) & (least > 0)) | (np.isfinite(lower) & (most < 0))
    done = np.flatnonzero(((low >= 0) | (high <= 0)) & (apart | excluded))
    if not len(done):
        return PassResult(problem)
    rows, above, below, sign = rows[done], above.take(done), below.take(done), sign[done]
    lower, upper = lower[done], upper[done]
    has_upper = np.isfinite(upper)
    at_upper = _difference(above, below, sign, np.where(has_upper, upper, lower))
    same = (lower == upper) | ~has_upper
    changed = with_rows(
        problem, rows, at_upper.matrix(),
        np.where(same, at_upper.side, -np.inf), np.where(has_upper, at_upper.side, np.inf),
    )  # fmt: skip
    builder = ProblemBuilder(changed)
    for family in problem.constraints:
        inside = (rows >= family.first) & (rows < family.stop)
        two = np.flatnonzero(inside & has_upper & ~same & np.isfinite(lower))
        if len(two):
            at_lower = _difference(above.take(two), below.take(two), sign[two], lower[two])
            name, infinite = f"{family.name}.lower", np.full(len(two), np.inf)
            add_beside(builder, family, rows[two], name, at_lower.matrix(), at_lower.side, infinite)
        if inside.any():
            effect, count = "multiplied by the denominator", int(inside.sum())
            builder.notes.append(Note(Reciprocals.name, term_of(family), effect, count, len(two), span=family.span))
    return without_unread(builder.step())


def _of_one_quotient(problem: Problem, quotients: _Quotients) -> Codes:
    """Return the rows with one denominator in all columns."""
    filled = np.flatnonzero(np.diff(problem.matrix.starts))
    if not len(filled):
        return filled
    denominators = quotients.denominator[problem.matrix.columns]
    starts = problem.matrix.starts[filled]
    first, last = np.minimum.reduceat(denominators, starts), np.maximum.reduceat(denominators, starts)
    one: Codes = filled[(first >= 0) & (first == last)]
    return one


def _fractions(problem: Problem, quotients: _Quotients, rows: Codes) -> tuple[Affines, Affines]:
    """The numerator and the denominator of each row."""
    matrix = problem.matrix.take(rows)
    columns, of = matrix.columns, matrix.row_of.astype(np.int64)
    numerator = quotients.numerator[columns]
    sizes = matrix.values * quotients.scale[columns]
    plain, other = np.flatnonzero(numerator < 0), np.flatnonzero(numerator >= 0)
    above = RowBuilder(len(rows)).add_affines(of[other], quotients.numerators.take(numerator[other]), sizes[other])
    constants = above.constants + np.bincount(of[plain], weights=sizes[plain], minlength=len(rows))
    below = quotients.denominators.take(quotients.denominator[columns[matrix.starts[:-1]]])
    return Affines(above.matrix(), constants), below


def _difference(above: Affines, below: Affines, sign: Floats, side: Floats) -> RowBuilder:
    """`sign * (n - side * d)`."""
    every = np.arange(above.count, dtype=np.int64)
    return RowBuilder(above.count).add_affines(every, above, sign).add_affines(every, below, -sign * side)


def refuse_vanishing(problem: Problem) -> None:
    """Raises DiagnosticError (GSM3204) for `1/d` and the like where d = 0 is within reach.

    That is where 0 lies inside the range of d, or is an end of it and the value near there is wanted.
    """
    analysis = Analysis(problem, swept=True)
    found: list[Diagnostic] = []
    for definition in problem.definitions:
        if isinstance(definition, Power) and definition.size:
            low, high = analysis.bounds.of(definition.arguments)
            down, up = analysis.directions.down[definition.results], analysis.directions.up[definition.results]
            grows = (low >= 0) | (definition.exponents % 2 == 0)  # to plus infinity, else to minus infinity
            reached = (low < 0) & (high > 0) | np.where(grows, up, down)
            reached &= (definition.exponents < 0) & (low <= 0) & (high >= 0)
            bad = np.flatnonzero(reached & _meets_zero(definition.arguments, problem))
            if len(bad):
                entry = int(bad[0])
                found.append(_vanishing_error(problem, definition, entry, float(low[entry]), float(high[entry])))
    if found:
        raise DiagnosticError(found)


def _meets_zero(affines: Affines, problem: Problem) -> Bools:
    """Return which expressions can be 0 by their granularity."""
    step = steps_of(affines, problem.integer)
    places = affines.constants / np.where(step > 0, step, 1.0)
    meets: Bools = (step == 0) | (np.abs(places - np.rint(places)) <= CLOSE * np.maximum(1.0, np.abs(places)))
    return meets


def _vanishing_error(problem: Problem, definition: Power, entry: int, low: float, high: float) -> Diagnostic:
    column = int(definition.results[entry])
    name = entry_name(problem.column_family(column), column)
    return Diagnostic(
        "GSM3204",
        f"the denominator of `{definition.name}` may be 0",
        definition.span,
        f"between {low + 0.0:.6g} and {high + 0.0:.6g}",
        notes=(f"`{name}` is one of {definition.size} of them",) if definition.size > 1 else (),
        help="bound the variables in the denominator so that it is positive, or write the quotient alone on the "
        "smaller side of a constraint, as in `1 / (rate - share) <= latency`",
    )


def _no_affines() -> Affines:
    return Affines(Matrix.empty(), np.zeros(0))


def _together(parts: list[Affines]) -> Affines:
    return Affines(stack([p.matrix for p in parts]), np.concatenate([p.constants for p in parts]))
