"""One node that stands for all that side rows do not distinguish admits the jobs that each of them admits."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.kernels.row_guard import admits, enter, holds
from gpusched_dsl.policies.placement_reader import cluster_of
from gpusched_dsl.policies.rows.alike_nodes import problem_of_alike_nodes
from gpusched_dsl.policies.rows.guard import Running, SideRows, with_start
from gpusched_dsl.policies.rows.problem import SideProblem, side_model, side_problem, side_problem_on_nodes
from gpusched_dsl.policies.workload import NONE

JOBS, NODES, RACKS = 14, 12, 3

# Rows over racks and teams: all nodes of a rack are alike, or those of a rack with the same watts.
LIMITS = {
    "cap": "constraint c[r in Racks]: sum[j in Jobs, n in Nodes where rack[n] == r] draw[j] * RUN <= most[r];",
    "share": "constraint c[t in Teams]: sum[j in Jobs, n in Nodes where team[j] == t] need[j] * RUN <= 4;",
    "both": """constraint c[r in Racks, t in Teams]:
      2 >= sum[j in Jobs, n in Nodes where rack[n] == r and team[j] == t] RUN;""",
    "power": """constraint c[r in Racks]:
      sum[j in Jobs, n in Nodes where rack[n] == r] watts[n] * need[j] * RUN <= 9 * most[r];""",
    "table": """param load[j in Jobs, n in Nodes] = draw[j] * watts[n] / need[j];
      constraint c[r in Racks]: sum[j in Jobs, n in Nodes where rack[n] == r] load[j, n] * RUN <= 2 * most[r];""",
    "let": """let busy[r in Racks] = sum[j in Jobs, n in Nodes where rack[n] == r] draw[j] * RUN;
      constraint c: sum[r in Racks] (0.5 + busy[r]) <= 3 * most["r0"];
      constraint d[r in Racks]: 2 * busy[r] <= 3 * most[r];""",
    "constant of each node": """constraint c[r in Racks]:
      sum[n in Nodes where rack[n] == r] (sum[j in Jobs] draw[j] * RUN - watts[n] / 2) <= most[r] / 4;""",
    "set of nodes": """set Old = { n in Nodes where watts[n] > 2 };
      constraint c: sum[j in Jobs, n in Old] draw[j] * RUN <= most["r1"];""",
    "sets of nodes": """set In[r in Racks] = { n in Nodes where rack[n] == r or watts[n] > 3 };
      constraint c[r in Racks]: sum[j in Jobs, n in In[r]] draw[j] * RUN <= most[r];""",
    "negative": """constraint c[r in Racks]:
      -most[r] <= sum[j in Jobs, n in Nodes where rack[n] == r] -draw[j] * RUN;""",
}
# Rows that distinguish nodes, read other decisions, or may ask for a job.
OTHERS = {
    "everywhere": LIMITS["cap"],  # with a lower bound of 1 on all nodes
    "each node": "constraint c[n in Nodes]: sum[j in Jobs] draw[j] * RUN <= 4;",
    "one node": 'constraint c: sum[j in Jobs, n in Nodes where n != "n0"] draw[j] * RUN <= 9;',
    "demand": "constraint c: sum[j in Jobs, n in Nodes] RUN >= 2;",
    "difference": """constraint c[r in Racks]:
      sum[j in Jobs, n in Nodes where rack[n] == r] RUN <= 1 + sum[j in Jobs, n in Nodes where rack[n] != r] RUN;""",
    "other variable": """var open[Racks] binary;
      constraint c[r in Racks]: sum[j in Jobs, n in Nodes where rack[n] == r] RUN <= 4 * open[r];
      constraint d: sum[r in Racks] open[r] <= 2;""",
    "condition": """constraint c[r in Racks]:
      sum[j in Jobs, n in Nodes where rack[n] == r] RUN >= 2 => sum[j in Jobs, n in Nodes] RUN <= 5;""",
    "largest": "constraint c: max[n in Nodes] (sum[j in Jobs] draw[j] * RUN) <= 4;",
    "each its own": """constraint c: sum[j in Jobs, n in Nodes] draw[j] * number[n] * RUN <= 30;""",
}


def text_of(rows: str, seed: int, modes: bool, least: bool) -> str:
    """A model with some rows beside those of roles."""
    draw = np.random.default_rng(seed)

    def table(name: str, prefix: str, values: Ints | Floats | list[str]) -> str:
        owner = {"j": "Jobs", "n": "Nodes", "r": "Racks"}[prefix]
        return (
            f"  table {owner}: {name} = " + " ".join(f"{prefix}{at} {value}" for at, value in enumerate(values)) + ";\n"
        )

    jobs, nodes = ", ".join(f"j{i}" for i in range(JOBS)), ", ".join(f"n{i}" for i in range(NODES))
    index, listed, run = (", m", ", m in Modes", "run[j, n, m]") if modes else ("", "", "run[j, n]")
    rows = rows.replace("RUN", f"(sum[m in Modes] {run})" if modes else run)
    where = " where need[j] <= watts[n] + 1" if seed % 2 else ""
    return f"""
model M {{
  set Jobs;  set Nodes;  set Racks;  set Teams;  set Modes;
  param rack[Nodes] within Racks;  param watts[Nodes] integer;  param number[Nodes] integer;
  param team[Jobs] within Teams;  param need[Jobs] integer;  param draw[Jobs];  param most[Racks];
  var run[j in Jobs, n in Nodes{listed}{where}] binary{" >= 1" if least else ""};
  maximize jobs: sum[j in Jobs, n in Nodes{listed}] {run};
  constraint one[j in Jobs]: sum[n in Nodes{listed}] {run} <= 1;
  constraint room[n in Nodes]: sum[j in Jobs{listed}] need[j] * {run} <= 8;
  {rows}
  placement run[j, n{index}] {{ job j;  node n;  uses need[j] of 8;  lasts 1[h]; }}
}}
scenario S for M {{
  Jobs = {{{jobs}}};  Nodes = {{{nodes}}};  Racks = {{r0, r1, r2}};  Teams = {{red, blue}};  Modes = {{slow, fast}};
{table("rack", "n", [f"r{i}" for i in draw.integers(0, RACKS, NODES)])}
{table("watts", "n", draw.integers(1, 3, NODES) * 2)}{table("number", "n", np.arange(NODES) + 1)}
{table("team", "j", [("red", "blue")[i] for i in draw.integers(0, 2, JOBS)])}
{table("need", "j", draw.integers(1, 5, JOBS))}{table("draw", "j", draw.integers(1, 20, JOBS) / 3)}
{table("most", "r", draw.integers(4, 16, RACKS))}
}}
"""


def built_of(rows: str, seed: int, modes: bool = False, least: bool = False) -> tuple[Built, CheckedModel, Cluster]:
    built = gs.loads(text_of(rows, seed, modes, least))._build(None, None)
    model = built.instance.scenario.model
    return built, side_model(model).rows, cluster_of(model, built.instance.store, MemoryLimits())


def rows_with(side: SideProblem, cluster: Cluster, draw: np.random.Generator) -> SideRows:
    """The rows of a decision in which some jobs run, in places that may break a row."""
    work = cluster.work
    job = np.flatnonzero(draw.random(JOBS) < 0.2)
    way = np.array([draw.integers(work.first_way[j], work.first_way[j + 1]) for j in job], dtype=np.int64)
    node = np.array([draw.choice(np.flatnonzero(work.node_kind == work.kind[w])) for w in way], dtype=np.int64)
    queue = np.flatnonzero(draw.random(JOBS) < 0.9)
    start = Running(job, node, way, np.ones(len(job)))
    return with_start(side, cluster, np.ones(JOBS, dtype=np.int64), queue, start, None)


def answers_of(form: str, seed: int) -> set[bool]:
    """Ask for jobs in turn, with one node for each class and with each node, and compare all answers."""
    built, side, cluster = built_of(LIMITS[form], seed, modes=seed % 3 == 2)
    placement, store, limits = cluster.placement, built.instance.store, MemoryLimits()
    few = side_problem_on_nodes(side, placement, store, limits)
    every = side_problem(side, placement, store, limits)
    assert few.stands_for is not None
    assert few.problem.columns < every.problem.columns
    one, other = (rows_with(each, cluster, np.random.default_rng(seed)) for each in (few, every))
    np.testing.assert_array_equal(one.relaxed, other.relaxed)
    assert [one.name(row) for row in range(len(few.rows))] == [other.name(row) for row in range(len(every.rows))]
    work, draw = cluster.work, np.random.default_rng([1, seed])
    node, way = np.full(JOBS, NONE), np.full(JOBS, NONE)
    node[one.start.job], way[one.start.job] = one.start.node, one.start.way
    answers = set()
    for j in draw.permutation(np.flatnonzero(node == NONE)).tolist():
        admitted = []
        for w in range(work.first_way[j], work.first_way[j + 1]):
            for n in np.flatnonzero(work.node_kind == work.kind[w]).tolist():
                answer = admits(one.guard, w, n)
                assert answer == admits(other.guard, w, n)
                answers.add(bool(answer))
                admitted += [(w, n)] if answer else []
        if admitted:
            w, n = admitted[draw.integers(len(admitted))]
            assert enter(one.guard, w, n) == enter(other.guard, w, n)
            node[j], way[j] = n, w
    placed = np.setdiff1d(np.flatnonzero(node != NONE), one.start.job)  # jobs that run already stay
    for j in draw.permutation(placed)[:10].tolist():  # plans as a whole
        again = node.copy()
        again[j] = draw.choice(np.flatnonzero(work.node_kind == work.kind[way[j]]))
        answer = holds(one.guard, again, way)
        assert answer == holds(other.guard, again, way)
        answers.add(bool(answer))
    return answers


@pytest.mark.parametrize("form", LIMITS)
def test_alike_nodes_admit_what_each_node_admits(form: str) -> None:
    assert set.union(*(answers_of(form, seed) for seed in range(6))) == {True, False}


@pytest.mark.parametrize("form", OTHERS)
def test_nodes_are_grounded_one_by_one_where_rows_distinguish_them_or_are_no_limits(form: str) -> None:
    built, side, cluster = built_of(OTHERS[form], 0, least=form == "everywhere")
    assert problem_of_alike_nodes(side, cluster.placement, built.instance.store, MemoryLimits()) is None
