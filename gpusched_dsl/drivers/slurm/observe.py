"""Jobs and nodes of Slurm from its JSON documents, as `squeue --json` and slurmrestd write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpusched_dsl.drivers.protocol import Field, JobState, Observation, ObservedJob, ObservedNode
from gpusched_dsl.drivers.slurm.gres import gpus
from gpusched_dsl.drivers.slurm.hostlist import expand
from gpusched_dsl.drivers.slurm.json_values import UnknownJson, date, names, number, text

STATES: Mapping[str, JobState] = {
    "PENDING": JobState.PENDING,
    "CONFIGURING": JobState.RUNNING,
    "RUNNING": JobState.RUNNING,
    "SUSPENDED": JobState.RUNNING,
    "STOPPED": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "STAGE_OUT": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "REQUEUED": JobState.PENDING,
    "REQUEUE_HOLD": JobState.PENDING,
    "REQUEUE_FED": JobState.PENDING,
    "SPECIAL_EXIT": JobState.PENDING,
    "COMPLETED": JobState.DONE,
    "CANCELLED": JobState.CANCELLED,
    "REVOKED": JobState.CANCELLED,
    "FAILED": JobState.FAILED,
    "TIMEOUT": JobState.FAILED,
    "NODE_FAIL": JobState.FAILED,
    "PREEMPTED": JobState.FAILED,
    "BOOT_FAIL": JobState.FAILED,
    "DEADLINE": JobState.FAILED,
    "OUT_OF_MEMORY": JobState.FAILED,
    "LAUNCH_FAILED": JobState.FAILED,
    "RECONFIG_FAIL": JobState.FAILED,
}
FLAGS = frozenset({"COMPLETING", "POWER_UP_NODE", "UPDATE_DB", "EXPEDITING", "REQUEUED"})
BLOCKED = frozenset({"Dependency", "DependencyNeverSatisfied", "Reservation", "JobArrayTaskLimit"})
DOWN = frozenset(
    {"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "UNKNOWN", "FUTURE", "NO_RESPOND",
     "NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN", "MAINTENANCE", "MAINT", "REBOOT",
     "REBOOT_REQUESTED", "INVAL", "INVALID", "INVALID_REG", "PLANNED_DOWN"}
)  # fmt: skip
NODE_STATES = DOWN | {
    "IDLE", "ALLOCATED", "ALLOC", "MIXED", "COMPLETING", "COMP", "PLANNED", "RESERVED", "RES", "CLOUD", "POWERED_UP",
    "POWERING_UP", "POWER_UP", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "UNDRAIN", "RESUME", "EXTERNAL", "PERFCTRS", "BLOCKED",
    "CANCEL_REBOOT", "NET", "CLEAR",
}  # fmt: skip
TEXTS = ("comment", "account", "qos", "partition", "user", "job_name", "features", "admin_comment")
FIELDS = frozenset({*TEXTS, "time_limit", "priority", "nodes_wanted", "deadline_date", "gpu_type"})


def observation_of(
    jobs: Sequence[Mapping[str, Any]], nodes: Sequence[Mapping[str, Any]], partition: str | None, now: float = 0.0
) -> Observation:
    """The jobs of a partition (all without one), and the nodes. `now` is in seconds since 1970. Raises UnknownJson."""
    found = {}
    for record in nodes:
        if partition is None or partition in _list(record, "partitions"):
            node = _node(record)
            found[node.name] = node
    shown = [
        _job(record, now) for record in jobs if partition is None or partition in text(record, "partition").split(",")
    ]
    return Observation({job.name: job for job in shown}, found)


def _list(record: Mapping[str, Any], name: str) -> list[str]:
    return [item for item in text(record, name).split(",") if item]


# --- jobs ------------------------------------------------------------------------------------------------------------


def _job(record: Mapping[str, Any], now: float) -> ObservedJob:
    id = number(record, "job_id")
    if id is None:
        raise UnknownJson("a job has no `job_id`")
    name = str(int(id))
    state, completing = _state(record, name)
    reason = text(record, "state_reason")
    priority = number(record, "priority")
    restarts, later = int(number(record, "restart_cnt") or 0), _begins_later(record, reason, now)
    held = state is JobState.PENDING and (later or priority == 0 or reason in ("JobHeldUser", "JobHeldAdmin"))
    if state is JobState.PENDING and (reason in BLOCKED or (later and not restarts)):
        state = JobState.BLOCKED
    nodes = _hosts(text(record, "nodes")) if state is not JobState.PENDING else ()
    wanted, gpu_type, unsupported = _requested_gpus(record)
    used = _allocation(record, nodes, wanted)
    occupies = state is JobState.RUNNING or completing
    fields: dict[str, Field] = {"priority": priority or 0.0, "gpu_type": gpu_type}
    for field, key in _TEXT_KEYS.items():
        fields[field] = text(record, key)
    for field, value in (
        ("time_limit", number(record, "time_limit")), ("nodes_wanted", number(record, "node_count")),
        ("deadline_date", date(record, "deadline")),
    ):  # fmt: skip
        if value is not None and value < float("inf"):
            fields[field] = value * 60.0 if field == "time_limit" else value
    has_run = state is not JobState.PENDING and state is not JobState.BLOCKED
    return ObservedJob(
        name=name,
        state=state,
        gpus=wanted,
        nodes=int(number(record, "node_count") or 0),
        held=held,
        pinned=_hosts(text(record, "required_nodes")),
        allocation=used if occupies else {},
        ran_on=used if state.has_ended else {},
        submitted=date(record, "submit_time"),
        started=date(record, "start_time") if has_run else None,
        ended=date(record, "end_time") if state.has_ended else None,
        restarts=restarts,
        fields=fields,
        unsupported=unsupported,
    )


_TEXT_KEYS = {**{name: name for name in TEXTS}, "user": "user_name", "job_name": "name"}


def _state(record: Mapping[str, Any], name: str) -> tuple[JobState, bool]:
    """The state of a job, and whether it still occupies its nodes while it ends."""
    stated = names(record, "job_state")
    base = [state for state in stated if state not in FLAGS] or [state for state in stated if state == "REQUEUED"]
    if not base and "COMPLETING" in stated:
        base = ["COMPLETED"]
    unknown = [state for state in base if state not in STATES]
    if unknown or not base:
        known = ", ".join(stated) or "none"
        raise UnknownJson(f"the state of job {name} is unknown: {known}")
    chosen = [STATES[state] for state in base]
    pending = next((state for state in chosen if state is JobState.PENDING), None)
    return pending or chosen[0], "COMPLETING" in stated


def _begins_later(record: Mapping[str, Any], reason: str, now: float) -> bool:
    """Whether a job is to begin later: its user said so, or it was put back, and then it may start at once."""
    eligible = date(record, "eligible_time")
    return reason == "BeginTime" or (eligible is not None and 0.0 < now < eligible)


def _hosts(text: str) -> tuple[str, ...]:
    try:
        return expand(text)
    except ValueError as failure:
        raise UnknownJson(str(failure)) from failure


def _requested_gpus(record: Mapping[str, Any]) -> tuple[int, str, str]:
    """The GPUs that a job requests in all, their type, and why the job cannot be managed, else ""."""
    nodes, tasks = int(number(record, "node_count") or 1), int(number(record, "tasks") or 1)
    if text(record, "array_task_string"):
        return 0, "", "it is an array of jobs that are not separate yet; submit them as single jobs"
    if number(record, "het_job_id"):
        return 0, "", "it is a part of a heterogeneous job"
    found, kind = 0, ""
    for key, times in (("tres_per_job", 1), ("tres_per_node", nodes), ("tres_per_task", tasks)):
        try:
            count, kind = gpus(text(record, key))
        except ValueError as failure:
            return 0, "", str(failure)
        if count:
            return count * times, kind, ""
    if "gpu" in text(record, "tres_per_socket"):
        return 0, "", "it requests GPUs per socket"
    try:
        found, kind = gpus(text(record, "tres_req_str"))
    except ValueError as failure:
        return 0, "", str(failure)
    return found, kind, "" if found else "it requests no GPU"


def _allocation(record: Mapping[str, Any], nodes: Sequence[str], wanted: int) -> dict[str, int]:
    """The GPUs on each node: as the detail of the resources says, else the wanted ones divided equally."""
    detail = record.get("gres_detail")
    if isinstance(detail, list) and len(detail) == len(nodes) and nodes:
        try:
            return {node: gpus(str(item))[0] for node, item in zip(nodes, detail, strict=True)}
        except ValueError as failure:
            raise UnknownJson(str(failure)) from failure
    return {node: wanted // len(nodes) + (at < wanted % len(nodes)) for at, node in enumerate(nodes)}


# --- nodes -----------------------------------------------------------------------------------------------------------


def _node(record: Mapping[str, Any]) -> ObservedNode:
    name = text(record, "name")
    if not name:
        raise UnknownJson("a node has no `name`")
    stated = {state.rstrip("*~#!%$@^-") for state in (*names(record, "state"), *names(record, "state_flags"))}
    unknown = stated - NODE_STATES
    if unknown or not stated:
        raise UnknownJson(f"the state of node {name} is unknown: {', '.join(sorted(unknown)) or 'none'}")
    try:
        count, kind = gpus(text(record, "gres"))
    except ValueError as failure:
        raise UnknownJson(f"node {name}: {failure}") from failure
    return ObservedNode(name, count, not stated & DOWN, kind, text(record, "reason"))
