"""Unbounded problems: the direction is one, improves the objective, and needs all its columns."""

from __future__ import annotations

import numpy as np
import pytest
from building import INF, Draws, at_least, at_most, equal, maximize, minimize, problem

from gpusched_dsl.explaining.ray import find_ray
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.solve import solve_problem


def test_one_column() -> None:
    ray = find_ray(problem(maximize(1, 5, 1), columns=3, rows=[at_most(4, 1, 0, 1)], upper=[9.0, INF, INF]))
    assert ray is not None
    assert ray.columns.tolist() == [1]
    assert (ray.steps.tolist(), ray.gain, ray.minimal) == ([1.0], 5.0, True)


def test_columns_that_need_each_other() -> None:
    """Each of two columns is held by the other; the third is dear but bounded."""
    rows = [equal(0, 1, -2, 0), at_most(3, 0, 0, 1)]
    ray = find_ray(problem(minimize(-1, 1, -100), columns=3, rows=rows))
    assert ray is not None
    assert ray.columns.tolist() == [0, 1]
    assert ray.steps.tolist() == [2.0, 1.0]
    assert ray.gain == -1.0


def test_a_later_objective_keeps_the_earlier_ones() -> None:
    first, second = minimize(1, 0, 0, name="first"), maximize(1, 1, 1, name="second")
    ray = find_ray(problem(first, second, columns=3, rows=[at_most(1, 0, 1, 0)]))
    assert ray is not None
    assert ray.objective.name == "second"
    assert ray.columns.tolist() == [2]


def test_bounded_problems_have_none() -> None:
    assert find_ray(problem(maximize(1, 1), columns=2, rows=[at_most(4, 1, 1)])) is None
    assert find_ray(problem(columns=2)) is None


def random_problem(seed: int) -> Problem:
    draws = Draws(seed)
    for _ in range(5):
        draws.integer(0, 2)
    columns = draws.integer(2, 6)
    rows = []
    for _ in range(draws.integer(1, 5)):
        state = at_most if draws.integer(0, 2) else at_least
        side = float(draws.integer(0, 9))
        rows.append(state(side, *[float(draws.integer(-2, 3)) for _ in range(columns)]))
    upper = [INF if draws.integer(0, 3) else 8.0 for _ in range(columns)]
    return problem(
        minimize(*[float(draws.integer(-2, 5)) for _ in range(columns)]), columns=columns, rows=rows, upper=upper
    )


@pytest.mark.slow
def test_random_rays_hold() -> None:
    unbounded = 0
    for seed in range(60):
        one = random_problem(seed)
        solved = solve_problem(one, "highs")
        solved.close()
        ray = find_ray(one)
        if solved.status == "optimal":
            assert ray is None, seed
        if solved.status != "unbounded":
            continue
        unbounded += 1
        assert ray is not None, seed
        assert ray.minimal
        direction = np.zeros(one.columns)
        direction[ray.columns] = ray.steps
        change = one.matrix.activity(direction)
        assert np.all(change[np.isfinite(one.row_upper)] <= 1e-9), seed
        assert np.all(change[np.isfinite(one.row_lower)] >= -1e-9), seed
        assert np.all(direction >= 0), seed
        assert not np.isfinite(one.upper[ray.columns]).any(), seed
        assert one.objectives[0].costs(one.columns) @ direction == pytest.approx(ray.gain)
        assert ray.gain < 0
    assert unbounded > 10
