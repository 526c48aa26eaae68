"""Columns that are best at one end of their range: which go, at which value, and that the optimum stays."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply, assert_same_optimum
from drafts import Draft
from random_problems import random_problem

from gpusched_dsl.compiling.tightening.unused_columns import UnusedColumns


def test_columns_without_rows_go_to_the_end_that_their_cost_prefers() -> None:
    draft = Draft()
    x = draft.columns("x", 6, -2.5, 3.5)
    y = draft.columns("y", 2, -np.inf, 4, integer=False)
    draft.rows("r", [(1, {x[0]: 1, x[1]: 1}, 1)])
    draft.minimize({x[0]: 1, x[2]: 2, x[3]: -1, y[0]: -1, y[1]: 5, None: 1})
    draft.lower[x[5]] = 2
    reformulated = apply(draft.problem(), UnusedColumns())
    assert (
        as_text(reformulated.problem)
        == """\
minimize x[1] + 5 y[2] - 10
  r[1]: x[1] + x[2] = 1
over
  -2.5 <= x[1] <= 3.5 integer
  -2.5 <= x[2] <= 3.5 integer
  y[2] <= 4
"""
    )
    assert reformulated.invert(np.array([1.0, 0.0, 4.0])).tolist() == [1, 0, -2, 3, 0, 2, 4, 4]
    assert reformulated.map_start(np.arange(8.0)).tolist() == [0, 1, 7]
    assert [(n.term, n.entries, n.columns) for n in reformulated.notes] == [("x", 4, -4), ("y", 1, -1)]


def test_columns_that_only_ease_rows_go_to_that_end() -> None:
    draft = Draft()
    x = draft.columns("x", 5, 0, 3)
    draft.rows("a", [(-np.inf, {x[0]: 1, x[1]: -2, x[2]: 1, x[4]: 1}, 4), (2, {x[1]: 1, x[2]: 1, x[4]: -1}, np.inf)])
    draft.rows("both", [(0, {x[3]: 1, x[2]: 1}, 3)])
    draft.maximize({x[0]: -1, x[1]: 0, x[2]: 1, x[3]: 0, x[4]: 2})
    assert (
        as_text(apply(draft.problem(), UnusedColumns()).problem)
        == """\
maximize x[3] + 2 x[5]
  a[1]: x[3] + x[5] <= 10
  a[2]: -1 <= x[3] - x[5]
  both[1]: 0 <= x[3] + x[4] <= 3
over
  0 <= x[3] <= 3 integer
  0 <= x[4] <= 3 integer
  0 <= x[5] <= 3 integer
"""
    )


def test_objectives_must_agree() -> None:
    draft = Draft()
    x = draft.columns("x", 3)
    draft.minimize({x[0]: 1, x[1]: 1})
    draft.maximize({x[0]: -1, x[1]: 1})
    reformulated = apply(draft.problem(), UnusedColumns())
    assert reformulated.invert(np.array([1.0])).tolist() == [0, 1, 0]


def test_what_definitions_and_conditions_know_stays() -> None:
    draft = Draft()
    x = draft.columns("x", 5)
    draft.product("p", [[x[0], x[1]]])
    draft.rows("r", [(-np.inf, {x[2]: 1}, 0)], when=(x[3], True))
    draft.minimize(dict.fromkeys(x, 1.0))
    reformulated = apply(draft.problem(), UnusedColumns())
    assert reformulated.problem.columns == 5
    assert [n.entries for n in reformulated.notes] == [1]


@pytest.mark.parametrize(("lower", "upper"), [(2.2, 2.8), (3, 2), (1, 1), (1e7, np.inf), (-np.inf, np.inf)])
def test_ends_that_are_none_stay(lower: float, upper: float) -> None:
    draft = Draft()
    x = draft.columns("x", 1, lower, upper)
    draft.minimize({x[0]: 1})
    assert apply(draft.problem(), UnusedColumns()).problem.columns == 1


def check(rng: np.random.Generator, number: int) -> int:
    blocks = int(rng.integers(0, 3))
    problem = random_problem(rng, binaries=3, whole=2, continuous=number % 2, blocks=blocks, rows=int(rng.integers(4)))
    with suppress(Unsupported):
        return -sum(n.columns for n in assert_same_optimum(problem, UnusedColumns()).notes)
    return 0


@pytest.mark.slow
def test_same_optimum() -> None:
    rng = np.random.default_rng(41)
    assert sum(check(rng, number) for number in range(30)) > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_same_optimum_many(seed: int) -> None:
    rng = np.random.default_rng(4100 + seed)
    for number in range(100):
        check(rng, number)
