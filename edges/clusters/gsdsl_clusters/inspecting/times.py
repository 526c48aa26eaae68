"""Times of a cluster as its readers write them: short near the present, and hours since the start of a trace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpusched_dsl.language.calendar import Calendar
from gpusched_dsl.online.clock_time import RunClock
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot

NEAR = 6.5 * 86400.0  # s after now, within which a day of the week names one day
_DAY = re.compile(r" \d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class SnapshotClock:
    """The times of a snapshot, in seconds since 1970, or since the start of a trace that has no dates."""

    now: float
    zone: str
    dated: bool

    @staticmethod
    def of(snapshot: ClusterSnapshot) -> SnapshotClock:
        return SnapshotClock(snapshot.now, snapshot.timezone, snapshot.dated)

    @cached_property
    def clock(self) -> RunClock:
        return RunClock("s", Calendar(0, self.zone) if self.dated else None)

    def text(self, time: float) -> str:
        """`Tue 2026-10-27 14:20`, to the minute, or `12.3 h`; "" for NaN, and `never` for infinity."""
        if np.isnan(time):
            return ""
        if not np.isfinite(time):
            return "never"
        return self.clock.text(round(time / 60) * 60) if self.dated else f"{time / 3600:,.1f} h"

    def short(self, time: float) -> str:
        """`Tue 14:20` for a time in the next days, else as `text`."""
        text = self.text(time)
        return _DAY.sub("", text) if 0 <= time - self.now < NEAR else text

    def iso(self, time: float) -> str | None:
        """The time as a date in ISO 8601, None without dates."""
        return self.clock.iso(time)


def length_text(seconds: float | None) -> str:
    """A wait for readers: seconds, minutes, hours or days; "" for None."""
    if seconds is None or np.isnan(seconds):
        return ""
    for least, unit, name in ((72 * 3600.0, 86400.0, "d"), (5400.0, 3600.0, "h")):
        if seconds >= least:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.0f} min"
