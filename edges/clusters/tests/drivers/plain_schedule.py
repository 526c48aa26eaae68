"""What a cluster allows, checked job by job in the plainest Python: the reference for schedules in reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CLOSE = 1e-3  # s


@dataclass(frozen=True)
class Facts:
    """A job: GPUs on each of so many nodes, the nodes that suit it, and since when (s) it may start; how long it ran.

    It starts after the ends of the jobs `after`, and of its array at most `limit` tasks run at once (0: any number).
    """

    name: str
    gpus: int
    nodes: int
    allowed: frozenset[str]
    arrival: float
    length: float
    after: tuple[str, ...] = ()
    array: str = ""
    limit: int = 0


@dataclass(frozen=True)
class Run:
    """A job on its nodes with GPUs, from `start` to `end` (s)."""

    start: float
    end: float
    places: Mapping[str, int]


def runs_of(schedule: Sequence[Mapping[str, Any]], seconds: float = 3600.0) -> dict[str, Run]:
    """The runs in the table `schedule` of a result, whose times are in units of so many `seconds`."""
    found: dict[str, Run] = {}
    for row in schedule:
        start, end = row["start"] * seconds, row["end"] * seconds
        before = found.get(row["job"], Run(start, end, {}))
        assert abs(before.start - start) < CLOSE, row
        found[row["job"]] = Run(start, end, {**before.places, row["node"]: round(row["gpus"])})
    return found


def broken(jobs: Sequence[Facts], runs: Mapping[str, Run], gpus: Mapping[str, int]) -> Iterator[str]:
    """What of a schedule the cluster, with so many `gpus` on each node, could not have done."""
    for job in jobs:
        if job.name not in runs:
            yield f"{job.name} never runs"
            continue
        run = runs[job.name]
        if run.start < job.arrival - CLOSE:
            yield f"{job.name} starts before it can"
        if abs(run.end - run.start - job.length) > CLOSE:
            yield f"{job.name} takes {run.end - run.start} s, not {job.length}"
        if sorted(run.places.values()) != [job.gpus] * job.nodes:
            yield f"{job.name} has {run.places}"
        if not set(run.places) <= job.allowed:
            yield f"{job.name} is on {set(run.places) - job.allowed}"
        for name in job.after:
            if run.start < runs[name].end - CLOSE:
                yield f"{job.name} starts before {name} ends"
    for job in jobs:
        at = runs[job.name].start + CLOSE
        now = [other for other in jobs if runs[other.name].start <= at < runs[other.name].end]
        if job.limit and sum(other.array == job.array for other in now) > job.limit:
            yield f"more than {job.limit} tasks of {job.array} run"
        for node in gpus:
            if sum(runs[other.name].places.get(node, 0) for other in now) > gpus[node]:
                yield f"{node} has too many GPUs in use"


def fifo(jobs: Sequence[Facts], gpus: Mapping[str, int]) -> dict[str, Run]:
    """In the order of the list, on the nodes with the fewest free GPUs that suffice. No job starts before an
    earlier one, unless that one must wait for others.
    """
    order = list(jobs)
    runs: dict[str, Run] = {}
    now = 0.0
    while len(runs) < len(order):
        for job in order:
            if job.name in runs or job.arrival > now + CLOSE or any(
                name not in runs or runs[name].end > now + CLOSE for name in job.after
            ):  # fmt: skip
                continue
            present = [other for other in order if other.name in runs and runs[other.name].end > now + CLOSE]
            if job.limit and sum(other.array == job.array for other in present) >= job.limit:
                continue
            free = {node: gpus[node] - sum(runs[o.name].places.get(node, 0) for o in present) for node in gpus}
            fits = sorted((free[node], node) for node in gpus if node in job.allowed and free[node] >= job.gpus)
            if len(fits) < job.nodes:
                break
            runs[job.name] = Run(now, now + job.length, {node: job.gpus for _, node in fits[: job.nodes]})
        later = [job.arrival for job in order if job.arrival > now + CLOSE]
        now = min([*later, *(run.end for run in runs.values() if run.end > now + CLOSE)], default=now)
    return runs
