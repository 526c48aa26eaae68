"""A model's placement as policies read it: kinds of nodes, ways to run, units and prices."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.placement_reader import cluster_of
from gpusched_dsl.policies.workload import NONE

RENTED = """
model M {
  set Jobs;  set Nodes;  set Types;
  param gpus[Types] integer;
  param price[Types] in $/min;
  param family[Types] symbol default "";
  param time[Jobs, Types] in min;
  param due[Jobs] in h;
  param weight[Jobs] in $/h;
  var run[j in Jobs, n in Nodes, v in Types, g in 1..gpus[v] where not (j == "j2" and g == 2)] binary;
  minimize total in $: sum[j in Jobs, n in Nodes, v in Types, g in 1..gpus[v] where not (j == "j2" and g == 2)]
    price[v] * time[j, v] * run[j, n, v, g];
  placement run[j, n, v, g] {
    job j;  node n;  node_type v;  family family[v];
    uses g of gpus[v];
    lasts time[j, v] / g;
    costs g / gpus[v] * price[v];
    due due[j];  weight weight[j];  idle 2[$];
  }
}
scenario S for M {
  Nodes = { n1, n2 };
  table Types:  gpus  price[$/min]  family =
    A           2     1             "a"
    B           1     3             "a"
    C           1     1             "";
  table Jobs:  due[h]  weight[$/h] =
    j1         1       60
    j2         0.5     6;
  table Jobs, Types:  time[min] =
    j1         A      120
    j1         B      90
    j1         C      60
    j2         A      20
    j2         B      10
    j2         C      40;
}
"""

THERE = """
model M {
  set Jobs;  set Nodes;
  param speed[Nodes];
  param memory[Nodes] default 8;
  param needs[Jobs] default 1;
  var run[j in Jobs, n in Nodes, u in 1..4] binary;
  minimize total: sum[j in Jobs, n in Nodes, u in 1..4] run[j, n, u];
  placement run[j, n, u] {
    job j;  node n;
    uses u / 4 of 2;
    uses needs[j] of memory[n];
    lasts 12 / speed[n] / u;
  }
}
scenario S for M {
  Jobs = { j1, j2 };
  table Nodes:  speed =
    n1          1
    n2          2
    n3          1;
}
"""


def read(text: str, **options: bool) -> Cluster:
    model = gs.loads(text)
    built = model._build("S", {})
    return cluster_of(built.scenario.model, built.instance.store, MemoryLimits(), **options)


def test_nodes_to_be_rented() -> None:
    cluster = read(RENTED)
    work = cluster.work
    assert work.parts == 1
    assert work.node_kind.tolist() == [NONE, NONE]
    assert work.units.tolist() == [2, 1, 1]
    assert work.family[0] == work.family[1] != work.family[2]
    assert work.stock.tolist() == [2, 2, 2]
    assert work.idle.tolist() == [2, 2, 2]
    # Of each job on A with one or two GPUs, on B, on C; what the variable leaves out is no way.
    assert list(zip(work.job.tolist(), work.kind.tolist(), work.size.tolist(), strict=True)) == [
        (0, 0, 1), (0, 0, 2), (0, 1, 1), (0, 2, 1), (1, 0, 1), (1, 1, 1), (1, 2, 1),
    ]  # fmt: skip
    assert work.first_way.tolist() == [0, 4, 7]
    assert work.way_at[0, 0].tolist() == [NONE, 0, 1]
    assert work.way_at[1, 0].tolist() == [NONE, 4, NONE]


def test_units_agree() -> None:
    """Minutes and hours, $ a minute and $ an hour: prices come out in the money of the objective."""
    work = read(RENTED).work
    assert work.time.tolist() == [120, 60, 90, 60, 20, 10, 40]
    assert work.due.tolist() == [60, 30]
    assert work.weight == pytest.approx([1, 0.1])
    assert work.late == pytest.approx([60, 0, 30, 0, 0, 0, 1])
    assert (work.rate * work.time) == pytest.approx([60, 60, 270, 60, 10, 30, 40])
    assert work.postponed.tolist() == [0, 0]


def test_nodes_that_are_there() -> None:
    """Nodes with equal ways form a kind, parts of GPUs are units, a second capacity is kept."""
    cluster = read(THERE)
    work = cluster.work
    assert work.parts == 4
    assert work.node_kind.tolist() == [0, 1, 0]
    assert work.units.tolist() == [8, 8]
    assert work.room.tolist() == [[8], [8]]
    assert sorted(set(work.size.tolist())) == [1, 2, 3, 4]
    assert work.needs.shape == (16, 1)
    assert (work.needs == 1).all()
    assert work.due.tolist() == [np.inf, np.inf]
    assert read(THERE, nodes_differ=True).work.node_kind.tolist() == [0, 1, 2]


def test_plans_go_there_and_back() -> None:
    for text in (RENTED, THERE):
        cluster = read(text)
        work = cluster.work
        rng = np.random.default_rng(1)
        for _ in range(50):
            way = np.array([rng.integers(work.first_way[j], work.first_way[j + 1]) for j in range(2)])
            fitting = [[n for n, k in enumerate(work.node_kind) if k in (NONE, work.kind[w])] for w in way.tolist()]
            node = np.array([rng.choice(choice) for choice in fitting])
            node[rng.random(2) < 0.2] = NONE
            jobs, nodes, ways = cluster.running_jobs(cluster.selected_elements(node, way))
            runs = np.flatnonzero(node >= 0)
            assert (jobs.tolist(), nodes.tolist(), ways.tolist()) == (
                runs.tolist(), node[runs].tolist(), way[runs].tolist(),
            )  # fmt: skip


def test_what_has_gone_is_left_out() -> None:
    cluster = read(RENTED)
    codes = [np.array([0, 99]), np.array([1, 0]), np.array([0, 0]), np.array([2, 1])]
    jobs, nodes, ways = cluster.running_jobs(codes)
    assert (jobs.tolist(), nodes.tolist(), ways.tolist()) == ([0], [1], [1])


def test_a_node_without_ways_is_another_kind() -> None:
    """The hash of the only way on b, of job 0, is not that of no ways."""
    cluster = read("""
model M {
  set Jobs;  set Nodes;  param home[Jobs] within Nodes;
  var run[j in Jobs, n in Nodes where home[j] == n] binary;
  minimize total: sum[j in Jobs] run[j, home[j]];
  placement run[j, n] { job j; node n; lasts 1[h]; }
}
scenario S for M { Nodes = { a, b };  table Jobs: home = x b; }
""")
    assert cluster.work.node_kind.tolist() == [0, 1]
    assert [column.tolist() for column in cluster.ways] == [[0], [1]]


TIES = """
model Net {
  set Jobs; set Types; set Nodes; set Levels = 1..4;
  param type[Nodes] within Types; param gpus[Types]; param hours[Jobs, Types, Levels] in h;
  var run[j in Jobs, n in Nodes, g in Levels] binary;
  minimize idle: 0 - sum[j in Jobs, n in Nodes, g in Levels] run[j, n, g];
  constraint once[j in Jobs]: sum[n in Nodes, g in Levels] run[j, n, g] <= 1;
  placement run[j, n, g] { job j; node n; node_type type[n]; uses g of gpus[type[n]]; lasts hours[j, type[n], g]; }
}
policy Queue for Net {
  order j in Jobs by 0;
  choose t in Types, g in Levels where g <= gpus[t] by hours[j, t, g];
  place best_fit, new_node, postpone;
}
scenario S for Net {
  Jobs = { a }; Types = { x, y }; Nodes = { n1, n2 };
  table Nodes: type = n1 y  n2 x;
  gpus[t in Types] = 2;
  hours[j in Jobs, t in Types, g in Levels] = 1[h];
}
"""


def test_of_equal_ways_the_first_in_the_order_of_the_data_is_taken() -> None:
    """Type x comes before type y in the data, though the first node is one of y."""
    found = gs.loads(TIES).solve(backend="Queue").table("run", zeros=False)
    assert [row[:3] for row in found.rows()] == [("a", "n2", 1)]
