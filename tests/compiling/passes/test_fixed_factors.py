"""Terms for which the bounds leave only one value or a line."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply, assert_same_optimum
from drafts import Draft
from random_problems import KINDS, random_problem

from gpusched_dsl.compiling.passes.fixed_factors import FixedFactors
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.ir.distributions import discrete


def test_every_case_as_text() -> None:
    draft = Draft()
    x = draft.columns("x", 2)
    two, half = draft.columns("two", 1, 2, 2)[0], draft.columns("half", 1, 0.5, 0.5, integer=False)[0]
    one, y = draft.columns("one", 1, 1, 1)[0], draft.columns("y", 1, 0, 9, integer=False)[0]
    w = draft.product("w", [[two, y], [one, y], [two, half], [x[0], {x[0]: 1, two: 1, x[1]: -1}], [x[0], two, y]])
    e = draft.unary("e", "exp", [{two: 1, None: -2}])
    m = draft.largest("m", [[y, {None: 12}], [x[0], {y: 1, None: 0.5}]])
    h = draft.holds("h", [(-1, y, np.inf), (3, y, np.inf)])
    draft.minimize(dict.fromkeys((*w, *e, *m, *h), 1))
    reformulated = assert_same_optimum(draft.problem(), FixedFactors())
    assert (
        as_text(reformulated.problem)
        == """\
minimize y[1] + w[1] + w[3] + w[4] + w[5] + e[1] + m[1] + m[2] + h[1] + h[2]
  w.value[1]: 0 <= -2 y[1] + w[1]
where
  w[5] = x[1] * (2 y[1])
  w[4] = x[1] * (x[1] - x[2] + two[1])
  m[2] = max(x[1], y[1] + 0.5)
  h[2] = [3 <= y[1]]
over
  x[1] binary
  x[2] binary
  two[1] = 2 integer
  half[1] = 0.5
  one[1] = 1 integer
  0 <= y[1] <= 9
  0 <= w[1] <= 18
  w[3] = 1
  0 <= w[4] <= 3 integer
  0 <= w[5] <= 18
  e[1] = 1
  m[1] = 12
  0.5 <= m[2] <= 9.5
  h[1] = 1 integer
  h[2] binary
"""
    )
    assert {n.effect for n in reformulated.notes} == {
        "are fixed", ("are linear because their other "
                          "factors are fixed"), "have fewer factors because others are fixed",
    }  # fmt: skip


def test_what_rows_fix_is_fixed() -> None:
    draft = Draft()
    n, y = draft.columns("n", 1, 0, 5)[0], draft.columns("y", 1, 0, np.inf, integer=False)[0]
    w = draft.product("w", [[n, y]])
    draft.rows("r", [(2, n, np.inf), (-np.inf, {n: 3}, 8), (1, y, 4)])
    draft.minimize({w[0]: -1, y: 1})
    reformulated = assert_same_optimum(draft.problem(), FixedFactors())
    assert reformulated.problem.is_linear
    assert reformulated.notes[0].rows == 1


def test_a_bound_that_follows_from_the_term_itself_stays() -> None:
    """`max(x, z) <= 3` bounds x and z by 3, rows do from below: the term is constant, the bounds are not idle."""
    draft = Draft()
    x, z = draft.columns("x", 2, 0, 9)
    m = draft.largest("m", [[x, z]])
    draft.rows("r", [(-np.inf, m[0], 3), (3, x, np.inf), (3, z, np.inf)])
    draft.maximize({x: 1, z: 1})
    reformulated = assert_same_optimum(draft.problem(), FixedFactors())
    assert reformulated.problem.is_linear


def test_nothing_to_do_changes_nothing() -> None:
    draft = Draft()
    x = draft.columns("x", 2)
    draft.product("w", [x])
    assert apply(draft.problem(), FixedFactors()).notes == ()


def fix_some(problem, rng):  # type: ignore[no-untyped-def]
    """The problem with about half of its declared columns fixed."""
    stop = problem.variables[-1].stop
    chosen = np.flatnonzero(rng.random(stop) < 0.5)
    value = np.rint(rng.uniform(problem.lower[chosen], problem.upper[chosen]))
    problem.lower[chosen] = problem.upper[chosen] = value
    return problem


@pytest.mark.quick(3)
@pytest.mark.parametrize("kind", KINDS)
def test_same_optimum(kind: str) -> None:
    rng = np.random.default_rng(100 + KINDS.index(kind))
    held = 0
    for _ in range(8):
        problem = fix_some(random_problem(rng, [kind, "product"], binaries=2, rows=2), rng)
        with suppress(Unsupported):  # results that rows hold may make a product of continuous columns
            assert_same_optimum(problem, FixedFactors())
            held += 1
    assert held > 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_same_optimum_many(seed: int) -> None:
    rng = np.random.default_rng(2000 + seed)
    for number in range(20):
        problem = random_problem(
            rng, continuous=number % 2, blocks=int(rng.integers(1, 5)), rows=int(rng.integers(1, 4))
        )
        with suppress(Unsupported):
            assert_same_optimum(fix_some(problem, rng) if rng.random() < 0.7 else problem, FixedFactors())


def test_a_value_that_is_found_is_read_by_later_terms() -> None:
    """Propagated bounds of an expectation are a little wider than its value; products of it are linear all the same."""
    draft = Draft()
    one, y = draft.columns("one", 1, 1, 1)[0], draft.columns("y", 1, -1, 2, integer=False)[0]
    t = draft.partial_expectation("t", [one], [0], [discrete(np.array([-1.0, 5.0]), np.array([0.3, 0.7]))])
    e = draft.unary("e", "exp", [{t[0]: 1, None: 2}])
    w = draft.product("w", [[t[0], y], [{t[0]: 1, one: 1}, y], [e[0], y]])
    draft.maximize({w[0]: 1, w[1]: -2, w[2]: 1})
    reformulated = assert_same_optimum(draft.problem(), FixedFactors())
    assert reformulated.problem.is_linear
    assert reformulated.problem.lower[t[0]] == reformulated.problem.upper[t[0]] == pytest.approx(0.4)


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", range(8))
def test_steps_of_linear_terms_reach_the_terms_that_read_them(seed: int) -> None:
    """Squares and products of the largest of one argument, and of an expectation times a fixed number."""
    rng = np.random.default_rng(seed)
    draft = Draft()
    n, y = draft.columns("n", 2, -1, 2), draft.columns("y", 1, -1, 2, integer=False)[0]
    two = draft.columns("two", 1, 2, 2)[0]
    t = draft.partial_expectation("t", [n[0]], [0], [discrete(np.array([-1.0, 1.0]), np.array([0.25, 0.75]))])
    m = draft.largest("m", [[{n[0]: 0.25, n[1]: 1.5}]])
    p = draft.power("p", [{t[0]: 1, n[1]: 0.5}], [1.0])
    c = draft.product("c", [[two, {t[0]: 1, n[1]: 0.75}]])
    square = draft.power("square", [{m[0]: 1, None: -0.1}, {c[0]: 1}, {p[0]: 1}], [2.0, 3.0, 2.0])
    product = draft.product("product", [[m[0], y], [y, c[0]], [{p[0]: 1, m[0]: -1}, y]])
    draft.rows("row", [(-2, {n[0]: 1, product[1]: 1, y: 1}, 3)])
    used = (*n, y, *square, *product)
    draft.minimize(dict(zip(used, rng.integers(-3, 4, len(used)).astype(float).tolist(), strict=True)))
    assert assert_same_optimum(draft.problem(), Target("milp")).problem.is_linear
