"""Integers times bounded expressions, by binary digits."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply, assert_same_optimum
from drafts import Draft
from random_problems import random_problem
from test_products import PRODUCTS

from gpusched_dsl.compiling.passes.integer_products import IntegerProducts
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.ir.distributions import discrete
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

ALL = (*PRODUCTS, IntegerProducts())


def test_digits_as_text() -> None:
    draft = Draft()
    n, y = draft.columns("n", 1, 1, 4)[0], draft.columns("y", 1, 0, 6, integer=False)[0]
    w = draft.product("w", [[n, y]])
    draft.rows("r", [(5, {y: 1, n: 1}, np.inf)])
    draft.minimize({w[0]: 1})
    reformulated = assert_same_optimum(draft.problem(), IntegerProducts())
    assert (
        as_text(reformulated.problem)
        == """\
minimize w[1]
  r[1]: 5 <= n[1] + y[1]
  w.number[1]: n[1] - w.digits[1,0] - 2 w.digits[1,1] = 1
  w.parts.lower_on[1,0]: y[1] + 6 w.digits[1,0] - w.parts[1,0] <= 6
  w.parts.lower_on[1,1]: y[1] + 6 w.digits[1,1] - w.parts[1,1] <= 6
  w.parts.lower_off[1,0]: w.digits[1,0] - w.parts[1,0] <= 0
  w.parts.lower_off[1,1]: w.digits[1,1] - w.parts[1,1] <= 0
  w.sum[1]: 0 <= -y[1] + w[1] - w.parts[1,0] - 2 w.parts[1,1]
over
  1 <= n[1] <= 4 integer
  1 <= y[1] <= 6
  1 <= w[1] <= 24
  w.digits[1,0] binary
  w.digits[1,1] binary
  0 <= w.parts[1,0] <= 6
  0 <= w.parts[1,1] <= 6
"""
    )


def test_products_of_one_number_share_its_digits() -> None:
    draft = Draft()
    n, y = draft.columns("n", 1, -2, 3)[0], draft.columns("y", 2, -1, 6, integer=False)
    w = draft.product("w", [[n, y[0]], [y[1], n]])
    v = draft.product("v", [[n, {y[0]: 1, y[1]: -1}]])
    draft.rows("r", [(2, {w[0]: 1, w[1]: -1}, 3)])
    draft.maximize({v[0]: 1, n: 1, y[1]: -2})
    reformulated = assert_same_optimum(draft.problem(), IntegerProducts())
    assert int(reformulated.problem.integer.sum()) == 1 + 3
    assert reformulated.problem.is_linear


def test_the_smaller_range_is_written_in_digits() -> None:
    draft = Draft()
    n, m = draft.columns("n", 1, 0, 100)[0], draft.columns("m", 1, 0, 2)[0]
    w = draft.product("w", [[n, m]])
    draft.rows("r", [(-np.inf, {n: 1, m: 40}, 95)])
    draft.maximize(w[0])
    reformulated = assert_same_optimum(draft.problem(), IntegerProducts())
    assert reformulated.notes[0].columns == 2 + 2


def test_a_factor_in_steps_as_text() -> None:
    draft = Draft()
    n, y = draft.columns("n", 2, 0, 2), draft.columns("y", 1, -1, 6, integer=False)[0]
    w = draft.product("w", [[{n[0]: 0.5, n[1]: 0.75, None: 0.1}, y]])
    draft.rows("r", [(5, {y: 1, n[0]: 1}, np.inf)])
    draft.minimize({w[0]: 1, n[1]: -1})
    reformulated = assert_same_optimum(draft.problem(), IntegerProducts())
    text = as_text(reformulated.problem)
    digits = "w.digits[1,0] - 2 w.digits[1,1] - 4 w.digits[1,2] - 8 w.digits[1,3]"
    assert f"  w.number[1]: 2 n[1] + 3 n[2] - {digits} = 0\n" in text
    parts = "0.25 w.parts[1,0] - 0.5 w.parts[1,1] - w.parts[1,2] - 2 w.parts[1,3]"
    assert f"  w.sum[1]: 0 <= -0.1 y[1] + w[1] - {parts}\n" in text


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(8))
def test_expectations_times_continuous_factors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draft = Draft()
    n, y = draft.columns("n", 2, 1, 3), draft.columns("y", 2, -1, 2, integer=False)
    laws = [discrete(np.array([-1.0, 2.0]), np.array([p, 1 - p])) for p in (0.25, 1 / 3)]
    low = draft.smallest("low", [[n[0], n[1]]])
    t = draft.partial_expectation("t", [low[0], n[1], n[1]], [0, 0, 1], laws)
    w = draft.product("w", [[{n[0]: 1, t[0]: -1}, y[0]], [y[1], t[1]], [{t[2]: 1}, {y[0]: 1, y[1]: -1}]])
    draft.rows("r", [(-1, {w[0]: 1, w[2]: -1, y[0]: 1}, 2)])
    used = (*n, *y, *t, *w)
    draft.minimize(dict(zip(used, rng.integers(-3, 4, len(used)).astype(float).tolist(), strict=True)))
    assert assert_same_optimum(draft.problem(), Target("milp")).problem.is_linear


def test_what_cannot_be_expanded() -> None:
    draft = Draft()
    y = draft.columns("y", 2, 0, 4, integer=False)
    n = draft.columns("n", 1, 0, 10_000)
    draft.product("w", [y, [n[0], y[0]]])
    assert apply(draft.problem(), IntegerProducts()).problem.definitions[0].size == 2


@pytest.mark.parametrize("coefficient", [1.0, 0.25])
def test_a_factor_without_a_bound_is_refused(coefficient: float) -> None:
    draft = Draft()
    n, y = draft.columns("n", 1, 0, np.inf), draft.columns("y", 1, 0, 4, integer=False)
    w = draft.product("w", [[{n[0]: coefficient}, y[0]]])
    draft.minimize(w[0])
    with pytest.raises(DiagnosticError, match="`n`"):
        apply(draft.problem(), IntegerProducts())


def check(rng: np.random.Generator, continuous: int) -> int:
    problem = random_problem(
        rng, ["product"], plain=bool(rng.random() < 0.7), binaries=1, whole=2, continuous=continuous, blocks=2
    )
    with suppress(Unsupported):
        return not assert_same_optimum(problem, ALL).problem.definitions
    return 0


def test_same_optimum() -> None:
    rng = np.random.default_rng(21)
    assert sum(check(rng, number % 2) for number in range(8)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_same_optimum_many(seed: int) -> None:
    rng = np.random.default_rng(5000 + seed)
    for number in range(20):
        check(rng, number % 2)
