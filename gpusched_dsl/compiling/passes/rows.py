"""Builds rows from single columns and scaled affine expressions, with entries of equal columns summed."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.lowering.affine import merge_repeats
from gpusched_dsl.compiling.passes.problem_builder import index_of_columns
from gpusched_dsl.ir.arrays import Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.domains import Domain, IntervalDomain, TupleDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem


class RowBuilder:
    """`count` rows under construction; `constants` are added to each."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.constants: Floats = np.zeros(count)
        self._rows: list[Codes] = []
        self._columns: list[Int32s] = []
        self._values: list[Floats] = []

    def add(self, rows: Codes | Int32s, columns: Int32s, values: Floats | float) -> RowBuilder:
        """Entry i: `values[i]` times column `columns[i]` in row `rows[i]`."""
        self._rows.append(rows.astype(np.int64))
        self._columns.append(columns)
        self._values.append(np.broadcast_to(np.asarray(values, dtype=np.float64), (len(rows),)))
        return self

    def add_affines(self, rows: Codes, affines: Affines, scale: Floats | float) -> RowBuilder:
        """Expression i times `scale[i]` in row `rows[i]`."""
        scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), (affines.count,))
        of = affines.matrix.row_of
        np.add.at(self.constants, rows, scales * affines.constants)
        return self.add(rows[of], affines.matrix.columns, scales[of] * affines.matrix.values)

    @property
    def side(self) -> Floats:
        """Return the right-hand side of the row without its constants if the row is compared with 0."""
        return 0.0 - self.constants

    def matrix(self) -> Matrix:
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *self._rows])
        order = np.argsort(rows, kind="stable")
        columns = np.concatenate([np.zeros(0, dtype=np.int32), *self._columns])[order].astype(np.int32)
        values = np.concatenate([np.zeros(0), *self._values])[order]
        starts = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=self.count)))).astype(np.int64)
        return Matrix(*merge_repeats(self.count, starts, columns, values))


def numbers_within(groups: Codes | Int32s) -> Codes:
    """The number of each place within its run of equal values, from 1."""
    begins = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.arange(len(groups), dtype=np.int64) - np.repeat(begins, np.diff(np.append(begins, len(groups)))) + 1


def number_index(problem: Problem, columns: Int32s, numbers: Codes) -> Domain:
    """Return the index tuples of columns, each with a number appended: for several rows or columns per entry."""
    return with_numbers(index_of_columns(problem, columns), numbers)


def with_numbers(index: Domain, numbers: Codes) -> Domain:
    """Append a number to each index tuple; plain numbers do not change."""
    if isinstance(index, IntervalDomain) and index.component is None and index.size == len(numbers):
        return index
    return TupleDomain((*index.components, None), (*index.columns(), numbers))


def numbered_index(base: Domain, entry: Codes) -> Domain:
    """The index of each entry of a domain, where entries repeat, with its number among those of the same entry."""
    order = np.argsort(entry, kind="stable")
    number = np.empty(len(entry), dtype=np.int64)
    number[order] = numbers_within(entry[order])
    return TupleDomain((*base.components, None), (*(c[entry] for c in base.columns()), number))
