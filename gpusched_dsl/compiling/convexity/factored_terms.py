"""Which columns are a polynomial times one function: `n(x)`, `n(x) / d(x)`, `n(x) log a(x)`, `n(x) exp a(x)`.

Products are stated one by one, two columns each. Read through them, `x * x * (1 / y)` has the numerator x^2 and the
denominator y, whatever the order of its factors.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.convexity.polynomials import ONE, Polynomials
from gpusched_dsl.compiling.passes.rows import RowBuilder
from gpusched_dsl.ir.arrays import Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines, Definition, Power, Product, Unary
from gpusched_dsl.ir.matrix import Matrix, stack
from gpusched_dsl.ir.problem import Problem

# The functions that multiply a polynomial: the number 1, and one for each entry of a definition.
NO_FACTOR, UNIT = -1, 0
RECIPROCAL, LOGARITHM, EXPONENTIAL = 1, 2, 3
KINDS = {"log": LOGARITHM, "exp": EXPONENTIAL}
MOST_DEGREE = np.array([2, 2, 1, 1])  # of the polynomial beside each kind of function

# Squares of sums with more columns are not multiplied out: they are squares of columns of their own.
WIDE = 100


NOTHING = Affines(Matrix.empty(), np.zeros(0))


class FactoredTerms:
    """Column j is polynomial `numerator[j]` times function `factor[j]`; `NO_FACTOR`: it is a column like any other.

    Function f is of `kinds[f]` and of argument f of `arguments`; function `UNIT` is the number 1. In polynomials a
    number beyond those of columns stands for one of the `sums` that are not multiplied out. Column j is the square of
    expression `base[j]` of `bases`, unless that is -1.
    """

    def __init__(self, problem: Problem) -> None:
        self.factor: Codes = np.full(problem.columns, NO_FACTOR, dtype=np.int64)
        self.numerator: Codes = np.full(problem.columns, -1, dtype=np.int64)
        self.numerators = Polynomials.none()
        self.kinds: Codes = np.array([UNIT])
        self.arguments = Affines(
            Matrix(np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0)), np.ones(1)
        )
        self.columns = problem.columns
        self.sums = NOTHING
        self.base: Codes = np.full(problem.columns, -1, dtype=np.int64)
        self.bases = NOTHING
        for definition in problem.definitions:
            if definition.size:
                self._read(definition)

    def kind_of(self, columns: Codes) -> Codes:
        """The kind of the function of each column; `NO_FACTOR` for columns without."""
        factor = self.factor[columns]
        return np.where(factor == NO_FACTOR, NO_FACTOR, self.kinds[np.maximum(factor, 0)])

    def expand(self, affines: Affines) -> Polynomials:
        """Affine expressions as polynomials, with polynomials in the place of columns of function `UNIT`."""
        plain = Polynomials.of_affines(affines)
        known = (plain.second != ONE) & (self.factor[plain.second] == UNIT)  # of ONE any factor will do
        if not known.any():
            return plain
        owners, columns, sizes = plain.rows[known], plain.second[known], plain.values[known]
        return plain.only(~known).plus(self.numerators.combine(affines.count, owners, self.numerator[columns], sizes))

    def affines(self, polynomials: Polynomials) -> Affines:
        """Polynomials of degree 1 as affine expressions."""
        long = polynomials.second >= self.columns
        result = polynomials.only(~long).affines()
        if not long.any():
            return result
        every = np.arange(polynomials.count, dtype=np.int64)
        sums = self.sums.take(polynomials.second[long] - self.columns)
        rows = RowBuilder(polynomials.count).add_affines(every, result, 1.0)
        rows.add_affines(polynomials.rows[long], sums, polynomials.values[long])
        return Affines(rows.matrix(), rows.constants)

    def affines_of(self, labels: Codes) -> Affines:
        """The columns, or sums, with these numbers."""
        count = len(labels)
        ones = np.full(count, ONE, dtype=np.int64)
        return self.affines(Polynomials(count, np.arange(count, dtype=np.int64), ones, labels, np.ones(count)))

    # --- reading -----------------------------------------------------------------------------------------------------

    def _read(self, definition: Definition) -> None:
        match definition:
            case Power(exponents=exponents):
                long = np.diff(definition.arguments.matrix.starts) > WIDE
                for squares, read in ((~long, Polynomials.of_affines), (long, self._of_sums)):
                    at = np.flatnonzero((exponents == 2.0) & squares)
                    base = read(definition.arguments.take(at))
                    self._add(definition.results[at], np.zeros(len(at), dtype=np.int64), base.times(base))
                    self.base[definition.results[at]] = self.bases.count + np.arange(len(at))
                    self.bases = together(self.bases, definition.arguments.take(at))
                self._add_functions(definition, np.flatnonzero(exponents == -1.0), RECIPROCAL)
            case Unary(function="log" | "exp"):
                self._add_functions(definition, np.arange(definition.size), KINDS[definition.function])
            case Product():
                self._read_products(definition)

    def _of_sums(self, affines: Affines) -> Polynomials:
        """Affine expressions as columns of their own."""
        numbers = self.columns + self.sums.count + np.arange(affines.count, dtype=np.int64)
        self.sums = together(self.sums, affines)
        ones = np.full(affines.count, ONE, dtype=np.int64)
        return Polynomials(affines.count, np.arange(affines.count), ones, numbers, np.ones(affines.count))

    def _add_functions(self, definition: Definition, entries: Codes, kind: int) -> None:
        count, before = len(entries), len(self.kinds)
        self.arguments = together(self.arguments, definition.arguments.take(entries))
        self.kinds = np.concatenate((self.kinds, np.full(count, kind)))
        self._add(definition.results[entries], before + np.arange(count), Polynomials.ones(count))

    def _add(self, results: Int32s, factors: Codes, numerators: Polynomials) -> None:
        self.factor[results] = factors
        self.numerator[results] = self.numerators.count + np.arange(len(results))
        self.numerators = self.numerators.beside(numerators)

    def _read_products(self, definition: Product) -> None:
        pairs = np.flatnonzero(np.diff(definition.starts) == 2)
        first = definition.starts[:-1][pairs]
        column, size = multiples(definition.arguments, np.stack((first, first + 1)))
        function = np.where(column >= 0, self.factor[column], NO_FACTOR) > UNIT
        for of, other in ((0, 1), (1, 0)):
            at = np.flatnonzero(function[of] & ~function[other])
            self._multiply(definition, pairs[at], first[at] + other, column[of, at], size[of, at])
        at = np.flatnonzero(function[0] == function[1])
        width = np.diff(definition.arguments.matrix.starts)
        at = at[width[first[at]] * width[first[at] + 1] <= WIDE**2]
        one, two = (Polynomials.of_affines(definition.arguments.take(first[at] + place)) for place in (0, 1))
        self._add(definition.results[pairs[at]], np.zeros(len(at), dtype=np.int64), one.times(two))

    def _multiply(self, definition: Product, entries: Codes, others: Codes, columns: Codes, sizes: Floats) -> None:
        """Products of a column with a function, times `sizes`, and another factor."""
        inner = self.numerators.take(self.numerator[columns]).scale(sizes)
        outer = self.expand(definition.arguments.take(others))
        factor = self.factor[columns]
        fit = np.flatnonzero(inner.degrees + outer.degrees <= MOST_DEGREE[self.kinds[factor]])
        self._add(definition.results[entries[fit]], factor[fit], inner.take(fit).times(outer.take(fit)))


def multiples(affines: Affines, rows: Codes) -> tuple[Codes, Floats]:
    """The column and the coefficient of expressions that are a multiple of one column, else -1."""
    alone = (np.diff(affines.matrix.starts)[rows] == 1) & (affines.constants[rows] == 0.0)
    if not affines.matrix.nonzeros:
        return np.full(rows.shape, -1, dtype=np.int64), np.ones(rows.shape)
    at = np.where(alone, affines.matrix.starts[rows], 0)
    return np.where(alone, affines.matrix.columns[at], -1).astype(np.int64), affines.matrix.values[at]


def together(*parts: Affines) -> Affines:
    """Affine expressions, one after the other."""
    return Affines(stack([p.matrix for p in parts]), np.concatenate([p.constants for p in parts]))
