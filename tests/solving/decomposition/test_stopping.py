"""Time limit, monitor and Ctrl-C: the best plan so far, with a valid bound."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import gpusched_dsl as gs
from gpusched_dsl.ir.blocks import blocks_of
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status, relative_gap
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.decomposition.solve import solve_by_blocks
from gsdsl_backends.highs.backend import HighsBackend
from gsdsl_backends.protocol import SolveOptions, SolverProgress

DAY = Path(__file__).resolve().parents[3] / "models" / "price_aware" / "scenarios" / "day.gsm"

PROGRAM = """
import json, sys
import gpusched_dsl as gs
from gpusched_dsl.solving.decomposition.solve import solve_by_blocks
from gsdsl_backends.highs.backend import HighsBackend
from gsdsl_backends.protocol import SolveOptions
from gpusched_dsl.ir.blocks import blocks_of
from gpusched_dsl.ir.verify import verify

class Telling:
    stop_requested = False
    told = False
    def progress(self, progress):
        if progress.bound is not None and not self.told:
            self.told = True
            print("bound", flush=True)

problem = gs.load(sys.argv[1]).ground("DayByType")
answer = solve_by_blocks(problem, blocks_of(problem, "Batch"), HighsBackend(), SolveOptions(gap=0.0), monitor=Telling())
print(json.dumps({"status": answer.status, "reason": answer.reason, "bound": answer.bound,
                  "feasible": answer.values is None or verify(problem, answer.values).feasible}), flush=True)
"""


@cache
def day() -> Problem:
    return gs.load(DAY).ground("DayByType")


def check(answer: SolverResult, reason: str) -> None:
    assert answer.status is Status.LIMIT
    assert answer.reason == reason
    if answer.values is not None:
        assert verify(day(), answer.values).feasible
        assert answer.bound is not None
        assert answer.objective is not None
        assert answer.bound <= answer.objective


class Telling:
    """Collects what is told; wants to stop once there is a bound, or a plan."""

    def __init__(self, wanted: str) -> None:
        self.wanted, self.told = wanted, list[SolverProgress]()

    def progress(self, progress: SolverProgress) -> None:
        self.told.append(progress)

    @property
    def stop_requested(self) -> bool:
        return any(getattr(p, self.wanted) is not None for p in self.told)


@pytest.mark.parametrize("seconds", [0.0, 0.5])
def test_the_time_limit_is_kept(seconds: float) -> None:
    began = time.monotonic()
    answer = solve_by_blocks(day(), blocks_of(day(), "Batch"), HighsBackend(), SolveOptions(seconds, gap=0.0))
    assert time.monotonic() - began < seconds + 15
    check(answer, "time")


@pytest.mark.parametrize("wanted", ["bound", "objective"])
def test_a_monitor_stops_it(wanted: str) -> None:
    telling = Telling(wanted)
    options = SolveOptions(120.0, gap=0.001)
    answer = solve_by_blocks(day(), blocks_of(day(), "Batch"), HighsBackend(), options, monitor=telling)
    check(answer, "interrupt")
    assert answer.bound is not None
    if wanted == "objective":
        assert answer.values is not None
    bounds = [p.bound for p in telling.told if p.bound is not None]
    assert bounds == sorted(bounds)
    assert 0.3 < bounds[0] <= answer.bound + 1e-9  # dollars, as the problem has them


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_it_with_an_answer(child: Callable[..., Any]) -> None:
    process = child([sys.executable, "-c", PROGRAM, DAY])
    assert process.stdout.readline().strip() == "bound"
    process.send_signal(signal.SIGINT)
    told = json.loads(process.stdout.readline())
    errors = process.stderr.read()
    assert process.wait(timeout=30) == 0
    assert "Traceback" not in errors
    assert told["status"] == "limit"
    assert told["reason"] == "interrupt"
    assert told["feasible"]


@pytest.mark.slow
def test_the_day_is_planned_within_its_gap() -> None:
    answer = solve_by_blocks(day(), blocks_of(day(), "Batch"), HighsBackend(), SolveOptions(600.0, gap=0.01))
    assert answer.status is Status.OPTIMAL
    assert answer.objective is not None
    assert answer.bound is not None
    assert relative_gap(answer.objective, answer.bound) <= 0.01
    assert answer.objective == pytest.approx(0.79, abs=0.01)
    assert answer.values is not None
    assert verify(day(), answer.values).feasible
