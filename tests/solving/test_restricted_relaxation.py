"""Relaxations in few columns: bounds, points and results equal those of complete relaxations."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from building import at_least, at_most, maximize, minimize, problem
from labelled import change, random_labelled
from msgspec import structs

from gpusched_dsl.ir.changes import changes
from gpusched_dsl.ir.domains import IntervalDomain, ProductDomain, Universe
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.solving.solution import Loading
from gpusched_dsl.solving.solve import resolve, solve_problem
from gsdsl_backends.highs.basis import Basis
from gsdsl_backends.highs.quiet import QuietHighs
from gsdsl_backends.highs.relaxation import dual_bound, rest_of
from gsdsl_backends.highs.restricted_relaxation import ColumnSelection, RestrictedRelaxation, select_columns
from gsdsl_backends.highs.session import HighsSession
from gsdsl_backends.highs.warm_resolve import Relaxations, ResolveAttempt
from gsdsl_backends.protocol import SolveOptions

EXACT = SolveOptions(gap=0.0)
PLACES = 12


def choices(
    jobs: list[int], *, room: float = 4.0, sense: str = "minimize", skew: int = 0, unbounded: bool = False
) -> Problem:
    """Every job goes to at most one place, a place takes `room` of them; what is left over costs the most.

    With `unbounded`, choices have no upper bound of their own. `skew` changes the costs of all choices.
    """
    worth = [float((job * 37 + place * (11 + skew)) % 23 + 1) for job in jobs for place in range(PLACES)]
    rows = []
    for at in range(len(jobs)):
        row = np.zeros(len(worth))
        row[at * PLACES : (at + 1) * PLACES] = 1
        rows.append(at_most(1, *row))
    for place in range(PLACES):
        row = np.zeros(len(worth))
        row[place::PLACES] = 1
        rows.append(at_most(room, *row))
    goal = maximize(*worth) if sense == "maximize" else minimize(*(-np.array(worth)))
    one = problem(goal, columns=len(worth), rows=rows, upper=np.inf if unbounded else 1, integer=True)
    job_set = IntervalDomain(0, len(jobs) - 1, 1, Universe("Jobs", tuple(f"j{job}" for job in jobs)))
    place_set = IntervalDomain(1, PLACES)
    return replace(
        one,
        variables=(Family("x", 0, ProductDomain((job_set, place_set))),),
        constraints=(Family("once", 0, job_set), Family("room", len(jobs), place_set)),
    )


class Attempts:
    """Attempts on one problem after the other; counts the columns of each relaxation."""

    def __init__(self, gap: float = 1e-4) -> None:
        self.relaxations = Relaxations()
        self.options = SolveOptions(gap=gap)
        self.problem: Problem | None = None
        self.columns: list[int] = []

    def bound(self, one: Problem, start: np.ndarray | None = None) -> float | None:
        if self.problem is not None:
            self.relaxations.adapt_to(changes(self.problem, one))
        self.problem = one
        highs = QuietHighs()

        def run() -> None:
            self.columns.append(highs.getNumCol())
            highs.run()

        attempt = ResolveAttempt(highs, one, self.relaxations, self.options, run, no_other)
        point = attempt.solve_relaxation(start)
        return None if point is None else attempt.bound.value


def no_other(one: Problem, options: SolveOptions) -> SolverResult:
    raise AssertionError("relaxations need no other problem")


def complete_bound(one: Problem) -> float | None:
    return Attempts().bound(one)


FIRST = list(range(30))
PAIRS: dict[str, Callable[[], Problem]] = {
    "a job less, a job more": lambda: choices([*range(1, 30), 77]),
    "jobs gone": lambda: choices(list(range(25))),
    "less room": lambda: choices(FIRST, room=2.0),
    "no room": lambda: choices(FIRST, room=0.0),
    "other costs": lambda: choices(FIRST, skew=3),
    "the other sense": lambda: choices(FIRST, sense="maximize"),
    "no upper bounds": lambda: choices(FIRST, unbounded=True),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("gap", [0.0, 1e-4, 0.05])
def test_a_restricted_relaxation_bounds_like_the_complete_one(name: str, gap: float) -> None:
    attempts, after = Attempts(gap), PAIRS[name]()
    assert attempts.bound(choices(FIRST)) == pytest.approx(complete_bound(choices(FIRST)))
    expected = complete_bound(after)
    assert expected is not None
    found = attempts.bound(after)
    # A tenth of the gap may be lost.
    assert found == pytest.approx(expected, rel=max(0.1 * gap, 1e-9), abs=1e-9)
    same = attempts.bound(after)
    assert same == pytest.approx(expected, rel=max(0.1 * gap, 1e-9), abs=1e-9)
    assert attempts.columns[-1] < 0.5 * after.columns


def test_few_columns_are_enough_for_small_changes() -> None:
    attempts = Attempts()
    attempts.bound(choices(FIRST))
    attempts.bound(PAIRS["a job less, a job more"]())
    assert attempts.columns[0] == 30 * PLACES
    assert max(attempts.columns[1:]) < 30 * PLACES / 2


def test_missing_columns_are_priced_in() -> None:
    """A column that was far too expensive becomes the best one."""
    costs = np.arange(1.0, 41.0)
    needs = [at_least(1, *np.ones(40))]
    before = problem(minimize(*costs), columns=40, rows=needs, upper=1, integer=True)
    attempts = Attempts()
    assert attempts.bound(before) == pytest.approx(1.0)
    for cheap in (39, 20, 30):
        costs = costs - 0.5 * (np.arange(40) == cheap) * (costs[cheap] + 1)
        after = problem(minimize(*costs), columns=40, rows=needs, upper=1, integer=True)
        assert attempts.bound(after) == pytest.approx(complete_bound(after))
    assert attempts.columns[-1] < 40


def test_a_row_of_fixed_columns_that_breaks_needs_the_complete_relaxation() -> None:
    """The columns of the second row are all too expensive to be free, and its new side needs them."""

    def built(side: float) -> Problem:
        costs = [*range(1, 9), *range(1000, 1004)]
        rows = [at_least(1, *[1] * 8, *[0] * 4), at_least(side, *[0] * 8, *[1] * 4)]
        return problem(minimize(*costs), columns=12, rows=rows, upper=1, integer=True)

    attempts = Attempts()
    assert attempts.bound(built(0)) == pytest.approx(1.0)
    assert attempts.bound(built(1)) == pytest.approx(1001.0)
    assert attempts.columns[-1] == 12
    rest = rest_of(built(1), np.zeros(12), np.arange(12) < 8)
    assert not rest.is_possible


def test_columns_without_an_end_stay_free() -> None:
    one = problem(
        minimize(1, -5, 1, 1), columns=4, rows=[at_most(3, 1, 1, 1, 1)], upper=[1, np.inf, 1, 1], integer=True
    )
    none = np.zeros(4, dtype=np.bool_)
    basis = Basis(none, none, none[:1], none[:1])
    selection = select_columns(one, np.zeros(1), 0.01, basis, none, None)
    assert selection is not None
    assert selection.free.tolist() == [False, True, False, False]
    priced_in = selection.with_missing(one, np.array([-5.0]))
    assert priced_in is not None
    assert priced_in.free.tolist() == [False, True, False, False]


def test_an_infeasible_change_is_reported_and_a_feasible_one_follows() -> None:
    def built(jobs: list[int], least: float) -> Problem:
        one = choices(jobs)
        row_lower = one.row_lower.copy()
        row_lower[-PLACES:] = least
        return replace(one, row_lower=row_lower)

    whole = structs.replace(EXACT, without=frozenset({"all"}))
    solved = solve_problem(built(FIRST, 0.0), "highs", whole)
    for jobs, least, status in (
        ([*range(1, 31)], 0.0, Status.OPTIMAL),
        ([*range(2, 32)], 3.0, Status.INFEASIBLE),  # 36 jobs would be needed
        ([*range(3, 33)], 2.0, Status.OPTIMAL),
        ([*range(4, 34)], 0.0, Status.OPTIMAL),
    ):
        after = built(jobs, least)
        solved = resolve(solved, after)
        assert solved.loading in (Loading.CARRIED, Loading.NO_SESSION)
        assert solved.status is status
        if status is Status.OPTIMAL:
            fresh = solve_problem(after, "highs", whole)
            assert solved.objective == pytest.approx(fresh.objective)
            assert solved.bound == pytest.approx(fresh.objective)
    solved.close()


def test_rounding_takes_few_columns_after_a_complete_relaxation() -> None:
    """Of twelve knapsacks of 8 for two items of 5, and six without worth, only the share of the second item is open."""
    rows = [at_most(8, *[0] * (8 * at), 5, 5, *[8] * 6, *[0] * (8 * (11 - at))) for at in range(12)]
    worth = [value + 0.01 * at for at in range(12) for value in (5, 4, *[0] * 6)]
    one = problem(maximize(*worth), columns=96, rows=rows, upper=1, integer=True)
    highs, columns = QuietHighs(), []

    def run() -> None:
        columns.append(highs.getNumCol())
        highs.run()

    answer, _ = ResolveAttempt(highs, one, Relaxations(), SolveOptions(gap=0.95), run, no_other).answer(None)
    assert answer is not None
    assert answer.bound == pytest.approx(sum(1.6 * 0.01 * at + 7.4 for at in range(12)))
    assert columns[0] == 96
    assert set(columns[1:]) == {12}


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", range(20))
def test_random_changes(seed: int) -> None:
    """Bounds by restricted relaxations equal those of complete ones, whatever changes."""
    draw = random.Random(seed)
    made = random_labelled(draw, integers=True)
    attempts = Attempts(gap=0.0)
    for _ in range(8):
        one = made.problem(draw)
        expected = complete_bound(one)
        found = attempts.bound(one)
        assert (found is None) == (expected is None)
        if expected is not None:
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)
        change(made, draw, True)


# --- what HiGHS has loaded -------------------------------------------------------------------------------------------


def test_bounds_change_in_the_complete_problem_after_an_attempt() -> None:
    session = HighsSession(choices(FIRST))
    session.solve(EXACT)
    after = choices(FIRST, skew=3)
    session.update(after)
    first = session.solve(EXACT)
    assert first.objective is not None
    columns = np.flatnonzero(first.values > 0.5).astype(np.int32)[:3]  # type: ignore[operator]
    zeros = np.zeros(len(columns))
    session.change_bounds(columns, zeros, zeros)
    upper = after.upper.copy()
    upper[columns] = 0.0
    fresh = solve_problem(replace(after, upper=upper), "highs", EXACT)
    assert session.solve(EXACT).objective == pytest.approx(fresh.objective)
    session.close()


def test_duals_of_rows_without_free_columns_are_0() -> None:
    one = choices(FIRST)
    highs = QuietHighs()
    free = np.zeros(one.columns, dtype=np.bool_)
    free[: 2 * PLACES] = True
    relaxation = RestrictedRelaxation(highs, one, ColumnSelection(free, np.zeros(one.columns)), highs.run)
    point, duals = relaxation.optimum(), relaxation.row_duals()
    assert point is not None
    assert duals is not None
    assert not duals[2:30].any()
    assert not point[2 * PLACES :].any()
    bound, basis = dual_bound(one, duals), relaxation.basis()
    assert bound is not None
    assert basis is not None
    assert bound.value <= one.objectives[0].value(point)
    assert basis.basic_rows[2:30].all()
    assert not basis.basic_columns[2 * PLACES :].any()
