"""Times of plans that follow the clock on the wall: `replan at 9:00, 18:00 on weekdays;`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.calendar import Calendar
from gpusched_dsl.language.checked_online import CheckedClockTimes, CheckedOnline
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.scenarios.calendars import EXAMPLE
from gpusched_dsl.language.units import UNITS, Unit, number_factor

CLOCK_TIME = "clock"  # the reason of these plans
_CHUNK = 64 * 86400.0  # s: computed together
_WEEK = 7 * 86400.0  # s


@dataclass(frozen=True, eq=False)
class ClockTimes:
    """The clock times of `rules` by a calendar, in a unit of `seconds`; none without rules."""

    rules: tuple[CheckedClockTimes, ...] = ()
    calendar: Calendar | None = None
    seconds: float = 1.0
    _chunks: dict[int, Floats] = field(default_factory=dict)

    @property
    def spacing(self) -> float:
        """The mean time between two of them; infinite without rules."""
        count = sum(len(rule.hours) * len(rule.days) for rule in self.rules)
        return _WEEK / count / self.seconds if count else np.inf

    def next_after(self, time: float) -> float:
        """Return the first of them after a time; infinite without rules."""
        if not self.rules or not np.isfinite(time):
            return np.inf
        chunk = int(time * self.seconds // _CHUNK)
        while True:
            times = self._chunk(chunk)
            at = int(np.searchsorted(times, time, side="right"))
            if at < len(times):
                return float(times[at])
            chunk += 1

    def _chunk(self, number: int) -> Floats:
        if number not in self._chunks:
            assert self.calendar is not None
            begin = number * _CHUNK
            found = [self.calendar.clock_times(begin, begin + _CHUNK, r.hours, r.days) for r in self.rules]
            self._chunks[number] = np.unique(np.concatenate(found)) / self.seconds
        return self._chunks[number]


def clock_times_of(online: CheckedOnline, calendar: Calendar | None, clock: Unit) -> ClockTimes:
    """Return the clock times at which a block plans. Raises DiagnosticError (GSM1692) if they need a calendar."""
    if not online.clock_times:
        return ClockTimes()
    if calendar is None:
        message = f"`{online.name}` plans at clock times, but the scenario states no calendar"
        help = f"write in the scenario: `{EXAMPLE}`"
        raise DiagnosticError([Diagnostic("GSM1692", message, online.clock_times[0].span, "this line", help=help)])
    return ClockTimes(online.clock_times, calendar, number_factor(clock, UNITS["s"]))
