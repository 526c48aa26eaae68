"""The calendar of a scenario: where it is stated, what is inherited, and starts from outside."""

from __future__ import annotations

import pytest
from scenario_help import check, place, sound, wrong

from gpusched_dsl.language.calendar import Calendar
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.calendars import START
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

BERLIN = 'calendar from "2026-10-05 00:00" in "Europe/Berlin";'
MIDNIGHT = 1791151200000000


def calendar_of(text: str, scenario: str = "S", **overrides: str) -> Calendar:
    checked, found = check(text, scenario, **overrides)
    assert found == []
    assert checked is not None
    assert checked.calendar is not None
    return checked.calendar.calendar


def test_a_scenario_without_a_calendar_has_none() -> None:
    assert sound("").calendar is None


def test_the_newest_calendar_of_a_chain() -> None:
    later = BERLIN.replace("05", "06")
    text = f"scenario A for M {{ {BERLIN} }} scenario S extends A {{ }} scenario T extends S {{ {later} }}"
    assert calendar_of(text) == Calendar(MIDNIGHT, "Europe/Berlin")
    assert calendar_of(text, "T") == Calendar(MIDNIGHT + 86400 * 10**6, "Europe/Berlin")


@pytest.mark.parametrize(
    ("body", "start", "epoch", "zone"),
    [(BERLIN, "2026-10-06", MIDNIGHT + 86400 * 10**6, "Europe/Berlin"),
     (BERLIN, "2026-10-04T22:00Z", MIDNIGHT, "Europe/Berlin"),
     (BERLIN, "2026-10-05T02:00+04:00", MIDNIGHT, "Europe/Berlin"),
     ("", "2026-10-05T02:00+04:00", MIDNIGHT, "+04:00"),
     ("", "2026-10-04T22:00Z", MIDNIGHT, "UTC")],
)  # fmt: skip
def test_a_start_from_outside(body: str, start: str, epoch: int, zone: str) -> None:
    """The moment is that of the start; the zone stays that of the calendar."""
    found = calendar_of(f"scenario S for M {{ {body} }}", **{START: start})
    assert found == Calendar(epoch, zone)


def test_a_start_without_a_zone_is_refused_where_no_calendar_has_one() -> None:
    found = wrong("", "GSM1691", "2026-10-05", **{START: "2026-10-05"})
    assert "time zone" in found.message


def test_holidays_stay_with_another_start() -> None:
    body = BERLIN.replace(";", ' holidays { "2026-12-25" };')
    assert len(calendar_of(f"scenario S for M {{ {body} }}", **{START: "2026-10-06"}).holidays) == 1


def test_words_of_the_statement_are_names_elsewhere() -> None:
    text = """
    model N { set holidays; param calendar[holidays] in h; param weekday[holidays]; param month = 3; var at >= 0;
              minimize from_: at + month + sum[d in holidays] weekday[d] * calendar[d] / 1[h]; }
    scenario S for N { calendar from "2026-10-05" in "UTC" holidays holidays; holidays = { "2026-12-25" };
      calendar["2026-12-25"] = 2[h]; table holidays: weekday = "2026-12-25" 3; }
    """
    found = Diagnostics()
    checked = check_scenario(workspace_from_text(text, "n.gsm", found), "S", {}, found)
    assert list(found) == []
    assert checked is not None
    assert set(checked.assignments) >= {"calendar", "weekday", "holidays"}
    assert checked.calendar is not None
    assert checked.calendar.holiday_set == "holidays"


USES = [
    "param p = weekday(1[h]);",
    "param p[d in D] = if is_holiday(d * 1[d]) then 1 else 0;",
    "let l[d in D] = hour_of_day(d * 1[h]);",
    "set E within D = { d in D where month(d * 1[d]) == 3 };",
    "check [d in D]: day_of_month(d * 1[d]) >= 1;",
    "constraint c[d in D where weekday(d * 1[d]) > 5]: x <= 4;",
    "param p <= weekday(0) default 1;",
    "report r = weekday(1[d]);",
]


@pytest.mark.parametrize("line", USES)
def test_each_use_needs_a_calendar(line: str) -> None:
    text = f"model N {{ set D ordered = 0..3; var x >= 0; minimize o: x; {line} }} scenario S for N {{ CALENDAR }}"
    found = Diagnostics()
    checked = check_scenario(workspace_from_text(text.replace("CALENDAR", ""), "n.gsm", found), "S", {}, found)
    [diagnostic] = found
    assert checked is None
    assert diagnostic.code == "GSM1692"
    assert place(diagnostic) in line
    assert diagnostic.help is not None
    assert "calendar from" in diagnostic.help

    found = Diagnostics()
    assert check_scenario(workspace_from_text(text.replace("CALENDAR", BERLIN), "n.gsm", found), "S", {}, found)
    assert list(found) == []


def test_a_formula_of_a_scenario_needs_a_calendar() -> None:
    found = wrong("limit = weekday(3[d]);", "GSM1692", "weekday(3[d])")
    assert found.help is not None
    assert sound(f"limit = weekday(3[d]); {BERLIN}").calendar is not None


WRONG = [
    ("weekday(x * 1[h])", "GSM1211"),
    ("weekday(l)", "GSM1211"),
    ("weekday(3)", "GSM1303"),
    ("weekday(3[kWh])", "GSM1302"),
    ("weekday(1[h], 2[h])", "GSM1212"),
    ("weekday()", "GSM1212"),
    ("weekday(D)", "GSM1106"),
    ("hour_of_day(3[h]) * x", "GSM1302"),
    ("hour(3[h])", "GSM1102"),
]


@pytest.mark.parametrize(("expression", "code"), WRONG)
def test_wrong_uses(expression: str, code: str) -> None:
    text = f"""
    model N {{ set D; var x >= 0; let l = x * 1[h]; minimize o: x + {expression}; }}
    scenario S for N {{ {BERLIN} D = {{ a }}; }}
    """
    found = Diagnostics()
    check_scenario(workspace_from_text(text, "n.gsm", found), "S", {}, found)
    assert [diagnostic.code for diagnostic in found] == [code]


WRITTEN_OTHERWISE = [
    ("scenario", 'calendar "2026-10-05" in "UTC";', '`calendar from "2026-10-05 00:00" in "Europe/Berlin";`'),
    ("scenario", 'calendar from 2026-10-05 in "UTC";', "`calendar from"),
    ("scenario", 'calendar from "2026-10-05" in Berlin;', "`calendar from"),
    ("scenario", 'calendar from "2026-10-05" in "UTC" holidays = { "2026-12-25" };', "`holidays {"),
    ("online", "replan at 9 on weekdays;", "`replan at 9:00, 18:00 on weekdays;`"),
    ("online", 'replan at "9:00";', "`replan at 9:00"),
    ("online", "replan at 9:00 weekdays;", "`replan at 9:00"),
    ("online", "replan on arrival at 9:00;", "a line of its own"),
]


@pytest.mark.parametrize(("block", "line", "help"), WRITTEN_OTHERWISE)
def test_lines_that_are_written_otherwise_get_the_line_to_write(block: str, line: str, help: str) -> None:
    found = Diagnostics()
    workspace_from_text(f"{block} B for M {{\n  {line}\n}}", "b.gsm", found)
    [diagnostic] = found
    assert diagnostic.code == "GSM1010"
    assert help in (diagnostic.help or "")


@pytest.mark.parametrize(
    "text", ['scenario S for M {\n  calendar from "2026-10-05" in "UTC"\n  a = 1;\n}',
             "online O for M {\n  replan at 9:00 on weekdays\n  carry a = now;\n}"]
)  # fmt: skip
def test_a_missing_semicolon_is_reported(text: str) -> None:
    found = Diagnostics()
    workspace_from_text(text, "b.gsm", found)
    assert [d.code for d in found] == ["GSM1011"]
