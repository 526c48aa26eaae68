"""What a fixed plan leaves open: columns that can only be 0 and rows that always hold go, and the optimum stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, optimum
from drafts import Draft
from random_problems import random_problem

from gpusched_dsl.compiling.tightening.open_part import open_part


def test_columns_that_follow_from_the_plan_go_with_their_rows() -> None:
    draft = Draft()
    run = draft.columns("run", 3, 0, 1)
    first = draft.columns("first", 3, 0, 1, integer=False)
    draft.lower[run[1]] = draft.upper[run[0]] = 1
    draft.upper[run[0]] = draft.upper[run[2]] = 0
    draft.rows("first_runs", [(-np.inf, {first[k]: 1, run[k]: -1}, 0) for k in range(3)])
    draft.rows("one_first", [(1, {first[0]: 1, first[1]: 1, first[2]: 1}, 1)])
    draft.rows("room", [(-np.inf, {run[0]: 1, run[1]: 1, run[2]: 1}, 2)])
    draft.minimize({run[0]: 5, first[1]: 2, first[2]: 7, None: 1})
    assert (
        as_text(open_part(draft.problem()))
        == """\
minimize 2 first[2] + 1
  one_first[1]: first[2] = 1
over
  run[2] = 1 integer
  0 <= first[2] <= 1
"""
    )


def test_a_problem_that_is_infeasible_by_its_bounds_stays() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 0)
    draft.rows("r", [(1, {x[0]: 1, x[1]: 1}, np.inf)])
    problem = draft.problem()
    assert open_part(problem) is problem


def test_variables_without_columns_have_an_empty_family() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 0)
    y = draft.columns("y", 1, 0, 3)
    draft.rows("r", [(-np.inf, {x[0]: 1, y[0]: 1}, 2)])
    found = open_part(draft.problem())
    assert [(family.name, family.first, family.size) for family in found.variables] == [("x", 0, 0), ("y", 0, 1)]
    assert found.matrix.values.tolist() == [1.0]


@pytest.mark.quick(60)
@pytest.mark.parametrize("seed", range(600))
def test_the_optimum_stays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, (), binaries=5, whole=2, blocks=0, rows=5, conditions=False)
    some = rng.random(problem.columns) < 0.5
    at = np.where(rng.random(problem.columns) < 0.7, np.clip(0.0, problem.lower, problem.upper), problem.upper)
    fixed = replace(problem, lower=np.where(some, at, problem.lower), upper=np.where(some, at, problem.upper))
    try:
        expected = optimum(fixed)
    except Unsupported:
        pytest.skip("too large to enumerate")
    actual = optimum(open_part(fixed))
    assert actual.status == expected.status
    if expected.status == "optimal":
        assert actual.value == pytest.approx(expected.value, abs=1e-6)
