"""Values that accumulate from plan to plan, against values that were computed by hand.

Each program is one that a user writes first; it gives the right value, or `check` refuses it with the line to write.
"""

from __future__ import annotations

import pytest
from online_texts import run

from gpusched_dsl.language.blocks.online.online_block import check_online
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text

# Jobs of one hour on a node without limits; a slot without a job costs 100 $ for each job that waits.
SLOTS = """
model Power {
  set Jobs;  set Slots ordered;
  param watts[Jobs] in kW;  param hours[Jobs] in h default 1[h];  param arrives[Jobs];
  param state in kW >= 0 default 0[kW];
  param used in kWh >= 0 default 0[kWh];
  param budget in kWh default 1000[kWh];
  var train[j in Jobs, h in Slots] binary;
  var load[Slots] in kW >= 0;
  var over in kW >= 0;
  let power[h in Slots] in kW = sum[j in Jobs] watts[j] * train[j, h];
  minimize cost in $ {
    demand: 1[$/kW] * over;
    wait: sum[j in Jobs, h in Slots] 100[$/h] * (1[h] - 1[h] * train[j, h]);
  }
  constraint loads[h in Slots]: load[h] == power[h];
  constraint above[h in Slots]: power[h] - state <= over;
  constraint enough[j in Jobs]: sum[h in Slots] 1[h] * train[j, h] <= hours[j];
  constraint kept: used + sum[h in Slots] 1[h] * power[h] <= budget;
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
  charge demand in $ = sum[h in Slots] 1[$/kW] * over;
}
scenario S for Power { Slots = 0..SLOTS;  BUDGET table Jobs: watts[kW] arrives = JOBS; }
"""
THREE = "a 10 0  b 10 1  c 10 2"


def slots(carry: str, jobs: str = THREE, last: int = 3, budget: int | None = None) -> str:
    text = SLOTS.replace("CARRY", carry).replace("JOBS", jobs).replace("SLOTS", str(last))
    return text.replace("BUDGET", "" if budget is None else f"budget = {budget}[kWh];")


def reports(text: str) -> list[Diagnostic]:
    """What is told of the blocks and policies of a text, except warnings of other kinds."""
    found = Diagnostics()
    workspace = workspace_from_text(text, "test.gsm", found)
    for online in workspace.onlines.values():
        check_online(workspace, online, found)
    for policy in workspace.policies.values():
        check_policy(workspace, policy, found)
    return [d for d in found if d.code in ("GSM1649", "GSM1680", "GSM1681", "GSM1682")]


@pytest.mark.parametrize("read", ["power[committed]", "load[committed]"])
def test_the_power_of_the_last_slot_counts_jobs_that_have_ended(read: str) -> None:
    """Three jobs one after the other: power rises once, from 0 to 10 kW."""
    outcome = run(slots(f"carry state = {read};"), "Loop", "S", "highs")
    assert outcome.total == pytest.approx(10.0)


def test_work_done_counts_jobs_that_have_ended() -> None:
    """Of four jobs of 10 kWh that arrive in turn, a budget of 25 kWh allows two."""
    jobs = "a 10 0  b 10 1  c 10 2  d 10 3"
    text = slots("carry used = sum[j in Jobs] watts[j] * done[j];", jobs, 4, budget=25)
    outcome = run(text, "Loop", "S", "highs")
    assert (outcome.world.done > 0.5).sum() == 2


def test_a_running_maximum() -> None:
    """A peak of 10 kW in slot 0 pays for 5 kW in slot 2."""
    text = slots("carry state = max(previous(state), load[committed]);", "a 10 0  b 5 2")
    assert run(text, "Loop", "S", "highs").total == pytest.approx(10.0)


@pytest.mark.parametrize(
    "line",
    [
        "carry used = previous(used) + sum[j in Jobs, h in Slots where h <= committed] 1[h] * watts[j] * train[j, h];",
        "carry used = previous(used) + executed(sum[h in Slots] 1[h] * power[h]);",
    ],
)
def test_a_budget_adds_up_executed_slots(line: str) -> None:
    jobs = "a 10 0  b 10 1  c 10 2  d 10 3"
    for commit in (1, 2):
        text = slots(line, jobs, 7, budget=25).replace("lookahead 1 commit 1", f"lookahead 3 commit {commit}")
        outcome = run(text.replace("every 1 slots", f"every {commit} slots"), "Loop", "S", "highs")
        assert (outcome.world.done > 0.5).sum() == 2


# The right side, what `check` underlines, and the line that it recommends.
REFUSED = [
    (
        "carry state = max(state, load[committed]);",
        "GSM1649",
        "carry state = max(previous(state), load[committed]);",
    ),
    ("carry state = min(load[committed], state);", "GSM1649", "carry state = min(load[committed], previous(state));"),
    ("carry state = state + load[committed];", "GSM1649", "carry state = previous(state) + load[committed];"),
    ("carry state = state * load[committed] / 1[kW];", "GSM1649", "previous(state) * load[committed]"),
    (
        "carry state = if load[committed] > 5[kW] then load[committed] else state;",
        "GSM1649",
        "else previous(state);",
    ),
    ("carry state = state + elapsed * 1[kW/h];", "GSM1649", "carry state = previous(state) + elapsed * 1[kW/h];"),
    ("carry used = used + executed(sum[h in Slots] 1[h] * power[h]);", "GSM1649", "previous(used) + executed("),
    ("carry state = state + 1[kW];", "GSM1680", "carry state = previous(state) + 1[kW];"),
    ("carry state = state;", "GSM1680", "or remove the line"),
    (
        "carry used = sum[h in Slots where h <= committed] 1[h] * power[h];",
        "GSM1649",
        "carry used = previous(used) + executed(sum[h in Slots] 1[h] * power[h]);",
    ),
    (
        "carry state = max[h in Slots where h <= committed] load[h];",
        "GSM1649",
        "carry state = max(previous(state), ...);",
    ),
    ("carry state = previous(budget) / 1[h];", "GSM1681", "read `budget` itself"),
    ("carry state = previous(2[kW]);", "GSM1681", "previous(used[t])"),
    ("carry used = executed(now * sum[h in Slots] 1[h] * power[h]);", "GSM1681", "move it out"),
]


@pytest.mark.parametrize(("line", "code", "help"), REFUSED)
def test_values_that_would_forget_earlier_plans_are_refused(line: str, code: str, help: str) -> None:
    [found] = reports(slots(line))
    assert found.code == code
    assert found.severity.value == "error"
    assert help in (found.help or "")
    with pytest.raises(DiagnosticError):
        run(slots(line), "Loop", "S", "highs")


WARNED = [
    ("carry state = load[committed - 1];", "before the last executed one"),
    ("carry used = sum[h in Slots where h > committed - 3 and h <= committed] 1[h] * power[h];", "before the last"),
    ("carry used = 1[kWh] * now;  carry state = used / 1[h] + 0 * load[committed];", None),
    ("carry used = previous(used) + 1[kWh];  carry state = used / 1[h];", "not that of the last plan"),
    ("carry state = if now > 3 then state else 1[kW] * now;", "not one that an earlier plan had"),
]


@pytest.mark.parametrize(("lines", "words"), WARNED)
def test_values_that_may_forget_earlier_plans_are_told(lines: str, words: str | None) -> None:
    found = reports(slots(lines))
    assert [(d.code, d.severity.value) for d in found] == ([] if words is None else [("GSM1649", "warning")])
    assert all(words in d.message for d in found if words is not None)


SOUND = [
    "carry budget = budget - 1[kWh] * now;",
    "carry used = used + sum[j in Jobs] watts[j] * done[j];",
    "carry state = if now > 3 then state else previous(state) + load[committed];",  # the scenario's value again
    "carry state = load[committed];",
    "carry used = previous(used) + elapsed * load[committed];",
]


@pytest.mark.parametrize("line", SOUND)
def test_values_that_are_right_are_not_told(line: str) -> None:
    assert reports(slots(line)) == []


# --- decisions at events ---------------------------------------------------------------------------------------------

TEAMS = """
model Shares {
  set Jobs;  set Teams;  set Nodes;
  param team[Jobs] within Teams;
  param submitted[Jobs] in h;  param length[Jobs] in h > 0;  param remaining[Jobs] default 1;
  param used[Teams] in h default 0[h];
  param rate[Teams] default 0;
  param seen in h default 0[h];
  param half_life in h default 1[h];
  var run[Jobs, Nodes] binary;
  maximize served: sum[j in Jobs, n in Nodes] run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint alone[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
  placement run[j, n] { job j;  node n;  lasts remaining[j] * length[j]; }
}
policy Fair for Shares { order j in Jobs by used[team[j]], submitted[j]; place new_node exclusive, wait; keep running; }
online Loop for Shares {
  arrive j in Jobs at submitted[j];
  replan on EVENTS;
  carry remaining[j] = remaining[j];
  CARRY
}
scenario S for Shares {
  Nodes = { n1 };  Teams = { red, blue };
  table Jobs: submitted[h] length[h] team = a 0 1 red  b 0.1 5 red  c 0.2 5 blue;
}
"""
USED = "carry used[t] = previous(used[t]) + executed(sum[j in Jobs, n in Nodes where team[j] == t] run[j, n]);"


def teams(carry: str, events: str = "arrival, completion") -> str:
    return TEAMS.replace("CARRY", carry).replace("EVENTS", events)


def test_executed_reads_no_derived_parameter_of_a_carried_one() -> None:
    text = teams("carry seen = previous(seen) + executed(sum[j in Jobs, n in Nodes] left[j] * run[j, n]) / 1[h];")
    text = text.replace("var run", "param left[j in Jobs] in h = remaining[j] * length[j];\n  var run")
    [found] = reports(text)
    assert (found.code, found.help) == ("GSM1681", "declare `left` as a `let`")


def test_a_team_pays_for_its_jobs_that_have_ended() -> None:
    """Red has used 1 h when red and blue wait: blue is first, though red came first."""
    outcome = run(teams(USED), "Loop", "S", "Fair")
    assert outcome.world.first_start.tolist() == pytest.approx([0.0, 6.0, 1.0])


def test_the_rate_of_the_last_plan_counts_a_job_that_ends_at_this_event() -> None:
    """At 1 h the job of red has just ended; its rate in the last plan is 1, so blue is first."""
    line = "carry used[t] = sum[j in Jobs, n in Nodes where team[j] == t] 1[h] * run[j, n];"
    outcome = run(teams(line), "Loop", "S", "Fair")
    assert outcome.world.first_start.tolist() == pytest.approx([0.0, 6.0, 1.0])
