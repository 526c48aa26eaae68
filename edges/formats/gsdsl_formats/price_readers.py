"""Reads files of electricity prices.

Any file with columns of times and prices; New York; European day-ahead prices: market time units of the transparency
platform, tables of countries, the epftoolbox.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from msgspec import structs

from gpusched_dsl.data.formats.fields import header_of
from gpusched_dsl.data.formats.prices_clock import FIRST, SECOND, UNKNOWN, Passes
from gpusched_dsl.data.formats.separators import separator_advice
from gpusched_dsl.data.formats.shape import FormatTable, Raw, Setting
from gpusched_dsl.data.formats.slots import MINUTE
from gpusched_dsl.data.formats.slots_times import ParsedTimes
from gpusched_dsl.data.sources.files import Fault, Unreadable, missing_columns
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gsdsl_formats.prices_files import (
    NO_SERIES,
    PriceLines,
    first_member,
    prices_of,
    read_lines,
    select_series,
    stamps_of,
)
from gsdsl_formats.prices_slots import PriceTable, table_of


def read_any(raw: Raw, settings: Mapping[str, Setting]) -> FormatTable:
    """The slots of one series; raises Unreadable (GSM2011 for a column that is not there)."""
    named = {label: str(settings[label]) for label in ("time", "price", "forecast", "series") if settings[label]}
    header = header_of(first_member(raw))
    faults = missing_columns(raw.name, list(named.values()), header)
    if faults:
        if advice := separator_advice(first_member(raw), header):
            raise Unreadable(structs.replace(faults[0], column=None, help=advice))
        label_of = {name: label for label, name in reversed(named.items())}
        raise Unreadable(*(_named_by_option(fault, label_of[fault.column or ""]) for fault in faults))
    everything = read_lines(raw, {label: re.escape(name) for label, name in named.items()})
    lines = everything
    if "series" in named:
        lines = select_series(lines, "series", str(settings["zone"]), "zone")
    order = str(settings["dates"])
    labels = [label for label in ("price", "forecast") if label in named]
    prices = PriceTable(
        lines,
        everything.rows,
        stamps_of(lines, "time", "" if order == "auto" else order),
        np.column_stack([prices_of(lines, label) for label in labels]),
        labels,
        str(settings["timezone"]),
        settings["stamps"] == "end",
        round(float(settings["interval"])),
    )
    return table_of(prices, settings)


def _named_by_option(fault: Fault, label: str) -> Fault:
    """A column that is not there, at the option that names it."""
    assert fault.column is not None
    help = f"name the column of the {label} by its option: `prices ({label} = ...)`"
    return structs.replace(fault, column=None, option=(label, fault.column), help=fault.help or help)


_NYISO_NEEDED = {"time": r"time ?stamp|time|hour_beginning_local", "price": r"lbmp\b.*|lbmp_usd_per_mwh"}
_NYISO_OPTIONAL = {"zone": r"name|zone", "ptid": r"ptid"}
_REAL_TIME_MINUTES = 5


def read_nyiso(raw: Raw, settings: Mapping[str, Setting]) -> FormatTable:
    """The slots of one zone or generator, in the files that NYISO publishes or hourly cuts of them; raises Unreadable.

    Real-time files have rows about every 5 min, off-schedule ones between them; their stamps end intervals. Day-ahead
    and integrated prices have a row an hour, whose stamps start it. Times are US Eastern without a zone.
    """
    everything = read_lines(raw, _NYISO_NEEDED, _NYISO_OPTIONAL)
    lines = _choose_rows(everything, settings)
    times = stamps_of(lines, "time", "mdy")
    stamps = str(settings["stamps"])
    known = _stamps_end(raw.name) if stamps == "auto" else stamps == "end"
    at_end = _are_close(times) if known is None else known
    minutes = round(float(settings["interval"])) or (_REAL_TIME_MINUTES if at_end else 0)
    guessed = known is None and at_end
    notes = (f"read as real-time prices: each time is the end of an interval of {minutes} min",) if guessed else ()
    prices = PriceTable(
        lines,
        everything.rows,
        times,
        prices_of(lines, "price")[:, None],
        ("price",),
        str(settings["timezone"]),
        at_end,
        minutes,
        notes=notes,
    )
    return table_of(prices, settings)


def _choose_rows(lines: PriceLines, settings: Mapping[str, Setting]) -> PriceLines:
    """Return the rows of the requested generator or zone, by its number if given."""
    ptid, zone = int(settings["ptid"]), str(settings["zone"])
    if ptid and "ptid" in lines.columns:
        lines = select_series(lines, "ptid", str(ptid), "ptid")
    if "zone" in lines.columns and (zone or not ptid):
        lines = select_series(lines, "zone", zone, "zone")
    return lines


def _stamps_end(name: str) -> bool | None:
    """Whether stamps end intervals, by the name of the file; None if the name does not determine it."""
    lowered = name.lower()
    if "damlbmp" in lowered or "rtlbmp" in lowered:
        return False
    return True if "realtime" in lowered else None


def _are_close(times: ParsedTimes) -> bool:
    """Whether times are less than an hour apart, as in real-time files."""
    steps = np.diff(np.unique(times.micros))
    return bool(len(steps)) and float(np.median(steps)) < 60 * MINUTE


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
