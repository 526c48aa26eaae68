"""The protocol of a driver: what a cluster shows of its jobs and nodes, and what can be done to a job.

A driver holds no decision and remembers no plan. It observes the complete state each time, so an event that comes late,
twice or never changes nothing: the run compares states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, runtime_checkable

Field: TypeAlias = str | int | float
Allocation: TypeAlias = Mapping[str, int]  # GPUs by node


class JobState(StrEnum):
    """The state of a job. A `blocked` job must not start yet: it waits for another job, or for a time."""

    BLOCKED = "blocked"
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"  # successfully
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def has_ended(self) -> bool:
        return self in (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, slots=True)
class ObservedJob:
    """One job of the cluster. Times are in seconds since 1970 by the clock of the cluster, None if unknown.

    `gpus` and `nodes` are the numbers that the job requests (0: any number of nodes), `allocation` the GPUs that it
    occupies now, also while it ends, and `ran_on` those of a job that has ended, by node. A job that is `even` requests
    the same number of GPUs on each node. A pending job is `held` if the cluster must not start it; if it may start only
    on certain nodes, these are `pinned`. `restarts` counts how often it was put back into the queue. `fields` and
    `lists` are everything else that a mapping can read. If the job cannot be managed, `unsupported` says why. A pending
    job that runs in part already is `partly_started`, and `allocation` is that part. If the job `asks`, the cluster
    waits for a decision about it, also if the run leaves it out.

    `reason` is what the cluster says about a job that waits. The job must not run on the nodes in `misfits`, by what it
    demands; each has the cause in words. Of an `unread` job only the GPUs are known that it occupies, at most. If a job
    `waits_everywhere`, it would not start on other nodes either. A blocked job is `over_limit` while as many others of
    its array run, or start before it, as may run at once.
    """

    name: str
    state: JobState
    gpus: int = 0
    nodes: int = 0
    held: bool = False
    pinned: tuple[str, ...] = ()
    allocation: Allocation = field(default_factory=dict)
    ran_on: Allocation = field(default_factory=dict)
    submitted: float | None = None
    started: float | None = None
    ended: float | None = None
    restarts: int = 0
    fields: Mapping[str, Field] = field(default_factory=dict)
    unsupported: str = ""
    partly_started: bool = False
    asks: bool = False
    reason: str = ""
    misfits: Mapping[str, str] = field(default_factory=dict)
    unread: bool = False
    waits_everywhere: bool = False
    over_limit: bool = False
    even: bool = False
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def after(self) -> tuple[str, ...]:
        """The jobs that must end before this one, if nothing else blocks it."""
        return self.lists.get("after", ())


@dataclass(frozen=True, slots=True)
class ObservedNode:
    """One node. A node that is not `up` starts no jobs; if it `drains`, jobs that run there go on. `gpu_type` is "" if
    it is unknown.
    """

    name: str
    gpus: int
    up: bool = True
    gpu_type: str = ""
    reason: str = ""
    drains: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """The state of the cluster: jobs and nodes by name, and in words what of it was not understood and is left out."""

    jobs: Mapping[str, ObservedJob]
    nodes: Mapping[str, ObservedNode]
    unread: tuple[str, ...] = ()


class ActionKind(StrEnum):
    START = "start"
    HOLD = "hold"
    REQUEUE = "requeue"
    RESIZE = "resize"
    LEAVE_OUT = "leave_out"


@dataclass(frozen=True, slots=True)
class Action:
    """A change of one job. `start` and `resize` have the wanted GPUs by node; the cluster gets the reason."""

    kind: ActionKind
    job: str
    allocation: Allocation = field(default_factory=dict)
    reason: str = ""


class ClusterUnavailable(Exception):
    """The cluster does not answer, or not completely. It is unknown whether an action was done."""


class ActionRefused(Exception):
    """The cluster has refused an action."""


class DrivenCluster(Protocol):
    """A cluster. `fields` names what a mapping can read of a job besides the attributes of `ObservedJob`."""

    fields: frozenset[str]

    def observe(self) -> Observation:
        """Return the complete state. Raises ClusterUnavailable."""
        ...

    def act(self, action: Action) -> None:
        """Do an action and return when the cluster has accepted it.

        start: let a pending job run on exactly these nodes. hold: do not start a pending job. requeue: stop a running
        job and put it into the queue, held. resize: change the GPUs of a pending job. leave_out: the run does not
        manage a job that `asks`. If only a part of a start is done, the job must not have started, or be shown as
        `partly_started`; a hold stops such a part. Raises ActionRefused, and ClusterUnavailable.
        """
        ...


@runtime_checkable
class PreparedCluster(Protocol):
    """A cluster that must be prepared before a run acts on it."""

    def prepare(self) -> None:
        """Called once before the first observation of an acting run. Raises ActionRefused, and ClusterUnavailable."""
        ...


@runtime_checkable
class ExplainingCluster(Protocol):
    """A cluster that shows its users why a job waits."""

    def explain(self, job: str, why: str) -> None:
        """Show why a job of the last observation waits. Nothing depends on it: failures are ignored."""
        ...


class ClusterFactory(Protocol):
    """Makes a cluster from its section of the cluster file. Raises DiagnosticError and ValueError (a wrong setting)."""

    def __call__(self, settings: Mapping[str, Any]) -> DrivenCluster: ...


def by_number(name: str) -> tuple[int, int, str]:
    """Numbers come in their order, also as parts of a name such as `123_5`; then all other names."""
    first, _, second = name.partition("_")
    if first.isdecimal() and (second.isdecimal() or name == first):
        return int(first), int(second or -1), ""
    return 1 << 62, 0, name
