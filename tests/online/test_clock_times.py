"""`replan at`: plans when the clock on the wall shows a time, in every kind of run, also where clocks change."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from found_codes import raises_code
from live_windows import live as live_window
from live_windows import longer, window_setup
from live_windows import simulated as simulated_window
from online_texts import MACHINES, driver, setup
from test_rollouts import compared
from window_cases import drawn_window

from gpusched_dsl.online.history import stretches_of
from gpusched_dsl.online.loops import events
from gpusched_dsl.online.loops.branching import fork
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.loops.external import ExternalEventLoop
from gpusched_dsl.online.planners.protocol import FutureCost

BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2026, 10, 23, tzinfo=BERLIN)  # a Friday; the clock goes back on the 25th
CALENDAR = 'calendar from "2026-10-23 00:00" in "Europe/Berlin";'
ONLY_AT = """
online At for Machines {
  arrive j in Jobs at submitted[j];
  replan at 9:00, 18:00 on weekdays;
  carry remaining[j] = remaining[j];
}
"""


def clock(hour: float) -> datetime:
    return (START.astimezone(UTC) + timedelta(hours=hour)).astimezone(BERLIN)


def scenario(nodes: int, jobs: list[tuple[float, float]], calendar: str = CALENDAR) -> str:
    names = ", ".join(f"n{n}" for n in range(nodes))
    rows = "  ".join(f"j{i} {at!r} {length!r}" for i, (at, length) in enumerate(jobs))
    return (
        f"scenario S for Machines {{ {calendar} Nodes = {{ {names} }}; table Jobs: submitted[h] length[h] = {rows}; }}"
    )


def with_tardiness(text: str) -> str:
    """The text with jobs that are due an hour after their arrival, so that their order counts."""
    changes = {"due_in[Jobs] in h default 1000;": "due_in[Jobs] in h default 1;", "$/h default 0;": "$/h default 2;"}
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def by_the_clock(until: float, *, weekends: bool = False) -> list[float]:
    """The hours at which the clock shows 9:00 or 18:00 on a weekday (and with `weekends` 12:00 on others)."""
    found = []
    for quarter in range(int(4 * until)):
        at = clock(quarter / 4)
        due = (9, 18) if at.isoweekday() <= 5 else (12,) if weekends else ()
        if at.minute == 0 and at.hour in due:
            found.append(quarter / 4)
    return found


def simulated(jobs: list[tuple[float, float]], due: list[float], nodes: int) -> tuple[list[float], dict[int, float]]:
    """Plans and starts: at each clock time with jobs, those that wait start on free nodes, in the order they came."""
    plans, starts, ends = [], {}, {}
    for time in due:
        present = [j for j, (at, _) in enumerate(jobs) if at <= time and ends.get(j, np.inf) > time]
        if not present:
            continue
        plans.append(time)
        free = nodes - sum(j in starts for j in present)
        for j in sorted((j for j in present if j not in starts), key=lambda j: (jobs[j][0], j))[:free]:
            starts[j] = time
            ends[j] = time + jobs[j][1]
    return plans, starts


def some_jobs(seed: int) -> list[tuple[float, float]]:
    """Jobs of a week; some come exactly at a clock time."""
    draw = random.Random(seed)
    times = [draw.choice([draw.uniform(0, 150), draw.choice([9.0, 18.0, 82.0, 91.0])]) for _ in range(9)]
    return [(round(at, 3), round(draw.uniform(0.5, 40), 3)) for at in sorted(times)]


def starts_of(loop: EventLoop) -> dict[int, float]:
    return {j: float(at) for j, at in enumerate(loop.world.first_start) if np.isfinite(at)}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weekends", [False, True])
def test_a_run_plans_at_clock_times_only(seed: int, weekends: bool) -> None:
    jobs = some_jobs(seed)
    block = ONLY_AT.replace("carry", "replan at 12:00 on saturday, sunday; carry" if weekends else "carry", 1)
    loop = driver(MACHINES + block + scenario(2, jobs), "At", "S")
    assert isinstance(loop, EventLoop)
    outcome = loop.run()
    due = by_the_clock(700, weekends=weekends)
    plans, starts = simulated(jobs, due, 2)
    assert [step.time for step in loop.steps] == pytest.approx(plans, rel=1e-9)
    assert starts_of(loop) == pytest.approx(starts, rel=1e-9)
    assert outcome.ended == "finished"
    assert "the run has `replan at`, not only arrivals and completions" in loop.event_by_event


def test_clock_times_beside_events_and_a_period() -> None:
    """A plan for each arrival, each clock time and 5 hours after the last plan, while there are jobs."""
    block = ONLY_AT.replace("replan at", "replan on arrival, every 5[h]; replan at")
    loop = driver(MACHINES + block + scenario(1, [(1.0, 22.0), (7.5, 1.0)]), "At", "S")
    assert isinstance(loop, EventLoop)
    loop.run()
    # the first job runs from 1 to 23, the second from the plan at 23 to 24
    assert [(step.time, step.why) for step in loop.steps] == [
        (1.0, ("arrival",)),
        (6.0, ("period",)),
        (7.5, ("arrival",)),
        (9.0, ("clock",)),
        (14.0, ("period",)),
        (18.0, ("clock",)),
        (23.0, ("period",)),
    ]


def test_a_job_that_never_fits_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """After many clock times in vain; their number is less here, for the time of the test."""
    monkeypatch.setattr(events, "MOST_IDLE_PERIODS", 50)
    loop = driver(MACHINES + ONLY_AT + scenario(0, [(1.0, 1.0)]), "At", "S")
    outcome = loop.run()
    assert outcome.ended == "stuck"
    assert [d.code for d in outcome.warnings] == ["GSM7005"]
    assert 50 <= len(loop.steps) <= 60


def test_clock_times_need_a_calendar() -> None:
    with raises_code("GSM1692", "At", at="replan at 9:00, 18:00 on weekdays;") as refused:
        setup(MACHINES + ONLY_AT + scenario(1, [(1.0, 1.0)], calendar=""), "At", "S")
    [diagnostic] = refused.value.diagnostics
    assert diagnostic.code == "GSM1692"
    assert diagnostic.help is not None
    assert "calendar from" in diagnostic.help


def test_lines_of_other_days_are_inherited() -> None:
    block = ONLY_AT + "online More for Machines extends At { replan at 7:30 on sunday; replan at 10:00 on weekdays; }"
    found = setup(MACHINES + block + scenario(1, [(1.0, 1.0)]), "More", "S").online.clock_times
    assert {(rule.hours, rule.days) for rule in found} == {((10.0,), (1, 2, 3, 4, 5)), ((7.5,), (7,))}


# --- slots -----------------------------------------------------------------------------------------------------------

SLOTTED = """
model Slotted {
  set Jobs; set Slots ordered;
  param submitted[Jobs];  param hours[Jobs] in h;
  var train[Jobs, Slots] binary;
  minimize cost in $: sum[j in Jobs, h in Slots] -1[$] * train[j, h];
  constraint one[h in Slots]: sum[j in Jobs] train[j, h] <= 1;
  constraint enough[j in Jobs]: sum[h in Slots] LENGTH * train[j, h] <= hours[j];
  placement train[j, h] { job j; slot h; lasts LENGTH; }
}
online Loop for Slotted {
  window h in Slots lookahead 100 commit 100;
  arrive j in Jobs at submitted[j];
  work hours[j];
  speed LENGTH;
  replan at 9:00, 18:30;
  carry hours[j] = hours[j] - done[j];
}
scenario S for Slotted {
  CALENDAR
  Slots = 0..99;
  table Jobs: submitted hours[h] = a 0 30  b 0 1;
}
"""


@pytest.mark.parametrize("length", [0.5, 1.0, 4.0])
def test_with_a_window_the_next_slot_plans(length: float) -> None:
    text = SLOTTED.replace("LENGTH", f"{length}[h]").replace("CALENDAR", CALENDAR)
    loop = driver(text, "Loop", "S", "highs")
    loop.run()
    wanted = [0.0]
    for slot in range(1, 100):
        times = [clock((slot - 1) * length + quarter * 0.25) for quarter in range(1, int(4 * length) + 1)]
        if any((at.hour, at.minute) in ((9, 0), (18, 30)) for at in times):
            wanted.append(slot * length)
    assert [step.time for step in loop.steps] == pytest.approx(wanted)


# --- live ------------------------------------------------------------------------------------------------------------


def live(text: str, ticks: list[float], jobs: list[tuple[float, float]], starts: dict[int, float]) -> list[float]:
    """The times of the plans of a live run that sees ticks and completions."""
    loop = driver(text, "At", "S", external=True)
    assert isinstance(loop, ExternalEventLoop)
    ends = [(at + jobs[j][1], {"kind": "completion", "job": f"j{j}"}) for j, at in starts.items()]
    for time, event in sorted([*((time, {"kind": "tick"}) for time in ticks), *ends], key=lambda pair: pair[0]):
        loop.on_event({"time": time, **event})
    assert starts_of(loop) == pytest.approx(starts)
    return [step.time for step in loop.steps]


@pytest.mark.parametrize("seed", range(4))
def test_a_live_run_with_ticks_plans_as_the_simulation_does(seed: int) -> None:
    jobs = some_jobs(seed)
    due = by_the_clock(700)
    plans, starts = simulated(jobs, due, 2)
    arrivals = [at for at, _ in jobs]
    found = live(MACHINES + ONLY_AT + scenario(2, jobs), sorted({*due, *arrivals}), jobs, starts)
    assert found == pytest.approx(plans)


def test_a_late_tick_makes_up_for_one_clock_time() -> None:
    """Nothing is heard from 8:00 on Friday to 19:00: one plan, then; no plan for times before any job was there."""
    jobs = [(1.0, 100.0), (2.0, 1.0)]
    loop = driver(MACHINES + ONLY_AT + scenario(1, jobs), "At", "S", external=True)
    assert isinstance(loop, ExternalEventLoop)
    for time in (8.0, 19.0, 20.0):
        loop.on_event({"kind": "tick", "time": time})
    assert [(step.time, step.why) for step in loop.steps] == [(19.0, ("clock",))]

    loop = driver(MACHINES + ONLY_AT + scenario(1, [(20.0, 1.0)]), "At", "S", external=True)
    assert isinstance(loop, ExternalEventLoop)
    for time in (8.0, 20.0, 21.0, 82.0):
        loop.on_event({"kind": "tick", "time": time})
    assert [step.time for step in loop.steps] == [82.0]  # Monday at 9:00, with the 25 hours of Sunday


@pytest.mark.parametrize("seed", range(6))
def test_a_live_run_by_slots_plans_as_the_simulation_does(seed: int) -> None:
    case = longer(drawn_window(seed))
    text = re.sub(r"(online Block[^{]*\{)", r"\1 replan at 1:00, 3:30, 4:30, 7:00;", case.text)
    text = re.sub(r"(scenario [^{]*\{)", rf"\1 {CALENDAR}", text)
    expected, events = simulated_window(window_setup(text, "Block", None, case.method), case.horizon)
    found, _, _ = live_window(window_setup(text, "Block", None, case.method, external=True), events, case.horizon)
    assert found.running == expected.running
    assert [(at, why) for at, why, _ in found.plans] == [(at, why) for at, why, _ in expected.plans]
    assert found.costs == pytest.approx(expected.costs, abs=1e-9)
    assert any("clock" in why for _, why, _ in found.plans)


# --- copies and rollouts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_copy_of_a_run_plans_at_the_same_times(seed: int) -> None:
    jobs = some_jobs(seed)
    loop = driver(MACHINES + ONLY_AT + scenario(2, jobs), "At", "S", fast=False)
    assert isinstance(loop, EventLoop)
    for _ in range(8):
        loop.step()
    other = fork(loop, 0)
    one, two = loop.run(), other.run()
    assert [step.time for step in loop.steps] == [step.time for step in other.steps]
    assert one.total == pytest.approx(two.total)


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("order", ["-submitted[j]", "(if weekday(now) <= 5 then left[j] / 1[h] else -left[j] / 1[h])"])
def test_rollouts_on_arrays_are_those_of_the_run(seed: int, order: str) -> None:
    policies = f"""
    policy Q for Machines {{ order j in Jobs by {order}; place new_node exclusive, wait; }}
    policy P for Machines {{ portfolio FIFO, Q; continue with Q; }}
    """
    block = ONLY_AT.replace("carry", "carry due_in[j] = due_in[j] - now; carry", 1)
    loop = driver(with_tardiness(MACHINES) + block + policies + scenario(2, some_jobs(seed)), "At", "S", "P")
    assert isinstance(loop, EventLoop)
    found: list[tuple[FutureCost, FutureCost]] = []
    with compared(found):
        loop.run()
    assert len(found) >= 2
    np.testing.assert_allclose([light for light, _ in found], [exact for _, exact in found], rtol=1e-9)


# --- functions of the clock in runs ----------------------------------------------------------------------------------

BY_EVENTS = """
online Run for Machines {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
  CARRY
}
policy P for Machines { order j in Jobs by KEY; place new_node exclusive, wait; keep running; }
"""
CLOCKED = MACHINES.replace(
    "param rent in $/h default 1;", "param rent in $/h default 1; param clock in h default 0[h];"
)
NIGHTS = "(if hour_of_day(now) < 8[h] then submitted[j] / 1[h] else -submitted[j] / 1[h])"


@pytest.mark.parametrize(
    ("key", "carry", "reason"),
    [("weekday(submitted[j]), submitted[j]", "", ""),
     (NIGHTS, "", "the time changes"),
     ("weekday(clock), submitted[j]", "carry clock = now;", "`clock` is carried from plan to plan"),
     ("submitted[j]", "carry rent = if hour_of_day(now) < 8[h] then 1[$/h] else 3[$/h];", "`rent` is carried")],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_fast_replay_gives_way_to_functions_of_the_clock(seed: int, key: str, carry: str, reason: str) -> None:
    jobs = [(at / 4, length / 4) for at, length in some_jobs(seed)]
    text = CLOCKED + BY_EVENTS.replace("KEY", key).replace("CARRY", carry) + scenario(2, jobs)
    fast, each = (driver(text, "Run", "S", "P", fast=fast) for fast in (True, False))
    one, two = fast.run(), each.run()
    assert one.total == pytest.approx(two.total, rel=1e-12)
    assert starts_of(fast) == pytest.approx(starts_of(each), rel=1e-12)  # type: ignore[arg-type]
    assert any(reason in why for why in fast.event_by_event) if reason else not fast.event_by_event


@pytest.mark.parametrize("seed", range(3))
def test_rollouts_follow_a_carried_clock(seed: int) -> None:
    key = "(if hour_of_day(clock) < 8[h] or is_holiday(clock) then left[j] / 1[h] else -left[j] / 1[h])"
    block = BY_EVENTS.replace("KEY", key).replace("CARRY", "carry clock = now; carry due_in[j] = due_in[j] - now;")
    text = with_tardiness(CLOCKED) + block.replace("keep running;", "")
    text += "policy Q for Machines { portfolio FIFO, P; continue with P; }" + scenario(
        2,
        [(at / 4, length / 4) for at, length in some_jobs(seed)],
        CALENDAR.replace(";", ' holidays { "2026-10-24" };'),
    )
    loop = driver(text, "Run", "S", "Q")
    assert isinstance(loop, EventLoop)
    found: list[tuple[FutureCost, FutureCost]] = []
    with compared(found):
        loop.run()
    assert found
    np.testing.assert_allclose([light for light, _ in found], [exact for _, exact in found], rtol=1e-9)


def test_a_charge_by_slots_reads_the_clock() -> None:
    """Slots of an hour over the change of clocks: 3 $ from 9 to 18 o'clock, else 1 $, for each hour of training."""
    text = SLOTTED.replace("LENGTH", "1[h]").replace("CALENDAR", CALENDAR).replace("commit 100", "commit 10")
    charge = """
      charge tariff[h in Slots] in $ =
        (if 9[h] <= hour_of_day(at[h]) < 18[h] then 3[$] else 1[$]) * sum[j in Jobs] train[j, h];
      carry hours"""
    text = text.replace("set Slots ordered;", "set Slots ordered; param at[Slots] in h;").replace("carry hours", charge)
    text = text.replace("Slots = 0..99;", "Slots = 0..99; at[h in Slots] = (ord(h) - 1) * 1[h];").replace(
        "a 0 30", "a 0 90"
    )
    outcome = driver(text, "Loop", "S", "highs").run()
    found = stretches_of(outcome.world)
    hours = np.concatenate([np.arange(round(a), round(b)) for a, b in zip(found.start, found.end, strict=True)])
    assert len(hours) == 91
    prices = [3.0 if 9 <= clock(float(hour)).hour < 18 else 1.0 for hour in hours]
    assert outcome.world.ledger.totals["tariff"] == pytest.approx(sum(prices))
