"""Columns of formats with a type per cell (JSON Lines, SQLite)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpusched_dsl.data.short_columns import MOST_CELLS, ShortColumn
from gpusched_dsl.data.sources.files import Fault

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.data.short_columns import Column

_EXACT = 2**53  # a float is exact for all integers up to here
_NUMBERS = ({int}, {float}, {int, float})


def column_of(values: Sequence[Any]) -> Column:
    """One column, short if it has few cells, as `series_of` types it."""
    kinds = set(map(type, values)) - {type(None)}
    if len(values) <= MOST_CELLS:
        if kinds <= {str}:
            return ShortColumn(values, "text")
        if kinds in _NUMBERS and all(type(v) is not int or abs(v) <= _EXACT for v in values):
            if float not in kinds:
                return ShortColumn(values, "integer")
            return ShortColumn([None if v is None else float(v) for v in values], "float")
    return series_of(values)


def series_of(values: Sequence[Any]) -> pl.Series:
    """One series: integers, floats or truth values when all cells are, else text (None stays null).

    Cells of mixed types become text, so that the odd one can be shown later.
    """
    import polars as pl

    kinds = set(map(type, values)) - {type(None)}
    if kinds == {int} and all(-(1 << 63) <= v < 1 << 63 for v in values if v is not None):
        return pl.Series(values, dtype=pl.Int64)
    if kinds in _NUMBERS and not any(type(v) is int and abs(v) > _EXACT and _float(v) != v for v in values):
        return pl.Series([None if v is None else _float(v) for v in values], dtype=pl.Float64)
    if kinds == {bool}:
        return pl.Series(values, dtype=pl.Boolean)
    if kinds <= {str}:
        return pl.Series(values, dtype=pl.String)
    return pl.Series([None if v is None else _text(v) for v in values], dtype=pl.String)


def _float(value: float) -> float:
    """The nearest float; an integer beyond all of them is infinite, and is reported as such."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def unusable_column(name: str, column: str, kind: str) -> Fault:
    return Fault(
        "GSM2014",
        f"column `{column}` of data file `{name}` contains {kind}",
        column=column,
        help="a column must contain numbers or text",
    )
