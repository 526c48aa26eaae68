"""Directions: a half of a definition that is classified as unneeded can be removed without a change of the optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from brute import Unsupported, dense, filled, grid, is_feasible, optimum
from drafts import Draft
from hypothesis import given, settings
from hypothesis import strategies as st
from small import small_problem

from gpusched_dsl.compiling.analysis.bounds import Bounds
from gpusched_dsl.compiling.analysis.directions import Directions, directions_of
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.definitions import Curves, Definition
from gpusched_dsl.ir.problem import Problem

INF = np.inf


def forward(problem: Problem) -> Bounds:
    """The exact range of every column over the declared columns' bounds."""
    points = filled(problem, grid(problem, _declared(problem)))
    return Bounds(points.min(axis=0), points.max(axis=0))


def _declared(problem: Problem) -> np.ndarray:
    declared = np.ones(problem.columns, dtype=bool)
    for definition in problem.definitions:
        declared[definition.results] = False
    return declared


def best_of_halves(problem: Problem, directions: Directions, bounds: Bounds) -> float:
    """The best value when results are free whole columns, held only by the halves that are needed."""
    relaxed = replace(problem, lower=bounds.lower, upper=bounds.upper)
    points = grid(relaxed, np.ones(problem.columns, dtype=bool))
    kept = is_feasible(relaxed, points)
    for definition in problem.definitions:
        f = _values(definition, points)
        result = points[:, definition.results]
        down, up = directions.down[definition.results], directions.up[definition.results]
        kept &= (~down | (result >= f)).all(axis=1) & (~up | (result <= f)).all(axis=1)
    sign = 1.0 if problem.objectives[0].sense == "minimize" else -1.0
    values = points[kept] @ problem.objectives[0].costs(problem.columns) + problem.objectives[0].offset
    return sign * float((sign * values).min()) if kept.any() else np.nan


def _values(definition: Definition, points: Floats) -> Floats:
    arguments = points @ dense(definition.arguments, points.shape[1]).T + definition.arguments.constants
    repeated = definition.take(np.tile(np.arange(definition.size), len(points)))
    return repeated.evaluate(arguments.ravel()).reshape(len(points), definition.size)


def check(seed: int) -> bool:
    problem = small_problem(seed)
    bounds = forward(problem)
    directions = directions_of(problem, bounds)
    try:
        halves = best_of_halves(problem, directions, bounds)
    except Unsupported:
        return False
    exact = optimum(problem)
    np.testing.assert_equal(halves, exact.value if exact.status == "optimal" else np.nan)
    results = ~_declared(problem)
    return bool((results & ~(directions.down & directions.up)).any())


@pytest.mark.slow
def test_halves_have_the_same_optimum() -> None:
    assert sum(check(seed) for seed in range(300)) > 100, "too few problems in which a half may go"


@pytest.mark.slow
def test_halves_have_the_same_optimum_in_many_problems() -> None:
    assert sum(check(seed) for seed in range(1000, 4000)) > 1000


CURVES = Curves(
    np.array([0, 3, 5]), np.array([0.0, 1, 2, 0, 1]), np.array([0.0, 2, 1, 0, 0]), np.array([1.0, -1.0]),
    np.array([0.0, 1.0]), np.zeros(2),
)  # fmt: skip


def _function(kind: str, exponent: float) -> tuple[Definition, int]:
    draft = Draft()
    columns = draft.columns("x", 3)
    match kind:
        case "product":
            draft.product("r", [columns])
        case "largest":
            draft.largest("r", [columns])
        case "power":
            draft.power("r", [columns[0]], [exponent])
        case "piecewise":
            draft.piecewise("r", [columns[0]], [int(exponent > 0)], CURVES)
        case "at_least":
            draft.holds("r", [(exponent, columns[0], INF)])
        case "between":
            draft.holds("r", [(-1, columns[0], exponent)])
        case _:
            draft.unary("r", kind, [columns[0]])
    definition = draft.definitions[0]
    return definition, definition.arguments.count


ends = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["product", "largest", "power", "piecewise", "at_least", "between", "abs", "exp", "log"]),
    st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0]),
    st.lists(st.tuples(ends, ends).map(sorted), min_size=3, max_size=3),
)
def test_slopes_are_those_of_values(kind: str, exponent: float, ranges: list[list[float]]) -> None:
    definition, count = _function(kind, exponent)
    low, high = np.array(ranges[:count]).T
    rising, falling = definition.slopes(low, high)
    axes = np.meshgrid(*[np.linspace(a, b, 7) for a, b in ranges[:count]], indexing="ij")
    points = np.stack([a.ravel() for a in axes], axis=1)
    repeated = definition.take(np.zeros(len(points), dtype=np.int64))
    with np.errstate(all="ignore"):
        values = repeated.evaluate(points.ravel()).reshape([7] * count)
    for k in range(count):
        with np.errstate(invalid="ignore"):
            change = np.diff(values, axis=k)
        if np.isnan(change).any() or np.isinf(values).any():
            assert rising[k]
            assert falling[k]
        assert rising[k] or not (change > 1e-12).any()
        assert falling[k] or not (change < -1e-12).any()


def test_conditions_maximising_and_several_objectives() -> None:
    draft = Draft()
    b, x, y = draft.columns("b", 2), draft.columns("x", 4), draft.columns("y")
    draft.rows("one", [(-INF, {x[0]: 1, x[1]: -1}, 1)], when=(b[0], True))
    draft.rows("two", [(0, {x[2]: 1, y[0]: -1}, INF)], when=(b[1], False))
    draft.rows("free", [(-INF, {x[3]: 1}, INF)])
    draft.maximize({y[0]: 3})
    draft.minimize({y[0]: 1})
    problem = draft.problem()
    found = directions_of(problem, Bounds(problem.lower, problem.upper))
    assert found.down.tolist() == [True, False, True, False, False, False, True]
    assert found.up.tolist() == [False, True, False, True, True, False, True]
