"""All passes together keep the optimum of random small problems with nested terms of all kinds."""

from __future__ import annotations

import numpy as np
import pytest
from brute import Unsupported, assert_same_optimum
from drafts import Draft
from small import small_problem

from gpusched_dsl.compiling.passes.steps import INDICATOR, INTEGERS, Target
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

MILP = Target("milp")
CONDITIONS = Target("conditions", frozenset({INTEGERS, INDICATOR}))


def check(seed: int) -> bool:
    """Whether there was something to compare: few problems are too large to enumerate, or lack a bound."""
    problem = small_problem(seed, results=3 + seed % 2, wide=3)
    try:
        return assert_same_optimum(problem, MILP if seed % 3 else CONDITIONS).problem.is_linear or seed % 3 == 0
    except (Unsupported, DiagnosticError):
        return False


@pytest.mark.slow
def test_random_problems_keep_their_optimum() -> None:
    assert sum(check(seed) for seed in range(40)) > 30


@pytest.mark.slow
def test_many_random_problems_keep_their_optimum() -> None:
    assert sum(check(seed) for seed in range(1000, 3000)) > 1800


def test_a_bound_that_follows_from_a_comparison_keeps_its_reason() -> None:
    draft = Draft()
    b, x = draft.columns("b", 2), draft.columns("x", 1, -1, 2)
    inner = draft.holds("inner", [(1, {b[0]: 2, x[0]: -2}, np.inf)])
    outer = draft.holds("outer", [(1, {b[1]: 2, inner[0]: -2}, 2)])
    draft.rows("row", [(1, outer[0], np.inf)])
    draft.maximize({x[0]: -2})
    assert_same_optimum(draft.problem(), MILP)
