"""Tiresias' discretised two-dimensional least attained service, written again from the paper; it preempts.

J. Gu, M. Chowdhury, K. G. Shin, Y. Zhu, M. Jeon, J. Qian, H. Liu, C. Guo: Tiresias: A GPU Cluster Manager for
Distributed Deep Learning, NSDI 2019. Jobs are in queues by their attained service, GPUs times time; within a queue
the first one to start comes first. The thresholds are chosen here. It reads no lengths: a job runs in the way with
the most GPUs of all that are at most half of the largest node, as its users would request them.
"""

from __future__ import annotations

from typing import Any

from sample import Scheduler, Way, main

THRESHOLDS = (1.0, 10.0)  # GPU hours at which a job moves to the next queue


class Tiresias(Scheduler):
    def __init__(self, cluster: dict[str, Any]) -> None:
        super().__init__(cluster)
        self.attained: dict[str, float] = {}
        self.started: dict[str, float] = {}
        self.last = 0.0
        sizes = [gpus for gpus in (*self.node_gpus.values(), *self.type_gpus.values()) if gpus]
        self.most = max(1, max(sizes) / 2)

    def answer(self, now: float) -> str:
        for job, (_, way) in self.running.items():
            self.attained[job] = self.attained.get(job, 0.0) + way["gpus"] * (now - self.last)
        self.last = now
        found = super().answer(now)
        for job in self.running:
            self.started.setdefault(job, now)
        return found

    def order(self, now: float) -> list[str]:
        def key(job: str) -> tuple[int, float]:
            attained = self.attained.get(job, 0.0)
            return sum(attained >= threshold for threshold in THRESHOLDS), self.started.get(job, float("inf"))

        return sorted(self.jobs, key=key)

    def ways(self, job: str, now: float) -> list[Way]:
        """Return the ways of a job: a fixed number of GPUs, on the cheapest node."""
        ways = self.jobs[job]["ways"]
        fitting = [way["gpus"] for way in ways if way["gpus"] <= self.most] or [way["gpus"] for way in ways]
        wanted = max(fitting)
        return sorted((way for way in ways if way["gpus"] == wanted), key=lambda way: way["costs"])

    def decide(self, now: float, *, keep: bool = False) -> dict[str, tuple[str, Way]]:
        return super().decide(now, keep=keep)


if __name__ == "__main__":
    main(Tiresias)
