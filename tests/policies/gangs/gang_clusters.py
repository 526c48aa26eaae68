"""Random small clusters with racks and gangs: as texts of a model, and as plain Python values."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

MODEL = """
model Training {
  set Racks;  set Nodes;  set Jobs;  set Users;
  param rack_of[Nodes] within Racks;
  param gpus[Nodes] integer >= 1;
  param memory[Nodes] in GB;
  param pace[Nodes] > 0;
  param down[Nodes] in h > 0;
  param need[Jobs] integer >= 1;
  param takes[Jobs] in GB;
  param length[Jobs] in h > 0;
  param remaining[Jobs] >= 0 default 1;
  param submitted[Jobs] in h;
  param due_at[Jobs] in h;
  param clock in h default 0;
  param owner[Jobs] within Users;
  param part[Users] > 0;
  param most[Users] >= 0;
  var worker[j in Jobs, n in Nodes] integer >= 0 <= gpus[n];
  var runs[Jobs] binary;
  maximize running: sum[j in Jobs] need[j] * runs[j];
  constraint all_or_none[j in Jobs]: sum[n in Nodes] worker[j, n] == need[j] * runs[j];
  constraint room[n in Nodes]: sum[j in Jobs] worker[j, n] <= gpus[n];
  constraint in_memory[n in Nodes]: sum[j in Jobs] takes[j] * worker[j, n] <= memory[n];
  placement worker[j, n] {
    job j;  node n;  rack rack_of[n];  workers need[j];
    uses 1 of gpus[n];  uses takes[j] of memory[n];
    lasts remaining[j] * length[j] / pace[n];  across_nodes 1.2;  across_racks 1.5;
    due due_at[j] - clock;
    costs 1[$/h];
    user owner[j];  share part[owner[j]];  quota most[owner[j]];
  }
}
policy Packed for Training {
  order j in Jobs by arrived[j];
  choose by length[j] / pace[n];
  place fewest_racks, postpone;
  keep running;
}
policy Indifferent for Training { order j in Jobs by arrived[j];  place fewest_racks, postpone;  keep running; }
online Loop for Training {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry clock = now;
  OUTAGE
}
"""


@dataclass(frozen=True)
class Node:
    rack: int
    gpus: int
    memory: float
    pace: float
    down: float = 0.0  # hours from one recovery to the next failure


@dataclass(frozen=True)
class Gang:
    need: int
    takes: float  # memory of a worker
    length: float
    submitted: float
    due: float
    owner: int = 0


@dataclass(frozen=True)
class Racks:
    nodes: list[Node]
    jobs: list[Gang]
    shares: list[tuple[float, float]] = field(default_factory=lambda: [(1.0, 1000.0)])
    outage: float = 0.0  # hours

    def text(self) -> str:
        outage = f"outage n in Nodes every down[n] lasting {self.outage!r}[h];" if self.outage else ""
        nodes = "  ".join(
            f"n{i} r{n.rack} {n.gpus} {n.memory!r} {n.pace!r} {n.down or 1.0!r}" for i, n in enumerate(self.nodes)
        )
        jobs = "  ".join(
            f"j{i} {j.need} {j.takes!r} {j.length!r} {j.submitted!r} {j.due!r} u{j.owner}"
            for i, j in enumerate(self.jobs)
        )
        users = "  ".join(f"u{i} {part!r} {most!r}" for i, (part, most) in enumerate(self.shares))
        racks = ", ".join(f"r{i}" for i in range(1 + max(n.rack for n in self.nodes)))
        return (
            MODEL.replace("OUTAGE", outage)
            + f"""
scenario S for Training {{
  Racks = {{ {racks} }};
  Users = {{ {", ".join(f"u{i}" for i in range(len(self.shares)))} }};
  table Nodes: rack_of gpus memory[GB] pace down[h] = {nodes};
  table Jobs: need takes[GB] length[h] submitted[h] due_at[h] owner = {jobs};
  table Users: part most = {users};
}}
"""
        )


def random_racks(seed: int, *, outages: bool = False, equal: bool = False, users: int = 1) -> Racks:
    """Two to seven nodes in up to three racks, and jobs that fit the empty cluster. `equal`: nodes of one kind."""
    rng = np.random.default_rng(seed)
    kinds = [
        Node(0, int(rng.integers(1, 5)), float(rng.choice([8, 16])), float(rng.choice([1.0, 1.0, 0.5]))) for _ in "ab"
    ]
    nodes = []
    for _ in range(int(rng.integers(2, 8))):
        kind = kinds[0 if equal else int(rng.integers(2))]
        down = float(np.round(rng.uniform(3, 9), 3)) if outages else 0.0
        nodes.append(Node(int(rng.integers(3)), kind.gpus, kind.memory, kind.pace, down))
    jobs: list[Gang] = []
    while len(jobs) < int(rng.integers(3, 9)):
        takes = float(np.round(rng.uniform(0.5, 6), 2))
        room = sum(min(n.gpus, int(n.memory / takes + 1e-9)) for n in nodes)
        if room:
            jobs.append(
                Gang(
                    int(rng.integers(1, room + 1)),
                    takes,
                    float(np.round(rng.uniform(0.3, 5), 4)),
                    float(np.round(rng.uniform(0, 6), 3)) if rng.random() < 0.7 else 0.0,
                    float(np.round(rng.uniform(1, 12), 4)),
                    int(rng.integers(users)),
                )
            )
    shares = [(float(rng.integers(1, 4)), float(rng.integers(4, 12))) for _ in range(users)]
    return Racks(nodes, jobs, shares, 0.7 if outages else 0.0)
