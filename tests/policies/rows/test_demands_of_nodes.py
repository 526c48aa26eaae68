"""Rows that ask for jobs of nodes and gangs: every policy for any model meets them, and no limit is broken for them."""

from __future__ import annotations

import pytest

import gpusched_dsl as gs

NODES = """
  var run[Jobs, Nodes] binary;
  let runs[j in Jobs] = sum[n in Nodes] run[j, n];
  constraint one_place[j in Jobs]: runs[j] <= 1;
  constraint room[n in Nodes]: sum[j in Jobs] need[j] * run[j, n] <= gpus[n];
  placement run[j, n] { job j;  node n;  uses need[j] of gpus[n];  lasts time[j];  due due[j];  user owner[j]; }
"""
GANGS = """
  var run[j in Jobs, n in Nodes] integer >= 0 <= gpus[n];
  var runs[Jobs] binary;
  constraint all_or_none[j in Jobs]: sum[n in Nodes] run[j, n] == need[j] * runs[j];
  constraint room[n in Nodes]: sum[j in Jobs] run[j, n] <= gpus[n];
  placement run[j, n] {
    job j;  node n;  workers need[j];  uses 1 of gpus[n];  lasts time[j];  due due[j];  user owner[j];
  }
"""
TEXT = """
model Mine {
  set Jobs;  set Nodes;  set Users;
  param gpus[Nodes] integer;  param need[Jobs] integer;  param time[Jobs] in h;  param due[Jobs] in h;
  param owner[Jobs] within Users;
  minimize waiting: sum[j in Jobs] (1 - runs[j]);
  KIND
  RULES
}
scenario S for Mine {
  Users = { u, v };
  table Nodes: gpus = n 4;
  table Jobs: need time[h] due[h] owner = a 2 1 2 u  b 2 1 2 u  c 3 9 50 v;
}
"""
WANTED = 'constraint wanted: runs["c"] == 1;'
POLICIES = ["FIFO", "SJF", "EDF", "SRTF", "ATC", "LAS", "EASY", "Conservative", "FairShare", "MaxMin"]


def plan_of(kind: str, rules: str, policy: str) -> tuple[str, set[str]]:
    text = TEXT.replace("KIND", kind).replace("RULES", rules)
    if kind is GANGS:  # `a` and `b` take a node each then
        text = text.replace("n 4;", "n 2  m 2;")
    result = gs.loads(text).solve("S", policy)
    return str(result.status), {job for job, _, value in result["run"].rows() if value > 0.5}


def test_the_policies_are_all_that_are_for_any_model() -> None:
    model = gs.loads(TEXT.replace("KIND", NODES).replace("RULES", ""))
    assert {one.policy.name for one in model.generic_policies()} == set(POLICIES)


@pytest.mark.parametrize("kind", [NODES, GANGS], ids=["nodes", "gangs"])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_demanded_job_runs(policy: str, kind: str) -> None:
    """`c` is the last one by every key, and needs so much that `a` and `b` must wait for it."""
    assert plan_of(kind, "", policy) == ("feasible", {"a", "b"})
    assert plan_of(kind, WANTED, policy) == ("feasible", {"c"})


@pytest.mark.parametrize("kind", [NODES, GANGS], ids=["nodes", "gangs"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("demand_first", [True, False])
def test_no_limit_is_broken_for_a_demand(policy: str, kind: str, demand_first: bool) -> None:
    """The share excludes `c`, whatever is demanded: the demand alone is broken, and all others run."""
    share = 'constraint share: sum[j in Jobs where owner[j] == "v"] need[j] * runs[j] <= 2;'
    rules = " ".join([WANTED, share] if demand_first else [share, WANTED])
    assert plan_of(kind, rules, policy) == ("broken", {"a", "b"})
