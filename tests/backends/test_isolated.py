"""Solvers in processes of their own: the same answers, and crashes of native code that end nothing else."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from building import at_least, many_knapsacks, maximize, minimize, problem
from crashing_package import package
from defining import function, nonlinear, of
from problems import INFEASIBLE, LINEAR

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solution import Loading
from gpusched_dsl.solving.solve import resolve, solve_problem
from gsdsl_backends.isolation import backend as module
from gsdsl_backends.isolation.backend import IsolatedBackend, guard
from gsdsl_backends.protocol import SolveOptions, SolverProgress

pytestmark = pytest.mark.skipif(not module.is_supported(), reason="pipes are handed over as POSIX does")

TEXT = """
model T { var x >= 0 <= 5; maximize f: x; }
scenario S for T { }
test Crash { solve S with crashing, highs; expect f == 5; }
"""
__all__ = ["package"]
SMALL = problem(minimize(1, 2), columns=2, rows=[at_least(1, 1, 1)], integer=True)


@pytest.mark.parametrize(
    ("crash", "words"),
    [
        pytest.param("abort", "SIGABRT", marks=pytest.mark.slow),
        pytest.param("segmentation fault", "SIGSEGV", marks=pytest.mark.slow),
        ("exit", "exit code 3"),
    ],
)
def test_a_crash_is_a_diagnostic(crash: str, words: str, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRASH", crash)
    crashing = IsolatedBackend("crashing")
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(SMALL, crashing)
    (finding,) = caught.value.diagnostics
    assert (finding.code, words in finding.message) == ("GSM4017", True)
    assert finding.notes == (("its last output: out of luck",) if crash == "exit" else ())
    monkeypatch.delenv("CRASH")
    assert solve_problem(SMALL, crashing).objective == 1.0  # in a new process
    crashing.close()


@pytest.mark.parametrize("name", ["highs", "scip"])
def test_answers_are_those_of_the_same_process(name: str) -> None:
    for case in (*LINEAR[::7], *INFEASIBLE[::5]):
        here, there = solve_problem(case.problem, name), solve_problem(case.problem, guard(name, everything=True))
        assert (here.status, here.objective) == (there.status, there.objective), case.name
        here.close()
        there.close()


def test_nonlinear_problems_and_every_form_of_problem_go_through_a_pipe() -> None:
    stated = nonlinear(minimize(-3.0, 1.0), columns=1, terms=[function("exp", of(1.0))], lower=-5.0, upper=5.0)
    solved = solve_problem(stated, guard("scip"))
    assert solved.objective == pytest.approx(3 - 3 * 1.0986122886681098, abs=1e-6)
    solved.close()
    assert pickle.loads(pickle.dumps(stated)).columns == 2


def test_sessions_are_kept_for_changes() -> None:
    first = solve_problem(problem(minimize(1, 2), columns=2, rows=[at_least(1, 1, 1)]), guard("highs", True))
    second = resolve(first, problem(minimize(3, 2), columns=2, rows=[at_least(4, 1, 1)]))
    assert (second.loading, second.objective) == (Loading.IN_PLACE, 8.0)
    third = resolve(second, problem(minimize(3, 2, 1), columns=3, rows=[at_least(4, 1, 1, 1), at_least(1, 0, 1, 0)]))
    assert (third.loading, third.objective) == (Loading.CARRIED, 5.0)
    third.close()


class Stop:
    def __init__(self) -> None:
        self.heard: list[SolverProgress] = []

    def progress(self, progress: SolverProgress) -> None:
        self.heard.append(progress)

    @property
    def stop_requested(self) -> bool:
        return any(one.objective is not None for one in self.heard)


def test_monitors_hear_and_stop() -> None:
    watch = Stop()
    solved = solve_problem(many_knapsacks(), guard("highs", True), SolveOptions(gap=0.0, time_limit=60), monitor=watch)
    assert (solved.status, solved.reason) == ("limit", "interrupt")
    assert solved.objective is not None
    solved.close()


class Failing:
    stop_requested = False

    def progress(self, progress: SolverProgress) -> None:
        raise RuntimeError("the screen is gone")


def test_a_failing_monitor_stops_the_solve_and_not_the_process() -> None:
    chosen = guard("highs", True)
    with pytest.raises(RuntimeError, match="the screen is gone"):
        solve_problem(many_knapsacks(), chosen, SolveOptions(gap=0.0, time_limit=60), monitor=Failing())
    assert solve_problem(SMALL, chosen).objective == 1.0


def test_findings_of_the_backend_come_through() -> None:
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(SMALL, guard("scip"), SolveOptions(extra={"no_such_parameter": 1}))
    assert [d.code for d in caught.value.diagnostics] == ["GSM4004"]


def test_several_threads_get_a_process_each() -> None:
    chosen = IsolatedBackend("highs")
    found: list[float | None] = []
    stated = [problem(maximize(1), columns=1, upper=float(n), integer=True) for n in range(6)]
    threads = [threading.Thread(target=lambda p=p: found.append(solve_problem(p, chosen).objective)) for p in stated]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    chosen.close()
    assert sorted(v for v in found if v is not None) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_the_process_ends_with_its_parent() -> None:
    program = (
        "from gsdsl_backends.isolation.backend import IsolatedBackend\nimport os\n"
        "one = IsolatedBackend('highs')\none.capabilities\nprint(one._processes[0]._child.pid, flush=True)\nos._exit(0)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ends(int(ended.stdout))


def ends(pid: int, seconds: float = 20.0) -> bool:
    """Whether a process ends within these seconds; one that does not is killed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not runs(pid):
            return True
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    return False


def runs(pid: int) -> bool:
    """Whether there is such a process; one that has ended and that nobody has waited for counts as none."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text() if sys.platform == "linux" else ") R"
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


ENDLESS = """
import sys
sys.path.insert(0, sys.argv[2])
from building import many_knapsacks
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.isolation.backend import IsolatedBackend
from gsdsl_backends.protocol import SolveOptions

class Telling:
    stop_requested = False
    def progress(self, progress):
        print("incumbent", flush=True)

chosen = IsolatedBackend(sys.argv[1])
chosen.capabilities
print(chosen._processes[0]._child.pid, flush=True)
solve_problem(many_knapsacks(), chosen, SolveOptions(gap=0.0, heuristic="off"), monitor=Telling())
"""


@pytest.mark.parametrize("name", ["scip", "crashing"])
def test_an_endless_solve_ends_with_a_parent_that_is_killed(
    name: str, package: Path, child: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where native code never releases the interpreter, so that no line of Python runs in the solver's process."""
    monkeypatch.setenv("CRASH", "endless")
    monkeypatch.setenv("CRASHED_BEFORE", str(package / "begun"))
    process = child([sys.executable, "-c", ENDLESS, name, Path(__file__).parent.parent / "conformance"])
    pid = int(process.stdout.readline())
    if name == "crashing":
        until = time.monotonic() + 20
        while not (package / "begun").exists() and time.monotonic() < until:
            time.sleep(0.05)
    else:
        assert process.stdout.readline() == "incumbent\n"
    assert runs(pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert ends(pid)


def gsdsl(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import sys; from gpusched_dsl.cli import main; sys.exit(main())", *arguments],
        capture_output=True, text=True, timeout=100, check=False, env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.slow  # four commands with two processes each
def test_the_command_line_keeps_what_else_it_found(package: Path) -> None:
    file = package / "t.gsm"
    file.write_text(TEXT)
    solved = gsdsl("solve", str(file), "--backend", "crashing", CRASH="segmentation fault")
    assert solved.returncode == 1
    assert "error[GSM4017]" in solved.stderr
    tested = gsdsl("test", str(file), CRASH="abort")
    assert tested.returncode == 1
    assert "1 passed, 1 with errors" in tested.stdout
    compared = gsdsl("compare", str(file), "--methods", "crashing,highs", CRASH="abort")
    assert compared.returncode == 0
    assert "SIGABRT" in compared.stdout
    assert "proved by highs" in compared.stdout
