"""Products with 0/1 factors as rows: the rows as text, and the optimum on random problems."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply, assert_same_optimum
from drafts import Draft
from random_problems import random_problem

from gpusched_dsl.compiling.passes.binary_products import BinaryProducts
from gpusched_dsl.compiling.passes.binary_times import BinaryTimes
from gpusched_dsl.compiling.passes.fixed_factors import FixedFactors
from gpusched_dsl.compiling.passes.implied_factors import ImpliedFactors
from gpusched_dsl.compiling.passes.product_chains import ProductChains
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

PRODUCTS = (FixedFactors(), ImpliedFactors(), ProductChains(), BinaryProducts(), BinaryTimes())


def rows_after(draft: Draft, *passes: object) -> list[str]:
    """The lines of the rows that the passes make; the optimum is held too."""
    problem = draft.problem()
    reformulated = assert_same_optimum(problem, passes)  # type: ignore[arg-type]
    assert reformulated.problem.is_linear
    lines = as_text(reformulated.problem).splitlines()
    return [line.strip() for line in lines if line.startswith("  w.")]


def test_only_the_half_that_is_needed() -> None:
    for cost, expected in (
        (1, ["w.lower_on[1]: x[1] + x[2] - w[1] <= 1"]),
        (-1, ["w.upper_on[1]: -x[2] + w[1] <= 0", "w.upper_off[1]: -x[1] + w[1] <= 0"]),
    ):
        draft = Draft()
        x = draft.columns("x", 2)
        w = draft.product("w", [x])
        draft.minimize({w[0]: cost, x[0]: -cost})
        assert rows_after(draft, BinaryProducts()) == expected


def test_any_degree_and_complements() -> None:
    draft = Draft()
    x = draft.columns("x", 3)
    w = draft.product("w", [[x[0], {x[1]: -1, None: 1}, x[2]]])
    draft.rows("r", [(0.5, {w[0]: 1, x[0]: -0.5, x[1]: 1}, 1)])
    draft.minimize({w[0]: 1, x[0]: 1, x[2]: -1})
    assert rows_after(draft, BinaryProducts()) == [
        "w.upper_on[1]: -x[3] + w[1] <= 0",
        "w.upper_off[1,1]: -x[1] + w[1] <= 0",
        "w.upper_off[1,2]: x[2] + w[1] <= 1",
        "w.lower_on[1]: x[1] - x[2] + x[3] - w[1] <= 1",
    ]


def test_a_chain_becomes_one_product_unless_it_is_shared() -> None:
    for shared in (False, True):
        draft = Draft()
        x, y = draft.columns("x", 3), draft.columns("y", 1, 0, 4, integer=False)[0]
        v = draft.product("v", [[x[0], x[1]]])
        w = draft.product("w", [[v[0], x[2]]])
        u = draft.product("u", [[w[0], y]])
        draft.minimize({u[0]: -1, y: 0.5, x[0]: 1, **({v[0]: -1.5} if shared else {})})
        reformulated = assert_same_optimum(draft.problem(), ProductChains())
        assert [n.entries for n in reformulated.notes] == ([1] if shared else [1, 1])
        assert ("u[1] = v[1] * x[3] * y[1]" if shared else "u[1] = x[1] * x[2] * x[3] * y[1]") in as_text(
            reformulated.problem
        )
        assert_same_optimum(draft.problem(), PRODUCTS)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 5, ["upper_on[1]: -y[1] + w[1] <= 0", "upper_off[1]: -5 x[1] + w[1] <= 0",
                "lower_on[1]: 5 x[1] + y[1] - w[1] <= 5"]),
        (-2, 5, ["upper_on[1]: 2 x[1] - y[1] + w[1] <= 2",
                 "upper_off[1]: -5 x[1] + w[1] <= 0", "lower_on[1]: 5 x[1] + y[1] - w[1] <= 5",
                 "lower_off[1]: -2 x[1] - w[1] <= 0"]),
        (2, 5, ["upper_on[1]: -2 x[1] - y[1] + w[1] <= -2", "upper_off[1]: -5 x[1] + w[1] <= 0",
                "lower_on[1]: 5 x[1] + y[1] - w[1] <= 5", "lower_off[1]: 2 x[1] - w[1] <= 0"]),
        (-5, -2, ["upper_on[1]: 5 x[1] - y[1] + w[1] <= 5", "upper_off[1]: 2 x[1] + w[1] <= 0",
                  "lower_on[1]: -2 x[1] + y[1] - w[1] <= -2", "lower_off[1]: -5 x[1] - w[1] <= 0"]),
    ],
)  # fmt: skip
def test_mccormick(low: float, high: float, expected: list[str]) -> None:
    draft = Draft()
    x, y = draft.columns("x")[0], draft.columns("y", 1, low, high, integer=False)[0]
    w = draft.product("w", [[x, y]])
    draft.rows("r", [(-1.5, {w[0]: 1, y: -0.5}, 1)])
    draft.maximize({w[0]: 1, x: -1})
    assert rows_after(draft, BinaryTimes()) == [f"w.{line}" for line in expected]


def test_bounds_come_from_rows() -> None:
    draft = Draft()
    x, y = draft.columns("x", 2), draft.columns("y", 2, 0, np.inf, integer=False)
    w = draft.product("w", [[x[0], {y[0]: 1, y[1]: 2}]])
    draft.rows("r", [(-np.inf, {y[0]: 1, y[1]: 1}, 30)])
    draft.minimize({w[0]: 1, y[0]: -0.25})
    reformulated = assert_same_optimum(draft.problem(), BinaryTimes())
    assert reformulated.notes[0].big_m == (90, 90)


def unbounded() -> Problem:
    draft = Draft()
    x, y = draft.columns("x")[0], draft.columns("y", 1, 0, np.inf, integer=False)[0]
    w = draft.product("w", [[x, y]])
    draft.rows("r", [(3, {w[0]: 1, y: 1}, np.inf)])
    draft.minimize({y: 1, x: 0.5})
    return draft.problem()


def test_a_factor_without_a_bound_is_named() -> None:
    with pytest.raises(DiagnosticError) as caught:
        apply(unbounded(), BinaryTimes())
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "GSM3202"
    assert "`y`" in diagnostic.message
    assert "upper bound" in diagnostic.message


def test_a_factor_without_a_bound_becomes_rows_under_conditions() -> None:
    taking = Target("test", frozenset({"integers", "indicator"}))
    reformulated = assert_same_optimum(unbounded(), BinaryTimes(), taking)
    assert (
        as_text(reformulated.problem)
        == """\
minimize 0.5 x[1] + y[1]
  r[1]: 3 <= y[1] + w[1]
  w.off[1]: w[1] <= 0 if x[1] = 0
  w.on[1]: -y[1] + w[1] <= 0 if x[1] = 1
over
  x[1] binary
  0 <= y[1]
  0 <= w[1]
"""
    )


def test_a_target_that_takes_products_gets_those_that_rows_do_not_say_exactly() -> None:
    for high, whole, left in ((1.0, True, 0), (9.0, False, 1), (np.inf, False, 1)):
        draft = Draft()
        x = draft.columns("x", 1)
        y = draft.columns("y", 1, upper=high, integer=whole)
        w = draft.product("w", [[x[0], y[0]], [y[0], {y[0]: 2.0, None: 1.0}]])
        draft.minimize({w[0]: 1.0, w[1]: 1.0, x[0]: -1.0})
        reformulated = apply(draft.problem(), PRODUCTS, Target("nonlinear", frozenset({"product"})))
        sizes = [d.size for d in reformulated.problem.definitions]
        assert sum(sizes) == left + (high == np.inf)


def check(rng: np.random.Generator, **shape: object) -> int:
    problem = random_problem(rng, ["product"], plain=bool(rng.random() < 0.7), **shape)  # type: ignore[arg-type]
    with suppress(Unsupported):
        return not assert_same_optimum(problem, PRODUCTS).problem.definitions
    return 0


@pytest.mark.slow
def test_same_optimum_whole() -> None:
    rng = np.random.default_rng(11)
    assert sum(check(rng, binaries=4, whole=1, blocks=3) for _ in range(8)) > 2


def test_same_optimum_mixed() -> None:
    rng = np.random.default_rng(12)
    assert sum(check(rng, binaries=3, whole=0, continuous=2, blocks=3) for _ in range(6)) > 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_same_optimum_many(seed: int) -> None:
    rng = np.random.default_rng(4000 + seed)
    for number in range(60):
        if number % 2:
            check(rng, binaries=4, whole=int(rng.integers(0, 2)), blocks=4, rows=int(rng.integers(0, 5)))
        else:
            check(rng, binaries=3, whole=0, continuous=2, blocks=3, rows=int(rng.integers(0, 4)))
