"""Ctrl-C and `stop` end a run at once: the current plan is dropped, and earlier plans are kept and continue."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from online_texts import driver, machines

import gpusched_dsl as gs
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.online.data import base
from gpusched_dsl.online.planners import solver as solver_planner
from gpusched_dsl.policies import decide as deciding
from gpusched_dsl.reporting.runs.result import RunResult

JOBS = machines(1, [(0.0, 1.0), (0.5, 1.0), (1.5, 1.0)])
PATIENCE = 20.0


class Slow:
    """Work that takes for ever at its second call for a plan, unless somebody wants to stop."""

    def __init__(self, real: Callable[..., Any], earlier: int = 0) -> None:
        self.real, self.calls, self.began = real, -earlier, threading.Event()

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.calls += 1
        if self.calls == 2:
            self.began.set()
            until = time.perf_counter() + PATIENCE
            while time.perf_counter() < until:
                checkpoint()
                time.sleep(0.001)
            raise AssertionError("nothing stopped it")
        return self.real(*given, **named)


def press_at(slow: Slow, pressed: list[float]) -> threading.Thread:
    def press() -> None:
        slow.began.wait(PATIENCE)
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    return thread


def made_slow(what: str, monkeypatch: pytest.MonkeyPatch) -> Slow:
    if what == "instance":
        slow = Slow(base.build_instance, earlier=1)  # before the plans, for the load that the jobs offer
        monkeypatch.setattr(base, "build_instance", slow)
    elif what == "solver":
        slow = Slow(solver_planner.solve_built)
        monkeypatch.setattr(solver_planner, "solve_built", slow)
    else:
        slow = Slow(deciding.decide)
        monkeypatch.setattr(deciding, "decide", slow)
    return slow


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(("what", "method"), [("instance", "highs"), ("solver", "highs"), ("policy", "SRPT")])
def test_ctrl_c_drops_the_plan_at_hand_and_the_run_can_go_on(
    what: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: Any = {"scenario": "S", "method": method, "journal": tmp_path / "run.db"}
    with monkeypatch.context() as patched:
        pressed: list[float] = []
        presser = press_at(made_slow(what, patched), pressed)
        cut = gs.loads(JOBS).run(**given)
        assert time.perf_counter() - pressed[0] < PATIENCE / 4  # half a second, more on a busy machine
        presser.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert isinstance(cut, RunResult)
    assert (cut.ended, len(cut.outcome.steps)) == ("interrupt", 1)
    resumed = gs.loads(JOBS).run(**given)
    assert isinstance(resumed, RunResult)
    assert (resumed.ended, resumed.run_info.resumed_steps) == ("finished", 1)
    whole = gs.loads(JOBS).run("S", method=method, journal=tmp_path / "other.db")
    assert isinstance(whole, RunResult)
    assert resumed.total == whole.total
    assert resumed.schedule.equals(whole.schedule)


@pytest.mark.parametrize("what", ["instance", "solver"])
def test_stop_is_asked_while_a_plan_is_made(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = made_slow(what, monkeypatch)
    loop = driver(JOBS, "Events", "S", "highs")
    loop.stop = slow.began.is_set
    outcome = loop.run()
    assert (outcome.ended, len(outcome.steps)) == ("interrupt", 1)


def test_a_policy_that_was_stopped_has_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy ends by itself with what it has by then, which is not the plan that it would have made."""
    stopping: list[bool] = []
    real = deciding.decide

    def stopped(*given: Any, **named: Any) -> Any:
        stopping.append(True)
        return real(*given, **named)

    monkeypatch.setattr(deciding, "decide", stopped)
    loop = driver(JOBS, "Events", "S", "SRPT")
    loop.stop = lambda: bool(stopping)
    outcome = loop.run()
    assert (outcome.ended, len(outcome.steps)) == ("interrupt", 0)


def test_a_stop_reaches_the_solver_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The monitor that the solver gets says when the run is to end."""
    heard: list[bool] = []
    stopping: list[bool] = []
    real = solver_planner.solve_built

    def solve(*given: Any) -> Any:
        monitor = given[4]
        heard.append(monitor.stop_requested)
        stopping.append(True)
        heard.append(monitor.stop_requested)
        return real(*given)

    monkeypatch.setattr(solver_planner, "solve_built", solve)
    loop = driver(JOBS, "Events", "S", "highs")
    loop.stop = lambda: bool(stopping)
    outcome = loop.run()
    assert (outcome.ended, len(outcome.steps), heard) == ("interrupt", 0, [False, True])


def test_rows_are_kept_of_several_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = made_slow("solver", monkeypatch)
    found: Any = gs.loads(JOBS).run("S", method=["SRPT", "highs", "FIFO"], stop=slow.began.is_set)
    assert [(row.method, row.result.ended) for row in found.rows] == [("SRPT", "finished"), ("highs", "interrupt")]
    assert found.interrupted


def test_the_instance_counts_in_the_limit_of_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver gets what building the instance has left; the fallback plans where that is nothing."""
    real, asked = base.build_instance, list[float | None]()

    def slowly(*given: Any, **named: Any) -> Any:
        time.sleep(0.05)
        return real(*given, **named)

    plan = solver_planner.SolverPlanner.plan

    def noted(planner: Any, request: Any) -> Any:
        asked.append(request.seconds)
        return plan(planner, request)

    monkeypatch.setattr(base, "build_instance", slowly)
    monkeypatch.setattr(solver_planner.SolverPlanner, "plan", noted)
    model = gs.loads(JOBS)
    short: Any = model.run("S", method="highs", fallback="SRPT", time_limit=0.04)
    assert short.ended == "finished"
    assert {step.method for step in short.outcome.steps} == {"SRPT"}
    assert asked == [0.0] * len(short.outcome.steps)
    asked.clear()
    long: Any = model.run("S", method="highs", fallback="SRPT", time_limit=60)
    assert {step.method for step in long.outcome.steps} == {"highs"}
    assert all(seconds is not None and 0 < seconds <= 59.95 for seconds in asked)


def test_plans_that_are_not_found_are_counted() -> None:
    with pytest.raises(gs.DiagnosticError, match=r"GSM7019.*`highs` found no plan: not in time"):
        gs.loads(JOBS).run("S", method="highs", time_limit=0.0)  # no plan at all
    instead: Any = gs.loads(JOBS).run("S", method="highs", fallback="SRPT", time_limit=0.0)
    [warning] = [warning for warning in instead.warnings if warning.code == "GSM7019"]
    assert warning.help is not None
    assert warning.help.startswith("`SRPT` planned instead; give it more time")
    assert any(f"{len(instead.outcome.steps)} plans of `highs` failed like this" in note for note in warning.notes)
    found: Any = gs.loads(JOBS).run("S", method="highs", time_limit=60.0)
    assert not [warning for warning in found.warnings if warning.code == "GSM7019"]
