"""Gavel's heterogeneity-aware max-min fairness, written again from the paper; it preempts.

D. Narayanan, K. Santhanam, F. Kazhamiaka, A. Phanishayee, M. Zaharia: Heterogeneity-Aware Cluster Scheduling
Policies for Deep Learning Workloads, OSDI 2020. A linear programme chooses the share of time of each job in each
way such that the least throughput, relative to the fastest way of the job, is as large as possible. Ways with the
largest share compared with the time that they received run first. Decisions are made at events, not in rounds, and
GPUs are not shared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sample import Free, Scheduler, Way, main
from scipy import optimize, sparse

Key = tuple[str, int]  # a job and the number of a way


class Gavel(Scheduler):
    def __init__(self, cluster: dict[str, Any]) -> None:
        super().__init__(cluster)
        self.received: dict[Key, float] = {}
        self.last = 0.0

    def answer(self, now: float) -> str:
        for job, (_, way) in self.running.items():
            key = (job, self.jobs[job]["ways"].index(way))
            self.received[key] = self.received.get(key, 0.0) + now - self.last
        self.last = now
        return super().answer(now)

    def decide(self, now: float, *, keep: bool = False) -> dict[str, tuple[str, Way]]:
        """Return node and way of the jobs that run, by the priority of their ways."""
        keys = [(job, number) for job, line in self.jobs.items() for number in range(len(line["ways"]))]
        if not keys:
            return {}
        share = self.shares(keys)
        age = {job: sum(time for (other, _), time in self.received.items() if other == job) for job in self.jobs}
        priority = [
            part / max(self.received.get(key, 0.0) / max(age[key[0]], 1e-9), 1e-3)
            for key, part in zip(keys, share.tolist(), strict=True)
        ]
        free = Free(self)
        chosen: dict[str, tuple[str, Way]] = {}
        for at in np.argsort(-np.array(priority), kind="stable").tolist():
            job, number = keys[at]
            way = self.jobs[job]["ways"][number]
            if job not in chosen and (node := free.node_for(way)) is not None:
                free.take(node, way)
                chosen[job] = (node, way)
        return chosen

    def shares(self, keys: list[Key]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the share of time of each way in the max-min allocation."""
        ways = [self.jobs[job]["ways"][number] for job, number in keys]
        names = {job: row for row, job in enumerate(self.jobs)}
        job = np.array([names[name] for name, _ in keys])
        speed = 1.0 / np.array([way["lasts"] for way in ways])
        fastest = np.zeros(len(names))
        np.maximum.at(fastest, job, speed)
        pools: dict[tuple[str, ...], int] = {}
        pool = np.array([pools.setdefault(tuple(way.get("nodes", ())), len(pools)) for way in ways])
        uses = np.array([way["gpus"] / (self.type_gpus[way["type"]] if "type" in way else 1.0) for way in ways])
        room = [sum(self.node_gpus[n] for n in nodes) if nodes else len(self.node_gpus) for nodes in pools]
        column = np.arange(len(keys))

        def rows(values: Any, at: Any, height: int, last: float = 0.0) -> Any:
            found = sparse.csr_matrix((values, (at, column)), (height, len(keys)))
            return sparse.hstack((found, np.full((height, 1), last)))

        matrix = sparse.vstack((
            rows(-speed / fastest[job], job, len(names), 1.0),  # the least throughput
            rows(np.ones(len(keys)), job, len(names)),  # one way at a time
            rows(uses, pool, len(pools)),
        ))  # fmt: skip
        limits = np.concatenate((np.zeros(len(names)), np.ones(len(names)), room))
        goal = np.concatenate((np.full(len(keys), -1e-6), [-1.0]))  # idle time is worth nothing
        solved = optimize.linprog(goal * 1.0, A_ub=matrix.tocsr(), b_ub=limits, bounds=(0, 1), method="highs")
        return np.asarray(solved.x[:-1]) if solved.x is not None else speed / fastest[job]


if __name__ == "__main__":
    main(Gavel)
