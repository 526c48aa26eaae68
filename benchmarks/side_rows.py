"""A plan of a queue with and without rows that roles do not state: a cap of each rack and a share of each team.

`python -m benchmarks.side_rows [--nodes 1000] [--jobs 5000] [--method FIFO] [--repeats 5] [--each-node]` plans in one
process with compiled kernels, in turn without and with these rows, and prints for each the least CPU seconds of a plan,
of the check of this plan that a run makes, and their ratios. `FIFO` stops at the first job without a place; `Filling`
goes on with the others.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from gpusched_dsl.compiling.build import Permissions, build, check_solvable
from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.online.planners.policy import PolicyPlanner
from gpusched_dsl.online.planners.protocol import PlanningRequest
from gpusched_dsl.online.planners.verification import PlanCheck
from gpusched_dsl.policies.library import policy_named
from gpusched_dsl.policies.plan import Plan

RACK, TEAMS = 20, 10  # nodes of a rack; teams
ROWS = """
  constraint cap[r in Racks]: sum[j in Jobs, n in Nodes where rack[n] == r] draw[j] * run[j, n] <= most_draw[r];
  constraint share[t in Teams]: sum[j in Jobs, n in Nodes where team[j] == t] needs[j] * run[j, n] <= most[t];
"""
EACH_NODE = """
  constraint power[n in Nodes]: sum[j in Jobs] draw[j] * run[j, n] <= 3;
"""
TEXT = """
model Cluster {
  set Racks;  set Nodes;  set Teams;  set Jobs;
  param rack[Nodes] within Racks;
  param gpus[Nodes] integer >= 1;
  param most_draw[Racks] >= 0;
  param most[Teams] >= 0;
  param team[Jobs] within Teams;
  param needs[Jobs] integer >= 1;
  param draw[Jobs] >= 0;
  param hours[Jobs] in h > 0;
  var run[j in Jobs, n in Nodes] binary;
  maximize started: sum[j in Jobs, n in Nodes] run[j, n];
  constraint one_node[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint capacity[n in Nodes]: sum[j in Jobs] needs[j] * run[j, n] <= gpus[n];
  ROWS
  placement run[j, n] {
    job j;  node n;  user team[j];  uses needs[j] of gpus[n];  lasts hours[j];
  }
}
policy Filling for Cluster { order j in Jobs by hours[j]; place best_fit, new_node, postpone; }
scenario Queue for Cluster {
  data "racks.csv" { Racks = rack;  most_draw[rack] = most; }
  data "nodes.csv" { Nodes = node;  rack[node] = rack;  gpus[node] = gpus; }
  data "teams.csv" { Teams = team;  most[team] = most; }
  data "jobs.csv" {
    Jobs = job;  team[job] = team;  needs[job] = gpus;  draw[job] = draw;  hours[job] = hours[h];
  }
}
"""


def write(folder: Path, nodes: int, jobs: int, more: str = "", seed: int = 1) -> None:
    """Write nodes with 8 GPUs, and jobs that need about three times as many GPUs as there are."""
    rng = np.random.default_rng(seed)
    racks = [f"r{i}" for i in range(-(-nodes // RACK))]
    needs = rng.choice([1, 2, 4, 8], size=jobs, p=[0.4, 0.2, 0.2, 0.2])
    tables: Mapping[str, Mapping[str, object]] = {
        "racks": {"rack": racks, "most": np.round(rng.uniform(0.6, 1.1, len(racks)) * RACK * 8 * 0.4, 1)},
        "nodes": {
            "node": [f"n{i}" for i in range(nodes)],
            "rack": [racks[i // RACK] for i in range(nodes)],
            "gpus": [8] * nodes,
        },
        "teams": {
            "team": [f"t{i}" for i in range(TEAMS)],
            "most": np.round(rng.uniform(0.5, 1.5, TEAMS) * nodes * 8 / TEAMS),
        },
        "jobs": {
            "job": [f"j{i}" for i in range(jobs)],
            "team": [f"t{i}" for i in rng.integers(0, TEAMS, jobs)],
            "gpus": needs,
            "draw": np.round(needs * rng.uniform(0.2, 0.5, jobs), 2),
            "hours": np.round(rng.uniform(1, 48, jobs), 1),
        },
    }
    for name, table in tables.items():
        pl.DataFrame(table).write_csv(folder / f"{name}.csv")
    for name, rows in (("without", ""), ("with", ROWS + more)):
        (folder / f"{name}.gsm").write_text(TEXT.replace("ROWS", rows, 1), encoding="utf-8")


def planner_of(path: Path, method: str) -> tuple[Instance, PolicyPlanner]:
    """Return the built scenario of a text and its policy."""
    found = Diagnostics()
    workspace = load_workspace(path, found)
    found.raise_if_errors()
    scenario, _ = check_solvable(workspace, "Queue")
    instance = build(workspace, scenario, full=False).instance
    return instance, PolicyPlanner(policy_named(workspace, method, scenario.model), Permissions())


def planned(instance: Instance, planner: PolicyPlanner) -> tuple[Plan, float, float]:
    """Return a plan, and the CPU seconds of it and of its check."""
    began = time.process_time()
    plan = planner.plan(PlanningRequest(instance, 0.0, 0, 0))
    assert plan is not None
    ended = time.process_time()
    broken = PlanCheck()(instance, plan, 0)
    assert broken is None, broken
    return plan, ended - began, time.process_time() - ended


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.side_rows", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=5_000)
    parser.add_argument("--method", default="FIFO")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--each-node", action="store_true", help="with a cap of each node too")
    given = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, given.nodes, given.jobs, EACH_NODE if given.each_node else "")
        ready = {case: planner_of(folder / f"{case}.gsm", given.method) for case in ("without", "with")}
        print("| rows | jobs that run | first plan, s | plan, s | check, s | check / plan |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        times: dict[str, list[tuple[Plan, float, float]]] = {case: [planned(*one)] for case, one in ready.items()}
        for _ in range(given.repeats):
            for case, one in ready.items():
                times[case].append(planned(*one))
    best = {}
    for case, found in times.items():
        plan, check = min(row[1] for row in found[1:]), min(row[2] for row in found[1:])
        runs = sum(int((values.values > 0).sum()) for values in found[0][0].values.values())
        print(f"| {case} | {runs:,} | {found[0][1]:.2f} | {plan:.3f} | {check:.4f} | {100 * check / plan:.1f} % |")
        best[case] = plan
    print(f"\nwith / without: {best['with'] / best['without']:.2f}")


if __name__ == "__main__":
    main()
