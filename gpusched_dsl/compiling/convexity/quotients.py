"""Quadratics over affine expressions as sums of squares over them, and an affine rest.

    p(x) / d(x)  ==  q(x) / d(x) + h(x)       d >= 0, q a sum of squares, h affine

Let k be a column of d, `d == g x_k + r`. With `x_k == (d - r) / g` put into p, which is `c x_k^2 + b x_k + a` with a
and b free of x_k,

    p == a - b r / g + c r^2 / g^2 + d (b / g + c (d - 2 r) / g^2)

so q is the first part, free of x_k, and h the bracket. p / d is convex if q is a sum of squares of affine expressions:
`x / (5 - x)` is `5 / (5 - x) - 1`, and `x^2 / y` is itself.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.convexity.factored_terms import FactoredTerms
from gpusched_dsl.compiling.convexity.polynomials import ONE, Polynomials
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.definitions import Affines


class Quotients(Struct, frozen=True, eq=False):
    """Quotient i is `squares` row i over the denominator, and `rest` row i."""

    squares: Polynomials
    rest: Polynomials


def divide(numerators: Polynomials, denominators: Affines) -> Quotients:
    """Divide; each denominator has a column."""
    count = numerators.count
    pivots, sizes = _pivots(denominators)
    below = Polynomials.of_affines(denominators)
    rest = below.only(below.second != pivots[below.rows])  # r
    one, two = (numerators.first == pivots[numerators.rows]), (numerators.second == pivots[numerators.rows])
    free = numerators.only(~one & ~two)  # a
    beside = numerators.only(one ^ two)
    other = np.where(one[one ^ two], beside.second, beside.first)
    ones = np.full(len(other), ONE, dtype=np.int64)
    slopes = Polynomials.of(count, beside.rows, ones, other, beside.values)  # b
    both = numerators.only(one & two)
    bends = np.zeros(count)
    bends[both.rows] = both.values  # c
    in_rest = slopes.times(rest).scale(-1.0 / sizes).plus(rest.times(rest).scale(bends / sizes**2))
    pivot = Polynomials(count, np.arange(count), np.full(count, ONE, dtype=np.int64), pivots, np.ones(count))
    affine = slopes.scale(1.0 / sizes).plus(pivot.scale(bends / sizes)).plus(rest.scale(-bends / sizes**2))
    return Quotients(free.plus(in_rest), affine)


def _pivots(denominators: Affines) -> tuple[Codes, Floats]:
    """The column of each denominator with the largest coefficient, and the coefficient."""
    matrix = denominators.matrix
    order = np.lexsort((np.abs(matrix.values), matrix.row_of))
    last = order[matrix.starts[1:] - 1]
    return matrix.columns[last].astype(np.int64), matrix.values[last]


def ratios(terms: FactoredTerms, affines: Affines) -> tuple[Codes, Polynomials, Polynomials]:
    """Which affine expressions of columns are `n / d` with affine n and d, and these; d is 1 where nothing is divided.

    Expressions with a quotient have no other column beside it.
    """
    matrix, count = affines.matrix, affines.count
    columns, rows = matrix.columns.astype(np.int64), matrix.row_of.astype(np.int64)
    factor = np.where(terms.kind_of(columns) == 1, terms.factor[columns], 0)
    least, most = np.full(count, len(terms.kinds)), np.zeros(count, dtype=np.int64)
    np.minimum.at(least, rows, factor)
    np.maximum.at(most, rows, factor)
    divided_by = np.where(least == most, most, 0)
    quotient = divided_by > 0
    inside = quotient[rows]
    above = terms.numerators.combine(count, rows[inside], terms.numerator[columns[inside]], matrix.values[inside])
    below = Polynomials.of_affines(terms.arguments.take(divided_by))
    plain = Polynomials.of_affines(affines)
    plain = plain.only(~quotient[plain.rows])
    above = above.plus(plain).plus(below.scale(np.where(quotient, affines.constants, 0.0)).only(quotient[below.rows]))
    fit = np.flatnonzero(((most == 0) | quotient) & (above.degrees <= 1))
    return fit, above.take(fit), below.take(fit)
