"""A solver that crashes does not end a run: it is called again, and then the fallback plans."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from crashing_package import package
from online_texts import driver, machines

from gpusched_dsl.compiling.build import Permissions
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.planners.protocol import PlanningRequest
from gpusched_dsl.online.planners.solver import ATTEMPTS, GIVEN_UP, SolverPlanner
from gsdsl_backends.isolation import backend as isolated

pytestmark = pytest.mark.skipif(not isolated.is_supported(), reason="pipes are handed over as POSIX does")
__all__ = ["package"]
JOBS = machines(1, [(0.0, 0.5), (0.2, 0.4)])


def test_one_crash_changes_nothing(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRASH", "segmentation fault")
    monkeypatch.setenv("CRASHED_BEFORE", str(package / "crashed"))
    calm = driver(JOBS, "Events", "S", "highs").run()
    outcome = driver(JOBS, "Events", "S", "crashing").run()
    assert (package / "crashed").exists()
    assert [step.method for step in outcome.steps] == ["crashing"] * len(calm.steps)
    assert outcome.world.ends.tolist() == calm.world.ends.tolist()
    assert [warning.code for warning in outcome.warnings] == ["GSM4017"]


@pytest.mark.slow  # six starts of a process
def test_the_fallback_plans_where_each_solve_crashes(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRASH", "segmentation fault")
    by_policy = driver(JOBS, "Events", "S", "SRPT").run()
    loop = driver(JOBS, "Events", "S", "crashing", fallback="SRPT")
    outcome = loop.run()
    methods = [step.method for step in outcome.steps]
    assert methods[0] == "SRPT"
    assert set(methods) <= {"SRPT", "crashing"}  # problems without jobs need no solver
    assert outcome.world.ends.tolist() == by_policy.world.ends.tolist()
    assert [warning.code for warning in outcome.warnings] == ["GSM4017"]
    assert "SIGSEGV" in outcome.warnings[0].message


def test_highs_works_in_another_process_and_a_run_survives_its_crash() -> None:
    calm = driver(JOBS, "Events", "S", "highs").run()
    killed: list[int] = []

    def kill(loop: SimulationLoop) -> None:
        if len(loop.steps) == 1 and not killed:
            for process in isolated.isolate("highs")._processes:
                killed.append(process._child.pid)
                os.kill(process._child.pid, signal.SIGSEGV)
                process._child.wait(10)

    outcome = driver(JOBS, "Events", "S", "highs", on_plan=kill).run()
    assert killed
    assert os.getpid() not in killed
    assert [step.method for step in outcome.steps] == ["highs"] * len(calm.steps)
    assert outcome.world.ends.tolist() == calm.world.ends.tolist()


def test_a_solver_that_crashes_again_and_again_is_given_up() -> None:
    asked: list[int] = []

    class Crashing(SolverPlanner):
        def _plan(self, question: Any, seconds: float | None, began: float) -> Any:
            asked.append(1)
            raise DiagnosticError([Diagnostic(isolated.CRASHED, "crashed")])

    planner = Crashing("highs", Permissions())
    question: Any = PlanningRequest(None, 0.0, 0, 0)  # type: ignore[arg-type]
    assert [planner.fresh().plan(question) for _ in range(6)] == [None] * 6
    assert len(asked) == ATTEMPTS * GIVEN_UP


def test_questions_without_time_are_no_crashes() -> None:
    asked: list[float | None] = []

    class Patient(SolverPlanner):
        def _plan(self, question: Any, seconds: float | None, began: float) -> Any:
            asked.append(seconds)
            return None

    planner = Patient("highs", Permissions())
    without: Any = PlanningRequest(None, 0.0, 0, 0, seconds=0.0)  # type: ignore[arg-type]
    assert [planner.plan(without) for _ in range(2 * GIVEN_UP)] == [None] * (2 * GIVEN_UP)
    assert asked == []
    assert planner.plan(PlanningRequest(None, 0.0, 0, 0)) is None  # type: ignore[arg-type]
    assert asked == [None]


def test_the_crash_that_uses_up_the_time_counts() -> None:
    asked: list[int] = []

    class Slow(SolverPlanner):
        def _plan(self, question: Any, seconds: float | None, began: float) -> Any:
            asked.append(1)
            time.sleep(0.02)
            raise DiagnosticError([Diagnostic(isolated.CRASHED, "crashed")])

    planner = Slow("highs", Permissions())
    question: Any = PlanningRequest(None, 0.0, 0, 0, seconds=0.01)  # type: ignore[arg-type]
    assert [planner.plan(question) for _ in range(2 * GIVEN_UP)] == [None] * (2 * GIVEN_UP)
    assert len(asked) == GIVEN_UP
