"""Slots of single solves have the dates that the slots of a run have: in tables, JSON, CSV, pages and figures."""

from __future__ import annotations

import csv
import json
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from json_schemas import complaints, published

import gpusched_dsl as gs
from gpusched_dsl.reporting.figures.schedule_figure import ScheduleFigure
from gpusched_dsl.reporting.pages.solve_page import result_section
from gpusched_dsl.reporting.schedule import schedule

BERLIN = ZoneInfo("Europe/Berlin")
CALENDAR = 'calendar from "2026-10-24 23:00" in "Europe/Berlin";'  # the clock goes back at 03:00
COSTS = [5, 1, 4, 1, 1, 9, 2, 1]
NUMBERS = [*range(8)]

MODEL = """
model M {
  set Jobs;  set Slots SLOTS;
  param slot in LENGTH;  param price[Slots] in $/h;
  param work[Jobs] integer;  param arrives[Jobs];
  var run[Jobs, Slots] binary;
  minimize cost in $: sum[j in Jobs, h in Slots] 1[h] * price[h] * run[j, h];
  constraint done[j in Jobs]: sum[h in Slots] run[j, h] == work[j];
  placement run[j, h] { job j;  slot h;  lasts LASTS; }
}
online Window for M {
  window h in Slots lookahead 8 commit 8;
  arrive j in Jobs at arrives[j];
  replan on every 8 slots;
  work work[j];  speed 1 / slot;
  carry work[j] = work[j] - round(done[j]);
  charge paid[j in Jobs] in $ = sum[h in Slots] 1[h] * price[h] * run[j, h];
}
scenario S for M {
  CALENDAR  slot = 30[min];
  table Jobs: work arrives = a 4 0;
  table Slots: price[$/h] = ROWS;
}
"""


def model(
    labels: list[Any] = NUMBERS, calendar: str = CALENDAR, kind: str = "ordered", length: str = "h", lasts: str = "slot"
) -> gs.Model:
    rows = "  ".join(f"{label} {cost}" for label, cost in zip(labels, COSTS, strict=True))
    text = MODEL.replace("CALENDAR", calendar).replace("ROWS", rows).replace("SLOTS", kind)
    return gs.loads(text.replace("LENGTH", length).replace("LASTS", lasts), "slots.gsm")


def dates(numbers: list[int]) -> list[str]:
    """Return the dates of slots of half an hour, by elapsed time."""
    start = datetime(2026, 10, 24, 23, tzinfo=BERLIN).astimezone(UTC)
    return [(start + timedelta(minutes=30 * n)).astimezone(BERLIN).isoformat() for n in numbers]


@pytest.mark.parametrize("labels", [NUMBERS, [*range(5, 13)], [f"s{n}" for n in range(8)]], ids=["0", "5", "names"])
def test_dates_of_slots_are_those_of_runs(labels: list[Any], tmp_path: Path) -> None:
    """Also in the night with 25 hours, and where the first slot has another number."""
    given = model(labels)
    result = given.solve("S")
    assert result.placement is not None
    placed = dict(zip(result.placement["slot"].to_list(), result.placement["slot_date"].to_list(), strict=True))
    cheap = [1, 3, 4, 7]
    assert placed == dict(zip([labels[n] for n in cheap], dates(cheap), strict=True))
    ran = given.run("S", "Window", method="highs").schedule
    assert ran["start_date"].to_list() == dates([1, 3, 7])
    assert ran["end_date"].to_list() == dates([2, 5, 8])

    text = "Sat 2026-10-24 23:30 to Sun 2026-10-25 00:00, 00:30 to 01:30, 02:30 +02:00 to 02:00 +01:00"
    assert result.placed is not None
    assert schedule(result.placed).columns[2].texts == [text]
    result.to_json(tmp_path / "result.json")
    document = json.loads((tmp_path / "result.json").read_text())
    assert [row["slot_date"] for row in document["placement"]] == dates(cheap)
    assert document["calendar"] == {"start": "2026-10-24T23:00:00+02:00", "zone": "Europe/Berlin"}
    assert list(complaints(document, published("result.schema.json"))) == []
    result.to_csv(tmp_path)
    with (tmp_path / "placement.csv").open() as file:
        assert [row["slot_date"] for row in csv.DictReader(file)] == dates(cheap)
    [table] = result_section("highs", result).tables
    assert [row[2] for row in table.rows] == [
        "Sat 2026-10-24 23:30",
        "Sun 2026-10-25 00:30",
        "Sun 2026-10-25 01:00",
        "Sun 2026-10-25 02:30 +02:00",
    ]


@pytest.mark.parametrize("labels", [NUMBERS, [*range(5, 13)], [f"s{n}" for n in range(8)]], ids=["0", "5", "names"])
def test_axes_of_figures_have_dates(labels: list[Any], tmp_path: Path) -> None:
    result = model(labels).solve("S")
    figures = {figure.title.split(":")[0]: figure for figure in result.figures()}
    assert {*figures} >= {"Schedule", "Load", "Price"}
    for figure in figures.values():
        axis = figure.document()["axis"]
        first = datetime.fromtimestamp(axis["dates"]["epoch"] / 1000 + axis["low"] * axis["dates"]["seconds"], BERLIN)
        assert first.isoformat() == dates([0])[0]
        assert (axis["dates"]["seconds"], axis["dates"]["zone"], axis["high"] - axis["low"]) == (
            1800,
            "Europe/Berlin",
            8,
        )
    drawn = figures["Schedule"]
    assert isinstance(drawn, ScheduleFigure)
    assert (drawn.stays.start - drawn.axis.low).tolist() == [1, 3, 7]  # neighbours are joined
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a drawing without room for its axis
        result.to_figures(tmp_path)
    assert "2026-10-25" in (tmp_path / "schedule-1.svg").read_text()


@pytest.mark.parametrize(
    "given",
    [
        {"calendar": ""},
        {"labels": [0, 1, 2, 3, 5, 6, 7, 8]},  # whether slot 4 exists in time is unknown
        {"lasts": "2"},
        {"lasts": "work[j] * slot"},
    ],
    ids=["no calendar", "gaps", "no time", "lengths differ"],
)
def test_slots_without_a_known_date_have_none(given: dict[str, Any]) -> None:
    result = model(**given).solve("S")
    assert result.placement is not None
    assert "slot_date" not in result.placement.columns
    assert result.placed is not None
    assert "date" not in [column.header for column in schedule(result.placed).columns]
    [figure] = [figure for figure in result.figures() if figure.title == "Schedule"]
    assert "dates" not in figure.document()["axis"]
