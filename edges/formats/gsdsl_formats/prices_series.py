"""Rows of prices to stretches of time without gaps: order, duplicates, ends of intervals, prices carried forward."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gpusched_dsl.data.formats.shape import Dropped
from gpusched_dsl.data.formats.slots import MINUTE, Micros
from gpusched_dsl.ir.arrays import Bools, Floats, Ints

LONGEST = 15 * MINUTE  # a longer interval between real-time stamps hides rows that are missing
LENGTHS = (5, 15, 30, 60)  # min
Window: TypeAlias = tuple[float, float]  # of times in µs: rows outside it are not reported
EVERYTHING: Window = (-math.inf, math.inf)


@dataclass(frozen=True, eq=False, slots=True)
class PriceRows:
    """Prices in the order of the file: moments in UTC (µs), one row of values each (price first), lines of the file.

    `ends` where the file states them; it has only starts or only ends otherwise.
    """

    times: Micros
    values: Floats
    lines: Ints
    ends: Micros | None = None

    def take(self, at: Ints | Bools) -> PriceRows:
        return PriceRows(self.times[at], self.values[at], self.lines[at], None if self.ends is None else self.ends[at])


@dataclass(frozen=True, eq=False, slots=True)
class Series:
    """Stretches `[start, end)` in UTC that follow each other; `carried` are those filled with the price before.

    `gaps` (µs) says of a filled stretch how long prices were missing, which is compared with the largest gap allowed.
    """

    starts: Micros
    ends: Micros
    values: Floats
    carried: Bools
    gaps: Micros
    lines: Ints
    dropped: tuple[Dropped, ...] = ()


def is_inside(times: Micros, window: Window) -> Bools:
    """The times in a window, its end excluded."""
    found: Bools = (times >= window[0]) & (times < window[1])
    return found


def without_repeats(rows: PriceRows, window: Window = EVERYTHING) -> tuple[PriceRows, list[Dropped]]:
    """In order of time; of rows of one time the last in the file. Repeats outside the window are not reported."""
    order = np.argsort(rows.times, kind="stable")
    ordered = rows.take(order)
    again = np.append(ordered.times[1:] == ordered.times[:-1], False)
    inside = is_inside(ordered.times, window)
    equal = (ordered.values[1:] == ordered.values[:-1]) | (np.isnan(ordered.values[1:]) & np.isnan(ordered.values[:-1]))
    same = again & np.append(equal.all(axis=1), False)
    dropped = [
        Dropped(reason, int(mask.sum()), int(ordered.lines[mask].min()))
        for reason, mask in (
            ("repeated row", same & inside),
            ("a later row has the same time", again & ~same & inside),
        )
        if mask.any()
    ]
    return ordered.take(~again), dropped


def usual_length(times: Micros) -> int | None:
    """Return the length of an interval: the most frequent of 5, 15, 30 and 60 min between neighbours; None
    without any.
    """
    steps = np.diff(np.unique(times))
    counts = [int((steps == minutes * MINUTE).sum()) for minutes in LENGTHS]
    return LENGTHS[int(np.argmax(counts))] * MINUTE if any(counts) else None


def from_ends(rows: PriceRows, nominal: int, window: Window = EVERYTHING) -> Series:
    """Stamps are ends: an interval begins at the stamp before it, the first one `nominal` before its own.

    An interval longer than 15 min (or than `nominal`, where that is longer) hides rows that are missing: its price
    holds for the nominal length before its stamp only, and before that the last price goes on.
    """
    rows, dropped = without_repeats(rows, window)
    starts = np.concatenate((rows.times[:1] - nominal, rows.times[:-1]))
    long = rows.times - starts > max(LONGEST, nominal)
    own = np.where(long, rows.times - nominal, starts)
    return _fill_gaps(rows, own, rows.times, np.where(long, rows.times - starts, 0), dropped)


def from_starts(rows: PriceRows, nominal: int, window: Window = EVERYTHING) -> Series:
    """Handle stamps at starts: a price is valid for its interval, or until the next stamp if that is nearer."""
    rows, dropped = without_repeats(rows, window)
    ends = rows.times + nominal if rows.ends is None else rows.ends
    if len(ends):
        ends = np.append(np.minimum(ends[:-1], rows.times[1:]), ends[-1])
    gaps = np.append(np.int64(0), rows.times[1:] - ends[:-1]) if len(ends) else ends
    return _fill_gaps(rows, rows.times, ends, gaps, dropped)


def _fill_gaps(rows: PriceRows, starts: Micros, ends: Micros, gaps: Micros, dropped: list[Dropped]) -> Series:
    """Put a stretch before every row that has a gap, with the values of the row before."""
    late = np.flatnonzero(gaps > 0)
    at = np.sort(np.concatenate((np.arange(len(starts)), late)), kind="stable")
    carried = np.append(at[1:] == at[:-1], False) if len(at) else np.zeros(0, dtype=np.bool_)
    source = np.where(carried, at - 1, at)
    all_starts, all_ends = starts[at], ends[at]
    all_starts[carried] = ends[at[carried] - 1]
    all_ends[carried] = starts[at[carried]]
    missing = np.where(carried, gaps[at], 0)
    return Series(all_starts, all_ends, rows.values[source], carried, missing, rows.lines[source], tuple(dropped))
