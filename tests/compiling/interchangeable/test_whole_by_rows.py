"""Continuous columns that are always integer, and columns that are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from summing import Case, case_of, check_exact

from gpusched_dsl.compiling.interchangeable.components import components_of
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.patterns import by_patterns
from gpusched_dsl.solving.solve import solve_problem

# Of the jobs on a node the one that ends first, in each of two cases.
TEXT = """model Firsts {
  set Nodes;
  set Jobs;
  set Cases;
  param time[Cases, Jobs];
  param gain[Jobs];
  var run[Jobs, Nodes] binary;
  var used[Nodes] binary;
  var first[Cases, Jobs, Nodes] BOUNDS;
  constraint runs[c in Cases, j in Jobs, n in Nodes]: RUNS;
  constraint one[c in Cases, n in Nodes]: ONE;
  constraint busy[j in Jobs, n in Nodes]: run[j, n] <= used[n];
  constraint fits[n in Nodes]: sum[j in Jobs] run[j, n] <= 2;
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  MORE
  minimize cost: sum[c in Cases, j in Jobs, n in Nodes] time[c, j] * first[c, j, n]
    - sum[j in Jobs, n in Nodes] gain[j] * run[j, n] + 0.2 * sum[n in Nodes] used[n];
}
scenario Small for Firsts {
  Nodes = 1..3;
  table Jobs: gain = a 3 b 2.5 c 4 ;
  table Cases, Jobs: time =
    1 a 1
    1 b 2
    1 c 0.5
    2 a 3
    2 b 1
    2 c 1.5 ;
  Cases = 1..2;
}
"""
BOUNDS, RUNS, ONE = ">= 0 <= 1", "first[c, j, n] <= run[j, n]", "sum[j in Jobs] first[c, j, n] == used[n]"
WHOLE = {
    "as it is": (BOUNDS, RUNS, ONE, ""),
    "an upper side only": (BOUNDS, RUNS, "sum[j in Jobs] first[c, j, n] >= used[n]", ""),
    "the other sign": (BOUNDS, "run[j, n] - first[c, j, n] >= 0", "used[n] - sum[j in Jobs] first[c, j, n] == 0", ""),
    "whole coefficients of others": (BOUNDS, "first[c, j, n] <= 2 * run[j, n]", ONE, ""),
}
FRACTIONS = {
    "a coefficient of its own": (BOUNDS, RUNS, "sum[j in Jobs] 2 * first[c, j, n] == used[n]", ""),
    "a side that is not whole": (BOUNDS, RUNS, "sum[j in Jobs] first[c, j, n] >= used[n] - 0.5", ""),
    "another coefficient that is not whole": (BOUNDS, "first[c, j, n] <= 0.5 * run[j, n]", ONE, ""),
    "other bounds": (">= 0 <= 2", RUNS, ONE, ""),
    "two rows of the member": (
        BOUNDS, RUNS, ONE,
        "constraint again[j in Jobs, n in Nodes]: sum[c in Cases] first[c, j, n] <= run[j, n];",
    ),
    "two rows over members": (
        BOUNDS, RUNS, ONE,
        "constraint again[n in Nodes]: sum[c in Cases, j in Jobs] first[c, j, n] <= 2;",
    ),
    "a row over all nodes": (
        BOUNDS, RUNS, ONE,
        "constraint again[c in Cases, j in Jobs]: sum[n in Nodes] first[c, j, n] <= 0.5;",
    ),
    "another continuous column": (
        BOUNDS, RUNS, ONE.replace("== used[n]", "+ part[c, n] == used[n]"),
        "var part[Cases, Nodes] >= 0 <= 0.5;",
    ),
}  # fmt: skip


def firsts(folder: Path, bounds: str, runs: str, one: str, more: str) -> Case:
    text = TEXT.replace("BOUNDS", bounds).replace("RUNS", runs).replace("ONE", one).replace("MORE", more)
    return case_of(folder, text, "Nodes")


@pytest.mark.quick(3)
@pytest.mark.parametrize("why", WHOLE)
def test_whole_by_themselves(tmp_path: Path, why: str) -> None:
    made = firsts(tmp_path, *WHOLE[why])
    assert not made.small.problem.integer.all()
    assert check_exact(made, why, (by_patterns,)) is not None


@pytest.mark.quick(6)
@pytest.mark.parametrize("why", FRACTIONS)
def test_not_whole(tmp_path: Path, why: str) -> None:
    made = firsts(tmp_path, *FRACTIONS[why])
    for component in components_of(made.small):
        with pytest.raises(Obstacle, match=r"`(first|part)` is not"):
            by_patterns(made.small, component)


def test_fractions_would_have_been_better(tmp_path: Path) -> None:
    """The refusals are not for nothing: halves are cheaper than any whole values."""
    made = firsts(tmp_path, *FRACTIONS["a side that is not whole"])
    whole = replace(made.whole, integer=np.ones(made.whole.columns, dtype=np.bool_))
    one, other = solve_problem(made.whole).objective, solve_problem(whole).objective
    assert one is not None
    assert other is not None
    assert one < other - 0.1
