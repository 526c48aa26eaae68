"""The enumeration itself: known optima, and agreement of its two ways."""

from __future__ import annotations

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, assert_bounds_hold, feasible_points, optimum
from drafts import Draft

from gpusched_dsl.ir.definitions import Curves


def test_whole_columns_are_enumerated() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 3)
    w = draft.product("w", [[x[0], x[1]]])
    draft.rows("sum", [(-np.inf, {x[0]: 1, x[1]: 1}, 5)])
    draft.maximize({w[0]: 1, x[0]: -1, None: 10})
    found = optimum(draft.problem())
    assert found.value == 14  # 2 * 3 - 2 + 10
    assert found.point is not None
    assert found.point.tolist() == [2, 3, 6]


def test_a_condition_holds_only_at_its_value() -> None:
    draft = Draft()
    x, y = draft.columns("x"), draft.columns("y", 1, 0, 5)
    draft.rows("cap", [(-np.inf, y[0], 1)], when=(x[0], True))
    draft.rows("low", [(4, y[0], np.inf)], when=(x[0], False))
    draft.minimize(y[0])
    assert feasible_points(draft.problem()).tolist() == [[0, 4], [0, 5], [1, 0], [1, 1]]
    assert optimum(draft.problem()).value == 0


def test_pieces_over_continuous_columns() -> None:
    draft = Draft()
    b, y = draft.columns("b"), draft.columns("y", 1, -4, 4, integer=False)
    w = draft.product("w", [[b[0], {y[0]: 2, None: 1}]])
    m = draft.largest("m", [[y[0], {y[0]: -1}, {None: 0.5}]])
    a = draft.unary("a", "abs", [{y[0]: 1, None: -1}])
    h = draft.holds("h", [(2, y[0], np.inf)])
    curve = Curves(np.array([0, 2]), np.array([0.0, 1.0]), np.array([0.0, 3.0]), np.zeros(1), np.ones(1), np.zeros(1))
    c = draft.piecewise("c", [y[0]], [0], curve)
    draft.rows("b", [(1, b[0], 1)])
    draft.minimize({w[0]: -1, m[0]: 2, a[0]: 3, h[0]: 1.5, c[0]: 0.25})
    found = optimum(draft.problem())

    def cost(y: np.ndarray) -> np.ndarray:
        curved = np.where(y < 0, 0, np.where(y < 1, 3 * y, 2 + y))
        return -(2 * y + 1) + 2 * np.maximum(np.abs(y), 0.5) + 3 * np.abs(y - 1) + 1.5 * (y >= 2) + 0.25 * curved

    assert found.value == pytest.approx(cost(np.linspace(-4, 4, 8001)).min())


def test_smooth_functions_of_continuous_columns_are_not_taken() -> None:
    draft = Draft()
    y = draft.columns("y", 2, 0, 4, integer=False)
    draft.product("w", [y])
    draft.minimize(2)
    with pytest.raises(Unsupported):
        optimum(draft.problem())


def test_statuses() -> None:
    draft = Draft()
    y = draft.columns("y", 1, 0, np.inf, integer=False)
    draft.maximize(y[0])
    assert optimum(draft.problem()).status == "unbounded"
    draft.rows("r", [(-np.inf, y[0], -1)])
    assert optimum(draft.problem()).status == "infeasible"


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(20))
def test_a_continuous_column_that_rows_fix_changes_nothing(seed: int) -> None:
    """The way with linear programs gives what the way without gives."""
    values = []
    for integer in (True, False):
        random = np.random.default_rng(seed)
        draft = Draft()
        x = draft.columns("x", 3, 0, 2)
        y = draft.columns("y", 1, 0, 4, integer=integer)
        m = draft.smallest("m", [[y[0], {x[0]: 1, x[1]: 1}], [x[2], {y[0]: 0.5}]])
        w = draft.product("w", [[x[0], y[0]], [m[0], x[2]]])
        draft.rows("tie", [(0, {y[0]: 1, x[0]: -1, x[2]: -1}, 0)])
        draft.rows("r", [(-np.inf, {x[0]: 1, w[1]: 1}, 4)])
        draft.minimize({j: float(random.integers(-3, 4)) for j in (*x, *y, *m, *w)})
        problem = draft.problem()
        values.append(optimum(problem).value)
        if integer:
            assert_bounds_hold(problem)
    assert values[0] == pytest.approx(values[1])


def test_text() -> None:
    draft = Draft()
    x = draft.columns("x", 2)
    w = draft.product("w", [[x[0], {x[1]: 1, None: -2}]])
    draft.rows("r", [(1, {x[0]: 1, x[1]: -2}, 4)], when=(x[0], False))
    draft.rows("s", [(2, {x[0]: 1}, 2)])
    draft.minimize({w[0]: 1, None: 3})
    assert (
        as_text(draft.problem())
        == """\
minimize w[1] + 3
  r[1]: 1 <= x[1] - 2 x[2] <= 4 if x[1] = 0
  s[1]: x[1] = 2
where
  w[1] = x[1] * (x[2] - 2)
over
  x[1] binary
  x[2] binary
  w[1] free
"""
    )
