"""Stretches of time cut at the borders of slots of one length: which rows overlap which slots, and for how long.

Times are integer microseconds since an origin that a caller chooses, so that sums of lengths are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.calendar import DAY as DAY
from gpusched_dsl.language.calendar import SECOND as SECOND

Micros = NDArray[np.int64]
MINUTE = 60 * SECOND


@dataclass(frozen=True, eq=False, slots=True)
class Cuts:
    """One entry for every overlap of a row with a slot: the row, the slot, and the microseconds they share."""

    rows: Ints
    slots: Ints
    overlaps: Micros


def slot_of(times: Micros, origin: int, length: int) -> Ints:
    """The number of the slot in which each time lies; slots are half-open and those before the origin are negative."""
    found: Ints = (times - origin) // length
    return found


def split_at_slots(starts: Micros, ends: Micros, origin: int, length: int) -> Cuts:
    """The overlaps of half-open stretches `[start, end)` with the slots `[origin + h length, origin + (h+1) length)`.

    Entries stand in the order of the rows; an empty stretch has none.
    """
    first = slot_of(starts, origin, length)
    counts = np.where(ends > starts, slot_of(ends - 1, origin, length) - first + 1, 0)
    rows = np.repeat(np.arange(len(starts)), counts)
    before = np.cumsum(counts) - counts
    slots = first[rows] + np.arange(len(rows)) - before[rows]
    left = origin + slots * length
    overlaps = np.minimum(ends[rows], left + length) - np.maximum(starts[rows], left)
    return Cuts(rows, slots, overlaps)


def weighted_means(cuts: Cuts, values: Floats, slots: int) -> tuple[Floats, Micros]:
    """The time-weighted mean of each of the slots `0..slots-1`, NaN where no row is, and how long it is covered.

    Sums are taken around the first value of each slot, so that a constant price comes out as it is.
    """
    inside = (cuts.slots >= 0) & (cuts.slots < slots)
    at, rows, overlaps = cuts.slots[inside], cuts.rows[inside], cuts.overlaps[inside]
    covered = np.bincount(at, overlaps, minlength=slots)
    base = np.zeros(slots)
    base[at[::-1]] = values[rows[::-1]]
    sums = np.bincount(at, overlaps * (values[rows] - base[at]), minlength=slots)
    means = np.full(slots, np.nan)
    touched = covered > 0
    means[touched] = base[touched] + sums[touched] / covered[touched]
    return means, covered.astype(np.int64)
