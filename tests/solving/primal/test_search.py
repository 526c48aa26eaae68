"""The search for a start: only feasible points, equal for equal seeds, in time, and stopped on request."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import numpy as np
import pytest
from building import at_least, at_most, equal, minimize, problem
from small_mips import assignment, optimum, random_mip

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.incumbent import Incumbent
from gpusched_dsl.solving.primal.large_neighbourhood import Neighbourhoods
from gpusched_dsl.solving.primal.restriction import restrict
from gpusched_dsl.solving.primal.rounding import locks, round_simply, round_towards
from gpusched_dsl.solving.primal.rows import rows_of
from gpusched_dsl.solving.primal.search import Search
from gsdsl_backends.highs.backend import HighsBackend
from gsdsl_backends.highs.session import HighsSession
from gsdsl_backends.protocol import Monitor, SolveOptions, SolverProgress

HIGHS = HighsBackend()


def find_start(one: Problem, seconds: float, seed: int = 0, monitor: Monitor | None = None) -> Floats | None:
    return Search(one, HIGHS, SolveOptions(seed=seed), HeuristicBudget(seconds, monitor)).run().point


def check(one: Problem) -> bool:
    """Search; whether a point was found. What is found is feasible and no better than the optimum."""
    found = Search(one, HIGHS, SolveOptions(gap=0.0), HeuristicBudget(5.0)).run()
    best = optimum(one)
    if found.point is None:
        return False
    assert best is not None
    checked = verify(one, found.point)
    assert checked.feasible
    assert checked.integrality == 0.0
    assert checked.objectives[0].value == found.objective
    assert found.sign * found.objective >= found.sign * best - 1e-6
    if found.bound is not None:
        assert found.sign * found.bound <= found.sign * best + 1e-6
    return True


def test_points_are_feasible_and_never_better_than_the_optimum() -> None:
    found = [check(random_mip(seed)) for seed in range(60)]
    solvable = [optimum(random_mip(seed)) is not None for seed in range(60)]
    assert found == solvable  # what fixing misses is found without costs


@pytest.mark.slow
def test_many_points_are_feasible() -> None:
    for seed in range(1000, 1300):
        check(random_mip(seed, columns=int(4 + seed % 14), rows=int(2 + seed % 9), continuous=int(seed % 4)))


@pytest.mark.parametrize("seed", [1, 2])
def test_assignments_are_solved_well(seed: int) -> None:
    one = assignment(20, 6, seed)
    point = find_start(one, 20.0)
    assert point is not None
    assert verify(one, point).feasible
    best = optimum(one)
    assert best is not None
    assert one.objectives[0].value(point) <= 1.05 * best


def test_the_same_seed_gives_the_same_point() -> None:
    one = assignment(20, 6, 3)
    first, second = find_start(one, 30.0, seed=5), find_start(one, 30.0, seed=5)
    assert first is not None
    np.testing.assert_array_equal(first, second)


def test_infeasible_problems_have_no_start() -> None:
    parity = problem(minimize(1, 1), columns=2, rows=[equal(1, 2, 2)], upper=5, integer=True)
    assert find_start(parity, 5.0) is None
    crossing = problem(minimize(1, 1), columns=2, rows=[at_least(3, 1, 1)], upper=1, integer=True)
    assert find_start(crossing, 5.0) is None


def test_no_time_gives_no_point_at_once() -> None:
    began = time.perf_counter()
    assert find_start(assignment(30, 8), 0.0) is None
    assert time.perf_counter() - began < 1.0


class Stopper:
    """A monitor that stops as soon as it heard of a point, or of so many."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.heard: list[SolverProgress] = []

    def progress(self, progress: SolverProgress) -> None:
        self.heard.append(progress)

    @property
    def stop_requested(self) -> bool:
        return len(self.heard) >= self.after


class NeverRelaxes(HighsBackend):
    """HiGHS that has no time for the relaxation, only for smaller problems."""

    def __init__(self, columns: int) -> None:
        self.columns = columns

    def open(self, problem: Problem) -> HighsSession:
        if problem.columns < self.columns:
            return super().open(problem)

        class Slow(HighsSession):
            def solve(self, *given: object, **named: object) -> SolverResult:
                return SolverResult(Status.LIMIT, reason="time")

        return Slow(problem)


def test_a_relaxation_that_takes_too_long_is_done_without() -> None:
    one = assignment(12, 4, 1)
    found = Search(one, NeverRelaxes(one.columns), SolveOptions(), HeuristicBudget(10.0)).run()
    assert found.point is not None
    assert verify(one, found.point).feasible
    assert found.bound is None


def test_a_stop_keeps_the_best_point() -> None:
    one = assignment(40, 10, 1)
    stopper = Stopper(1)
    point = find_start(one, 60.0, monitor=stopper)
    assert point is not None
    assert one.objectives[0].value(point) == stopper.heard[0].objective
    assert len(stopper.heard) == 1
    assert find_start(one, 60.0, monitor=Stopper(0)) is None


def test_progress_only_tells_of_better_points() -> None:
    watch = Stopper(10**6)
    find_start(assignment(40, 10, 1), 20.0, monitor=watch)
    objectives = [p.objective for p in watch.heard]
    assert len(objectives) >= 2
    assert all(a is not None and b is not None and b < a for a, b in itertools.pairwise(objectives))


def test_nonlinear_problems_are_not_taken() -> None:
    from gpusched_dsl.ir.definitions import Affines, Product

    one = random_mip(1)
    term = Product(np.array([7], dtype=np.int32), np.array([0, 2]), Affines.of_columns(np.array([0, 1])))
    with pytest.raises(ValueError, match="linear"):
        find_start(replace(one, definitions=(term,)), 1.0)


# --- parts ------------------------------------------------------------------------------------------------------


def test_rounding_with_locks_keeps_rows() -> None:
    one = problem(
        minimize(-1, -1, 1), columns=3, upper=4, integer=True, rows=[at_most(5, 1, 2, 0), at_least(1, 0, 0, 3)]
    )
    down, up = locks(one, rows_of(one))
    assert down.tolist() == [0, 0, 1]
    assert up.tolist() == [1, 1, 0]
    point, sound = round_simply(one, np.array([1.5, 1.75, 1 / 3]), down, up)
    assert sound
    assert point.tolist() == [1, 1, 1]
    tied = problem(minimize(1, 1), columns=2, rows=[equal(1.5, 1, 1)], upper=1, integer=True)
    assert not round_simply(tied, np.array([0.75, 0.75]), *locks(tied, rows_of(tied)))[1]


def test_guided_rounding_goes_towards_the_guide() -> None:
    one = problem(minimize(1, 1, 1, 1), columns=4, upper=3, integer=[0, 1, 2])
    point = round_towards(one, np.array([0.3, 1.7, 2.5, 0.5]), np.array([1.0, 1.0, 2.5, 2.0]))
    assert point.tolist() == [1, 1, 2, 0.5]


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(30))
def test_fixed_columns_are_taken_out_and_put_back(seed: int) -> None:
    one = random_mip(seed)
    lower, upper = one.lower.copy(), one.upper.copy()
    lower[[0, 3]] = upper[[0, 3]] = 1.0
    best = optimum(replace(one, lower=lower, upper=upper))
    part = restrict(one, lower, upper)
    assert part.problem.columns == 6
    assert part.problem.integer.sum() == 4
    found = optimum(part.problem)
    broken = verify(one, part.point(np.zeros(6))).worst  # rows whose columns are all fixed are not in the part
    if best is None:
        assert found is None or broken
        return
    assert found == pytest.approx(best)
    session = HIGHS.open(part.problem)
    answer = session.solve(SolveOptions(gap=0.0))
    session.close()
    if answer.values is not None:
        point = part.point(answer.values)
        assert point[[0, 3]].tolist() == [1, 1]
        assert one.objectives[0].value(point) == pytest.approx(answer.objective)
        assert verify(one, point).feasible


def test_nothing_infeasible_or_worse_becomes_the_best_point() -> None:
    one = problem(minimize(1, 2), columns=2, rows=[at_least(1, 1, 1)], upper=1, integer=True)
    best = Incumbent(one)
    assert not best.offer(np.array([0.0, 0.0]))
    assert not best.offer(np.array([0.4, 0.4]))  # is whole only after rounding, which breaks the row
    assert best.offer(np.array([0.0, 1.0]))
    assert best.objective == 2
    assert not best.offer(np.array([1.0, 1.0]))
    assert best.offer(np.array([1.0 - 1e-9, 0.0]))
    assert best.point is not None
    assert best.point.tolist() == [1, 0]


def neighbourhoods(one: Problem, point: Floats, relaxed: Floats | None = None) -> Neighbourhoods:
    best = Incumbent(one)
    assert best.offer(point)
    return Neighbourhoods(
        best, rows_of(one), HIGHS, SolveOptions(gap=0.0), relaxed, None, np.random.default_rng(0)
    )  # fmt: skip


def spread_out(jobs: int, places: int) -> tuple[Problem, Floats]:
    one = assignment(jobs, places, 2, capacity=1000.0)
    point = np.zeros((jobs, places))
    point[:, 0] = 1
    return one, point.ravel()


def test_local_branching_changes_few_columns() -> None:
    one, point = spread_out(6, 3)
    near = neighbourhoods(one, point)
    assert near.branch_locally(HeuristicBudget(10.0), changes=2)
    assert near.incumbent.point is not None
    assert int(np.abs(near.incumbent.point - point).sum()) == 2
    for _ in range(6):
        near.branch_locally(HeuristicBudget(10.0), changes=2)
    assert near.incumbent.objective == optimum(one)


def test_neighbourhoods_reach_the_optimum_of_what_is_easy() -> None:
    one, point = spread_out(30, 4)
    for relaxed in (None, np.full(one.columns, 0.25)):
        search = neighbourhoods(one, point, relaxed)
        search.improve(HeuristicBudget(20.0))
        assert search.incumbent.objective == optimum(one)
