"""Which rows of a table satisfy a condition of the option `only`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def satisfies(condition: str, column: Callable[[str], pl.Series]) -> pl.Series:
    """Return a mask of rows. `column` gives a column by its name, and raises for an unknown one.

    Numbers compare as numbers, texts as texts; a cell that is empty, or no number, satisfies only `!=` and `not in`.
    """
    return _mask(json.loads(condition), column)


def _mask(node: list[Any], column: Callable[[str], pl.Series]) -> pl.Series:
    op = node[0]
    if op == "not":
        return ~_mask(node[1], column)
    if op in ("and", "or"):
        left, right = _mask(node[1], column), _mask(node[2], column)
        return left & right if op == "and" else left | right
    cells = column(node[1])
    if op in ("in", "not in"):
        found = _equal(cells, node[2][0]) if node[2] else cells.is_null() & cells.is_not_null()
        for value in node[2][1:]:
            found |= _equal(cells, value)
        return found if op == "in" else ~found
    if op in ("==", "!="):
        found = _equal(cells, node[2])
        return found if op == "==" else ~found
    return _compare_order(cells, op, node[2]).fill_null(False)


def _equal(cells: pl.Series, value: str | float) -> pl.Series:
    return _compare_order(cells, "==", value).fill_null(False)


def _compare_order(cells: pl.Series, op: str, value: str | float) -> pl.Series:
    import polars as pl

    kind = pl.String if isinstance(value, str) else pl.Float64
    found = cells if cells.dtype == kind else cells.cast(kind, strict=False)
    compared: pl.Series = {
        "==": found.__eq__, "<": found.__lt__, "<=": found.__le__, ">": found.__gt__, ">=": found.__ge__,
    }[op](value)  # fmt: skip
    return compared
