"""Which expressions can differ between nodes of one type, with names read through to their formulas."""

from __future__ import annotations

import pytest

from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.policies.placement_reader import distinguishes_nodes

TEXT = """
model M {
  set Jobs; set Nodes ordered; set Types; set Shifts;
  param kind[Nodes] within Types; param zone[Nodes, Shifts] within Types;
  param slow[Nodes]; param hours[Jobs, Types] in h;
  param time[j in Jobs, n in Nodes] in h = hours[j, kind[n]];
  param later[j in Jobs, m in Nodes] in h = 2 * time[j, m];
  param slower[j in Jobs, n in Nodes] in h = slow[n] * time[j, n];
  let doubled[j in Jobs, n in Nodes] in h = 2 * later[j, n];
  param by_day[j in Jobs, n in Nodes] in h = hours[j, zone[n, "day"]];
  var run[Jobs, Nodes] binary;
  maximize busy: sum[j in Jobs, n in Nodes] run[j, n];
  placement run[j, n] { job j; node n; node_type LABEL; lasts LASTS; uses 1 of 1; }
}
policy P for M { order j in Jobs by slow[first(Nodes)]; place first_fit, new_node, postpone; }
scenario S for M { Jobs = { a }; Nodes = { x, y }; Types = { k }; Shifts = { day, night };
  kind[n in Nodes] = "k"; zone[n in Nodes, s in Shifts] = "k"; slow[n in Nodes] = 1; hours["a", "k"] = 1[h]; }
"""


@pytest.mark.parametrize(
    ("label", "lasts", "by_names", "by_formulas"),
    [
        ("kind[n]", "hours[j, kind[n]]", False, False),
        ("kind[n]", "time[j, n]", True, False),
        ("kind[n]", "later[j, n]", True, False),
        ("kind[n]", "doubled[j, n]", True, False),
        ("kind[n]", "slower[j, n]", True, True),
        ("kind[n]", "slow[n] * 1[h]", True, True),
        ("kind[n]", "by_day[j, n]", True, True),
        ('zone[n, "day"]', 'hours[j, zone[n, "night"]]', True, True),
    ],
)
def test_what_differs_between_nodes_of_one_type(label: str, lasts: str, by_names: bool, by_formulas: bool) -> None:
    found = Diagnostics()
    text = TEXT.replace("LABEL", label).replace("LASTS", lasts)
    workspace = workspace_from_text(text, "test.gsm", found)
    scenario = check_scenario(workspace, "S", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    policy = check_policy(workspace, workspace.policies["P"], found, scenario.model)
    found.raise_if_errors()
    assert policy is not None
    placement = policy.model.placement
    assert placement is not None
    value, node, kind = placement.value("lasts"), placement.index("node"), placement.value("node_type")
    assert value is not None
    assert node is not None
    assert distinguishes_nodes(value, node, kind) == by_names
    assert distinguishes_nodes(value, node, kind, policy.model) == by_formulas
