"""A small Slurm in memory behind `squeue`, `sinfo` and `scontrol`: it starts released jobs as their demands allow.

Jobs may demand nodes, exclude nodes, need features, types of GPUs, licences, a reservation and other jobs, and may be
held by their user or an operator. Tasks of an array share a record until they start or are changed. Jobs that are not
held are started by Slurm itself, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gsdsl_clusters.drivers.protocol import ActionRefused
from gsdsl_clusters.drivers.slurm.cluster import SlurmCluster
from gsdsl_clusters.drivers.slurm.commands import Commands
from gsdsl_clusters.drivers.slurm.hostlist import expand
from gsdsl_clusters.drivers.slurm.reservations import COMMAND, VARIABLES

EPOCH = 1_800_000_000.0


@dataclass
class Node:
    name: str
    gpus: int
    kind: str = ""
    features: tuple[str, ...] = ()
    reservation: str = ""
    flags: tuple[str, ...] = ()


@dataclass
class Job:
    id: int
    gpus: int
    seconds: float
    held: str = "JobHeldUser"  # "" if it is not
    asked: tuple[str, ...] = ()  # `-w`
    excluded: tuple[str, ...] = ()
    features: str = ""
    kind: str = ""
    reservation: str = ""
    licence: str = ""
    after: tuple[int, ...] = ()
    exclusive: bool = False
    submitted: float = EPOCH
    state: str = "PENDING"
    reason: str = ""
    node: str = ""
    started: float = 0.0
    ended: float = 0.0
    listed: tuple[str, ...] = ()
    admin_comment: str = ""
    restarts: int = 0
    eligible: float = 0.0
    begun: int = 0  # how often it started
    array: int = 0  # the id of the array, 0 for other jobs
    task: int = 0
    minutes: int = 60  # the time limit
    nodes: int = 1  # with so many GPUs on each
    at_once: int = 0  # how many tasks of the array may run, 0 for all
    separate: bool = False  # a task with a record of its own

    def __post_init__(self) -> None:
        self.listed = self.asked


@dataclass
class SimulatedSlurm:
    """`sleep` advances the time in steps of a second; `at` has what happens when."""

    nodes: list[Node]
    licences: dict[str, int] = field(default_factory=dict)
    reservations: list[tuple[str, float, float, str]] = field(default_factory=list)  # name, start, end, nodes
    jobs: dict[int, Job] = field(default_factory=dict)
    time: float = EPOCH
    at: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)

    def submit(self, **given: Any) -> Job:
        job = Job(len(self.jobs) + 1, **given)
        self.jobs[job.id] = job
        return job

    def submit_array(self, tasks: Sequence[int], at_once: int = 0, **given: Any) -> list[Job]:
        first = len(self.jobs) + 1
        return [self.submit(array=first, task=task, at_once=at_once, **given) for task in tasks]

    def find(self, name: str) -> Job:
        """The job of a name; a task of an array then has a record of its own."""
        array, _, task = name.partition("_")
        if not task:
            return self.jobs[int(name)]
        [job] = [job for job in self.jobs.values() if (job.array, job.task) == (int(array), int(task))]
        job.separate = True
        return job

    def cluster(self) -> SlurmCluster:
        return SlurmCluster("main", _Commands(self), now=self.now)

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        end = self.time + seconds
        while self.time < end - 1e-9:
            self.time = min(end, self.time + 1.0)
            for due in [pair for pair in self.at if pair[0] <= self.time]:
                self.at.remove(due)
                due[1]()
            self.step()

    # --- the scheduler -----------------------------------------------------------------------------------------------

    def free(self, node: Node) -> int:
        on = [job for job in self.jobs.values() if job.state == "RUNNING" and node.name in job.node.split(",")]
        return 0 if any(job.exclusive for job in on) else node.gpus - sum(job.gpus for job in on)

    def licence_is_free(self, job: Job) -> bool:
        using = sum(j.licence == job.licence for j in self.jobs.values() if j.state == "RUNNING")
        return not job.licence or using < self.licences[job.licence]

    def depends(self, job: Job) -> bool:
        return any(self.jobs[id].state != "COMPLETED" for id in job.after)

    def misfit(self, job: Job, node: Node, listed: Sequence[str]) -> str:
        """Why a job cannot run on a node at all, as Slurm says."""
        if (listed and node.name not in listed) or node.name in job.excluded or (job.kind and job.kind != node.kind):
            return "BadConstraints" if set(listed) <= set(job.excluded) else "Resources"
        if job.features and not set(job.features.split("&")) <= set(node.features):
            return "BadConstraints"
        for _, start, end, nodes in self.reservations:
            if start < self.time + job.minutes * 60 and self.time < end and node.name in expand(nodes):
                return "ReqNodeNotAvail"
        if node.flags or node.reservation != job.reservation:
            return "Reservation" if job.reservation else "ReqNodeNotAvail"
        return ""

    def could_start(self, job: Job, *, asked_only: bool = True) -> list[Node]:
        """The nodes on which a job could run now, by its own demands, or by its present list of nodes.

        A job that takes whole nodes is planned only where it requests all of their GPUs.
        """
        listed = job.asked if asked_only else job.listed
        if job.state != "PENDING" or job.submitted > self.time or self.depends(job) or not self.licence_is_free(job):
            return []
        needed = {node.name: node.gpus if job.exclusive else job.gpus for node in self.nodes}
        return [
            node
            for node in self.nodes
            if not self.misfit(job, node, listed)
            and self.free(node) >= needed[node.name]
            and (needed[node.name] == job.gpus or not asked_only)
        ]

    def step(self) -> None:
        for job in self.jobs.values():
            if job.state == "RUNNING" and self.time >= job.started + job.seconds:
                job.state, job.ended = "COMPLETED", self.time
        for job in self.jobs.values():
            if job.state != "PENDING" or job.submitted > self.time or job.held or job.eligible > self.time:
                continue
            if self.depends(job):
                job.reason = "Dependency"
                continue
            if job.listed and set(job.listed) <= set(job.excluded):
                job.held = job.reason = "BadConstraints"
                continue
            if not self.licence_is_free(job):
                job.reason = "Licenses"
                continue
            if job.at_once and self.running_tasks(job.array) >= job.at_once:
                job.reason = "JobArrayTaskLimit"
                continue
            found = self.could_start(job, asked_only=False)
            if len(found) < job.nodes:
                whys = [why for node in self.nodes if (why := self.misfit(job, node, job.listed))]
                job.reason = whys[0] if len(whys) == len(self.nodes) else "Resources"
                continue
            job.state, job.node, job.started, job.reason = "RUNNING", "", self.time, "None"
            job.node = ",".join(node.name for node in found[: job.nodes])
            job.begun += 1
            job.separate = bool(job.array)

    def running_tasks(self, array: int) -> int:
        return sum(job.array == array and job.state == "RUNNING" for job in self.jobs.values())

    # --- the commands ------------------------------------------------------------------------------------------------

    def documents(self, what: str) -> dict[str, Any]:
        if what == "sinfo":
            return {"nodes": [self._node(node) for node in self.nodes]}
        present = [job for job in self.jobs.values() if job.submitted <= self.time]
        arrays = {job.array for job in present if job.array and not job.separate}
        found = [self._job(job) for job in present if not job.array or job.separate]
        return {"jobs": found + [self._array([j for j in present if j.array == a and not j.separate]) for a in arrays]}

    def _array(self, tasks: Sequence[Job]) -> dict[str, Any]:
        """The record that tasks share."""
        stated = ",".join(str(job.task) for job in tasks) + (f"%{tasks[0].at_once}" if tasks[0].at_once else "")
        return {**self._job(tasks[0]), "job_id": tasks[0].array, "array_task_id": None, "array_task_string": stated}

    def _node(self, node: Node) -> dict[str, Any]:
        flags = [*node.flags, *(["RESERVED"] if node.reservation else [])]
        if any(begin <= self.time < end and node.name in expand(nodes) for _, begin, end, nodes in self.reservations):
            flags.append("MAINTENANCE")
        return {
            "name": node.name, "gres": f"gpu:{node.kind}:{node.gpus}" if node.kind else f"gpu:{node.gpus}",
            "state": "idle", "state_flags": flags, "partitions": ["main"], "reason": "",
            "features": ",".join(node.features), "active_features": ",".join(node.features),
        }  # fmt: skip

    def _job(self, job: Job) -> dict[str, Any]:
        ran = job.state != "PENDING"
        waits_for = ",".join(f"afterok:{id}(unfulfilled)" for id in job.after if self.jobs[id].state != "COMPLETED")
        return {
            "array_job_id": job.array, "array_task_id": job.task if job.array else None, "array_task_string": "",
            "array_max_tasks": job.at_once, "tasks": 1,
            "job_id": job.id, "job_state": job.state, "priority": 0 if job.held else 100, "node_count": job.nodes,
            "state_reason": job.held or job.reason, "partition": "main", "nodes": job.node if ran else "",
            "tres_per_node": f"gres:gpu:{job.kind}:{job.gpus}" if job.kind else f"gres:gpu:{job.gpus}",
            "gres_detail": [f"gpu:{job.gpus}(IDX:0)"] * job.nodes if job.state == "RUNNING" else [],
            "required_nodes": ",".join(job.listed), "excluded_nodes": ",".join(job.excluded), "dependency": waits_for,
            "features": job.features, "licenses": f"{job.licence}:1" if job.licence else "",
            "resv_name": job.reservation, "shared": "none" if job.exclusive else None,
            "submit_time": int(job.submitted), "start_time": int(job.started), "end_time": int(job.ended),
            "eligible_time": int(job.eligible), "time_limit": job.minutes, "restart_cnt": job.restarts,
            "admin_comment": job.admin_comment, "comment": f"length={job.seconds}", "user_name": "ada", "name": "x",
        }  # fmt: skip

    def change(self, words: Sequence[str]) -> None:
        self.changes.append(" ".join(words))
        verb, *rest = words
        if verb in ("release", "hold", "uhold", "requeuehold"):
            job = self.find(rest[0])
            if verb == "requeuehold" and job.state == "RUNNING":
                job.state, job.node, job.restarts, job.held = "PENDING", "", job.restarts + 1, "JobHeldUser"
                return
            if job.state != "PENDING":
                raise ActionRefused("Job is no longer pending execution")
            job.held = {"release": "", "hold": "JobHeldAdmin", "uhold": "JobHeldUser"}.get(verb, job.held)
            return
        given = dict(word.split("=", 1) for word in rest)
        job = self.find(given["JobId"])
        if job.state != "PENDING":
            raise ActionRefused("Job is no longer pending execution")
        if "ReqNodeList" in given:
            job.listed = expand(given["ReqNodeList"])
        job.admin_comment = given.get("AdminComment", job.admin_comment)


@dataclass(frozen=True)
class _Commands(Commands):
    slurm: SimulatedSlurm = None  # type: ignore[assignment]

    def __init__(self, slurm: SimulatedSlurm) -> None:
        object.__setattr__(self, "slurm", slurm)

    def json(self, command: Sequence[str]) -> dict[str, Any]:
        return self.slurm.documents(command[0])

    def text(self, command: Sequence[str], variables: Any = None) -> str:
        assert (command, variables) == (COMMAND, VARIABLES)
        form = "ReservationName={} StartTime={:.0f} EndTime={:.0f} Duration=01:00:00 Nodes={} NodeCnt=1 Flags=MAINT"
        return "\n".join(form.format(*known) for known in self.slurm.reservations)

    def change(self, command: Sequence[str]) -> None:
        self.slurm.change(command[1:])

    def has(self, name: str) -> bool:
        return True
