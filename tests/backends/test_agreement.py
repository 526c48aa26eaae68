"""Random small problems: every backend against complete enumeration, and against each other.

Integer columns are enumerated with exact integers; linear problems are judged by duality, in fractions.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from building import INF, Draws, Row, dense_rows, objective, problem
from solvers import ALL, GENERAL

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

EXACT = SolveOptions(gap=0.0, time_limit=30.0)


def random_row(draws: Draws, columns: int, point: list[int]) -> Row:
    """A sparse row of small integers, usually with `point` between its sides."""
    row = [draws.integer(-4, 8) if draws.integer(0, 2) else 0 for _ in range(columns)]
    value = sum(a * x for a, x in zip(row, point, strict=True)) + (
        draws.integer(-3, 4) if draws.integer(0, 6) == 0 else 0
    )
    lower, upper = value - draws.integer(0, 4), value + draws.integer(0, 4)
    kind = draws.integer(0, 4)
    return (-INF if kind == 0 else lower, row, INF if kind == 1 else lower if kind == 2 else upper)


def pure_integer(seed: int) -> Problem:
    """Up to 6 integer columns of up to 6 values, up to 5 rows, all data small integers."""
    draws = Draws(seed)
    for _ in range(5):
        draws.integer(0, 2)
    columns, rows = draws.integer(1, 7), draws.integer(0, 6)
    lower = [draws.integer(-3, 2) for _ in range(columns)]
    upper = [low + draws.integer(0, 6) for low in lower]
    point = [draws.integer(low, high + 1) for low, high in zip(lower, upper, strict=True)]
    sense = "minimize" if draws.integer(0, 2) else "maximize"
    return problem(
        objective(sense, [draws.integer(-6, 7) for _ in range(columns)], draws.integer(-9, 10)),
        columns=columns,
        rows=[random_row(draws, columns, point) for _ in range(rows)],
        lower=lower,
        upper=upper,
        integer=True,
    )


def mixed(seed: int) -> Problem:
    """The like, with some columns continuous and some bounds missing."""
    draws = Draws(seed)
    one = pure_integer(seed + 10_000_019)
    whole = np.array([bool(draws.integer(0, 3)) for _ in range(one.columns)])
    missing = np.array([draws.integer(0, 4) == 0 for _ in range(one.columns)])
    upper = np.where(missing & ~whole, INF, one.upper)
    return Problem(
        one.name, one.variables, one.lower, upper, whole, one.constraints, one.matrix, one.row_lower, one.row_upper,
        one.objectives,
    )  # fmt: skip


def linear(seed: int) -> Problem:
    one = mixed(seed)
    nothing = np.zeros(one.columns, dtype=bool)
    return Problem(
        one.name, one.variables, one.lower, one.upper, nothing, one.constraints, one.matrix, one.row_lower,
        one.row_upper, one.objectives,
    )  # fmt: skip


def enumerated(one: Problem) -> int | None:
    """The best objective over all integer points, with integers only; None when no point is feasible."""
    rows = dense_rows(one).astype(int).tolist()
    costs = one.objectives[0].costs(one.columns).astype(int).tolist()
    sides = list(zip(one.row_lower.tolist(), one.row_upper.tolist(), strict=True))
    ranges = [range(int(a), int(b) + 1) for a, b in zip(one.lower.tolist(), one.upper.tolist(), strict=True)]
    best = None
    for point in itertools.product(*ranges):
        activities = [sum(a * x for a, x in zip(row, point, strict=True)) for row in rows]
        if all(low <= value <= high for value, (low, high) in zip(activities, sides, strict=True)):
            value = sum(c * x for c, x in zip(costs, point, strict=True))
            if best is None or (value < best if one.objectives[0].sense == "minimize" else value > best):
                best = value
    return None if best is None else best + int(one.objectives[0].offset)


def check_against_enumeration(name: str, seed: int) -> None:
    one = pure_integer(seed)
    best = enumerated(one)
    solved = solve_problem(one, name, EXACT)
    if best is None:
        assert solved.status == "infeasible", (name, seed)
    else:
        assert solved.status == "optimal", (name, seed)
        assert solved.objective == best, (name, seed)
        assert solved.bound == pytest.approx(best, abs=1e-6), (name, seed)


def solve_all(one: Problem) -> dict[str, Solution]:
    return {name: solve_problem(one, name, EXACT) for name in GENERAL}


def check_against_each_other(seed: int) -> None:
    found = solve_all(mixed(seed))
    first, *others = found.values()
    for other in others:
        # SCIP may branch for ever where a mixed problem is unbounded; it then says so with its limit.
        if "limit" in (first.status, other.status):
            assert {first.status, other.status} <= {"limit", "unbounded"}, seed
            continue
        assert other.status == first.status, seed
        if first.objective is not None:
            # Each row may be broken by 1e-6, and the objective gains that times its dual value, here a few units.
            assert other.objective == pytest.approx(first.objective, rel=1e-6, abs=1e-5), seed


def check_by_duality(name: str, seed: int) -> None:
    """The dual values of a linear optimum give a bound that meets the objective, computed in exact fractions."""
    one = linear(seed)
    solved = solve_problem(one, name, EXACT)
    if solved.status != "optimal":
        return
    assert solved.row_duals is not None
    assert solved.reduced_costs is not None
    assert solved.objective is not None
    sign = 1 if one.objectives[0].sense == "minimize" else -1
    rows = [[Fraction(a) for a in row] for row in dense_rows(one).tolist()]
    duals = [Fraction(round(y, 9)) for y in solved.row_duals.tolist()]
    costs = [Fraction(c) for c in one.objectives[0].costs(one.columns).tolist()]
    reduced = [costs[j] - sum(duals[i] * rows[i][j] for i in range(one.rows)) for j in range(one.columns)]
    bound = Fraction(one.objectives[0].offset)
    for multiplier, low, high in [
        *zip(duals, one.row_lower.tolist(), one.row_upper.tolist(), strict=True),
        *zip(reduced, one.lower.tolist(), one.upper.tolist(), strict=True),
    ]:
        side = low if sign * multiplier > 0 else high
        if abs(side) == INF:
            assert abs(multiplier) < Fraction(1, 10**6), (name, seed)
        else:
            bound += multiplier * Fraction(side)
    assert float(bound) == pytest.approx(solved.objective, rel=1e-6, abs=1e-6), (name, seed)


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", ALL)
def test_enumeration(name: str) -> None:
    for seed in range(60):
        check_against_enumeration(name, seed)


@pytest.mark.slow
def test_each_other() -> None:
    for seed in range(60):
        check_against_each_other(seed)


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", GENERAL)
def test_duality(name: str) -> None:
    for seed in range(60):
        check_by_duality(name, seed)


def test_the_random_problems_are_of_all_kinds() -> None:
    statuses = [solve_problem(mixed(seed), "highs", EXACT).status for seed in range(60)]
    assert {"optimal", "infeasible"} <= set(statuses)
    assert statuses.count("optimal") > 20
    assert any(enumerated(pure_integer(seed)) is None for seed in range(60))


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_enumeration_of_many(name: str) -> None:
    for seed in range(1000, 2000):
        check_against_enumeration(name, seed)


@pytest.mark.slow
def test_many_against_each_other() -> None:
    for seed in range(1000, 2000):
        check_against_each_other(seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERAL)
def test_duality_of_many(name: str) -> None:
    for seed in range(1000, 2000):
        check_by_duality(name, seed)
