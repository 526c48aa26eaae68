"""Parquet to columns, with the types the file declares."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from gpusched_dsl.data.sources.files import (
    Fault,
    FileColumns,
    FileLimits,
    Unreadable,
    decoded_size_fault,
    missing_columns,
)
from gpusched_dsl.data.sources.parquet_trial import UnreadableFile, prepare, try_reading
from gpusched_dsl.data.sources.untyped import unusable_column

if TYPE_CHECKING:
    import polars as pl

_CELL_BYTES = 16
_READ_BYTES = 64  # of a cell while it is read and bound


def read_parquet(data: bytes, name: str, columns: Sequence[str], limits: FileLimits) -> FileColumns:
    """The named columns, read in another process first; records are counted from 1.

    Raises Unreadable (GSM2007, GSM2008, GSM2010, GSM2011, GSM2014).
    """
    if not data:
        raise Unreadable(Fault("GSM2010", f"data file `{name}` is empty"))
    prepare()
    import polars as pl

    columns = list(dict.fromkeys(columns))
    with ThreadPoolExecutor(1) as meanwhile:
        digest = meanwhile.submit(hashlib.sha256, data)
        try:
            most = min(limits.decoded_bytes // _CELL_BYTES, limits.memory // _READ_BYTES)
            trial = try_reading(data, columns, most)
        except UnreadableFile as damage:
            raise Unreadable(damage_error(name, damage)) from None
    faults = missing_columns(name, columns, list(trial.names))
    if faults:
        raise Unreadable(*faults)
    if trial.rows is None:
        raise Unreadable(decoded_size_fault(name, limits))
    frame = pl.read_parquet(io.BytesIO(data), columns=columns) if columns else pl.DataFrame()
    taken = {column: _usable(name, column, frame[column]) for column in columns}
    return FileColumns(name, taken, trial.rows, digest.result().hexdigest())


def damage_error(name: str, damage: UnreadableFile) -> Fault:
    """Return GSM2008, with the message of the reader."""
    return Fault("GSM2008", f"data file `{name}` is damaged or not Parquet", notes=(str(damage),))


def _usable(name: str, column: str, series: pl.Series) -> pl.Series:
    import polars as pl

    kind = series.dtype
    if kind in (pl.String, pl.Boolean) or kind.is_float():
        return series
    if kind.is_integer() or (isinstance(kind, pl.Decimal) and kind.scale == 0):
        whole = series.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == series.null_count() else series.cast(pl.String)
    if kind.is_decimal():
        return series.cast(pl.Float64)
    if isinstance(kind, pl.Duration):
        return series.dt.to_string("iso")
    if isinstance(kind, (pl.Categorical, pl.Enum)) or kind.is_temporal():
        return series.cast(pl.String)
    if kind == pl.Null:
        return series.cast(pl.String)
    raise Unreadable(unusable_column(name, column, f"values of type {kind}"))


def names_of(data: bytes, name: str, limits: FileLimits) -> list[str]:
    """Return the names of the columns; raise Unreadable (GSM2008, GSM2010)."""
    if not data:
        raise Unreadable(Fault("GSM2010", f"data file `{name}` is empty"))
    prepare()
    try:
        return list(try_reading(data, [], limits.decoded_bytes // _CELL_BYTES).names)
    except UnreadableFile as damage:
        raise Unreadable(damage_error(name, damage)) from None
