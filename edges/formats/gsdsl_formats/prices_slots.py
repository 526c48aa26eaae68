"""From rows of prices to the table that every price format gives: one row a slot, gaps filled or refused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.data.formats.prices_clock import Passes, to_utc
from gpusched_dsl.data.formats.shape import Dropped, FormatTable, Setting
from gpusched_dsl.data.formats.slots import MINUTE, Micros, split_at_slots, weighted_means
from gpusched_dsl.data.formats.slots_times import ParsedTimes, TwoReadings, times_in
from gpusched_dsl.data.sources.files import Fault, Unreadable
from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.language.calendar import jumps_over
from gpusched_dsl.language.diagnostics.diagnostic import Cell
from gsdsl_formats.prices_files import NOT_COVERED, UNREADABLE_TIME, PriceLines, utc_text
from gsdsl_formats.prices_series import (
    EVERYTHING,
    LENGTHS,
    PriceRows,
    Series,
    Window,
    from_ends,
    from_starts,
    is_inside,
    usual_length,
)

if TYPE_CHECKING:
    import polars as pl


_LONGEST = 1e8  # min, two centuries
_MOST_SLOTS = 10_000_000
_FAR = 2**62  # µs; beyond all years that can be written


@dataclass(frozen=True, eq=False)
class PriceTable:
    """The rows of a price file: stamps on the clock of `zone`, and the price with its forecasts.

    `lines` are those of the series that is asked for, of the `rows` that the file has.
    `marks` and `end_marks` say for each row which pass of a repeated hour is meant. `at_end`: stamps end intervals.
    `minutes` is the length of an interval, 0 where the stamps tell.
    """

    lines: PriceLines
    rows: int
    times: ParsedTimes
    values: Floats
    labels: Sequence[str]
    zone: str
    at_end: bool = False
    minutes: int = 0
    marks: Passes | None = None
    ends: ParsedTimes | None = None
    end_marks: Passes | None = None
    notes: tuple[str, ...] = ()


def table_of(prices: PriceTable, settings: Mapping[str, Setting]) -> FormatTable:
    """The slots of a price file; raises Unreadable (GSM2030, GSM2031)."""
    window = _window(prices, settings)
    rows, dropped, notes = _rows(prices, window)
    name = prices.lines.name
    if not len(rows.times):
        raise Unreadable(Fault(NOT_COVERED, f"data file `{name}` has no prices"))
    nominal = prices.minutes * MINUTE or usual_length(rows.times)
    if nominal is None and rows.ends is None:
        listed = ", ".join(map(str, LENGTHS))
        raise Unreadable(
            Fault(
                UNREADABLE_TIME,
                f"the times of data file `{name}` do not determine the length of an interval: "
                f"no times are {listed} min apart",
                help="state the option `interval`",
            )
        )
    series = (from_ends if prices.at_end else from_starts)(rows, nominal or 0, window)
    frame, numbers, filled = _slots(series, settings, prices)
    others = prices.rows - prices.lines.rows
    return FormatTable(
        frame,
        prices.rows,
        (*dropped, *series.dropped),
        (Dropped("another series", others),) if others else (),
        (*prices.notes, *notes, *filled),
        lines=numbers,
    )


def _window(prices: PriceTable, settings: Mapping[str, Setting]) -> Window:
    """The requested time in UTC: rows outside it are of no interest to the reader of the notes."""
    origin = _origin(str(settings["from"]), prices)
    if origin is None:
        return EVERYTHING
    wanted, length = int(settings["slots"]), min(float(settings["slot"]), _LONGEST) * MINUTE
    margin = max(LENGTHS) * MINUTE  # a stamp may be the start or the end of an interval
    return origin - margin, origin + wanted * length + margin if wanted else math.inf


def _rows(prices: PriceTable, window: Window) -> tuple[PriceRows, list[Dropped], list[str]]:
    """Rows in UTC that have a price and a time that exists."""
    times, lines = prices.times, prices.lines
    moments = to_utc(times.micros, prices.zone, prices.marks)
    utc = np.where(times.has_zone, times.micros, moments.utc)
    ends: Micros | None = None
    exists = moments.exists | times.has_zone
    if prices.ends is not None:
        found = to_utc(prices.ends.micros, prices.zone, prices.end_marks)
        ends = np.where(prices.ends.has_zone, prices.ends.micros, found.utc)
        ended = found.exists | prices.ends.has_zone
        # An interval may start or end in the hour that the clocks leave out: 01:00 - 02:00, or 02:00 - 04:00.
        utc[~exists] = jumps_over(times.micros[~exists], prices.zone)
        ends[~ended] = jumps_over(prices.ends.micros[~ended], prices.zone)
        wrong = np.flatnonzero((ends <= utc) & exists & ended)
        if len(wrong):
            fault = lines.fault(UNREADABLE_TIME, "an interval ends before it starts", int(wrong[0]))
            raise Unreadable(fault)
        exists = ends > utc
    priced = ~np.isnan(prices.values[:, 0])
    if prices.at_end:  # the interval before the clocks go forward may end in the hour that they leave out
        exists = exists | _first_missing(times.micros, prices.zone)
        utc = np.where(moments.exists | times.has_zone, utc, _shift(times.micros, prices.zone))
    inside = is_inside(utc, window)
    dropped = [
        Dropped(reason, int(mask.sum()), int(lines.numbers[mask].min()))
        for reason, mask in (
            ("no price", ~priced & inside),
            ("a local time that does not exist because the clocks went forward", priced & ~exists & inside),
        )
        if mask.any()
    ]
    notes: list[str] = []
    if (assumed := int((moments.assumed & priced & ~times.has_zone & inside).sum())) > 0:
        notes.append(
            f"{assumed} times are in an hour that occurs twice, but occur once: read as "
            "the first occurrence of the hour"
        )
    kept = priced & exists
    return PriceRows(utc, prices.values, lines.numbers, ends).take(kept), dropped, notes


def _first_missing(local: Micros, zone: str) -> Bools:
    """Where a local time is the very moment at which the clocks go forward."""
    before = to_utc(local - 1, zone)
    return before.exists & ~to_utc(local, zone).exists


def _shift(local: Micros, zone: str) -> Micros:
    found: Micros = to_utc(local - 1, zone).utc + 1
    return found


def _slots(series: Series, settings: Mapping[str, Setting], prices: PriceTable) -> tuple[pl.DataFrame, Ints, list[str]]:
    import polars as pl

    length = round(min(float(settings["slot"]), _LONGEST) * MINUTE)
    largest = round(min(float(settings["max_gap"]), _LONGEST) * MINUTE)
    first, last = int(series.starts[0]), int(series.ends[-1])
    origin = _origin(str(settings["from"]), prices)
    if origin is None:
        origin = first
    wanted = int(settings["slots"])
    skipped = 0 if wanted else max(-(-(first - origin) // length), 0)
    count = wanted or max((last - origin) // length, 0)
    if count - skipped > _MOST_SLOTS:
        raise _coverage_fault(prices, f"these are {count - skipped} slots, more than {_MOST_SLOTS}", first, last)
    if count <= skipped:
        raise _coverage_fault(prices, f"it has no complete slot of {length / MINUTE:g} min", first, last)
    horizon = origin + count * length
    if first > origin + skipped * length:
        raise _coverage_fault(prices, f"the first slot begins at {_text(origin)}", first, last)
    series, notes = _extend(series, horizon, largest, prices)
    begin = origin + skipped * length
    inside = series.carried & (series.ends > begin) & (series.starts < horizon)
    _refuse_gaps(series, inside & (series.gaps > largest), largest, prices)
    if inside.any():
        minutes = float((series.ends - series.starts)[inside].sum()) / MINUTE
        at = _text(int(series.starts[inside][0]))
        number = int(inside.sum())
        many = f"{number} gaps, {minutes:g} min in all, the first" if number > 1 else f"a gap of {minutes:g} min"
        notes.append(f"{many} at {at}, filled with the previous price")
    cuts = split_at_slots(np.clip(series.starts, begin, horizon), np.clip(series.ends, begin, horizon), begin, length)
    rows = count - skipped
    columns = {label: weighted_means(cuts, series.values[:, k], rows)[0] for k, label in enumerate(prices.labels)}
    starts = begin + np.arange(rows) * length
    frame = pl.DataFrame(
        {
            "time": utc_text(starts),
            "slot": np.arange(skipped, count),
            **{label: pl.Series(means).fill_nan(None) for label, means in columns.items()},
        }
    )
    row = np.searchsorted(series.starts, starts, side="right") - 1
    return frame, series.lines[row], notes


def _origin(text: str, prices: PriceTable) -> int | None:
    """Return the requested start in UTC; on the clock of the file unless it has an offset."""
    import polars as pl

    if not text.strip():
        return None
    try:
        found = times_in(pl.Series([text]), "mdy")
    except TwoReadings:  # pragma: no cover - one date has one distance to itself
        found = None
    moments = None if found is None or not found.read[0] else to_utc(found.micros, prices.zone)
    if found is None or moments is None or not (found.has_zone[0] or moments.exists[0]):
        why = "this time does not exist" if moments is not None else "it is not a date"
        raise Unreadable(
            Fault(
                UNREADABLE_TIME,
                f"option `from` cannot be `{text}`: {why}",
                help='write a date, or a date and a time, as in "2018-06-01 00:00"',
            )
        )
    return int(found.micros[0] if found.has_zone[0] else moments.utc[0])


def _extend(series: Series, horizon: int, largest: int, prices: PriceTable) -> tuple[Series, list[str]]:
    """The series with its last price carried on to the end of the last slot."""
    last = int(series.ends[-1])
    if last >= horizon:
        return series, []
    if last <= int(series.starts[0]) or horizon - last > largest:
        missing = (horizon - last) / MINUTE
        raise _coverage_fault(
            prices, f"the last slot ends at {_text(horizon)}, {missing:g} min after that", int(series.starts[0]), last
        )
    longer = series.ends.copy()
    longer[-1] = horizon
    note = f"the last price is extended by {(horizon - last) / MINUTE:g} min, to the end of the last slot"
    return replace(series, ends=longer), [note]


def _refuse_gaps(series: Series, wide: Bools, largest: int, prices: PriceTable) -> None:
    at = np.flatnonzero(wide)
    if not len(at):
        return
    row = int(at[0])
    name, minutes = prices.lines.name, series.gaps[row] / MINUTE
    more = f", the first of {len(at)}" if len(at) > 1 else ""
    raise Unreadable(
        Fault(
            NOT_COVERED,
            f"data file `{name}` has no prices for {minutes:g} min after {_text(int(series.starts[row]))}{more}",
            Cell(name, int(series.lines[row])),
            notes=(f"gaps of up to {largest / MINUTE:g} min are filled with the previous price",),
            help="choose slots without the gap, complete the file, or allow longer gaps with the option `max_gap`",
        )
    )


def _coverage_fault(prices: PriceTable, what: str, first: int, last: int) -> Unreadable:
    return Unreadable(
        Fault(
            NOT_COVERED,
            f"data file `{prices.lines.name}` has prices from {_text(first)} to {_text(last)}, but {what}",
            help="change the options `from` and `slots`, or use another file",
        )
    )


def _text(micros: int) -> str:
    if abs(micros) >= _FAR:
        return "a time out of range"
    return str(utc_text(np.array([micros]))[0])
