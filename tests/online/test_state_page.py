"""The examples of docs/reference/state.md: each line of the page runs, with values that were computed by hand."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from online_texts import driver, run

from gpusched_dsl.online.history import stretches_of
from gpusched_dsl.online.loops.base import SimulationLoop

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "state.md"
LINES = [line for block in re.findall(r"```gsm\n(.*?)```", PAGE.read_text(), re.DOTALL) for line in block.split(";\n")]


def line_of(*targets: str) -> str:
    """Return the lines of the page that carry some parameters."""
    found = [line for line in LINES for target in targets if line.startswith(f"carry {target} =")]
    assert len(found) == len(targets), targets
    return "".join(f"{line};\n" for line in found)


SLOTS = """
model Power {
  set Jobs;  set Slots ordered;
  param watts[Jobs] in kW;  param hours[Jobs] in h default 1[h];  param arrives[Jobs];
  param slot in h = 1[h];
  param top in kW >= 0 default 0[kW];  param last_power in kW >= 0 default 0[kW];
  param used in kWh >= 0 default 0[kWh];  param budget in kWh default 1000[kWh];
  param next_month integer default 2880;
  var train[j in Jobs, h in Slots] binary;
  var load[Slots] in kW >= 0;
  let power[h in Slots] in kW = sum[j in Jobs] watts[j] * train[j, h];
  minimize cost in $ {
    demand: 1[$/kW] * max[h in Slots] max(load[h] - top, 0[kW]);
    ramp: RAMP[$/kW] * sum[h in Slots] max(power[h] - (power[h-1] else last_power), 0[kW]);
    wait: sum[j in Jobs, h in Slots] 100[$/h] * (1[h] - 1[h] * train[j, h]);
  }
  constraint loads[h in Slots]: load[h] == power[h];
  constraint enough[j in Jobs]: sum[h in Slots] 1[h] * train[j, h] <= hours[j];
  constraint kept: used + sum[h in Slots] slot * power[h] <= budget;
  placement train[j, h] { job j;  slot h;  lasts 1[h]; }
}
online Loop for Power {
  window h in Slots lookahead 1 commit 1;
  arrive j in Jobs at arrives[j];
  work hours[j];
  speed 1;
  replan on every 1 slots;
  carry hours[j] = hours[j] - done[j];
  CARRY
  charge demand in $ = sum[h in Slots] 1[$/kW] * max(load[h] - top, 0[kW]);
  charge ramp in $ = sum[h in Slots] RAMP[$/kW] * max(power[h] - (power[h-1] else last_power), 0[kW]);
}
scenario S for Power {
  Slots = 0..5;  budget = 35[kWh];
  table Jobs: watts[kW] arrives = a 10 0  b 5 1  c 10 2  d 10 4;
}
"""


@pytest.mark.parametrize(
    ("targets", "ramp", "charges", "done"),
    [
        (["next_month", "top", "last_power", "used"], 0, {"demand": 10.0}, 4),
        (["next_month", "top", "last_power", "used"], 1, {"demand": 10.0, "ramp": 25.0}, 4),
    ],
)
def test_examples_with_windows(targets: list[str], ramp: int, charges: dict[str, float], done: int) -> None:
    text = SLOTS.replace("CARRY", line_of(*targets)).replace("RAMP", str(ramp))
    outcome = run(text, "Loop", "S", "highs")
    found = {name: value for name, value in outcome.world.ledger.totals.items() if value}
    assert found == pytest.approx(charges)
    assert (outcome.world.done > 0.5).sum() == done


def test_a_month_begins_anew() -> None:
    """Months of three slots: the peak of 10 kW is paid in each of them."""
    text = SLOTS.replace("CARRY", line_of("next_month", "top", "last_power")).replace("RAMP", "0").replace("2880", "3")
    assert run(text, "Loop", "S", "highs").world.ledger.totals["demand"] == pytest.approx(20.0)


MONTHLY = """
  carry used = if now < previous(next_month) then previous(used) + executed(sum[h in Slots] slot * power[h])
    else executed(sum[h in Slots where h >= next_month] slot * power[h]);
"""


@pytest.mark.parametrize("month", [3, 4, 5])
@pytest.mark.parametrize(
    ("commit", "events"), [(1, ""), (2, ""), (3, ""), (2, "arrival, "), (3, "arrival, "), (3, "completion, ")]
)
def test_months_begin_between_two_plans_too(month: int, commit: int, events: str) -> None:
    """The highest load and the energy of the month, from the slots in which the jobs ran."""
    found: list[tuple[int, float, float]] = []

    def note(loop: SimulationLoop) -> None:
        assert loop.past is not None
        top, used = (float(loop.past.kept[name].values[0]) for name in ("top", "used"))
        found.append((round(loop.world.now), top, used))

    text = SLOTS.replace("CARRY", line_of("next_month", "top", "last_power") + MONTHLY).replace("RAMP", "0")
    text = text.replace("2880", str(month)).replace("budget = 35[kWh]", "budget = 1000[kWh]").replace("0..5", "0..11")
    text = text.replace("lookahead 1 commit 1", f"lookahead {commit} commit {commit}")
    text = text.replace("replan on every 1 slots", f"replan on {events}every {commit} slots")
    text = text.replace("a 10 0  b 5 1  c 10 2  d 10 4", "a 9 0  b 5 1  c 7 3  d 6 4  e 8 7")
    given: dict[str, Any] = {"on_plan": note}
    outcome = driver(text, "Loop", "S", "highs", **given).run()
    ran, power = stretches_of(outcome.world), [0.0] * 12
    for job, start in zip(ran.job.tolist(), ran.start.tolist(), strict=True):
        power[round(start)] += [9.0, 5.0, 7.0, 6.0, 8.0][job]
    assert sum(power) == 35
    for now, top, used in found:
        this_month = power[now - now % month : now]
        assert (now, top, used) == pytest.approx((now, max(this_month, default=0.0), sum(this_month)))


def test_a_budget_ends_what_the_month_may_use() -> None:
    text = SLOTS.replace("CARRY", line_of("used", "last_power")).replace("RAMP", "0").replace("35[kWh]", "25[kWh]")
    outcome = run(text, "Loop", "S", "highs")
    assert (outcome.world.done > 0.5).tolist() == [True, True, True, False]


EVENTS = """
model Shares {
  set Jobs;  set Teams;  set Nodes;  set Kinds;
  param kind[Nodes] within Kinds;  param team[Jobs] within Teams;
  param submitted[Jobs] in h;  param length[Jobs] in h > 0;
  param remaining[Jobs] default 1;  param gpus[Jobs] default 1;
  param used[Teams] in h default 0[h];  param half_life in h default 1[h];
  param received[Jobs, Kinds] in h default 0[h];  param since_start[Jobs] in h default 0[h];
  param was_running[Jobs] default 0;  param restarts[Jobs] default 0;
  var run[Jobs, Nodes] binary;
  maximize served: sum[j in Jobs, n in Nodes] run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint alone[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
  placement run[j, n] { job j;  node n;  lasts remaining[j] * length[j]; }
}
policy Shortest for Shares { order j in Jobs by length[j]; place new_node exclusive, wait; }
online Loop for Shares {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  CARRY
}
scenario S for Shares {
  Kinds = { fast };  table Nodes: kind = n1 fast;  Teams = { red, blue };
  table Jobs: submitted[h] length[h] team = a 0 4 red  b 1 1 blue  c 3 2 red;
}
"""


def states(*targets: str) -> list[tuple[float, dict[str, list[float]]]]:
    """The time of each plan, and the accumulated values in it."""
    found = []

    def note(loop: SimulationLoop) -> None:
        assert loop.past is not None
        found.append((loop.world.now, {name: k.values.tolist() for name, k in loop.past.kept.items()}))

    given: dict[str, Any] = {"on_plan": note, "fast": False}
    driver(EVENTS.replace("CARRY", line_of(*targets)), "Loop", "S", "Shortest", **given).run()
    return found


def test_received_time_and_the_time_since_a_start() -> None:
    """`a` runs from 0 to 1, `b` from 1 to 2, `a` from 2 to 3, `c` from 3 to 5, `a` from 5 to 7."""
    found = states("received[j, k]", "since_start[j]")
    assert [time for time, _ in found] == pytest.approx([0, 1, 2, 3, 5])
    assert [values["received"][0] for _, values in found] == pytest.approx([0, 1, 1, 2, 2])
    assert [values["received"][1] for _, values in found[1:]] == pytest.approx([0, 1, 1, 1])  # from its arrival on
    assert found[-1][1]["received"][2] == pytest.approx(2.0)
    assert [values["since_start"][0] for _, values in found] == pytest.approx([0, 1, 0, 1, 0])


def test_restarts_are_counted_once_each() -> None:
    """`a` gives way at 1 and at 3."""
    found = states("was_running[j]", "restarts[j]")
    assert [values["restarts"][0] for _, values in found] == pytest.approx([0, 0, 1, 1, 2])
    assert found[1][1]["restarts"] == pytest.approx([0, 0])


def test_a_half_life_decays_what_was_used() -> None:
    """An hour leaves 1 / (2 ln 2) of itself at its end, the two hours of `c` three quarters of 1 / ln 2."""
    found, hour = states("used[t]"), 0.5 / math.log(2)
    assert [values["used"] for _, values in found] == [
        pytest.approx([red * hour, blue * hour])
        for red, blue in ([0, 0], [1, 0], [0.5, 1], [1.25, 0.5], [0.3125 + 1.5, 0.125])
    ]


MOVES = """
model Places {
  set Jobs;  set Nodes;
  param gain[Nodes];  param weight[Jobs];  param room[Nodes];
  param submitted[Jobs] in h;  param remaining[Jobs] default 1;
  param was[Jobs, Nodes] binary default 0;
  let moves[j in Jobs] = sum[n in Nodes, m in Nodes where n != m] was[j, m] * run[j, n];
  var run[Jobs, Nodes] binary;
  maximize gained: sum[j in Jobs, n in Nodes] weight[j] * gain[n] * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint stays[j in Jobs where sum[n in Nodes] was[j, n] == 1]: sum[n in Nodes] run[j, n] == 1;
  constraint after[n in Nodes]: sum[j in Jobs] run[j, n] <= room[n];
  LIMIT
  placement run[j, n] { job j;  node n;  uses 1 of room[n];  lasts remaining[j] * 10[h]; }
}
online Loop for Places {
  arrive j in Jobs at submitted[j];
  replan on arrival;
  carry remaining[j] = remaining[j];
  CARRY
}
scenario S for Places {
  table Nodes: gain room = good 3 1  fair 2 1  poor 1 1;
  table Jobs: submitted[h] weight = a 0 1  b 1 2  c 2 4;
}
"""
AT_ONCE = (
    """constraint during[n in Nodes]: sum[j in Jobs] (was[j, n] + run[j, n] - was[j, n] * run[j, n]) <= room[n];"""
)


@pytest.mark.parametrize(
    ("limit", "places"),
    [
        ("", ["good", "fair good", "poor fair good"]),  # each arrival displaces all others
        ("constraint few: sum[j in Jobs] moves[j] <= 1;", ["good", "fair good", "fair poor good"]),
        ("constraint few: sum[j in Jobs] moves[j] <= 0;", ["good", "good fair", "good fair poor"]),
        (AT_ONCE, ["good", "good fair", "good fair poor"]),
    ],
)
def test_limits_on_moves_between_two_plans(limit: str, places: list[str]) -> None:
    names, found = ["good", "fair", "poor"], []

    def note(loop: SimulationLoop) -> None:
        found.append(" ".join(names[at] for at in loop.world.place.tolist() if at >= 0))

    text = MOVES.replace("CARRY", line_of("was[j, n]")).replace("LIMIT", limit)
    driver(text, "Loop", "S", "highs", on_plan=note, fast=False).run()
    assert found == places


def test_each_line_of_the_page_is_here() -> None:
    tested = {
        "next_month",
        "top",
        "last_power",
        "used",
        "used[t]",
        "received[j, k]",
        "since_start[j]",
        "was_running[j]",
        "restarts[j]",
        "was[j, n]",
    }
    assert {re.match(r"carry (.*?) =", line).group(1) for line in LINES if line.strip()} == tested  # type: ignore[union-attr]
