"""Reads files of electricity prices of each kind that `price_file.PriceFile` describes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
from gsdsl_formats.price_file import FIRST_COLUMN, PriceFile
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

_DEFAULTS: Mapping[str, Setting] = {"dates": "auto", "interval": 0.0, "stamps": "start"}
_MARK = r" *\((C?ES?T|[A-Z]{3,4})\)"


def read_prices(file: PriceFile, raw: Raw, settings: Mapping[str, Setting]) -> FormatTable:
    """The slots of one series; raises Unreadable (GSM2007 to GSM2015, GSM2030 to GSM2032, GSM2104)."""
    settings = {**_DEFAULTS, **file.fixed, **settings}
    member = first_member(raw)
    header = header_of(member)
    everything = read_lines(raw, _patterns(file, member, header, settings), file.optional)
    lines = _choose_rows(everything, file, settings)
    marks: Passes | None = None
    end_marks: Passes | None = None
    if "hour" in lines.columns:
        lines = _with_times(lines)
    if file.ranges:
        lines, marks, end_marks = _split(lines)
    order = str(settings["dates"]).removeprefix("auto")
    times = stamps_of(lines, "time", order)
    labels = [label for label in lines.columns if label == "price" or label.startswith("forecast")]
    at_end, guessed = _stamps_end(file, member.name, times, str(settings["stamps"]))
    minutes = round(float(settings["interval"])) or (file.end_interval if at_end else 0)
    notes = (f"read as real-time prices: each time is the end of an interval of {minutes} min",) if guessed else ()
    prices = PriceTable(
        lines,
        everything.rows,
        times,
        np.column_stack([prices_of(lines, label) for label in labels]),
        labels,
        str(settings["timezone"]) or _clock(file, header),
        at_end,
        minutes,
        marks,
        stamps_of(lines, "end", order) if file.ranges else None,
        end_marks,
        notes,
    )
    return table_of(prices, settings)


def _patterns(file: PriceFile, raw: Raw, header: Sequence[str], settings: Mapping[str, Setting]) -> Mapping[str, str]:
    """Patterns of the needed columns, with those that options name; raises Unreadable (GSM2011, GSM2032)."""
    named = {label: str(settings[label]) for label in file.named if settings[label]}
    if faults := missing_columns(raw.name, list(named.values()), list(header)):
        if advice := separator_advice(raw, header):
            raise Unreadable(structs.replace(faults[0], column=None, help=advice))
        label_of = {name: label for label, name in reversed(named.items())}
        raise Unreadable(*(_named_by_option(fault, label_of[fault.column or ""]) for fault in faults))
    if file.wide:
        named["price"] = _column_of_series(file, raw, header, str(settings["zone"]))
    found = {label: re.escape(header[0]) if p == FIRST_COLUMN else p for label, p in file.columns.items()}
    return found | {label: re.escape(name) for label, name in named.items()}


def _named_by_option(fault: Fault, label: str) -> Fault:
    """A column that is not there, at the option that names it."""
    assert fault.column is not None
    help = f"name the column of the {label} by its option: `prices ({label} = ...)`"
    return structs.replace(fault, column=None, option=(label, fault.column), help=fault.help or help)


def _column_of_series(file: PriceFile, raw: Raw, header: Sequence[str], zone: str) -> str:
    countries = [name for name in header if name.lower() not in file.columns]
    found = next((name for name in countries if name.lower() == zone.strip().lower()), None)
    if found is not None:
        return found
    note = f"its countries: {', '.join(f'`{c}`' for c in countries)}"
    help = separator_advice(raw, header) or did_you_mean(zone, countries)
    raise Unreadable(Fault(NO_SERIES, f"data file `{raw.name}` has no prices of `{zone}`", notes=(note,), help=help))


def _choose_rows(lines: PriceLines, file: PriceFile, settings: Mapping[str, Setting]) -> PriceLines:
    """The rows of the series that the options choose; raises Unreadable (GSM2032)."""
    chosen = False
    for each in file.series:
        wanted = str(settings[each.option] or "")
        if each.label in lines.columns and lines.rows and (wanted or not (chosen or each.unique)):
            lines = select_series(lines, each.label, wanted, each.option, each.what)
            chosen |= each.unique
    return lines


def _with_times(lines: PriceLines) -> PriceLines:
    start = lines.columns["hour"].str.extract(r"^(\d{1,2}:\d{2})", 1)
    return replace(lines, columns=lines.columns | {"time": (lines.columns["date"] + " " + start).alias("time")})


def _split(lines: PriceLines) -> tuple[PriceLines, Passes, Passes]:
    """Start and end of each unit as columns of their own, and which pass of a repeated hour each is marked as."""
    halves = lines.columns["time"].str.split_exact(" - ", 1).struct.unnest().get_columns()
    marks = [_pass(half.str.extract(_MARK).fill_null("").to_numpy().astype(str)) for half in halves]
    start, end = (half.str.replace(_MARK, "").str.strip_chars() for half in halves)
    return replace(lines, columns=lines.columns | {"time": start, "end": end}), marks[0], marks[1]


def _pass(marks: np.ndarray[tuple[int], np.dtype[np.str_]]) -> Passes:
    """CEST is the first pass of the hour that occurs twice, CET the second."""
    summer = np.char.endswith(marks, "ST") & (np.char.str_len(marks) > 3)
    found: Passes = np.where(marks == "", UNKNOWN, np.where(summer, FIRST, SECOND)).astype(np.int8)
    return found


def _stamps_end(file: PriceFile, name: str, times: ParsedTimes, stated: str) -> tuple[bool, bool]:
    """Whether times end intervals: as stated, else by the name of the file, else by their steps (a guess to note)."""
    if stated == "auto":
        stated = next((end for pattern, end in file.stamps.items() if re.search(pattern, name.lower())), stated)
    if stated != "auto":
        return stated == "end", False
    steps = np.diff(np.unique(times.micros))
    close = bool(len(steps)) and float(np.median(steps)) < 60 * MINUTE
    return close, close


def _clock(file: PriceFile, header: Sequence[str]) -> str:
    names = " ".join(header).lower()
    return next((zone for text, zone in file.clocks.items() if text in names), "")
