"""Products with a factor that rows make superfluous."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply, assert_same_optimum, feasible_points
from drafts import Draft
from random_problems import random_problem

from gpusched_dsl.compiling.passes.implied_factors import Implications, ImpliedFactors
from gpusched_dsl.compiling.work_budget import WorkBudget
from gpusched_dsl.ir.problem import Problem


def test_serving_only_where_a_node_is_on() -> None:
    """Price-aware training: `x <= s`, `y <= s`, `l <= U y` make `s x`, `s y`, `y l` and `s y l` linear."""
    draft = Draft()
    s, x, y = (draft.columns(n)[0] for n in ("s", "x", "y"))
    load = draft.columns("l", 1, 0, np.inf, integer=False)[0]
    pairs = draft.product("p", [[s, x], [s, y], [y, load]])
    triple = draft.product("t", [[pairs[1], load]])
    draft.rows("on", [(-np.inf, {x: 1, y: 1, s: -1}, 0)])
    draft.rows("cap", [(-np.inf, {load: 1, y: -60}, 0)])
    draft.minimize({s: 5, pairs[0]: 1, pairs[1]: 2, pairs[2]: 3, triple[0]: 4, x: -9, load: -8})
    reformulated = assert_same_optimum(draft.problem(), ImpliedFactors())
    assert as_text(reformulated.problem) == """\
minimize 5 s[1] - 8 x[1] + 2 y[1] - l[1]
  on[1]: -s[1] + x[1] + y[1] <= 0
  cap[1]: -60 y[1] + l[1] <= 0
over
  s[1] binary
  x[1] binary
  y[1] binary
  0 <= l[1] <= 60
"""  # fmt: skip


def test_what_excludes_each_other_has_the_product_0() -> None:
    draft = Draft()
    x = draft.columns("x", 3)
    n = draft.columns("n", 1, 0, 4)[0]
    w = draft.product("w", [[x[0], x[1]], [x[1], x[2]], [x[2], n]])
    draft.rows("one", [(-np.inf, dict.fromkeys(x, 1.0), 1)])
    draft.rows("idle", [(-np.inf, {n: 2}, 1)], when=(x[2], True))
    draft.maximize({w[0]: 3, w[1]: 2, w[2]: 1, x[0]: 1, n: 1})
    reformulated = assert_same_optimum(draft.problem(), ImpliedFactors())
    assert reformulated.problem.is_linear is False  # the condition stays
    assert not reformulated.problem.definitions
    assert [n.entries for n in reformulated.notes] == [3]


def test_a_factor_that_only_whole_numbers_force() -> None:
    """`3 n <= 2 + 9 y`: at y == 0 a whole n is 0, a continuous one is not."""
    for integer in (True, False):
        draft = Draft()
        y, n = draft.columns("y")[0], draft.columns("n", 1, 0, 3, integer=integer)[0]
        w = draft.product("w", [[y, n]])
        draft.rows("r", [(-np.inf, {n: 3, y: -9}, 2)])
        draft.maximize({n: 1, w[0]: 1, y: -4})
        reformulated = assert_same_optimum(draft.problem(), ImpliedFactors())
        assert bool(reformulated.notes) == integer


def test_a_binary_times_itself_is_no_fact_about_rows() -> None:
    draft = Draft()
    x, n = draft.columns("x")[0], draft.columns("n", 1, 0, 3)[0]
    w = draft.product("w", [[{x: -2}, x], [x, {n: 3}]])
    draft.rows("r", [(-4, {x: -3, n: -0.1}, np.inf), (-np.inf, {n: 1, x: -3}, 0)])
    draft.maximize({w[0]: -1, w[1]: 1, n: -1})
    reformulated = assert_same_optimum(draft.problem(), ImpliedFactors())
    assert "w.value[1]: 0 <= 2 x[1] + w[1]" in as_text(reformulated.problem)
    assert "w.value[2]: -3 n[1] + w[2] <= 0" in as_text(reformulated.problem)


def test_other_products_stay() -> None:
    draft = Draft()
    x, y = draft.columns("x", 2), draft.columns("y", 1, -1, 4, integer=False)[0]
    draft.product("w", [[x[0], x[1]], [x[0], y]])
    draft.rows("r", [(-np.inf, {x[0]: 1, x[1]: 1}, 2), (-np.inf, {y: 1, x[0]: -4}, 0)])
    assert apply(draft.problem(), ImpliedFactors()).notes == ()


def linked_problem(rng: np.random.Generator, continuous: int = 0) -> Problem:
    """A random problem with products, and rows of the kind that make factors superfluous."""
    draft = Draft()
    x, n = draft.columns("x", 4), draft.columns("n", 2, 0, 3)
    y = draft.columns("y", continuous, 0, 5, integer=False) if continuous else []
    columns = [*x, *n, *y]
    made = draft.product("w", [[int(rng.choice(x)), int(rng.choice(columns))] for _ in range(4)])
    made += draft.product("v", [[int(rng.choice(made)), int(rng.choice(x))] for _ in range(2)])
    for number in range(4):
        binary, *others = (int(c) for c in rng.permutation(columns)[:3])
        binary = int(rng.choice(x)) if rng.random() < 0.8 else binary
        body = {c: float(rng.choice([1, 2])) for c in others if c != binary}
        body[binary] = float(rng.choice([-6, -3, 1, 2]))
        when = (int(rng.choice(x)), bool(rng.random() < 0.5)) if rng.random() < 0.2 else None
        sign = 1 if rng.random() < 0.7 else -1  # the same said from the other side
        side = float(rng.choice([0, 0, 1, 2]))
        row = (-np.inf, body, side) if sign > 0 else (-side, {c: -v for c, v in body.items()}, np.inf)
        draft.rows(f"r{number}", [row], when)
    draft.minimize({c: float(rng.integers(-5, 6)) for c in (*columns, *made)})
    return draft.problem()


def test_facts_hold_at_every_point() -> None:
    rng, found = np.random.default_rng(3), 0
    for _ in range(15):
        problem = linked_problem(rng)
        points = feasible_points(problem)
        implications = Implications(problem, np.ones(problem.columns, dtype=np.bool_))
        first, second = (a.ravel() for a in np.meshgrid(np.arange(4), np.arange(6)))
        for value in (0, 1):
            for y, other in np.stack((first, second))[
                :, implications.forces(first, second, value, WorkBudget(10**9))
            ].T:
                if y != other and len(points):
                    found += 1
                    assert (points[points[:, y] == value, other] == 0).all()
    assert found > 20


def test_same_optimum() -> None:
    rng, used = np.random.default_rng(4), 0
    for number in range(8):
        with suppress(Unsupported):
            used += bool(assert_same_optimum(linked_problem(rng, number % 3 == 0), ImpliedFactors()).notes)
    assert used > 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_same_optimum_many(seed: int) -> None:
    rng = np.random.default_rng(3000 + seed)
    for number in range(30):
        with suppress(Unsupported):
            assert_same_optimum(linked_problem(rng, number % 2), ImpliedFactors())
            assert_same_optimum(random_problem(rng, ["product"], plain=True, blocks=4), ImpliedFactors())
