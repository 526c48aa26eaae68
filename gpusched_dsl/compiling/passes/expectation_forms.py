"""Partial expectations of exponential and of piecewise-linear laws written with `exp` and squares."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.passes.linear_terms import Part, hold_to, sum_of
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.ir.arrays import Bools, Floats, Int32s, Ints
from gpusched_dsl.ir.definitions import Affines, Definition, PartialExpectation, Power, Unary, unary_starts
from gpusched_dsl.ir.distributions import Distribution, LinearSurvival
from gpusched_dsl.ir.distributions.base import ExponentialSum
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.ir.problem import Matrix
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.source import Span

# More pieces than that become a piecewise-linear curve: each is a column and a square for every entry.
MOST_SQUARES = 20
# How far beyond the end of a range a formula may be used: what bounds are loosened by.
BEYOND = ROUNDING

Form = ExponentialSum | LinearSurvival


class ExpectationEntries(Struct, frozen=True, eq=False):
    """Some entries of one definition with one law, all to be split or none; `name` is for families."""

    definition: PartialExpectation
    down: Bools
    up: Bools
    name: str
    index: Domain

    @property
    def arguments(self) -> Affines:
        return self.definition.arguments


def form_of(law: Distribution, target: Target) -> Form | None:
    """Return the form of a distribution in constructs of the target; None if there is none."""
    if target.takes("exp") and law.exponentials is not None:
        return law.exponentials
    if target.takes("power") and isinstance(law, LinearSurvival) and law.density.any():
        return law if len(law.knots) - 1 <= MOST_SQUARES else None
    return None


def holds_within(form: Form, low: Floats, high: Floats) -> Bools:
    """Whether one formula is valid for the complete range of an argument."""
    slack = BEYOND * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
    if isinstance(form, ExponentialSum):
        return np.asarray((low >= form.low - slack) & (high <= form.high + slack))
    at = _segment(form, low, slack)
    return np.asarray((low >= form.knots[0] - slack) & (high <= form.knots[at + 1] + slack))


def _segment(form: LinearSurvival, low: Floats, slack: Floats) -> Ints:
    return np.clip(np.searchsorted(form.knots, low + slack, side="right") - 1, 0, len(form.knots) - 2)


def add_exponentials(
    builder: ProblemBuilder, entries: ExpectationEntries, form: ExponentialSum, split: bool
) -> list[Definition]:
    """`low + slope v + sum_i factors[i] (1 - exp(-rates[i] v))` with v = x - low."""
    if split:
        before, (beyond,) = _split(builder, entries, form.low, np.array([form.low, form.high]))
        inside = Affines.of_columns(beyond)
        parts: list[Part] = [(before, 1.0)]
        constant = 0.0
    else:
        inside, parts, constant = shift(entries.arguments, -form.low), [], form.low
    parts.append((inside, form.slope))
    new_definitions: list[Definition] = []
    for factor, rate in zip(form.factors.tolist(), form.rates.tolist(), strict=True):
        exponent = scale(inside, -rate)
        column = _column(builder, entries, "exp", partial(_exp_at, exponent))
        new_definitions.append(Unary(column, unary_starts(len(column)), exponent, *_source(entries), "exp"))
        parts.append((column, -factor))
        constant += factor
    _add_sum_rows(builder, entries, parts, constant)
    return new_definitions


def add_squares(
    builder: ProblemBuilder, entries: ExpectationEntries, form: LinearSurvival, split: bool, low: Floats
) -> list[Definition]:
    """`G_l + f_l v - g_l v^2 / 2` with v = x - knot_l, on one piece, or summed over all pieces.

    Squared is v by the width of its piece, which is at most 1: solvers bound errors by the size of numbers.
    """
    if not split:
        at = _segment(form, low, BEYOND * np.maximum(1.0, np.abs(low)))
        inside = shift(entries.arguments, -form.knots[at])
        width = _widths(form)[at]
        column, new_definitions = _square(builder, entries, scale(inside, 1.0 / width))
        _add_sum_rows(
            builder, entries, [(inside, form.right[at]), (column, -form.density[at] * width**2 / 2)], form.at_knots[at]
        )
        return new_definitions
    before, columns = _split(builder, entries, float(form.knots[0]), form.knots)
    parts: list[Part] = [(before, 1.0)]
    new_definitions = []
    for piece, column in enumerate(columns):
        parts.append((column, float(form.right[piece])))
        if form.density[piece] > 0:
            wide = float(_widths(form)[piece])
            square, more = _square(builder, entries, scale(Affines.of_columns(column), 1.0 / wide))
            parts.append((square, -float(form.density[piece]) * wide**2 / 2))
            new_definitions += more
    _add_sum_rows(builder, entries, parts, 0.0)
    return new_definitions


def _split(
    builder: ProblemBuilder, entries: ExpectationEntries, first: float, knots: Floats
) -> tuple[Int32s, list[Int32s]]:
    """Split into columns u <= knot_0 and v_l within the pieces with x = u + sum v_l + t, t >= 0 after the last knot."""
    arguments, span = entries.arguments, entries.definition.span

    def add(what: str, low: float, high: float, values: Callable[[Floats], Floats]) -> Int32s:
        return builder.add_columns(f"{entries.name}.{what}", entries.index, low, high, False, values, span)

    before = add("before", -np.inf, first, lambda point: np.minimum(arguments.values(point), first))
    columns = [add("part", 0.0, b - a, partial(_part_at, arguments, a, b)) for a, b in pairwise(knots.tolist())]
    parts: list[Part] = [(arguments, 1.0), (before, -1.0), *((column, -1.0) for column in columns)]
    last = float(knots[-1])
    if np.isfinite(last):
        behind = add("behind", 0.0, np.inf, lambda point: np.maximum(arguments.values(point) - last, 0.0))
        parts.append((behind, -1.0))
    body = sum_of(*parts)
    side = 0.0 - body.constants
    builder.add_rows(f"{entries.name}.split", entries.index, body.matrix, side, side, span)
    return before, columns


def _widths(form: LinearSurvival) -> Floats:
    width = np.diff(form.knots)
    return np.where(np.isfinite(width) & (width > 0), width, 1.0)


def _square(builder: ProblemBuilder, entries: ExpectationEntries, inside: Affines) -> tuple[Int32s, list[Definition]]:
    column = _column(builder, entries, "square", lambda point: inside.values(point) ** 2)
    exponents = np.full(len(column), 2.0)
    return column, [Power(column, unary_starts(len(column)), inside, *_source(entries), exponents)]


def _column(
    builder: ProblemBuilder, entries: ExpectationEntries, what: str, values: Callable[[Floats], Floats]
) -> Int32s:
    span = entries.definition.span
    return builder.add_columns(f"{entries.name}.{what}", entries.index, 0.0, np.inf, False, values, span)


def _source(entries: ExpectationEntries) -> tuple[Span | None, str]:
    return entries.definition.span, entries.definition.name


def _add_sum_rows(
    builder: ProblemBuilder, entries: ExpectationEntries, parts: list[Part], constant: Floats | float
) -> None:
    body = sum_of(*parts)
    by = Affines(body.matrix, body.constants + constant)
    own = entries.definition
    hold_to(builder, f"{entries.name}.value", entries.index, own.results, by, entries.down, entries.up, own.span)


def _exp_at(exponent: Affines, point: Floats) -> Floats:
    return np.exp(exponent.values(point))


def _part_at(arguments: Affines, low: float, high: float, point: Floats) -> Floats:
    return np.clip(arguments.values(point), low, high) - low


def shift(affines: Affines, by: Floats | float) -> Affines:
    return Affines(affines.matrix, affines.constants + by)


def scale(affines: Affines, by: Floats | float) -> Affines:
    matrix, each = affines.matrix, np.broadcast_to(np.asarray(by, dtype=np.float64), (affines.count,))
    return Affines(Matrix(matrix.starts, matrix.columns, matrix.values * each[matrix.row_of]), affines.constants * each)
