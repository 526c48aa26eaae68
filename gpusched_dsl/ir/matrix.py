"""Sparse rows of numbers over columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Floats, Int32s, Ints


class Matrix(Struct, frozen=True, eq=False, dict=True):
    """Rows in compressed form: row i has `columns[starts[i]:starts[i+1]]` with `values`, no column twice in a row."""

    starts: Ints
    columns: Int32s
    values: Floats

    @property
    def rows(self) -> int:
        return len(self.starts) - 1

    @property
    def nonzeros(self) -> int:
        return len(self.columns)

    @cached_property
    def row_of(self) -> Int32s:
        """The row of each entry."""
        return np.repeat(np.arange(self.rows, dtype=np.int32), np.diff(self.starts))

    def activity(self, point: Floats) -> Floats:
        """The value of every row at a point."""
        products = self.values * point[self.columns]
        return np.bincount(self.row_of, weights=products, minlength=self.rows).astype(np.float64, copy=False)

    def take(self, rows: Ints) -> Matrix:
        """Some of the rows, in that order."""
        counts = np.diff(self.starts)[rows]
        starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
        shift = np.repeat(self.starts[:-1][rows] - starts[:-1], counts)
        at = np.arange(starts[-1], dtype=np.int64) + shift
        return Matrix(starts, self.columns[at], self.values[at])

    def with_rows_below(self, other: Matrix) -> Matrix:
        """These rows with those of `other` below them."""
        return Matrix(
            np.concatenate((self.starts, other.starts[1:] + self.starts[-1])),
            np.concatenate((self.columns, other.columns)),
            np.concatenate((self.values, other.values)),
        )

    @staticmethod
    def empty() -> Matrix:
        return Matrix(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0))


def stack(matrices: Sequence[Matrix]) -> Matrix:
    """Matrices under one another."""
    starts = [np.zeros(1, dtype=np.int64)]
    shift = 0
    for matrix in matrices:
        starts.append(matrix.starts[1:] + shift)
        shift += matrix.nonzeros
    return Matrix(
        np.concatenate(starts),
        np.concatenate([m.columns for m in matrices]),
        np.concatenate([m.values for m in matrices]),
    )
