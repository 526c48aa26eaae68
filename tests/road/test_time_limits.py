"""The time limit, monitors and Ctrl-C while a problem is built: every stage ends, and the best point is kept."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.data import instance
from gpusched_dsl.compiling.interchangeable import aggregate as aggregation
from gpusched_dsl.compiling.lowering import ground as grounding
from gpusched_dsl.compiling.passes import pipeline
from gpusched_dsl.compiling.passes.steps import Analysis, PassResult, Target
from gpusched_dsl.ir import deadline
from gpusched_dsl.ir.deadline import POLL, ShareOfTime, StoppedEarly, checkpoint, grace, limit, stage

LIMIT = 0.6
PATIENCE = 20.0  # far more than a limit, far less than for ever

TEXT = """
model Packing {
  set Items;
  set Bins;
  param size[Items] >= 0;
  param room >= 0;
  var put[Items, Bins] binary;
  let used[b in Bins] = sum[i in Items] size[i] * put[i, b];
  maximize packed: sum[i in Items, b in Bins] size[i] * put[i, b];
  constraint once[i in Items]: sum[b in Bins] put[i, b] <= 1;
  constraint fits[b in Bins]: used[b] <= room;
}
scenario Day for Packing {
  Items = { a, b, c };
  Bins = { x, y };
  table Items: size = a 2  b 3  c 4;
  room = 5;
}
"""
OPTIMUM = 9.0  # 2 + 3 in one bin, 4 in the other


def forever(*anything: Any, **named: Any) -> Any:
    """Work that never ends by itself, but asks whether it may go on."""
    began = time.perf_counter()
    while time.perf_counter() - began < PATIENCE:
        checkpoint()
        time.sleep(0.001)
    raise AssertionError("nothing stopped it")


class SlowPass:
    name: ClassVar[str] = "slow"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return True

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        return forever()


def slow_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance._Builder, "_param", forever)


def slow_grounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grounding._Grounding, "_constraint", forever)


def slow_tightening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "TIGHTENINGS", (SlowPass(), *pipeline.TIGHTENINGS))


def slow_aggregation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregation, "classes_of", forever)


class Listener:
    """Hears of stages, and may want to stop at one of them."""

    def __init__(self, stop_at: str = "") -> None:
        self.stop_at, self.stages = stop_at, list[str]()

    def progress(self, progress: Any) -> None:
        pass

    def stage(self, name: str) -> None:
        self.stages.append(name)

    @property
    def stop_requested(self) -> bool:
        return self.stop_at in self.stages


@pytest.fixture
def model() -> gs.Model:
    return gs.loads(TEXT)


@pytest.mark.parametrize(("slow", "at"), [(slow_data, "reading data"), (slow_grounding, "grounding")])
def test_a_problem_that_is_not_built_in_time(
    slow: Callable[[pytest.MonkeyPatch], None], at: str, model: gs.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow(monkeypatch)
    result = model.solve(time_limit=LIMIT, without=["aggregation"])
    assert (result.status, result.reason, result.has_point) == ("limit", "time", False)
    assert result.solved.stopped_at == at
    assert [o.name for o in result.objectives] == ["packed"]
    assert result.objective is None
    assert json.loads(json.dumps(result.to_dict()))["status"] == "limit"
    with pytest.raises(gs.DiagnosticError) as caught:
        result["put"]
    assert caught.value.diagnostics[0].code == "GSM6010"


@pytest.mark.parametrize("slow", [slow_tightening, slow_aggregation])
def test_what_is_not_needed_is_abandoned(
    slow: Callable[[pytest.MonkeyPatch], None], model: gs.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow(monkeypatch)
    result = model.solve(time_limit=6 * LIMIT, gap=0)
    assert (result.status, result.objective) == ("optimal", OPTIMUM)


def test_the_model_can_be_solved_again_after_a_limit(model: gs.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        slow_grounding(patched)
        assert model.solve(time_limit=LIMIT, without=["aggregation"]).reason == "time"
        assert model.resolve().reason == "time"
    model.set("room", 4)
    result = model.resolve(time_limit=60)
    assert (result.status, result.objective) == ("optimal", 7.0)


def test_a_start_that_is_feasible_is_a_point(model: gs.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "reformulate", forever)
    monkeypatch.setattr("gpusched_dsl.solving.solve.reformulate", forever)
    start = {"put": {("c", "x"): 1}}
    result = model.solve(time_limit=LIMIT, warm_start=start, without=["aggregation"])
    assert (result.status, result.reason, result.objective) == ("limit", "time", 4.0)
    assert result.solved.stopped_at == "reformulation"
    assert result.value("put", "c", "x") == 1
    too_much = {"put": {("c", "x"): 1, ("b", "x"): 1}}
    assert not model.solve(time_limit=LIMIT, warm_start=too_much, without=["aggregation"]).has_point


@pytest.mark.parametrize("at", ["reading data", "aggregation", "grounding", "reformulation", "tightening", "solving"])
def test_a_monitor_stops_every_stage(at: str, model: gs.Model) -> None:
    listener = Listener(at)
    result = model.solve(monitor=listener, without=["aggregation"] if at == "grounding" else [])
    assert (result.status, result.reason) == ("limit", "interrupt")
    assert listener.stages[-1] == at


@pytest.mark.parametrize(("without", "second"), [([], "aggregation"), (["aggregation"], "grounding")])
def test_stages_are_heard_in_order(without: list[str], second: str, model: gs.Model) -> None:
    listener = Listener("nothing")
    assert model.solve(monitor=listener, without=without).status == "optimal"
    assert listener.stages == ["reading data", second, "reformulation", "tightening", "solving"]


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("slow", [slow_data, slow_grounding, slow_tightening, slow_aggregation])
def test_ctrl_c_ends_every_stage_with_a_result(
    slow: Callable[[pytest.MonkeyPatch], None], model: gs.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow(monkeypatch)
    presser = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    presser.start()
    result = model.solve()
    presser.join()
    assert (result.status, result.reason, result.has_point) == ("limit", "interrupt", False)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_outside_a_solve_stays_what_it_is(model: gs.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*anything: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(grounding._Grounding, "_constraint", press)
    with pytest.raises(KeyboardInterrupt):
        model.ground()


# --- deadlines themselves ---------------------------------------------------------------------------------------------


def test_without_a_deadline_nothing_stops() -> None:
    checkpoint()
    with stage("anything"):
        checkpoint()
    with ShareOfTime(0.5):
        reached = 7
    assert reached == 7


def test_an_inner_deadline_is_never_later() -> None:
    with limit(0.0), limit(60.0) as inner:
        assert inner.remaining_seconds == 0.0
        with pytest.raises(StoppedEarly, match="time"):
            checkpoint()
        with grace():
            checkpoint()  # going back to the author's terms is not ended
        with grace(60.0):
            checkpoint()


def test_a_share_ends_alone_and_a_stop_ends_all() -> None:
    stopping = False
    with limit(60.0, lambda: stopping) as whole:
        with ShareOfTime(0.001):
            forever()
            raise AssertionError("the share is over")
        assert whole.reason == ""
        stopping = True
        with pytest.raises(StoppedEarly, match="interrupt"), ShareOfTime(0.5):
            forever()


def test_a_checkpoint_asks_for_a_stop_now_and_then_and_for_the_time_always(monkeypatch: pytest.MonkeyPatch) -> None:
    now, asked = 0.0, 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return False

    monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda: now))
    with limit(10.3 * POLL, stop):
        for step in range(1000):
            now = step * POLL / 100
            checkpoint()
        assert asked == 10
        now = 10.2 * POLL
        checkpoint()
        assert asked == 11
        now = 10.3 * POLL
        with pytest.raises(StoppedEarly, match="time"):
            checkpoint()


def test_an_interruption_reaches_the_next_checkpoint_and_all_outer_deadlines() -> None:
    with limit(60.0) as outer, limit(60.0) as inner:
        checkpoint()
        inner.interrupt()
        with pytest.raises(StoppedEarly, match="interrupt"):
            checkpoint()
        assert outer.is_interrupted


def test_every_thread_has_its_own() -> None:
    found: list[str] = []

    def other() -> None:
        checkpoint()
        found.append("went on")

    with limit(0.0):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert found == ["went on"]


# --- several methods --------------------------------------------------------------------------------------------------


def test_what_all_methods_share_counts_in_the_limit_of_each(model: gs.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    real = instance._Builder._param

    def slowly(*given: Any) -> Any:
        time.sleep(LIMIT)
        return real(*given)

    monkeypatch.setattr(instance._Builder, "_param", slowly)
    found = model.compare(["highs", "scip"], time_limit=LIMIT)
    assert [(row.status, row.remark) for row in found.rows] == [("limit", "stopped: time")] * 2
    assert not found.interrupted


def test_a_comparison_that_is_stopped_while_it_is_built(model: gs.Model) -> None:
    for at in ("reading data", "aggregation"):
        listener = Listener(at)
        with pytest.raises(KeyboardInterrupt):
            model.compare(["highs"], monitor=listener)
        assert listener.stages[-1] == at


def test_rows_are_kept_where_a_later_method_is_stopped_at_grounding(
    model: gs.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregation, "candidates", lambda model: [])
    real, calls = grounding._Grounding._constraint, list[int]()
    listener = Listener()

    def pressed(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:  # two constraints are of the first method
            listener.stop_at = "grounding"
        return real(*given)

    monkeypatch.setattr(grounding._Grounding, "_constraint", pressed)
    found = model.compare(["highs", "scip"], monitor=listener)
    rows = [(row.method, row.status, row.remark) for row in found.rows]
    assert rows == [("highs", "optimal", ""), ("scip", "limit", "stopped: interrupt")]


def test_what_was_left_out_is_told(model: gs.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_tightening(monkeypatch)
    result = model.solve(time_limit=6 * LIMIT, without=["aggregation"])
    assert [n.effect for n in result.solved.reformulated.notes if n.pass_name == "tightening"] == [
        "skipped in part: its share of the time limit was used"
    ]


def test_the_plan_of_a_start_is_shown_where_the_problem_was_not_built() -> None:
    """A policy plans before the problem is built; its plan is the result then, with the placement of its jobs."""
    model = gs.load(Path(__file__).parents[2] / "models/capacity_planning/scenarios/gavel_40_jobs.gsm")
    plan = model.solve(backend="Greedy")
    result = model.solve(warm_start="Greedy", monitor=Listener("aggregation"))
    assert (result.status, result.objective) == ("limit", plan.objective)
    waiting, planned = result.waiting_jobs, plan.waiting_jobs
    assert waiting is not None
    assert planned is not None
    assert waiting.labels == planned.labels
    assert waiting.placed > 0
