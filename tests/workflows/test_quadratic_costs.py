"""Quadratic costs beside decisions of a policy: the plan fixes all integers, and HiGHS completes it."""

from __future__ import annotations

import pytest

import gpusched_dsl as gs

MODEL = """
model Cluster {
  set Jobs; set Nodes;
  param gpus[Nodes] integer >= 1;
  param price[Nodes] in $/h >= 0;
  param needs[Jobs] integer >= 1;
  param hours[Jobs] in h > 0;
  var run[Jobs, Nodes] binary;
  var heat[Nodes] >= 0 <= 100;
  let runs[j in Jobs] = sum[n in Nodes] run[j, n];
  minimize total in $ {
    rent: sum[j in Jobs, n in Nodes] price[n] * needs[j] * hours[j] * run[j, n];
    cooling: sum[n in Nodes] (0.05[$] * heat[n]^2 + 0.01[$] * heat[n] * heat["fast"]);
    postponed: sum[j in Jobs] 20[$] * (1 - runs[j]);
  }
  constraint once[j in Jobs]: runs[j] <= 1;
  constraint capacity[n in Nodes]: sum[j in Jobs] needs[j] * run[j, n] <= gpus[n];
  constraint warm[n in Nodes]: heat[n] >= 0.5 + 0.3 * sum[j in Jobs] needs[j] * run[j, n];
  placement run[j, n] {
    job j;  node n;
    uses needs[j] of gpus[n];
    lasts hours[j];
    costs price[n] * needs[j] in $/h;
  }
}
scenario S for Cluster {
  table Nodes: gpus price[$/h] = fast 4 0.9  large 8 0.6;
  table Jobs: needs hours[h] = a 2 1  b 1 2  c 4 3;
}
"""


def test_highs_completes_the_plan_of_a_policy() -> None:
    with gs.loads(MODEL) as model:
        plan, best = model.solve("S", backend="FIFO"), model.solve("S", backend="scip")
        assert plan.status == "feasible"
        assert best.status == "optimal"
        assert plan.objective is not None
        assert best.objective is not None
        assert plan.objective >= best.objective - 1e-9
        load = {"fast": 0.0, "large": 0.0}
        for job, node, value in plan.table("run").rows():
            load[node] += value * {"a": 2, "b": 1, "c": 4}[job]
        heat = {node: 0.5 + 0.3 * size for node, size in load.items()}
        terms = {t.name: t.value for t in plan.objectives[0].terms}
        cooling = sum(0.05 * h**2 + 0.01 * h * heat["fast"] for h in heat.values())
        assert terms["cooling"] == pytest.approx(cooling, rel=1e-6)
