"""Jobs in the hour that occurs twice when clocks go back: submission, start and end of a job have one order."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from trace_help import first, read_text

ZONE = "Europe/Berlin"
SACCT = "JobID|Submit|Start|End|ElapsedRaw|State|AllocTRES|NNodes\n"


def times(submit: str, start: str, end: str) -> str:
    return f"job,submitted,started,ended,gpus\n1,2024-10-27 {submit},2024-10-27 {start},2024-10-27 {end},1\n"


@pytest.mark.parametrize(
    ("submit", "start", "end", "wait", "duration"),
    [
        ("02:50", "02:10", "04:10", 1200, 7200),  # it starts in the second pass
        ("02:40", "02:50", "02:20", 600, 1800),  # it ends in the second pass
        ("01:50", "02:10", "02:30", 1200, 1200),  # all in the first pass
        ("02:40", "02:20", "02:50", 2400, 1800),  # start and end in the second pass
        ("00:10", "01:10", "04:10", 3600, 4 * 3600),  # around both
    ],
)
def test_the_order_of_a_job_chooses_the_pass(submit: str, start: str, end: str, wait: float, duration: float) -> None:
    found: dict[str, Any] = first(read_text("jobs", times(submit, start, end), timezone=ZONE))
    assert (found["started"] - found["submitted"], found["duration"]) == (wait, duration)
    line = f"1|2024-10-27T{submit}:00|2024-10-27T{start}:00|2024-10-27T{end}:00|{duration}|COMPLETED|gres/gpu=1|1\n"
    other: dict[str, Any] = first(read_text("sacct", SACCT + line, timezone=ZONE))
    assert (other["wait"], other["started"] - other["submitted"]) == (wait, wait)
    assert (other["duration"], other["ended"] - other["started"]) == (duration, duration)


def test_the_length_of_a_job_chooses_the_pass() -> None:
    """Random jobs that are submitted before the hour, start in one of its passes, and end after it, in any order."""
    rng = random.Random(2)
    zero = datetime(2024, 10, 26, 22, 30, tzinfo=UTC)  # half past midnight
    lines, expected = [], {}
    for number in range(300):
        submit = zero + timedelta(minutes=rng.randint(0, 80))
        start = datetime(2024, 10, 27, 0, 0, tzinfo=UTC) + timedelta(minutes=rng.randint(0, 119))
        end = datetime(2024, 10, 27, 2, 0, tzinfo=UTC) + timedelta(minutes=rng.randint(0, 300))
        local = [moment.astimezone(ZoneInfo(ZONE)).strftime("%Y-%m-%dT%H:%M:%S") for moment in (submit, start, end)]
        seconds = round((end - start).total_seconds())
        lines.append(f"{number + 1}|{'|'.join(local)}|{seconds}|COMPLETED|gres/gpu=1|1\n")
        expected[number + 1] = (start - submit).total_seconds()
    table = read_text("sacct", SACCT + "".join(lines), timezone=ZONE).frame
    assert dict(zip(table["job"].to_list(), table["wait"].to_list(), strict=True)) == expected
