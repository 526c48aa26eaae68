"""What the cluster did: a line for every change of a job that was observed, for the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gsdsl_clusters.drivers.protocol import JobState, Observation, ObservedJob
from gsdsl_clusters.drivers.records import RecordFile
from gsdsl_clusters.drivers.value_source import NoValue


@dataclass
class HistoryWriter:
    """Writes the changes of each observation; `values` gives the data of a job at its first line, or raises NoValue.

    Sets of nodes and the types of their GPUs have lines of their own. A job that the cluster does not show any more,
    although it ran, has a line that says so: its GPUs are free.
    """

    record: RecordFile
    values: Callable[[ObservedJob], Mapping[str, Any]]
    _last: dict[str, list[Any]] = field(default_factory=dict)
    _misfits: dict[str, frozenset[str]] = field(default_factory=dict)  # at all observations of a job that waits
    _waited: set[str] = field(default_factory=set)  # jobs that were seen waiting for nodes
    _sets: dict[frozenset[str], int] = field(default_factory=dict)
    _types: dict[str, str] = field(default_factory=dict)
    _gone: set[str] = field(default_factory=set)
    _after: dict[str, frozenset[str]] = field(default_factory=dict)  # what each job had to wait for so far

    def __post_init__(self) -> None:
        names: dict[int, frozenset[str]] = {}
        for line in self.record.lines():
            if "set" in line:
                names[line["set"]] = frozenset(line["names"])
            self._types = line.get("types", self._types)
            if line.get("gone"):
                self._gone.add(line["job"])
            elif "job" in line:
                self._gone.discard(line["job"])
                self._last[line["job"]] = [line[key] for key in _COMPARED]
                if line["state"] == JobState.PENDING.value:
                    self._waited.add(line["job"])
                if "misfits" in line:
                    self._misfits[line["job"]] = names[line["misfits"]]
                if "after" in line:
                    self._after[line["job"]] = frozenset(line["after"])
        self._sets = {found: number for number, found in names.items()}

    def write(self, observation: Observation, now: float) -> None:
        """Append the changes since the last observation, seen `now`."""
        lines: list[dict[str, Any]] = []
        types = {name: node.gpu_type for name, node in observation.nodes.items()}
        if types != self._types:
            self._types = types
            lines.append({"types": types})
        for job in observation.jobs.values():
            known = self._last.get(job.name)
            if job.unread and (known is not None or not job.allocation):
                continue  # what is known of it stays
            line = _line_of(job)
            compared = [line[key] for key in _COMPARED]
            is_shrunk = job.state in (JobState.PENDING, JobState.BLOCKED) and self._shrink_misfits(job)
            is_later = self._grow_after(job)
            if known == compared and not is_shrunk and not is_later and job.name not in self._gone:
                continue
            if is_later:
                line["after"] = sorted(self._after[job.name])
            if limit := job.fields.get("array_limit"):
                line |= {"array": job.fields["array_job"], "limit": limit}
            if is_shrunk:
                line["misfits"] = self._number_of(self._misfits[job.name], lines)
            if known is None:
                try:
                    line["values"] = dict(self.values(job))
                except NoValue as missing:
                    line["left_out"] = str(missing)
                if job.unsupported:
                    line["left_out"] = job.unsupported
            self._last[job.name] = compared
            self._gone.discard(job.name)
            lines.append(line)
        lines += self._vanished(observation)
        if lines:
            self.record.append(*({"at": now, **line} for line in lines))
        self._forget(observation)

    def _shrink_misfits(self, job: ObservedJob) -> bool:
        """Keep the nodes on which a job could never run so far; return whether these are others than before.

        Until it is seen waiting for nodes, those count on which it could not run at last.
        """
        before, now = self._misfits.get(job.name), frozenset(job.misfits)
        if job.name in self._waited:
            now = (before or frozenset()) & now if job.state is JobState.PENDING else before or frozenset()
        if job.state is JobState.PENDING:
            self._waited.add(job.name)
        self._misfits[job.name] = now
        return now != before

    def _grow_after(self, job: ObservedJob) -> bool:
        """Keep the jobs that had to end before a job so far; return whether there are new ones."""
        before = self._after.get(job.name, frozenset())
        if new := before.union(job.after) - before:
            self._after[job.name] = before | new
        return bool(new)

    def _number_of(self, names: frozenset[str], lines: list[dict[str, Any]]) -> int:
        if names not in self._sets:
            self._sets[names] = len(self._sets)
            lines.append({"set": self._sets[names], "names": sorted(names)})
        return self._sets[names]

    def _vanished(self, observation: Observation) -> list[dict[str, Any]]:
        """Jobs that ran when they were shown last, and are not shown any more."""
        gone = [
            name
            for name, last in self._last.items()
            if name not in observation.jobs and name not in self._gone and last[0] == JobState.RUNNING.value
        ]
        self._gone.update(gone)
        return [{"job": name, "gone": True} for name in gone]

    def tell(self, now: float, **what: Any) -> None:
        """Append a line about the run itself."""
        self.record.append({"at": now, **what})

    def _forget(self, observation: Observation) -> None:
        """Keep only jobs that the cluster still shows, so that the memory does not grow."""
        if len(self._last) > 2 * len(observation.jobs) + 1000:
            self._last = {name: last for name, last in self._last.items() if name in observation.jobs}
            self._misfits = {name: nodes for name, nodes in self._misfits.items() if name in observation.jobs}
            self._after = {name: others for name, others in self._after.items() if name in observation.jobs}
            self._gone &= self._last.keys()
            self._waited &= self._last.keys()


_COMPARED = ("state", "nodes", "started", "ended", "restarts")


def _line_of(job: ObservedJob) -> dict[str, Any]:
    return {
        "job": job.name, "state": job.state.value, "nodes": dict(job.allocation or job.ran_on), "gpus": job.gpus,
        "submitted": job.submitted, "started": job.started, "ended": job.ended, "restarts": job.restarts,
    }  # fmt: skip
