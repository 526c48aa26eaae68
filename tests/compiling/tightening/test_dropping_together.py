"""Consecutive passes that drop columns and integrality: the output of one is the input of the next."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply, assert_same_optimum
from drafts import Draft
from random_problems import random_problem
from test_defined_sums import random_sums
from test_network_integrality import random_rows, two_families

from gpusched_dsl.compiling.tightening.defined_sums import DefinedSums
from gpusched_dsl.compiling.tightening.network_integrality import NetworkIntegrality
from gpusched_dsl.compiling.tightening.unused_columns import UnusedColumns
from gpusched_dsl.ir.problem import Problem

TOGETHER = (DefinedSums(), UnusedColumns(), NetworkIntegrality())


def test_jobs_that_run_somewhere_become_a_network() -> None:
    """`run` is a sum, running costs on the second machine more than all it brings, and an assignment is left."""
    draft = Draft()
    x, y = draft.columns("x", 2), draft.columns("y", 2)
    run = draft.columns("run", 2)
    draft.rows("runs", [(0, {x[j]: 1, y[j]: 1, run[j]: -1}, 0) for j in range(2)])
    draft.rows("room", [(-np.inf, {x[0]: 1, x[1]: 1}, 1), (-np.inf, {y[0]: 1, y[1]: 1}, 1)])
    draft.maximize({run[0]: 2, run[1]: 3, y[0]: -4, y[1]: -1})
    reformulated = assert_same_optimum(draft.problem(), TOGETHER)
    assert (
        as_text(reformulated.problem)
        == """\
maximize 2 x[1] + 3 x[2] + 2 y[2]
  runs[1]: x[1] <= 1
  runs[2]: x[2] + y[2] <= 1
  room[1]: x[1] + x[2] <= 1
  room[2]: y[2] <= 1
over
  0 <= x[1] <= 1
  0 <= x[2] <= 1
  0 <= y[2] <= 1
"""
    )
    assert reformulated.invert(np.array([1.0, 0.0, 1.0])).tolist() == [1, 0, 0, 1, 1, 1]
    assert reformulated.map_start(np.array([1.0, 0.0, 0.0, 1.0, 1.0, 1.0])).tolist() == [1, 0, 1]
    assert [n.pass_name for n in reformulated.notes] == ["defined_sums", "unused_columns"] + ["network_integrality"] * 2


def drawn(rng: np.random.Generator) -> Problem:
    match int(rng.integers(4)):
        case 0:
            return random_sums(rng)
        case 1:
            return random_rows(rng)
        case 2:
            return two_families(rng)
    return random_problem(rng, binaries=4, whole=1, continuous=1, blocks=int(rng.integers(2)), rows=4)


def check(rng: np.random.Generator) -> int:
    problem = drawn(rng)
    with suppress(Unsupported):
        assert_same_optimum(problem, TOGETHER)
        return len(apply(problem, TOGETHER).notes)
    return 0


@pytest.mark.slow
def test_same_optimum() -> None:
    rng = np.random.default_rng(47)
    assert sum(check(rng) > 1 for _ in range(30)) > 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_same_optimum_many(seed: int) -> None:
    rng = np.random.default_rng(4700 + seed)
    for _ in range(100):
        check(rng)
