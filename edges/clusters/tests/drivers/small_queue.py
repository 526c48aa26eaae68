"""Queues of jobs on pools of GPUs in the plainest Python: what a report about them must say.

A job needs GPUs of one type, and fits whenever so many are free: tests that use this have nodes and pods without
fragmentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass
class Run:
    """Times in seconds; `limit` is the length that a queue knows, `length` the real one."""

    arrival: float
    gpu_type: str
    gpus: int
    length: float
    limit: float
    start: float | None = None

    @property
    def end(self) -> float:
        assert self.start is not None
        return self.start + self.length


def simulate(jobs: Sequence[Run], gpus: Mapping[str, int], rule: str) -> None:
    """Fill in the starts.

    `strict`: no job overtakes an earlier one; `greedy`: any job that fits starts, in the order of arrival; `easy`: any
    that does not delay the first waiting job, by the limits of the others.
    """
    queue = sorted(jobs, key=lambda job: job.arrival)
    now = queue[0].arrival
    while any(job.start is None for job in queue):
        running = [job for job in queue if job.start is not None and job.end > now + 1e-9]
        free = dict(gpus)
        for job in running:
            free[job.gpu_type] -= job.gpus
        first: Run | None = None
        begins, spare = 0.0, 0
        for job in [one for one in queue if one.start is None and one.arrival <= now + 1e-9]:
            fits = job.gpus <= free[job.gpu_type]
            is_late = first is not None and job.gpu_type == first.gpu_type and now + job.limit > begins + 1e-9
            if fits and (not is_late or job.gpus <= spare):
                job.start = now
                running.append(job)
                free[job.gpu_type] -= job.gpus
                spare -= job.gpus if is_late else 0
            elif rule == "strict":
                break
            elif rule == "easy" and first is None:
                first = job
                begins, spare = _reservation(job, [one for one in running if one.gpu_type == job.gpu_type], free)
        later = [job.arrival for job in queue if job.arrival > now + 1e-9]
        later += [job.end for job in queue if job.start is not None and job.end > now + 1e-9]
        now = min(later)


def _reservation(job: Run, running: Sequence[Run], free: Mapping[str, int]) -> tuple[float, int]:
    """When a job will have room by the limits of the running ones, and how many GPUs it leaves then."""
    room = free[job.gpu_type]
    for one in sorted(running, key=lambda other: (other.start or 0.0) + other.limit):
        room += one.gpus
        if room >= job.gpus:
            return (one.start or 0.0) + one.limit, room - job.gpus
    raise AssertionError("it never fits")
