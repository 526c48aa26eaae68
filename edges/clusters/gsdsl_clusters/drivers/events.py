"""From observations to live events: the difference between what the run knows and what the cluster shows.

Ids of events follow from the facts (`arrive 17`, `end 17`), so an event that is made again after a kill is a duplicate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isqrt
from typing import Any

import msgspec

from gpusched_dsl.online.live.messages import LONGEST_LINE, VERSION
from gpusched_dsl.online.live.seen_names import SeenNames
from gsdsl_clusters.drivers.capacity import ModelCapacity, Occupied, running_in, targets, used_by
from gsdsl_clusters.drivers.exclusions import Exclusions
from gsdsl_clusters.drivers.protocol import Allocation, JobState, Observation, ObservedJob, by_number
from gsdsl_clusters.drivers.turns import NodeSetTurns
from gsdsl_clusters.drivers.value_source import NoValue

RESTART = "restart "
CAPACITY = "gpus "
GONE_AFTER = 2  # observations without a job, or in which it must not start, before its GPUs go to others
FORGOTTEN_AFTER = 100  # observations without a job before it counts as ended
MOST_TOGETHER = 5000  # jobs of one event

Content = dict[str, Any]


@dataclass
class KnownState:
    """What the run was told: jobs that are present, those that are away for now (and how often each was), those that
    have ended, nodes that are down, and the GPUs of nodes of which others occupy some.
    """

    present: set[str] = field(default_factory=set)
    away: set[str] = field(default_factory=set)
    leaves: Counter[str] = field(default_factory=Counter)
    ended: SeenNames = field(default_factory=SeenNames)
    down: set[str] = field(default_factory=set)
    gpus: dict[str, int] = field(default_factory=dict)
    restarts: dict[str, int] = field(default_factory=dict)
    changes: int = 0  # of nodes, for unique ids

    def learn(self, content: Mapping[str, Any]) -> None:
        """Apply an accepted event."""
        job, node = str(content.get("job")), str(content.get("node"))
        match content.get("kind"):
            case "arrival":
                self._arrive(job)
            case "arrivals":
                for one in content["jobs"]:
                    self._arrive(str(one["job"]))
            case "withdrawal" if content.get("returns"):
                self.present.discard(job)
                self.away.add(job)
                self.leaves[job] += 1
            case "completion" | "withdrawal":
                self.present.discard(job)
                self.away.discard(job)
                self.leaves.pop(job, None)
                self.restarts.pop(job, None)
                self.ended.add(job)
            case "progress" if str(content["id"]).startswith(RESTART):
                self.restarts[job] = int(str(content["id"]).split()[-1])
            case "node_down":
                self.down.add(node)
                self.changes += 1
            case "node_up":
                self.down.discard(node)
                self.changes += 1
            case "value" if str(content["id"]).startswith(CAPACITY):
                for rows in content["values"].values():
                    self.gpus.update((str(name), int(gpus)) for name, gpus in rows)
                self.changes += 1

    def _arrive(self, job: str) -> None:
        self.present.add(job)
        self.away.discard(job)


@dataclass
class EventMaker:
    """Makes the events of each observation.

    `values` maps a job to its data and raises NoValue, `planned` returns the allocations of the plan in effect, `tell`
    is called with the first job that is left out for a reason, and `note` with a job that leaves the queue for now.
    With `acting`, a job that was put back has lost its progress unless it has `checkpoints`; after `patience`
    observations of a job that runs elsewhere than planned, the plan lets it go. With `plans_after`, the model plans
    jobs behind those that must end before them.
    """

    known: KnownState
    values: Callable[[ObservedJob], Mapping[str, Any]]
    model: ModelCapacity
    planned: Callable[[], Mapping[str, Allocation]]
    tell: Callable[[str, str], None]
    note: Callable[[str, str], None] = lambda job, why: None
    acting: bool = False
    checkpoints: bool = False
    preempt: bool = False
    patience: int = 12
    left_out: dict[str, str] = field(default_factory=dict)
    plans_after: bool = False
    exclusions: Exclusions = field(init=False)
    _missed: Counter[str] = field(default_factory=Counter)
    _elsewhere: Counter[str] = field(default_factory=Counter)
    _refused: dict[str, str] = field(default_factory=dict)  # jobs whose arrival the run refuses
    _together: dict[str, int] = field(default_factory=dict)  # how many may arrive with a job
    _occupied: Occupied = field(default_factory=Occupied)
    _turns: NodeSetTurns = field(default_factory=NodeSetTurns)
    _room: dict[str, int] = field(default_factory=dict)  # of nodes that are up, without what others occupy
    _too_early: set[str] = field(default_factory=set)  # the model lets them run before these have ended
    _blind: bool = False  # the model places jobs where their demands exclude it

    def __post_init__(self) -> None:
        self.exclusions = Exclusions(self.model.nodes)

    def events(self, observation: Observation, now: float) -> list[Content]:
        """The events since the last observation, in order. All happen `now`, so they are planned for together: the time
        at which they really happened is past, and may be by another clock.
        """
        known, plan = self.known, self.planned()
        look = _Look(observation, now, plan)
        if self.exclusions.expire(now, observation.jobs.keys() | known.away):
            self._turns.begin_again()
        for name in sorted(observation.jobs, key=by_number):
            self._look_at(observation.jobs[name], look)
        self._look_for_missing(look)
        masked = self._take_turns(look)
        capacity = self._capacity_events(look, masked)
        arrivals = self._arrival_events(look)
        self._forget(observation)
        for_now = [self._leave(name, now) for name in look.leaving if name not in look.ended]
        return [*for_now, *capacity, *arrivals, *look.events]

    def refused(self, job: str, why: str) -> None:
        """Leave a job out whose event the run refuses."""
        self._refused[job] = why
        self.leave_out(job, why)

    def refused_together(self, jobs: Sequence[str]) -> None:
        """Send the jobs of a refused event again in smaller numbers, until the one that does not fit is found."""
        self._together.update(dict.fromkeys(jobs, max(1, isqrt(len(jobs)))))

    def leave_out(self, job: str, why: str) -> None:
        if self.left_out.get(job) == why:
            return
        is_new = why not in self.left_out.values()
        self.left_out[job] = why
        if is_new:
            self.tell(job, why)

    # --- jobs --------------------------------------------------------------------------------------------------------

    def _look_at(self, job: ObservedJob, look: _Look) -> None:
        known, name = self.known, job.name
        if job.state is not JobState.BLOCKED:
            self._too_early.discard(name)
        if name in known.present or name in known.away:
            is_closed = job.unread or job.state is JobState.BLOCKED
            if not is_closed:
                self._missed.pop(name, None)
            if job.state.has_ended:
                self._end(job, look)
            elif name in known.away:
                self._look_at_away(job, look)
            else:
                self._look_at_present(job, look, is_closed=is_closed)
        elif name in known.ended:
            if not job.state.has_ended:
                self.leave_out(name, "it had left the queue or was given up, and is there again")
        elif (
            name in self._refused
            or job.state.has_ended
            or (job.state is JobState.BLOCKED and not self._is_behind(job, look))
        ):
            if job.unread:
                self.leave_out(name, job.unsupported)
        else:
            self._look_at_new(job, look)

    def _end(self, job: ObservedJob, look: _Look) -> None:
        done = job.state is JobState.DONE and job.name in self.known.present
        look.add("completion" if done else "withdrawal", f"end {job.name}", job=job.name)
        look.ended.add(job.name)
        self._turns.begin_again()

    def _look_at_new(self, job: ObservedJob, look: _Look) -> None:
        """A job that the run does not know: it arrives, or is left out as long as there is a reason."""
        name, starts = job.name, self.acting and job.state is JobState.RUNNING
        why = job.unsupported or ("somebody else has started it" if starts else self.exclusions.hopeless(job))
        if not why:
            try:
                look.values[name] = self.values(job)
            except NoValue as missing:
                why = str(missing)
        if why:
            self.leave_out(name, why)
            return
        self.left_out.pop(name, None)
        if self._needs_turn(job):
            look.candidates[name] = job
        else:
            look.arriving.append(name)

    def _look_at_present(self, job: ObservedJob, look: _Look, *, is_closed: bool) -> None:
        known, name, allocation = self.known, job.name, look.plan.get(job.name)
        if job.restarts > known.restarts.get(name, 0) and self.acting and not self.checkpoints:
            look.add("progress", f"{RESTART}{name} {job.restarts}", job=name, fraction=0.0)
        if is_closed and allocation is None and self._is_behind(job, look):
            self._missed.pop(name, None)
            return
        if is_closed and not job.allocation:
            self._missed[name] += 1
            if self._missed[name] >= GONE_AFTER or job.over_limit:
                if job.after and allocation is not None:
                    self._too_early.add(name)
                self._let_go(job, look, job.reason or job.unsupported or "it must not start now")
            return
        waits = job.state is JobState.PENDING or not self.acting
        objection = "" if allocation is None or job.unread else self.exclusions.objection(job, allocation)
        if waits and objection and allocation is not None:
            self._blind |= any(node in job.misfits for node in allocation)
            look.leaving.append(name)
            if name not in self._turns.on_turn:  # its GPUs are for others
                self._turns.begin_again()
        elif waits and allocation is None and self._needs_turn(job) and name not in self._turns.on_turn:
            look.leaving.append(name)
        if not waits and not self.preempt and not job.unread and dict(job.allocation) != dict(allocation or {}):
            self._elsewhere[name] += 1
            if self._elsewhere[name] > self.patience:
                self._let_go(job, look, f"it runs on {', '.join(job.allocation)}, not as planned")
        else:
            self._elsewhere.pop(name, None)

    def _let_go(self, job: ObservedJob, look: _Look, why: str) -> None:
        look.leaving.append(job.name)
        self.note(job.name, why)
        self._turns.begin_again()

    def _look_at_away(self, job: ObservedJob, look: _Look) -> None:
        """A job that comes back when it may be planned again; one that runs occupies its GPUs until it ends."""
        if (
            job.unread
            or (job.state is JobState.BLOCKED and not self._is_behind(job, look))
            or (self.acting and job.state is JobState.RUNNING)
        ):
            return
        if self._needs_turn(job) or self.exclusions.tried(job.name):
            look.candidates[job.name] = job
        else:
            look.arriving.append(job.name)

    def _look_for_missing(self, look: _Look) -> None:
        """Jobs that the cluster does not show give their GPUs to others, come back, or have ended long ago."""
        for name in sorted((self.known.present | self.known.away) - look.observation.jobs.keys(), key=by_number):
            self._missed[name] += 1
            if self._missed[name] >= FORGOTTEN_AFTER:
                look.add("withdrawal", f"end {name}", job=name)
                look.ended.add(name)
            elif self._missed[name] >= GONE_AFTER and name in self.known.present:
                look.leaving.append(name)
                self._turns.begin_again()

    def _is_behind(self, job: ObservedJob, look: _Look) -> bool:
        """Whether a blocked job is planned behind the jobs for which it waits, which are all part of the plan."""
        if not self.plans_after or not job.after or job.unsupported or job.name in self._too_early:
            return False
        leaving, arriving = look.leaving, look.arriving
        return all((name in self.known.present and name not in leaving) or name in arriving for name in job.after)

    def _needs_turn(self, job: ObservedJob) -> bool:
        return self._blind and self.exclusions.restricts(job)

    # --- turns -------------------------------------------------------------------------------------------------------

    def _take_turns(self, look: _Look) -> frozenset[str]:
        """Jobs that may not run everywhere arrive in turns, one set of nodes at a time; return the other nodes, of
        which the plan gets no more. Those that it did not place leave again.
        """
        for name in self._turns.end():
            if name in self.known.present and name not in look.plan and name not in look.ended | set(look.leaving):
                look.leaving.append(name)
        groups: dict[frozenset[str], list[str]] = {}
        for name, job in look.candidates.items():
            groups.setdefault(self.exclusions.allowed(job), []).append(name)
        chosen = self._turns.choose(groups)
        if chosen is None:
            return frozenset()
        look.arriving += groups[chosen]
        return frozenset(self.model.nodes) - chosen

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _capacity_events(self, look: _Look, masked: frozenset[str]) -> list[Content]:
        known, observation = self.known, look.observation
        staying = (known.present - look.ended - set(look.leaving)) | set(look.arriving)
        own = staying if self.acting else staying | known.away | set(look.leaving)
        planned = used_by(look.plan[name] for name in look.plan if name in staying)
        kept = running_in(observation, staying) if self.acting else planned
        others = self._occupied.by_others(observation, own)
        wanted = targets(self.model, observation, others, kept, masked, planned)
        self._notice_room(observation, others)
        self._bounce(look, wanted, planned)
        values, events = list[list[str | int]](), list[Content]()
        for name in sorted(self.model.nodes, key=by_number):
            target, is_down = wanted[name], name in known.down
            full = self.model.gpus.get(name, 0)
            now, before = full if target is None else target, known.gpus.get(name, full)
            if now and now != before:
                values.append([name, now])
            if (target == 0) is not is_down or (now and now != before):
                kind = "node_down" if target == 0 else "node_up"
                id = f"node {name} {known.changes}.{len(events)}"
                events.append(event_content(kind, id, look.now, node=name))
        if values:
            id = f"{CAPACITY}{known.changes}.{len(events)}"
            events.insert(0, event_content("value", id, look.now, values={self.model.parameter: values}))
        return events

    def _notice_room(self, observation: Observation, others: Mapping[str, int]) -> None:
        """Let all have their turns again if others occupy less of a node, or if one is up again."""
        now = {n: node.gpus - others.get(n, 0) for n, node in observation.nodes.items() if node.up}
        if any(left > self._room.get(name, 0) for name, left in now.items()):
            self._turns.begin_again()
        self._room = now

    def _bounce(self, look: _Look, wanted: Mapping[str, int | None], planned: Mapping[str, int]) -> None:
        """Jobs that wait for GPUs which others have taken are planned again: they leave, and arrive at once."""
        short = {n for n, target in wanted.items() if target is not None and 0 < target < planned.get(n, 0)}
        if not short:
            return
        for name, allocation in look.plan.items():
            job = look.observation.jobs.get(name)
            waits = job is None or job.state is JobState.PENDING or not self.acting
            if waits and short & allocation.keys() and name in self.known.present - look.ended - set(look.leaving):
                look.leaving.append(name)
                look.arriving.append(name)

    def _forget(self, observation: Observation) -> None:
        """Keep only what is known of jobs that are there, so that the memory does not grow."""
        known = self.known
        tables: tuple[dict[str, Any], ...] = (
            self._missed, self._elsewhere, self._refused, self._together, self.left_out
        )  # fmt: skip
        for table in tables:
            if len(table) > 2 * len(observation.jobs) + 1000:
                for name in table.keys() - observation.jobs.keys() - known.present - known.away:
                    del table[name]

    # --- contents ----------------------------------------------------------------------------------------------------

    def _leave(self, name: str, now: float) -> Content:
        return event_content("withdrawal", f"leave {name} {self.known.leaves[name] + 1}", now, job=name, returns=True)

    def _arrival_events(self, look: _Look) -> list[Content]:
        known, found, new = self.known, list[Content](), dict[int, list[str]]()
        for name in sorted(look.arriving, key=by_number):
            if name in look.values:
                new.setdefault(self._together.get(name, MOST_TOGETHER), []).append(name)
            else:
                left = known.leaves[name] + (name in look.leaving)
                found.append(event_content("arrival", f"arrive {name} {left + 1}", look.now, job=name))
        for most, names in new.items():
            found += [self._arrival(part, look) for part in _parts(names, most, look.values)]
        return found

    def _arrival(self, names: Sequence[str], look: _Look) -> Content:
        jobs = [{"job": name, "values": look.values[name]} for name in names]
        if len(jobs) == 1:
            return event_content("arrival", f"arrive {names[0]}", look.now, **jobs[0])
        return event_content("arrivals", f"arrive {names[0]} and {len(jobs) - 1}", look.now, jobs=jobs)


@dataclass
class _Look:
    """One observation, the plan that was in effect before it, and what is found: `leaving` and `arriving` jobs, those
    that have `ended`, `candidates` that arrive in turns, the `values` of new jobs, and further events.
    """

    observation: Observation
    now: float
    plan: Mapping[str, Allocation]
    leaving: list[str] = field(default_factory=list)
    arriving: list[str] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    candidates: dict[str, ObservedJob] = field(default_factory=dict)
    values: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _events: list[Content] = field(default_factory=list)

    def add(self, kind: str, id: str, **rest: Any) -> None:
        self._events.append(event_content(kind, id, self.now, **rest))

    @property
    def events(self) -> Iterable[Content]:
        return sorted(self._events, key=lambda content: _ORDER[content["kind"]])


_ORDER = {"progress": 0, "completion": 1, "withdrawal": 1}


def event_content(kind: str, id: str, time: float, **rest: Any) -> Content:
    return {"version": VERSION, "id": id, "time": time, "kind": kind, **rest}


def _parts(names: Sequence[str], most: int, values: Mapping[str, Mapping[str, Any]]) -> Iterable[list[str]]:
    """Cut a list of jobs into parts that fit into one event each."""
    part, size = list[str](), 0
    for name in names:
        own = len(msgspec.json.encode(values[name])) + len(name) + 30
        if part and (len(part) >= most or size + own > LONGEST_LINE // 2):
            yield part
            part, size = [], 0
        part.append(name)
        size += own
    if part:
        yield part
