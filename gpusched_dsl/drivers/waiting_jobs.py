"""Why jobs wait in an observed cluster, in words of GPUs and nodes, and tells the cluster when the reason changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gpusched_dsl.drivers.protocol import Allocation, ExplainingCluster, JobState, Observation, ObservedJob
from gpusched_dsl.explaining.free_room import ClusterRoom, PlaceOptions
from gpusched_dsl.explaining.job_reason import NEVER, ROOM, JobReason, Resource

BLOCKED = "blocked"  # the cluster or its user does not let the job start yet
UNEXPLAINED = "left out"
PAUSE = 600.0  # seconds between two explanations of one job
SHARE = 20.0  # times as long as finding the reasons took, until they are found again
MOST = 50  # explanations after one observation


@dataclass(frozen=True)
class ExplainedJob:
    """A job that waits, the kind of its reason (of `job_reason.py`, or `blocked`, `left out`), and a sentence."""

    name: str
    kind: str
    text: str
    submitted: float | None = None


def waiting_jobs(observation: Observation, starting: Mapping[str, Allocation] | None = None) -> list[ExplainedJob]:
    """Return the jobs that wait, each with its reason. Jobs with equal demands share one reason.

    Jobs that are `starting` on some nodes occupy these already, and do not wait.
    """
    observation = _with_starts(observation, starting or {})
    waiting = [job for job in observation.jobs.values() if job.state in (JobState.PENDING, JobState.BLOCKED)]
    if not waiting:
        return []
    places = list(observation.nodes)
    room, known = _room(observation, places), dict[tuple[int, int, int, int], tuple[str, str]]()
    found = []
    for job in waiting:
        if job.unsupported:
            found.append(ExplainedJob(job.name, UNEXPLAINED, job.unsupported, job.submitted))
        elif job.state is JobState.BLOCKED:
            found.append(ExplainedJob(job.name, BLOCKED, job.reason or "it must not start yet", job.submitted))
        else:
            shape = _shape(job)
            if shape not in known:
                reason = room.waiting_reason(_options(observation, places, job))
                known[shape] = reason.kind, _text(reason, job)
            found.append(ExplainedJob(job.name, *known[shape], job.submitted))
    return found


def _with_starts(observation: Observation, starting: Mapping[str, Allocation]) -> Observation:
    begun = {
        name: replace(observation.jobs[name], state=JobState.RUNNING, allocation=allocation)
        for name, allocation in starting.items()
        if name in observation.jobs and observation.jobs[name].state is JobState.PENDING
    }
    return replace(observation, jobs={**observation.jobs, **begun})


def _room(observation: Observation, places: list[str]) -> ClusterRoom:
    """The GPUs of the places, and what jobs occupy, whose ends are not known."""
    at = {name: number for number, name in enumerate(places)}
    parts = [(number, job.name, at[place], gpus) for number, job in enumerate(observation.jobs.values())
             for place, gpus in job.allocation.items() if place in at]  # fmt: skip
    nodes = [observation.nodes[name] for name in places]
    types = [node.gpu_type for node in nodes]
    capacity = np.array([[float(node.gpus if node.up else 0)] for node in nodes]).reshape(-1, 1)
    return ClusterRoom(
        (Resource("GPU"),), places, types, capacity, list(observation.jobs),
        np.array([part[0] for part in parts], dtype=np.int64), np.array([part[2] for part in parts], dtype=np.int64),
        np.array([float(part[3]) for part in parts]).reshape(-1, 1), np.full(len(parts), np.nan),
        tuple(dict.fromkeys(name for name in types if name)),
    )  # fmt: skip


def _shape(job: ObservedJob) -> tuple[int, int, int, int]:
    """What the reason depends on. Jobs with equal demands share the object of their misfits."""
    return job.gpus, job.nodes, _pods(job), id(job.misfits) if job.misfits else 0


def _pods(job: ObservedJob) -> int:
    pods = job.fields.get("pods")
    return pods if isinstance(pods, int) else 0


def _options(observation: Observation, places: list[str], job: ObservedJob) -> PlaceOptions:
    gpus, workers, spread = job.gpus, job.nodes or _pods(job), job.nodes > 0
    place = [at for at, name in enumerate(places) if name not in job.misfits and observation.nodes[name].up]
    largest = max((node.gpus for node in observation.nodes.values()), default=0)
    amount = gpus / workers if workers and gpus % workers == 0 else 1.0
    if not workers and gpus <= largest:
        workers, amount = 1, float(gpus)
    workers = workers if workers and gpus % workers == 0 else gpus
    number = len(place)
    way = np.zeros(number, dtype=np.int64) if workers > 1 else np.arange(number)
    most = 1.0 if spread or workers == 1 else float(largest)
    return PlaceOptions(
        np.array(place, dtype=np.int64), np.full((number, 1), amount), way, np.full(number, workers, dtype=np.int64),
        np.full(number, most),
    )  # fmt: skip


def _text(reason: JobReason, job: ObservedJob) -> str:
    lines = reason.lines(lambda time: "")
    if reason.kind == ROOM:
        lines.append("the plan keeps it waiting")
    if reason.kind == NEVER and job.misfits:
        lines += list(dict.fromkeys(job.misfits.values()))[:3]
    return "; ".join(lines)


@dataclass
class WaitingWatch:
    """Finds the jobs that wait in at most a twentieth of the time: in a large cluster not after every observation."""

    _next: float = -np.inf

    def look(
        self, observation: Observation, starting: Mapping[str, Allocation], now: float
    ) -> list[ExplainedJob] | None:
        """As `waiting_jobs`; None if that was done shortly before `now`, in seconds."""
        if now < self._next:
            return None
        begun = time.perf_counter()
        found = waiting_jobs(observation, starting)
        self._next = now + SHARE * (time.perf_counter() - begun)
        return found


@dataclass
class WaitingExplainer:
    """Tells a cluster why jobs wait: at first, and when the reason has changed, but not too often."""

    cluster: ExplainingCluster
    now: Callable[[], float]
    _watch: WaitingWatch = field(default_factory=WaitingWatch)
    _told: dict[str, tuple[str, float]] = field(default_factory=dict)

    def tell(self, observation: Observation, starting: Mapping[str, Allocation]) -> None:
        """Explain the jobs whose reasons are new."""
        now, left = self.now(), MOST
        waiting = self._watch.look(observation, starting, now)
        if waiting is None:
            return
        present = {job.name for job in waiting}
        self._told = {name: told for name, told in self._told.items() if name in present}
        for job in waiting:
            text, at = self._told.get(job.name, ("", -np.inf))
            if left and job.text != text and now - at >= PAUSE:
                left -= 1
                self._told[job.name] = job.text, now
                self.cluster.explain(job.name, job.text)
