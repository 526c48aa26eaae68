"""Which symmetric matrices are positive semidefinite, and their square roots; many matrices at once.

A matrix is first scaled to a diagonal of ones, so that the sizes of its columns do not matter. Rounding errors of its
entries make the smallest eigenvalue of a singular matrix slightly negative: down to `-ZERO` it counts as 0.

A row with `sum |q_ij| <= q_ii` over its other entries needs no eigenvalues: a matrix with such rows only is a sum of
squares `|q_ij| (x_i +- x_j)^2` and `x_i^2`, which is sparse where the matrix is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.convexity.polynomials import ONE, Polynomials
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, unique
from gpusched_dsl.ir.graph import connected_components

ZERO = 1e-10
LARGEST = 2000  # more columns that hang together are not looked at, unless by diagonals
CHUNK = 4_000_000  # entries of dense matrices in memory at once
BY_EIGENVALUES = 200  # larger matrices are factored instead, which is faster


class SymmetricMatrices(Struct, frozen=True, eq=False, dict=True):
    """Matrix k belongs to polynomial k: `z' M z` is its value, z the columns (and perhaps 1) that it reads.

    `labels` are these columns, those of matrix k at `starts[k] .. starts[k+1]-1`; entry e is at `row[e], column[e]`
    of matrix `of[e]`, on or above the diagonal.
    """

    labels: Codes
    starts: Codes
    of: Codes
    row: Codes
    column: Codes
    values: Floats

    @staticmethod
    def of_polynomials(polynomials: Polynomials) -> SymmetricMatrices:
        """Entries with two different columns are halved, as the matrix has them twice."""
        rows = np.concatenate((polynomials.rows, polynomials.rows))
        columns = np.concatenate((polynomials.first, polynomials.second))
        width = int(columns.max(initial=0)) + 2
        keys, places = np.unique(rows * width + columns - ONE, return_inverse=True)
        starts = np.searchsorted(keys // width, np.arange(polynomials.count + 1)).astype(np.int64)
        local = places.reshape(-1) - starts[rows]
        count = len(polynomials.rows)
        half = np.where(polynomials.first == polynomials.second, 1.0, 0.5)
        return SymmetricMatrices(
            keys % width + ONE, starts, polynomials.rows, local[:count], local[count:], polynomials.values * half
        )

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    @property
    def wide(self) -> bool:
        """Whether a matrix is worth to be taken apart into blocks before it is looked at."""
        return bool(((self.sizes > BY_EIGENVALUES) & ~self.dominant).any())

    def blocks(self) -> tuple[Codes, Codes]:
        """The block of each entry: blocks have no column in common; and the matrix of each block."""
        begin = self.starts[self.of]
        block = connected_components(len(self.labels), begin + self.row, begin + self.column)
        owner = np.zeros(block.max(initial=-1) + 1, dtype=np.int64)
        owner[block] = np.repeat(np.arange(self.count), self.sizes)
        return block[begin + self.row], owner

    @cached_property
    def sizes(self) -> Codes:
        return np.diff(self.starts)

    @cached_property
    def diagonals(self) -> Floats:
        """The diagonals of all matrices, in the places of `labels`."""
        result = np.zeros(len(self.labels))
        own = self.row == self.column
        result[self.starts[self.of[own]] + self.row[own]] = self.values[own]
        return result

    @cached_property
    def dominant(self) -> Bools:
        """The matrices with no row whose other entries outweigh its diagonal."""
        beside = np.flatnonzero(self.row != self.column)
        others = np.zeros(len(self.labels))
        for place in (self.row, self.column):
            np.add.at(others, self.starts[self.of[beside]] + place[beside], np.abs(self.values[beside]))
        light = np.flatnonzero(self.diagonals < others * (1.0 - ZERO))
        result = np.ones(self.count, dtype=np.bool_)
        result[np.searchsorted(self.starts, light, side="right") - 1] = False
        return result

    @cached_property
    def semidefinite(self) -> Bools:
        """Whether each matrix is known to be positive semidefinite."""
        result = self.dominant.copy()
        for which, dense in self.dense(np.flatnonzero(~result & self._fit)):
            result[which] = _semidefinite(_scale_diagonal(dense)[0])
        return result

    @property
    def _fit(self) -> Bools:
        """The matrices with a diagonal that can be scaled, and few enough columns."""
        negative = np.flatnonzero(self.diagonals < 0)
        result = self.sizes <= LARGEST
        result[np.searchsorted(self.starts, negative, side="right") - 1] = False
        return result

    def dense(self, which: Codes) -> Iterator[tuple[Codes, Floats]]:
        """Some of the matrices as dense ones, those of one size together."""
        number = np.full(self.count, -1, dtype=np.int64)
        for size in unique(self.sizes[which]).tolist():
            alike = which[self.sizes[which] == size]
            step = max(1, CHUNK // max(1, size * size))
            for first in range(0, len(alike), step):  # over chunks, not over matrices
                some = alike[first : first + step]
                number[some] = np.arange(len(some))
                entries = np.flatnonzero(number[self.of] >= 0)
                result = np.zeros((len(some), size, size))
                place = number[self.of[entries]]
                result[place, self.row[entries], self.column[entries]] = self.values[entries]
                result[place, self.column[entries], self.row[entries]] = self.values[entries]
                number[some] = -1
                yield some, result

    def smallest_eigenvalue(self, which: int) -> float | None:
        """The smallest eigenvalue of one matrix; None where it is too large."""
        if self.sizes[which] > LARGEST:
            return None
        [(_, dense)] = self.dense(np.array([which]))
        return float(np.linalg.eigvalsh(dense[0])[0])

    def square_roots(self) -> tuple[Codes, Polynomials]:
        """As the function of this name."""
        parts = [self._dominant_roots(np.flatnonzero(self.dominant))]
        for which, dense in self.dense(np.flatnonzero(~self.dominant)):
            parts.append(self._dense_roots(which, dense))
        of = np.concatenate([owner for owner, _ in parts])
        forms = Polynomials.none()
        for _, more in parts:
            forms = forms.beside(more)
        order = np.argsort(of, kind="stable")
        return of[order], forms.take(order)

    def _dominant_roots(self, which: Codes) -> tuple[Codes, Polynomials]:
        """`|q_ij| (x_i +- x_j)^2` for each pair, and the rest of each diagonal."""
        chosen = np.zeros(self.count, dtype=np.bool_)
        chosen[which] = True
        pairs = np.flatnonzero(chosen[self.of] & (self.row != self.column))
        begin = self.starts[self.of[pairs]]
        one, other = begin + self.row[pairs], begin + self.column[pairs]
        rest = self.diagonals.copy()
        root = np.sqrt(np.abs(self.values[pairs]))
        for place in (one, other):
            np.subtract.at(rest, place, np.abs(self.values[pairs]))
        matrix_of = np.repeat(np.arange(self.count, dtype=np.int64), self.sizes)
        alone = np.flatnonzero(chosen[matrix_of] & (rest > ZERO * self.diagonals))
        number = np.arange(len(pairs), dtype=np.int64)
        forms = np.concatenate((number, number, len(pairs) + np.arange(len(alone))))
        columns = np.concatenate((self.labels[one], self.labels[other], self.labels[alone]))
        values = np.concatenate((root, root * np.sign(self.values[pairs]), np.sqrt(rest[alone])))
        of = np.concatenate((self.of[pairs], matrix_of[alone]))
        return of, Polynomials.of(len(of), forms, np.full(len(forms), ONE), columns, values)

    def _dense_roots(self, which: Codes, dense: Floats) -> tuple[Codes, Polynomials]:
        """The rows of `sqrt(eigenvalue) * eigenvector'`, but for those of eigenvalue 0."""
        scaled, units = _scale_diagonal(dense)
        values, vectors = np.linalg.eigh(scaled)
        rows = np.sqrt(np.maximum(values, 0.0))[:, :, None] * np.swapaxes(vectors, 1, 2) * units[:, None, :]
        matrix, form = np.nonzero(values > ZERO)
        rows = rows[matrix, form]
        rows[np.abs(rows) <= ZERO * np.abs(rows).max(axis=1, keepdims=True, initial=0.0)] = 0.0
        number, place = np.nonzero(rows)
        columns = self.labels[self.starts[which[matrix[number]]] + place]
        return which[matrix], Polynomials.of(len(rows), number, np.full(len(number), ONE), columns, rows[number, place])


def semidefinite(polynomials: Polynomials) -> Bools:
    """Whether the matrix of each polynomial is known to be positive semidefinite."""
    matrices = SymmetricMatrices.of_polynomials(polynomials)
    if not matrices.wide:
        return matrices.semidefinite
    owner, parts = _blocks(polynomials, matrices)
    result = np.ones(polynomials.count, dtype=np.bool_)
    result[owner[~SymmetricMatrices.of_polynomials(parts).semidefinite]] = False
    return result


def square_roots(polynomials: Polynomials) -> tuple[Codes, Polynomials]:
    """Linear forms whose squares add up to each (semidefinite) polynomial: its number, increasing, and the forms."""
    matrices = SymmetricMatrices.of_polynomials(polynomials)
    if not matrices.wide:
        return matrices.square_roots()
    owner, parts = _blocks(polynomials, matrices)
    of, forms = SymmetricMatrices.of_polynomials(parts).square_roots()
    order = np.argsort(owner[of], kind="stable")
    return owner[of][order], forms.take(order)


def _blocks(polynomials: Polynomials, matrices: SymmetricMatrices) -> tuple[Codes, Polynomials]:
    """The polynomials of the blocks of each, and their owners."""
    block, owner = matrices.blocks()
    entries = (polynomials.first, polynomials.second, polynomials.values)
    return owner, Polynomials.of(len(owner), block, *entries)


def _scale_diagonal(dense: Floats) -> tuple[Floats, Floats]:
    """Matrices with ones (or zeros) on the diagonal, and what their columns were divided by."""
    diagonals = np.maximum(np.diagonal(dense, axis1=1, axis2=2), 0.0)
    units = np.sqrt(diagonals)
    by = np.where(units > 0, units, 1.0)
    return dense / by[:, :, None] / by[:, None, :], units


def _semidefinite(scaled: Floats) -> Bools:
    size = scaled.shape[1]
    if size <= BY_EIGENVALUES:
        return np.asarray(np.linalg.eigvalsh(scaled)[:, 0] >= -ZERO)
    return np.array([_can_be_factored(one + ZERO * np.eye(size)) for one in scaled])


def _can_be_factored(matrix: Floats) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
