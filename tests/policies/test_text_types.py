"""Node types that are texts, as in a table of nodes with a column of kinds."""

from __future__ import annotations

import pytest

import gpusched_dsl as gs

TEXT = """
model Cluster {
  set Nodes;  set Jobs;
  param kind[Nodes] symbol;
  param gpus[Nodes] integer;
  param speed[Nodes];
  param submitted[Jobs] in h;
  param hours[Jobs] in h;
  param remaining[Jobs] default 1;
  param length[j in Jobs, n in Nodes] in h = remaining[j] * hours[j] / speed[n];
  var run[Jobs, Nodes] binary;
  minimize cost in $: sum[j in Jobs, n in Nodes] 1[$/h] * length[j, n] * run[j, n]
    + sum[j in Jobs] 9[$] * (1 - sum[n in Nodes] run[j, n]);
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint capacity[n in Nodes]: sum[j in Jobs] run[j, n] <= gpus[n];
  placement run[j, n] {
    job j;  node n;  node_type kind[n];  uses 1 of gpus[n];  lasts length[j, n];  costs 1[$/h];
    due 1[h]; weight 1[$/h]; postponed 9[$];
  }
}
policy Queue for Cluster { order j in Jobs by submitted[j]; place new_node, best_fit, postpone; keep running; }
online Events for Cluster {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
}
scenario S for Cluster {
  table Nodes: kind gpus speed = a old 1 1  b old 1 1  c new 2 2;
  table Jobs: submitted[h] hours[h] = p 0 2  q 0 4  r 1 2  s 1 2;
}
"""


@pytest.mark.parametrize("method", ["Queue", "highs"])
def test_a_run_is_that_with_numbers_for_the_types(method: str) -> None:
    numbers = TEXT.replace("kind[Nodes] symbol", "kind[Nodes] integer").replace(" old ", " 1 ").replace(" new ", " 2 ")
    texts, other = (gs.loads(text).run("S", method=method) for text in (TEXT, numbers))
    assert texts.total == other.total
    assert texts.jobs.equals(other.jobs)
    assert "finished" in str(texts)


def test_the_type_is_named_where_a_decision_is_explained() -> None:
    lines = "\n".join(gs.loads(TEXT).why("r", 1, "S", method="Queue").lines())
    assert "new" in lines or "old" in lines
