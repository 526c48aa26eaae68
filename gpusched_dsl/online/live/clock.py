"""The time of an event as a number of the run's clock: numbers, dates against a start, or now."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from gpusched_dsl.language.calendar import Calendar, DateError
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.units import Unit
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.online.data.magnitudes import check_clock

LONGEST_RUN = 1000 * 365.25 * 86400.0  # seconds


def wall_clock() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class LiveClock:
    """`unit` names the unit of the clock and `seconds` is its length, None where it is no time.

    With a `start` dates can be read, and events without a time happen when they are read (`today`). Dates are shown by
    the `calendar` of the scenario, else in the zone of the start.
    """

    unit: str = ""
    seconds: float | None = None
    start: datetime | None = None
    today: Callable[[], datetime] = wall_clock
    calendar: Calendar | None = None

    def read(self, time: float | str | None, now: float) -> float:
        """The time of an event; `now` is that of the run.

        Raises GSM5205, and GSM7007 for a time beyond the clock, or more than a thousand years from the start: it would
        move the clock for good. Most such times are seconds since 1970.
        """
        found = self._parse(time, now)
        check_clock(found, self.unit)
        if self.seconds is not None and abs(found) * self.seconds > LONGEST_RUN:
            message = f"the time {found:g} {self.unit} is more than a thousand years from the start of the run"
            help = "write times since the start of the run, in the unit of its clock, or dates with `--start`"
            raise DiagnosticError([Diagnostic("GSM7007", message, help=help)])
        return found

    def date(self, time: float) -> str | None:
        """Return a time of the run as a date in ISO 8601; None if the start is unknown."""
        if self.start is None or self.seconds is None:
            return None
        if self.calendar is not None:
            return self.calendar.iso(time * self.seconds)
        try:
            return (self.start + timedelta(seconds=time * self.seconds)).isoformat()
        except OverflowError:
            return None

    def _parse(self, time: float | str | None, now: float) -> float:
        if time is None:
            if self.start is None or self.seconds is None:
                return now
            today = self.today()
            return self._since(today if self.start.tzinfo else today.astimezone().replace(tzinfo=None))
        if isinstance(time, str):
            return self._since(self.date_of(time))
        if not math.isfinite(time):
            _refuse(f"{time} is not a time", "write the time since the start as a number")
        return float(time)

    def date_of(self, text: str) -> datetime:
        """Read a date, by default on the clock of the calendar. Raises GSM5205."""
        if self.start is None:
            _refuse(f"`{text}` is a date, but the start of the run is unknown", "state it: `--start 2026-03-01T00:00Z`")
        if self.calendar is not None:
            return self.calendar.date(self._by_calendar(self.calendar, text))
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            _refuse(f"`{text}` is not a date", "write a date as in `2026-03-01T12:30:00+01:00`")
        if (date.tzinfo is None) is not (self.start.tzinfo is None):
            with_zone, without = ("the start", "the event") if date.tzinfo is None else ("the event", "the start")
            _refuse(f"`{text}`: {with_zone} has a time zone, but {without} has none", "give both a time zone, or none")
        return date

    @staticmethod
    def _by_calendar(calendar: Calendar, text: str) -> float:
        """Return the seconds to a date, by default on the clock of the calendar; raises GSM5205 if it occurs twice."""
        try:
            found = calendar.read(text)
        except DateError as error:
            _refuse(str(error), error.help)
        if found.note:
            _refuse(f"`{text}` occurs twice in {calendar.zone}", f"write the offset: `{calendar.iso(found.seconds)}`")
        return found.seconds

    def _since(self, date: datetime) -> float:
        assert self.start is not None
        if self.seconds is None:
            _refuse("dates cannot be read: the clock of this run has no unit of time", "give the time as a number")
        return (date - self.start).total_seconds() / self.seconds


def live_clock(unit: Unit, start: datetime | None = None, calendar: Calendar | None = None) -> LiveClock:
    """Return the clock of a run in a unit. A `calendar` is that of the same start."""
    clock = RunClock(str(unit), calendar)
    return LiveClock(clock.unit, clock.seconds, start, calendar=calendar)


def start_of(text: str) -> datetime:
    """The start of a run as it is stated; raises GSM5205."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        _refuse(f"the start `{text}` is not a date", "write a date as in `2026-03-01T00:00:00+01:00`")


def _refuse(message: str, help: str) -> NoReturn:
    raise DiagnosticError([Diagnostic("GSM5205", message, help=help)])
