"""The clock of a run: its times as people write and read them, as numbers with a unit or as dates of the calendar."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.calendar import Calendar, DateError
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.scenarios.calendars import EXAMPLE
from gpusched_dsl.language.text.numbers import short, with_unit
from gpusched_dsl.language.units import convertible, number_factor, parse_unit_text
from gpusched_dsl.options.reading import has_unit, looks_like_date, seconds_of

SECOND = parse_unit_text("s")


@dataclass(frozen=True)
class RunClock:
    """`unit` names the unit of times, "1" or "" for none. With a `calendar` and a unit of time, times have dates.

    `length` in seconds replaces that of the unit, such as of slots.
    """

    unit: str = ""
    calendar: Calendar | None = None
    length: float | None = None

    @property
    def name(self) -> str:
        """The unit for readers, "" for none."""
        return "" if self.unit == "1" else self.unit

    @cached_property
    def seconds(self) -> float | None:
        """The length of the unit in seconds; None if it is no time."""
        if self.length is not None:
            return self.length
        unit = parse_unit_text(self.unit or "1")
        return number_factor(unit, SECOND) if convertible(unit, SECOND) else None

    @property
    def dates(self) -> Calendar | None:
        """The calendar, if times of this clock have dates."""
        return None if self.seconds is None else self.calendar

    def text(self, time: float) -> str:
        """Return a time for readers: `Thu 2026-10-29 15:00`, else `11.7 h`."""
        if self.dates is not None and self.seconds is not None:
            return self.dates.text(time * self.seconds)
        return with_unit(short(time), self.name)

    def iso(self, time: float) -> str | None:
        """Return a time as a date in ISO 8601; None without a calendar, and for times that have no date."""
        if self.dates is None or self.seconds is None:
            return None
        return self.dates.iso(time * self.seconds) or None

    def texts(self, times: Floats) -> list[str]:
        """Return each time as `text` does; an empty text for NaN."""
        if self.dates is not None and self.seconds is not None:
            return self.dates.texts(times * self.seconds)
        return ["" if time != time else self.text(time) for time in times.tolist()]

    def isos(self, times: Floats) -> list[str]:
        """Return each time as `iso` does; an empty text where it has no date."""
        if self.dates is None or self.seconds is None:
            return [""] * len(times)
        return self.dates.isos(times * self.seconds)

    def read(self, at: float | str) -> float:
        """Return a time in the unit of the clock: a number, a time with a unit, or a date.

        Raises DiagnosticError (GSM4011) if it is no time, or has a unit or a date and the clock has none.
        """
        if not isinstance(at, str):
            return at
        try:
            return self._read(at)
        except DateError as error:
            raise DiagnosticError([Diagnostic("GSM4011", str(error), help=error.help)]) from None
        except ValueError as error:
            help = "write a time such as 11.7 or 11.7h" + (", or a date" if self.dates is not None else "")
            raise DiagnosticError([Diagnostic("GSM4011", f"`{at}` is not a time: {error}", help=help)]) from None

    def _read(self, at: str) -> float:
        is_date = looks_like_date(at)
        if not is_date and not has_unit(at):
            return float(at)
        what = "a date" if is_date else "a unit"
        if self.seconds is None:
            raise DateError(f"the clock of this run has no unit of time, but `{at}` has {what}", "write a number")
        if not is_date:
            return seconds_of(at) / self.seconds
        if self.calendar is None:
            raise DateError(
                f"`{at}` is a date, but the date at the start of the run is unknown",
                f"state it in the scenario: `{EXAMPLE}`, or by `--start`",
            )
        return self.calendar.seconds(at) / self.seconds
