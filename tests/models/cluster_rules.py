"""Small clusters with running jobs and limits, the rules of models/cluster written again, and their best plan by
enumeration.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

RULES = (
    "one_rack", "node_per_user", "team_share", "team_limits", "user_limits", "quotas", "rack_power", "emission_limit",
    "maintenance", "reservations",
)  # fmt: skip
SETTINGS = {"team_share": "always", "emission_limit": "constant"}
POWER = {"a100": 0.7, "v100": 0.4}
CARBON = 0.4
Plan = Mapping[str, Mapping[str, int]]  # workers by node, of the jobs that run


@dataclass(frozen=True)
class Node:
    name: str
    rack: str
    kind: str
    gpus: int


@dataclass(frozen=True)
class Job:
    name: str
    team: str
    user: str
    needs: int
    workers: int
    per_node: int
    kind: str
    hours: float
    weight: float
    qos: str = ""
    partition: str = ""
    barred: frozenset[str] = frozenset()
    held: Mapping[str, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return self.workers or self.needs

    @property
    def size(self) -> int:
        return self.needs // self.count

    @property
    def most(self) -> int:
        return min(self.per_node, self.workers) if self.workers else self.needs

    def fits(self, node: Node) -> bool:
        return self.size <= node.gpus and node.name not in self.barred and self.kind in ("any_type", node.kind)


@dataclass(frozen=True)
class Window:
    name: str
    start: float
    end: float
    nodes: frozenset[str]
    maintenance: bool
    team: str
    job: str


@dataclass(frozen=True)
class Quota:
    """A limit of GPUs for jobs of a QOS, a partition, a user and teams, of some types; `each` user or team, or all."""

    name: str
    gpus: int
    qos: str
    partition: str
    user: str
    teams: frozenset[str]
    kinds: frozenset[str]
    each: str

    def counts(self, job: Job) -> bool:
        known = ((self.qos, job.qos), (self.partition, job.partition), (self.user, job.user))
        return all(wanted in ("", has) for wanted, has in known) and job.team in self.teams

    def key(self, job: Job) -> tuple[str, ...]:
        return ("quota", self.name, {"user": job.user, "team": job.team, "": ""}[self.each])


@dataclass(frozen=True)
class Instance:
    nodes: tuple[Node, ...]
    jobs: tuple[Job, ...]
    windows: tuple[Window, ...]
    clock: float
    part: Mapping[tuple[str, str], float]
    team_gpus: Mapping[str, int]
    team_type_gpus: Mapping[tuple[str, str], int]
    user_gpus: int
    power_limit: Mapping[str, float]
    emission_rate: float
    quotas: tuple[Quota, ...] = ()

    def text(self, name: str, rules: Collection[str]) -> str:
        """A scenario with these rules."""
        lines = [f"{rule} = {SETTINGS.get(rule, 'yes')};" for rule in rules]
        lines += [
            'Demands = { no_demand, j0, j1, j2, j3, j4 };',
            'Racks = { A, B };  Teams = { t1, t2 };  Requests = { any_type, a100, v100 };',
            f"table Types: gpu_power[kW] = {'  '.join(f'{k} {v}' for k, v in POWER.items())};",
            f"clock = {self.clock}[h];  user_gpus = {self.user_gpus};  emission_rate = {self.emission_rate}[kg/h];",
            "table Nodes: rack node_type gpus =",
            *(f"{n.name} {n.rack} {n.kind} {n.gpus}" for n in self.nodes), ";",
            "table Jobs: team user needs workers per_node gpu_type exec_time[h] weight[$/h] =",
            *(f"{j.name} {j.team} {j.user} {j.needs} {j.workers} {j.per_node} {j.kind} {j.hours} {j.weight}"
              for j in self.jobs), ";",
            "Windows = {" + ", ".join(w.name for w in self.windows) + "};",
        ]  # fmt: skip
        if "quotas" in rules:
            lines += ["Quotas = {" + ", ".join(q.name for q in self.quotas) + "};"]
            for q in self.quotas:
                lines += [f'quota_gpus["{q.name}"] = {q.gpus};']
                lines += [
                    f'quota_{n}["{q.name}"] = "{v}";'
                    for n, v in (("qos", q.qos), ("partition", q.partition), ("user", q.user))
                    if v
                ]
                lines += [f'counts_team["{q.name}", "{t}"] = 0;' for t in ("t1", "t2") if t not in q.teams]
                lines += [f'counts_type["{q.name}", "{k}"] = 0;' for k in POWER if k not in q.kinds]
                lines += [f'for_each_{q.each}["{q.name}"] = 1;'] if q.each else []
        for job in self.jobs:
            lines += [f'qos["{job.name}"] = "{job.qos}";  partition["{job.name}"] = "{job.partition}";']
        lines += [f'part["{t}", "{k}"] = {value};' for (t, k), value in self.part.items()]
        lines += [f'team_gpus["{t}"] = {value};' for t, value in self.team_gpus.items()]
        lines += [f'team_type_gpus["{t}", "{k}"] = {value};' for (t, k), value in self.team_type_gpus.items()]
        lines += [f'power_limit["{r}"] = {value}[kW];' for r, value in self.power_limit.items()]
        for job in self.jobs:
            lines += [f'held["{job.name}", "{n}"] = {value};' for n, value in job.held.items()]
            lines += [f'barred["{job.name}", "{n}"] = 1;' for n in sorted(job.barred)]
            lines += [f'demand["{job.name}"] = "{job.name}";'] if job.barred else []
        for w in self.windows:
            lines += [f'window_start["{w.name}"] = {w.start}[h];  window_end["{w.name}"] = {w.end}[h];']
            lines += [f'is_maintenance["{w.name}"] = {int(w.maintenance)};']
            lines += [f'covers["{w.name}", "{n}"] = 1;' for n in sorted(w.nodes)]
            lines += [f'for_team["{w.name}", "{w.team}"] = 1;'] if w.team else []
            lines += [f'for_job["{w.name}", "{w.job}"] = 1;'] if w.job else []
        return f"scenario {name} for Cluster {{\n  " + "\n  ".join(lines) + "\n}\n"

    def broken(self, plan: Plan, rules: Collection[str]) -> Iterator[str]:
        """Name each rule that a plan breaks. What runs already may exceed a limit, nothing may add to it."""
        nodes = {node.name: node for node in self.nodes}
        jobs = {job.name: job for job in self.jobs}
        used, held = self._amounts(plan), self._amounts({job.name: job.held for job in self.jobs if job.held})
        for key, limit in self._limits(rules).items():
            if used[key] > max(limit, held[key] if key[0] != "room" else 0) + 1e-6:
                yield f"{key}: {used[key]:g} of {limit:g}"
        for name, job in jobs.items():
            place = plan.get(name, {})
            if job.held and dict(place) != dict(job.held):
                yield f"{name} does not stay"
            if place and sum(place.values()) != job.count:
                yield f"{name} has {sum(place.values())} of {job.count} workers"
            for node, workers in place.items():
                if workers > job.most or not job.fits(nodes[node]):
                    yield f"{name} does not fit on {node}"
            if "one_rack" in rules and not job.held and len({nodes[n].rack for n in place}) > 1:
                yield f"{name} is in several racks"
            if not job.held:
                yield from self._in_windows(job, place, rules)

    def _in_windows(self, job: Job, place: Mapping[str, int], rules: Collection[str]) -> Iterator[str]:
        for w in self.windows:
            applies = "maintenance" in rules if w.maintenance else "reservations" in rules
            is_guest = not w.maintenance and (w.team == job.team or w.job == job.name)
            overlaps = self.clock < w.end and self.clock + job.hours > w.start
            if applies and not is_guest and overlaps and w.nodes & set(place):
                yield f"{job.name} runs in {w.name}"

    def _amounts(self, plan: Plan) -> dict[tuple[str, ...], float]:
        nodes = {node.name: node for node in self.nodes}
        jobs = {job.name: job for job in self.jobs}
        found: dict[tuple[str, ...], float] = defaultdict(float)
        users = defaultdict(set)
        for name, place in plan.items():
            job = jobs[name]
            for node, workers in place.items():
                gpus, kind, rack = workers * job.size, nodes[node].kind, nodes[node].rack
                found["room", node] += gpus
                found["part", job.team, kind] += gpus
                found["team", job.team] += gpus
                found["team_type", job.team, kind] += gpus
                found["user", job.user] += gpus
                found["power", rack] += gpus * POWER[kind]
                found[("emissions",)] += gpus * POWER[kind] * CARBON
                users[node].add(job.user)
                for quota in self.quotas:
                    if quota.counts(job) and kind in quota.kinds:
                        found[quota.key(job)] += gpus
        found |= {("users", node): float(len(names)) for node, names in users.items()}
        return found

    def _limits(self, rules: Collection[str]) -> dict[tuple[str, ...], float]:
        found: dict[tuple[str, ...], float] = {("room", n.name): n.gpus for n in self.nodes}
        if "team_share" in rules:
            total: dict[str, int] = defaultdict(int)
            for n in self.nodes:
                total[n.kind] += n.gpus
            found |= {("part", t, k): value * total[k] for (t, k), value in self.part.items()}
        if "team_limits" in rules:
            found |= {("team", t): value for t, value in self.team_gpus.items()}
            found |= {("team_type", t, k): value for (t, k), value in self.team_type_gpus.items()}
        if "user_limits" in rules:
            found |= {("user", user): self.user_gpus for user in {job.user for job in self.jobs}}
        if "quotas" in rules:
            found |= {quota.key(job): quota.gpus for quota in self.quotas for job in self.jobs if quota.counts(job)}
        if "rack_power" in rules:
            found |= {("power", rack): value for rack, value in self.power_limit.items()}
        if "emission_limit" in rules:
            found[("emissions",)] = self.emission_rate
        if "node_per_user" in rules:
            found |= {("users", n.name): 1 for n in self.nodes}
        return found

    def cost(self, plan: Plan) -> float:
        """Of an hour: no job is due, so only waiting costs."""
        return sum(job.weight for job in self.jobs if job.name not in plan)

    def least_cost(self, rules: Collection[str]) -> float:
        """By enumeration of all plans. Infinite without one."""
        ways = [[None, *self._ways(job)] if not job.held else [job.held] for job in self.jobs]
        best = float("inf")
        for chosen in itertools.product(*ways):
            plan = {job.name: way for job, way in zip(self.jobs, chosen, strict=True) if way}
            if self.cost(plan) < best and not any(self.broken(plan, rules)):
                best = self.cost(plan)
        return best

    def _ways(self, job: Job) -> Iterator[dict[str, int]]:
        most = [min(job.most, n.gpus // job.size) if job.fits(n) else 0 for n in self.nodes]
        for counts in itertools.product(*(range(m + 1) for m in most)):
            if sum(counts) == job.count:
                yield {n.name: c for n, c in zip(self.nodes, counts, strict=True) if c}


def draw(seed: int) -> Instance:
    """Three or four nodes in two racks, four or five jobs; one or two run."""
    rng, other = Random(seed), Random(seed + 2000)
    nodes = tuple(
        Node(f"n{i}", rng.choice("AB"), rng.choice(list(POWER)), rng.choice([2, 2, 4]))
        for i in range(rng.choice([3, 4]))
    )
    free = {node.name: node.gpus for node in nodes}
    jobs = []
    for i in range(rng.choice([4, 5])):
        workers = rng.choice([0, 1, 1, 2, 2, 3])
        needs = rng.choice([1, 2, 3]) if workers == 0 else workers * rng.choice([1, 2] if workers < 3 else [1])
        kind = rng.choice(["any_type", "any_type", "a100", "v100"])
        barred = frozenset(n.name for n in nodes if rng.random() < 0.1)
        job = Job(
            f"j{i}", rng.choice(["t1", "t2"]), rng.choice(["u1", "u2", "u3"]), needs, workers, rng.choice([1, 1, 2]),
            kind, rng.choice([0.5, 1, 2, 4]), rng.choice([1, 2, 3]), other.choice(["high", "low"]), other.choice("pq"),
            barred,
        )  # fmt: skip
        jobs.append(_started(job, nodes, free, rng) if i < 2 else job)
    windows = tuple(
        Window(
            name=f"w{i}",
            start=rng.choice([0, 1, 2, 3]),
            end=rng.choice([4, 5]),
            nodes=frozenset(n.name for n in nodes if rng.random() < 0.5),
            maintenance=i == 0,
            team=rng.choice(["", "t1"]) if i else "",
            job=rng.choice(["", "j3"]) if i else "",
        )
        for i in range(2)
    )
    kinds, teams = list(POWER), ("t1", "t2")
    return Instance(
        nodes, tuple(jobs), windows, quotas=_quotas(Random(seed + 1046)), clock=rng.choice([0, 1, 4.5]),
        part={(t, k): rng.choice([0, 0.4, 0.5, 1]) for t in teams for k in kinds},
        team_gpus={t: rng.choice([1, 2, 3, 6]) for t in teams},
        team_type_gpus={(t, k): rng.choice([1, 2, 4]) for t in teams for k in kinds if rng.random() < 0.5},
        user_gpus=rng.choice([1, 2, 3, 4]),
        power_limit={rack: rng.choice([0.8, 1.5, 2.2]) for rack in "AB"},
        emission_rate=rng.choice([0.5, 1.0, 1.4]),
    )  # fmt: skip


def _quotas(rng: Random) -> tuple[Quota, ...]:
    both, one = frozenset({"t1", "t2"}), frozenset({"t1"})
    return tuple(
        Quota(
            f"q{i}", rng.choice([1, 2, 3]), rng.choice(["", "high", "low"]), rng.choice(["", "", "p"]),
            rng.choice(["", "", "u1"]), rng.choice([both, both, one]),
            frozenset(rng.choice([["a100", "v100"], ["a100"]])), rng.choice(["", "user", "team"]),
        )
        for i in range(3)
    )  # fmt: skip


def _started(job: Job, nodes: tuple[Node, ...], free: dict[str, int], rng: Random) -> Job:
    """The job as it runs, on the first nodes with room; it waits without room, and in one of three cases."""
    place: dict[str, int] = {}
    for node in nodes:
        if job.fits(node):
            place[node.name] = min(job.most, free[node.name] // job.size, job.count - sum(place.values()))
    if sum(place.values()) < job.count or rng.random() < 0.3:
        return job
    held = {node: workers for node, workers in place.items() if workers}
    for name, workers in held.items():
        free[name] -= workers * job.size
    return Job(**{**job.__dict__, "held": held})
