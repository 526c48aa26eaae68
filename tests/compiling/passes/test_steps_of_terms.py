"""Steps of the results of terms: against the values that they have at all points, and against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from brute import assert_same_optimum
from drafts import Draft

from gpusched_dsl.compiling.passes.result_steps import column_steps
from gpusched_dsl.compiling.passes.steps import INDICATOR, INTEGERS, Analysis, Target
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.distributions import discrete, uniform
from gpusched_dsl.ir.divisors import common_divisors

TARGETS = (Target("milp"), Target("conditions", frozenset({INTEGERS, INDICATOR})))
HALVES = discrete(np.array([-1.0, 3.0]), np.array([0.5, 0.5]))
THIRDS = discrete(np.array([0.0, 2.0]), np.array([1.0, 2.0]) / 3)


def test_values_are_multiples_of_the_steps() -> None:
    draft = Draft()
    x = draft.columns("x", 2, -1, 2)
    quarters = [{x[0]: 0.5}, {x[1]: 0.25, None: 0.75}]
    low = draft.smallest("low", [quarters, [{x[0]: 3}, {None: 4.5}], [{x[0]: 2}, {None: 0}]])
    product = draft.product("product", [[low[0], {x[0]: 0.5}], [low[1], x[1]]])
    size = draft.unary("size", "abs", [{low[0]: 1, product[1]: 1}, {x[0]: 1 / 3, x[1]: 2 / 3}])
    problem = draft.problem()
    steps = column_steps(problem, Analysis(problem).bounds)
    expected = {low[0]: 0.25, low[1]: 1.5, low[2]: 2, product[0]: 0.125, product[1]: 1.5, size[0]: 0.25, size[1]: 1 / 3}
    assert {k: float(steps[k]) for k in expected} == expected
    seen = np.zeros(problem.columns, dtype=bool)
    for point in itertools.product(range(-1, 3), repeat=2):
        start = np.zeros(problem.columns)
        start[x] = point
        places = complete(problem.definitions, start) / steps
        assert np.allclose(places, np.rint(places), atol=1e-9)
        seen |= np.rint(places) % 2 == 1
    assert seen[[low[0], low[1], product[1], size[0], size[1]]].all()  # none could be twice as large


def test_unknown_sizes_have_no_divisor() -> None:
    sizes = np.array([0.5, 0.75, np.nan, 2.0, 0.0, np.inf, 0.0, 3.0])
    found = common_divisors(sizes, np.array([0, 2, 4, 6]))
    assert found.tolist() == [0.25, 0.0, np.inf, 3.0]


def test_divisors_of_fractions() -> None:
    root = float(np.sqrt(2))
    groups = [[4 / 3, 5 / 3, 0], [1 / 6, 1 / 4, 1 / 3], [root, 1], [100 / 3, 100 / 3 + 1 / 7], [2 / 3, np.nan],
              [2e10 / 3, 1 / 3]]  # fmt: skip
    sizes = np.array([size for group in groups for size in group])
    starts = np.cumsum([0] + [len(group) for group in groups[:-1]])
    expected = [1 / 3, 1 / 12, 0, 1 / 21, 0, 1 / 3]
    assert common_divisors(sizes, starts).tolist() == pytest.approx(expected, rel=1e-12)


def test_steps_of_functions_of_few_values() -> None:
    draft = Draft()
    n, b, free = draft.columns("n", 1, 0, 4)[0], draft.columns("b")[0], draft.columns("free", 1, 0, np.inf)[0]
    y = draft.columns("y", 1, 0, 4, integer=False)[0]
    few = draft.partial_expectation("few", [n, {n: 0.5}, n, {n: 2, b: 1}], [0, 0, 1, 0], [HALVES, THIRDS])
    other = draft.power("other", [{n: 1, None: 1}, {n: 4, b: -4, None: 4}], [-1.0, 0.5])
    sums = draft.largest("sums", [[{few[0]: 1, n: 1}], [{few[1]: 1}, {few[2]: 1}]])
    none = draft.partial_expectation("none", [y, free, n], [0, 0, 1], [HALVES, uniform(0.0, 2.0)])
    irrational = draft.unary("irrational", "exp", [n])
    problem = draft.problem()
    steps = Analysis(problem).units
    expected = {few[0]: 1 / 2, few[1]: 1 / 4, few[2]: 2 / 3, few[3]: 1 / 2, other[0]: 1 / 60, other[1]: 0}
    expected |= {sums[0]: 1 / 2, sums[1]: 1 / 12} | dict.fromkeys((*none, *irrational), 0)
    assert {k: float(steps[k]) for k in expected} == pytest.approx(expected, rel=1e-9)


def test_equal_functions_count_once_and_too_many_values_are_left() -> None:
    draft = Draft()
    n, wide = draft.columns("n", 3000, 0, 1000), draft.columns("wide", 1, 0, 2000)
    terms = draft.partial_expectation("t", [*n, *wide], [0] * 3001, [HALVES])
    problem = draft.problem()
    steps = Analysis(problem).units
    assert set(steps[terms[:-1]].tolist()) == {0.5}
    assert steps[terms[-1]] == 0


@pytest.mark.parametrize("target", TARGETS, ids=[t.name for t in TARGETS])
def test_a_condition_on_the_largest_of_one_expectation(target: Target) -> None:
    draft = Draft()
    b = draft.columns("b", 2)
    t = draft.partial_expectation("t", [b[0]], [0], [HALVES])
    largest = draft.largest("largest", [[{b[0]: 1, t[0]: -1}]])
    late = draft.holds("late", [(0.75, {largest[0]: 1}, np.inf)])
    draft.rows("row", [(1, {late[0]: 1, b[1]: 1}, np.inf)])
    draft.maximize({b[0]: 3, b[1]: -2, late[0]: -4})
    assert assert_same_optimum(draft.problem(), target).problem.is_linear


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", range(12))
def test_conditions_on_functions_of_whole_numbers(seed: int) -> None:
    """Conditions, products and squares of expectations, reciprocals and roots, negated where the optimum wants it."""
    rng = np.random.default_rng(seed)
    draft = Draft()
    n, y = draft.columns("n", 3, int(rng.integers(-2, 1)), int(rng.integers(1, 3))), draft.columns("y", 1, -1, 2, False)
    arguments = [{n[int(i)]: float(rng.choice([-1, 0.5, 1, 2]))} for i in rng.integers(0, 3, 3)]
    t = draft.partial_expectation("t", arguments, rng.integers(0, 2, 3).tolist(), [HALVES, THIRDS])
    r = draft.power("r", [{n[0]: 1, None: 3}], [-1.0])
    m = draft.largest("m", [[{t[0]: 1, n[1]: 1}, {t[1]: 2}], [{t[2]: 1, r[0]: 1}]])
    square = draft.power("square", [{m[0]: 1, t[2]: -1}], [2.0])
    product = draft.product("product", [[{t[0]: 1, t[1]: -0.5}, y[0]], [m[1], t[2]]])
    sides = [(float(rng.choice([-0.5, 0, 1 / 3, 1])), {int(c): 1.0}, np.inf) for c in (t[0], m[0], m[1], square[0])]
    sides.append((-np.inf, {t[0]: 1, t[1]: 1, n[2]: -1}, 0.5))
    h = draft.holds("h", sides)
    draft.rows("row", [(1, {h[0]: 1, h[1]: 1, h[2]: -1, y[0]: 1}, 2)])
    costs = rng.integers(-3, 4, size=len((*n, *y, *t, *square, *product, *h)))
    draft.minimize(dict(zip((*n, *y, *t, *square, *product, *h), costs.astype(float).tolist(), strict=True)))
    assert assert_same_optimum(draft.problem(), TARGETS[seed % 2]).problem.is_linear or seed % 2
