"""What the cluster did: a line for every change of a job that was observed, for the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpusched_dsl.drivers.protocol import Observation, ObservedJob
from gpusched_dsl.drivers.records import RecordFile
from gpusched_dsl.drivers.value_source import NoValue


@dataclass
class HistoryWriter:
    """Writes the changes of each observation; `values` gives the data of a job at its first line, or raises NoValue."""

    record: RecordFile
    values: Callable[[ObservedJob], Mapping[str, Any]]
    _last: dict[str, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for line in self.record.lines():
            if "job" in line:
                self._last[line["job"]] = [line[key] for key in _COMPARED]

    def write(self, observation: Observation, now: float) -> None:
        """Append the changes since the last observation, seen `now`."""
        lines = []
        for job in observation.jobs.values():
            if job.unread:
                continue
            line = _line_of(job)
            compared = [line[key] for key in _COMPARED]
            known = self._last.get(job.name)
            if known == compared:
                continue
            if known is None:
                try:
                    line["values"] = dict(self.values(job))
                except NoValue as missing:
                    line["left_out"] = str(missing)
                if job.unsupported:
                    line["left_out"] = job.unsupported
            self._last[job.name] = compared
            lines.append({"at": now, **line})
        if lines:
            self.record.append(*lines)
        self._forget(observation)

    def tell(self, now: float, **what: Any) -> None:
        """Append a line about the run itself."""
        self.record.append({"at": now, **what})

    def _forget(self, observation: Observation) -> None:
        """Keep only jobs that the cluster still shows, so that the memory does not grow."""
        if len(self._last) > 2 * len(observation.jobs) + 1000:
            self._last = {name: last for name, last in self._last.items() if name in observation.jobs}


_COMPARED = ("state", "nodes", "started", "ended", "restarts")


def _line_of(job: ObservedJob) -> dict[str, Any]:
    return {
        "job": job.name, "state": job.state.value, "nodes": dict(job.allocation or job.ran_on), "gpus": job.gpus,
        "submitted": job.submitted, "started": job.started, "ended": job.ended, "restarts": job.restarts,
    }  # fmt: skip
