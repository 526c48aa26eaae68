"""Gangs that wait for cheap hours: a model, random cases, an own simulation and the optimum by enumeration."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

ON_NODES, ON_RACKS, LATER = 1.25, 2.0, 50.0
Workers = Mapping[str, int]  # on each node

MODEL = """
model GangHours "Gangs run when electricity is cheap, on few racks" {
  set Racks;  set Nodes;  set Jobs;  set Slots ordered;
  param rack[Nodes] within Racks;
  param gpus[Nodes] integer >= 0;
  param workers[Jobs] integer >= 1;
  param arrives[Jobs] integer default 0;
  param hours[Jobs] in h >= 0 "work that is left, on one node";
  param price[Slots] in $/h "of a GPU";
  param slot in h default 1[h];
  param across_nodes default 1.25;
  param across_racks default 2;
  var worker[Jobs, n in Nodes, Slots] integer >= 0 <= gpus[n];
  var runs[Jobs, Slots] binary;
  var on[Jobs, Nodes, Slots] binary;
  var in_rack[Jobs, Racks, Slots] binary;
  var several_nodes[Jobs, Slots] binary;
  var several_racks[Jobs, Slots] binary;
  var left[Jobs] in h >= 0;
  minimize cost in $ {
    energy: sum[j in Jobs, n in Nodes, h in Slots] price[h] * slot * worker[j, n, h];
    later: sum[j in Jobs] 50[$/h] * left[j];
  }
  constraint all_or_none[j in Jobs, h in Slots]: sum[n in Nodes] worker[j, n, h] == workers[j] * runs[j, h];
  constraint room[n in Nodes, h in Slots]: sum[j in Jobs] worker[j, n, h] <= gpus[n];
  constraint uses_node[j in Jobs, n in Nodes, h in Slots]: worker[j, n, h] <= workers[j] * on[j, n, h];
  constraint uses_rack[j in Jobs, n in Nodes, h in Slots]: on[j, n, h] <= in_rack[j, rack[n], h];
  constraint one_node[j in Jobs, h in Slots]: sum[n in Nodes] on[j, n, h] <= 1 + workers[j] * several_nodes[j, h];
  constraint one_rack[j in Jobs, h in Slots]: sum[r in Racks] in_rack[j, r, h] <= 1 + workers[j] * several_racks[j, h];
  constraint racks_are_nodes[j in Jobs, h in Slots]: several_racks[j, h] <= several_nodes[j, h];
  constraint only_if_it_runs[j in Jobs, h in Slots]: several_nodes[j, h] <= runs[j, h];
  constraint enough[j in Jobs]: sum[h in Slots] slot * (runs[j, h] - (1 - 1 / across_nodes) * several_nodes[j, h]
    - (1 / across_nodes - 1 / across_racks) * several_racks[j, h]) + left[j] >= hours[j];
  placement worker[j, n, h] {
    job j;  node n;  slot h;  rack rack[n];
    workers workers[j];
    uses 1 of gpus[n];
    lasts slot;
    across_nodes across_nodes;  across_racks across_racks;
  }
}
online Hours for GangHours {
  window h in Slots lookahead LOOKAHEAD commit COMMIT;
  arrive j in Jobs at arrives[j];
  replan on arrival, completion, failure, recovery;
  work hours[j];  speed 1;
  carry hours[j] = max(0[h], hours[j] - done[j]);
  charge energy[j in Jobs, n in Nodes] in $ = sum[h in Slots] price[h] * slot * worker[j, n, h];
}
"""


@dataclass(frozen=True)
class GangCase:
    racks: Mapping[str, str]  # by node
    gpus: Mapping[str, int]
    workers: Mapping[str, int]
    hours: Mapping[str, float]
    arrives: Mapping[str, int]
    prices: tuple[float, ...]
    lookahead: int
    commit: int

    @property
    def text(self) -> str:
        nodes = "  ".join(f"{n} {rack} {self.gpus[n]}" for n, rack in self.racks.items())
        jobs = "  ".join(f"{j} {w} {self.hours[j]} {self.arrives[j]}" for j, w in self.workers.items())
        prices = "  ".join(f"{h} {p}" for h, p in enumerate(self.prices))
        racks = ", ".join(sorted(set(self.racks.values())))
        model = MODEL.replace("LOOKAHEAD", str(self.lookahead)).replace("COMMIT", str(self.commit))
        return f"""{model}
scenario S for GangHours {{
  Racks = {{ {racks} }};
  table Nodes: rack gpus = {nodes};
  table Jobs: workers hours[h] arrives = {jobs};
  table Slots: price[$/h] = {prices};
}}
"""


def drawn_gangs(seed: int) -> GangCase:
    rng = random.Random(f"gang hours {seed}")
    nodes = {f"n{k}": rng.choice("ab") for k in range(rng.randint(2, 3))}
    gpus = {n: rng.randint(1, 2) for n in nodes}
    most = sum(gpus.values())
    workers = {f"j{k}": rng.randint(1, most) for k in range(2)}
    slots = 4
    return GangCase(
        nodes, gpus, workers,
        hours={j: rng.choice((0.5, 0.8, 1.0, 1.5, 2.0)) for j in workers},
        arrives={j: rng.choice((0, 0, 1)) for j in workers},
        prices=tuple(float(rng.choice((1, 2, 3, 5, 8))) + 0.01 * h for h in range(slots)),
        lookahead=rng.choice((2, 3, slots)), commit=1,
    )  # fmt: skip


def pace(case: GangCase, workers: Workers) -> float:
    """The hours of work that a gang does in an hour."""
    racks = {case.racks[n] for n in workers}
    return 1.0 if len(workers) == 1 else 1 / ON_NODES if len(racks) == 1 else 1 / ON_RACKS


def ways(case: GangCase, job: str) -> Iterator[Workers]:
    """All ways to place the workers of a job, and the empty one."""
    yield {}
    for counts in itertools.product(*(range(g + 1) for g in case.gpus.values())):
        if sum(counts) == case.workers[job]:
            yield {n: c for n, c in zip(case.gpus, counts, strict=True) if c}


def optimum(case: GangCase) -> float:
    """The least cost of all slots with all jobs present, by dynamic programming over the work that is left."""
    costs = {(tuple(case.hours.values())): 0.0}
    choices = [list(ways(case, job)) for job in case.workers]
    fitting = [
        chosen for chosen in itertools.product(*choices)
        if all(sum(w.get(n, 0) for w in chosen) <= g for n, g in case.gpus.items())
    ]  # fmt: skip
    for price in case.prices:
        found: dict[tuple[float, ...], float] = {}
        for left, cost in costs.items():
            for chosen in fitting:
                paid = cost + price * sum(sum(w.values()) for w in chosen)
                after = tuple(
                    round(max(0.0, rest - (pace(case, w) if w else 0.0)), 9)
                    for rest, w in zip(left, chosen, strict=True)
                )
                found[after] = min(found.get(after, float("inf")), paid)
        costs = found
    return min(cost + LATER * sum(left) for left, cost in costs.items())


@dataclass
class GangRun:
    """What an own simulation of plans gives: ends of jobs, and what was paid."""

    ends: dict[str, float]
    energy: float


def simulate(case: GangCase, executed: list[Mapping[str, Workers]]) -> GangRun:
    """Execute what runs in each slot; a job may end within its slot, which is paid as a whole."""
    left, ends, energy = dict(case.hours), dict[str, float](), 0.0
    for slot, running in enumerate(executed):
        for job, workers in running.items():
            assert sum(workers.values()) == case.workers[job], "a part of a gang"
            assert all(n in case.gpus and c <= case.gpus[n] for n, c in workers.items())
            energy += case.prices[slot] * sum(workers.values())
            speed = pace(case, workers)
            if left[job] <= speed + 1e-9:
                ends[job] = slot + left[job] / speed
            left[job] = max(0.0, left[job] - speed)
    return GangRun(ends, energy)
