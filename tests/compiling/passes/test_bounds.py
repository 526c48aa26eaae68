"""Propagated bounds: expected bounds of known problems, and no feasible point outside on random ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from brute import Unsupported, assert_bounds_hold, feasible_points, optimum
from drafts import Draft
from random_problems import KINDS, random_problem

from gpusched_dsl.compiling.analysis.bounds import Bounds, bounds_within, propagate, tighten
from gpusched_dsl.ir.definitions import Curves
from gpusched_dsl.ir.problem import Problem


def bounds_of(draft: Draft) -> list[tuple[float, float]]:
    bounds = propagate(draft.problem())
    return list(zip(bounds.lower.tolist(), bounds.upper.tolist(), strict=True))


# --- rows ------------------------------------------------------------------------------------------------------------


def test_a_row_bounds_each_of_its_columns() -> None:
    draft = Draft()
    x, y = draft.columns("x", 2, 0, np.inf, integer=False)
    draft.rows("r", [(-np.inf, {x: 2, y: 3}, 60)])
    assert bounds_of(draft) == [(0, 30), (0, 20)]


def test_both_sides_and_signs() -> None:
    draft = Draft()
    x, y = draft.columns("x", 2, -np.inf, np.inf, integer=False)
    draft.rows("r", [(2, {x: 1, y: -1}, 5), (1, y, 4)])
    assert bounds_of(draft) == [(3, 9), (1, 4)]


def test_two_infinite_terms_say_nothing_and_one_is_bounded() -> None:
    draft = Draft()
    x, y, z = draft.columns("x", 3, -np.inf, np.inf, integer=False)
    draft.rows("r", [(-np.inf, {x: 1, y: 1, z: 1}, 5)])
    assert bounds_of(draft) == [(-np.inf, np.inf)] * 3
    draft.rows("s", [(1, x, np.inf), (2, y, np.inf)])
    assert bounds_of(draft) == [(1, np.inf), (2, np.inf), (-np.inf, 2)]


def test_whole_columns_are_rounded_safely() -> None:
    draft = Draft()
    n = draft.columns("n", 2, 0, 9)
    draft.rows("r", [(-np.inf, {n[0]: 3}, 9), (-np.inf, {n[1]: 0.1}, 0.3), (0.5, n[1], np.inf)])
    assert bounds_of(draft) == [(0, 3), (1, 3)]


def test_capacity_bounds_the_load_and_a_chain_settles() -> None:
    draft = Draft()
    y = draft.columns("y")
    load = draft.columns("load", 20, 0, np.inf, integer=False)
    draft.rows("cap", [(-np.inf, {load[0]: 1, y[0]: -60}, 0)])
    draft.rows("chain", [(0, {b: 1, a: -1}, 0) for a, b in pairwise(load)])
    found = bounds_of(draft)
    assert found[1 : 1 + 5] == [(0, 60)] * 5


def test_conditional_rows_count_only_when_their_condition_is_fixed() -> None:
    draft = Draft()
    x, y = draft.columns("x"), draft.columns("y", 1, 0, 9, integer=False)
    draft.rows("r", [(-np.inf, y[0], 4)], when=(x[0], True))
    assert bounds_of(draft)[1] == (0, 9)
    draft.lower[x[0]] = 1
    assert bounds_of(draft)[1] == (0, 4)
    draft.upper[x[0]], draft.lower[x[0]] = 0, 0
    assert bounds_of(draft)[1] == (0, 9)


def test_crossing_bounds_are_told_and_left_as_they_were() -> None:
    draft = Draft()
    x = draft.columns("x", 1, 0, 5, integer=False)
    draft.rows("r", [(7, x[0], np.inf)])
    found = propagate(draft.problem())
    assert not found.feasible
    assert (found.lower <= found.upper).all()


def test_large_terms_that_cancel_leave_room_for_rounding() -> None:
    draft = Draft()
    x, y = draft.columns("x", 2, 0, np.inf, integer=False)
    draft.rows("r", [(-np.inf, {x: 1, y: 1}, 1e12 + 0.1), (1e12, y, np.inf)])
    (_, upper), _ = bounds_of(draft)
    assert 0.1 <= upper < 0.2


# --- definitions -----------------------------------------------------------------------------------------------------


def test_images() -> None:
    draft = Draft()
    x, y = draft.columns("x", 1, -2, 3, integer=False)[0], draft.columns("y", 1, 0, np.inf, integer=False)[0]
    draft.product("square", [[x, x]])
    draft.product("scaled", [[x, y]])
    draft.largest("m", [[x, {y: -1}, {None: -1}]])
    draft.power("root", [{y: 1, None: 4}], [0.5])
    draft.power("inverse", [{y: 1, None: 4}, {x: 1}], [-1, -1])
    draft.unary("abs", "abs", [x])
    draft.holds("h", [(-2, x, 3), (4, x, np.inf), (0, x, 1)])
    curves = Curves(
        np.array([0, 2]), np.array([0.0, 1]), np.array([0.0, 5]), np.array([-1.0]), np.array([-3.0]), np.zeros(1)
    )
    draft.piecewise("c", [x, y], [0, 0], curves)
    found = bounds_of(draft)[2:]
    expected = [
        (0, 9), (-np.inf, np.inf), (-1, 3), (2, np.inf), (0, 0.25), (-np.inf, np.inf), (0, 3),
        (1, 1), (0, 0), (0, 1), (-1, 5), (-np.inf, 5),
    ]  # fmt: skip
    assert found == [pytest.approx(pair) for pair in expected]


def test_arguments_follow_from_results() -> None:
    draft = Draft()
    x = draft.columns("x", 6, -np.inf, np.inf, integer=False)
    m = draft.largest("m", [[x[0], x[1]]])
    a = draft.unary("a", "abs", [{x[2]: 2}])
    s = draft.power("s", [x[3]], [2])
    e = draft.unary("e", "exp", [x[4]])
    h = draft.holds("h", [(2, x[5], 3)])
    draft.rows("r", [(-np.inf, m[0], 4), (-np.inf, a[0], 6), (-np.inf, s[0], 9), (1, e[0], np.e), (1, h[0], 1)])
    found = bounds_of(draft)[:6]
    expected = [(-np.inf, 4), (-np.inf, 4), (-3, 3), (-3, 3), (0, 1), (2, 3)]
    assert found == [pytest.approx(pair) for pair in expected]


def test_tightening_writes_what_nonlinear_parts_read() -> None:
    draft = Draft()
    x, y = draft.columns("x", 1, 0, 4)[0], draft.columns("y", 2, 0, np.inf, integer=False)
    z = draft.columns("z", 1, 0, np.inf, integer=False)[0]
    w = draft.product("w", [[x, x], [x, y[0]]])
    draft.largest("m", [[w[0], w[1], y[1]]])
    draft.rows("r", [(-np.inf, w[1], 8), (-np.inf, {y[0]: 1, z: 1}, 5)])
    problem = draft.problem()
    problem = tighten(problem, propagate(problem))
    assert problem.upper.tolist() == [4, 5, np.inf, np.inf, 16, 8, np.inf]
    assert problem.lower.tolist() == [0] * 7


def test_results_that_can_only_be_whole_are_marked() -> None:
    draft = Draft()
    n, y = draft.columns("n", 2, 0, 4), draft.columns("y", 1, 0, 4, integer=False)[0]
    whole = [
        *draft.product("p", [[n[0], n[1]], [n[0], {n[1]: 2, None: -1}]]),
        *draft.largest("m", [[n[0], {n[1]: -3}]]),
        *draft.unary("a", "abs", [n[0]]),
        *draft.power("s", [n[0]], [2]),
        *draft.holds("h", [(1, y, 3)]),
    ]
    fractional = [
        *draft.product("q", [[n[0], y], [n[0], {n[1]: 0.5}], [n[0], {n[1]: 1, None: 0.5}]]),
        *draft.power("r", [n[0], n[0]], [-1, 0.5]),
        *draft.unary("e", "exp", [n[0]]),
    ]
    problem = draft.problem()
    found = tighten(problem, propagate(problem)).integer
    assert found[whole].all()
    assert not found[fractional].any()


def test_definitions_bound_their_results_without_rows() -> None:
    draft = Draft()
    x, y = draft.columns("x", 2, -2, 3)
    (product,) = draft.product("p", [[x, y]])
    (largest,) = draft.largest("m", [[product, {None: 1}]])
    draft.rows("r", [(0, {x: 1}, 1)])
    bounds = bounds_within(draft.problem())
    assert (bounds.lower[product], bounds.upper[product]) == (-6, 9)
    assert (bounds.lower[largest], bounds.upper[largest]) == (1, 9)
    assert (bounds.lower[x], bounds.upper[x]) == (-2, 3)


# --- any feasible point ----------------------------------------------------------------------------------------------


def check(problem: Problem) -> None:
    assert_bounds_hold(problem)
    points = feasible_points(problem)
    bounds = propagate(problem)
    if len(points):
        assert bounds.feasible
    for found in (bounds, bounds_within(tighten(problem, bounds))):
        assert_within(found, points)


def assert_within(bounds: Bounds, points: np.ndarray) -> None:
    slack = 1e-9 * np.maximum(1, np.abs(points))
    assert (points >= bounds.lower - slack).all()
    assert (points <= bounds.upper + slack).all()


@pytest.mark.parametrize("kind", KINDS)
def test_no_point_lies_outside(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(8):
        check(random_problem(rng, [kind], rows=4))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_no_point_lies_outside_many(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    for _ in range(250):
        check(random_problem(rng, blocks=int(rng.integers(1, 5)), rows=int(rng.integers(1, 7))))


def test_the_optimum_of_mixed_problems_lies_inside() -> None:
    rng = np.random.default_rng(5)
    seen = 0
    for _ in range(20):
        problem = random_problem(rng, ["product", "extreme", "unary"], binaries=2, whole=1, continuous=2, blocks=2)
        try:
            best = optimum(problem)
        except Unsupported:
            continue
        if best.point is not None:
            seen += 1
            assert_within(propagate(problem), best.point[None])
    assert seen > 5


def test_tightening_changes_no_optimum() -> None:
    rng = np.random.default_rng(6)
    for _ in range(30):
        problem = random_problem(rng, rows=4)
        before, after = optimum(problem), optimum(tighten(problem, propagate(problem)))
        assert before.status == after.status
        if before.status == "optimal":
            assert before.value == pytest.approx(after.value)
