"""Equations without integer solutions are detected before a solver runs, and no others."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from building import Row, at_least, equal, minimize, problem
from solvers import ALL

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.divisibility import indivisible_rows
from gpusched_dsl.solving.solve import solve_problem

FREE = (-np.inf, np.inf)


def stated(*rows: Row, columns: int = 2, integer: list[int] | bool = True, lower: object = -np.inf) -> Problem:
    low = lower if isinstance(lower, list) else -np.inf
    return problem(minimize(*[1.0] * columns), columns=columns, rows=rows, lower=low, integer=integer)


@pytest.mark.parametrize("name", ALL)
def test_an_equation_that_no_integers_fulfil_needs_no_search(name: str) -> None:
    solved = solve_problem(stated(equal(7, 2, 4)), name)
    assert solved.status == "infeasible"
    assert solved.statistics == {}


@pytest.mark.parametrize(
    ("row", "indivisible"),
    [
        (equal(7, 2, 4), True),
        (equal(8, 2, 4), False),
        (equal(7.5, 3, 5), True),
        (equal(0.7, 0.2, 0.4), True),
        (equal(0.6, 0.2, 0.4), False),
        (equal(0.3, 0.1, 0.2), False),
        (equal(7 / 3, 2 / 3, 4 / 3), True),
        (equal(8 / 3, 2 / 3, 4 / 3), False),
        (equal(1.0, 2 / 7, 3 / 7), False),
        (equal(0.5, 2 / 7, 3 / 7), True),
        (equal(1e-3, 2e-2, 4e-2), True),
        (equal(1.0, np.pi, np.e), False),  # no common measure: not for this check
        (at_least(7, 2, 4), False),
        (equal(0, 2, 4), False),
        (equal(1, 0, 0), False),  # left to the solver
    ],
)
def test_the_side_is_a_multiple_of_the_divisor(row: Row, indivisible: bool) -> None:
    assert indivisible_rows(stated(row)).tolist() == ([0] if indivisible else [])


def test_continuous_columns_make_room_and_fixed_ones_do_not() -> None:
    rows = (equal(7, 2, 4, 1),)
    assert not len(indivisible_rows(stated(*rows, columns=3, integer=[0, 1])))
    fixed = problem(
        minimize(1), columns=3, rows=rows, lower=[-np.inf, -np.inf, 2], upper=[np.inf, np.inf, 2], integer=[0, 1]
    )
    assert indivisible_rows(fixed).tolist() == [0]
    other = problem(
        minimize(1), columns=3, rows=rows, lower=[-np.inf, -np.inf, 1], upper=[np.inf, np.inf, 1], integer=[0, 1]
    )
    assert not len(indivisible_rows(other))


def test_each_row_is_judged_alone_among_many() -> None:
    rows = [equal(7, 2, 4), equal(8, 2, 4), at_least(1, 2, 4), equal(0.5, 1, 1), equal(5, 3, 6), equal(9, 3, 6)]
    assert indivisible_rows(stated(*rows)).tolist() == [0, 3, 4]


def test_random_equations_against_all_points() -> None:
    rng = np.random.default_rng(13)
    points = np.array(list(product(range(-30, 31), repeat=2)))
    count = 0
    for _ in range(300):
        scale = rng.choice([1.0, 0.1, 0.25, 1 / 3, 7.0, 1e-2])
        multiples = rng.integers(1, 13, size=2) * rng.choice([-1, 1], size=2)
        side = int(rng.integers(-12, 13))
        found = bool((points @ multiples == side).any())
        row = equal(side * scale, *(multiples * scale))
        indivisible = len(indivisible_rows(stated(row))) > 0
        # Coefficients up to 12: where there is a solution there is one within these points.
        assert indivisible == (not found), (scale, multiples, side)
        count += indivisible
    assert 60 < count < 240
