"""Live runs slot by slot: they decide and pay what a simulated run does, whatever the events, gaps and kills."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from found_codes import message_values, raises_code
from live_toy import line
from live_windows import (
    CHEAP,
    Decisions,
    arrival,
    arrivals,
    live,
    longer,
    of_kind,
    records_of,
    runs,
    simulated,
    tick,
    window_setup,
    without_jobs,
)
from online_texts import ROLLING
from window_cases import WindowCase, as_planned, drawn_window

import gpusched_dsl
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.loops import forgetting
from gpusched_dsl.online.open import loop_of


def check_equal(text: str, online: str, scenario: str | None, method: str, slots: int) -> list[dict[str, Any]]:
    """Compare a live run with the simulated run that gave its events; return the records of the live run."""
    expected, events = simulated(window_setup(text, online, scenario, method), slots)
    found, records, loop = live(window_setup(text, online, scenario, method, external=True), events, slots)
    assert not [record for record in records if record["kind"] == "error"]
    assert_alike(found, expected)
    assert records[-1]["result"]["total"] == pytest.approx(loop.outcome("").total)
    return records


def assert_alike(found: Decisions, expected: Decisions) -> None:
    assert found.running == expected.running
    assert [(at, why) for at, why, _ in found.plans] == [(at, why) for at, why, _ in expected.plans]
    assert [values for _, _, values in found.plans] == [values for _, _, values in expected.plans]
    assert found.ends == pytest.approx(expected.ends)
    assert found.costs == pytest.approx(expected.costs, abs=1e-9)


@pytest.mark.parametrize("scenario", ["ValleysByNode", "ExclusionByNode"])
def test_price_aware_training_is_the_same_live(scenario: str) -> None:
    text = ROLLING.replace("lookahead 100", "lookahead 4")
    check_equal(text, "Rolling", scenario, "highs", 2)


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(k, marks=pytest.mark.slow) for k in range(12, 400))])
def test_random_blocks_are_the_same_live(seed: int) -> None:
    case = drawn_window(seed)
    check_equal(longer(case).text, "Block", None, case.method, case.horizon)


def check_arrivals(text: str, online: str, scenario: str | None, method: str, slots: int) -> None:
    """Compare with a live run that begins without jobs: all of them arrive by events, with their values."""
    setup = window_setup(text, online, scenario, method)
    expected, events = simulated(setup, slots)
    end = slots * setup.slot_length
    come = [event for event in arrivals(setup) if event["time"] < end - 1e-9]
    events = sorted([*come, *events], key=lambda event: (event["time"], event["kind"] == "tick"))
    found, records, _ = live(without_jobs(setup), events, slots)
    assert not [record for record in records if record["kind"] == "error"]
    assert_alike(found, expected)


@pytest.mark.quick(4)
@pytest.mark.parametrize("scenario", ["ValleysByNode", "DearRestartsByNode", "GapByNode", "GapDearBootsByNode"])
@pytest.mark.parametrize("block", ["Rolling", "SlotBySlot"])
def test_price_aware_jobs_arrive_by_events(scenario: str, block: str) -> None:
    """Over all six slots; added slots change nothing, since all jobs are due before them."""
    check_arrivals(
        ROLLING.replace("arrive b in Batch at 0;", "arrive b in Batch at arrives[b];"), block, scenario, "highs", 6
    )


def test_price_aware_services_are_served_live() -> None:
    check_arrivals(ROLLING.replace("lookahead 100", "lookahead 4"), "Rolling", "ExclusionByNode", "highs", 2)


def arriving(seed: int) -> WindowCase:
    """A case whose jobs take as long as stated, and arrive in the order of their names."""
    case = as_planned(drawn_window(seed))
    jobs = tuple(sorted(case.jobs, key=lambda job: math.ceil(job.arrives - 1e-9)))
    return longer(replace(case, jobs=jobs, laws=frozenset()))


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(k, marks=pytest.mark.slow) for k in range(8, 200))])
def test_jobs_of_random_blocks_arrive_by_events(seed: int) -> None:
    case = arriving(seed)
    check_arrivals(case.text, "Block", None, case.method, case.horizon - case.lookahead)


@pytest.mark.parametrize("seed", [2, 5, 9, 14, 41])
def test_slots_that_are_added_equal_slots_of_the_data(seed: int) -> None:
    """Values of added slots repeat those of the last one, which the simulated run has as data."""
    case = drawn_window(seed)
    expected, events = simulated(window_setup(longer(case).text, "Block", None, case.method), case.horizon)
    setup = window_setup(case.text, "Block", None, case.method, external=True)
    found, _, loop = live(setup, events, case.horizon)
    assert_alike(found, expected)
    assert loop.window.horizon > case.horizon, "a window reaches beyond the data"
    assert [w.code for w in loop.warnings()].count("GSM7051") >= 2


# --- by hand ----------------------------------------------------------------------------------------------------------


def test_a_plan_lists_its_later_slots_and_each_border_is_reported(tmp_path: Path) -> None:
    """A job of two hours takes the two hours at 1 $; of four hours, two are executed before the next plan."""
    lines = [arrival("a", 0, 2), *map(tick, (1, 2, 3, 4)), line("completion", "c", 4, job="a"), line("end", "e", 5)]
    records = records_of(lines, tmp_path, start="2026-03-01T00:00Z")
    made = of_kind(records, "decision")
    assert [(d["step"], d["time"], d["why"][0], d["slot"]["slot"], runs(d)) for d in made] == [
        (1, 0.0, "window", 0, set()), (1, 1.0, "slot", 1, {"a"}), (2, 2.0, "window", 2, set()),
        (2, 3.0, "slot", 3, {"a"}), (3, 4.0, "window", 4, set()),
    ]  # fmt: skip
    assert [(one["slot"], one["time"], one["date"], runs(one)) for one in made[0]["later"]] == [
        (1, 1.0, "2026-03-01T01:00:00+00:00", {"a"}), (2, 2.0, "2026-03-01T02:00:00+00:00", set()),
        (3, 3.0, "2026-03-01T03:00:00+00:00", {"a"}),
    ]  # fmt: skip
    assert made[1]["slot"] == {"slot": 1, "time": 1.0, "date": "2026-03-01T01:00:00+00:00"}
    assert "later" not in made[1]
    assert ["repeated" in d for d in made] == [False, False, False, False, True]
    assert records[-2]["result"] == {
        "total": 2.0, "costs": {"energy": 2.0}, "done": 1, "present": 0, "plans": 3, "plans_broken": 0
    }  # fmt: skip
    [warning] = of_kind(records, "warning")
    assert warning["code"] == "GSM7051"
    assert message_values(warning["message"]) == ("price", "5", "1")


def test_the_calendar_of_a_scenario_dates_slots(tmp_path: Path) -> None:
    """On 29 March 2026 the clocks of Berlin jump from 2 to 3: slot 1 begins at 3 o'clock."""
    calendar = 'calendar from "2026-03-29 01:00" in "Europe/Berlin";'
    text = CHEAP.replace("scenario Day for Cheap {", "scenario Day for Cheap { " + calendar)
    [first, *_] = of_kind(records_of([arrival("a", 0, 2)], tmp_path, text), "decision")
    assert first["slot"]["date"] == "2026-03-29T01:00:00+01:00"
    assert first["later"][0]["date"] == "2026-03-29T03:00:00+02:00"


def test_slots_that_passed_are_executed_as_planned(tmp_path: Path) -> None:
    """Without events between 0 and 7.25 the plan of four slots is executed, then three slots pass without one."""
    records = records_of([arrival("a", 0, 3), tick(7.25), line("end", "e", 7.5)], tmp_path)
    assert [(d["time"], d["slot"]["slot"], runs(d)) for d in of_kind(records, "decision")] == [
        (0.0, 0, {"a"}), (2.0, 2, set()), (3.0, 3, {"a"}), (7.25, 7, set()),
    ]  # fmt: skip
    warnings = of_kind(records, "warning")
    assert [w["code"] for w in warnings] == ["GSM7050", "GSM7051"]
    assert message_values(warnings[0]["message"]) == ("3", "4")
    assert of_kind(records, "finished")[0]["result"]["total"] == 5.0, "3, 1 and 1 $"


def test_a_plan_that_is_late_takes_effect_at_its_event(tmp_path: Path) -> None:
    """The plan of slot 2 is made at 2.5: its job has half an hour of that slot, and is not done after two slots."""
    lines = [tick(0), arrival("a", 1.5, 2), tick(2.5), tick(3), tick(4), line("end", "e", 4.5)]
    records = records_of(lines, tmp_path, CHEAP.replace("2 4 ", "2 1 "))
    made = of_kind(records, "decision")
    assert [(d["time"], d["slot"]["slot"], runs(d)) for d in made] == [
        (0.0, 0, set()), (2.5, 2, {"a"}), (4.0, 4, {"a"}),
    ]  # fmt: skip
    assert of_kind(records, "finished")[0]["result"]["total"] == 1 + 1 + 5


def test_slots_are_charged_at_the_prices_known_when_they_are_over(tmp_path: Path) -> None:
    """The plan expects 1 $ in slot 1; the price of 2.5 $ becomes known within it, that of slot 3 never."""
    price = line("value", "p", 1.5, values={"price": {"1": 2.5, "9": 0.5}})
    records = records_of([arrival("a", 0, 2), tick(1), price, tick(2), tick(3), line("end", "e", 4)], tmp_path)
    assert of_kind(records, "finished")[0]["result"]["total"] == 2.5 + 1
    made = of_kind(records, "decision")
    assert made[0]["objective"] == 2.0


def test_values_that_contradict_a_plan_do_not_charge_it(tmp_path: Path) -> None:
    """With 1 $ in slot 2, the check holds in all slots and in later windows, but not in the first window."""
    text = CHEAP.replace("  constraint one[", "  check: sum[h in Slots] price[h] >= 8[$/h];\n  constraint one[")
    price = line("value", "p", 1.5, values={"price": {"1": 2.5, "2": 1}})
    records = records_of([arrival("a", 0, 2), tick(1), price, tick(2), tick(3), line("end", "e", 4)], tmp_path, text)
    assert [w["code"] for w in of_kind(records, "warning")] == ["GSM7052"]
    assert of_kind(records, "finished")[0]["result"]["total"] == 1 + 1, (
        "slot 1 at the price of its plan, and one of slots 2 and 3"
    )


def test_prices_come_slot_by_slot(tmp_path: Path) -> None:
    """Slots after 5 repeat 9 $, until an event prices slots 6 and 7: a job waits for slot 6."""
    prices = line("value", "p", 2.5, values={"price": [[6, 0.5], [7, 0.75]]})
    lines = [tick(0), tick(2), prices, arrival("a", 3, 1), *map(tick, (4, 5, 6)), line("end", "e", 7)]
    made = of_kind(records_of(lines, tmp_path), "decision")
    assert [(d["time"], d["why"], runs(d), d.get("repeated")) for d in made] == [
        (0.0, ["window"], set(), None), (2.0, ["window"], set(), None), (3.0, ["arrival"], set(), None),
        (5.0, ["window"], set(), {"price": 7}), (6.0, ["slot"], {"a"}, None),
    ]  # fmt: skip
    assert [d["objective"] for d in made[2:4]] == [0.5, 0.5]


def test_slots_without_a_price_repeat_the_last_known_one(tmp_path: Path) -> None:
    """Slots 6 to 8 cost 0.5 $, though only slot 6 has this price, and slot 5 costs 9 $."""
    for at in (2.5, 4.5):  # before and after a plan of slots 4 to 7
        check_repeated(at, tmp_path)


def check_repeated(at: float, folder: Path) -> None:
    prices = line("value", "p", at, values={"price": {"6": 0.5}})
    lines = sorted([(0, tick(0)), (2, tick(2)), (at, prices), (4, tick(4)), (5, arrival("a", 5, 3))])
    records = records_of([text for _, text in lines], folder)
    made = of_kind(records, "decision")[-1]
    assert (made["objective"], made["repeated"], runs(made)) == (1.5, {"price": 6}, set())
    assert [(one["slot"], runs(one)) for one in made["later"]] == [(6, {"a"})]


def test_an_event_within_a_slot_is_tried_at_the_next_border(tmp_path: Path) -> None:
    """Four hours are the most that fit: half of slot 0 would be half an hour too much for the slots after it."""
    check = "  param passed in h default 0[h];\n  check [j in Jobs]: hours[j] + passed <= 4[h];\n  constraint one["
    text = CHEAP.replace("  constraint one[", check).replace(
        "  carry hours", "  carry passed = now * 1[h];\n  carry hours"
    )
    records = records_of([arrival("a", 0, 4), arrival("b", 0.5, 1), tick(1)], tmp_path, text)
    assert not of_kind(records, "error")
    assert [r["id"] for r in of_kind(records, "ack")] == ["arrive a", "arrive b", "tick 1"]


def test_a_late_completion_frees_the_slots_that_began_after_it(tmp_path: Path) -> None:
    text = CHEAP.replace("commit 2", "commit 4")
    ended = line("completion", "c", 1.5, job="a")
    lines = [arrival("a", 0, 3), tick(1), tick(2), tick(3), tick(3.2), ended, line("end", "e", 3.5)]
    records = records_of(lines, tmp_path, text)
    assert [(d["time"], runs(d)) for d in of_kind(records, "decision")] == [(0, {"a"}), (2, set()), (3, {"a"})]
    assert [r["late"] for r in of_kind(records, "ack") if r["id"] == "c"] == [True]
    assert of_kind(records, "finished")[0]["result"]["total"] == 3 + 1, "slot 3 began after its end"


def test_a_failed_node_is_planned_around_at_the_next_border(tmp_path: Path) -> None:
    text = CHEAP.replace("{ n1 }", "{ n1, n2 }").replace("commit 2", "commit 4")
    [first] = of_kind(records_of([arrival("a", 0, 4)], tmp_path, text), "decision")
    node = first["later"][-1]["entries"][0]["index"][1] if first["later"] else first["entries"]["train"][0]["index"][1]
    down = line("node_down", "d", 1.5, node=node)
    records = records_of([arrival("a", 0, 4), tick(1), down, tick(2), tick(3), line("end", "e", 4)], tmp_path, text)
    made = of_kind(records, "decision")
    assert (made[-1]["time"], made[-1]["why"]) == (2.0, ["failure"])
    assert {entry["index"][1] for entry in made[-1]["entries"]["train"]} == {"n1", "n2"} - {node}


def test_an_event_after_which_no_plan_can_be_made_is_refused(tmp_path: Path) -> None:
    """No window of four slots allows five hours, though all slots together do."""
    text = CHEAP.replace(
        "  constraint one[", "  check [j in Jobs]: hours[j] <= count(Slots) * 1[h];\n  constraint one["
    )
    records = records_of([tick(0), arrival("b", 0.5, 5), arrival("a", 0.5, 4), tick(1)], tmp_path, text)
    [error] = of_kind(records, "error")
    assert (error["code"], error["id"]) == ("GSM5209", "arrive b")
    assert runs(of_kind(records, "decision")[-1]) == {"a"}


@pytest.mark.parametrize("slots", ["mon 3  tue 1  wed 4", "0 3  2 1  4 4"])
def test_slots_without_consecutive_numbers_are_refused(slots: str) -> None:
    setup = window_setup(CHEAP.replace("0 3  1 1  2 4  3 1  4 5  5 9", slots), "Ahead", None, "highs", external=True)
    with raises_code("GSM5230", "Slots", at="window h in Slots lookahead 4 commit 2;") as error:
        loop_of(setup)
    assert [d.code for d in error.value.diagnostics] == ["GSM5230"]


def test_a_slot_far_ahead_is_refused(tmp_path: Path) -> None:
    far = line("value", "p", 1, values={"price": {"20000000": 1}})
    [error] = of_kind(records_of([tick(0), far, tick(2)], tmp_path), "error")
    assert (error["code"], "more than 100000 slots ahead" in error["message"]) == ("GSM5207", True)


def test_a_program_drives_a_block_with_a_window() -> None:
    loop = gpusched_dsl.loads(CHEAP).live("Day", online="Ahead")
    [first] = loop.on_event({"kind": "arrival", "time": 0, "job": "a", "values": {"hours": 2}})
    assert (first.why, first.slot.slot, loop.unit) == (["window", "arrival"], 0, "h")
    assert loop.on_event({"kind": "tick", "time": 0.5}) == ()
    [second] = loop.on_event({"kind": "tick", "time": 1})
    assert ([entry.index for entry in second.entries["train"]], second.is_border) == ([["a", "n1", 1]], True)
    with pytest.raises(DiagnosticError, match="GSM5207"):
        loop.on_event({"kind": "completion", "time": 1.5, "job": "b"})
    assert loop.on_event({"kind": "value", "values": {"price": {(3,): 9.0, (2,): 0.5}}, "time": 1.5}) == ()
    [third] = loop.on_event({"kind": "tick", "time": 2})
    assert [entry.index for entry in third.entries["train"]] == [["a", "n1", 2]]
    assert loop.decision is not None
    assert loop.decision.slot.slot == 2
    assert loop.finish()["total"] == 1 + 0.5


def many_jobs(slots: int) -> list[bytes]:
    """A job of one or two hours in every slot; each ends when it has done its hours, and prices come slot by slot."""
    draw, lines = random.Random(5), list[bytes]()
    for slot in range(slots):
        lines += [arrival(f"j{slot}", slot, draw.choice((1, 1, 2))), tick(slot)]
        lines.append(line("value", f"p{slot}", slot + 0.5, values={"price": {str(slot + 8): draw.randint(1, 9)}}))
        if slot % 3 == 2 and slot >= 5:
            lines += [line("completion", f"c{slot - k}", slot + 0.75, job=f"j{slot - 2 - k}") for k in range(3)]
    return [*lines, line("end", "e", slots)]


@pytest.mark.slow
def test_jobs_that_ended_long_ago_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decisions and costs do not change, also after a kill; a label stays used."""
    lines = many_jobs(24)
    again = line("arrival", "again", 24, job="j5", values={"hours": 1})
    whole = records_of(lines, tmp_path)
    monkeypatch.setattr(forgetting, "KEPT", 2)
    found = records_of([*lines[:-1], again, lines[-1]], tmp_path)
    assert told(found) == told(whole)
    assert of_kind(found, "finished")[0]["result"] == of_kind(whole, "finished")[0]["result"]
    assert of_kind(found, "finished")[0]["result"]["done"] > 12
    [error] = of_kind(found, "error")
    assert "job `j5` has already ended" in error["message"]
    first = records_of(lines, tmp_path, journal=str(tmp_path / "run.db"), killed_at=80)
    second = records_of(lines, tmp_path, journal=str(tmp_path / "run.db"))
    assert told(first + second) == told(whole)
    loop = loop_of(window_setup(CHEAP, "Ahead", None, "highs", external=True))
    for text in lines[:-1]:
        loop.on_event(json.loads(text))
    assert len(loop.world.status) < 15, "of 24 jobs"


# --- kills ------------------------------------------------------------------------------------------------------------

EVENTS = [
    arrival("a", 0, 3), tick(1), arrival("b", 1.25, 2), line("value", "p", 1.5, values={"price": {"1": 2, "6": 0.5}}),
    tick(2), line("progress", "g", 2.5, job="a", fraction=0.4), tick(3.5), line("completion", "c", 2.75, job="a"),
    tick(4), line("node_down", "d", 4.5, node="n1"), tick(5), line("node_up", "u", 5, node="n1"), tick(7), tick(8),
    line("end", "e", 9),
]  # fmt: skip


def told(records: list[dict[str, Any]]) -> dict[tuple[int, Any], dict[str, Any]]:
    """Decisions by step and slot, without how long they took; what comes twice is the same, and says so."""
    found: dict[tuple[int, Any], dict[str, Any]] = {}
    for record in of_kind(records, "decision"):
        key = record["step"], record["slot"]["slot"]
        content = {name: value for name, value in record.items() if name not in ("seconds", "again")}
        assert found.setdefault(key, content) == content
    return found


def test_a_slot_that_was_recorded_but_not_told_is_told_after_a_kill(tmp_path: Path) -> None:
    """Killed after the acknowledgement of a tick at which a slot began as planned, and before its decision."""
    lines = [arrival("a", 0, 2), tick(0.5), tick(1), tick(2), tick(3), line("end", "e", 4)]
    whole = records_of(lines, tmp_path)
    at = [k for k, record in enumerate(whole) if record["kind"] == "decision" and record["why"] == ["slot"]]
    assert len(at) == 2
    for moment in at:
        journal = str(tmp_path / f"{moment}.db")
        first = records_of(lines, tmp_path, journal=journal, killed_at=moment)
        assert first[-1]["kind"] == "ack"
        second = records_of(lines, tmp_path, journal=journal)
        assert told(first + second) == told(whole)
        assert [d["again"] for d in of_kind(second, "decision")][-1] is (moment == at[-1])


@pytest.mark.parametrize("killed_at", [3, 7, 11, 14, 20, pytest.param(0, marks=pytest.mark.slow)])
def test_after_a_kill_the_same_is_decided(tmp_path: Path, killed_at: int) -> None:
    whole = records_of(EVENTS, tmp_path)
    last = of_kind(whole, "finished")[0]
    for moment in [killed_at] if killed_at else range(1, len(whole) - len(of_kind(whole, "warning"))):
        journal = str(tmp_path / f"{moment}.db")
        first = records_of(EVENTS, tmp_path, journal=journal, killed_at=moment)
        second = records_of(EVENTS, tmp_path, journal=journal)
        assert told(first + second) == told(whole), moment
        assert of_kind(second, "finished")[0] == last
