"""Objectives in order of priority: an earlier objective of integers keeps its small coefficients beside large ones."""

from __future__ import annotations

import numpy as np
import pytest
from brute import feasible_points
from drafts import Draft

from gpusched_dsl.ir.problem import Objective, Problem, Term
from gpusched_dsl.solving.lexicographic import value_step
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

EXACT = SolveOptions(gap=0.0)


def two_goals(pay: list[float], second: list[float], sides: list[float]) -> Problem:
    """Jobs that earn `pay`, then cost `second`; rows over neighbours limit them."""
    draft = Draft()
    x = draft.columns("x", len(pay))
    for k, side in enumerate(sides):
        draft.rows(f"r{k}", [(-np.inf, {x[k]: 1.0, x[(k + 1) % len(x)]: 1.0, x[(k + 3) % len(x)]: 1.0}, side)])
    draft.maximize(dict(zip(x, pay, strict=True)))
    columns = np.array(x, dtype=np.int32)
    draft.objectives.append(Objective("minimize", (Term(None, columns, np.array(second)),), "second"))
    return draft.problem()


def best_values(problem: Problem) -> tuple[float, float]:
    points = feasible_points(problem)
    first, second = (np.array([o.value(p) for p in points]) for o in problem.objectives)
    best = first.max()
    return float(best), float(second[first >= best - 1e-3].min())


@pytest.mark.parametrize("solver", ["highs", "scip", "cpsat"])
def test_small_coefficients_are_kept_beside_a_large_one(solver: str) -> None:
    problem = two_goals([2e7, 1.0, 1.5, 0.75], [1.0] * 4, [])
    solved = solve_problem(problem, solver, EXACT)
    assert [o.value for o in solved.objectives] == [20000003.25, 4.0]
    assert not solved.warnings
    solved.close()


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_random_goals_lose_nothing(solver: str) -> None:
    rng = np.random.default_rng(20)
    for _ in range(12):
        large = float(rng.choice([1e6, 2e7, 3e8]))
        pay = [large, large, *(float(p) for p in rng.choice([0.25, 0.75, 1.0, 1.5, 40.0], 4))]
        problem = two_goals(pay, [float(c) for c in rng.integers(1, 9, 6)], [2.0, 1.0, 2.0])
        solved = solve_problem(problem, solver, EXACT)
        assert [o.value for o in solved.objectives] == pytest.approx(best_values(problem), rel=0, abs=1e-3)
        solved.close()


def test_the_step_of_an_objective() -> None:
    def step(costs: list[float], integer: bool = True) -> float:
        draft = Draft()
        draft.columns("x", len(costs), integer=integer)
        return value_step(draft.problem(), np.array(costs))

    assert step([2e7, 1.0, 1.5, 0.75]) == 0.25
    assert step([0.3, 0.0, 0.2]) == pytest.approx(0.1)
    assert step([0.3, 0.2], integer=False) == 0.0
    assert step([0.0, 0.0]) == 0.0
    assert step([1e12, 0.5]) == 0.0
