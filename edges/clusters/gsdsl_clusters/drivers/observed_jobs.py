"""Reads the history of a cluster: when each job arrived, where it ran, and when it ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gsdsl_clusters.drivers.protocol import Allocation, JobState, by_number


@dataclass(frozen=True)
class Stay:
    """One execution of a job on some nodes, in seconds since 1970."""

    start: float
    end: float
    allocation: Allocation


@dataclass
class JobHistory:
    """One job. `stays` are its finished executions; `ended` is None while it is there.

    It `arrived` when it was submitted, or when it no longer waited for another job, a time or a limit of its array.

    `misfits` are the nodes on which it could not run all the time that it waited for nodes, else at its last time in
    the queue, None if it was not seen there.
    It had to wait for the ends of the jobs `after`; at most `limit` tasks of its `array` run at once (0: any number).
    `gone` is the time since when the cluster has not shown it, None while it does.
    """

    name: str
    arrived: float
    values: Mapping[str, Any] | None = None
    left_out: str = ""
    stays: list[Stay] = field(default_factory=list)
    ended: float | None = None
    state: str = ""
    misfits: frozenset[str] | None = None
    gone: float | None = None
    after: frozenset[str] = frozenset()
    array: str = ""
    limit: int = 0
    _running: tuple[float, Allocation] | None = None

    @property
    def is_comparable(self) -> bool:
        """Whether the job has run and ended, and has the data of the model."""
        return self.values is not None and not self.left_out and self.ended is not None and bool(self.stays)

    def learn(self, line: Mapping[str, Any]) -> None:
        """Apply the next line about the job."""
        self.gone = float(line["at"]) if line.get("gone") else None
        if self.gone is not None:
            return
        state = JobState(line["state"])
        if "values" in line:
            self.values = line["values"]
        self.left_out = line.get("left_out", self.left_out)
        self.after |= frozenset(line.get("after", ()))
        self.array = line.get("array", self.array)
        self.limit = max(self.limit, int(line.get("limit", 0)))
        started, nodes, at = line.get("started"), line.get("nodes") or {}, float(line["at"])
        is_running = state is JobState.RUNNING
        if self.state == JobState.BLOCKED and state is not JobState.BLOCKED and not self.stays:
            self.arrived = max(self.arrived, min(float(started or at), at))
        if started and not self.stays and self._running is None:
            self.arrived = min(self.arrived, float(started))  # it was seen late
        if self._running is not None and (not is_running or started != self._running[0]):
            end = line.get("ended") if state.has_ended else None
            self._finish(float(end) if end else at)
        if is_running and self._running is None and nodes:
            self._running = (float(started or at), nodes)
        elif is_running and self._running is not None and self._has_more(nodes, line.get("gpus")):
            self._running = (self._running[0], nodes)
        if state.has_ended:
            if not self.stays and started and nodes:  # it started and ended between two observations
                self._running = (float(started), nodes)
                self._finish(float(line.get("ended") or at))
            self.ended = float(line.get("ended") or at)
        self.state = state.value

    def _has_more(self, nodes: Allocation, wanted: int | None) -> bool:
        """Whether a job that was seen with a part of its GPUs has more of them: its pods get nodes one by one."""
        assert self._running is not None
        had = sum(self._running[1].values())
        return had < (wanted or 0) and sum(nodes.values()) > had

    def executions(self, until: float) -> list[Stay]:
        """All executions, also the present one: to the end of the history, or as long as the cluster has shown it."""
        if self._running is None:
            return self.stays
        end = until if self.gone is None else self.gone
        return [*self.stays, Stay(self._running[0], max(end, self._running[0]), self._running[1])]

    def _finish(self, end: float) -> None:
        assert self._running is not None
        start, nodes = self._running
        if end > start:
            self.stays.append(Stay(start, end, nodes))
        self._running = None


@dataclass(frozen=True)
class ClusterHistory:
    """All jobs by name, the time of the last line, in seconds since 1970, and the types of the GPUs of nodes."""

    jobs: Mapping[str, JobHistory]
    until: float
    types: Mapping[str, str] = field(default_factory=dict)

    @property
    def comparable(self) -> list[JobHistory]:
        """The jobs of a comparison in the order of their arrival, then of their numbers."""
        found = [job for job in self.jobs.values() if job.is_comparable]
        return sorted(found, key=lambda job: (job.arrived, by_number(job.name)))


def read_history(lines: Iterable[Mapping[str, Any]]) -> ClusterHistory:
    """Collect the lines of a history by job."""
    jobs: dict[str, JobHistory] = {}
    sets: dict[int, frozenset[str]] = {}
    types: dict[str, str] = {}
    until = 0.0
    for line in lines:
        until = max(until, float(line["at"]))
        types = line.get("types", types)
        if "set" in line:
            sets[line["set"]] = frozenset(line["names"])
        name = line.get("job")
        if name is None:
            continue
        if name not in jobs:
            jobs[name] = JobHistory(name, float(line.get("submitted") or line["at"]))
        if "misfits" in line:
            jobs[name].misfits = sets[line["misfits"]]
        jobs[name].learn(line)
    return ClusterHistory(jobs, until, types)
