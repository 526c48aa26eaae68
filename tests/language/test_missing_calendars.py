"""`gsdsl check` warns of blocks that read the clock if no scenario of their model states a calendar."""

from __future__ import annotations

import pytest

import gpusched_dsl as gs

MODEL = """
model M {
  set Jobs;  set Nodes;
  param length[Jobs] in h;  param submitted[Jobs] in h;  param remaining[Jobs] default 1;  param day default 1;
  var run[Jobs, Nodes] binary;
  minimize cost in $: sum[j in Jobs, n in Nodes] day * 1[$] * (1 - run[j, n]);
  constraint room[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  placement run[j, n] { job j;  node n;  lasts remaining[j] * length[j]; }
}
model Larger extends M { constraint few: sum[j in Jobs, n in Nodes] run[j, n] <= 10; }
scenario Base for M { Nodes = { a }; }
"""
CALENDAR = 'calendar from "2026-10-05 00:00" in "Europe/Berlin";'
JOBS = "table Jobs: length[h] submitted[h] = x 1 0;"
ALONE = f"scenario S extends Base {{ {JOBS} }}"
STATED = f"scenario T extends Base {{ {CALENDAR} {JOBS} }}"
START = "online O for M { arrive j in Jobs at submitted[j]; carry remaining[j] = remaining[j]; "
BLOCKS = {
    "replan at": START + "replan at 9:00 on weekdays; }",
    "carry": START + "replan on arrival; carry day = weekday(now); }",
    "charge": START + "replan on arrival; charge c in $/h = if is_holiday(now) then 1[$/h] else 2[$/h]; }",
    "policy": """policy P for M {
      order j in Jobs by hour_of_day(now + submitted[j]);  choose n in Nodes by day;  place best_fit, new_node;
    }""",
}


def told(text: str) -> list[tuple[str, str]]:
    found = gs.loads(MODEL + text).check()
    assert all(str(diagnostic.severity) == "warning" for diagnostic in found)
    return [(diagnostic.code, diagnostic.message) for diagnostic in found]


@pytest.mark.parametrize("kind", BLOCKS)
def test_a_block_whose_scenarios_have_no_calendar_is_told(kind: str) -> None:
    block = BLOCKS[kind]
    what = {"carry": "weekday", "charge": "is_holiday", "policy": "hour_of_day"}.get(kind, kind)
    assert told(ALONE + block) == [("GSM1692", f"`{what}` needs a calendar, but scenario `S` states none")]
    both = f"scenario L for Larger {{ Nodes = {{ a }}; {JOBS} }}"
    message = f"`{what}` needs a calendar, but none of the scenarios `S`, `L` states one"
    assert told(ALONE + both + block) == [("GSM1692", message)]


@pytest.mark.parametrize("kind", BLOCKS)
def test_one_scenario_with_a_calendar_is_enough(kind: str) -> None:
    assert told(ALONE + STATED + BLOCKS[kind]) == []
    assert told(ALONE.replace("{ table", f"{{ {CALENDAR} table") + BLOCKS[kind]) == []


@pytest.mark.parametrize("kind", BLOCKS)
def test_blocks_without_complete_scenarios_are_not_told(kind: str) -> None:
    """Other files may have the scenarios."""
    assert [code for code, _ in told(BLOCKS[kind])] == ["GSM2115"]


def test_blocks_without_dates_need_no_calendar() -> None:
    assert told(ALONE + START + "replan on arrival; }") == []
