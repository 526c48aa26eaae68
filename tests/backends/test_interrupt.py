"""Ctrl-C, monitors and their state afterwards, with real signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import at_least, many_knapsacks, minimize, problem
from solvers import ALL

import gpusched_dsl as gs
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.highs import run
from gsdsl_backends.highs.quiet import QuietHighs
from gsdsl_backends.highs.run import HighsRun
from gsdsl_backends.interrupt import Control, SolverOverran, run_stoppable
from gsdsl_backends.protocol import SolveOptions, SolverProgress
from gsdsl_backends.registry import backend, backend_names

PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[2])
from building import many_knapsacks
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.isolation.backend import isolate
from gsdsl_backends.protocol import SolveOptions

class Telling:
    told = False
    stop_requested = False
    def progress(self, progress):
        if progress.objective is not None and not self.told:
            self.told = True
            print("incumbent", flush=True)

backend = isolate(sys.argv[1]) if sys.argv[3] else sys.argv[1]  # a process of its own, or this one
solved = solve_problem(many_knapsacks(), backend, SolveOptions(gap=0.0, time_limit=60), monitor=Telling())
print(json.dumps({"status": solved.status, "reason": solved.reason, "objective": solved.objective,
                  "bound": solved.bound, "feasible": solved.verification.feasible}), flush=True)
"""


@pytest.mark.quick(1)
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("name", "apart"), [*((n, False) for n in ALL), ("scip", True)])
def test_ctrl_c_keeps_the_best_point(name: str, apart: bool, child: Callable[..., Any]) -> None:
    folder = str(Path(__file__).parent.parent / "conformance")
    process = child([sys.executable, "-c", PROGRAM, name, folder, "apart" if apart else ""])
    assert process.stdout.readline().strip() == "incumbent"
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    told = json.loads(process.stdout.readline())
    errors = process.stderr.read()
    assert process.wait(timeout=20) == 0
    assert time.monotonic() - sent < 20
    assert "Traceback" not in errors
    assert (told["status"], told["reason"], told["feasible"]) == ("limit", "interrupt", True)
    assert 0 < told["objective"] <= told["bound"]


class StopAtOnce:
    """Stops as soon as it has been asked; remembers what it heard."""

    def __init__(self, after: int = 0) -> None:
        self.after = after
        self.heard: list[SolverProgress] = []
        self.threads: set[int] = set()

    def progress(self, progress: SolverProgress) -> None:
        self.heard.append(progress)
        self.threads.add(threading.get_ident())

    @property
    def stop_requested(self) -> bool:
        return len(self.heard) >= self.after


@pytest.mark.parametrize("name", backend_names())
def test_monitor_hears_and_stops(name: str) -> None:
    monitor = StopAtOnce(after=3)
    solved = solve_problem(many_knapsacks(), name, SolveOptions(gap=0.0, time_limit=60), monitor=monitor)
    status = "limit" if name in ALL or solved.point is None else "feasible"
    assert (solved.status, solved.reason) == (status, "interrupt")
    assert len(monitor.heard) >= 3
    assert monitor.threads == {threading.get_ident()}
    seconds = [p.seconds for p in monitor.heard]
    assert seconds == sorted(seconds)
    assert name not in ALL or any(p.objective is not None for p in monitor.heard)
    assert name not in ALL or solved.objective is not None
    bounds = [p.bound for p in monitor.heard if p.bound is not None]
    assert all(bound >= solved.objective for bound in bounds)


@pytest.mark.parametrize("name", backend_names())
def test_session_works_after_a_stop(name: str) -> None:
    # A local search is preceded by a search for its start, which has no session.
    options = SolveOptions(gap=0.0, time_limit=60, heuristic="auto" if name in ALL else "off")
    solved = solve_problem(many_knapsacks(), name, options, monitor=StopAtOnce(after=1))
    assert solved.reason == "interrupt"
    assert solved.session is not None
    proves = name in ALL
    answer = solved.session.solve(SolveOptions(gap=0.5, extra={} if proves else {"steps": 40}))
    assert answer.status == ("optimal" if proves else "feasible")


class Failing:
    stop_requested = False

    def progress(self, progress: SolverProgress) -> None:
        raise RuntimeError("the screen is gone")


@pytest.mark.parametrize("name", backend_names())
def test_failing_monitor_stops_the_solver(name: str) -> None:
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="the screen is gone"):
        solve_problem(many_knapsacks(), name, SolveOptions(gap=0.0, time_limit=60), monitor=Failing())
    assert time.monotonic() - began < 30
    assert not [t for t in threading.enumerate() if t.name == "solver"]


def test_second_ctrl_c_gives_up_waiting() -> None:
    control = Control()
    release = threading.Event()

    def press() -> None:
        for _ in range(2):
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        run_stoppable(lambda: (release.wait(20), None)[1], control)
    release.set()
    presser.join()
    assert control.stop_requested
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_solver_that_ignores_its_limit_is_given_up() -> None:
    control, release = Control(), threading.Event()
    with pytest.raises(SolverOverran):
        run_stoppable(lambda: (release.wait(20), None)[1], control, until=0.3)
    assert 0.3 <= control.seconds < 10
    release.set()


def test_highs_that_ignores_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """As its presolve of large problems with integers does. Its session is left alone, and the process goes on."""
    release = threading.Event()
    first = QuietHighs.run

    def late(highs: QuietHighs) -> Any:
        release.wait(20)
        return first(highs)

    monkeypatch.setattr(run, "LATE_SECONDS", 0.2)
    monkeypatch.setattr(QuietHighs, "run", late)
    knapsacks = many_knapsacks()
    options = SolveOptions(gap=0.0, time_limit=0.5, heuristic="off")
    for start, count in ((None, 0), (np.zeros(knapsacks.columns), 1)):
        solved = solve_problem(knapsacks, "highs", options, start)
        assert (solved.status, solved.reason, solved.point is not None) == ("limit", "time", bool(count))
        assert [w.code for w in solved.warnings] == ["GSM4007"]
    monkeypatch.undo()
    assert solve_problem(problem(minimize(1.0), columns=1, rows=[at_least(2, 1)]), "highs").objective == 2
    release.set()


@pytest.mark.parametrize("name", ["highs", "scip"])
def test_a_solver_that_was_given_up_is_left_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It still runs in its thread when the session is closed; to free it then would crash."""
    running: list[tuple[Control, threading.Thread]] = []

    def give_up(work: Callable[[], None], control: Control, *more: object, until: float | None = None) -> None:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        running.append((control, thread))
        time.sleep(0.3)
        raise KeyboardInterrupt

    module = {"highs": "run", "scip": "backend"}[name]
    monkeypatch.setattr(f"gsdsl_backends.{name}.{module}.run_stoppable", give_up)
    with pytest.raises(KeyboardInterrupt):
        solve_problem(many_knapsacks(), name, SolveOptions(gap=0.0, time_limit=2.0))
    control, thread = running[0]
    assert thread.is_alive()
    control.stop_requested = True
    thread.join(30)
    assert not thread.is_alive()


def test_other_handlers_of_ctrl_c_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def own(number: int, frame: object) -> None: ...

    before = signal.signal(signal.SIGINT, own)
    try:
        solve_problem(problem(minimize(1), columns=1, rows=[at_least(1, 1)]), "highs")
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_in_a_small_run_stops_after_it() -> None:
    class Interrupted:
        runs = 0

        def getNumNz(self) -> int:
            return 10

        def run(self) -> None:
            self.runs += 1
            signal.raise_signal(signal.SIGINT)

    highs = Interrupted()
    run = HighsRun(highs, many_knapsacks(), SolveOptions(), None)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run.run_relaxation()
        run.run_relaxation()
    finally:
        signal.signal(signal.SIGINT, before)
    assert run.control.stop_requested
    assert highs.runs == 1


@pytest.mark.parametrize("name", backend_names())
def test_solves_outside_the_main_thread(name: str) -> None:
    found: list[float | None] = []
    one = problem(minimize(1), columns=1, rows=[at_least(1, 1)])
    thread = threading.Thread(target=lambda: found.append(solve_problem(one, name).objective))
    thread.start()
    thread.join(30)
    assert found == [1.0]


def test_a_failure_in_the_solver_comes_out_here() -> None:
    def work() -> None:
        raise ArithmeticError("inside")

    with pytest.raises(ArithmeticError, match="inside"):
        run_stoppable(work, Control())


UNCERTAIN = """
model M {
  set I = 1..14;
  var x[I] integer;
  maximize f: sum[i in I, j in I where i < j] (i * j * 7 - 11 * floor(i * j * 7 / 11) - 5) * x[i] * x[j]
    - sum[i in I] 0.01 * x[i]^4 + sum[i in I] x[i];
}
scenario S for M {}
"""


class StopAfter:
    """Stops some seconds after the first report; remembers the bounds that it heard."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.end = float("inf")
        self.bounds: list[float] = []

    def progress(self, progress: SolverProgress) -> None:
        self.end = min(self.end, time.monotonic() + self.seconds)
        if progress.bound is not None:
            self.bounds.append(progress.bound)

    @property
    def stop_requested(self) -> bool:
        return time.monotonic() > self.end


def test_stop_in_a_box_ends_the_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """SCIP looks within boxes where the objective may be unbounded; their bounds are not those of the problem."""
    monkeypatch.setattr("gsdsl_backends.scip.backend.EARLY_SECONDS", 0.2)
    monitor, began = StopAfter(1.0), time.monotonic()
    model = gs.loads(UNCERTAIN)
    start = {"x": {i: float(i == 14) for i in range(1, 15)}}  # else a busy machine finds nothing within 0.2 s
    result = model.solve(
        "S", backend="scip", gap=0, time_limit=60, without=["all"], heuristic="off", warm_start=start, monitor=monitor
    )
    assert (result.status, result.reason) == ("limit", "interrupt")
    assert result.objective is not None
    assert result.objective > 0
    assert time.monotonic() - began < 20
    assert not monitor.bounds


def test_a_very_good_first_point_does_not_shorten_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run is short, in case the objective is unbounded; the run after it has the time that is left."""
    monkeypatch.setattr("gsdsl_backends.scip.backend.EARLY_SECONDS", 0.1)
    monkeypatch.setattr("gsdsl_backends.scip.backend.FAR", 1e-3)  # the point that is given is very good
    one = gs.loads(UNCERTAIN).ground("S")
    start = np.zeros(one.columns)
    start[0] = 1.0
    session, began = backend("scip").open(one), time.monotonic()
    answer = session.solve(SolveOptions(1.0, gap=0.0), start)
    session.close()
    assert (answer.status, answer.reason) == ("limit", "time")
    assert time.monotonic() - began > 0.9


GIVEN_UP = """
import sys, time
from gsdsl_backends.highs import run
from gsdsl_backends.highs.quiet import QuietHighs
from gpusched_dsl.cli import main

run.LATE_SECONDS = 0.2
QuietHighs.run = lambda highs: time.sleep(60)
sys.exit(main(["solve", sys.argv[1], "--time-limit", "2"]))
"""


def test_a_command_ends_although_its_solver_does_not(tmp_path: Path) -> None:
    file = tmp_path / "knapsack.gsm"
    file.write_text("""
    model K { set I = 1..3; var x[I] binary; maximize f: sum[i in I] i * x[i];
              constraint c: sum[i in I] (2 * i + 1) * x[i] <= 8; }
    scenario S for K { }
    """)
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", GIVEN_UP, str(file)], capture_output=True, text=True, timeout=50)
    assert time.monotonic() - began < 40
    assert done.returncode in (0, 5)  # a point of the heuristics, or none
    assert "warning[GSM4007]: `highs` runs on after its time limit and was given up" in done.stderr
    assert "limit" in done.stdout


def test_an_infeasible_problem_is_infeasible_although_its_second_opinion_does_not_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never_ends(_: run.HighsRun) -> object:
        asked.append(1)
        raise SolverOverran

    asked: list[int] = []
    monkeypatch.setattr(run.HighsRun, "run_without_presolve", never_ends)
    text = """
    model Pigeons { set P = 1..6; set H = 1..5; var at[P, H] binary; minimize f: sum[p in P] p * at[p, 1];
                    constraint somewhere[p in P]: sum[h in H] at[p, h] == 1;
                    constraint alone[h in H]: sum[p in P] at[p, h] <= 1; }
    scenario S for Pigeons { }
    """
    solved = gs.loads(text).solve(backend="highs", without=["all"])
    assert solved.status == "infeasible"
    assert asked
