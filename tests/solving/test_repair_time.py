"""Points are mended within the time limit, or a little beyond it that grows with the problem."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.ir.deadline import limit
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.ir.verify import Tolerances
from gpusched_dsl.solving import aggregated as folding
from gpusched_dsl.solving import polishing, repair
from gpusched_dsl.solving.acceptance import Acceptance
from gpusched_dsl.solving.repair_time import FIXED_SECONDS, SECONDS_PER_NONZERO, Allowance
from gsdsl_backends.protocol import SolveOptions
from gsdsl_backends.registry import backend

PROBLEM = gs.compile(
    """
    model M { var x >= 0 <= 10; var k integer >= 0 <= 5; maximize f: 2 * k - x; constraint c: x >= 1.5 * k; }
    scenario S for M { }
    """
)
UNCLEAN = np.array([1.4999, 1.0])  # breaks c by 1e-4


def large(nonzeros: int) -> Problem:
    matrix = Matrix(np.array([0, nonzeros]), np.zeros(nonzeros, dtype=np.int32), np.ones(nonzeros))
    return replace(PROBLEM, matrix=matrix, constraints=PROBLEM.constraints[:1])


@pytest.mark.parametrize(
    ("left", "nonzeros", "reason", "seconds"),
    [
        (None, 2, "", None),
        (5.0, 2, "", 5.0),
        (0.0, 2, "time", FIXED_SECONDS),
        (0.0, 1_000_000, "time", FIXED_SECONDS + SECONDS_PER_NONZERO * 1e6),
        (5.0, 1_000_000, "interrupt", FIXED_SECONDS),
        (None, 2, "interrupt", FIXED_SECONDS),
    ],
)
def test_how_long(left: float | None, nonzeros: int, reason: str, seconds: float | None) -> None:
    found = Allowance(left, large(nonzeros), reason).remaining_seconds
    assert (found is None) == (seconds is None)
    assert found is None or found == pytest.approx(seconds, abs=0.1)


def slow_attempts(monkeypatch: pytest.MonkeyPatch, asked: list[float]) -> None:
    """Attempts at mending that use up what they are given, and fail."""

    def attempt(*given: Any) -> None:
        options = next(g for g in given if isinstance(g, SolveOptions))
        assert options.time_limit is not None
        asked.append(options.time_limit)
        time.sleep(options.time_limit)

    monkeypatch.setattr(polishing, "polish", attempt)
    monkeypatch.setattr(repair, "repair", attempt)


@pytest.mark.parametrize("reason", ["time", "interrupt"])
@pytest.mark.parametrize("status", [Status.LIMIT, Status.OPTIMAL])
def test_all_attempts_share_one_allowance(reason: str, status: Status, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    slow_attempts(monkeypatch, asked)
    acceptance = Acceptance(
        backend("highs"), ReformulatedProblem(PROBLEM, PROBLEM), PROBLEM, PROBLEM, 0, Tolerances(),
        lambda: SolveOptions(time_limit=0.0), None, lambda: None,
    )  # fmt: skip
    answer = SolverResult(status, UNCLEAN, 0.5001, 1.0, reason=reason if status is Status.LIMIT else "")
    began = time.perf_counter()
    found = acceptance.select(answer)
    assert time.perf_counter() - began < FIXED_SECONDS + 0.5
    assert isinstance(found, SolverResult)
    assert (found.status, found.values) == (Status.LIMIT, None)
    assert found.reason == (reason if status is Status.LIMIT else "time")
    assert sum(asked) <= FIXED_SECONDS + 0.1


def test_moves_share_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def move(problem: Problem, near: Any, options: SolveOptions, monitor: Any) -> Any:
        assert options.time_limit is not None
        asked.append(options.time_limit)
        time.sleep(0.05)
        return np.zeros(problem.columns)

    monkeypatch.setattr(polishing, "_smallest_move", move)
    assert polishing.polish(PROBLEM, UNCLEAN, Tolerances(), SolveOptions(time_limit=0.12), None) is None
    assert 1 < len(asked) < polishing.MOVES
    assert asked == sorted(asked, reverse=True)
    assert polishing.polish(PROBLEM, UNCLEAN, Tolerances(), SolveOptions(time_limit=0.0), None) is None


def test_refits_get_no_second_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float | None] = []
    highs = backend("highs")

    class Listening:
        name, capabilities = highs.name, highs.capabilities

        def open(self, problem: Problem) -> Any:
            session = highs.open(problem)
            solve = session.solve

            def listening(options: SolveOptions, *more: Any) -> SolverResult:
                given.append(options.time_limit)
                return solve(options, *more)

            session.solve = listening  # type: ignore[method-assign]
            return session

    answer = SolverResult(Status.LIMIT, UNCLEAN, 0.5, 1.0)
    listening: Any = Listening()
    repair.repair(listening, PROBLEM, answer, SolveOptions(time_limit=0.25), None)
    assert given == [0.25]


FOLDED = """
model Bins {
  set Items; set Bins identical;
  param size[Items] >= 0;
  var put[Items, Bins] binary;
  var used[Bins] binary;
  minimize n: sum[b in Bins] used[b];
  constraint once[i in Items]: sum[b in Bins] put[i, b] == 1;
  constraint fits[b in Bins]: sum[i in Items] size[i] * put[i, b] <= 5 * used[b];
}
scenario Day for Bins { Items = { a, b, c }; Bins = { x, y, z }; table Items: size = a 2  b 3  c 4; }
"""


@pytest.mark.parametrize(("limit", "most"), [(3.0, 3.0), (None, folding.MOST_SECONDS)])
def test_plans_by_element_are_mended_within_the_limit(
    limit: float | None, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that is found at the limit and cannot be made clean in time is dropped; without a limit it is refused."""
    given: list[float] = []

    def refused(*anything: Any) -> Any:
        raise gs.DiagnosticError([gs.Diagnostic("GSM4008", "not clean")])

    def in_vain(whole: Any, point: Any, tolerances: Any, options: SolveOptions, monitor: Any) -> None:
        assert options.time_limit is not None
        given.append(options.time_limit)
        if limit is not None:
            time.sleep(options.time_limit)

    monkeypatch.setattr(folding, "check_point", refused)
    monkeypatch.setattr(folding, "polish", in_vain)
    model = gs.loads(FOLDED)
    if limit is None:
        with pytest.raises(gs.DiagnosticError, match="not clean"):
            model.solve()
    else:
        result = model.solve(time_limit=limit)
        assert (result.status, result.reason, result.has_point) == ("limit", "time", False)
    assert len(given) == 1
    assert given[0] <= most


def test_a_deadline_that_is_over_leaves_the_fixed_time() -> None:
    with limit(0.0) as deadline:
        assert Allowance(deadline.remaining_seconds, PROBLEM).remaining_seconds == pytest.approx(FIXED_SECONDS, abs=0.1)
