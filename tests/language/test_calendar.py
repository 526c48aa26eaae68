"""Calendars: times and dates agree with Python's time zones, and the odd hours of the year have one rule."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from gpusched_dsl.language.calendar import Calendar, DateError, calendar_from

ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo", "UTC"]
UNIX = datetime(1970, 1, 1, tzinfo=UTC)


def moments(seed: int, count: int = 400) -> list[datetime]:
    """Moments of the years 1970 to 2100, half of them within a day of 31 March or 1 November or of a leap day."""
    draw = random.Random(seed)
    found = []
    for at in range(count):
        if at % 2:
            days = draw.choice([(2, 28), (3, 28), (4, 4), (10, 4), (10, 28), (11, 4)])
            near = datetime(draw.randint(1970, 2099), *days, tzinfo=UTC) + timedelta(days=draw.randint(-4, 4))
        else:
            near = UNIX + timedelta(days=draw.randrange(int(130 * 365.25)))
        found.append(near + timedelta(seconds=draw.randrange(86400), microseconds=draw.choice([0, 0, 0, 125_000])))
    return found


@pytest.mark.parametrize("zone", ZONES)
def test_clock_functions_and_dates_agree_with_python(zone: str) -> None:
    calendar = calendar_from("2000-02-29 12:00", zone)[0]
    start = datetime(2000, 2, 29, 12, tzinfo=ZoneInfo(zone))
    times = [(moment - UNIX).total_seconds() - start.timestamp() for moment in moments(1)]
    local = [moment.astimezone(ZoneInfo(zone)) for moment in moments(1)]
    seconds = np.array(times)
    assert calendar.weekday(seconds).tolist() == [at.isoweekday() for at in local]
    assert calendar.month(seconds).tolist() == [at.month for at in local]
    assert calendar.day_of_month(seconds).tolist() == [at.day for at in local]
    hours = [at.hour + at.minute / 60 + (at.second + at.microsecond / 1e6) / 3600 for at in local]
    assert calendar.hour_of_day(seconds) == pytest.approx(hours, abs=1e-9)
    assert calendar.isos(seconds) == [at.isoformat() for at in local]
    assert [calendar.date(s).isoformat() for s in times] == [at.isoformat() for at in local]
    assert [calendar.seconds(text) for text in calendar.isos(seconds)] == pytest.approx(times, abs=2e-6)


@pytest.mark.quick(2)
@pytest.mark.parametrize("zone", ZONES)
def test_texts_for_readers_name_the_moment(zone: str) -> None:
    """Read back, a text names the second from which it was made: also where the clock shows it twice."""
    calendar = calendar_from("2024-01-01", zone)[0]
    whole = [(moment.replace(microsecond=0) - UNIX).total_seconds() - calendar.epoch / 1e6 for moment in moments(2)]
    for text, seconds in zip(calendar.texts(whole), whole, strict=True):
        weekday, rest = text.split(" ", 1)
        assert calendar.seconds(rest) == seconds
        assert calendar.date(seconds).strftime("%a") == weekday


ODD = [  # the clock goes forward over the first times, and shows the second times twice
    ("Europe/Berlin", "2026-03-29 02:30", "2026-03-29 03:00", "2026-10-25 02:30", "+02:00", "+01:00"),
    ("America/New_York", "2026-03-08 02:00", "2026-03-08 03:00", "2026-11-01 01:59:59", "-04:00", "-05:00"),
    ("Australia/Lord_Howe", "2026-10-04 02:15", "2026-10-04 02:30", "2026-04-05 01:45", "+11:00", "+10:30"),
    ("America/Sao_Paulo", "2018-11-04", "2018-11-04 01:00", "2018-02-17 23:10", "-02:00", "-03:00"),
]


@pytest.mark.parametrize(("zone", "missing", "after", "twice", "first", "second"), ODD)
def test_the_odd_hours_of_the_year(zone: str, missing: str, after: str, twice: str, first: str, second: str) -> None:
    calendar = calendar_from("2018-01-01", zone)[0]
    with pytest.raises(DateError, match="does not occur") as refused:
        calendar.seconds(missing)
    assert after in refused.value.help

    read = calendar.read(twice)
    assert f"{first}`, the first" in read.note
    assert f"{second}`" in read.note
    assert read.seconds == calendar.seconds(twice + first)
    assert calendar.read(twice + second).note == ""
    hours = float(calendar.seconds(twice + second) - read.seconds) / 3600
    assert hours == (0.5 if "Howe" in zone else 1.0)
    both = np.array([read.seconds, calendar.seconds(twice + second)])
    assert len(set(calendar.hour_of_day(both).tolist())) == 1
    assert [text[-6:] for text in calendar.texts(both)] == [first, second]


def brute_force(calendar: Calendar, zone: str, hours: list[float], days: list[int], until: float) -> list[float]:
    """Minute by minute: the first minute of a day on which the clock shows a time, or has gone past it."""
    found, seen = [], set()
    start = calendar.date(0.0).astimezone(UTC)
    before = (start - timedelta(minutes=1)).astimezone(ZoneInfo(zone))
    for minute in range(int(until // 60)):
        now = (start + timedelta(minutes=minute)).astimezone(ZoneInfo(zone))
        for hour in hours:
            for day in {now.date(), before.date()}:
                wanted = datetime.combine(day, datetime.min.time()) + timedelta(hours=hour)
                jumped = before.replace(tzinfo=None) < wanted <= now.replace(tzinfo=None)
                if day.isoweekday() in days and jumped and (day, hour) not in seen:
                    seen.add((day, hour))
                    found.append(60.0 * minute)
        before = now
    return sorted(set(found))


@pytest.mark.quick(7)
@pytest.mark.parametrize(
    ("zone", "start"),
    [("Europe/Berlin", "2026-03-27"), ("Europe/Berlin", "2026-10-23"), ("America/New_York", "2026-10-30 13:00"),
     ("Australia/Lord_Howe", "2026-10-02"), ("Australia/Lord_Howe", "2026-04-03"), ("America/Sao_Paulo", "2018-11-02"),
     ("Asia/Kolkata", "2024-02-27 09:00")],
)  # fmt: skip
@pytest.mark.parametrize("days", [[1, 2, 3, 4, 5], [7], [1, 2, 3, 4, 5, 6, 7]])
def test_moments_of_clock_times(zone: str, start: str, days: list[int]) -> None:
    calendar = calendar_from(start, zone)[0]
    hours = [0.0, 0.5, 1.75, 2.0, 2.25, 2.5, 9.0, 18.0]
    until = 5 * 86400.0
    found = calendar.clock_times(0.0, until, hours, days).tolist()
    assert found == brute_force(calendar, zone, hours, days, until)
    part = calendar.clock_times(until / 3, until / 2, hours, days).tolist()
    assert part == [time for time in found if until / 3 <= time < until / 2]


def test_holidays_are_dates_of_the_zone() -> None:
    calendar = calendar_from("2026-12-24", "Europe/Berlin", [date(2026, 12, 25), date(2027, 1, 1)])[0]
    times = np.array([86399.0, 86400.0, 2 * 86400.0 - 1, 2 * 86400.0, 8 * 86400.0])
    assert calendar.is_holiday(times).tolist() == [False, True, True, False, True]
    assert not Calendar(0, "UTC").is_holiday(times).any()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2026-10-05", 0), ("2026-10-05 9:30", 34200), (" 2026-10-05T09:30 ", 34200), ("2026-10-05 00:00:01.5", 1.5),
     ("2026-10-05 00:00 UTC", 7200), ("2026-10-05 00:00Z", 7200), ("2026-10-05T00:00-0300", 18000)],
)  # fmt: skip
def test_dates_that_are_read(text: str, seconds: float) -> None:
    assert calendar_from("2026-10-05", "Europe/Berlin")[0].read(text).seconds == seconds


@pytest.mark.parametrize(
    "text", ["", "today", "2026-10", "2026-02-29", "2026-10-05 24:00", "5.10.2026", "Mon 2026-10-05", "2026-10-05 9",
             "2026-10-05 09:00 CET", "2026-10-05 09:00+99:00", "12"]
)  # fmt: skip
def test_texts_that_are_no_date_are_refused(text: str) -> None:
    with pytest.raises(DateError) as refused:
        calendar_from("2026-10-05", "Europe/Berlin")[0].read(text)
    assert refused.value.help


def test_zones() -> None:
    assert calendar_from("2026-10-05T02:00+02:00")[0] == Calendar(1791158400000000, "+02:00")
    assert calendar_from("2026-10-05T00:00Z")[0] == Calendar(1791158400000000, "UTC")
    assert calendar_from("2026-10-05 02:00", "+02:00")[0].text(5400) == "Mon 2026-10-05 03:30"
    assert calendar_from("2026-10-05T00:00Z", "Europe/Berlin")[0].text(0) == "Mon 2026-10-05 02:00"
    for zone in ("Mars/Phobos", "CEST+1", "+25:00"):
        with pytest.raises(DateError, match="not a time zone"):
            calendar_from("2026-10-05", zone)
    with pytest.raises(DateError, match="has no time zone"):
        calendar_from("2026-10-05")


def test_times_without_a_date() -> None:
    calendar = calendar_from("2026-10-05", "UTC")[0]
    assert calendar.texts([np.inf, -np.inf, np.nan, 1e18, 59.6]) == ["never", "", "", "", "Mon 2026-10-05 00:01"]
    assert calendar.isos([np.inf, 0.5]) == ["", "2026-10-05T00:00:00.500000+00:00"]
    with pytest.raises(DateError, match="outside the years"):
        calendar.date(1e12)
