"""The base of all figures: a title, and the data of the figure as compact JSON."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.online.clock_time import RunClock

DIGITS = 8  # significant digits of numbers on pages, relative to the largest number of their column
SLUG_LENGTH = 60


@dataclass(frozen=True, eq=False, kw_only=True)
class Figure:
    """`title` is a heading in plain English; `note` explains what the figure leaves out or merges."""

    kind: ClassVar[str]

    title: str
    note: str = ""

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """Return the fields of the figure as JSON values."""

    def document(self) -> dict[str, Any]:
        """Return the figure as JSON values, with its kind, title and note."""
        return {"kind": self.kind, "title": self.title, "note": self.note, **self.data()}


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The common horizontal axis of a result: from `low` to `high` in `unit`; `slots` have only integers.

    With the clock of a run that has a calendar, its times are shown as dates.
    """

    low: float
    high: float
    unit: str
    slots: bool = False
    clock: RunClock | None = None

    def document(self) -> dict[str, Any]:
        found = {"low": self.low, "high": self.high, "unit": self.unit, "slots": self.slots}
        return found if self.clock is None or self.clock.dates is None else {**found, "dates": self._dates(self.clock)}

    def _dates(self, clock: RunClock) -> dict[str, Any]:
        """Return the milliseconds since 1970 at time 0, the seconds of the unit, and a zone that browsers know."""
        assert clock.calendar is not None
        start, zone = clock.calendar.date(0.0), clock.calendar.zone
        epoch, offset = start.timestamp(), start.utcoffset()
        if offset is not None and not zone[:1].isalpha():  # `+02:00`: a clock without changes
            epoch, zone = epoch + offset.total_seconds(), "UTC"
        return {"epoch": round(1000 * epoch), "seconds": clock.seconds, "zone": zone}


def time_axis(low: float, high: float, unit: str, *, slots: bool = False, clock: RunClock | None = None) -> TimeAxis:
    """Return an axis that is never empty."""
    return TimeAxis(low, high if high > low else low + 1.0, unit, slots, clock)


def file_names(figures: Sequence[Figure]) -> list[str]:
    """Return a file name without ending for each figure, such as `cost-so-far-1`."""
    names: list[str] = []
    counts: dict[str, int] = {}
    for figure in figures:
        words = figure.title.split(":")[0].split("[")[0].split("(")[0].lower()
        slug = re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:SLUG_LENGTH] or "figure"
        counts[slug] = counts.get(slug, 0) + 1
        names.append(f"{slug}-{counts[slug]}")
    return names


def compact(values: Floats | Ints) -> list[float | int | None]:
    """Return numbers with few characters: rounded, integers without a point, None for NaN and infinite ones."""
    numbers = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(numbers)
    largest = float(np.abs(numbers[finite]).max(initial=0.0))
    decimals = DIGITS - 1 - int(np.floor(np.log10(largest))) if largest > 0 else 0
    rounded = np.round(np.where(finite, numbers, 0.0), min(max(decimals, 0), 300)) + 0.0
    found: list[float | int | None]
    if (rounded == np.rint(rounded)).all() and largest < 2**53:
        found = rounded.astype(np.int64).tolist()
    else:
        found = [int(v) if v.is_integer() and abs(v) < 2**53 else v for v in rounded.tolist()]
    for at in np.flatnonzero(~finite).tolist():
        found[at] = None
    return found
