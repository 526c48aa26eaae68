"""Why jobs wait in an observed cluster, in words of GPUs and nodes, and tells the cluster when the reason changes.

The reason follows from the observation, not from the model: so it works in shadow mode and for every model. Jobs that
the plan starts in this round count as running, otherwise each job behind them would be told that there is room.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gpusched_dsl.explaining.free_room import ClusterRoom
from gpusched_dsl.explaining.gpu_demands import DemandReasons, GpuDemand, gpu_room
from gpusched_dsl.explaining.job_reason import NEVER, ROOM, JobReason
from gpusched_dsl.ir.arrays import Bools
from gsdsl_clusters.drivers.protocol import Allocation, ExplainingCluster, JobState, Observation, ObservedJob

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
    reasons = _WaitingReasons(observation)
    found = []
    for job in waiting:
        if job.unsupported:
            found.append(ExplainedJob(job.name, UNEXPLAINED, job.unsupported, job.submitted))
        elif job.state is JobState.BLOCKED:
            found.append(ExplainedJob(job.name, BLOCKED, job.reason or "it must not start yet", job.submitted))
        else:
            found.append(ExplainedJob(job.name, *reasons.of(job), job.submitted))
    return found


def _with_starts(observation: Observation, starting: Mapping[str, Allocation]) -> Observation:
    begun = {
        name: replace(observation.jobs[name], state=JobState.RUNNING, allocation=allocation)
        for name, allocation in starting.items()
        if name in observation.jobs and observation.jobs[name].state is JobState.PENDING
    }
    return replace(observation, jobs={**observation.jobs, **begun})


class _WaitingReasons:
    """The reasons of the pending jobs of an observation. Jobs with equal demands share the object of their misfits."""

    def __init__(self, observation: Observation) -> None:
        self._nodes = observation.nodes
        self._largest = max((node.gpus for node in observation.nodes.values()), default=0)
        self._kinds: dict[int, int] = {}
        self._suits: list[Bools] = []
        self._reasons = DemandReasons(_room(observation), self._suits)
        self._texts: dict[GpuDemand, tuple[str, str]] = {}

    def of(self, job: ObservedJob) -> tuple[str, str]:
        """Return the kind of the reason, and a sentence."""
        demand = self._demand(job)
        if demand not in self._texts:
            reason = self._reasons.of(demand)
            self._texts[demand] = reason.kind, _text(reason, job)
        return self._texts[demand]

    def _demand(self, job: ObservedJob) -> GpuDemand:
        kind = self._kinds.setdefault(id(job.misfits) if job.misfits else 0, len(self._suits))
        if kind == len(self._suits):
            nodes = self._nodes.items()
            self._suits.append(np.array([node.up and name not in job.misfits for name, node in nodes], dtype=np.bool_))
        workers, gpus = job.nodes or _pods(job), job.gpus
        if not workers:
            return GpuDemand(kind, gpus, 1) if gpus <= self._largest else GpuDemand(kind, gpus)
        if gpus % workers == 0:
            return GpuDemand(kind, gpus // workers, workers, 1 if job.nodes else self._largest)
        # Unequal parts are workers of one GPU each; so many may be on one node that the other nodes have one each.
        return GpuDemand(kind, 1, gpus, max(1, gpus - workers + 1) if job.nodes else self._largest)


def _room(observation: Observation) -> ClusterRoom:
    """The GPUs of the nodes, and what jobs occupy, whose ends are not known."""
    at = {name: number for number, name in enumerate(observation.nodes)}
    parts = np.array(
        [(number, at[place], gpus) for number, job in enumerate(observation.jobs.values())
         for place, gpus in job.allocation.items() if place in at], dtype=np.int64,
    ).reshape(-1, 3)  # fmt: skip
    nodes = observation.nodes.values()
    capacity = np.array([float(node.gpus if node.up else 0) for node in nodes])
    return gpu_room(
        list(at), [node.gpu_type for node in nodes], capacity, list(observation.jobs),
        parts[:, 0], parts[:, 1], parts[:, 2].astype(np.float64), np.full(len(parts), np.nan),
    )  # fmt: skip


def _pods(job: ObservedJob) -> int:
    pods = job.fields.get("pods")
    return pods if isinstance(pods, int) else 0


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
