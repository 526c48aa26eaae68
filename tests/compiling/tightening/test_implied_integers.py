"""Continuous columns that equations make integer: the same feasible points, and the optimum that HiGHS loses."""

from __future__ import annotations

import numpy as np
import pytest
from brute import apply, assert_same_optimum, dense, linear_program, optimum
from drafts import Draft

from gpusched_dsl.compiling.tightening.implied_integers import ImpliedIntegers, implied_integers
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

INF = np.inf


def marked(problem: Problem) -> list[int]:
    found: list[int] = np.flatnonzero(implied_integers(problem)).tolist()
    return found


def difference(
    own: float = 1.0, other: float = -3.0, side: float = 6.0, most: float = 5.0, equal: bool = True
) -> Problem:
    """`own * x + other * n == side` with n an integer, beside a row that bounds x by a fraction."""
    draft = Draft()
    n = draft.columns("n", 1, -4, most)[0]
    x = draft.columns("x", 1, 0.5, 9.5, integer=False)[0]
    draft.rows("r", [(side if equal else -INF, {x: own, n: other}, side)])
    draft.rows("breaker", [(-INF, {x: 38.0, n: 8.0}, 300)])
    draft.minimize({x: 1.0, n: -1.0})
    return draft.problem()


@pytest.mark.parametrize(
    "problem",
    [difference(), difference(-1.0), difference(3.0), difference(0.1, 0.3, 0.7), difference(2.0, 4.0, -6.0)],
    ids=["unit", "negative", "divided", "decimals", "even"],
)
def test_an_equation_of_integers_gives_an_integer(problem: Problem) -> None:
    assert marked(problem) == [1]
    reformulated = apply(problem, ImpliedIntegers())
    assert reformulated.problem.integer.tolist() == [True, True]
    assert (reformulated.problem.lower[1], reformulated.problem.upper[1]) == (1.0, 9.0)
    assert [(n.term, n.entries) for n in reformulated.notes] == [("x", 1)]
    assert_same_optimum(problem, ImpliedIntegers())


@pytest.mark.parametrize(
    "problem",
    [
        difference(2.0),
        difference(1.0, side=0.5),
        difference(equal=False),
        difference(0.1, 0.3, 0.7, most=INF),
        difference(1.0, 3.0 + 1e-9),
    ],
    ids=["halves", "side", "inequality", "unbounded", "nearly"],
)
def test_other_columns_stay_continuous(problem: Problem) -> None:
    assert marked(problem) == []
    assert apply(problem, ImpliedIntegers()).notes == ()


def test_equations_lead_to_one_another_but_not_in_a_circle() -> None:
    draft = Draft()
    n = draft.columns("n", 4, 0, 3)
    x = draft.columns("x", 6, -20, 20, integer=False)
    for k in range(3):  # a stock: x[k + 1] == x[k] + n[k]
        draft.rows(f"stock{k}", [(0, {x[k + 1]: 1.0, x[k]: -1.0, n[k]: -1.0}, 0)])
    draft.rows("first", [(4, {x[0]: 2.0, n[3]: -2.0}, 4)])
    draft.rows("circle", [(0, {x[4]: 1.0, x[5]: -1.0}, 0)])
    draft.minimize({c: 1.0 + c for c in (*n, *x)})
    problem = draft.problem()
    assert marked(problem) == x[:4]
    assert_same_optimum(problem, ImpliedIntegers())


def test_rows_under_a_condition_give_nothing() -> None:
    draft = Draft()
    n, on = draft.columns("n", 1, 0, 3)[0], draft.columns("on")[0]
    x = draft.columns("x", 1, 0, 3, integer=False)[0]
    draft.rows("r", [(0, {x: 1.0, n: -1.0}, 0)], when=(on, True))
    draft.minimize({x: 1.0})
    assert marked(draft.problem()) == []


def test_bounds_that_leave_no_integer_stay() -> None:
    draft = Draft()
    n = draft.columns("n", 1, 0, 3)[0]
    x = draft.columns("x", 1, 0.25, 0.75, integer=False)[0]
    draft.rows("r", [(0, {x: 1.0, n: -1.0}, 0)])
    draft.minimize({x: 1.0})
    problem = draft.problem()
    changed = apply(problem, ImpliedIntegers()).problem
    assert (changed.lower[x], changed.upper[x]) == (0.25, 0.75)
    assert solve_problem(problem).status == "infeasible"


# --- random equations ------------------------------------------------------------------------------------------------


def random_equations(rng: np.random.Generator) -> Problem:
    """Integer columns, continuous ones in equations with small, even and decimal coefficients, and rows of bounds."""
    draft = Draft()
    n = draft.columns("n", 3, 0, int(rng.integers(1, 4)))
    x = draft.columns("x", 3, 0, float(rng.choice([4.0, 5.5, 30.0])), integer=False)
    for k in range(int(rng.integers(1, 4))):
        scale = float(rng.choice([1.0, 1.0, 2.0, 0.1, 0.7]))
        body = {int(c): scale * float(rng.integers(-3, 4)) for c in rng.choice(n, 2, replace=False)}
        body[x[k % 3]] = scale * float(rng.choice([1.0, -1.0, 1.0, 2.0]))
        if rng.random() < 0.4:
            body[x[int(rng.integers(3))]] = scale * float(rng.choice([1.0, -2.0]))
        side = scale * float(rng.choice([0, 1, 2, 0.5], p=[0.4, 0.3, 0.2, 0.1]))
        draft.rows(f"e{k}", [(side if rng.random() < 0.85 else -INF, body, side)])
    draft.rows("r", [(-INF, {x[0]: float(rng.integers(2, 80)), n[0]: 2.0}, float(rng.integers(3, 90)))])
    draft.minimize({c: float(rng.integers(-5, 6)) for c in (*n, *x)})
    return draft.problem()


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
