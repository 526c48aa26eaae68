"""The cases: two models that ship, four well-known kinds as generated instances, and one of a million columns.

Each has its model with its data, the seconds that methods get, and the best value that is known: the optimum of the
first and of the colouring, else the bound that HiGHS or SCIP proved; 0: none is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from benchmarks.capacity import data as capacity
from benchmarks.sharing import data as sharing
from gpusched_dsl import Model, load, loads


@dataclass(frozen=True)
class Case:
    title: str
    model: Callable[[], Model]
    scenario: str
    seconds: float
    best: float
    within: float  # of `best`, the target


def capacity_planning() -> Model:
    folder = Path(mkdtemp())
    capacity.write(folder, 40, 1)
    return load(folder / "synthetic.gsm", allow_outside=True)


def gpu_sharing() -> Model:
    return load(sharing.write(Path(mkdtemp()), 20, 60, 1), allow_outside=True)


def table(header: str, rows: Sequence[tuple[object, ...]]) -> str:
    return f"table {header} = {'  '.join(' '.join(map(str, row)) for row in rows)};"


def colouring(side: int = 8, colours: int = 12) -> Model:
    """The queens of a chess board: those of a row, a column or a diagonal differ. 8 x 8 needs 9 colours."""
    squares = [(a, b) for a in range(side) for b in range(side)]
    pairs = [
        (f"q{a}{b}", f"q{c}{d}") for a, b in squares for c, d in squares
        if (a, b) < (c, d) and (a == c or b == d or abs(a - c) == abs(b - d))
    ]  # fmt: skip
    return loads(f"""
    model Colouring {{
      set V; set E within V cross V; set C = 1..{colours};
      var x[V, C] binary; var used[C] binary;
      minimize colours: sum[c in C] used[c];
      constraint one[v in V]: sum[c in C] x[v, c] == 1;
      constraint differ[(v, w) in E, c in C]: x[v, c] + x[w, c] <= used[c];
    }}
    scenario S for Colouring {{
      V = {{ {", ".join(f"q{a}{b}" for a, b in squares)} }};
      E = {{ {", ".join(f"({v}, {w})" for v, w in pairs)} }};
    }}""")


def knapsack(items: int = 250, rows: int = 10, seed: int = 1) -> Model:
    """As by Chu and Beasley (1998): a fourth of all weights fits, profits follow the weights."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 1001, (rows, items))
    profits = np.floor(weights.sum(0) / rows + 500 * rng.random(items)).astype(int)
    return loads(f"""
    model Knapsack {{
      set I; set R; param profit[I]; param weight[I, R]; param room[R];
      var x[I] binary;
      maximize gain: sum[i in I] profit[i] * x[i];
      constraint fits[r in R]: sum[i in I] weight[i, r] * x[i] <= room[r];
    }}
    scenario S for Knapsack {{
      {table("I: profit", [(f"i{i}", profits[i]) for i in range(items)])}
      {table("R: room", [(f"r{r}", int(weights[r].sum() // 4)) for r in range(rows)])}
      {table("I, R: weight", [(f"i{i}", f"r{r}", weights[r, i]) for i in range(items) for r in range(rows)])}
    }}""")


def assignment(agents: int = 10, tasks: int = 100, seed: int = 1) -> Model:
    """Type D of the generalised assignment: what is cheap is large."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 101, (agents, tasks))
    costs = 111 - sizes + rng.integers(-10, 11, (agents, tasks))
    rooms = (0.8 * sizes.sum(1) / agents).astype(int)
    cells = [(f"t{t}", f"a{a}", sizes[a, t], costs[a, t]) for t in range(tasks) for a in range(agents)]
    return loads(f"""
    model Assignment {{
      set T; set A; param size[T, A]; param cost[T, A]; param room[A];
      var x[T, A] binary;
      minimize total: sum[t in T, a in A] cost[t, a] * x[t, a];
      constraint one[t in T]: sum[a in A] x[t, a] == 1;
      constraint fits[a in A]: sum[t in T] size[t, a] * x[t, a] <= room[a];
    }}
    scenario S for Assignment {{
      T = {{ {", ".join(f"t{t}" for t in range(tasks))} }};
      {table("A: room", [(f"a{a}", rooms[a]) for a in range(agents)])}
      {table("T, A: size cost", cells)}
    }}""")


def packing(jobs: int = 300, nodes: int = 210, seed: int = 1) -> Model:
    """Jobs by GPUs, cores and memory on equal nodes; as many nodes of 8 GPUs, 96 cores and 1,024 GB as are needed."""
    rng = np.random.default_rng(seed)
    g, c, m = rng.integers(1, 9, jobs), rng.integers(4, 50, jobs), rng.integers(16, 512, jobs)
    return loads(f"""
    model Packing {{
      set Jobs; set Nodes; param g[Jobs]; param c[Jobs]; param m[Jobs];
      var x[Jobs, Nodes] binary; var on[Nodes] binary;
      minimize nodes: sum[n in Nodes] on[n];
      constraint once[j in Jobs]: sum[n in Nodes] x[j, n] == 1;
      constraint gpus[n in Nodes]: sum[j in Jobs] g[j] * x[j, n] <= 8 * on[n];
      constraint cores[n in Nodes]: sum[j in Jobs] c[j] * x[j, n] <= 96 * on[n];
      constraint memory[n in Nodes]: sum[j in Jobs] m[j] * x[j, n] <= 1024 * on[n];
    }}
    scenario S for Packing {{
      Nodes = {{ {", ".join(f"n{n}" for n in range(nodes))} }};
      {table("Jobs: g c m", [(f"j{j}", g[j], c[j], m[j]) for j in range(jobs)])}
    }}""")


def large(jobs: int = 2_000, nodes: int = 500) -> Model:
    """A million columns: jobs of two resources on different nodes, with costs for each pair."""
    return loads(f"""
    model Large {{
      set Jobs = 1..{jobs}; set Nodes = 1..{nodes};
      param g[j in Jobs] = (j * 37) mod 8 + 1; param m[j in Jobs] = (j * 53) mod 61 + 4;
      param cost[j in Jobs, n in Nodes] = (j * 7919 + n * 104729) mod 997 + 3;
      var x[Jobs, Nodes] binary;
      minimize total: sum[j in Jobs, n in Nodes] cost[j, n] * x[j, n];
      constraint once[j in Jobs]: sum[n in Nodes] x[j, n] == 1;
      constraint gpus[n in Nodes]: sum[j in Jobs] g[j] * x[j, n] <= 20;
      constraint memory[n in Nodes]: sum[j in Jobs] m[j] * x[j, n] <= 160;
    }}
    scenario S for Large {{ }}""")


CASES: Mapping[str, Case] = {
    "capacity": Case("capacity planning, 40 nodes x 400 jobs", capacity_planning, "Synthetic", 3, 90.424, 0.02),
    "sharing": Case("GPU sharing, 20 nodes x 60 jobs", gpu_sharing, "Sharing", 5, 1_171.46, 0.05),
    "colouring": Case("colours of the queens, 8 x 8", colouring, "S", 10, 9, 0.03),
    "knapsack": Case("knapsack, 250 items in 10 rows", knapsack, "S", 10, 59_115, 0.03),
    "assignment": Case("generalised assignment, type D, 10 x 100", assignment, "S", 10, 6_242, 0.03),
    "packing": Case("packing, 300 jobs by 3 resources on 210 nodes", packing, "S", 10, 174, 0.03),
    "large": Case("a million columns, 2,000 jobs on 500 nodes", large, "S", 60, 12_017.44, 0.03),
}  # fmt: skip
