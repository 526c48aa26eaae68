"""Which expressions can differ between nodes of one type, with names read through to their formulas."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.policies import node_kinds
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.node_types import distinguishes_nodes, parameters_of_node
from gpusched_dsl.policies.placement_reader import cluster_of

TEXT = """
model M {
  set Jobs; set Nodes ordered; set Types; set Shifts;
  param kind[Nodes] within Types; param zone[Nodes, Shifts] within Types;
  param slow[Nodes]; param hours[Jobs, Types] in h;
  param time[j in Jobs, n in Nodes] in h = hours[j, kind[n]];
  param later[j in Jobs, m in Nodes] in h = 2 * time[j, m];
  param slower[j in Jobs, n in Nodes] in h = slow[n] * time[j, n];
  param quick[j in Jobs, n in Nodes where slow[n] > 0] in h = hours[j, kind[n]];
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
    ("label", "lasts", "by_names", "by_formulas", "read"),
    [
        ("kind[n]", "hours[j, kind[n]]", False, False, {"kind"}),
        ("kind[n]", "time[j, n]", True, False, {"kind"}),
        ("kind[n]", "later[j, n]", True, False, {"kind"}),
        ("kind[n]", "doubled[j, n]", True, False, {"kind"}),
        ("kind[n]", "quick[j, n]", True, True, {"kind", "slow"}),
        ("kind[n]", "slower[j, n]", True, True, {"kind", "slow"}),
        ("kind[n]", "slow[n] * 1[h]", True, True, {"slow"}),
        ("kind[n]", "by_day[j, n]", True, True, None),
        ('zone[n, "day"]', 'hours[j, zone[n, "night"]]', True, True, None),
    ],
)
def test_what_differs_between_nodes_of_one_type(
    label: str, lasts: str, by_names: bool, by_formulas: bool, read: set[str] | None
) -> None:
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
    assert parameters_of_node([(value, node)], policy.model) == read


SHAPES = """
model M {
  set Jobs; set Nodes; set Types; set Given within Jobs cross Nodes; set Pairs within Jobs cross Types;
  param kind[Nodes] within Types; param gpus[Types] integer; param slow[Nodes] default 1; param size[Jobs];
  param hours[Jobs, Types] in h;
  set Up = { n in Nodes where gpus[kind[n]] > 1 };
  set Odd = { n in Nodes where slow[n] > 1 };
  set Whole = { (j, n, g) : j in Jobs, n in Nodes, g in 1..gpus[kind[n]] where (j, kind[n]) in Pairs };
  set Single = { (j, n, 1) : j in Jobs, n in Up where size[j] <= 2 };
  set Both = Whole union Single; set Fewer = Whole diff Single; set Common = Whole inter Both;
  set Slow = { (j, n, g) : (j, n, g) in Whole where slow[n] <= g };
  var run[VARIABLE] binary;
  maximize busy: sum[(j, n, g) in ALL] run[j, n, g];
  placement run[j, n, g] { job j; node n; node_type kind[n]; lasts hours[j, kind[n]] / g; uses g of gpus[kind[n]]; }
}
scenario S for M {
  Jobs = { a, b, c }; Types = { k, l, empty };
  table Types: gpus = k 2  l 1  empty 3;
  table Nodes: kind slow = n1 l 1  n2 k 2  n3 k 1  n4 empty 1  n5 l 3  n6 k 1;
  table Jobs: size = a 1  b 2  c 3;
  Pairs = { (a, k), (b, k), (b, l), (c, l) }; Given = { (a, n2), (b, n1) };
  hours[j in Jobs, t in Types] = size[j] * 1[h];
}
"""


@pytest.mark.parametrize(
    ("variable", "is_alike"),
    [
        ("Whole", True),
        ("(j, n, g) in Whole", True),
        ("(j, n, g) in Both", True),
        ("(j, n, g) in Fewer", True),
        ("(j, n, g) in Common", True),
        ("j in Jobs, n in Nodes, g in 1..gpus[kind[n]] where (j, kind[n]) in Pairs", True),
        ("j in Jobs, n in Up, g in 1..2", True),
        ("(j, n, g) in { (i, m, h) : i in Jobs, m in Up, h in 1..gpus[kind[m]] where (i, kind[m]) in Pairs }", True),
        ("(j, n, g) in Slow", False),
        ("(j, n, g) in Whole where size[j] > 1", False),  # all nodes and jobs of the set count
        ("j in Jobs, n in Odd, g in 1..2", False),
        ("j in Jobs, n in Nodes, g in 1..2 where (j, n) in Given", False),
        ('j in Jobs, n in Nodes, g in 1..2 where n != "n2"', False),
    ],
)
def test_one_node_of_each_type_is_enough(variable: str, is_alike: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster is the same as by looking at all nodes."""
    every = variable if " in " in variable else f"(j, n, g) in {variable}"
    text = SHAPES.replace("VARIABLE", variable).replace("(j, n, g) in ALL", every)
    asked: list[bool] = []

    def read() -> Cluster:
        built = gs.loads(text)._build("S", {})
        return cluster_of(built.scenario.model, built.instance.store, MemoryLimits())

    def told(self: node_kinds.NodeKindReader, *arguments: object) -> node_kinds.NodeKinds:
        asked.append(True)
        return original(self, *arguments)  # type: ignore[arg-type]

    original = node_kinds.NodeKindReader._one_node_of_each_type
    monkeypatch.setattr(node_kinds.NodeKindReader, "_one_node_of_each_type", told)
    quick = read()
    assert bool(asked) == is_alike
    monkeypatch.setattr(node_kinds, "ways_are_alike", lambda *_: False)
    monkeypatch.setattr(node_kinds, "_KNOWN", {})
    whole = read()
    for name in ("jobs", "nodes", "kinds"):
        assert getattr(quick, name).tolist() == getattr(whole, name).tolist()
    assert [c.tolist() for c in quick.ways] == [c.tolist() for c in whole.ways]
    for name, values in whole.work._asdict().items():
        assert np.array_equal(getattr(quick.work, name), values), name


def test_nodes_that_are_numbers() -> None:
    """They are looked at one by one."""
    text = SHAPES.replace("set Nodes;", "set Nodes = 1..6;").replace("VARIABLE", "Whole").replace("in ALL", "in Whole")
    for number in range(1, 7):
        text = text.replace(f"  n{number} ", f"  {number} ").replace(f"= n{number} ", f"= {number} ")
    text = text.replace("Given = { (a, n2), (b, n1) };", "Given = { (a, 2), (b, 1) };")
    text = text.replace("run[Whole]", "run[j in Jobs, n in Nodes, g in 1..2]")
    built = gs.loads(text.replace("sum[(j, n, g) in Whole]", "sum[j in Jobs, n in Nodes, g in 1..2]"))._build("S", {})
    cluster = cluster_of(built.scenario.model, built.instance.store, MemoryLimits())
    assert cluster.nodes.tolist() == [1, 2, 3, 4, 5, 6]
    assert len(cluster.kinds) == 3
