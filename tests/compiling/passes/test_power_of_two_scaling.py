"""Scaling by powers of two: coefficients come closer together, and nothing is rounded."""

from __future__ import annotations

import numpy as np
import pytest
from brute import assert_same_optimum
from drafts import Draft

from gpusched_dsl.compiling.passes.scaling import PowerOfTwoScaling, scaling_of


def test_scaling_brings_coefficients_together() -> None:
    draft = Draft()
    y, x = draft.columns("y", 3, 0, np.inf, integer=False), draft.columns("x")[0]
    draft.rows("r", [(1e6, {y[0]: 1e6, y[1]: 3e-3}, np.inf), (2, {y[1]: 1e-3, y[2]: 1e5, x: 8}, 1e5)])
    draft.minimize({y[0]: 3e5, y[1]: 1e-3, y[2]: 2e5, x: 1})
    problem = draft.problem()
    scaling = scaling_of(problem)
    assert scaling.before > 1e8
    assert scaling.after < 200
    assert scaling.spread.tolist() == pytest.approx([1e6 / 3e-3, 1e8])
    assert scaling.columns[x] == 0
    reformulated = assert_same_optimum(problem, PowerOfTwoScaling())
    values = reformulated.problem.matrix.values / problem.matrix.values
    assert (np.log2(values) == np.rint(np.log2(values))).all()
