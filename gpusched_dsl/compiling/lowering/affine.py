"""Columnar affine expressions: one per frame row, as a constant array and blocks of (row, column, coefficient)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.lowering.entries import Entries
from gpusched_dsl.ir.arrays import Codes, Floats, Int32s
from gpusched_dsl.language.checked import IndexVar


class AffineBlock(Struct, frozen=True, eq=False):
    """Entries of one reference to one variable family.

    `rows` is non-decreasing; None means one entry in every row. `coefficients` has one value per entry or shape ().
    `keys` are the frame variables that stand as plain subscripts, so that entries that differ in one of them are in
    different columns; `distinct` says that no row holds a column twice.
    """

    rows: Codes | None
    columns: Codes
    coefficients: Floats
    family: str
    keys: frozenset[IndexVar]
    distinct: bool = True


class Affine(Struct, frozen=True, eq=False):
    """`size` affine expressions; `constant` has shape () or (size,)."""

    size: int
    constant: Floats
    blocks: tuple[AffineBlock, ...] = ()

    def __add__(self, other: Affine) -> Affine:
        return Affine(self.size, self.constant + other.constant, self.blocks + other.blocks)

    def __neg__(self) -> Affine:
        return self.scale(np.float64(-1.0))

    def scale(self, factor: Floats | np.float64, operation: np.ufunc = np.multiply) -> Affine:
        """Every row times a number, or times a number of its own; divided by it if `operation` is `np.divide`."""
        factor = np.asarray(factor, dtype=np.float64)
        blocks: list[AffineBlock] = []
        for block in self.blocks:
            per_entry = factor if factor.ndim == 0 or block.rows is None else factor[block.rows]
            blocks.append(structs.replace(block, coefficients=operation(block.coefficients, per_entry)))
        return Affine(self.size, operation(self.constant, factor), tuple(blocks))

    def sum_rows(self, parent: Codes | None, size: int, over: frozenset[IndexVar]) -> Affine:
        """The sum of the rows that share a parent, for a frame that was grown by the variables `over`."""
        if parent is None:
            return self
        blocks = tuple(
            structs.replace(
                b,
                rows=parent if b.rows is None else parent[b.rows],
                distinct=b.distinct and over <= b.keys,
            )
            for b in self.blocks
        )
        if self.constant.ndim == 0 and self.constant == 0.0:
            return Affine(size, self.constant, blocks)
        weights = np.broadcast_to(self.constant, (self.size,))
        total: Floats = np.bincount(parent, weights=weights, minlength=size).astype(np.float64, copy=False)
        return Affine(size, total, blocks)

    def spread(self, rows: Codes, size: int) -> Affine:
        """These expressions as the rows `rows` of a larger frame; zero elsewhere."""
        constant = np.zeros(size)
        constant[rows] = self.constant
        blocks = tuple(structs.replace(b, rows=rows if b.rows is None else rows[b.rows]) for b in self.blocks)
        return Affine(size, constant, blocks)

    def rekey(self, keys: dict[IndexVar, IndexVar]) -> Affine:
        """Return the same with the key variables of a called `let` replaced by those of the caller."""
        return Affine(
            self.size,
            self.constant,
            tuple(structs.replace(b, keys=frozenset(keys[k] for k in b.keys if k in keys)) for b in self.blocks),
        )


def constant(size: int, values: Floats) -> Affine:
    return Affine(size, values)


def assemble(size: int, blocks: Sequence[AffineBlock], into: Entries | None = None) -> tuple[Codes, Int32s, Floats]:
    """CSR starts, columns and values of the rows; a column that occurs twice in a row is summed, zeros go.

    Starts begin at 0. The entries are added to those of `into`, if given.
    """
    entries = into or Entries()
    if all(block.rows is None for block in blocks):
        starts, columns, values = _from_aligned_blocks(size, blocks, entries)
    elif len(blocks) == 1:
        starts, columns, values = _from_single_block(size, blocks[0], entries)
    else:
        starts, columns, values = _scatter(size, blocks, entries)
    if not _surely_distinct(blocks):
        starts, columns, values = merge_repeats(size, starts, columns, values)
    elif any(np.count_nonzero(block.coefficients) < block.coefficients.size for block in blocks):
        starts, columns, values = _drop_zeros(size, starts, columns, values)
    entries.add(columns, values)
    return starts, columns, values


def _from_aligned_blocks(size: int, blocks: Sequence[AffineBlock], entries: Entries) -> tuple[Codes, Int32s, Floats]:
    """Rows of one entry per block each."""
    width = len(blocks)
    columns, values = entries.room(size * width)
    for at, block in enumerate(blocks):
        columns[at::width], values[at::width] = block.columns, block.coefficients
    return width * np.arange(size + 1, dtype=np.int64), columns, values


def _from_single_block(size: int, block: AffineBlock, entries: Entries) -> tuple[Codes, Int32s, Floats]:
    """The rows of a single block: its entries are in the order of rows already."""
    assert block.rows is not None
    columns, values = entries.room(len(block.rows))
    columns[:], values[:] = block.columns, block.coefficients
    return _starts_of(block.rows, size), columns, values


def _scatter(size: int, blocks: Sequence[AffineBlock], entries: Entries) -> tuple[Codes, Int32s, Floats]:
    """Rows of any blocks: entries go to the next free place of their row, block by block."""
    per_block: list[Codes | int] = [1 if b.rows is None else np.bincount(b.rows, minlength=size) for b in blocks]
    counts = np.zeros(size, dtype=np.int64)
    for count in per_block:
        counts += count
    starts = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    columns, values = entries.room(int(starts[-1]))
    free = starts[:-1].copy()
    for block, count in zip(blocks, per_block, strict=True):
        if block.rows is None:
            place = free
        else:
            assert not isinstance(count, int)
            shift = free - (np.cumsum(count) - count)
            place = np.arange(len(block.rows), dtype=np.int64) + shift[block.rows]
        columns[place], values[place] = block.columns, block.coefficients
        free = free + count
    return starts, columns, values


def _surely_distinct(blocks: Sequence[AffineBlock]) -> bool:
    families = [b.family for b in blocks]
    return len(set(families)) == len(families) and all(b.distinct for b in blocks)


def merge_repeats(size: int, starts: Codes, columns: Int32s, values: Floats) -> tuple[Codes, Int32s, Floats]:
    """Merge CSR entries of the same column; drop sums of zero."""
    starts, columns, values = _merge_repeats(size, starts, columns, values)
    if np.count_nonzero(values) < len(values):
        starts, columns, values = _drop_zeros(size, starts, columns, values)
    return starts, columns, values


def _merge_repeats(size: int, starts: Codes, columns: Int32s, values: Floats) -> tuple[Codes, Int32s, Floats]:
    rows = np.repeat(np.arange(size, dtype=np.int64), np.diff(starts))
    width = int(columns.max()) + 1 if len(columns) else 1
    keys = rows * width + columns
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    if len(first) == len(keys):
        return starts, columns, values
    merged = np.add.reduceat(values[order], first)
    rows = keys[first] // width
    return _starts_of(rows, size), (keys[first] % width).astype(np.int32), merged


def _drop_zeros(size: int, starts: Codes, columns: Int32s, values: Floats) -> tuple[Codes, Int32s, Floats]:
    keep = values != 0.0
    rows = np.repeat(np.arange(size, dtype=np.int64), np.diff(starts))[keep]
    return _starts_of(rows, size), columns[keep], values[keep]


def _starts_of(rows: Codes, size: int) -> Codes:
    starts = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=size), out=starts[1:])
    return starts
