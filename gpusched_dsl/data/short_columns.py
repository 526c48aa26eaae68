"""Columns of few cells without polars, whose import takes longer than all the work on a small model.

Only plain cells are read here: typed values, and text that is written like a number in Python, JSON and C alike. For
all other cells the functions return None, and the column becomes a series: so one place has the rules for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.domains import Universe

if TYPE_CHECKING:
    import polars as pl

MOST_CELLS = 1000  # of a short column

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,30})?")  # neither overflows nor underflows
_EXACT = 2.0**53


class ShortColumn(Struct, frozen=True, eq=False):
    """Some cells of one kind: texts, integers of 64 bits, or floats; None is an empty cell."""

    cells: Sequence[Any]
    kind: Literal["text", "integer", "float"]

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, row: int) -> Any:
        return self.cells[row]

    def to_list(self) -> list[Any]:
        return list(self.cells)

    def filter(self, mask: Bools) -> ShortColumn:
        return ShortColumn(tuple(compress(self.cells, mask.tolist())), self.kind)

    def has_value(self) -> Bools:
        return np.array([cell is not None for cell in self.cells], dtype=np.bool_)

    def is_first_distinct(self) -> Bools:
        """Whether no earlier cell is equal."""
        seen: dict[object, int] = {}
        return np.array([seen.setdefault(cell, row) == row for row, cell in enumerate(self.cells)], dtype=np.bool_)

    def series(self) -> pl.Series:
        import polars as pl

        kinds = {"text": pl.String, "integer": pl.Int64, "float": pl.Float64}
        return pl.Series(self.cells, dtype=kinds[self.kind])


if TYPE_CHECKING:
    Column = pl.Series | ShortColumn


def as_series(column: Column) -> pl.Series:
    return column.series() if isinstance(column, ShortColumn) else column


def integers(column: ShortColumn) -> list[int | None] | None:
    """The cells as integers, None for those that are not integral; None if text is not plain."""
    if column.kind == "integer":
        return list(column.cells)
    if column.kind == "float":
        return [int(c) if isinstance(c, float) and c.is_integer() and abs(c) < _EXACT else None for c in column.cells]
    return [None if c is None else int(c) for c in column.cells] if are_integers(column) else None


def are_integers(column: ShortColumn) -> bool:
    """Whether all texts are plain integers."""
    return all(cell is None or _INTEGER.fullmatch(cell) is not None for cell in column.cells)


def integer_arrays(column: ShortColumn) -> tuple[Codes, Bools] | None:
    """The integers, and where there are some; None if text is not plain."""
    found = integers(column)
    if found is None:
        return None
    return np.array([c or 0 for c in found], dtype=np.int64), np.array([c is not None for c in found], dtype=np.bool_)


def texts(column: ShortColumn) -> ShortColumn | None:
    """The cells as text; None for floats."""
    if column.kind == "integer":
        return ShortColumn(tuple(None if cell is None else str(cell) for cell in column.cells), "text")
    return column if column.kind == "text" else None


def codes(column: ShortColumn, universe: Universe) -> Codes:
    """The codes of texts, -1 for those that are no label."""
    code_of = universe.code_of
    return np.array([-1 if c is None else code_of.get(c, -1) for c in column.cells], dtype=np.int64)


def floats(column: ShortColumn) -> Floats | None:
    """The cells as numbers, NaN where empty; None if one is not plain, or is so large that its digits may not fit."""
    if column.kind == "text" and not all(cell is None or _NUMBER.fullmatch(cell) is not None for cell in column.cells):
        return None
    values = np.array([np.nan if cell is None else float(cell) for cell in column.cells])
    return None if column.kind != "float" and (np.abs(values) >= _EXACT).any() else values


def joined(columns: Iterable[ShortColumn]) -> ShortColumn:
    """The cells of some columns of one kind."""
    columns = list(columns)
    return ShortColumn(tuple(cell for column in columns for cell in column.cells), columns[0].kind)
