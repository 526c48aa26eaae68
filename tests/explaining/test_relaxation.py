"""The cheapest relaxation: sufficient, and with the least cost, against enumeration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from building import at_least, at_most, equal, problem
from enumeration import has_point, small_problem

from gpusched_dsl.explaining.relaxation import Relaxation, apply, relaxations, row_scales
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.variants.solver import VariantSolver


def found(one: Problem, *rows: int) -> tuple[Relaxation, ...]:
    everything = np.ones(one.rows, dtype=bool)
    first = everything if not rows else np.isin(np.arange(one.rows), rows)
    return relaxations(one, first, everything, VariantSolver(seconds=60.0))


def feasible(one: Problem) -> bool:
    everything = list(range(one.columns))
    return has_point(one, list(range(one.rows)), everything, everything, np.flatnonzero(one.integer).tolist())


def least_violation(one: Problem) -> tuple[float, int]:
    """The least total violation by scale, and the fewest violated rows, over all whole points."""
    axes = [np.arange(low, high + 1) for low, high in zip(one.lower, one.upper, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, one.columns)
    values = np.stack([one.matrix.activity(point) for point in points])
    violation = np.maximum(np.maximum(one.row_lower - values, values - one.row_upper), 0.0)
    return float((violation / row_scales(one)).sum(axis=1).min()), int((violation > 1e-9).sum(axis=1).min())


def check(seed: int) -> bool:
    one = small_problem(seed)
    one = replace(one, integer=np.ones(one.columns, dtype=bool))
    if feasible(one):
        return False
    least, fewest = least_violation(one)
    answers = found(one)
    for answer in answers:
        assert answer.verified, seed
        assert answer.proved, seed
        assert feasible(apply(one, answer)), seed
        assert len(answer.rows) >= fewest, seed
    total = ((answers[0].below + answers[0].above) / row_scales(one)[answers[0].rows]).sum()
    assert total == pytest.approx(least, rel=1e-5), seed
    assert min(len(a.rows) for a in answers) == fewest, seed
    return True


@pytest.mark.slow
def test_random_relaxations_are_the_cheapest() -> None:
    assert sum(check(seed) for seed in range(25)) > 8


@pytest.mark.slow
def test_many_random_relaxations_are_the_cheapest() -> None:
    assert sum(check(seed) for seed in range(1000, 1500)) > 150


def test_one_side_gives_way() -> None:
    one = problem(columns=2, rows=[at_least(5, 1, 1), at_most(3, 1, 1), at_most(100, 1, 0)], upper=10.0)
    (answer,) = found(one, 1)
    assert answer.rows.tolist() == [1]
    assert (answer.above.tolist(), answer.below.tolist()) == ([2.0], [0.0])


def test_an_equation_gives_way_downwards_too() -> None:
    one = problem(columns=1, rows=[equal(12, 1), at_most(100, 1)], upper=10.0)
    (answer,) = found(one, 0)
    assert (answer.above.tolist(), answer.below.tolist()) == ([0.0], [2.0])


def test_others_give_way_where_the_first_do_not_suffice() -> None:
    one = problem(columns=2, rows=[at_least(5, 1, 0), at_least(7, 0, 1)], upper=4.0)
    (answer,) = found(one, 0)
    assert answer.rows.tolist() == [0, 1]
    assert answer.below.tolist() == [1.0, 3.0]


def test_fewest_may_cost_more() -> None:
    """Three rows could each give way by 2, or the last one by 8."""
    rows = [at_least(12, *(1.0 if j == k else 0.0 for j in range(3)), 0.25) for k in range(3)]
    one = problem(columns=4, rows=[*rows, at_most(0, 0, 0, 0, 1)], upper=[10.0, 10.0, 10.0, 100.0])
    least, fewest = found(one)
    assert (least.goal, least.rows.tolist(), least.below.tolist()) == ("least", [0, 1, 2], [2.0, 2.0, 2.0])
    assert (fewest.goal, fewest.rows.tolist(), fewest.above.tolist()) == ("fewest", [3], [8.0])
    assert least.proved
    assert fewest.proved


def test_bounds_alone_cannot_be_relaxed_by_rows() -> None:
    assert found(problem(columns=1, rows=[at_most(4, 1)], lower=3.0, upper=2.0)) == ()
