"""Consecutive passes that drop columns and integrality: the output of one is the input of the next."""

from __future__ import annotations

import numpy as np
from as_text import as_text
from brute import assert_same_optimum
from drafts import Draft

from gpusched_dsl.compiling.tightening.defined_sums import DefinedSums
from gpusched_dsl.compiling.tightening.network_integrality import NetworkIntegrality
from gpusched_dsl.compiling.tightening.unused_columns import UnusedColumns

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
