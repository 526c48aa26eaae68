"""From observations to live events: the difference between what the run knows and what the cluster shows.

Ids of events follow from the facts (`arrive 17`, `end 17`), so an event that is made again after a kill is a duplicate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpusched_dsl.drivers.protocol import JobState, Observation, ObservedJob
from gpusched_dsl.drivers.value_source import NoValue
from gpusched_dsl.online.live.messages import VERSION
from gpusched_dsl.online.live.seen_names import SeenNames

RESTART = "restart "
GONE_AFTER = 2  # observations without a job before it counts as ended

Content = dict[str, Any]


@dataclass
class KnownState:
    """What the run was told: jobs that have arrived and not ended, those that have ended, nodes that are down."""

    present: set[str] = field(default_factory=set)
    ended: SeenNames = field(default_factory=SeenNames)
    down: set[str] = field(default_factory=set)
    restarts: dict[str, int] = field(default_factory=dict)
    changes: int = 0  # of nodes and of progress, for unique ids

    def learn(self, content: Mapping[str, Any]) -> None:
        """Apply an accepted event."""
        job, node = content.get("job"), content.get("node")
        match content.get("kind"):
            case "arrival":
                self.present.add(str(job))
            case "completion" | "withdrawal":
                self.present.discard(str(job))
                self.restarts.pop(str(job), None)
                self.ended.add(str(job))
            case "progress" if str(content["id"]).startswith(RESTART):
                self.restarts[str(job)] = int(str(content["id"]).split()[-1])
            case "node_down":
                self.down.add(str(node))
                self.changes += 1
            case "node_up":
                self.down.discard(str(node))
                self.changes += 1


@dataclass
class EventMaker:
    """Makes the events of each observation.

    `values` maps a job to its data and raises NoValue. `nodes` are those of the model. `tell` is called with the
    first job that is left out for a reason. With `acting`, a job that was put back has lost its progress unless it has
    `checkpoints`.
    """

    known: KnownState
    values: Callable[[ObservedJob], Mapping[str, Any]]
    nodes: Collection[str]
    tell: Callable[[str, str], None]
    acting: bool = False
    checkpoints: bool = False
    left_out: dict[str, str] = field(default_factory=dict)
    _missed: dict[str, int] = field(default_factory=dict)

    def events(self, observation: Observation, now: float) -> list[Content]:
        """The events since the last observation, in order. All happen `now`, so they are planned for together: the time
        at which they really happened is past, and may be by another clock.
        """
        found = [*self._node_events(observation, now)]
        for name in sorted(observation.jobs, key=_by_number):
            found += self._job_events(observation.jobs[name], now)
        found += self._missing(observation.jobs, now)
        return sorted(found, key=lambda content: _ORDER[content["kind"]])

    def leave_out(self, job: str, why: str) -> None:
        if job not in self.left_out:
            is_new = why not in self.left_out.values()
            self.left_out[job] = why
            if is_new:
                self.tell(job, why)

    def _job_events(self, job: ObservedJob, now: float) -> Iterable[Content]:
        known, name = self.known, job.name
        self._missed.pop(name, None)
        if name in known.ended:
            if not job.state.has_ended:
                self.leave_out(name, "it had left the queue or was given up, and is there again")
            return
        if name in self.left_out:
            return
        if name not in known.present:
            if job.state is JobState.BLOCKED or job.state.has_ended:
                return
            if job.unsupported:
                self.leave_out(name, job.unsupported)
                return
            if self.acting and job.state is JobState.RUNNING:
                self.leave_out(name, "somebody else has started it")
                return
            try:
                values = self.values(job)
            except NoValue as missing:
                self.leave_out(name, str(missing))
                return
            yield event_content("arrival", f"arrive {name}", now, job=name, values=values)
        elif job.restarts > known.restarts.get(name, 0) and not job.state.has_ended:
            lost = self.acting and not self.checkpoints
            if lost:
                yield event_content("progress", f"{RESTART}{name} {job.restarts}", now, job=name, fraction=0.0)
        if job.state.has_ended:
            kind = "completion" if job.state is JobState.DONE else "withdrawal"
            yield event_content(kind, f"end {name}", now, job=name)

    def _missing(self, jobs: Mapping[str, ObservedJob], now: float) -> Iterable[Content]:
        """Jobs that the cluster has forgotten: they have ended while nobody looked."""
        for name in sorted(self.known.present - jobs.keys(), key=_by_number):
            self._missed[name] = self._missed.get(name, 0) + 1
            if self._missed[name] >= GONE_AFTER:
                yield event_content("completion", f"end {name}", now, job=name)

    def _node_events(self, observation: Observation, now: float) -> Iterable[Content]:
        for name in sorted(self.nodes, key=_by_number):
            node = observation.nodes.get(name)
            is_down = node is None or not node.up
            if is_down is (name in self.known.down):
                continue
            kind = "node_down" if is_down else "node_up"
            yield event_content(kind, f"node {name} {self.known.changes + 1}", now, node=name)


_ORDER = {"node_down": 0, "node_up": 0, "arrival": 1, "progress": 2, "completion": 3, "withdrawal": 3, "tick": 4}


def event_content(kind: str, id: str, time: float, **rest: Any) -> Content:
    return {"version": VERSION, "id": id, "time": time, "kind": kind, **rest}


def _by_number(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdigit() else (1 << 62, name)
