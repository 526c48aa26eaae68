"""Parquet to columns, with the types the file declares."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpusched_dsl.data.files import (
    Fault,
    FileColumns,
    Limits,
    Unreadable,
    decoded_too_large,
    missing_columns,
    sha256,
)
from gpusched_dsl.data.panics import Panic, guarded
from gpusched_dsl.data.untyped import unusable_column

if TYPE_CHECKING:
    import polars as pl

_CELL_BYTES = 16


def read_parquet(data: bytes, name: str, columns: Sequence[str], limits: Limits) -> FileColumns:
    """The named columns; records are counted from 1.

    Raises Unreadable (GSM2007, GSM2008, GSM2010, GSM2011, GSM2014).
    """
    import polars as pl

    if not data:
        raise Unreadable(Fault("GSM2010", f"data file `{name}` is empty"))
    columns = list(dict.fromkeys(columns))
    try:
        with guarded():
            schema = pl.read_parquet_schema(io.BytesIO(data))
            faults = missing_columns(name, columns, list(schema))
            if faults:
                raise Unreadable(*faults)
            # A few bytes can stand for very many rows: ask before they are spread out.
            rows = int(pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item())
            if rows * max(len(columns), 1) * _CELL_BYTES > limits.decoded_bytes:
                raise Unreadable(decoded_too_large(name, limits))
            frame = pl.read_parquet(io.BytesIO(data), columns=columns)
    except (pl.exceptions.PolarsError, OSError, ValueError, Panic) as error:
        note = (str(error).splitlines() or [type(error).__name__])[0]
        raise Unreadable(Fault("GSM2008", f"data file `{name}` is damaged or not Parquet", notes=(note,))) from None
    taken = {column: _usable(name, column, frame[column]) for column in columns}
    return FileColumns(name, taken, frame.height, sha256(data))


def _usable(name: str, column: str, series: pl.Series) -> pl.Series:
    import polars as pl

    kind = series.dtype
    if kind in (pl.String, pl.Boolean) or kind.is_float():
        return series
    if kind.is_integer():
        return series.cast(pl.Int64, strict=False) if kind != pl.UInt64 else series.cast(pl.Float64)
    if kind.is_decimal():
        return series.cast(pl.Float64)
    if isinstance(kind, (pl.Categorical, pl.Enum)) or kind.is_temporal():
        return series.cast(pl.String)
    if kind == pl.Null:
        return series.cast(pl.String)
    raise Unreadable(unusable_column(name, column, f"values of type {kind}"))
