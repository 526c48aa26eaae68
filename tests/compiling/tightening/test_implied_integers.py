"""Continuous columns that equations make integer: the same feasible points, and the optimum that HiGHS loses."""

from __future__ import annotations

import numpy as np
import pytest
from brute import assert_same_optimum, dense, linear_program, optimum
from drafts import Draft
from random_rows import random_equations

from gpusched_dsl.compiling.tightening.implied_integers import ImpliedIntegers, implied_integers
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

INF = np.inf


def marked(problem: Problem) -> list[int]:
    found: list[int] = np.flatnonzero(implied_integers(problem)).tolist()
    return found


def check(rng: np.random.Generator) -> int:
    """Solve for the least and the largest value of each marked column at every choice of the others."""
    problem = random_equations(rng)
    found = marked(problem)
    rows = dense(Affines(problem.matrix, np.zeros(problem.rows)), problem.columns)
    whole, rest = np.flatnonzero(problem.integer), np.flatnonzero(~problem.integer)
    for choice in np.ndindex(*(int(problem.upper[c]) + 1 for c in whole)):
        used = rows[:, whole] @ np.array(choice, dtype=np.float64)
        matrix = np.vstack((rows[:, rest], np.eye(len(rest))))
        low = np.concatenate((problem.row_lower - used, problem.lower[rest]))
        high = np.concatenate((problem.row_upper - used, problem.upper[rest]))
        for column in found if linear_program(np.zeros(len(rest)), matrix, low, high)[0] == "optimal" else []:
            for sign in (1.0, -1.0):
                status, y = linear_program(sign * (rest == column), matrix, low, high)
                assert status == "optimal"
                value = y[rest == column]
                assert value == pytest.approx(np.rint(value), abs=1e-7)
    assert_same_optimum(problem, ImpliedIntegers())
    return len(found)


def test_marked_columns_are_integer_at_every_feasible_point() -> None:
    rng = np.random.default_rng(3274)
    assert sum(check(rng) for _ in range(12)) > 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_marked_columns_are_integer_at_every_feasible_point_many(seed: int) -> None:
    rng = np.random.default_rng(327_400 + seed)
    for _ in range(60):
        check(rng)


# --- what presolve of HiGHS loses ------------------------------------------------------------------------------------


def hosts(rng: np.random.Generator) -> Problem:
    """Pods on hosts, with the idle GPUs as a continuous difference of integers that a breaker bounds by a fraction."""
    draft = Draft()
    pods = draft.columns("pods", 2, 0, int(rng.integers(1, 5)))
    rented = draft.columns("hosts", 1, 0, int(rng.integers(2, 6)))[0]
    blocks = draft.columns("blocks", 1, 0, 9)[0]
    idle = draft.columns("idle", 1, 0, INF, integer=False)[0]
    sizes = {p: float(rng.integers(1, 9)) for p in pods}
    draft.rows("all", [(0, sizes | {idle: 1.0, rented: -float(rng.integers(1, 9))}, 0)])
    draft.rows("breaker", [(-INF, {idle: float(rng.integers(2, 80)), rented: 3.0}, float(rng.integers(3, 60)))])
    draft.rows("block", [(0, {blocks: 1.0, idle: -1.0}, INF)])
    costs = {p: float(rng.integers(-3, 6)) for p in pods}
    draft.minimize(costs | {idle: float(rng.integers(0, 6)), blocks: 2.0, rented: float(rng.integers(-3, 4))})
    return draft.problem()


def test_highs_finds_the_optimum_beside_a_fractional_bound() -> None:
    rng = np.random.default_rng(38)
    for _ in range(25):
        problem = hosts(rng)
        solved, best = solve_problem(problem, options=SolveOptions(gap=0.0)), optimum(problem)
        assert solved.status == best.status
        assert solved.objective == pytest.approx(best.value, abs=1e-6)
        solved.close()
