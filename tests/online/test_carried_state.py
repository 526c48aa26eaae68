"""Values that accumulate from plan to plan, against values that were computed by hand.

Each program is one that a user writes first; it gives the right value, or `check` refuses it with the line to write.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from online_texts import driver, run, setup

from gpusched_dsl.language.blocks.online.online_block import check_online
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.history import stretches_of
from gpusched_dsl.online.journal.recorder import Recorder
from gpusched_dsl.online.loops import forgetting
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.branching import fork
from gpusched_dsl.online.open import loop_of
from gpusched_dsl.online.run_info import RunInfo

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
    (
        "carry state = if now < 3 then previous(state) else state + load[committed];",
        "GSM1649",
        "carry state = if now < 3 then previous(state) else previous(state) + load[committed];",
    ),
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
        "carry state = max(previous(state), executed(max[h in Slots] load[h]));",
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


def test_a_branch_may_return_to_the_value_of_the_scenario() -> None:
    line = "carry state = if now mod 2 == 0 then state else max(previous(state), load[committed]);"
    assert reports(slots(line)) == []
    assert reports(slots("carry state = max(state, previous(state), load[committed]);")) == []


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


def test_rows_over_what_present_jobs_have_had_are_told() -> None:
    """A budget that adds up the work done by present jobs forgets those that ended."""
    had = "param had[Jobs] in h default 0[h];  var train"
    row = "constraint kept: sum[j in Jobs] watts[j] * had[j] + sum[h in Slots] 1[h] * power[h] <= budget;  placement"
    text = (
        slots("carry had[j] = done[j];")
        .replace("var train", had)
        .replace("constraint kept: used", "constraint old: used")
    )
    [found] = reports(text.replace("placement", row))
    assert (found.code, found.severity.value) == ("GSM1682", "warning")
    assert found.primary is not None
    used = row.replace("watts[j] * had[j]", "had[j] * sum[h in Slots] watts[j] * train[j, h] / 1[h]")
    assert reports(text.replace("placement", used)) == []  # a coefficient of a decision of the job


def test_a_team_pays_for_its_jobs_that_have_ended() -> None:
    """Red has used 1 h when red and blue wait: blue is first, though red came first."""
    outcome = run(teams(USED), "Loop", "S", "Fair")
    assert outcome.world.first_start.tolist() == pytest.approx([0.0, 6.0, 1.0])


def test_the_rate_of_the_last_plan_counts_a_job_that_ends_at_this_event() -> None:
    """At 1 h the job of red has just ended; its rate in the last plan is 1, so blue is first."""
    line = "carry used[t] = sum[j in Jobs, n in Nodes where team[j] == t] 1[h] * run[j, n];"
    outcome = run(teams(line), "Loop", "S", "Fair")
    assert outcome.world.first_start.tolist() == pytest.approx([0.0, 6.0, 1.0])


# --- the same numbers by other means ---------------------------------------------------------------------------------

DECAYED = (
    "carry used[t] = previous(used[t]) * 0.5 ^ (elapsed / half_life)"
    " + executed(sum[j in Jobs, n in Nodes where team[j] == t] run[j, n]);"
    "carry seen = previous(seen) + elapsed;"
)
OUTAGES = "outage n in Nodes every exponential(mean = 2[h]) lasting 0.3[h];"


def crowd(seed: int, events: str, more: str = "") -> str:
    """Twelve jobs of two teams on two nodes, with gaps in which the cluster is empty."""
    draw = random.Random(seed)
    rows = "  ".join(
        f"j{i} {draw.uniform(0, 12):.3f} {draw.uniform(0.1, 2):.3f} {draw.choice(['red', 'blue'])}" for i in range(12)
    )
    text = teams(DECAYED + more, events)
    first = text.index("scenario S")
    return text[:first] + (
        "scenario S for Shares { Nodes = { n1, n2 };  Teams = { red, blue };"
        f" table Jobs: submitted[h] length[h] team = {rows}; }}"
    )


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("events", "more"),
    [
        ("arrival, completion", ""),
        ("every 0.7[h]", ""),
        ("arrival, every 3[h]", OUTAGES),
        ("completion, every 2[h]", ""),
    ],
)
def test_decayed_usage_of_teams_is_that_of_the_history(seed: int, events: str, more: str) -> None:
    """At each plan, usage follows from where the jobs really were, which the run reports at its end."""
    seen: list[tuple[float, list[float], float]] = []

    def note(loop: SimulationLoop) -> None:
        assert loop.past is not None
        kept = loop.past.kept
        seen.append((loop.world.now, kept["used"].values.tolist(), float(kept["seen"].values[0])))

    outcome = driver(crowd(seed, events, more), "Loop", "S", "Fair", on_plan=note, fast=False).run()
    found, teams_of = stretches_of(outcome.world), outcome.base.store.params["team"].values
    expected, last = [0.0, 0.0], seen[0][0]
    assert len(seen) > 5
    for time, used, span in seen:
        for team in (0, 1):
            of_team = teams_of[found.job] == team
            inside = found.end[of_team].clip(last, time) - found.start[of_team].clip(last, time)
            expected[team] = expected[team] * 0.5 ** (time - last) + inside.sum()
        assert used == pytest.approx(expected, abs=1e-9)
        assert span == pytest.approx(time - seen[0][0])
        last = time


def _after(calls: int) -> Callable[[], bool]:
    """Return a function that is true after so many calls."""
    count = itertools.count()
    return lambda: next(count) >= calls


def test_a_run_that_stops_and_continues_in_its_journal_has_the_same_state(tmp_path: Path) -> None:
    text = crowd(1, "arrival, completion, failure", OUTAGES)
    whole = driver(text, "Loop", "S", "Fair", fast=False)
    outcome = whole.run()
    stateless = replace(setup(text, "Loop", "S", "Fair")).stateless()
    about = RunInfo("Fair", None, "S", {}, {}, {})
    again = whole
    for steps in (9, 40, 100_000):
        with Recorder(tmp_path / "run.db", stateless, about) as recorder:
            again = loop_of(stateless, journal=recorder.steps, fast=False, stop=_after(steps))
            ended = again.run()
    assert ended.world.end.tolist() == outcome.world.end.tolist()
    assert whole.past is not None
    assert again.past is not None
    for name, values in whole.past.kept.items():
        assert again.past.kept[name].values.tolist() == values.values.tolist()


def test_a_copy_of_a_run_has_its_own_past() -> None:
    text = crowd(2, "arrival, completion")
    loop = driver(text, "Loop", "S", "Fair", fast=False)
    while loop.step_count < 5:
        loop.step()
    other = fork(loop, 0)
    before = loop.past
    while not other.step():
        pass
    assert loop.past is before
    assert other.past is not before
    rest = loop.run()
    assert rest.world.end.tolist() == other.world.end.tolist()


def test_fast_replay_gives_way_where_the_policy_reads_the_state() -> None:
    text = crowd(3, "arrival, completion")
    fast, slow = run(text, "Loop", "S", "Fair"), driver(text, "Loop", "S", "Fair", fast=False).run()
    assert any("`used` is carried" in reason for reason in fast.event_by_event)
    assert fast.world.end.tolist() == slow.world.end.tolist()


LIVE_MODEL = """
import "gsdsl:trace_replay/policies.gsm";
model Shares extends TraceReplay { param used in h default 0[h];  param ended in h default 0[h]; }
policy Fair for Shares { order j in Jobs by submitted[j]; place best_fit, new_node, wait; keep running; }
online Live for Shares {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
  carry clock = now;
  carry used = previous(used) * 0.5 ^ (elapsed / 1[h]) + executed(sum[j in Jobs, n in Nodes] needs[j] * run[j, n]);
  MORE
}
scenario S for Shares { Nodes = { n1 };  gpus["n1"] = 4;  Jobs = { }; }
"""


def live_used(folder: Path, more: str = "") -> tuple[list[float], int]:
    """The usage at each plan of a live run of jobs that come and end, and the jobs that it still knows."""
    import gpusched_dsl

    path = folder / "live.gsm"
    path.write_text(LIVE_MODEL.replace("MORE", more))
    loop: Any = gpusched_dsl.load(path).live("S", online="Live", method="Fair")._loop
    used = []
    for number in range(12):
        values = {"submitted": float(number), "needs": 1 + number % 3, "exec_time": 1}
        loop.on_event({"kind": "arrival", "time": float(number), "job": f"j{number}", "values": values})
        used.append(float(loop.past.kept["used"].values[0]))
        loop.on_event({"kind": "completion", "time": number + 0.5 + 0.03 * number, "job": f"j{number}"})
    return used, len(loop.world.status)


def test_a_long_live_run_forgets_jobs_and_not_what_they_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, everything = live_used(tmp_path)
    by_hand, value = [0.0], 0.0
    for number in range(11):
        value = value * 0.5 + (1 + number % 3) * (0.5 + 0.03 * number)
        by_hand.append(value)
    assert expected == pytest.approx(by_hand)
    monkeypatch.setattr(forgetting, "KEPT", 1)
    found, kept = live_used(tmp_path)
    assert found == expected
    assert kept < 5 < everything == 12
    assert live_used(tmp_path, "carry ended = 1[h] * sum[j in Jobs] done[j];")[1] == 12  # reads jobs that have ended


BY_EVENTS = """
model M {
  set Jobs;  set Nodes;
  param submitted[Jobs] in h;  param left[Jobs] in h default 1[h];  param power[Jobs] in kW default 1[kW];
  param energy in kWh default 0[kWh];  param last in kWh default 0[kWh];  param waits[Jobs] in h default 0[h];
  var run[Jobs, Nodes] binary;
  maximize served: sum[j in Jobs, n in Nodes] (1 + energy / 1[kWh] + last / 1[kWh] + waits[j] / 1[h]) * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  placement run[j, n] { job j;  node n;  lasts left[j]; }
}
online O for M {
  arrive j in Jobs at submitted[j];
  carry left[j] = remaining[j] * left[j];
  LINE
}
"""
WORK = "sum[j in Jobs] power[j] * left[j] *"


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("carry energy = previous(energy) + elapsed * sum[j in Jobs, n in Nodes] power[j] * run[j, n];", True),
        ("carry energy = previous(energy) + sum[j in Jobs, n in Nodes] elapsed * power[j] * run[j, n];", True),
        ("carry energy = previous(energy) + (sum[j in Jobs] power[j] * running[j]) * elapsed;", True),
        ("carry energy = previous(energy) + executed(sum[j in Jobs, n in Nodes] power[j] * run[j, n]);", False),
        ("carry waits[j] = if running[j] > 0.5 then previous(waits[j]) else previous(waits[j]) + elapsed;", False),
        (f"carry energy = previous(energy) + {WORK} (1 - remaining[j]);", True),
        (f"carry energy = previous(energy) + {WORK} done[j];", True),
        (f"carry energy = previous(energy) * 0.5 ^ (elapsed / 1[h]) + {WORK} done[j];", True),
        (f"carry energy = max(previous(energy), {WORK} remaining[j]);", False),
        (f"carry energy = {WORK} done[j];", False),
        (f"carry energy = previous(energy) + ({WORK} done[j]) - previous(last); carry last = {WORK} done[j];", False),
    ],
)
def test_what_is_added_to_previous_is_of_the_time_since_the_last_plan(line: str, reported: bool) -> None:
    found = Diagnostics()
    workspace = workspace_from_text(BY_EVENTS.replace("LINE", line), "test.gsm", found)
    check_online(workspace, workspace.onlines["O"], found)
    assert [d.severity.value for d in found if d.code == "GSM1649"] == ["warning"] * reported


COUNTS = """
model M {
  set Jobs;  set Nodes;
  param submitted[Jobs] in h;  param length[Jobs] in h;  param remaining[Jobs] > 0 <= 1 default 1;
  param ended default 0;  param there default 0;
  var run[Jobs, Nodes] binary;
  maximize served: sum[j in Jobs, n in Nodes] (1 + ended + there) * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint alone[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
  placement run[j, n] { job j;  node n;  lasts remaining[j] * length[j]; }
}
policy FIFO for M { order j in Jobs by submitted[j]; place new_node exclusive, wait; keep running; }
online Loop for M {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
  carry ended = count[j in Jobs where remaining[j] <= 0];
  carry there = count[j in Jobs where remaining[j] > 0];
}
scenario S for M { Nodes = { n1 };  table Jobs: submitted[h] length[h] = a 0 2.3  b 1 0.7  c 2.5 3  d 20 1; }
"""


def test_nothing_remains_of_a_job_that_has_ended() -> None:
    """Jobs can be counted by their state: `a` ends at 2.3, `b` at 3, `c` at 6."""
    seen: list[tuple[float, float, float]] = []

    def note(loop: SimulationLoop) -> None:
        assert loop.instance is not None
        ended, there = (float(loop.instance.store.params[name].values[0]) for name in ("ended", "there"))
        seen.append((loop.world.now, ended, there))

    given: dict[str, Any] = {"on_plan": note, "fast": False}
    driver(COUNTS, "Loop", "S", "FIFO", **given).run()
    assert seen == [
        pytest.approx(one) for one in [(0, 0, 1), (1, 0, 2), (2.3, 1, 1), (2.5, 1, 2), (3, 2, 1), (20, 3, 1)]
    ]
