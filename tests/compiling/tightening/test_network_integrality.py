"""Integer columns that vertices satisfy anyway: networks and nested rows, without a change of the optimum."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from brute import apply, assert_same_optimum, dense, optimum
from drafts import Draft
from random_rows import random_rows, two_families

from gpusched_dsl.compiling.tightening.network_integrality import NetworkIntegrality, network_columns
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

INF = np.inf


def left_whole(problem: Problem) -> list[int]:
    integer = apply(problem, NetworkIntegrality()).problem.integer
    found: list[int] = np.flatnonzero(integer).tolist()
    return found


def planning(total: tuple[float, float], coefficient: float = 1.0, jobs: int = 3, parts: int = 2) -> Problem:
    """Jobs choose parts, counts `n` say how many parts there are, and all choices together have sides too."""
    draft = Draft()
    x = [draft.columns(f"x{j}", parts) for j in range(jobs)]
    n = draft.columns("n", 2, 0, 2)
    draft.rows("one", [(-INF, dict.fromkeys(x[j], 1.0), 1) for j in range(jobs)])
    draft.rows("room", [(-INF, {x[j][p]: 1.0 for j in range(jobs)} | {n[0]: -1, n[1]: -p}, 0) for p in range(parts)])
    draft.rows("rent", [(1, {n[0]: 1, n[1]: 1}, 3)])
    draft.rows("all", [(total[0], {c: coefficient for of in x for c in of}, total[1])])
    costs: dict[int | None, float] = {c: -1.0 - 0.1 * k for k, c in enumerate(c for of in x for c in of)}
    draft.minimize(costs | {n[0]: 1.5, n[1]: 2.0})
    return draft.problem()


def test_choices_of_jobs_are_left_and_counts_stay() -> None:
    problem = planning((2, INF))
    assert left_whole(problem) == [6, 7]
    reformulated = assert_same_optimum(problem, NetworkIntegrality())
    assert [(n.term, n.entries) for n in reformulated.notes] == [("x0", 2), ("x1", 2), ("x2", 2)]


def test_a_total_row_may_have_its_signs_turned() -> None:
    assert left_whole(planning((-INF, -2), -1.0)) == [6, 7]
    assert left_whole(planning((2, INF), 2.0)) == list(range(8))


def test_sides_must_be_whole() -> None:
    assert left_whole(planning((1.5, INF))) == list(range(8))


def test_continuous_columns_must_belong_to_the_network() -> None:
    def built(**continuous: float) -> Problem:
        draft = Draft()
        x = draft.columns("x", 2)
        y = draft.columns("y", 1, 0, continuous.get("upper", 4), integer=False)
        draft.rows("a", [(-INF, {x[0]: 1, x[1]: 1, y[0]: continuous.get("factor", 1)}, 1)])
        draft.rows("b", [(-INF, {y[0]: 1}, continuous.get("side", 2))])
        draft.maximize({x[0]: 1, x[1]: 2, y[0]: 3})
        return draft.problem()

    assert left_whole(built()) == []
    assert left_whole(built(factor=0.3)) == [0, 1]
    assert left_whole(built(upper=3.5)) == [0, 1]
    assert left_whole(built(side=0.5)) == [0, 1]


def test_several_objectives_and_nonlinear_problems_are_left_alone() -> None:
    problem = planning((2, INF))
    assert left_whole(replace(problem, objectives=problem.objectives * 2)) == list(range(8))
    draft = Draft()
    x = draft.columns("x", 2)
    draft.rows("one", [(-INF, {x[0]: 1, x[1]: 1}, 1)])
    draft.product("p", [[x[0], x[1]]])
    draft.maximize({x[0]: 1, x[1]: 1})
    assert 0 in left_whole(draft.problem())


# --- random rows ---------------------------------------------------------------------------------------------------


def is_totally_unimodular(matrix: np.ndarray) -> bool:
    """By all square parts, for small matrices."""
    rows, columns = matrix.shape
    return all(
        abs(np.linalg.det(matrix[np.ix_(r, c)])) < 1.5
        for size in range(1, min(rows, columns) + 1)
        for r in combinations(range(rows), size)
        for c in combinations(range(columns), size)
    )


def naive(problem: Problem) -> Problem:
    """Without the integrality of all columns whose entries are 1 or -1."""
    matrix = problem.matrix
    fit = np.ones(problem.columns, dtype=bool)
    fit[matrix.columns[np.abs(matrix.values) != 1]] = False
    return replace(problem, integer=problem.integer & ~fit)


def check(rng: np.random.Generator) -> tuple[int, bool]:
    """How many columns were found, and whether leaving all that look alike would have been wrong."""
    problem = random_rows(rng)
    chosen = network_columns(problem)
    rows = dense(Affines(problem.matrix, np.zeros(problem.rows)), problem.columns)
    part = rows[:, chosen]
    assert is_totally_unimodular(part[np.abs(part).max(axis=1, initial=0) > 0]), (part,)
    assert_same_optimum(problem, NetworkIntegrality())
    best = optimum(problem)
    options = SolveOptions(tighten=False, gap=0.0)
    found = solve_problem(naive(problem), options=options)
    wrong = best.status == "optimal" and abs((found.objective or 0.0) - best.value) > 1e-6
    return int((problem.integer & ~apply(problem, NetworkIntegrality()).problem.integer).sum()), wrong


@pytest.mark.slow
def test_random_rows_are_left_only_where_they_are_a_network() -> None:
    rng = np.random.default_rng(43)
    results = [check(rng) for _ in range(60)]
    assert sum(found > 0 for found, _ in results) > 10
    assert sum(wrong for _, wrong in results) > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_random_rows_many(seed: int) -> None:
    rng = np.random.default_rng(4300 + seed)
    for _ in range(100):
        check(rng)


def check_two_families(rng: np.random.Generator) -> int:
    problem = two_families(rng)
    assert_same_optimum(problem, NetworkIntegrality())
    return int(network_columns(problem, among=problem.upper <= 1)[:6].all())


def test_two_families_of_nested_rows_are_a_network() -> None:
    rng = np.random.default_rng(44)
    assert sum(check_two_families(rng) for _ in range(40)) > 25


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_two_families_many(seed: int) -> None:
    rng = np.random.default_rng(4400 + seed)
    assert sum(check_two_families(rng) for _ in range(200)) > 100
