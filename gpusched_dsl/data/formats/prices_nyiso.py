"""Locational prices of the New York Independent System Operator, in the files that it publishes or hourly cuts of them.

Real-time files have rows about every 5 min, off-schedule ones between them; their stamps end intervals. Day-ahead and
integrated prices have a row an hour, whose stamps start it. Times are US Eastern without a zone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpusched_dsl.data.formats.prices_files import PriceLines, prices_of, read_lines, select_series, stamps_of
from gpusched_dsl.data.formats.prices_slots import PriceTable, table_of
from gpusched_dsl.data.formats.shape import FormatTable, Raw, Setting
from gpusched_dsl.data.formats.slots import MINUTE
from gpusched_dsl.data.formats.slots_times import ParsedTimes

_NEEDED = {"time": r"time ?stamp|time|hour_beginning_local", "price": r"lbmp\b.*|lbmp_usd_per_mwh"}
_OPTIONAL = {"zone": r"name|zone", "ptid": r"ptid"}
_REAL_TIME_MINUTES = 5


def read_nyiso(raw: Raw, settings: Mapping[str, Setting]) -> FormatTable:
    """The slots of one zone or generator; raises Unreadable."""
    everything = read_lines(raw, _NEEDED, _OPTIONAL)
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
