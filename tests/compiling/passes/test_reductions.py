"""Fixed columns, redundant rows and scaling: the removed parts, and no other changes."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply, assert_same_optimum, optimum
from drafts import Draft
from random_problems import random_problem

from gpusched_dsl.compiling.passes.fixed_columns import FixedColumns
from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.reductions import REDUCTIONS
from gpusched_dsl.compiling.passes.redundant_rows import RedundantRows
from gpusched_dsl.compiling.passes.scaling import PowerOfTwoScaling, scaling_of
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


def test_rows_that_hold_anyway_go_and_families_keep_their_tuples() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 3)
    draft.rows("a", [(-np.inf, {x[0]: 1, x[1]: 1}, 6), (-np.inf, {x[0]: 1, x[1]: 2}, 6), (0, {x[0]: 1}, np.inf)])
    draft.rows("b", [(-9, {}, 9)])
    draft.rows("c", [(1, {x[0]: -2, x[1]: -4}, np.inf), (2, {x[0]: 1, x[1]: 2}, 7)])
    draft.maximize({x[0]: 1})
    reformulated = apply(draft.problem(), RedundantRows())
    assert (
        as_text(reformulated.problem)
        == """\
maximize x[1]
  a[2]: 2 <= x[1] + 2 x[2] <= -0.5
over
  0 <= x[1] <= 3 integer
  0 <= x[2] <= 3 integer
"""
    )
    assert reformulated.rows is not None
    assert reformulated.rows.tolist() == [-1, 0, -1, -1, 0, 0]


def test_fixed_columns_move_into_constants() -> None:
    draft = Draft()
    x = draft.columns("x", 3)
    two, y = draft.columns("two", 1, 2, 2)[0], draft.columns("y", 1, 0, 9, integer=False)[0]
    on = draft.columns("on", 1, 1, 1)[0]
    m = draft.largest("m", [[y, {two: 2, x[0]: 1}]])
    draft.rows("a", [(1, {x[0]: 1, two: 3, y: 1}, 12)])
    draft.rows("if_on", [(-np.inf, {y: 1, x[1]: 1}, 8)], when=(on, True))
    draft.rows("if_off", [(-np.inf, {y: 1}, 1)], when=(on, False))
    draft.lower[x[2]] = 1
    draft.minimize({m[0]: 1, two: 5, x[2]: 2, y: -2, None: 1})
    problem = draft.problem()
    reformulated = assert_same_optimum(problem, FixedColumns())
    assert (
        as_text(reformulated.problem)
        == """\
minimize -2 y[1] + m[1] + 13
  a[1]: -5 <= x[1] + y[1] <= 6
  if_on[1]: x[2] + y[1] <= 8
where
  m[1] = max(y[1], x[1] + 4)
over
  x[1] binary
  x[2] binary
  0 <= y[1] <= 6
  4 <= m[1] <= 6
"""
    )


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


def test_even_problems_are_not_scaled() -> None:
    draft = Draft()
    x = draft.columns("x", 2)
    draft.rows("r", [(1, {x[0]: 1, x[1]: 1}, 2)])
    assert apply(draft.problem(), PowerOfTwoScaling()).notes == ()


def reduced_problem(rng: np.random.Generator, continuous: int) -> Problem:
    problem = random_problem(rng, binaries=3, whole=2, continuous=continuous, blocks=int(rng.integers(0, 3)), rows=5)
    stop = problem.variables[-1].stop
    chosen = np.flatnonzero(rng.random(stop) < 0.4)
    problem.lower[chosen] = problem.upper[chosen] = np.rint(rng.uniform(problem.lower[chosen], problem.upper[chosen]))
    return problem


def check(rng: np.random.Generator, continuous: int) -> int:
    problem = reduced_problem(rng, continuous)
    with suppress(Unsupported):
        for one in REDUCTIONS:
            assert_same_optimum(problem, one)
        return bool(assert_same_optimum(problem, REDUCTIONS).notes)
    return 0


def test_same_optimum() -> None:
    rng = np.random.default_rng(31)
    assert sum(check(rng, number % 2) for number in range(6)) > 2


def test_reductions_run_behind_the_passes() -> None:
    rng, seen = np.random.default_rng(32), 0
    for number in range(8):
        problem = reduced_problem(rng, number % 2)
        with suppress(Unsupported, DiagnosticError):
            plain, small = reformulate(problem, Target("test")), reformulate(problem, Target("test"), reduce=True)
            assert small.problem.columns <= plain.problem.columns
            assert small.problem.rows <= plain.problem.rows
            first, second = optimum(plain.problem), optimum(small.problem)
            assert first.status == second.status
            assert np.isclose(first.value, second.value, equal_nan=True)
            seen += 1
    assert seen > 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_same_optimum_many(seed: int) -> None:
    rng = np.random.default_rng(6000 + seed)
    for number in range(60):
        check(rng, number % 2)
