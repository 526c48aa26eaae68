"""The ways of gangs on one node of each class of nodes: the cluster is the same as by looking at all nodes."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.policies import node_kinds
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.placement_reader import cluster_of

MODEL = """
model M {
  set Jobs; set Nodes ordered; set Types; set Demands;
  param kind[Nodes] within Types; param gpus[Nodes] integer; param pace[Nodes] > 0; param most[Nodes] integer >= 0;
  param barred[Demands, Nodes] binary default 0; param demand[Jobs] within Demands;
  param need[Jobs] integer; param hours[Jobs] in h; param held[Jobs, Nodes] integer default 0;
  var worker[j in Jobs, n in Nodes where CONDITION] integer >= 0 <= BOUND;
  maximize busy: sum[j in Jobs, n in Nodes] worker[j, n];
  placement worker[j, n] { job j; node n; node_type kind[n]; workers need[j]; uses 1 of gpus[n]; lasts LASTS; }
}
"""
CASES = {
    "demands": ("barred[demand[j], n] == 0", "4", "hours[j]"),
    "sizes": ("need[j] <= gpus[n]", "4", "hours[j]"),
    "bounds": ("barred[demand[j], n] == 0", "most[n]", "hours[j]"),
    "paces": ("barred[demand[j], n] == 0", "4", "hours[j] / pace[n]"),
    "where a job was": ("held[j, n] == 0", "4", "hours[j]"),
    "one node": ('n != "n2"', "4", "hours[j]"),
    "order": ("ord(n) > 2", "4", "hours[j]"),
}


def text(seed: int, case: str) -> str:
    draw = random.Random(seed)
    nodes, jobs, demands = [f"n{i}" for i in range(12)], [f"j{i}" for i in range(5)], ["d0", "d1", "d2"]
    lines = [
        f"Jobs = {{ {', '.join(jobs)} }}; Nodes = {{ {', '.join(nodes)} }}; Types = {{ a, b }};",
        f"Demands = {{ {', '.join(demands)} }};",
    ]
    for n in nodes:
        given = {"kind": f'"{draw.choice("ab")}"', "gpus": 2 * draw.randint(1, 2), "pace": draw.randint(1, 2)}
        lines += [f'{name}["{n}"] = {value};' for name, value in {**given, "most": draw.randint(1, 2)}.items()]
        lines += [f'barred["{d}", "{n}"] = 1;' for d in demands if draw.random() < 0.3]
    for j in jobs:
        given = {"need": draw.randint(1, 4), "hours": f"{draw.randint(1, 3)}[h]", "demand": f'"{draw.choice(demands)}"'}
        lines += [f'{name}["{j}"] = {value};' for name, value in given.items()]
        lines.append(f'held["{j}", "{draw.choice(nodes)}"] = 1;')
    condition, bound, lasts = CASES[case]
    model = MODEL.replace("CONDITION", condition).replace("BOUND", bound).replace("LASTS", lasts)
    return f"{model} scenario S for M {{ {' '.join(lines)} }}"


@pytest.mark.quick(7)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(4))
def test_the_cluster_is_that_of_all_nodes(seed: int, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[int] = []
    original = node_kinds.NodeKindReader._family

    def looked_at(self: node_kinds.NodeKindReader, nodes: np.ndarray) -> tuple[np.ndarray, ...]:
        shown.append(len(nodes))
        return original(self, nodes)

    def read() -> Cluster:
        built = gs.loads(text(seed, case))._build("S", {})
        return cluster_of(built.scenario.model, built.instance.store, MemoryLimits())

    monkeypatch.setattr(node_kinds.NodeKindReader, "_family", looked_at)
    quick = read()
    every = np.arange(12)
    monkeypatch.setattr(node_kinds.NodeKindReader, "_one_of_alike", lambda *_: (every, every))
    whole = read()
    assert shown[1] == 12
    if case != "where a job was":
        assert (shown[0] < 12) == (case not in ("one node", "order"))  # these name nodes
    for name in ("jobs", "nodes", "kinds"):
        assert getattr(quick, name).tolist() == getattr(whole, name).tolist()
    assert [c.tolist() for c in quick.ways] == [c.tolist() for c in whole.ways]
    for name, values in whole.work._asdict().items():
        assert np.array_equal(getattr(quick.work, name), values), name
