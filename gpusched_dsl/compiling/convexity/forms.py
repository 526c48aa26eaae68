"""The convex functions that parts of sums are, one recogniser for each kind.

A recogniser takes groups (`groups.py`) and says which are convex: it makes a definition with an entry for each part of
the new sum, numbers instead of result columns, and perhaps an affine rest.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.analysis.bounds import Bounds
from gpusched_dsl.compiling.convexity.combinations import combination, multiple
from gpusched_dsl.compiling.convexity.factored_terms import FactoredTerms, together
from gpusched_dsl.compiling.convexity.groups import TermGroups
from gpusched_dsl.compiling.convexity.polynomials import Polynomials
from gpusched_dsl.compiling.convexity.quotients import divide, ratios
from gpusched_dsl.compiling.convexity.semidefinite import SymmetricMatrices, semidefinite, square_roots
from gpusched_dsl.compiling.passes.expectation_forms import scale
from gpusched_dsl.ir.arrays import Codes, Int32s, unique
from gpusched_dsl.ir.definitions import (
    Affines,
    Definition,
    ExponentialPerspective,
    Pairs,
    QuadraticForm,
    QuadraticOverLinear,
    RelativeEntropy,
)


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
