"""The live loop of the Python interface: events as dictionaries, decisions in return."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.live.messages import Decided, event_of
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
    loop = gs.loads(TEXT, base=Path.cwd()).live(online="EveryArrivalAndCompletion", method="Greedy")
    loop.on_event({"kind": "tick", "time": 0})
    for wrong in ({"kind": "completion", "job": "J9"}, {"kind": "nonsense"}, {"kind": "arrival", "job": "J2"}):
        with pytest.raises(DiagnosticError):
            loop.on_event(wrong)
    assert len(loop.steps) == 1
    assert len(loop.world.present()) == 1


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
    loop = gs.loads(TEXT, base=Path.cwd()).live(online="EveryArrivalAndCompletion", method="Greedy")
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
