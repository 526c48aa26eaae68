"""Reads the history of a cluster: when each job arrived, where it ran, and when it ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpusched_dsl.drivers.protocol import Allocation, JobState


@dataclass(frozen=True)
class Stay:
    """One execution of a job on some nodes, in seconds since 1970."""

    start: float
    end: float
    allocation: Allocation


@dataclass
class JobHistory:
    """One job. `stays` are its finished executions; `ended` is None while it is there."""

    name: str
    submitted: float
    values: Mapping[str, Any] | None = None
    left_out: str = ""
    stays: list[Stay] = field(default_factory=list)
    ended: float | None = None
    state: str = ""
    _running: tuple[float, Allocation] | None = None

    @property
    def is_comparable(self) -> bool:
        """Whether the job has run and ended, and has the data of the model."""
        return self.values is not None and not self.left_out and self.ended is not None and bool(self.stays)

    def learn(self, line: Mapping[str, Any]) -> None:
        """Apply the next line about the job."""
        state = JobState(line["state"])
        if "values" in line:
            self.values = line["values"]
        self.left_out = line.get("left_out", self.left_out)
        started, nodes, at = line.get("started"), line.get("nodes") or {}, float(line["at"])
        is_running = state is JobState.RUNNING
        if self._running is not None and (not is_running or started != self._running[0]):
            end = line.get("ended") if state.has_ended else None
            self._finish(float(end) if end else at)
        if is_running and self._running is None and nodes:
            self._running = (float(started or at), nodes)
        if state.has_ended:
            if not self.stays and started and nodes:  # it started and ended between two observations
                self._running = (float(started), nodes)
                self._finish(float(line.get("ended") or at))
            self.ended = float(line.get("ended") or at)
        self.state = state.value

    def _finish(self, end: float) -> None:
        assert self._running is not None
        start, nodes = self._running
        if end > start:
            self.stays.append(Stay(start, end, nodes))
        self._running = None


@dataclass(frozen=True)
class ClusterHistory:
    """All jobs by name, and the time of the last line, in seconds since 1970."""

    jobs: Mapping[str, JobHistory]
    until: float

    @property
    def comparable(self) -> list[JobHistory]:
        """The jobs of a comparison in the order of their arrival."""
        found = [job for job in self.jobs.values() if job.is_comparable]
        return sorted(found, key=lambda job: (job.submitted, job.name))


def read_history(lines: Iterable[Mapping[str, Any]]) -> ClusterHistory:
    """Collect the lines of a history by job."""
    jobs: dict[str, JobHistory] = {}
    until = 0.0
    for line in lines:
        until = max(until, float(line["at"]))
        name = line.get("job")
        if name is None:
            continue
        if name not in jobs:
            jobs[name] = JobHistory(name, float(line.get("submitted") or line["at"]))
        jobs[name].learn(line)
    return ClusterHistory(jobs, until)
