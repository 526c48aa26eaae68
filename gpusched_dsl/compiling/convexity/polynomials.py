"""Polynomials of columns, of degree 2 at most, many at once.

Column -1 stands for the number 1, so that every entry is a pair of columns: `3 x y + 2 x + 1` has the entries
(x, y, 3), (1, x, 2) and (1, 1, 1).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.matrix import Matrix

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Affines


ONE = -1  # the column that stands for the number 1
# Sums that are smaller than this, relative to what was added, are rounding errors of terms that cancel.
CANCELLED = 1e-14


class Polynomials(Struct, frozen=True, eq=False, dict=True):
    """Polynomial `rows[k]` has the entry `values[k] * first[k] * second[k]`, with columns `first <= second`.

    Entries are sorted by row, first and second column; none occurs twice, none is 0.
    """

    count: int
    rows: Codes
    first: Codes
    second: Codes
    values: Floats

    @staticmethod
    def of(count: int, rows: Codes, one: Codes, other: Codes, values: Floats) -> Polynomials:
        """The sums of entries in any order."""
        first, second = np.minimum(one, other), np.maximum(one, other)
        order = np.lexsort((second, first, rows))
        rows, first, second, values = rows[order], first[order], second[order], values[order]
        new = np.ones(len(rows), dtype=np.bool_)
        new[1:] = (np.diff(rows) != 0) | (np.diff(first) != 0) | (np.diff(second) != 0)
        at = np.flatnonzero(new)
        if len(at) < len(rows):
            sums = np.add.reduceat(values, at)
            sizes = np.add.reduceat(np.abs(values), at)
            values = np.where(np.abs(sums) > CANCELLED * sizes, sums, 0.0)
            rows, first, second = rows[at], first[at], second[at]
        kept = np.flatnonzero(values)
        return Polynomials(count, rows[kept], first[kept], second[kept], values[kept])

    @staticmethod
    def of_affines(affines: Affines) -> Polynomials:
        matrix, count = affines.matrix, affines.count
        ones = np.full(matrix.nonzeros + count, ONE, dtype=np.int64)
        second = np.concatenate((matrix.columns.astype(np.int64), np.full(count, ONE)))
        rows = np.concatenate((matrix.row_of.astype(np.int64), np.arange(count)))
        return Polynomials.of(count, rows, ones, second, np.concatenate((matrix.values, affines.constants)))

    @staticmethod
    def ones(count: int) -> Polynomials:
        """The number 1, for every row."""
        one = np.full(count, ONE, dtype=np.int64)
        return Polynomials(count, np.arange(count, dtype=np.int64), one, one, np.ones(count))

    @staticmethod
    def none() -> Polynomials:
        empty = np.zeros(0, dtype=np.int64)
        return Polynomials(0, empty, empty, empty, np.zeros(0))

    @cached_property
    def starts(self) -> Codes:
        return np.searchsorted(self.rows, np.arange(self.count + 1)).astype(np.int64)

    @cached_property
    def degrees(self) -> Codes:
        """The degree of each; 0 also for the polynomial 0."""
        degree = (self.first != ONE).astype(np.int64) + (self.second != ONE)
        result = np.zeros(self.count, dtype=np.int64)
        np.maximum.at(result, self.rows, degree)
        return result

    def take(self, which: Codes) -> Polynomials:
        return self.combine(len(which), np.arange(len(which), dtype=np.int64), which, np.ones(len(which)))

    def combine(self, count: int, owners: Codes, which: Codes, scale: Floats) -> Polynomials:
        """`count` sums: `owners[i]` gets `scale[i]` times polynomial `which[i]`."""
        counts = np.diff(self.starts)[which]
        at = np.repeat(self.starts[:-1][which], counts) + ranges(counts)
        values = np.repeat(scale, counts) * self.values[at]
        return Polynomials.of(count, np.repeat(owners, counts), self.first[at], self.second[at], values)

    def plus(self, other: Polynomials) -> Polynomials:
        """The sums row by row."""
        both = Polynomials.beside(self, other)
        rows = np.concatenate((self.rows, other.rows))
        return Polynomials.of(self.count, rows, both.first, both.second, both.values)

    def scale(self, factors: Floats) -> Polynomials:
        """Each times a number; entries that become 0 stay until the next sum."""
        return Polynomials(self.count, self.rows, self.first, self.second, self.values * factors[self.rows])

    def beside(self, other: Polynomials) -> Polynomials:
        """These, and behind them the others."""
        return Polynomials(
            self.count + other.count,
            np.concatenate((self.rows, other.rows + self.count)),
            np.concatenate((self.first, other.first)),
            np.concatenate((self.second, other.second)),
            np.concatenate((self.values, other.values)),
        )

    def times(self, other: Polynomials) -> Polynomials:
        """The products row by row; the degrees must allow it."""
        counts = np.diff(self.starts) * np.diff(other.starts)
        rows = np.repeat(np.arange(self.count, dtype=np.int64), counts)
        within = ranges(counts)
        width = np.diff(other.starts)[rows]
        a, b = self.starts[rows] + within // width, other.starts[rows] + within % width
        factors = np.sort(np.stack((self.first[a], self.second[a], other.first[b], other.second[b])), axis=0)
        assert (factors[1] == ONE).all()
        return Polynomials.of(self.count, rows, factors[2], factors[3], self.values[a] * other.values[b])

    def only(self, kept: Bools) -> Polynomials:
        """The same with some of the entries."""
        at = np.flatnonzero(kept)
        return Polynomials(self.count, self.rows[at], self.first[at], self.second[at], self.values[at])

    @property
    def constants(self) -> Floats:
        at = self.second == ONE
        return np.bincount(self.rows[at], weights=self.values[at], minlength=self.count).astype(np.float64, copy=False)

    @property
    def linear(self) -> Polynomials:
        """The entries with one column."""
        return self.only((self.first == ONE) & (self.second != ONE))

    @property
    def quadratic(self) -> Polynomials:
        """The entries with two columns."""
        return self.only(self.first != ONE)

    def affines(self) -> Affines:
        """The parts of degree 1 and 0 as affine expressions."""
        from gpusched_dsl.ir.definitions import Affines

        linear = self.linear
        return Affines(Matrix(linear.starts, linear.second.astype(np.int32), linear.values), self.constants)
