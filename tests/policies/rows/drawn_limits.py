"""Random models with rows over racks and teams, and with rows of other kinds."""

from __future__ import annotations

import numpy as np

import gpusched_dsl as gs
from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.placement_reader import cluster_of
from gpusched_dsl.policies.rows.problem import side_model

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
    "demand of another variable": """var used[Racks] binary;
      constraint c[r in Racks]: used[r] <= sum[j in Jobs, n in Nodes where rack[n] == r] RUN;
      constraint d: sum[r in Racks] used[r] >= 3;""",
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
