"""European day-ahead prices: market time units of the transparency platform, tables of countries, the epftoolbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gpusched_dsl.data.formats.fields import header_of
from gpusched_dsl.data.formats.prices_clock import FIRST, SECOND, UNKNOWN, Passes
from gpusched_dsl.data.formats.prices_files import (
    NO_SERIES,
    PriceLines,
    first_member,
    prices_of,
    read_lines,
    select_series,
    stamps_of,
)
from gpusched_dsl.data.formats.prices_slots import PriceTable, table_of
from gpusched_dsl.data.formats.separators import separator_advice
from gpusched_dsl.data.formats.shape import FormatTable, Raw, Setting
from gpusched_dsl.data.sources.files import Fault, Unreadable
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean

_CENTRAL = "Europe/Brussels"
_MARK = r" *\((C?ES?T|[A-Z]{3,4})\)"
_FORECASTS = {
    "forecast_lear56": r"forecast_lear56|lear 56",
    "forecast_lear": r"forecast_lear|lear ensemble",
    "forecast_dnn": r"forecast_dnn|dnn ensemble",
}


def read_entsoe(raw: Raw, settings: Mapping[str, Setting]) -> FormatTable:
    """Rows `01/01/2025 00:00:00 - 01/01/2025 00:15:00`, marked (CET) or (CEST) where clocks change."""
    everything = read_lines(
        raw,
        {"time": r"mtu.*", "price": r"(day-ahead )?price.*"},
        {"zone": r"area.*|bidding zone", "sequence": r"sequence"},
    )
    lines = everything
    if "sequence" in lines.columns and lines.rows:
        lines = select_series(lines, "sequence", str(settings["sequence"]), "sequence", "sequences")
    if "zone" in lines.columns and lines.rows:
        lines = select_series(lines, "zone", str(settings["zone"]), "zone")
    header = " ".join(header_of(first_member(raw))).lower()
    zone = str(settings["timezone"]) or ("UTC" if "(utc)" in header else _CENTRAL)
    lines, marks, end_marks = _split(lines)
    prices = PriceTable(
        lines,
        everything.rows,
        stamps_of(lines, "time", "dmy"),
        prices_of(lines, "price")[:, None],
        ("price",),
        zone,
        marks=marks,
        ends=stamps_of(lines, "end", "dmy"),
        end_marks=end_marks,
    )
    return table_of(prices, settings)


def _split(lines: PriceLines) -> tuple[PriceLines, Passes, Passes]:
    """Start and end of each unit as columns of their own, and which pass of a repeated hour each is marked as."""
    halves = lines.columns["time"].str.split_exact(" - ", 1).struct.unnest().get_columns()
    marks = [_pass(half.str.extract(_MARK).fill_null("").to_numpy().astype(str)) for half in halves]
    start, end = (half.str.replace(_MARK, "").str.strip_chars() for half in halves)
    columns = {**lines.columns, "time": start, "end": end}
    return replace(lines, columns=columns), marks[0], marks[1]


def _pass(marks: np.ndarray[tuple[int], np.dtype[np.str_]]) -> Passes:
    """CEST is the first pass of the hour that occurs twice, CET the second."""
    summer = np.char.endswith(marks, "ST") & (np.char.str_len(marks) > 3)
    found: Passes = np.where(marks == "", UNKNOWN, np.where(summer, FIRST, SECOND)).astype(np.int8)
    return found


def read_countries(raw: Raw, settings: Mapping[str, Setting]) -> FormatTable:
    """Columns date, hour (`00:00 - 01:00`) and a price for each country."""
    zone = str(settings["zone"])
    header = header_of(first_member(raw))
    countries = [name for name in header if name.lower() not in ("date", "hour")]
    found = next((name for name in countries if name.lower() == zone.strip().lower()), None)
    if found is None:
        note = f"its countries: {', '.join(f'`{c}`' for c in countries)}"
        raise Unreadable(
            Fault(
                NO_SERIES,
                f"data file `{raw.name}` has no prices of `{zone}`",
                notes=(note,),
                help=separator_advice(first_member(raw), header) or did_you_mean(zone, countries),
            )
        )
    lines = read_lines(raw, {"date": "date", "hour": "hour", "price": _exactly(found)})
    start = lines.columns["hour"].str.extract(r"^(\d{1,2}:\d{2})", 1)
    columns = {**lines.columns, "time": (lines.columns["date"] + " " + start).alias("time")}
    lines = replace(lines, columns=columns)
    times = stamps_of(lines, "time", "dmy")
    values = prices_of(lines, "price")[:, None]
    prices = PriceTable(lines, lines.rows, times, values, ("price",), str(settings["timezone"]), minutes=60)
    return table_of(prices, settings)


def read_epf(raw: Raw, settings: Mapping[str, Setting]) -> FormatTable:
    """Read hourly prices and forecasts. Every day has 24 rows: the missing hour of a clock change was interpolated and
    is skipped here, the repeated hour was averaged and counts for both.
    """
    header = header_of(first_member(raw))
    first = header[0]
    lines = read_lines(raw, {"time": _exactly(first), "price": "price|real price"}, _FORECASTS)
    labels = ["price", *(name for name in _FORECASTS if name in lines.columns)]
    values = np.column_stack([prices_of(lines, name) for name in labels])
    prices = PriceTable(
        lines, lines.rows, stamps_of(lines, "time"), values, labels, str(settings["timezone"]), minutes=60
    )
    return table_of(prices, settings)


def _exactly(name: str) -> str:
    import re

    return re.escape(name)
