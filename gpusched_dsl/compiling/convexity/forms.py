"""The convex functions that parts of sums are, one recogniser for each kind.

A recogniser takes groups (`groups.py`) and says which are convex: it makes a definition with an entry for each part of
the new sum, numbers instead of result columns, and perhaps an affine rest.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.analysis.bounds import Bounds
from gpusched_dsl.compiling.convexity.factored_terms import FactoredTerms, together
from gpusched_dsl.compiling.convexity.groups import TermGroups
from gpusched_dsl.compiling.convexity.polynomials import ONE, Polynomials
from gpusched_dsl.compiling.convexity.semidefinite import SymmetricMatrices, semidefinite, square_roots
from gpusched_dsl.compiling.passes.expectation_forms import scale
from gpusched_dsl.ir.arrays import Codes, Floats, Int32s, unique
from gpusched_dsl.ir.definitions import (
    Affines,
    Definition,
    ExponentialPerspective,
    Pairs,
    QuadraticForm,
    QuadraticOverLinear,
    RelativeEntropy,
)
from gpusched_dsl.ir.tolerances import ROUNDING

# Expressions with less between them, of the product of their lengths, are multiples of each other.
PARALLEL = 1e-12
NOTHING = 1e-12  # a part that is smaller, relative to the whole, is a rounding error


class Form(Struct, frozen=True, eq=False):
    """Group `groups[i]` is entry i of `definition`, in its sign; group `rest_of[i]` has expression i of `rest` beside.

    A group may have several entries. `accepted` are all groups that are taken: those that are affine have no entry.
    """

    accepted: Codes
    definition: Definition
    groups: Codes
    rest: Affines
    rest_of: Codes


def quadratics(groups: TermGroups, terms: FactoredTerms) -> Form:
    """Positive semidefinite quadratic parts, with the affine rest that multiplying out leaves."""
    parts = groups.polynomials.quadratic
    accepted = np.flatnonzero(semidefinite(parts))
    parts, rest = parts.take(accepted), groups.polynomials.take(accepted)
    matrices = SymmetricMatrices.of_polynomials(parts)
    definition = QuadraticForm(
        _numbers(len(accepted)), matrices.starts, terms.affines_of(matrices.labels),
        pairs=Pairs(parts.starts, matrices.row, matrices.column, parts.values),
    )  # fmt: skip
    has = np.flatnonzero(matrices.sizes)
    return Form(accepted, definition.take(has), accepted[has], rest.affines(), accepted)


def quotients(groups: TermGroups, terms: FactoredTerms, bounds: Bounds) -> Form:
    """Quadratics over affine expressions."""
    below = terms.arguments.take(groups.factors)
    low, high = bounds.of(below)
    side = np.where(low >= 0, 1.0, np.where(high <= 0, -1.0, 0.0))
    usable = np.flatnonzero((side != 0) & (low < high) & (np.diff(below.matrix.starts) > 0))
    below = scale(below.take(usable), side[usable])
    parts = divide(groups.polynomials.take(usable).scale(side[usable]), below)
    fit = np.flatnonzero(semidefinite(parts.squares))
    accepted = usable[fit]
    of, roots = square_roots(parts.squares.take(fit))
    has = unique(of)
    # The forms of each quotient, and behind them its denominator.
    arguments = together(terms.affines(roots), below.take(fit[has]))
    order = np.argsort(np.concatenate((of, has)), kind="stable")
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(of, minlength=len(fit))[has] + 1)))
    definition = QuadraticOverLinear(_numbers(len(has)), starts, arguments.take(order))
    return Form(accepted, definition, accepted[has], terms.affines(parts.rest.take(fit)), accepted)


def entropies(groups: TermGroups, terms: FactoredTerms, bounds: Bounds) -> Form:
    """`(a n + b d) log(n / d)` with a >= 0 and b <= 0: `a n log(n / d) + |b| d log(d / n)`."""
    usable, above, below = ratios(terms, terms.arguments.take(groups.factors))
    a, b = combination(groups.polynomials.take(usable), above, below)
    low, _ = bounds.of(terms.affines(below))
    fit = np.flatnonzero((a >= 0) & (b <= 0) & (low >= 0))
    one, two = fit[a[fit] > 0], fit[b[fit] < 0]
    n, d = terms.affines(above), terms.affines(below)
    pairs = (
        (scale(n.take(one), a[one]), scale(d.take(one), a[one])),
        (scale(d.take(two), -b[two]), scale(n.take(two), -b[two])),
    )
    x, y = (together(*(pair[k] for pair in pairs)) for k in (0, 1))
    starts, arguments = _pair(x, y)
    definition = RelativeEntropy(_numbers(len(starts) - 1), starts, arguments)
    return Form(usable[fit], definition, usable[np.concatenate((one, two))], *_no_rest())


def perspectives(groups: TermGroups, terms: FactoredTerms, bounds: Bounds) -> Form:
    """`c d exp(n / d)` with c > 0."""
    usable, above, below = ratios(terms, terms.arguments.take(groups.factors))
    c = multiple(groups.polynomials.take(usable), below)
    low, _ = bounds.of(terms.affines(below))
    fit = np.flatnonzero((c > 0) & (low >= 0) & (below.degrees > 0))
    x, y = (scale(terms.affines(p).take(fit), c[fit]) for p in (above, below))
    starts, arguments = _pair(x, y)
    definition = ExponentialPerspective(_numbers(len(fit)), starts, arguments)
    return Form(usable[fit], definition, usable[fit], *_no_rest())


def _numbers(count: int) -> Int32s:
    return np.arange(count, dtype=np.int32)


def _no_rest() -> tuple[Affines, Codes]:
    return Polynomials.none().affines(), np.zeros(0, dtype=np.int64)


def _pair(x: Affines, y: Affines) -> tuple[Codes, Affines]:
    """Two arguments for each entry."""
    order = np.stack((np.arange(x.count), x.count + np.arange(y.count)), axis=1).reshape(-1)
    return 2 * np.arange(x.count + 1, dtype=np.int64), together(x, y).take(order)


def combination(given: Polynomials, one: Polynomials, other: Polynomials) -> tuple[Floats, Floats]:
    """The numbers a, b with `given == a * one + b * other`, row by row; NaN where there are none, or many."""
    rows, values = _side_by_side(given, one, other)

    def inner(i: int, j: int) -> Floats:
        return np.bincount(rows, weights=values[i] * values[j], minlength=given.count).astype(np.float64, copy=False)

    length, across, width = inner(1, 1), inner(1, 2), inner(2, 2)
    determinant = length * width - across**2
    with np.errstate(all="ignore"):
        a = (inner(0, 1) * width - inner(0, 2) * across) / determinant
        b = (inner(0, 2) * length - inner(0, 1) * across) / determinant
        whole = np.sqrt(inner(0, 0))
        a = np.where(np.abs(a) * np.sqrt(length) <= NOTHING * whole, 0.0, a)
        b = np.where(np.abs(b) * np.sqrt(width) <= NOTHING * whole, 0.0, b)
        left = np.abs(values[0] - a[rows] * values[1] - b[rows] * values[2])
        error = np.zeros(given.count)
        np.fmax.at(error, rows, left)
        known = (determinant > PARALLEL * length * width) & (error <= ROUNDING * whole)
    return np.where(known, a, np.nan), np.where(known, b, np.nan)


def multiple(given: Polynomials, of: Polynomials) -> Floats:
    """The number a with `given == a * of`, row by row; NaN where there is none."""
    rows, values = _side_by_side(given, of)
    count = given.count
    length = np.bincount(rows, weights=values[1] ** 2, minlength=count)
    with np.errstate(all="ignore"):
        a = np.bincount(rows, weights=values[0] * values[1], minlength=count) / length
        error, size = np.zeros(count), np.zeros(count)
        np.fmax.at(error, rows, np.abs(values[0] - a[rows] * values[1]))
        np.fmax.at(size, rows, np.abs(values[0]))
        return np.where(error <= ROUNDING * size, a, np.nan)


def _side_by_side(*polynomials: Polynomials) -> tuple[Codes, Floats]:
    """The rows of all entries that one of the polynomials has, and the value of each polynomial there."""
    first = np.concatenate([p.first for p in polynomials])
    second = np.concatenate([p.second for p in polynomials])
    rows = np.concatenate([p.rows for p in polynomials])
    keys, place = np.unique(np.stack((rows, first, second)), axis=1, return_inverse=True)
    values = np.zeros((len(polynomials), keys.shape[1]))
    which = np.repeat(np.arange(len(polynomials)), [len(p.rows) for p in polynomials])
    values[which, place.reshape(-1)] = np.concatenate([p.values for p in polynomials])
    return keys[0], values


class Quotients(Struct, frozen=True, eq=False):
    """Quotient i is `squares` row i over the denominator, and `rest` row i."""

    squares: Polynomials
    rest: Polynomials


def divide(numerators: Polynomials, denominators: Affines) -> Quotients:
    """Quadratics over affine expressions as sums of squares over them, and an affine rest.

        p(x) / d(x)  ==  q(x) / d(x) + h(x)       d >= 0, q a sum of squares, h affine

    Each denominator has a column. Let k be a column of d, `d == g x_k + r`. With `x_k == (d - r) / g` put into p, which
    is `c x_k^2 + b x_k + a` with a and b free of x_k,

        p == a - b r / g + c r^2 / g^2 + d (b / g + c (d - 2 r) / g^2)

    so q is the first part, free of x_k, and h the bracket. p / d is convex if q is a sum of squares of affine
    expressions: `x / (5 - x)` is `5 / (5 - x) - 1`, and `x^2 / y` is itself.
    """
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
