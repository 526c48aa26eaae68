"""The live loop of the Python interface: events as dictionaries, decisions in return."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.live.messages import KINDS, Decided, event_of
from gpusched_dsl.online.loops import event_check

TEXT = """
import "gsdsl:capacity_planning/online.gsm";
scenario Live for CapacityPlanning {
  Nodes = { n1 };
  Types = { A, B };
  node_rule = at_most;
  table Types: gpus price[$/h] family =  A 1 0.5 k  B 2 1 k;
  table Jobs: submitted[h] deadline[h] weight[$/h] = J1 0 6 1;
  Runnable = { (j, v, g) : j in Jobs, (v, g) in Configs };
  table Runnable: exec_time[h] = J1 A 1 4  J1 B 1 4  J1 B 2 2.4;
}
"""


def places(decided: Decided) -> dict[Any, tuple[Any, ...]]:
    return {entry.index[0]: tuple(entry.index[1:]) for entry in decided.entries["run"]}


def test_events_are_dictionaries() -> None:
    model = gs.loads(TEXT, base=Path.cwd())
    loop = model.live(online="EveryArrivalAndCompletion", method="Greedy")
    [first] = loop.on_event({"kind": "tick", "time": 0})
    assert places(first) == {"J1": ("n1", "A", 1)}
    known = {"deadline": 3.4, "weight": 2, "submitted": 1, "exec_time": {"A,1": 2, "B,1": 2, "B,2": 1.2}}
    [second] = loop.on_event({"kind": "arrival", "id": "a", "time": 1, "job": "J2", "values": known})
    assert places(second) == {"J1": ("n1", "B", 1), "J2": ("n1", "B", 1)}
    assert loop.on_event({"kind": "arrival", "id": "a", "time": 1, "job": "J2", "values": known}) == ()  # a duplicate
    [third] = loop.on_event({"kind": "completion", "time": 0.5, "job": "J2"})  # late: it counts now
    assert third.time == 1
    assert set(places(third)) == {"J1"}
    assert loop.finish()["total"] == pytest.approx(0.5)


def test_what_does_not_fit_changes_nothing() -> None:
    loop = gs.loads(TEXT, base=Path.cwd()).live(online="EveryArrivalAndCompletion", method="Greedy")._loop
    loop.on_event({"kind": "tick", "time": 0})
    for wrong in ({"kind": "completion", "job": "J9"}, {"kind": "nonsense"}, {"kind": "arrival", "job": "J2"}):
        with pytest.raises(DiagnosticError):
            loop.on_event(wrong)
    assert len(loop.steps) == 1
    assert len(loop.world.present()) == 1


KNOWN: dict[str, Any] = {"deadline": 3.4, "weight": 2, "submitted": 1, "exec_time": {"A,1": 2, "B,1": 2, "B,2": 1.2}}
EVENTS: list[dict[str, Any]] = [
    {"kind": "arrival", "job": "J2", "values": KNOWN},
    {"kind": "arrivals", "jobs": [{"job": "J2", "values": KNOWN}]},
    {"kind": "completion", "job": "J1"},
    {"kind": "progress", "job": "J1", "fraction": 0.5},
    {"kind": "withdrawal", "job": "J1"},
    {"kind": "node_down", "node": "n1"},
    {"kind": "node_up", "node": "n1"},
    {"kind": "value", "values": {"weight": {"J1": 3}}},
    {"kind": "tick"},
    {"kind": "end"},
]


@pytest.fixture
def loop() -> gs.LiveEventLoop:
    loop = gs.loads(TEXT, base=Path.cwd()).live(online="EveryArrivalAndCompletion", method="Greedy")
    loop.on_event({"kind": "tick", "time": 0})
    return loop


def test_all_kinds_are_here() -> None:
    assert {event["kind"] for event in EVENTS} == set(KINDS)


@pytest.mark.quick(14)
@pytest.mark.parametrize("event", EVENTS, ids=[str(event["kind"]) for event in EVENTS])
@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf, np.float64("nan"), np.float32("inf"), 1.79e9, -1.79e9])
def test_times_that_are_none(loop: gs.LiveEventLoop, event: dict[str, Any], time: float) -> None:
    """Neither is "now": seconds since 1970 would move a clock of hours for good."""
    before = loop.decision
    made = event_of({"version": 1, "id": "e", **event})
    made.time = time
    for given in ({**event, "time": time}, made):
        with pytest.raises(DiagnosticError, match=r"GSM520[45]|GSM7007"):
            loop.on_event(given)
    assert (loop.now, loop.decision) == (0.0, before)
    assert loop._loop.events == 1


@pytest.mark.parametrize(
    "wrong", [{"fraction": math.nan}, {"done": np.float64("nan")}, {"done": None}, {"fraction": np.array([0.5])}]
)
def test_numbers_that_are_none(loop: gs.LiveEventLoop, wrong: dict[str, Any]) -> None:
    with pytest.raises(DiagnosticError, match="GSM5204"):
        loop.on_event({"kind": "progress", "job": "J1", **wrong})
    with pytest.raises(DiagnosticError, match="GSM5204"):
        loop.on_event({"kind": "value", "values": {"weight": {"J1": math.nan}}})


def test_numbers_of_numpy_and_tuples_as_subscripts(loop: gs.LiveEventLoop) -> None:
    """The decision is that of the same event with plain values."""
    plain = gs.loads(TEXT, base=Path.cwd()).live(online="EveryArrivalAndCompletion", method="Greedy")
    plain.on_event({"kind": "tick", "time": 0})
    expected = plain.on_event({"kind": "arrival", "time": 1, "job": "J2", "values": KNOWN})
    values = {
        "deadline": np.float64(3.4),
        "weight": np.int64(2),
        "submitted": np.float32(1),
        "exec_time": {("A", np.int64(1)): np.float64(2), ("B", 1): 2, ("B", 2): 1.2},
    }
    found = loop.on_event({"kind": "arrival", "time": np.float64(1), "job": np.str_("J2"), "values": values})
    assert places(found[0]) == places(expected[0])
    assert loop.now == 1
    loop.on_event({"kind": "progress", "job": "J1", "fraction": np.float64(0.25)})
    loop.on_event({"kind": "value", "values": {"weight": {("J1",): np.int64(3)}}})
    loop.on_event({"kind": "value", "values": {"exec_time": [["J1", "A", np.int64(1), np.float64(5)]]}})


def test_an_id_names_one_event(loop: gs.LiveEventLoop) -> None:
    event: dict[str, Any] = {"kind": "value", "id": "a", "values": {"weight": {"J1": 3}}}
    loop.on_event(event)
    assert loop.on_event(event) == ()
    for other in (
        {**event, "values": {"weight": {"J1": 4}}},
        {**event, "values": {"weight": {"J1": True}}},
        {**event, "time": 2},
        {"kind": "completion", "id": "a", "job": "J1"},
    ):
        with pytest.raises(DiagnosticError, match="GSM5206"):
            loop.on_event(other)
    loop.on_event({"kind": "tick", "id": f"event {loop._loop.events + 2}"})
    loop.on_event({"kind": "tick"})
    loop.on_event({"kind": "completion", "job": "J1"})  # its own id is another than the one that was given
    assert loop.decision is not None
    assert loop.decision.entries.get("run", []) == []


@pytest.mark.parametrize("replans", ["arrival", "arrival, completion"])
def test_the_decision_has_no_job_that_has_ended(replans: str) -> None:
    """Whether the run plans again or not, a manager that asks again and again starts no job twice."""
    block = f"online Block for CapacityPlanning extends EveryArrivalAndCompletion {{ replan on {replans}; }}"
    loop = gs.loads(TEXT + block, base=Path.cwd()).live(online="Block", method="Greedy")
    loop.on_event({"kind": "tick", "time": 0})
    loop.on_event({"kind": "arrival", "time": 1, "job": "J2", "values": KNOWN})
    assert loop.decision is not None
    assert set(places(loop.decision)) == {"J1", "J2"}
    loop.on_event({"kind": "completion", "time": 2, "job": "J2"})
    assert set(places(loop.decision)) == {"J1"}
    loop.on_event({"kind": "withdrawal", "time": 3, "job": "J1"})
    assert loop.decision.entries == {}


def test_the_names_of_the_loop_are_documented(loop: gs.LiveEventLoop) -> None:
    names = [name for name in dir(loop) if not name.startswith("_")]
    assert names == ["decision", "finish", "now", "on_event", "unit"]
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    for name in names:
        assert f"`loop.{name}" in page or f"`.{name}" in page
    assert (repr(loop), loop.unit) == ("<LiveEventLoop EveryArrivalAndCompletion at 0 h>", "h")


def test_values_that_were_set_hold() -> None:
    model = gs.loads(TEXT, base=Path.cwd())
    model.set("price", {"A": 9, "B": 1})
    loop = model.live(online="EveryArrivalAndCompletion", method="highs")
    [first] = loop.on_event({"kind": "tick"})
    assert places(first)["J1"][1] == "B"


@pytest.mark.slow
def test_an_event_is_checked_and_applied_with_one_build(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    for name in ("base_with_jobs", "base_with_values"):
        original = getattr(event_check, name)

        def counted(*given: Any, original: Any = original, name: str = name) -> Any:
            built.append(name)
            return original(*given)

        monkeypatch.setattr(event_check, name, counted)
    loop = gs.loads(TEXT, base=Path.cwd()).live(online="EveryArrivalAndCompletion", method="Greedy")
    known = {"deadline": 3.4, "weight": 2, "submitted": 1, "exec_time": {"A,1": 2, "B,1": 2, "B,2": 1.2}}
    loop.on_event({"kind": "arrival", "time": 1, "job": "J2", "values": known})
    assert built == ["base_with_jobs"]
    loop.on_event({"kind": "value", "time": 2, "values": {"weight": {"J2": 3}}})
    assert built == ["base_with_jobs", "base_with_values"]


def test_an_event_that_was_checked_before_another_changed_the_data_is_refused() -> None:
    loop = gs.loads(TEXT, base=Path.cwd()).live(online="EveryArrivalAndCompletion", method="Greedy")._loop
    event = event_of({"version": 1, "id": "v", "kind": "value", "values": {"weight": {"J1": 3}}})
    early = loop.check(event)
    loop.apply(loop.check(event), 1.0)
    with pytest.raises(ValueError, match="changed since"):
        loop.apply(early, 2.0)


def test_stated_charges_go_on_after_an_event_of_values_without_a_plan() -> None:
    text = """
    model Machines {
      set Jobs;  set Nodes identical;
      param length[Jobs] in h default 10;
      var run[Jobs, Nodes] binary;
      maximize busy in $: sum[j in Jobs, n in Nodes] 1[$] * run[j, n];
      constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
      placement run[j, n] { job j; node n; lasts length[j]; }
    }
    policy First for Machines { order j in Jobs by length[j]; place new_node exclusive; }
    online Charged for Machines {
      arrive j in Jobs at 0[h];
      replan on arrival;
      charge power in $/h = sum[j in Jobs, n in Nodes] 3[$/h] * run[j, n];
    }
    scenario S for Machines { Jobs = { a }; Nodes = { m }; }
    """
    loop = gs.loads(text, base=Path.cwd()).live(method="First")
    loop.on_event({"kind": "tick", "time": 0})
    assert not loop.on_event({"kind": "value", "time": 1, "values": {"length": {"a": 20}}})
    loop.on_event({"kind": "completion", "time": 4, "job": "a"})
    assert loop.finish()["costs"] == {"power": pytest.approx(12)}
