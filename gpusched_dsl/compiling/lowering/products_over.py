"""`prod` over decisions: `and` where all factors are 0 or 1, else one factor after the other.

    prod of f_1, ..., f_n    ->   t_1 = f_1,  t_k = t_(k-1) * f_k

A column stands for each t_k, so that the next step has as many products as f_k has columns, and not all combinations.
Where f_k is an expression of binaries, such as 1 - 0.2 * backup[k], each product has a binary factor.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.lowering.affine import Affine, AffineBlock
from gpusched_dsl.compiling.lowering.auxiliaries import Making
from gpusched_dsl.compiling.lowering.nonlinear import Nonlinear
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.definitions import Affines, MinMax, unary_starts
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.language.checked import Reduction
from gpusched_dsl.language.text.shortening import shorten


def product_over(nonlinear: Nonlinear, expr: Reduction, frame: Frame) -> Affine:
    """The value of a `prod` in every row; over nothing it is 1."""
    inner = nonlinear.distinct_frame(expr, frame)
    starts, factors = _factors(nonlinear, expr, inner)
    name = shorten(expr.span.text)
    is_logical = _are_zero_one(nonlinear, factors)

    def build(_: Frame) -> tuple[str, Making]:
        if is_logical:
            return "prod", lambda results: MinMax(results, starts, factors, expr.span, name, False)
        product = nonlinear.as_affines(_multiply(nonlinear, expr, starts, factors))
        return "prod", lambda results: MinMax(results, unary_starts(inner.size), product, expr.span, name, True)

    return nonlinear.define(expr, frame, build, zero_one=is_logical)


def _factors(nonlinear: Nonlinear, expr: Reduction, inner: Frame) -> tuple[Codes, Affines]:
    """The factors of each row, and a 1 where there are none."""
    grown = nonlinear.ev.expand(inner, expr.indexing, expr.span)
    body = nonlinear.arguments(expr.body, grown.frame)
    parents = grown.parents()
    none = np.flatnonzero(np.bincount(parents, minlength=inner.size) == 0)
    rows = np.concatenate((parents, none))
    starts = np.concatenate((body.matrix.starts, np.full(len(none), body.matrix.nonzeros)))
    factors = Affines(
        Matrix(starts, body.matrix.columns, body.matrix.values), np.concatenate((body.constants, np.ones(len(none))))
    )
    counts = np.bincount(rows, minlength=inner.size)
    return np.concatenate(([0], np.cumsum(counts))), factors.take(np.argsort(rows, kind="stable"))


def _are_zero_one(nonlinear: Nonlinear, factors: Affines) -> bool:
    low, high = nonlinear.terms.ranges(factors)
    steps = steps_of(factors, nonlinear.terms.integer)
    is_integer = (steps >= 1) & (factors.constants == np.rint(factors.constants))
    return bool((is_integer & (low >= 0) & (high <= 1)).all())


def _multiply(nonlinear: Nonlinear, expr: Reduction, starts: Codes, factors: Affines) -> Affine:
    counts = np.diff(starts)
    size = len(counts)
    result = _affine_of(factors.take(starts[:-1]), expr)
    for number in range(1, int(counts.max(initial=1))):
        rows = np.flatnonzero(counts > number)
        others = np.flatnonzero(counts <= number)
        so_far = nonlinear.as_affines(result)
        left = _affine_of(_column_of(nonlinear, expr, so_far.take(rows)), expr)
        right = _affine_of(factors.take(starts[rows] + number), expr)
        more = nonlinear.product(left, right, expr).spread(rows, size)
        result = more + _affine_of(so_far.take(others), expr).spread(others, size)
    return result


def _column_of(nonlinear: Nonlinear, expr: Reduction, expressions: Affines) -> Affines:
    """The same expressions, each with more than one column as a column of its own."""
    apart = np.flatnonzero((np.diff(expressions.matrix.starts) > 1) | (expressions.constants != 0))
    apart = apart[np.diff(expressions.matrix.starts)[apart] > 0]
    if not len(apart):
        return expressions
    name, starts = shorten(expr.span.text), unary_starts(len(apart))
    arguments = expressions.take(apart)
    columns = nonlinear.terms.add(
        "factors",
        IntervalDomain(1, len(apart)),
        lambda results: MinMax(results, starts, arguments, expr.span, name, True),
        expr.span,
    )
    others = np.setdiff1d(np.arange(expressions.count), apart)
    rest = expressions.take(others)
    together = Affines(
        Matrix(
            np.concatenate((rest.matrix.starts, rest.matrix.nonzeros + 1 + np.arange(len(apart), dtype=np.int64))),
            np.concatenate((rest.matrix.columns, columns)),
            np.concatenate((rest.matrix.values, np.ones(len(apart)))),
        ),
        np.concatenate((rest.constants, np.zeros(len(apart)))),
    )
    return together.take(np.argsort(np.concatenate((others, apart)), kind="stable"))


def _affine_of(affines: Affines, expr: Reduction) -> Affine:
    matrix = affines.matrix
    family = f"{expr.span.text}@{id(affines)}"
    block = AffineBlock(
        matrix.row_of.astype(np.int64), matrix.columns.astype(np.int64), matrix.values, family, frozenset()
    )
    return Affine(affines.count, affines.constants, (block,))
