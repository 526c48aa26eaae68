"""Which columns and rows of a problem belong to which element of a root set: blocks that only some rows link."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Codes, Int32s, Ints
from gpusched_dsl.ir.domains import Scalar, Universe
from gpusched_dsl.ir.problem import Family, Problem

SHARED = -1  # the block number of a column that belongs to no block, and of a row that links


class Blocks(Struct, frozen=True, eq=False, dict=True):
    """Block numbers: `column[j]` of every column (-1: shared), `row[i]` of every row (-1: linking).

    `labels[k]` is the element that block k stands for, `name` the root set. A row of block k has columns of block k
    only; a row with columns of several blocks, or with a shared column, links.
    """

    name: str
    labels: tuple[Scalar, ...]
    column: Int32s
    row: Int32s

    @property
    def count(self) -> int:
        return len(self.labels)

    @cached_property
    def columns_by_block(self) -> tuple[Codes, Codes]:
        """Columns sorted by block, and where each block starts; shared columns are not among them."""
        return _group(self.column, self.count)

    @cached_property
    def rows_by_block(self) -> tuple[Codes, Codes]:
        """Rows sorted by block, and where each block starts; linking rows are not among them."""
        return _group(self.row, self.count)

    def columns_of(self, block: int) -> Codes:
        order, starts = self.columns_by_block
        return order[starts[block] : starts[block + 1]]

    def rows_of(self, block: int) -> Codes:
        order, starts = self.rows_by_block
        return order[starts[block] : starts[block + 1]]


class NoBlocksError(ValueError):
    """A problem without the requested blocks of a root set.

    `family` is the family of columns at fault, None where the problem as a whole is; `reason` says why in words that
    fit behind "cannot decompose by ...:".
    """

    def __init__(self, family: Family | None, reason: str) -> None:
        super().__init__(reason if family is None else f"`{family.name}`: {reason}")
        self.family = family
        self.reason = reason


def blocks_of(problem: Problem, root: str) -> Blocks:
    """The blocks of the root set `root`: a column belongs to the block of its index component of that set.

    A row belongs to a block when all its columns do; every other row links, one without columns too. Elements without
    a column make no block. Raises NoBlocksError for a column with two components of the set in different blocks, for
    a term that is not linear, and where there is no block or no row that links.
    """
    if not problem.is_linear:
        raise NoBlocksError(None, "the problem has nonlinear terms")
    code = np.full(problem.columns, SHARED, dtype=np.int32)
    universe: Universe | None = None
    indexed = False
    for family in problem.column_families:
        at = [n for n, u in enumerate(family.domain.components) if u is not None and u.name == root]
        indexed = indexed or bool(at)
        if not at or not family.size:
            continue
        universe = family.domain.components[at[0]]
        columns = family.domain.columns()
        first = columns[at[0]]
        for other in at[1:]:
            differing = np.flatnonzero(columns[other] != first)
            if len(differing):
                index = ", ".join(map(str, family.domain.tuple_at(int(differing[0]))))
                raise NoBlocksError(family, f"`{family.name}[{index}]` belongs to two elements of `{root}`")
        code[family.slice] = first
    if universe is None:
        empty = f"the variables indexed by `{root}` have no elements"
        raise NoBlocksError(None, empty if indexed else f"no variable is indexed by `{root}`")
    used, numbers = np.unique(code[code >= 0], return_inverse=True)
    column = code.copy()
    column[code >= 0] = numbers
    row = _blocks_of_rows(problem, column)
    if not (row == SHARED).any():
        raise NoBlocksError(None, f"no constraint links the elements of `{root}`: each can be solved separately")
    return Blocks(root, tuple(universe.labels[c] for c in used.tolist()), column, row)


def _blocks_of_rows(problem: Problem, column: Int32s) -> Int32s:
    """Return the block of each row if all of its columns are in one block, else -1."""
    matrix = problem.matrix
    row = np.full(problem.rows, SHARED, dtype=np.int32)
    filled = np.flatnonzero(np.diff(matrix.starts))
    if not len(filled):
        return row
    blocks = column[matrix.columns]
    starts = matrix.starts[filled]
    least, largest = np.minimum.reduceat(blocks, starts), np.maximum.reduceat(blocks, starts)
    row[filled] = np.where(least == largest, least, SHARED)
    return row


def _group(numbers: Int32s, count: int) -> tuple[Codes, Codes]:
    order = np.argsort(numbers, kind="stable").astype(np.int64)
    sizes: Ints = np.bincount(numbers[numbers >= 0], minlength=count)
    return order[len(numbers) - int(sizes.sum()) :], np.concatenate(([0], np.cumsum(sizes)))
