"""Which plans of large models are verified: all where the problem of a plan is small."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.online.planners.verification import PlanCheck
from gpusched_dsl.policies.plan import Plan

ROWS = {
    "racks": "constraint few[r in 1..1]: sum[j in Jobs, n in Nodes where rack[n] == r] run[j, n] <= 1;",
    "places": "constraint few[j in Jobs, n in Nodes]: 2 * run[j, n] <= 1;",
    "other places": """var late[j in Jobs, n in Nodes] >= 0;
  constraint few[j in Jobs]: sum[n in Nodes] (run[j, n] + late[j, n]) <= 0.5;""",
}
SAMPLE = [0, 1, 2, 4, 8]


def built_of(rows: str) -> Built:
    """400 jobs on 300 nodes: 120,000 places."""
    jobs, nodes = (", ".join(f"{letter}{i}" for i in range(count)) for letter, count in (("j", 400), ("n", 300)))
    text = f"""
model Large {{
  set Jobs;  set Nodes;
  param rack[Nodes] integer default 1;
  var run[j in Jobs, n in Nodes] binary;
  maximize most: sum[j in Jobs, n in Nodes] run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint room[n in Nodes]: sum[j in Jobs] run[j, n] <= 8;
  {ROWS[rows]}
  placement run[j, n] {{ job j;  node n;  uses 1 of 8;  lasts 1[h]; }}
}}
scenario S for Large {{ Jobs = {{{jobs}}};  Nodes = {{{nodes}}}; }}
"""
    return gs.loads(text)._build(None, None)


@pytest.mark.parametrize(("rows", "verified"), [("racks", range(10)), ("places", SAMPLE), ("other places", SAMPLE)])
def test_all_plans_are_verified_where_their_problem_is_small(rows: str, verified: list[int]) -> None:
    """The places that a plan leaves empty are not in its problem; rows and other variables of all places are."""
    built = built_of(rows)
    broken = {"run": VariableValues((np.arange(2), np.arange(2)), np.ones(2))}
    plan = Plan(broken, "policy", obeys_roles=True)
    found = [number for number in range(10) if PlanCheck()(built.instance, plan, number) is not None]
    assert found == list(verified)
