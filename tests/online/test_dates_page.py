"""The example of docs/reference/dates.md runs, and its row holds in office hours; further lines of the page."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from online_texts import driver

from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.online.history import Stretches, stretches_of
from gpusched_dsl.online.loops.events import EventLoop

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "dates.md"
EXAMPLE = re.findall(r"```gsm\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[-1]
START = datetime(2026, 10, 21, tzinfo=ZoneInfo("Europe/Berlin"))
LIMIT, ALL = 16, 26  # GPUs of team A in office hours, and of all of its jobs


def clock(hour: float) -> datetime:
    return (START.astimezone(UTC) + timedelta(hours=hour)).astimezone(START.tzinfo)


def in_office(at: datetime) -> bool:
    return at.isoweekday() <= 5 and 9 <= at.hour < 18 and (at.month, at.day) != (10, 28)


def stretches(text: str, method: str) -> tuple[Stretches, list[str]]:
    loop = driver(text, "ByTheClock", "Autumn", method)
    assert isinstance(loop, EventLoop)
    outcome = loop.run()
    assert outcome.ended == "finished"
    return stretches_of(outcome.world), [str(label) for label in loop.base.store.universes["Jobs"].labels]


def used_by_a(text: str, method: str) -> dict[float, float]:
    """The GPUs of team A in the middle of each quarter of an hour, by the raw history."""
    found, labels = stretches(text, method)
    of_a = np.array([labels[job].startswith("a") for job in found.job])
    times = np.arange(0.125, 14 * 24, 0.25)
    runs = (found.start[of_a] <= times[:, None]) & (times[:, None] < found.end[of_a])
    return dict(zip(times.tolist(), (runs * found.uses[of_a]).sum(axis=1).tolist(), strict=True))


def test_the_example_is_formatted() -> None:
    assert format_text(EXAMPLE) == EXAMPLE


@pytest.mark.parametrize("method", ["highs"])
def test_team_a_uses_at_most_40_percent_in_office_hours(method: str) -> None:
    used = used_by_a(EXAMPLE, method)
    office = {time: gpus for time, gpus in used.items() if in_office(clock(time))}
    others = {time: gpus for time, gpus in used.items() if time not in office}
    assert max(office.values()) <= LIMIT
    assert max(others.values()) == ALL
    days = {clock(time).date().isoformat() for time, gpus in office.items() if gpus == LIMIT}
    assert {
        "2026-10-22",
        "2026-10-23",
        "2026-10-26",
        "2026-10-27",
        "2026-10-29",
    } <= days  # also after the Sunday of 25 hours
    assert used[24 + 17.875] == LIMIT
    assert used[24 + 18.125] == ALL  # from 18:00 on
    free = {gpus for time, gpus in used.items() if clock(time).date().isoformat() == "2026-10-28"}
    assert free == {ALL}  # the holiday


def test_without_plans_at_clock_times_the_row_holds_too_late() -> None:
    """The lines `replan at` are what makes the row hold: without them a plan of the night lasts into the morning."""
    used = used_by_a(EXAMPLE.replace("replan at 9:00, 18:00 on weekdays;", ""), "highs")
    assert max(gpus for time, gpus in used.items() if in_office(clock(time))) > LIMIT
