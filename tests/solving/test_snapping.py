"""Columns that miss a decimal number by a solver's rounding are moved onto it; the objective is that of the point."""

from __future__ import annotations

import numpy as np
import pytest
from building import Draws, at_least, at_most, equal, maximize, minimize, objective, problem
from scripted import Scripted, optimal

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import Tolerances, verify
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import solve_problem
from gpusched_dsl.solving.verification import check_point
from gsdsl_backends.protocol import SolveOptions


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


def test_a_row_that_is_broken_within_the_tolerance_is_repaired() -> None:
    """`18 <= 17 + s` with s at 0.9999999: solvers may return that, and its objective is better than any true one."""
    stated = problem(maximize(18, -1), columns=2, rows=[at_most(17, 18, -1)], upper=[1, 2.5], integer=[0])
    solved = reported(stated, 1.0, 0.9999999)
    assert solved.point is not None
    assert (solved.point.tolist(), solved.objective) == ([1.0, 1.0], 17.0)


def test_a_point_that_breaks_no_row_is_not_made_worse() -> None:
    solved = reported(problem(minimize(1), columns=1, rows=[at_least(0.9999999, 1)], upper=5), 0.9999999)
    assert solved.point is not None
    assert solved.point.tolist() == [0.9999999]


def test_a_point_that_cannot_be_repaired_stays() -> None:
    """A move of the second column mends one row of two: the point would still break a row, and cost more."""
    rows = [at_most(17, 18, -1, 0, 0), at_most(2 / 3, 0, 0, 1, 1)]
    stated = problem(maximize(18, -1, 1, 1), columns=4, rows=rows, upper=[1, 2.5, 1, 1], integer=[0])
    values = [1.0, 0.9999999, 0.3333334, 0.3333333]
    found = check_point(stated, np.array(values), Tolerances(), "solver")
    assert found.point.tolist() == values


@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_solvers_report_no_objective_beyond_the_best(backend: str) -> None:
    """Knapsacks with a continuous excess at a cost, all data integers: so is each optimum."""
    for seed in range(12):
        draws = Draws(17 * seed + 3)
        sizes, gains = ([float(draws.integer(1, 9)) for _ in range(7)] for _ in range(2))
        row = at_most(draws.integer(5, 20), *sizes, -3, -1)
        goal = maximize(*gains, -2, -1)
        one = problem(goal, columns=9, rows=[row], upper=[1] * 7 + [3, 2.5], integer=list(range(8)))
        solved = solve_problem(one, backend, SolveOptions(gap=0.0))
        assert solved.status == "optimal"
        assert solved.objective is not None
        assert solved.objective == round(solved.objective)
