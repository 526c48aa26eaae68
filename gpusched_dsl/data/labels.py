"""Key and value columns to codes and numbers, a complete column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct

from gpusched_dsl.data import short_columns as short
from gpusched_dsl.data.short_columns import ShortColumn, as_series
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Values
from gpusched_dsl.ir.domains import Component, Universe

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.data.chunks import ColumnChunk
    from gpusched_dsl.data.short_columns import Column

_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
_MOST_DIGITS = 400  # of a float
_NOT_ZERO = r"^[^eE]*[1-9]"


class EncodedLabels(Struct, frozen=True, eq=False):
    """A column as codes of one component. `has_value`: not empty; `is_known`: a label of the component."""

    codes: Codes
    has_value: Bools
    is_known: Bools


def has_values(column: Column) -> Bools:
    """Return where a column has a value; fast for columns without nulls."""
    if isinstance(column, ShortColumn):
        return column.has_value()
    return _has_values(column)


def _has_values(series: pl.Series) -> Bools:
    return series.is_not_null().to_numpy() if series.null_count() else np.ones(len(series), dtype=np.bool_)


def is_text(column: Column) -> bool:
    if isinstance(column, ShortColumn):
        return column.kind == "text"
    import polars as pl

    return column.dtype == pl.String


def encode(column: Column, component: Component) -> EncodedLabels:
    """The codes of a column of labels; of an integer component (None) the integers themselves."""
    has_value = has_values(column)
    if component is None:
        integers, is_integer = _integers(column)
        return EncodedLabels(integers, has_value, is_integer)
    if component.integer_labels is not None and component.labels:
        integers, is_integer = _integers(column)
        codes = _places(component.integer_labels, integers)
        return EncodedLabels(codes, has_value, is_integer & (codes >= 0))
    written = texts(column)
    codes = short.codes(written, component) if isinstance(written, ShortColumn) else _text_codes(written, component)
    return EncodedLabels(codes, has_value, has_value & (codes >= 0))


def _integers(column: Column) -> tuple[Codes, Bools]:
    """Return the integers of a column and their positions."""
    if isinstance(column, ShortColumn) and (found := short.integer_arrays(column)) is not None:
        return found
    import polars as pl

    series = as_series(column)
    if series.dtype == pl.Int64:
        as_integers = series
    elif series.dtype == pl.String:
        as_integers = series.cast(pl.Int64, strict=False)
        if as_integers.null_count() > series.null_count():
            as_integers = as_integers.zip_with(as_integers.is_not_null(), _round(series.cast(pl.Float64, strict=False)))
    elif series.dtype.is_float():
        as_integers = _round(series)
    else:
        as_integers = pl.Series([None] * len(series), dtype=pl.Int64)
    integers: Codes = _fill(as_integers, 0)
    return integers, has_values(as_integers)


def _fill(series: pl.Series, value: float) -> Values:
    filled: Values = (series.fill_null(value) if series.null_count() else series).to_numpy()
    return filled


def _round(numbers: pl.Series) -> pl.Series:
    """Return 4.0 as 4, null for fractional numbers; beyond 2^53 a float cannot represent every integer."""
    import polars as pl

    exact = (numbers == numbers.round()) & (numbers.abs() < 2.0**53)
    return pl.select(pl.when(exact).then(numbers)).to_series().cast(pl.Int64, strict=False)


def _places(labels: Codes, wanted: Codes) -> Codes:
    """The place of each wanted integer among distinct labels, -1 where it is none."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    at = np.minimum(np.searchsorted(ordered, wanted), len(labels) - 1)
    found: Codes = np.where(ordered[at] == wanted, order[at], -1)
    return found


_enums: WeakKeyDictionary[Universe, pl.Enum] = WeakKeyDictionary()

# The last column of each set and its codes: the keys of a table of tuples often are those of the next one, too.
_last_columns: WeakKeyDictionary[Universe, tuple[pl.Series, Codes]] = WeakKeyDictionary()
_MOST_KEPT = 1 << 18


def _text_codes(series: pl.Series, universe: Universe) -> Codes:
    """Return the codes of a column of text; not to be written to, equal columns may share them."""
    if not universe.labels:
        return np.full(len(series), -1, dtype=np.int64)
    known, codes = _last_columns.get(universe, (None, None))
    if known is not None and codes is not None and len(known) == len(series) and known.equals(series, null_equal=True):
        return codes
    codes = _enum_codes(series, universe)
    if len(series) <= _MOST_KEPT:
        _last_columns[universe] = (series, codes)
    return codes


def _enum_codes(series: pl.Series, universe: Universe) -> Codes:
    import polars as pl

    kind = _enums.get(universe)
    if kind is None:
        kind = _enums[universe] = pl.Enum(pl.Series([str(label) for label in universe.labels], dtype=pl.String))
    return _fill(series.cast(kind, strict=False).to_physical().cast(pl.Int64), -1)


def texts(column: Column) -> Column:
    """Return a column of labels as text; integers have no decimals."""
    if isinstance(column, ShortColumn) and (found := short.texts(column)) is not None:
        return found
    import polars as pl

    series = as_series(column)
    if series.dtype == pl.String:
        return series
    if series.dtype.is_float():
        integers, is_integer = _integers(series)
        as_integer = pl.Series(integers).cast(pl.String)
        return as_integer.zip_with(pl.Series(is_integer), series.cast(pl.String))
    return series.cast(pl.String)


def natural_labels(chunks: list[ColumnChunk]) -> list[Column]:
    """The labels of some one-column chunks, all of integers or all of text.

    They are integers when every one is an integer, or, in text without types, is written like one.
    """
    if not all(_are_integers(chunk.keys[0], chunk.typed) for chunk in chunks):
        return [texts(chunk.keys[0]) for chunk in chunks]
    return [_integer_column(chunk.keys[0]) for chunk in chunks]


def _are_integers(column: Column, typed: bool) -> bool:
    if is_text(column) and typed:
        return not has_values(column).any()
    if isinstance(column, ShortColumn):
        if column.kind == "text":
            return short.are_integers(column)
    else:
        import polars as pl

        if column.dtype == pl.String:
            return bool(column.drop_nulls().str.contains(_INTEGER).all())
        if column.dtype != pl.Int64 and not column.dtype.is_float():
            return not has_values(column).any()
    return bool(_integers(column)[1][has_values(column)].all())


def _integer_column(column: Column) -> Column:
    if isinstance(column, ShortColumn) and (found := short.integers(column)) is not None:
        return ShortColumn(found, "integer")
    import polars as pl

    integers, is_integer = _integers(column)
    return pl.select(pl.when(pl.Series(is_integer)).then(pl.Series(integers))).to_series()


def joined(columns: Sequence[Column]) -> Column:
    """The cells of some columns of one type, one after another; at least one column."""
    few = [column for column in columns if isinstance(column, ShortColumn)]
    if len(few) == len(columns):
        return short.joined(few)
    import polars as pl

    return pl.concat([as_series(column) for column in columns])


def first_distinct(column: Column) -> Bools:
    """Return the rows without an equal row before them."""
    if isinstance(column, ShortColumn):
        return column.is_first_distinct()
    return column.is_first_distinct().to_numpy()


class Numbers(Struct, frozen=True, eq=False):
    """A column as numbers. `has_value`: not empty; `numeric`: the text of a number (NaN and inf are).

    The value of a cell that is no number is NaN. `underflows`: the number as it is written is not 0, but none of its
    digits is left in 64 bits. `inexact`: an integer beyond 2^53 that is another number in 64 bits.
    """

    values: Floats
    has_value: Bools
    numeric: Bools
    underflows: Bools
    inexact: Bools


def numbers(column: Column, truth_values: bool = False) -> Numbers:
    """The numbers of a column of values; `truth_values`: `true` and `false` (any case) are 1 and 0."""
    has_value = has_values(column)
    if isinstance(column, ShortColumn) and (plain := short.floats(column)) is not None:
        none = np.zeros(len(column), dtype=np.bool_)
        return Numbers(plain, has_value, has_value, none, none)
    import polars as pl

    series = as_series(column)
    if series.dtype == pl.Boolean and not truth_values:
        none = np.zeros(len(series), dtype=np.bool_)
        return Numbers(np.zeros(len(series)), has_value, none, none, none)
    cast = series.cast(pl.Float64, strict=False)
    if series.dtype == pl.String and truth_values and cast.null_count() > series.null_count():
        lowered = series.str.to_lowercase()
        truth = lowered.replace_strict({"true": 1.0, "false": 0.0}, default=None, return_dtype=pl.Float64)
        cast = cast.zip_with(cast.is_not_null(), truth)
    values: Floats = cast.to_numpy()
    numeric = has_values(cast)
    underflows = numeric & (values == 0)
    if series.dtype != pl.String:
        underflows = np.zeros(len(series), dtype=np.bool_)
    elif underflows.any():
        zeros = np.flatnonzero(underflows)
        underflows[zeros] = series.gather(zeros).str.contains(_NOT_ZERO).to_numpy()
    return Numbers(values, has_value, numeric, underflows, _inexact(series, values))


def _inexact(series: pl.Series, values: Floats) -> Bools:
    """Return which integers are another number as floats; only large ones are looked at."""
    found = np.zeros(len(series), dtype=np.bool_)
    if series.dtype.is_float() or not len(series):
        return found
    large = np.flatnonzero(np.isfinite(values) & (np.abs(values) >= 2.0**53))
    for row, text in zip(large.tolist(), series.gather(large).to_list(), strict=True):
        whole = str(text).strip()
        digits = whole.removeprefix("-").removeprefix("+")
        found[row] = digits.isdecimal() and len(digits) <= _MOST_DIGITS and int(whole) != int(values[row])
    return found


def scale(values: Floats, factor: Fraction) -> Floats:
    """Values times an exact factor, rounded as little as possible (3600 s are 1 h, not 0.9999...)."""
    top, bottom = factor.numerator, factor.denominator
    if max(top, bottom) >= 1 << 53:
        return values * float(factor)
    scaled = values if top == 1 else values * float(top)
    return scaled if bottom == 1 else scaled / float(bottom)
