"""With a calendar, times of a run are dates wherever people read them, and JSON and CSV have both."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from matplotlib import rc_context

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.reporting.figures.drawing.axes import axes_of, set_time
from gpusched_dsl.reporting.figures.drawing.style import SETTINGS
from gpusched_dsl.reporting.figures.figure import TimeAxis
from gpusched_dsl.reporting.figures.run_figures import run_figures
from gpusched_dsl.reporting.runs.result import RunResult

ZONE = ZoneInfo("Europe/Berlin")
START = datetime(2026, 10, 24, 20, tzinfo=ZONE)  # the night in which clocks go back
TEXT = """
import "gsdsl:trace_replay/model.gsm";
import "gsdsl:trace_replay/policies.gsm";
scenario Night for TraceReplay {
  table Nodes: gpus = n1 4;
  table Jobs: submitted[h] needs exec_time[h] deadline[h] = a 0 4 6.5 7  b 1 4 3 8  c 2 2 1 20  d 3 8 1 9;
  CALENDAR
}
"""
CALENDAR = 'calendar from "2026-10-24 20:00" in "Europe/Berlin";'


def run(calendar: str = CALENDAR) -> RunResult:
    return gs.loads(TEXT.replace("CALENDAR", calendar)).run(method="Backfilling")


def iso(hours: float) -> str:
    """The date some hours after the start, by the rules of the standard library."""
    return (START.astimezone(ZoneInfo("UTC")) + timedelta(hours=hours)).astimezone(ZONE).isoformat()


def test_the_document_has_numbers_and_dates() -> None:
    document = run().to_dict()
    assert document["calendar"] == {"start": iso(0), "zone": "Europe/Berlin"}
    ended = {job["job"]: (job["end"], job["end_date"]) for job in document["jobs"]}
    assert ended == {"a": (6.5, iso(6.5)), "b": (9.5, iso(9.5)), "c": (10.5, iso(10.5)), "d": (None, None)}
    assert [job["due_date"] for job in document["jobs"]] == [iso(7), iso(8), iso(20), iso(9)]
    assert all(part["start_date"] == iso(part["start"]) for part in document["schedule"])
    assert iso(6.5) == "2026-10-25T02:30:00+02:00"  # the first of two


def test_plans_have_dates() -> None:
    steps = gs.loads(TEXT.replace("CALENDAR", CALENDAR)).run(method="highs").to_dict()["steps"]
    assert len(steps) > 3
    assert [step["time_date"] for step in steps] == [iso(step["time"]) for step in steps]


def test_without_a_calendar_there_are_no_dates(tmp_path: Path) -> None:
    document = run("").to_dict()
    assert document["calendar"] is None
    assert not [key for rows in ("jobs", "schedule") for key in document[rows][0] if "date" in key]
    assert "2026" not in str(run(""))
    run("").to_html(tmp_path / "run.html")
    assert ">time [h]</th>" in (tmp_path / "run.html").read_text()


def test_tables_of_files(tmp_path: Path) -> None:
    run().to_csv(tmp_path)
    with (tmp_path / "jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["end_date"] for row in rows] == [iso(6.5), iso(9.5), iso(10.5), ""]


def test_what_people_read(tmp_path: Path) -> None:
    shown = str(run())
    assert re.search(r"^dates +Sat 2026-10-24 20:00 to Sun 2026-10-25 05:30 \(Europe/Berlin\)$", shown, re.MULTILINE)
    assert "d (since Sat 2026-10-24 23:00)" in shown
    run().to_html(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    assert "Sun 2026-10-25 02:30 +02:00" in page
    assert ">time [h]</th>" not in page


@pytest.mark.parametrize("command", ["why", "estimate"])
@pytest.mark.parametrize("at", ["2026-10-24 22:30", "2026-10-24T20:30Z", "2.5", "2.5h"])
def test_times_as_arguments(command: str, at: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, answer = tmp_path / "night.gsm", tmp_path / "answer.json"
    file.write_text(TEXT.replace("CALENDAR", CALENDAR))
    words = [command, str(file), "--method", "SJFSkipping", "--job", "b", "--at", at, "--json", str(answer)]
    assert main(words) == 0
    assert "b at Sat 2026-10-24 22:30" in capsys.readouterr().out
    document = json.loads(answer.read_text())
    assert (document["at"], document["at_date"]) == (2.5, iso(2.5))
    if command == "estimate":
        assert document["start"]["dates"]["0.5"] == iso(document["start"]["quantiles"]["0.5"])


def test_a_date_needs_a_calendar(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "night.gsm"
    file.write_text(TEXT.replace("CALENDAR", ""))
    assert main(["why", str(file), "--method", "FIFO", "--job", "b", "--at", "2026-10-24 22:30"]) != 0
    shown = capsys.readouterr().err
    assert "the date at the start of the run is unknown" in shown
    assert 'calendar from "2026-10-05 00:00" in "Europe/Berlin";' in shown


def test_marks_of_figures_are_clock_times() -> None:
    figure = run_figures(run())[0]
    axis = getattr(figure, "axis", None)
    assert isinstance(axis, TimeAxis)
    assert axis.document()["dates"] == {"epoch": START.timestamp() * 1000, "seconds": 3600.0, "zone": "Europe/Berlin"}
    _, axes = axes_of(2.0)
    set_time(axes, axis)
    labels = [label.get_text().split("\n")[0] for label in axes.get_xticklabels()]
    assert labels[:3] == ["20:00", "22:00", "00:00"]
    assert [round(float(tick), 9) for tick in axes.get_xticks()[:5]] == [0, 2, 4, 6, 9]  # 02:00, and 04:00 after 3 h


@pytest.mark.quick(5)
@pytest.mark.parametrize("hours", [0.2, 1.0, 5.0, 9.5, 13.0, 18.0, 26.0, 47.0, 80.0, 24.0 * 9, 24.0 * 40, 24.0 * 400])
def test_labels_of_dates_do_not_overlap(hours: float) -> None:
    axis = getattr(run_figures(run())[0], "axis", None)
    assert isinstance(axis, TimeAxis)
    with rc_context(SETTINGS):
        drawing, axes = axes_of(2.0)
        axes.set_yticks([0], ["a node"])
        set_time(axes, replace(axis, low=1.5, high=1.5 + hours))
        drawing.draw_without_rendering()
    shown = [label for label in axes.get_xticklabels() if label.get_text()]
    texts = [label.get_text().split("\n")[1:] for label in shown]
    assert texts[0][1][:3] == "202"
    assert all(one != other for one, other in pairwise(text for text in texts if text))
    boxes = [label.get_window_extent() for label in shown]
    assert all(box.x1 < following.x0 for box, following in pairwise(boxes))
