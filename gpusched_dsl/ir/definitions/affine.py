"""Affine expressions of columns, the arguments of nonlinear terms."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Codes, Floats, Int32s
from gpusched_dsl.ir.matrix import Matrix


class Affines(Struct, frozen=True, eq=False, dict=True):
    """Affine expressions of columns: expression i is `matrix row i @ point + constants[i]`."""

    matrix: Matrix
    constants: Floats

    @property
    def count(self) -> int:
        return len(self.constants)

    def values(self, point: Floats) -> Floats:
        return self.matrix.activity(point) + self.constants

    def take(self, rows: Codes) -> Affines:
        return Affines(self.matrix.take(rows), self.constants[rows])

    @cached_property
    def single(self) -> Int32s:
        """The column of each expression that is just one column (coefficient 1, no constant), else -1."""
        starts = self.matrix.starts
        found = np.full(self.count, -1, dtype=np.int32)
        alone = np.flatnonzero((np.diff(starts) == 1) & (self.constants == 0.0))
        at = starts[alone]
        plain = self.matrix.values[at] == 1.0
        found[alone[plain]] = self.matrix.columns[at[plain]]
        return found

    @staticmethod
    def of_columns(columns: Int32s) -> Affines:
        """One expression per column: the column itself."""
        count = len(columns)
        matrix = Matrix(np.arange(count + 1, dtype=np.int64), columns.astype(np.int32), np.ones(count))
        return Affines(matrix, np.zeros(count))
