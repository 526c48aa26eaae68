"""Explanations of problems with interchangeable elements: the answer is that for the problem with all of them."""

from __future__ import annotations

import pytest

import gpusched_dsl as gs
from gpusched_dsl.explaining import explain as searching

MODEL = """
model M {
  set Jobs = 1..6;  set Nodes;
  param size[j in Jobs] = 1 + j mod 3;
  var run[Jobs, Nodes] binary;
  var spare >= 0;
  maximize worth: sum[j in Jobs, n in Nodes] j * run[j, n] + GAIN * spare;
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint capacity[n in Nodes]: sum[j in Jobs] size[j] * run[j, n] <= 3;
  constraint enough: sum[j in Jobs, n in Nodes] run[j, n] >= LEAST;
}
scenario S for M { Nodes = { a, b, c, d }; }
"""


@pytest.mark.parametrize(
    ("gain", "least", "status", "solved_aggregated"),
    [(0, 3, "feasible", True), (1, 3, "unbounded", False), (0, 7, "infeasible", False), (1, 7, "infeasible", False)],
)
def test_answer(gain: int, least: int, status: str, solved_aggregated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    first = searching._is_solved_aggregated
    monkeypatch.setattr(searching, "_is_solved_aggregated", lambda *given: seen.append(first(*given)) or seen[-1])
    found = gs.loads(MODEL.replace("GAIN", str(gain)).replace("LEAST", str(least))).explain()
    assert found.aggregation.aggregated is not None
    assert (found.status, seen) == (status, [solved_aggregated])
    assert (found.conflict is not None) == (status == "infeasible")
    assert (found.ray is not None) == (status == "unbounded")
