"""Policies for any model also apply where a set of tuples indexes the decisions."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.policies.generic.catalogue import GENERIC

MODEL = """
model Joint "each job runs in one way, on a node that the way names" {
  set Jobs;  set Nodes;
  set Ways within Jobs cross Nodes;
  param gpus[Nodes] integer > 0;
  param time[Ways] in h > 0;
  param due[Jobs] in h;
  param price[Nodes] in $/h;
  var run[(j, n) in Ways] binary;
  minimize cost in $: sum[(j, n) in Ways] (price[n] * time[j, n] - 1000[$]) * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes where (j, n) in Ways] run[j, n] <= 1;
  constraint alone[n in Nodes]: sum[j in Jobs where (j, n) in Ways] run[j, n] <= 1;
  placement run[j, n] {
    job j;  node n;  uses gpus[n] of gpus[n];  lasts time[j, n];  costs price[n] in $/h;  due due[j];  weight 1[$/h];
  }
}
scenario Three for Joint {
  table Nodes: gpus price[$/h] = a 1 1  b 2 3;
  table Jobs: due[h] = x 4  y 5  z 9;
  table Ways: time[h] = x a 3  x b 2  y a 1  z b 4;
}
"""


@pytest.mark.parametrize("name", ["SRTF", "SJF", "LAS", "EDF", "ATC", "MaxMin", "EASY", "Conservative"])
def test_a_policy_plans(name: str, tmp_path: Path) -> None:
    assert name in GENERIC
    (tmp_path / "joint.gsm").write_text(MODEL, encoding="utf-8")
    with gs.load(tmp_path / "joint.gsm") as model:
        result = model.solve("Three", method=name)
        assert result.status in ("feasible", "optimal"), name
        assert len(result["run"]) == 2  # one job on each node
