"""Powers, exponentials and logarithms of integer arguments become curves through their possible values."""

from __future__ import annotations

import numpy as np
import pytest
from brute import apply, assert_same_optimum
from drafts import Draft

from gpusched_dsl.compiling.passes.integer_arguments import IntegerArguments
from gpusched_dsl.compiling.passes.piecewise import PiecewiseForms
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.ir.definitions import Piecewise


def test_a_square_becomes_a_curve() -> None:
    draft = Draft()
    n = draft.columns("n", 1, -1, 2)
    s = draft.power("s", [{n[0]: 2, None: 1}], [2.0])
    draft.minimize({s[0]: 1, n[0]: 3})
    reformulated = assert_same_optimum(draft.problem(), (IntegerArguments(), PiecewiseForms()))
    assert [d.op for d in reformulated.problem.definitions] == []
    assert reformulated.problem.columns == 2  # convex and pushed down: rows alone
    (curve,) = apply(draft.problem(), IntegerArguments()).problem.definitions
    assert isinstance(curve, Piecewise)
    assert curve.curves is not None
    assert curve.curves.x.tolist() == [-1, 1, 3, 5]
    assert curve.curves.y.tolist() == [1, 1, 9, 25]


@pytest.mark.parametrize("exponent", [-1.0, 0.5, 2.0, 3.0])
def test_functions_without_a_value_somewhere_are_left(exponent: float) -> None:
    draft = Draft()
    n = draft.columns("n", 1, -1, 2)
    s = draft.power("s", [{n[0]: 1}], [exponent])
    draft.minimize({s[0]: 1})
    left = [d.op for d in apply(draft.problem(), IntegerArguments()).problem.definitions]
    assert left == (["power"] if exponent in (-1.0, 0.5) else ["piecewise"])


def test_the_square_of_a_term_in_steps_becomes_a_curve() -> None:
    draft = Draft()
    n = draft.columns("n", 2, -1, 3)
    low = draft.smallest("low", [[{n[0]: 0.5}, {n[1]: 0.25}]])
    s = draft.power("s", [{low[0]: 1, None: -0.1}], [2.0])
    draft.rows("row", [(0, {n[0]: 1, n[1]: 1}, 4)])
    draft.maximize({s[0]: 4, n[0]: -1})
    (_, curve) = assert_same_optimum(draft.problem(), IntegerArguments()).problem.definitions
    assert isinstance(curve, Piecewise)
    assert curve.curves is not None
    assert curve.curves.x.tolist() == pytest.approx([-0.6, -0.35, -0.1, 0.15, 0.4, 0.65])
    assert assert_same_optimum(draft.problem(), Target("milp")).problem.is_linear


def test_arguments_with_too_many_values_or_none_in_steps_are_left() -> None:
    draft = Draft()
    n = draft.columns("n", 1, 0, 5000)
    x = draft.columns("x", 1, 0, 2, integer=False)
    s = draft.power("s", [{n[0]: 1}, {x[0]: 1}, {n[0]: 1, x[0]: 1}], [2.0] * 3)
    draft.minimize({s[0]: 1, s[1]: -1, s[2]: 1})
    (definition,) = apply(draft.problem(), IntegerArguments()).problem.definitions
    assert (definition.op, definition.size) == ("power", 3)


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(25))
def test_random(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draft = Draft()
    n = draft.columns("n", 3, int(rng.integers(-2, 1)), int(rng.integers(1, 3)))

    def argument() -> dict[int | None, float]:
        return {int(c): float(rng.choice([-2, -1, 0.5, 1, 2])) for c in rng.choice(n, 2, replace=False)} | {
            None: float(rng.integers(-1, 2))
        }

    s = draft.power("s", [argument() for _ in range(3)], [float(e) for e in rng.choice([1, 2, 3], 3)])
    draft.rows("row", [(-2, {n[0]: 1, n[1]: 1, s[0]: 0.5}, 6)])
    draft.minimize({int(c): float(rng.integers(-3, 4)) for c in (*n, *s)})
    assert_same_optimum(draft.problem(), (IntegerArguments(), PiecewiseForms()))
