"""A component of a tuple that is known selects: the rows of the same list with a new index and a condition."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

# A set by a slice, and the same set by a condition.
SETS = (
    ("{ (k, i, m) : k in K, (i, k, m) in E }", "{ (k, i, m) : k in K, (i, k2, m) in E where k2 == k }"),
    ("{ (i, k, j) : (i, k, m) in E, (k, j) in L }", "{ (i, k, j) : (i, k, m) in E, (k2, j) in L where k2 == k }"),
    ("{ (i, m) : (i, \"k1\", m) in E }", "{ (i, m) : (i, k, m) in E where k == \"k1\" }"),
    ("{ (k, i) : (i, k, 1 + 1) in E }", "{ (k, i) : (i, k, m) in E where m == 2 }"),
    ("{ (n, i) : n in 1..3, (i, _, n + 1) in E }", "{ (n, i) : n in 1..3, (i, _, m) in E where m == n + 1 }"),
    ("{ (k, i, n) : k in K, n in 1..3, (i, k, n) in E }", "{ (k, i, m) : (i, k, m) in E where m <= 3 }"),
    ("{ (i, m) : i in I, (i, home[i], m) in E where m > 1 }",
     "{ (i, m) : (i, k, m) in E where k == home[i] and m > 1 }"),
    ("{ (h, g) : h in H, (prev(h), g) in P }", "{ (h, g) : h in H, (h2, g) in P where h2 == prev(h) }"),
    ("{ (i, c) : i in I, (i, c) in { (a, b) : (a, b, _) in E where a != i or b == \"k2\" } }",
     "{ (i, c) : (i, c, _) in E where c == \"k2\" }"),
    ("{ (a, k) : a in 1..3, k in { k0 : (_, k0, a) in E } }", "{ (a, k) : (_, k, a) in E where a <= 3 }"),
    ("{ (i, k) : (i, k, 9) in E }", "{ (i, k) : (i, k, m) in E where m == 9 }"),
    ("{ k : (k, _) in L where count[(i, k, _) in E] >= 2 }",
     "{ k : (k, _) in L where count[(i, k2, _) in E where k2 == k] >= 2 }"),
)  # fmt: skip

DATA = """
  set I; set K; set H ordered; set E within I cross K cross 1..4; set L within K cross I; set P within H cross 1..3;
  param home[I] within K;
"""
SCENARIO = """
scenario S for M {
  I = { i1, i2, i3 }; K = { k1, k2 }; H = 1..3;
  E = { (i1, k1, 1), (i1, k2, 2), (i2, k1, 2), (i3, k1, 3), (i3, k2, 4), (i2, k1, 4), (i1, k1, 3) };
  L = { (k1, i2), (k2, i3), (k1, i1) };
  P = { (1, 1), (1, 2), (2, 3), (3, 3) };
  home["i1"] = "k1"; home["i2"] = "k2"; home["i3"] = "k1";
}
"""


def test_slices_select_as_conditions_do() -> None:
    declared = "\n".join(f"set A{n} = {a}; set B{n} = {b};" for n, (a, b) in enumerate(SETS))
    text = format_text(f"model M {{ {DATA} {declared} var z >= 0; minimize z; }} {SCENARIO}")
    assert format_text(text) == text
    found = Diagnostics()
    scenario = check_scenario(workspace_from_text(text, "test", found, None), "S", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    sets = build_instance(scenario, folder=Path()).store.sets
    for n, (written, _) in enumerate(SETS):
        rows = [set(zip(*sets[name].label_columns(), strict=True)) for name in (f"A{n}", f"B{n}")]
        assert rows[0] == rows[1], written
        assert rows[0] or "9" in written, written
        assert sets[f"A{n}"].size == sets[f"B{n}"].size, written


SLICED = """
  var x[E] >= 0 <= 5; param cost[(i, k, m) in E] = m;
  var y[k in K, (i, k, m) in E] >= 0; param least[
    k in K, (i, k) in { (a, b) : (a, b, _) in E }] = 1 + count[(i, k, _) in E];
  let used[k in K] = sum[(i, k, m) in E] x[i, k, m];
  minimize total: sum[k in K, (i, k, m) in E] (cost[i, k, m] * x[i, k, m] + 2 * y[k, i, m]) + sum[(_, "k1", m) in E] m;
  constraint some[k in K, (i, k) in { (a, b) : (a, b, _) in E }]:
    sum[(i, k, m) in E] (x[i, k, m] + y[k, i, m]) >= least[k, i];
  constraint most[k in K]: used[k] <= 7;
  constraint three[i in I where any[(i, k, 3) in E] true]: sum[(i, k, 3) in E] x[i, k, 3] >= 1;
"""
WHERE = """
  var x[E] >= 0 <= 5; param cost[(i, k, m) in E] = m;
  var y[k in K, i in I, m in 1..4 where (i, k, m) in E] >= 0;
  param least[k in K, i in I] = 1 + count[(i2, k2, _) in E where i2 == i and k2 == k];
  let used[k in K] = sum[(i, k2, m) in E where k2 == k] x[i, k2, m];
  minimize total: sum[k in K, (i, k2, m) in E where k2 == k] (cost[i, k, m] * x[i, k, m] + 2 * y[k, i, m])
    + sum[(_, k, m) in E where k == "k1"] m;
  constraint some[k in K, i in I where any[(a, b, _) in E] (a == i and b == k)]:
    sum[(i2, k2, m) in E where i2 == i and k2 == k] (x[i, k, m] + y[k, i, m]) >= least[k, i];
  constraint most[k in K]: used[k] <= 7;
  constraint three[i in I where any[(i2, k, m) in E] (i2 == i and m == 3)]:
    sum[(i2, k, m) in E where i2 == i and m == 3] x[i, k, m] >= 1;
"""


@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_declarations_with_slices_solve_as_with_conditions(backend: str) -> None:
    results = [gs.loads(f"model M {{ {DATA} {body} }} {SCENARIO}").solve(backend=backend) for body in (SLICED, WHERE)]
    assert results[0].objective == pytest.approx(results[1].objective)
    assert results[0]["y"].columns == ["k", "i", "m", "value"]


PAIRS = """
model M {{
  set Jobs; set Nodes; set Zones; set Fits within Jobs cross Nodes; set In within Nodes cross Zones;
  param d[Jobs]; param size[Nodes]; param near[Jobs] within Zones;
  var x[Fits] binary; var open[In] binary;
  minimize cost: sum[z in Zones, {nodes_of_zone}] open[n, z] + sum[j in Jobs, {at_home}] 0.1 * x[j, n];
  constraint once[j in Jobs]: sum[{nodes_of_job}] x[j, n] == 1;
  constraint room[n in Nodes]: sum[{jobs_of_node}] d[j] * x[j, n] <= size[n];
  constraint loads[z in Zones, {nodes_of_zone}]: sum[{jobs_of_node}] d[j] * x[j, n] <= 3 * open[n, z];
  constraint spread[{nodes_of_zone_a}]: sum[{jobs_of_node}] x[j, n] <= 2;
  decompose by Nodes;
}}
scenario S for M {{
  Jobs = {{ a, b, c }}; Nodes = 1..4; Zones = {{ za, zb }}; table Jobs: d near = a 1 za b 2 zb c 3 za;
  table Nodes: size = {sizes};
  Fits = Jobs cross Nodes; In = Nodes cross Zones;
}}
"""
WRITTEN = {
    "slices": {
        "at_home": "(n, near[j]) in In", "nodes_of_job": "(j, n) in Fits", "jobs_of_node": "(j, n) in Fits",
        "nodes_of_zone": "(n, z) in In", "nodes_of_zone_a": '(n, "za") in In',
    },
    "conditions": {
        "at_home": "n in Nodes where (n, near[j]) in In", "nodes_of_job": "n in Nodes where (j, n) in Fits",
        "jobs_of_node": "j in Jobs where (j, n) in Fits", "nodes_of_zone": "n in Nodes where (n, z) in In",
        "nodes_of_zone_a": '(n, z) in In where z == "za"',
    },
}  # fmt: skip


@pytest.mark.parametrize(("sizes", "decompose"), [("1 3 2 3 3 3 4 3", "off"), ("1 3 2 4 3 5 4 6", "on")])
def test_interchangeable_elements_and_blocks(sizes: str, decompose: str) -> None:
    """Both ways of writing are aggregated alike, and solved block by block alike."""
    found = set()
    for lists in WRITTEN.values():
        model = gs.loads(PAIRS.format(sizes=sizes, **lists))
        assert ("4 elements counted by 8 patterns" in str(model.explain())) == (decompose == "off")
        found.add(round(model.solve(gap=0, decompose=decompose).objective or 0, 6))
    assert len(found) == 1
