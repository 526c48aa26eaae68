"""Steps of terms that bounds make linear."""

from __future__ import annotations

import numpy as np
import pytest
from brute import assert_same_optimum
from drafts import Draft

from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.ir.distributions import discrete


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
