"""Functions of the clock in every kind of expression, against Python's time zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from every_way import solve_every_way
from found_codes import message_values

import gpusched_dsl as gs
from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.possible_values import PossibleValues
from gpusched_dsl.language.checking.clock_functions import CLOCK_FUNCTIONS
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2026, 10, 23, tzinfo=BERLIN)

MODEL = """
model M {
  set Slots ordered = 0..95;
  set Holidays;
  set Odd within Slots = { h in Slots where hour_of_day(h * 1[h]) == 2[h] };
  param at[h in Slots] in min = h * 60[min];
  let price[h in Slots] in $ = (if 9[h] <= hour_of_day(h * 1[h]) < 18[h] then 3[$] else 1[$]) * day_of_month(at[h]);
  var x[Slots] >= 0 <= 1;
  minimize cost in $: sum[h in Slots] price[h] * x[h];
  constraint work[h in Slots where weekday(h * 3600[s]) <= 5 and not is_holiday(h * 1[h])]: x[h] >= 1;
  constraint odd[h in Odd]: x[h] >= month(h * 1[h]) / 20;
  constraint holiday[h in Slots]: is_holiday(at[h]) => x[h] <= 0.75;
}
scenario S for M {
  calendar from "2026-10-23 00:00" in "Europe/Berlin" HOLIDAYS;
}
"""
HOLIDAYS = {
    "listed": 'holidays { "2026-10-26" }; Holidays = { }',
    "set": 'holidays Holidays; Holidays = { "2026-10-26" }',
    "file": 'holidays Holidays; data "days.csv" { Holidays = day; }',
}


def clock(hour: float) -> datetime:
    return (START.astimezone(UTC) + timedelta(hours=hour)).astimezone(BERLIN)


def best_cost() -> float:
    local = [clock(hour) for hour in range(96)]
    due = []
    for at in local:
        works = at.isoweekday() <= 5 and (at.month, at.day) != (10, 26)
        due.append(1.0 if works else 0.5 if at.hour == 2 else 0.0)
    assert sum(due) == 24 + 4 * 0.5  # Friday; Saturday at 2, Sunday twice at 2, Monday at 2
    return sum((3 if 9 <= at.hour < 18 else 1) * at.day * x for at, x in zip(local, due, strict=True))


@pytest.mark.parametrize("source", list(HOLIDAYS))
def test_each_kind_of_expression(source: str, tmp_path: Path) -> None:
    """Four days, one of them with 25 hours: sets, parameters, `let`s, conditions, coefficients, right-hand sides."""
    (tmp_path / "days.csv").write_text("day,name\n2026-12-25,Christmas\n2026-10-26,ours\n", encoding="utf-8")
    (tmp_path / "m.gsm").write_text(
        MODEL.replace("HOLIDAYS;", HOLIDAYS[source] + ("" if source == "file" else ";")), encoding="utf-8"
    )
    result = gs.load(tmp_path / "m.gsm").solve("S")
    assert result.objective == pytest.approx(best_cost())


def values(expression: str, calendar: str = 'calendar from "2026-10-23 00:00" in "Europe/Berlin";') -> list[float]:
    text = f"""
    model P {{ set T = 1..6; param t[T] in s; param p[j in T] = {expression}; var x >= 0; minimize o: x; }}
    scenario S for P {{ {calendar} t = {TIMES}[s]; }}
    """
    found = Diagnostics()
    scenario = check_scenario(workspace_from_text(text, "p", found), "S", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    found_values: list[float] = build_instance(scenario, folder=Path()).store.params["p"].values.tolist()
    return found_values


TIMES = [0, 90, 59.5, -3600, 1e9, 1793000000.25]


def test_units_of_the_argument_and_the_result() -> None:
    local = [clock(seconds / 3600) for seconds in TIMES]
    hours = [at.hour + at.minute / 60 + (at.second + at.microsecond / 1e6) / 3600 for at in local]
    assert values("hour_of_day(t[j]) / 1[h]") == pytest.approx(hours)
    assert values("hour_of_day(t[j] / 60[s] * 1[min]) / 1[min]") == pytest.approx([60 * hour for hour in hours])
    assert values("weekday(t[j])") == [at.isoweekday() for at in local]
    assert values("100 * month(t[j]) + day_of_month(t[j])") == [100 * at.month + at.day for at in local]
    assert values("(if is_holiday(t[j]) then 1 else 0)") == [0.0] * len(TIMES)


@pytest.mark.parametrize("function", list(CLOCK_FUNCTIONS))
def test_times_without_a_date_are_refused(function: str) -> None:
    call = f"{function}(1e7 * t[j])"
    body = {"is_holiday": f"(if {call} then 1 else 0)", "hour_of_day": f"{call} / 1[h]"}.get(function, call)
    with pytest.raises(DiagnosticError) as refused:
        values(body)
    [diagnostic] = refused.value.diagnostics
    assert diagnostic.code == "GSM3004"
    assert message_values(diagnostic.label) == ("1", "9999")


def test_ranges_are_known_without_the_values() -> None:
    """Of more combinations than are evaluated, by the range of the function; none for times without a date."""
    text = """
    model R { set A = 1..400; set B = 1..400; var x >= 0; minimize o: x;
              let near[a in A, b in B] = weekday(a * b * 1[h]); let far[a in A, b in B] = weekday(a * b * 1e9[h]); }
    scenario S for R { calendar from "2026-10-23" in "UTC"; }
    """
    found = Diagnostics()
    scenario = check_scenario(workspace_from_text(text, "r", found), "S", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    evaluator = Evaluator(scenario.model, build_instance(scenario, folder=Path()).store, MemoryLimits())
    for name, sizes in (("near", (1.0, 7.0)), ("far", None)):
        let = scenario.model.lets[name]
        possible = PossibleValues(evaluator, {}).inside_list(let.indexing)
        assert possible is not None
        assert possible.sizes(let.value) == sizes


def test_days_in_every_way_of_solving(tmp_path: Path) -> None:
    text = MODEL.replace("HOLIDAYS", HOLIDAYS["listed"])
    solve_every_way(text, best_cost(), tmp_path)


def test_equal_jobs_of_different_days_in_every_way_of_solving(tmp_path: Path) -> None:
    """The day of a job counts where nothing else tells the jobs apart: 71.5 h and 72.5 h after Friday are Sunday."""
    text = """
    model E {
      set Jobs;  set Nodes identical;
      param at[Jobs] in h;
      var run[Jobs, Nodes] binary;
      maximize gain: sum[j in Jobs, n in Nodes] weekday(at[j]) * run[j, n];
      constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
      constraint one[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
    }
    scenario S for E {
      calendar from "2026-10-23 00:00" in "Europe/Berlin";
      Nodes = { n1, n2 };
      table Jobs: at[h] = a 71.5  b 72.5  c 73.5  d 20;
    }
    """
    solve_every_way(text, 14, tmp_path)
