"""Times written in data files to microseconds: ISO 8601, day and month in either order, or seconds as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.data.formats.slots import SECOND, Micros
from gpusched_dsl.ir.arrays import Bools

if TYPE_CHECKING:
    import polars as pl


_CLOCK = r"(?:[T ] *(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d{1,6})?)\d*)?)?"
_OFFSET = r" *(Z|UTC|[+-]\d{2}:?\d{2})?$"
_YEAR_FIRST = r"^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})" + _CLOCK + _OFFSET
_YEAR_LAST = r"^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})" + _CLOCK + _OFFSET


@dataclass(frozen=True, eq=False, slots=True)
class ParsedTimes:
    """`micros` since 1970 on the clock of the text, or in UTC where `has_zone`.

    `read`: is a time; `has_value`: not empty; `numbers`: the column counts seconds from any start.
    """

    micros: Micros
    read: Bools
    has_value: Bools
    has_zone: Bools
    numbers: bool = False


class TwoReadings(ValueError):
    """Dates such as 03/04/2018 could be in March or in April, and their order does not decide."""


def times_in(series: pl.Series, order: str = "") -> ParsedTimes:
    """Return the times of a column. `order` is `mdy` or `dmy` if the year is last; without it, it is detected.

    Where both readings are possible, that one is taken under which times go up in even steps, or either where both
    have the same distances; raises TwoReadings otherwise.
    """
    import polars as pl

    has_value = series.is_not_null().to_numpy()
    if series.dtype != pl.String:
        return _numbers(series, has_value)
    text = series.str.strip_chars()
    if not len(text.drop_nulls()):
        return _numbers(text, has_value)
    if bool(text.drop_nulls().str.contains(r"^-?\d+(\.\d*)?([eE][+-]?\d+)?$").all()):
        return _numbers(text, has_value)
    iso = _parse(text, _YEAR_FIRST, "ymd", has_value)
    if not (has_value & ~iso.read).any():
        return iso
    if order:
        last = _parse(text, _YEAR_LAST, order, has_value)
    else:
        last = _better(_parse(text, _YEAR_LAST, "mdy", has_value), _parse(text, _YEAR_LAST, "dmy", has_value))
    return last if int(last.read.sum()) > int(iso.read.sum()) else iso


def _numbers(series: pl.Series, has_value: Bools) -> ParsedTimes:
    import polars as pl

    seconds = series.cast(pl.Float64, strict=False)
    values = seconds.fill_null(np.nan).to_numpy().astype(np.float64)
    read = np.isfinite(values) & (np.abs(values) < 1e12)
    micros = np.rint(np.where(read, values, 0.0) * SECOND).astype(np.int64)
    return ParsedTimes(micros, read, has_value, np.zeros(len(has_value), dtype=np.bool_), True)


def _parse(text: pl.Series, pattern: str, order: str, has_value: Bools) -> ParsedTimes:
    import polars as pl

    groups = text.str.extract_groups(pattern).struct.unnest()
    a, b, c, hour, minute, second, offset = groups.get_columns()
    year, month, day = {"ymd": (a, b, c), "mdy": (c, a, b), "dmy": (c, b, a)}[order]
    two = {"month": month, "day": day, "hour": hour.fill_null("0"), "minute": minute.fill_null("0")}
    frame = pl.DataFrame(
        {"year": year, **{k: s.str.zfill(2) for k, s in two.items()}, "second": second.fill_null("00")}
    )
    written = frame.select(pl.format("{}-{}-{} {}:{}:{}", "year", "month", "day", "hour", "minute", "second"))
    moments = written.to_series().str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    micros = moments.to_physical()
    has_zone = offset.is_not_null()
    shift = _offset_micros(offset)
    read = micros.is_not_null().to_numpy() & has_value
    values = micros.fill_null(0).to_numpy().astype(np.int64) - shift
    return ParsedTimes(np.where(read, values, 0), read, has_value, has_zone.to_numpy() & read)


def _offset_micros(offset: pl.Series) -> Micros:
    import polars as pl

    parts = offset.str.extract_groups(r"^([+-])(\d{2}):?(\d{2})$").struct.unnest().get_columns()
    sign = np.where((parts[0] == "-").fill_null(False).to_numpy(), -1, 1)
    hours, minutes = (part.cast(pl.Int64).fill_null(0).to_numpy() for part in parts[1:])
    found: Micros = sign * (hours * 3600 + minutes * 60) * SECOND
    return found


def _better(months_first: ParsedTimes, days_first: ParsedTimes) -> ParsedTimes:
    """Return the plausible one of two readings of dates with the year last."""
    counts = int(months_first.read.sum()), int(days_first.read.sum())
    if counts[0] != counts[1]:
        return months_first if counts[0] > counts[1] else days_first
    one, other = (np.diff(found.micros[found.read]) for found in (months_first, days_first))
    if np.array_equal(one, other):
        return months_first
    even = _is_even(one), _is_even(other)
    if even[0] != even[1]:
        return months_first if even[0] else days_first
    raise TwoReadings


def _is_even(steps: Micros) -> bool:
    """Whether times go up in one step, but for rows of the same time."""
    moving = steps[steps != 0]
    return (
        bool(len(moving))
        and bool((moving > 0).all())
        and len(np.unique(moving)) <= 2
        and (int(moving.max()) <= 3 * int(np.median(moving)))
    )
