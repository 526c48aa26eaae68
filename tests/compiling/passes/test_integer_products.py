"""Expectations of integers, which move in steps, times continuous factors."""

from __future__ import annotations

import numpy as np
import pytest
from brute import assert_same_optimum
from drafts import Draft

from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.ir.distributions import discrete


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
