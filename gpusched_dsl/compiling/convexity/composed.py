"""Roots of sums of squares as norms, and logarithms of sums of exponentials: terms that are convex as a whole."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.convexity.factored_terms import EXPONENTIAL, FactoredTerms, together
from gpusched_dsl.compiling.convexity.semidefinite import semidefinite, square_roots
from gpusched_dsl.compiling.passes.expectation_forms import scale
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions import Affines, Definition, LogSumExp, Norm, Power, Unary
from gpusched_dsl.ir.matrix import Matrix

# The owners of expressions, numbers of arguments of a definition, and the expressions.
Owned = tuple[Codes, Affines]


def norms(terms: FactoredTerms, definition: Power, asked: Bools) -> tuple[Codes, Definition]:
    """Which of the entries asked for are norms, and these.

    Squares with coefficients are taken as they are written; other quadratics, such as `x^2 + 2 x y + 3 y^2 + 1`, are
    made sums of squares.
    """
    entries = np.flatnonzero(asked & (definition.exponents == 0.5))
    arguments = definition.arguments.take(entries)
    written, (owners, squared) = _written_squares(terms, arguments)
    parts = terms.expand(arguments)
    others = np.flatnonzero((parts.degrees == 2) & ~written)
    others = others[semidefinite(parts.take(others))]
    of, roots = square_roots(parts.take(others))
    owned = np.concatenate((owners, others[of])), together(squared, terms.affines(roots))
    kept = np.sort(np.concatenate((np.flatnonzero(written), others)))
    return entries[kept], Norm(definition.results[entries[kept]], *_by_owner(*owned), definition.span, definition.name)


def _written_squares(terms: FactoredTerms, arguments: Affines) -> tuple[Bools, Owned]:
    """Which expressions add squares only, with coefficients and a constant that are not negative; what is squared."""
    matrix, count = arguments.matrix, arguments.count
    square = (terms.base[matrix.columns] >= 0) & (matrix.values > 0)
    others = np.bincount(matrix.row_of, weights=~square, minlength=count)
    written = (others == 0) & (np.diff(matrix.starts) > 0) & (arguments.constants >= 0)
    inside = np.flatnonzero(written[matrix.row_of])
    bases = scale(terms.bases.take(terms.base[matrix.columns[inside]]), np.sqrt(matrix.values[inside]))
    beside = np.flatnonzero(written & (arguments.constants > 0))
    constants = _constants(np.sqrt(arguments.constants[beside]))
    return written, (np.concatenate((matrix.row_of[inside].astype(np.int64), beside)), together(bases, constants))


def logs_of_sums(terms: FactoredTerms, definition: Unary, asked: Bools) -> tuple[Codes, Definition]:
    """Which of the entries asked for are logarithms of sums of exponentials, and these."""
    entries = np.flatnonzero(asked) if definition.function == "log" else np.zeros(0, dtype=np.int64)
    arguments = definition.arguments.take(entries)
    matrix, count = arguments.matrix, arguments.count
    columns = matrix.columns.astype(np.int64)
    numerators = terms.numerators.take(np.maximum(terms.numerator[columns], 0)) if len(columns) else terms.numerators
    plain = (terms.kind_of(columns) == EXPONENTIAL) & (matrix.values > 0)
    plain &= numerators.degrees[: len(columns)] == 0
    others = np.bincount(matrix.row_of, weights=~plain, minlength=count)
    found = (others == 0) & (np.diff(matrix.starts) > 0) & (arguments.constants >= 0)
    inside = np.flatnonzero(found[matrix.row_of])
    exponents = terms.arguments.take(terms.factor[columns[inside]])
    exponents = Affines(exponents.matrix, exponents.constants + np.log(matrix.values[inside]))
    beside = np.flatnonzero(found & (arguments.constants > 0))
    owners = np.concatenate((matrix.row_of[inside].astype(np.int64), beside))
    owned = together(exponents, _constants(np.log(arguments.constants[beside])))
    kept = entries[found]
    return kept, LogSumExp(definition.results[kept], *_by_owner(owners, owned), definition.span, definition.name)


def _by_owner(owners: Codes, expressions: Affines) -> tuple[Codes, Affines]:
    """The starts of the entries that the owners, in their order, are, and the expressions."""
    counts = np.bincount(owners)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts[counts > 0])))
    return starts, expressions.take(np.argsort(owners, kind="stable"))


def _constants(values: Floats) -> Affines:
    count = len(values)
    return Affines(Matrix(np.zeros(count + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0)), values)
