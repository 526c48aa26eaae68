"""When a solve searches for a start, the input of the backend, and the effect on limits and proofs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from building import at_least, at_most, equal, maximize, minimize, problem
from found_codes import message_values, raises_code
from msgspec import structs
from scripted import Scripted, optimal
from small_mips import assignment, optimum

from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.language.diagnostics.diagnostic import Severity
from gpusched_dsl.solving.map_start import map_start
from gpusched_dsl.solving.primal import start as beginning
from gpusched_dsl.solving.primal.start import MipStart, find_mip_start
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.highs.backend import HighsBackend
from gsdsl_backends.highs.session import HighsSession
from gsdsl_backends.protocol import Capabilities, Monitor, SolveOptions

KNAPSACK = problem(maximize(6, 10, 12), columns=3, rows=[at_most(5, 1, 2, 3)], upper=1, integer=True)
HIGHS = HighsBackend()
OFF = SolveOptions(heuristic="off", gap=0.0)


class Watched:
    """HiGHS, with what was asked of it: the problems, the starts and the time limits."""

    name = "highs"

    def __init__(self, **able: Any) -> None:
        self.capabilities: Capabilities = structs.replace(HIGHS.capabilities, **able)
        self.opened: list[Problem] = []
        self.starts: list[Floats | None] = []
        self.limits: list[float | None] = []

    def versions(self) -> dict[str, str]:
        return HIGHS.versions()

    def open(self, problem: Problem) -> HighsSession:
        self.opened.append(problem)
        watched = self

        class Session(HighsSession):
            def solve(
                self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None
            ) -> SolverResult:
                watched.starts.append(start)
                watched.limits.append(options.time_limit)
                return super().solve(options, start, monitor)

        return Session(problem)


@pytest.fixture
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beginning, "LARGE_INTEGERS", 1)
    monkeypatch.setattr(beginning, "LARGE_NONZEROS", 1)


# --- when ---------------------------------------------------------------------------------------------------------


def test_small_problems_go_straight_to_the_solver() -> None:
    watched = Watched()
    assert solve_problem(assignment(6, 3), watched).status is Status.OPTIMAL
    assert len(watched.opened) == 1
    assert watched.starts == [None]


@pytest.mark.usefixtures("everything_is_large")
def test_large_ones_are_searched_unless_that_is_off_or_a_start_is_given() -> None:
    one = assignment(6, 3)
    for searched, options, start in (
        (True, SolveOptions(gap=0.0), None),
        (False, OFF, None),
        (False, SolveOptions(gap=0.0), solve_problem(one, HIGHS, OFF).point),
        (True, SolveOptions(gap=0.0, heuristic="on"), solve_problem(one, HIGHS, OFF).point),
    ):
        watched = Watched()
        solved = solve_problem(one, watched, options, start)
        assert solved.objective == pytest.approx(optimum(one))
        assert any(not p.is_mip for p in watched.opened) == searched  # the relaxation


@pytest.mark.usefixtures("everything_is_large")
@pytest.mark.parametrize("lacking", ["warm_start", "time_limit"])
def test_backends_that_could_not_use_a_start_are_spared(lacking: str) -> None:
    watched = Watched(**{lacking: False})
    solve_problem(assignment(6, 3), watched)
    assert len(watched.opened) == 1


def test_it_can_be_asked_for_and_must_be_spelt_right() -> None:
    watched = Watched()
    solve_problem(assignment(6, 3), watched, SolveOptions(heuristic="on"))
    assert not watched.opened[0].is_mip
    with raises_code("GSM4011", "'maybe'"):
        solve_problem(KNAPSACK, HIGHS, SolveOptions(heuristic="maybe"))


def test_problems_without_integers_and_several_objectives() -> None:
    relaxed = replace(KNAPSACK, integer=np.zeros(3, dtype=bool))
    watched = Watched()
    solve_problem(relaxed, watched, SolveOptions(heuristic="on"))
    assert len(watched.opened) == 1
    two = replace(KNAPSACK, objectives=(maximize(6, 10, 12), minimize(1, 0, 0, name="second")))
    solved = solve_problem(two, HIGHS, SolveOptions(heuristic="on", gap=0.0))
    assert [o.value for o in solved.objectives] == [22, 0]


@pytest.mark.usefixtures("everything_is_large")
def test_a_later_objective_has_a_search_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The point of an earlier objective may be the worst for the next one; a start of the user is kept."""
    searched: list[str | None] = []
    real = beginning._search

    def noted(problem: Problem, *rest: Any) -> MipStart:
        searched.append(problem.objectives[0].name)
        return real(problem, *rest)

    monkeypatch.setattr(beginning, "_search", noted)
    first, second = minimize(1, 0, 0, name="first"), maximize(6, 10, 12, name="second")
    none_used = minimize(1, 0, 0, name="none used")
    three = replace(KNAPSACK, objectives=(first, none_used, second))
    solved = solve_problem(three, HIGHS, SolveOptions(gap=0.0))
    assert [o.value for o in solved.objectives] == [0, 0, 22]
    assert searched == ["first", "second"]  # for the one in the middle the first point is best by the bounds alone
    searched.clear()
    solve_problem(three, HIGHS, SolveOptions(gap=0.0), np.array([0.0, 1.0, 0.0]))
    assert searched == []


# --- what the backend sees ----------------------------------------------------------------------------------------


def test_the_backend_begins_from_the_point_that_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    point = np.array([0.0, 1.0, 1.0])
    monkeypatch.setattr(beginning, "_search", lambda *given: MipStart(point, 22.0))
    monkeypatch.setattr(beginning, "_search_is_wanted", lambda *given: True)
    scripted = Scripted(optimal(0, 1, 1, objective=22))
    solve_problem(KNAPSACK, scripted)
    assert scripted.starts[0] is point


@pytest.mark.usefixtures("everything_is_large")
def test_the_search_gets_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    real = beginning.HeuristicBudget

    def noted(seconds: float, *rest: Any) -> Any:
        seen.append(seconds)
        return real(seconds, *rest)

    monkeypatch.setattr(beginning, "HeuristicBudget", noted)
    solve_problem(assignment(6, 3), HIGHS, SolveOptions(time_limit=50.0))
    assert seen[0] == pytest.approx(10.0, abs=0.5)
    solve_problem(assignment(6, 3), HIGHS, SolveOptions())
    assert seen[1] == beginning.MOST_SECONDS


@pytest.mark.usefixtures("everything_is_large")
def test_a_point_that_the_relaxation_proves_needs_no_solver() -> None:
    one = problem(minimize(1, 2), columns=2, rows=[at_least(1, 1, 1)], upper=1, integer=True)
    watched = Watched()
    solved = solve_problem(one, watched, SolveOptions(gap=0.0))
    assert solved.status is Status.OPTIMAL
    assert solved.objective == solved.bound == 1
    assert not any(p.is_mip for p in watched.opened)
    solved.close()


class StopAtOnce:
    stop_requested = True

    def progress(self, progress: object) -> None:
        pass


@pytest.mark.usefixtures("everything_is_large")
def test_a_stop_during_the_search_ends_the_solve() -> None:
    watched = Watched()
    solved = solve_problem(assignment(6, 3), watched, SolveOptions(), None, StopAtOnce())
    assert solved.status is Status.LIMIT
    assert solved.reason == "interrupt"
    assert not watched.opened


def limit(values: tuple[float, ...] | None, objective: float | None, bound: float | None) -> SolverResult:
    return SolverResult(Status.LIMIT, None if values is None else np.array(values), objective, bound, reason="time")


@pytest.mark.parametrize(
    ("answer", "objective", "bound"),
    [
        (limit(None, None, None), 16.0, 24.0),  # nothing of its own
        (limit((1, 1, 0), 16.0, 30.0), 16.0, 24.0),  # a weaker bound
        (limit((1, 0, 0), 6.0, 22.5), 16.0, 22.0),  # a worse point; all values are even
        (limit((0, 1, 1), 22.0, 22.5), 22.0, 22.0),  # better in both
    ],
)
def test_a_limit_gives_the_better_point_and_bound(
    answer: SolverResult, objective: float, bound: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = MipStart(np.array([1.0, 1.0, 0.0]), 16.0, 24.0, seconds=1.5)
    monkeypatch.setattr(beginning, "_search", lambda *given: found)
    monkeypatch.setattr(beginning, "_search_is_wanted", lambda *given: True)
    solved = solve_problem(KNAPSACK, Scripted(answer))
    assert (solved.objective, solved.bound) == (objective, bound)
    assert solved.solve_seconds == 1.5


# --- starts -------------------------------------------------------------------------------------------------------


def test_a_partial_start_is_completed_before_the_backend_sees_it() -> None:
    one = assignment(6, 3, 1)
    plan = np.full((6, 3), np.nan)
    plan[0] = [0, 0, 1]
    watched = Watched()
    solve_problem(one, watched, OFF, plan.ravel())
    seen = watched.starts[-1]
    assert seen is not None
    assert np.isfinite(seen).all()
    assert seen.reshape(6, 3)[0].tolist() == [0, 0, 1]
    assert watched.opened[-1].rows == one.rows


def test_a_feasible_start_is_handed_on_untouched() -> None:
    scripted = Scripted(optimal(0, 1, 1, objective=22))
    start = np.array([1.0, 1.0, 0.0])
    solve_problem(KNAPSACK, scripted, None, start)
    assert len(scripted.opened) == 1
    np.testing.assert_array_equal(scripted.starts[0], start)


def test_a_start_that_cannot_be_mended_is_dropped_with_a_warning() -> None:
    hard = problem(minimize(1, 1), columns=2, rows=[equal(7, 3, 5)], upper=5, integer=True)
    solved = solve_problem(hard, HIGHS, OFF, np.array([1.0, 1.0]))
    assert solved.status is Status.INFEASIBLE
    (warning,) = solved.warnings
    assert warning.code == "GSM4010"
    assert warning.severity is Severity.WARNING
    assert {"row[0]", "8.0", "7.0"} <= set(message_values(warning.message))


def test_a_start_that_says_nothing_is_none() -> None:
    scripted = Scripted(optimal(0, 1, 1, objective=22))
    solve_problem(KNAPSACK, scripted, None, np.full(3, np.nan))
    assert scripted.starts == [None]


def test_what_is_not_ours_starts_from_zero_where_nothing_is_said() -> None:
    relaxed = replace(KNAPSACK, integer=np.zeros(3, dtype=bool), lower=np.array([0.0, 0.5, 0.0]))
    found = find_mip_start(relaxed, HIGHS, OFF, np.array([1.0, np.nan, np.nan]), None)
    assert found.point is not None
    assert found.point.tolist() == [1, 0.5, 0]
    assert found.objective is None


def test_unknown_columns_are_unknown_behind_passes() -> None:
    larger = replace(KNAPSACK)
    reformulated = ReformulatedProblem(
        KNAPSACK, larger, map_start=lambda p: np.append(p[::-1], [p[0] * p[1], p[2] > 0.5])
    )
    assert map_start(reformulated, np.array([1.0, np.nan, 1.0])) == pytest.approx(
        [1, np.nan, 1, np.nan, 1], nan_ok=True
    )
    assert map_start(reformulated, np.array([0.0, np.nan, 0.0])) == pytest.approx([0, np.nan, 0, 0, 0], nan_ok=True)
    assert map_start(reformulated, np.array([1.0, 1.0, np.nan])) == pytest.approx(
        [np.nan, 1, 1, 1, np.nan], nan_ok=True
    )
