"""Powers in the units of their rows: the same values, and points that solvers give in tolerance are clean."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from brute import apply
from drafts import Draft

import gpusched_dsl as gs
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.compiling.passes.term_scaling import TermScaling
from gpusched_dsl.ir.definitions import complete

TARGET = Target("test", frozenset({"integers", "power", "product"}))
INF = np.inf


def least(side: str) -> str:
    """The optimum over x, y > 0 of 5x + 10y with 4/x + 120/y <= s is (sqrt(20) + sqrt(1200))^2 / s."""
    return (
        "model M { var x >= 1e-5 <= 1e7; var y >= 1e-5 <= 1e7; minimize f: 5*x + 10*y;"
        f" constraint c: {side} >= 4/x + 120/y; }} scenario S for M {{ }}"
    )


@pytest.mark.parametrize("backend", ["scip", "cvxpy"])
def test_small_sides_beside_large_numerators(backend: str) -> None:
    """An error of 1e-7 of 1/y broke the row by 1.2e-5, and the point was refused."""
    found = gs.loads(least("1e-3")).solve(backend=backend)
    assert found.status == "optimal"
    best = (sqrt(20) + sqrt(1200)) ** 2 / 1e-3
    # The row may be broken by 1e-6, a thousandth of its side, which is worth as much of the optimum.
    assert best * (1 - 1.1e-3) <= found.objective <= best * (1 + 2e-4)


def test_rows_and_costs_have_the_same_values() -> None:
    """Large and small powers, one the argument of another; the point goes back to the units of before."""
    draft = Draft()
    x = draft.columns("x", 3, 0.5, 9e4, integer=False)
    r = draft.power("r", [{x[0]: 1}, {x[1]: 2, None: 1}, {x[2]: 3}], [-1, 2, 0.5])
    root = draft.power("root", [{r[0]: 5, r[1]: 1}], [0.5])[0]
    draft.rows(
        "c", [(-INF, {r[0]: -120000, r[1]: 50}, 7), (-INF, {r[2]: 3, root: 1e5, x[0]: 1}, 9), (0, {r[2]: 0.5}, 4)]
    )
    draft.minimize({r[0]: 3, root: 2, x[1]: 1})
    problem = draft.problem()
    step = apply(problem, TermScaling(), TARGET)
    largest = np.zeros(problem.columns)
    np.maximum.at(largest, step.problem.matrix.columns, np.abs(step.problem.matrix.values))
    assert all(1 <= largest[column] < 2 for column in (r[0], r[1], r[2], root))
    rng = np.random.default_rng(3)
    for _ in range(20):
        given = np.zeros(problem.columns)
        given[x] = rng.uniform(0.5, 9e4, 3)
        before, after = complete(problem.definitions, given), complete(step.problem.definitions, given)
        assert step.invert(after) == pytest.approx(before, rel=1e-12)
        assert step.map_start(before) == pytest.approx(after, rel=1e-12)
        assert step.problem.matrix.activity(after) == pytest.approx(problem.matrix.activity(before), rel=1e-9)
        for old, new in zip(problem.objectives, step.problem.objectives, strict=True):
            costs = new.costs(problem.columns) @ after
            assert costs == pytest.approx(old.costs(problem.columns) @ before, rel=1e-12)
