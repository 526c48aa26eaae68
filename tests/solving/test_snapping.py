"""Columns that miss a decimal number by a solver's rounding are moved onto it; the objective is that of the point."""

from __future__ import annotations

import numpy as np
import pytest
from building import Draws, at_least, at_most, equal, maximize, minimize, objective, problem
from scripted import Scripted, optimal

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import solve_problem


def reported(stated: Problem, *values: float) -> Solution:
    value = float(stated.objectives[0].value(np.array(values)))
    return solve_problem(stated, Scripted(optimal(*values, objective=value)))


def test_a_rounding_error_of_a_solver_is_not_reported() -> None:
    stated = problem(maximize(8, 2), columns=2, rows=[at_most(6.5, 2, 1)], upper=4.0)
    solved = reported(stated, 2.4999999999973, 1.5000000000027)
    assert solved.point is not None
    assert solved.point.tolist() == [2.5, 1.5]
    assert solved.objective == 23.0
    assert solved.objectives[0].bound == 23.0


@pytest.mark.parametrize(
    ("stated", "values"),
    [
        (problem(minimize(1), columns=1, lower=2.49999999999, upper=2.499999999995), [2.49999999999]),  # not in reach
        (problem(minimize(1, 1), columns=2, rows=[equal(1, 3, 0)]), [1 / 3, 0.0]),  # no decimal number
        (problem(minimize(1), columns=1, rows=[at_least(3e8, 1e9)]), [0.3000001]),  # one, and not a rounding error off
    ],
)
def test_other_numbers_stay(stated: Problem, values: list[float]) -> None:
    solved = reported(stated, *values)
    assert solved.point is not None
    assert solved.point.tolist() == values


def test_a_move_that_breaks_a_row_is_not_made() -> None:
    rows = [equal(2.4999999995, 1, 0), equal(5e8, 2e8, 0.25)]
    stated = problem(minimize(1, 1), columns=2, rows=rows, upper=1e3)
    values = [2.4999999995, 0.4]
    solved = reported(stated, *values)
    assert solved.point is not None
    assert solved.point.tolist() == values


def test_an_objective_that_counts_the_move_is_not_made_worse() -> None:
    solved = reported(problem(maximize(1e12), columns=1, rows=[at_most(9, 1e10)]), 9e-10)
    assert solved.point is not None
    assert solved.point.tolist() == [9e-10]
    assert solved.objective == pytest.approx(900.0)


@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_reported_points_are_verified_and_decimal(backend: str) -> None:
    for seed in range(25):
        draws = Draws(31 * seed + 7)
        rows = [at_most(draws.integer(5, 40), *[draws.integer(0, 9) for _ in range(6)]) for _ in range(4)]
        goal = objective("maximize" if seed % 2 else "minimize", [draws.integer(-3, 9) for _ in range(6)])
        upper = [float(draws.integer(1, 12)) for _ in range(6)]
        solved = solve_problem(
            problem(goal, columns=6, rows=rows, upper=upper, integer=[0] if seed % 3 else False), backend
        )
        assert solved.point is not None
        found = verify(solved.problem, solved.point)
        assert found.feasible
        assert found.objectives[0].value == solved.objective
        decimal = np.round(solved.point, 6)
        near = np.abs(decimal - solved.point) <= 1e-10
        assert (solved.point[near] == decimal[near]).all()
