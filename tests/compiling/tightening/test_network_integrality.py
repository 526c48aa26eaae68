"""Integer columns that vertices satisfy anyway: networks and nested rows, without a change of the optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from brute import apply, assert_same_optimum, dense, optimum
from drafts import Affine, Draft

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


def test_nothing_is_whole_any_more_where_the_network_is_all_there_is() -> None:
    draft = Draft()
    x = draft.columns("x", 4, 0, 3)
    draft.rows("from", [(2, {x[0]: 1, x[1]: 1}, 2), (3, {x[2]: 1, x[3]: 1}, 3)])
    draft.rows("to", [(-INF, {x[0]: 1, x[2]: 1}, 4), (-INF, {x[1]: 1, x[3]: 1}, 2)])
    draft.minimize({x[0]: 3, x[1]: 1, x[2]: 2, x[3]: 2})
    problem = draft.problem()
    assert left_whole(problem) == []
    assert_same_optimum(problem, NetworkIntegrality())


def test_an_odd_cycle_is_no_network() -> None:
    draft = Draft()
    x = draft.columns("x", 3)
    pairs = [(-INF, {x[a]: 1.0, x[b]: 1.0}, 1.0) for a, b in combinations(range(3), 2)]
    draft.rows("pairs", pairs)
    draft.maximize(dict.fromkeys(x, 1.0))
    problem = draft.problem()
    assert left_whole(problem) == [0, 1, 2]
    naive = replace(problem, integer=np.zeros(3, dtype=bool))
    assert solve_problem(naive).objective == pytest.approx(1.5)
    assert optimum(problem).value == 1


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


def random_rows(rng: np.random.Generator, rows: int = 4, columns: int = 6) -> Problem:
    """Rows with few entries, mostly 1 or -1, over 0/1 columns and one count; now and then one over all of them."""
    draft = Draft()
    x, n = draft.columns("x", columns), draft.columns("n", 1, 0, 2)
    y = draft.columns("y", 1, 0, 2, integer=False)
    signs = [1.0] if rng.random() < 0.4 else [1.0, 1.0, -1.0]
    entries: list[dict[int, float]] = [{} for _ in range(rows)]
    for c in x:
        for r in rng.choice(rows, min(rows, int(rng.choice([1, 2, 2, 2, 2, 3]))), replace=False):
            entries[int(r)][c] = float(rng.choice(signs))
    if rng.random() < 0.3:
        entries[int(rng.integers(rows))][int(rng.choice(x))] = 2.0
    if rng.random() < 0.5:
        some = x if rng.random() < 0.5 else sorted(set(entries[0]) | set(entries[1]))
        sign = float(rng.choice([1, -1]))
        entries.append(dict.fromkeys(some, sign))
    for number, body in enumerate(entries):
        if rng.random() < 0.3:
            body[n[0]] = float(rng.choice([-2, -1, 1]))
        if rng.random() < 0.1:
            body[y[0]] = float(rng.choice([-1, 1, 0.5]))
        side = float(rng.integers(0, 3)) if rng.random() < 0.9 else 1.5
        sides = [(-INF, side), (-side, INF), (-1, side), (side, side)][int(rng.choice(4, p=[0.5, 0.2, 0.2, 0.1]))]
        draft.rows(f"r{number}", [(sides[0], body, sides[1])])
    costs: dict[int | None, float] = {c: float(rng.integers(-5, 8)) for c in [*x, *n, *y]}
    draft.minimize(costs, "maximize")
    return draft.problem()


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


def laminar(rng: np.random.Generator, columns: Sequence[int]) -> list[dict[int, float]]:
    """Rows that are disjoint or nested, each with one sign."""
    found: list[dict[int, float]] = []

    def split(some: list[int]) -> None:
        if rng.random() < 0.8:
            found.append(dict.fromkeys(some, float(rng.choice([1, -1]))))
        if len(some) > 1 and rng.random() < 0.85:
            at = int(rng.integers(1, len(some)))
            split(some[:at])
            split(some[at:])

    split([int(c) for c in rng.permutation(columns)])
    return found[:4]


def two_families(rng: np.random.Generator) -> Problem:
    draft = Draft()
    x, n = draft.columns("x", 6), draft.columns("n", 1, 0, 3)
    for number, rows in enumerate((laminar(rng, x), laminar(rng, x))):
        made: list[tuple[float, Affine, float]] = []
        for body in rows:
            low = float(rng.integers(-3, 1))
            made.append((low, {**body, n[0]: float(rng.integers(-1, 2))}, low + float(rng.integers(1, 4))))
        if made:
            draft.rows(f"family{number}", made)
    draft.minimize({c: float(rng.integers(-4, 5)) for c in [*x, *n]})
    return draft.problem()


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
