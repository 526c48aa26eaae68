"""A second run confirms short claims: lies of solvers are found, true results stay the same, time limits are kept."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Draws, at_most, market_split, maximize, minimize, problem
from msgspec import structs
from scripted import Scripted, optimal

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.solving.concurrent.backend import ConcurrentBackend
from gpusched_dsl.solving.second_opinion import LEAST_SECONDS, MOST_SECONDS
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends import registry
from gsdsl_backends.highs.backend import HighsBackend
from gsdsl_backends.highs.session import HighsSession
from gsdsl_backends.protocol import Monitor, SolveOptions
from gsdsl_notebook.magics import Magics

CONFIRMED = SolveOptions(gap=0.0, threads=1, second_opinion=True)
ALONE = structs.replace(CONFIRMED, second_opinion=False)
LARGEST = 3  # of each column of the random problems
TEXT = """model M {
  var x integer >= 0 <= 6;
  var y integer >= 0 <= 6;
  maximize z: x + y;
  constraint k: 2*x + 3*y <= 12;
}
scenario S for M {}
"""


class Lying:
    """HiGHS on a smaller problem, whose result it gives for that of the problem; `late`: seconds that it waits."""

    name = "lying"
    capabilities = HighsBackend.capabilities

    def __init__(self, lie: str = "", late: float = 0.0) -> None:
        self.lie, self.late = lie, late

    def versions(self) -> dict[str, str]:
        return {"lying": "1"}

    def open(self, problem: Problem) -> LyingSession:
        session = LyingSession(replace(problem, upper=problem.upper - 1) if self.lie == "optimum" else problem)
        session.lie, session.late = self.lie, self.late
        return session


class LyingSession(HighsSession):
    lie, late = "", 0.0

    def solve(self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None) -> SolverResult:
        time.sleep(self.late)
        if self.lie == "infeasible":
            return SolverResult(Status.INFEASIBLE)
        result = super().solve(options, start, monitor)
        return structs.replace(result, bound=None) if self.lie == "no bound" else result


def random_problem(seed: int) -> tuple[Problem, float]:
    """A knapsack with two rows whose first column is worth its last unit, and its optimum by enumeration."""
    draws = Draws(seed)
    values = [50.0, *(float(draws.integer(1, 9)) for _ in range(3))]
    rows = [[1.0, *(float(draws.integer(1, 9)) for _ in range(3))] for _ in range(2)]
    sides = [draws.integer(5, 25) for _ in rows]
    made = problem(
        maximize(*values), columns=4, rows=[at_most(s, *r) for s, r in zip(sides, rows, strict=True)],
        upper=LARGEST, integer=True,
    )  # fmt: skip
    points = np.array(list(product(range(LARGEST + 1), repeat=4)))
    fits = (points @ np.array(rows).T <= np.array(sides)).all(axis=1)
    return made, float((points[fits] @ np.array(values)).max())


@pytest.mark.parametrize("lie", ["optimum", "infeasible"])
@pytest.mark.parametrize("seed", range(8))
def test_a_verified_point_refutes_a_lie(seed: int, lie: str) -> None:
    made, best = random_problem(seed)
    alone = solve_problem(made, Lying(lie), ALONE)
    assert (alone.status, alone.objective) != ("optimal", best)
    solved = solve_problem(made, Lying(lie), CONFIRMED)
    assert (solved.status, solved.objective, solved.bound) == ("optimal", best, pytest.approx(best))
    [told] = solved.contradictions
    assert told.code == "GSM9002"
    assert "`lying` claims that no point is" in told.message
    assert "that of `highs without presolve`" in told.message
    assert solved.statistics["contradictions"] == 1
    assert "confirmed_claims" not in solved.statistics


@pytest.mark.parametrize(
    "backend",
    ["highs", "scip", "cpsat", Lying(), Lying("no bound")],
    ids=["highs", "scip", "cpsat", "lying", "without_bound"],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_true_result_stays_the_same(seed: int, backend: Any) -> None:
    made, best = random_problem(seed)
    alone, solved = (solve_problem(made, backend, options) for options in (ALONE, CONFIRMED))
    assert (solved.status, solved.objective) == ("optimal", best)
    assert _exactly(solved) == _exactly(alone)
    assert solved.contradictions == ()
    assert solved.statistics["second_opinions"] == solved.statistics["confirmed_claims"] == 1
    assert "second_opinions" not in alone.statistics


def _exactly(solved: Solution) -> tuple[object, ...]:
    assert solved.point is not None
    return solved.status, solved.reason, solved.point.tobytes(), solved.objective, solved.bound, solved.row_duals


def test_a_bound_that_does_not_hold_leaves_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run ends with a better point at its limit, and proves nothing."""
    made, best = random_problem(1)
    real = HighsSession.solve

    def limited(self: HighsSession, *arguments: Any) -> SolverResult:
        result = real(self, *arguments)
        if isinstance(self, LyingSession):
            return result
        return structs.replace(result, status=Status.LIMIT, reason="time", bound=best + 7)

    monkeypatch.setattr(HighsSession, "solve", limited)
    solved = solve_problem(made, Lying("optimum"), CONFIRMED)
    assert (solved.status, solved.reason, solved.objective, solved.bound) == ("limit", "accuracy", best, best + 7)
    assert len(solved.contradictions) == 1


def test_each_objective_is_confirmed() -> None:
    made, best = random_problem(2)
    second = structs.replace(minimize(1, 1, 1, 1), name="count")
    solved = solve_problem(replace(made, objectives=(*made.objectives, second)), "highs", CONFIRMED)
    assert solved.objective == best
    assert solved.statistics["second_opinions"] == 2


def test_a_point_that_uses_the_tolerance_up_refutes_nothing() -> None:
    """A row of small coefficients lets x go 0.0009 too far within 1e-6, which is more than rounding."""
    row = at_most(1e-3, 1e-3, 0)
    made = problem(maximize(1, 1), columns=2, rows=[row], upper=[2, 3], integer=[False, True])
    first = optimal(1.0009, 3, objective=4.0009)
    solved = solve_problem(made, Scripted(first), structs.replace(CONFIRMED, without=frozenset({"all"})))
    assert solved.statistics["second_opinions"] == 1
    assert solved.contradictions == ()
    assert solved.objective == 4.0009


def test_what_is_not_confirmed() -> None:
    made, _ = random_problem(0)
    linear = replace(made, integer=np.zeros(4, dtype=bool))
    impossible = market_split(6, 2)
    without = structs.replace(CONFIRMED, extra={"presolve": "off"})
    late = Lying(late=MOST_SECONDS)
    cases: list[tuple[Problem, Any, SolveOptions]] = [
        (linear, "highs", CONFIRMED), (made, "highs", without), (impossible, "highs", CONFIRMED),
        (made, late, CONFIRMED), (made, "highs", ALONE),
    ]  # fmt: skip
    for one, backend, options in cases:
        solved = solve_problem(one, backend, options)
        assert solved.status in ("optimal", "infeasible")
        assert "second_opinions" not in solved.statistics


def test_a_concurrent_solve_is_confirmed_once() -> None:
    made, best = random_problem(3)
    both = ConcurrentBackend("highs+scip", ("highs", "scip"), load=registry.backend)
    solved = solve_problem(made, both, CONFIRMED)
    assert solved.objective == best
    assert solved.statistics["second_opinions"] == 1


class Spy:
    """Records the runs of HiGHS that are second opinions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.options: list[SolveOptions] = []
        self.starts: list[Floats | None] = []
        real = HighsSession.solve

        def solve(
            session: HighsSession, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None
        ) -> SolverResult:
            if not isinstance(session, LyingSession):
                self.options.append(options)
                self.starts.append(start)
            return real(session, options, start, monitor)

        monkeypatch.setattr(HighsSession, "solve", solve)


@pytest.mark.parametrize(
    ("late", "limit", "least", "most"),
    [(0.0, None, 0.0, LEAST_SECONDS), (0.4, None, 0.3, 0.7), (0.4, 0.5, 0.0, 0.1), (0.0, 0.05, 0.0, 0.05)],
)
def test_the_second_run_takes_no_longer_than_the_first(
    late: float, limit: float | None, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Spy(monkeypatch)
    extra = {"mip_max_nodes": 7}
    options = structs.replace(CONFIRMED, time_limit=limit, extra=extra, seed=3)
    began = time.perf_counter()
    solved = solve_problem(market_split(), Lying("infeasible", late), options)
    seconds = time.perf_counter() - began
    assert solved.status == "infeasible"
    [asked] = seen.options
    assert asked.time_limit is not None
    assert least <= asked.time_limit <= most
    assert (asked.threads, asked.seed, dict(asked.extra)) == (1, 3, {"presolve": "off"})
    assert seen.starts == [None]
    assert solved.statistics["second_opinion_seconds"] <= seconds
    assert "confirmed_claims" not in solved.statistics


def test_a_stop_ends_the_second_run_and_keeps_the_result() -> None:
    class Stopping:
        asked = 0

        def progress(self, progress: object) -> None:
            pass

        @property
        def stop_requested(self) -> bool:
            return late.waited

    class Late(Lying):
        waited = False

        def open(self, problem: Problem) -> LyingSession:
            session = super().open(problem)
            real = session.solve

            def solve(*arguments: Any) -> SolverResult:
                result = real(*arguments)
                self.waited = True
                return result

            session.solve = solve  # type: ignore[method-assign, assignment]
            return session

    late = Late(late=0.1)
    made, best = random_problem(4)
    solved = solve_problem(made, late, CONFIRMED, monitor=Stopping())
    assert (solved.status, solved.objective) == ("optimal", best)


PROGRAM = """
import json, os, signal, sys, threading
from test_second_opinion import *

real = HighsSession.solve

def solve(session, *arguments):
    if not isinstance(session, LyingSession):
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    result = real(session, *arguments)
    reasons.append(result.reason)
    return result

reasons = []
HighsSession.solve = solve
solved = solve_problem(market_split(), Lying("infeasible", 0.9), CONFIRMED)
print(json.dumps([solved.status, solved.reason, solved.statistics["second_opinions"], reasons]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_keeps_the_first_result() -> None:
    paths = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "conformance")]
    program = f"import sys; sys.path[:0] = {paths!r}\n{PROGRAM}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["infeasible", "", 1.0, ["interrupt"]]


# --- doors -----------------------------------------------------------------------------------------------------------


def test_every_door_asks_and_can_be_told_not_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, file = gs.loads(TEXT), tmp_path / "m.gsm"
    file.write_text(TEXT)
    line = Magics({"model": model}).line

    def by_command(*options: str) -> dict[str, float]:
        assert main(["solve", str(file), "--json", "-", *options]) == 0
        found: dict[str, float] = json.loads(capsys.readouterr().out)["statistics"]
        return found

    asked = [
        model.solve().solved.statistics,
        gs.solve(model.ground()).solved.statistics,
        line("solve").solved.statistics,
        by_command(),
    ]
    unasked = [
        model.solve(second_opinion=False).solved.statistics,
        model.resolve().solved.statistics,  # with the options of the last solve
        gs.solve(model.ground(), second_opinion=False).solved.statistics,
        line("solve --no-second-opinion").solved.statistics,
        by_command("--no-second-opinion"),
        model.compare(["highs"])["highs"].result.solved.statistics,
    ]
    assert [found.get("second_opinions") for found in asked] == [1] * len(asked)
    assert [found.get("second_opinions") for found in unasked] == [None] * len(unasked)


def test_the_command_ends_with_the_code_of_a_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "from test_second_opinion import Lying\n\nclass Backend(Lying):\n    lie = 'optimum'\n"
    source += "    def __init__(self):\n        super().__init__('optimum')\n"
    files = {
        "lying_solver/__init__.py": "",
        "lying_solver/backend.py": f"import sys; sys.path[:0] = {[str(Path(__file__).parent)]!r}\n{source}",
        "lying_solver-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: lying-solver\nVersion: 1.0\n",
        "lying_solver-1.0.dist-info/entry_points.txt": f"[{registry.GROUP}]\nlying = lying_solver.backend:Backend\n",
        "m.gsm": TEXT,
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_known_backends", registry._known_backends.__wrapped__)
    assert main(["solve", str(tmp_path / "m.gsm"), "--method", "lying"]) == 70
    told = capsys.readouterr()
    assert "GSM9002" in told.err
    assert "z       6" in told.out
