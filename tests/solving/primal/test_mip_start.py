"""Partial and infeasible starts, completed to feasible points."""

from __future__ import annotations

import numpy as np
import pytest
from building import at_least, at_most, equal, minimize, problem
from small_mips import assignment, optimum, random_mip

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.primal import mip_start as completion
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.mip_start import StartCompletion, complete
from gsdsl_backends.highs.backend import HighsBackend
from gsdsl_backends.protocol import SolveOptions

HIGHS = HighsBackend()
NAN = float("nan")


def done(one: Problem, partial: Floats | list[float], seconds: float = 10.0) -> StartCompletion:
    return complete(one, np.array(partial, dtype=float), HIGHS, SolveOptions(gap=0.0), HeuristicBudget(seconds))


def feasible(one: Problem, found: StartCompletion) -> Floats:
    assert found.point is not None
    assert verify(one, found.point).feasible
    return found.point


def test_a_feasible_full_start_stays_as_it_is() -> None:
    one = problem(minimize(1, 2), columns=2, rows=[at_least(1, 1, 1)], upper=1, integer=True)
    found = done(one, [0, 1])
    assert found.as_given
    assert feasible(one, found).tolist() == [0, 1]


def test_given_values_stay_and_the_rest_is_solved_for() -> None:
    one = assignment(12, 4, 1)
    plan = np.full((12, 4), NAN)
    plan[:6] = 0
    plan[np.arange(6), [0, 1, 2, 3, 0, 1]] = 1
    point = feasible(one, done(one, plan.ravel())).reshape(12, 4)
    np.testing.assert_array_equal(point[:6], plan[:6])
    free = np.isnan(plan).ravel()
    lower, upper = np.where(free, 0.0, plan.ravel()), np.where(free, 1.0, plan.ravel())
    from dataclasses import replace

    assert one.objectives[0].value(point.ravel()) == pytest.approx(optimum(replace(one, lower=lower, upper=upper)))


def test_a_zero_completion_that_is_feasible_is_bettered() -> None:
    # Nothing need be sold, but everything can be: what is unknown is solved for all the same.
    one = problem(minimize(-1, -1, -1), columns=3, rows=[at_most(2, 1, 1, 1)], upper=1, integer=True)
    assert feasible(one, done(one, [0, NAN, NAN])).tolist() == [0, 1, 1]


def test_a_value_that_contradicts_gives_way() -> None:
    one = assignment(8, 3, 1, capacity=1000.0)
    plan = np.zeros((8, 3))
    plan[:, 0] = 1
    plan[2, 1] = 1  # in two places
    plan[5] = 0  # nowhere
    point = feasible(one, done(one, plan.ravel())).reshape(8, 3)
    kept = [0, 1, 3, 4, 6, 7]
    np.testing.assert_array_equal(point[kept], plan[kept])


def test_a_place_that_became_too_small_is_left_by_some_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "_repair", None)  # the others of what gives way are free from the beginning
    one = assignment(10, 3, 4)
    plan = np.zeros((10, 3))
    plan[:, 0] = 1  # all in the first place, which is far too small
    point = feasible(one, done(one, plan.ravel())).reshape(10, 3)
    assert (point[:, 0] == 1).sum() >= 2


def test_a_start_is_moved_to_a_feasible_point_that_propagation_does_not_see() -> None:
    # Each value fits by itself and with its neighbours; together the three rows leave nothing for the last columns.
    one = problem(
        minimize(0, 0, 0, 0), columns=4, upper=1, integer=True,
        rows=[equal(2, 1, 1, 1, 1), at_least(1, 1, 0, 1, 0), at_least(1, 0, 1, 0, 1), at_most(1, 1, 0, 0, 1)],
    )  # fmt: skip
    point = feasible(one, done(one, [0, 0, 0, 0]))
    assert point.sum() == 2


def test_what_cannot_be_mended_names_the_row() -> None:
    parity = problem(minimize(1, 1), columns=2, rows=[equal(1, 2, 2)], upper=5, integer=True)
    found = done(parity, [0, NAN])
    assert found.point is None
    assert found.broken is not None
    assert found.broken.kind == "row"
    assert found.broken.number == 0


def test_continuous_columns_follow() -> None:
    one = problem(minimize(1, 5), columns=2, rows=[at_least(3, 2, 1), at_least(1, 0, 1)], upper=[3, 10], integer=[0])
    assert feasible(one, done(one, [1, NAN])).tolist() == pytest.approx([1, 1])
    assert feasible(one, done(one, [1, 0])).tolist() == pytest.approx([1, 1])


def test_without_time_nothing_is_claimed() -> None:
    found = done(assignment(8, 3, 1), [NAN] * 24, seconds=0.0)
    assert found.point is None


def some_start(one: Problem, seed: int) -> Floats:
    draw = np.random.default_rng(seed)
    start = draw.integers(-1, 3, one.columns).astype(float)
    return np.where(draw.random(one.columns) < 0.4, NAN, start)


def check(seed: int) -> None:
    one = random_mip(seed, columns=int(5 + seed % 5), continuous=int(seed % 3))
    found = done(one, some_start(one, seed), 20.0)
    best = optimum(one)
    if found.point is not None:
        feasible(one, found)
        assert best is not None
    else:
        assert best is None  # problems this small are searched wholly


def test_random_starts_of_random_problems() -> None:
    for seed in range(60):
        check(seed)


@pytest.mark.slow
def test_many_random_starts() -> None:
    for seed in range(100, 700):
        check(seed)
