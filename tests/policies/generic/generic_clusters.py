"""Random small clusters as texts of a model with a placement, and as plain Python values."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

MODEL = """
model Cluster {
  set Jobs;  set Nodes;  set Users;
  param gpus[Nodes] integer >= 1;
  param memory[Nodes] in GB;
  param pace[Nodes] > 0;
  param needs[Jobs] > 0;
  param takes[Jobs] in GB;
  param length[Jobs] in h > 0;
  param remaining[Jobs] >= 0 default 1;
  param submitted[Jobs] in min;
  param due_at[Jobs] in h;
  param price[Jobs] in $/h >= 0;
  param clock in h default 0;
  param up[Nodes] in h > 0;
  param owner[Jobs] within Users;
  param part[Users] > 0;
  param most[Users] >= 0;
  param left[j in Jobs, n in Nodes] in h = remaining[j] * length[j] / pace[n];
  var run[j in Jobs, n in Nodes where takes[j] <= memory[n]] binary;
  maximize running in $: sum[j in Jobs, n in Nodes where takes[j] <= memory[n]] 1[$] * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes where takes[j] <= memory[n]] run[j, n] <= 1;
  constraint on_gpus[n in Nodes]: sum[j in Jobs where takes[j] <= memory[n]] needs[j] * run[j, n] <= gpus[n];
  constraint in_memory[n in Nodes]: sum[j in Jobs where takes[j] <= memory[n]] takes[j] * run[j, n] <= memory[n];
  placement run[j, n] {
    job j;  node n;  uses needs[j] of gpus[n];  uses takes[j] of memory[n];
    lasts left[j, n];  due due_at[j] - clock;  weight price[j];  ROLES
  }
}
online Loop for Cluster {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry clock = now;
  OUTAGE
}
"""


@dataclass(frozen=True)
class Node:
    gpus: int
    memory: float
    pace: float
    up: float = 0.0  # hours from one recovery to the next failure

    @property
    def kind(self) -> tuple[float, ...]:
        return (self.gpus, self.memory, self.pace)


@dataclass(frozen=True)
class Job:
    needs: float
    takes: float
    length: float
    submitted: float  # minutes
    due: float
    owner: int = 0
    weight: float = 1.0


@dataclass(frozen=True)
class Cluster:
    nodes: list[Node]
    jobs: list[Job]
    shares: list[tuple[float, float]] = field(default_factory=lambda: [(1.0, 100.0)])  # of users: part, most GPUs
    down: float = 0.0  # hours of an outage

    def text(self, roles: str = "") -> str:
        outage = f"outage n in Nodes every up[n] lasting {self.down!r}[h];" if self.down else ""
        nodes = "  ".join(f"n{i} {n.gpus} {n.memory!r} {n.pace!r} {n.up or 1.0!r}" for i, n in enumerate(self.nodes))
        jobs = "  ".join(
            f"j{i} {j.needs!r} {j.takes!r} {j.length!r} {j.submitted!r} {j.due!r} u{j.owner} {j.weight!r}"
            for i, j in enumerate(self.jobs)
        )
        users = "  ".join(f"u{i} {part!r} {most!r}" for i, (part, most) in enumerate(self.shares))
        return (
            MODEL.replace("ROLES", roles).replace("OUTAGE", outage)
            + f"""
scenario S for Cluster {{
  Users = {{ {", ".join(f"u{i}" for i in range(len(self.shares)))} }};
  table Nodes: gpus memory[GB] pace up[h] = {nodes};
  table Jobs: needs takes[GB] length[h] submitted[min] due_at[h] owner price[$/h] = {jobs};
  table Users: part most = {users};
}}
"""
        )


def random_cluster(seed: int, *, outages: bool = False, users: int = 1, parts: bool = True) -> Cluster:
    """A cluster of one to four nodes, some of them equal, and jobs that fit at least one of them."""
    rng = np.random.default_rng(seed)
    kinds = [
        Node(int(rng.integers(1, 5)), float(rng.choice([8, 16, 32])), float(rng.choice([0.5, 1, 1.7])))
        for _ in range(int(rng.integers(1, 4)))
    ]
    chosen = [kinds[int(rng.integers(len(kinds)))] for _ in range(int(rng.integers(1, 5)))]
    nodes = [Node(n.gpus, n.memory, n.pace, float(rng.uniform(2, 6)) if outages else 0.0) for n in chosen]
    sizes = [0.25, 0.5, 1, 1, 2, 3, 4] if parts and rng.random() < 0.5 else [1, 1, 2, 3, 4]
    most = max(n.gpus for n in nodes)
    jobs = []
    weights = np.random.default_rng([seed, 1])  # a stream of its own
    for _ in range(int(rng.integers(2, 9))):
        needs = float(rng.choice([s for s in sizes if s <= most]))
        room = max(n.memory for n in nodes if n.gpus >= needs)
        jobs.append(
            Job(
                needs,
                float(np.round(rng.uniform(1, room), 2)),
                float(np.round(rng.uniform(0.3, 5), 4)),
                float(np.round(rng.uniform(0, 300) if rng.random() < 0.7 else 0.0, 3)),
                float(np.round(rng.uniform(1, 12), 4)),
                int(rng.integers(users)),
                float(np.round(weights.uniform(0, 3), 3)),
            )
        )
    shares = [(float(rng.integers(1, 4)), float(rng.integers(4, 9))) for _ in range(users)]
    return Cluster(nodes, jobs, shares, 0.7 if outages else 0.0)
