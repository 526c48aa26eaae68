"""Checks `replan at 9:00, 18:00 on weekdays;`: the times of the clock, and the days of the week."""

from __future__ import annotations

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked_online import CheckedClockTimes
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.units import UNITS, Unit, convertible

DAY_WORDS: dict[str, tuple[int, ...]] = {
    "weekdays": (1, 2, 3, 4, 5),
    "weekends": (6, 7),
    **{day: (at,) for at, day in enumerate(
        ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"), start=1
    )},
}  # fmt: skip


def check_clock_times(statement: tree.ReplanAt, clock: Unit, diagnostics: Diagnostics) -> CheckedClockTimes | None:
    """Return the hours and days of a line, or None after a report (GSM1694). `clock` is the unit of spans of time."""
    hours = [hour for time in statement.times if (hour := _hour(time, diagnostics)) is not None]
    days: set[int] = set()
    known = True
    for day in statement.days:
        if day.text not in DAY_WORDS:
            known = False
            help = did_you_mean(day.text, DAY_WORDS) or f"days are {', '.join(f'`{word}`' for word in DAY_WORDS)}"
            diagnostics.error("GSM1694", f"unknown day `{day.text}`", day.span, "unknown", help=help)
        days.update(DAY_WORDS.get(day.text, ()))
    if not convertible(clock, UNITS["s"]):
        diagnostics.error(
            "GSM1694",
            "plans at clock times need a clock with a unit of time: times of this run are plain numbers",
            statement.span,
            "a time of the day",
            help="declare times with a unit, as in `param submitted[Jobs] in h;`",
        )
        return None
    if not known or len(hours) < len(statement.times):
        return None
    return CheckedClockTimes(statement.span, tuple(sorted(set(hours))), tuple(sorted(days or range(1, 8))))


def _hour(time: tree.ClockTime, diagnostics: Diagnostics) -> float | None:
    if time.hour.isdigit() and len(time.minute) == 2 and time.minute.isdigit():
        hour, minute = int(time.hour), int(time.minute)
        if hour < 24 and minute < 60:
            return hour + minute / 60
    message = f"`{time.span.text}` is not a time of the day"
    diagnostics.error("GSM1694", message, time.span, "0:00 to 23:59", help="write hours and minutes, as in `9:00`")
    return None
