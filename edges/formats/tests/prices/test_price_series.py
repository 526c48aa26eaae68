"""Random series against an independent account, second by second, and clocks against Python's own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from gpusched_dsl.data.formats.prices_clock import to_utc
from gpusched_dsl.data.formats.slots import MINUTE, SECOND, split_at_slots, weighted_means
from gsdsl_formats.prices_series import PriceRows, from_ends, from_starts

ZONES = ("America/New_York", "Europe/Brussels", "Europe/London", "Australia/Lord_Howe", "UTC")


def rows_of(times: list[int], prices: list[float]) -> PriceRows:
    return PriceRows(np.array(times) * SECOND, np.array(prices)[:, None], np.arange(len(times)) + 2)


def by_seconds_from_ends(times: list[int], prices: list[float], nominal: int) -> dict[int, float]:
    """The price of every second by the rules as they are written, one row at a time."""
    last: dict[int, float] = {}
    for time, price in zip(times, prices, strict=True):
        last[time] = price
    known: dict[int, float] = {}
    before: tuple[int, float] | None = None
    for time in sorted(last):
        start = time - nominal if before is None else before[0]
        if before is not None and time - start > max(900, nominal):
            for second in range(start, time - nominal):
                known[second] = before[1]
            start = time - nominal
        for second in range(start, time):
            known[second] = last[time]
        before = (time, last[time])
    return known


def by_seconds_from_starts(times: list[int], prices: list[float], nominal: int) -> dict[int, float]:
    last = dict(zip(times, prices, strict=True))
    ordered = sorted(last)
    known: dict[int, float] = {}
    for time, following in zip(ordered, [*ordered[1:], ordered[-1] + nominal], strict=True):
        for second in range(time, following):
            known[second] = last[time]
    return known


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(40))
def test_slots_second_by_second(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nominal = int(rng.choice([300, 900]))
    steps = rng.choice([60, 150, 300, nominal, 1200, 2000], size=25, p=[0.1, 0.1, 0.3, 0.3, 0.1, 0.1])
    times = (1_000_000 + np.cumsum(steps)).tolist()
    times += rng.choice(times, 3).tolist()
    rng.shuffle(times)
    prices = np.round(rng.normal(20, 30, len(times)), 2).tolist()
    at_end = bool(rng.integers(2))
    series = (from_ends if at_end else from_starts)(rows_of(times, prices), nominal * SECOND)
    known = (by_seconds_from_ends if at_end else by_seconds_from_starts)(times, prices, nominal)
    assert (series.starts[1:] == series.ends[:-1]).all(), "there is a price at all times"
    length = int(rng.choice([300, 420, 900, 3600]))
    origin = min(known) - int(rng.integers(0, 500))
    count = (max(known) - origin) // length + 1
    means, covered = weighted_means(
        split_at_slots(series.starts, series.ends, origin * SECOND, length * SECOND), series.values[:, 0], count
    )
    for slot in range(count):
        inside = [known[s] for s in range(origin + slot * length, origin + (slot + 1) * length) if s in known]
        assert covered[slot] == len(inside) * SECOND
        if inside:
            assert means[slot] == pytest.approx(np.mean(inside), abs=1e-9)
        else:
            assert np.isnan(means[slot])


def test_equal_prices_come_out_as_they_are() -> None:
    starts = np.arange(7) * 7 * MINUTE
    means, _ = weighted_means(split_at_slots(starts, starts + 7 * MINUTE, 0, 15 * MINUTE), np.full(7, 0.1), 3)
    assert means.tolist() == [0.1] * 3


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("zone", "minutes"), [(zone, minutes) for zone in ZONES for minutes in (15, 60)] + [("America/New_York", 5)]
)
def test_a_year_of_wall_clock_times(zone: str, minutes: int) -> None:
    """Rows in order of time, written on the clock of a zone, come back as the moments that they were."""
    begin = datetime(2018, 1, 1, tzinfo=UTC)
    moments = [begin + timedelta(minutes=k * minutes) for k in range(365 * 24 * 60 // minutes)]
    local = [m.astimezone(ZoneInfo(zone)).replace(tzinfo=UTC) for m in moments]
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    micros = np.array([(x - epoch) // timedelta(microseconds=1) for x in local])
    found = to_utc(micros, zone)
    assert found.exists.all()
    if zone == "Australia/Lord_Howe" and minutes == 60:
        return  # its clocks change by half an hour: hourly rows pass through the repeated one once
    assert not found.assumed.any()
    assert (found.utc == np.array([(m - epoch) // timedelta(microseconds=1) for m in moments])).all()


def test_two_copies_of_a_day() -> None:
    """Each copy has its own two passes of the repeated hour."""
    hours = [0, 1, 1, 2, 3]
    local = np.array(
        [(datetime(2018, 11, 4, h) - datetime(1970, 1, 1)) // timedelta(microseconds=1) for h in hours * 2]
    )
    found = to_utc(local, "America/New_York")
    assert ((found.utc - found.utc[0]) // (60 * MINUTE)).tolist() == [0, 1, 2, 3, 4] * 2
