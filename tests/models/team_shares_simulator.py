"""A simulation of the three rules of `history/model.gsm`, written from the documentation of their systems."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Job:
    name: str
    team: str
    submitted: float
    needs: int
    length: float


@dataclass
class Cluster:
    """Nodes of some GPUs, teams with shares and quotas; `half_life` and `sampling` in hours."""

    gpus: dict[str, int]
    share: dict[str, float]
    quota: dict[str, int]
    half_life: float
    sampling: float
    jobs: list[Job]
    now: float = 0.0
    running: dict[Job, tuple[str, float]] = field(default_factory=dict)  # node and end
    usage: dict[str, float] = field(default_factory=dict)
    average: dict[str, float] = field(default_factory=dict)
    offered: float = 0.0

    def in_use(self, team: str) -> int:
        return sum(job.needs for job in self.running if job.team == team)

    def waiting(self) -> list[Job]:
        ended = set(self.starts) - set(self.running)
        return [j for j in self.jobs if j.submitted <= self.now and j not in self.running and j not in ended]

    def play(self, rule: str) -> tuple[dict[str, float], list[tuple[float, dict[str, float], float, dict[str, float]]]]:
        """Return the start of each job, and at each plan its time and what was accumulated before it."""
        self.usage = dict.fromkeys(self.share, 0.0)
        self.average = dict.fromkeys(self.share, 0.0)
        self.starts: dict[Job, float] = {}
        table, capacity = [], sum(self.gpus.values())
        times = {job.submitted for job in self.jobs}
        while times:
            now = min(times)
            times = {t for t in times if t > now}
            kept = 0.5 ** ((now - self.now) / self.half_life)  # no job starts or ends between two events
            decayed = (1 - kept) * self.half_life / math.log(2)
            for team in self.share:
                self.usage[team] = kept * self.usage[team] + decayed * self.in_use(team)
                self.average[team] = kept * self.average[team] + (1 - kept) * self.in_use(team)
            self.offered = kept * self.offered + decayed * capacity
            self.now = now
            self.running = {job: at for job, at in self.running.items() if at[1] > now + 1e-9}
            if not self.running and not self.waiting():
                continue  # nothing to plan
            table.append((now, dict(self.usage), self.offered, dict(self.average)))
            for job in self.started(rule):
                times.add(self.running[job][1])
        return {job.name: at for job, at in self.starts.items()}, table

    def started(self, rule: str) -> list[Job]:
        """One job after the other: the penalty, or the GPUs, of each admitted one count for the next of its team."""
        key: dict[str, Callable[[Job, float], float]] = {
            "SlurmFairShare": lambda job, _: -self.factor(job.team),
            "KueueFairSharing": self.level,
            "KaiTimeAware": self.saturation(),
        }
        queues = {t: sorted((j for j in self.waiting() if j.team == t), key=lambda j: j.submitted) for t in self.share}
        passed, found = dict.fromkeys(self.share, 0.0), []
        while any(queues.values()):
            heads = [queue[0] for queue in queues.values() if queue]
            job = min(heads, key=lambda j: (key[rule](j, passed[j.team]), j.submitted, self.jobs.index(j)))
            queues[job.team].pop(0)
            passed[job.team] += job.needs
            room = {n: g - sum(j.needs for j, (at, _) in self.running.items() if at == n) for n, g in self.gpus.items()}
            fits = [n for n, free in room.items() if free >= job.needs]
            if fits:
                in_use = [n for n in fits if room[n] < self.gpus[n]]
                node = min(in_use or fits, key=lambda n: room[n])
                self.running[job] = node, self.now + job.length
                self.starts[job] = self.now
                found.append(job)
            elif rule != "KaiTimeAware":  # nobody overtakes
                break
        return found

    def factor(self, team: str) -> float:
        """Slurm, classic: 2 ^ (-U / S)."""
        total = sum(self.usage.values())
        used = self.usage[team] / total if total else 0.0
        return float(2 ** (-used / (self.share[team] / sum(self.share.values()))))

    def level(self, job: Job, before: float) -> float:
        """Kueue: the average and A times the GPUs that were requested before the job in this cycle."""
        penalty = 1 - 0.5 ** (self.sampling / self.half_life)
        return (self.average[job.team] + penalty * before) / self.share[job.team]

    def saturation(self) -> Callable[[Job, float], float]:
        """KAI: the GPUs in use, and those requested before the job in this cycle, for each GPU that is fair."""
        fair, held = self.fair(), {t: self.in_use(t) for t in self.share}
        return lambda job, before: (held[job.team] + before) / max(fair[job.team], 1e-6)

    def fair(self) -> dict[str, float]:
        """KAI: quotas first, then rounds among those that want more."""
        wanted = {t: self.in_use(t) + sum(j.needs for j in self.waiting() if j.team == t) for t in self.share}
        fair = {t: float(min(self.quota[t], wanted[t])) for t in self.share}
        for _ in self.share:
            left = max(0.0, sum(self.gpus.values()) - sum(fair.values()))
            unmet = [t for t in self.share if wanted[t] > fair[t]]
            weight = sum(self.share[t] for t in unmet)
            portion = {}
            for t in unmet:
                past = self.usage[t] / self.offered if self.offered else 0.0
                portion[t] = max(0.0, self.share[t] / weight + (self.share[t] / weight - past))
            total = sum(portion.values())
            for t in unmet:
                if portion[t]:
                    fair[t] += min(wanted[t] - fair[t], left * portion[t] / total)
        return fair


def drawn(seed: int, together: int = 1) -> Cluster:
    """Times are multiples of 1/8 h; so many jobs are submitted together."""
    rng = random.Random(seed)
    teams = ["red", "blue", "green"][: rng.choice([2, 3])]
    times = sorted(rng.sample(range(1, 60), 24))
    jobs = [
        Job(
            f"j{i}",
            rng.choice(teams),
            0.0 if i < together else times[i // together] / 8,
            rng.randint(1, 3),
            rng.randint(4, 16) / 8,
        )
        for i in range(24)
    ]
    return Cluster(
        {"n1": 4, "n2": rng.choice([4, 6])},
        {t: float(rng.randint(1, 3)) for t in teams},
        {t: rng.choice([0, 0, 1, 3]) for t in teams},
        rng.choice([1.0, 4.0, 24.0]),
        rng.choice([0.25, 1.0]),
        jobs,
    )
