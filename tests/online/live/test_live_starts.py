"""The date at time 0 of a live run: the calendar of the scenario, or another start, which moves the clock functions."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from live_toy import line
from online_texts import MACHINES

from gpusched_dsl.cli import main
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.workflows.live import run_live_loop

CALENDAR = 'calendar from "2026-10-23 00:00" in "Europe/Berlin";'
TEXT = (
    MACHINES
    + """
online At for Machines {
  arrive j in Jobs at submitted[j];
  replan at 9:00 on weekdays;
  carry remaining[j] = remaining[j];
}
scenario S for Machines { CALENDAR Nodes = { n1 };  table Jobs: submitted[h] length[h] = a 0 50  b 0 1; }
"""
)


def records(
    folder: Path, times: list[object], *, calendar: str = CALENDAR, start: str | None = None, journal: bool = False
) -> list[dict[str, Any]]:
    """The records of a live run with ticks at these times."""
    source, out, found = folder / "events.jsonl", io.BytesIO(), Diagnostics()
    source.write_bytes(b"".join(line("tick", f"t{time}", time) for time in times))
    workspace = workspace_from_text(TEXT.replace("CALENDAR", calendar), "at.gsm", found)
    found.raise_if_errors()
    config = RunConfig(online="At", method="FIFO", journal=folder / "run.db" if journal else None)
    run_live_loop(workspace, str(source), out, config, start=start)
    return [json.loads(text) for text in out.getvalue().splitlines()]


def plans(found: list[dict[str, Any]]) -> list[float]:
    return [record["time"] for record in found if record["kind"] == "decision"]


HOURS: list[object] = [float(hour) for hour in range(1, 100)]


@pytest.mark.parametrize(
    ("calendar", "start", "expected"),
    [(CALENDAR, None, [9, 82]),  # Friday and Monday, after the 25 hours of Sunday
     (CALENDAR, "2026-10-23 00:00", [9, 82]),
     (CALENDAR, "2026-10-22T22:00Z", [9, 82]),  # the same moment
     (CALENDAR, "2026-10-23T00:00Z", [7, 80]),  # 2:00 in Berlin
     (CALENDAR, "2026-10-21 00:00", [9, 33, 57]),
     ("", "2026-10-23T00:00Z", [9, 81]),
     ("", "2026-10-23T02:00+02:00", [7, 79])],
)  # fmt: skip
def test_clock_times_follow_the_start(tmp_path: Path, calendar: str, start: str | None, expected: list[float]) -> None:
    assert plans(records(tmp_path, HOURS[:82], calendar=calendar, start=start)) == expected


@pytest.mark.parametrize("start", [None, "2026-10-23 00:00"])
def test_without_a_time_zone_there_are_no_clock_times(tmp_path: Path, start: str | None) -> None:
    with pytest.raises(DiagnosticError) as refused:
        records(tmp_path, HOURS, calendar="", start=start)
    assert [d.code for d in refused.value.diagnostics] == ["GSM1692"]


def test_dates_of_events_are_on_the_clock_of_the_calendar(tmp_path: Path) -> None:
    times = ["2026-10-23 08:00", "2026-10-23T09:00+02:00", "2026-10-25 01:00Z", "2026-10-25 03:30", "2026-10-26 09:30"]
    found = records(tmp_path, list[object](times))
    acks = [record["time"] for record in found if record["kind"] == "ack"]
    assert acks == [8.0, 9.0, 51.0, 52.5, 82.5]
    assert plans(found) == [9.0, 82.5]


@pytest.mark.parametrize(
    ("time", "reason"),
    [("2026-10-25 02:30", "occurs twice"), ("2027-03-28 02:30", "does not occur"), ("tomorrow", "is not a date")],
)
def test_unclear_dates_of_events_are_refused(tmp_path: Path, time: str, reason: str) -> None:
    [error] = [record for record in records(tmp_path, [time]) if record["kind"] == "error"]
    assert error["code"] == "GSM5205"
    assert reason in error["message"]
    assert error["help"]


def test_a_journal_knows_the_same_moment_in_another_zone(tmp_path: Path) -> None:
    assert plans(records(tmp_path, HOURS[:5], journal=True)) == []
    assert plans(records(tmp_path, HOURS[:10], journal=True, start="2026-10-22T22:00Z")) == [9.0]
    for start in ("2026-10-23 00:00", "2026-10-23T03:30+05:30"):
        assert plans(records(tmp_path, HOURS[:10], journal=True, start=start)) == []  # it is recorded
    for start in ("2026-10-23T00:00Z", "2026-10-24 00:00"):
        with pytest.raises(DiagnosticError) as refused:
            records(tmp_path, HOURS[:11], journal=True, start=start)
        assert [d.code for d in refused.value.diagnostics] == ["GSM5104"]


def test_a_journal_without_a_calendar_knows_the_same_moment(tmp_path: Path) -> None:
    """Also one that was written before starts were compared as moments."""
    block = TEXT.replace("replan at 9:00 on weekdays;", "")
    source, found = tmp_path / "events.jsonl", Diagnostics()
    workspace = workspace_from_text(block.replace("CALENDAR", ""), "at.gsm", found)
    for number, start in enumerate(["2026-03-01T00:00Z", "2026-03-01T01:00+01:00", "2026-02-28T18:00-06:00"]):
        source.write_bytes(line("tick", f"t{number}", float(number)))
        config = RunConfig(online="At", method="FIFO", journal=tmp_path / "run.db")
        run_live_loop(workspace, str(source), io.BytesIO(), config, start=start)
    with pytest.raises(DiagnosticError):
        run_live_loop(workspace, str(source), io.BytesIO(), config, start="2026-03-01T00:00+01:00")


@pytest.mark.parametrize(("start", "expected"), [([], [9.0, 82.0]), (["--start", "2026-10-23T00:00Z"], [7.0, 80.0])])
def test_a_simulated_run_takes_a_start(
    tmp_path: Path, start: list[str], expected: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "at.gsm").write_text(TEXT.replace("CALENDAR", CALENDAR), encoding="utf-8")
    words = ["run", str(tmp_path / "at.gsm"), "--online", "At", "--method", "FIFO", "--json", "-", "-q", *start]
    assert main(words) == 0
    assert [plan["time"] for plan in json.loads(capsys.readouterr().out)["steps"]] == expected


def test_a_start_that_occurs_twice_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    source, found = tmp_path / "events.jsonl", Diagnostics()
    source.write_bytes(line("tick", "t", 1.0))
    workspace = workspace_from_text(TEXT.replace("CALENDAR", CALENDAR), "at.gsm", found)
    config = RunConfig(online="At", method="FIFO")
    for start in ("2026-10-25 02:30", "2026-10-25 02:30+01:00"):
        run_live_loop(
            workspace, str(source), io.BytesIO(), config, start=start,
            report=lambda warnings: told.extend(warning.code for warning in warnings),
        )  # fmt: skip
        assert told == ["GSM1693"]
