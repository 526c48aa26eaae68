"""A cluster in memory that implements the protocol of drivers, with a clock of its own and faults on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from gsdsl_clusters.drivers.protocol import (
    Action,
    ActionKind,
    ActionRefused,
    ClusterUnavailable,
    Field,
    JobState,
    Observation,
    ObservedJob,
    ObservedNode,
)

EPOCH = 1_800_000_000.0


@dataclass
class Job:
    name: str
    gpus: int
    seconds: float
    submitted: float
    fields: dict[str, Field] = field(default_factory=dict)
    state: JobState = JobState.PENDING
    held: bool = True
    pinned: tuple[str, ...] = ()
    allocation: dict[str, int] = field(default_factory=dict)
    ran_on: dict[str, int] = field(default_factory=dict)
    started: float | None = None
    ended: float | None = None
    restarts: int = 0
    starts: int = 0  # how often the cluster has started it
    submitted_yet: bool = False


class SimulatedCluster:
    """Jobs that are released start on their pinned nodes as soon as these are free. `sleep` advances the time.

    `refuse` and `fault` are asked before each action; `fault` may raise in the middle of one (after half of it).
    """

    fields = frozenset({"comment"})

    def __init__(self, nodes: dict[str, int], *, starts_by_itself: bool = False) -> None:
        self.time = EPOCH
        self.nodes = {name: ObservedNode(name, gpus) for name, gpus in nodes.items()}
        self.jobs: dict[str, Job] = {}
        self.starts_by_itself = starts_by_itself
        self.refuse: Callable[[Action], str | None] = lambda action: None
        self.fault: Callable[[Action, str], None] = lambda action, moment: None  # moment: before, half, after
        self.down = False
        self.hidden: set[str] = set()  # jobs that observations miss
        self.forgets_ended = False
        self.skew = 0.0  # of the clock of the cluster
        self.actions: list[Action] = []
        self.at: list[tuple[float, Callable[[], None]]] = []  # what happens at which time

    # --- the world ---------------------------------------------------------------------------------------------------

    def submit(self, name: str, gpus: int, seconds: float, at: float = 0.0, held: bool = True, **fields: Field) -> None:
        self.jobs[name] = Job(name, gpus, seconds, EPOCH + at, fields, held=held)

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        """Advance second by second."""
        end = self.time + seconds
        while self.time < end - 1e-9:
            self.time = min(end, self.time + 0.5)
            for due in [pair for pair in self.at if pair[0] <= self.time]:
                self.at.remove(due)
                due[1]()
            self._step()

    def free(self) -> Counter[str]:
        free = Counter({name: node.gpus if node.up else 0 for name, node in self.nodes.items()})
        for job in self.jobs.values():
            free.subtract(job.allocation)
        return free

    def fail(self, name: str) -> None:
        """A node fails: its jobs are put back into the queue, not held."""
        self.nodes[name] = replace(self.nodes[name], up=False)
        for job in self.jobs.values():
            if name in job.allocation:
                self._put_back(job, held=False)

    def recover(self, name: str) -> None:
        self.nodes[name] = replace(self.nodes[name], up=True)

    def _put_back(self, job: Job, *, held: bool) -> None:
        job.state, job.held, job.allocation, job.started = JobState.PENDING, held, {}, None
        job.restarts += 1

    def _step(self) -> None:
        for job in self.jobs.values():
            job.submitted_yet |= job.submitted <= self.time
            if job.state is JobState.RUNNING and job.started is not None and self.time >= job.started + job.seconds:
                job.state, job.ended = JobState.DONE, job.started + job.seconds
                job.ran_on, job.allocation = job.allocation, {}
        for job in self.jobs.values():
            if job.submitted_yet and job.state is JobState.PENDING and not job.held:
                self._try_start(job)

    def _try_start(self, job: Job) -> None:
        free = self.free()
        if job.pinned:
            wanted = dict.fromkeys(job.pinned, job.gpus // len(job.pinned))
        elif self.starts_by_itself:
            node = next((n for n in self.nodes if free[n] >= job.gpus), None)
            if node is None:
                return
            wanted = {node: job.gpus}
        else:
            return
        if all(free[node] >= gpus for node, gpus in wanted.items()):
            job.state, job.allocation, job.started = JobState.RUNNING, wanted, self.time
            job.starts += 1

    # --- the protocol ------------------------------------------------------------------------------------------------

    def observe(self) -> Observation:
        if self.down:
            raise ClusterUnavailable("no answer")
        self._step()
        shown = [
            job
            for job in self.jobs.values()
            if job.submitted_yet and job.name not in self.hidden and not (self.forgets_ended and job.state.has_ended)
        ]
        return Observation({job.name: self._shown(job) for job in shown}, dict(self.nodes))

    def _shown(self, job: Job) -> ObservedJob:
        def shifted(time: float | None) -> float | None:
            return None if time is None else time + self.skew

        return ObservedJob(
            job.name, job.state, job.gpus, 0, job.held, job.pinned, dict(job.allocation), dict(job.ran_on),
            shifted(job.submitted), shifted(job.started), shifted(job.ended), job.restarts, dict(job.fields),
        )  # fmt: skip

    def act(self, action: Action) -> None:
        if self.down:
            raise ClusterUnavailable("no answer")
        self.fault(action, "before")
        if (why := self.refuse(action)) is not None:
            raise ActionRefused(why)
        job = self.jobs[action.job]
        self.actions.append(action)
        match action.kind:
            case ActionKind.START:
                if job.state is not JobState.PENDING:
                    raise ActionRefused("the job does not wait")
                job.pinned = tuple(action.allocation)
                self.fault(action, "half")
                job.held = False
            case ActionKind.HOLD:
                if job.state is not JobState.PENDING:
                    raise ActionRefused("the job does not wait")
                job.held = True
            case ActionKind.REQUEUE:
                self._put_back(job, held=True)
            case ActionKind.RESIZE:
                job.gpus = sum(action.allocation.values())
        self.fault(action, "after")
