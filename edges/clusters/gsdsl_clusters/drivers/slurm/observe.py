"""Jobs and nodes of Slurm from its JSON documents, as `squeue --json` and slurmrestd write them.

A record that is not understood is left out by itself. Its node starts no jobs, and its job occupies what it may occupy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gsdsl_clusters.drivers.protocol import Field, JobState, Observation, ObservedJob, ObservedNode
from gsdsl_clusters.drivers.slurm.arrays import apply_limits, name_of, separate, task_limit, waiting_tasks
from gsdsl_clusters.drivers.slurm.demands import HELD_BY_US, NodeFacts, SlurmDemands, is_exclusive
from gsdsl_clusters.drivers.slurm.dependencies import predecessors
from gsdsl_clusters.drivers.slurm.gres import GpuCount, read_gpus
from gsdsl_clusters.drivers.slurm.job_records import gpus_on, job_states, time_limit
from gsdsl_clusters.drivers.slurm.json_values import UnknownJson, date, hosts, items, names, number, text, whole
from gsdsl_clusters.drivers.slurm.reservations import Reservation

BLOCKED = frozenset({"Dependency", "DependencyNeverSatisfied", "JobHoldMaxRequeue"})
HELD = frozenset({"JobHeldUser", "JobHeldAdmin"})
OF_NODES = frozenset(  # reasons of jobs that wait for nodes: others may do
    {"", "None", "Resources", "Priority", "ReqNodeNotAvail", "BadConstraints", "NodeDown", "JobHeldUser", "BeginTime"}
)
DOWN = frozenset(
    {"DOWN", "ERROR", "UNKNOWN", "FUTURE", "NO_RESPOND", "NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN", "INVAL",
     "INVALID", "INVALID_REG", "PLANNED_DOWN"}
)  # fmt: skip
DRAINS = frozenset(
    {"DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "POWER_DOWN", "POWER_DRAIN", "MAINTENANCE", "MAINT", "REBOOT",
     "REBOOT_REQUESTED", "REBOOT_ISSUED", "BLOCKED"}
)  # fmt: skip
MAINTENANCE = frozenset({"MAINTENANCE", "MAINT"})  # of `DRAINS`: states during a reservation with the flag MAINT
NODE_STATES = DOWN | DRAINS | {
    "IDLE", "ALLOCATED", "ALLOC", "MIXED", "COMPLETING", "COMP", "PLANNED", "RESERVED", "RES", "CLOUD", "POWERED_UP",
    "POWERING_UP", "POWER_UP", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "UNDRAIN", "RESUME", "EXTERNAL", "PERFCTRS",
    "CANCEL_REBOOT", "NET", "CLEAR",
}  # fmt: skip
TEXTS = ("comment", "account", "qos", "partition", "user", "job_name", "features", "admin_comment", "licenses")
FIELDS = frozenset(
    {
        *TEXTS,
        "array_job",
        "array_task",
        "array_limit",
        "time_limit",
        "priority",
        "nodes_wanted",
        "deadline_date",
        "gpu_type",
        "gpu_types",
        "allowed_nodes",
        "after",
    }
)


def observation_of(
    jobs: Sequence[Any],
    nodes: Sequence[Any],
    partition: str | None,
    now: float = 0.0,
    reservations: Sequence[Reservation] = (),
) -> Observation:
    """The jobs of a partition (all without one), and the nodes. `now` is in seconds since 1970; `reservations` may
    begin later.

    Jobs of other partitions that occupy these nodes are there, too, but cannot be managed.
    """
    facts: dict[str, NodeFacts] = {}
    unread: list[str] = []
    for record in _objects(nodes, "node", unread):
        try:
            if partition is None or partition in items(record, "partitions"):
                known = _node(record, unread)
                facts[known.node.name] = known
        except UnknownJson as unknown:
            unread.append(f"a node is left out: {unknown}")
    misfits = SlurmDemands(facts, now, reservations)
    found: dict[str, ObservedJob] = {}
    causes: dict[str, list[str]] = {}
    limits: dict[str, int] = {}
    dependent: dict[str, str] = {}
    for at, record in enumerate(_objects(jobs, "job", unread)):
        try:
            mine = partition is None or partition in items(record, "partition")
            if not mine and not _is_on(record, facts):
                continue
            job, tasks = _job(record, now, misfits), waiting_tasks(record)
            if not mine:
                job = replace(job, unsupported="it is in another partition")
            if (array := job.fields["array_job"]) and not job.state.has_ended and (limit := task_limit(record)):
                limits[str(array)] = limit
            own = list(separate(job, tasks, unread)) if tasks else [job]
            found.update((one.name, one) for one in own)
            if (
                job.state is JobState.BLOCKED
                and mine
                and not task_limit(record)
                and _waits_for_jobs_only(record, misfits)
            ):
                dependent.update((one.name, text(record, "dependency")) for one in own)
            continue
        except UnknownJson as unknown:
            job = _unread_job(record, at, facts, str(unknown))
            causes.setdefault(str(unknown), []).append(job.name)
        found[job.name] = job
    apply_limits(found, limits)
    for name, stated in dependent.items():
        job = found[name]
        if after := predecessors(stated, job, found):
            found[name] = replace(job, lists={**job.lists, "after": after})
    for cause, left_out in causes.items():
        more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        unread.append(f"job `{left_out[0]}`{more} is left out: {cause}")
    return Observation(found, {name: known.node for name, known in facts.items()}, tuple(unread))


def _objects(records: Sequence[Any], what: str, unread: list[str]) -> list[Mapping[str, Any]]:
    """The records that are objects."""
    found = [record for record in records if isinstance(record, Mapping)]
    if len(found) < len(records):
        unread.append(f"a record of a {what} is left out: it is no object")
    return found


def _is_on(record: Mapping[str, Any], facts: Mapping[str, NodeFacts]) -> bool:
    """Whether a job occupies one of these nodes."""
    nodes = text(record, "nodes")
    return bool(nodes) and any(name in facts for name in hosts(nodes))


# --- jobs ------------------------------------------------------------------------------------------------------------


def _job(record: Mapping[str, Any], now: float, misfits: SlurmDemands) -> ObservedJob:
    name = name_of(record)
    state, completing = _state(record)
    reason, count = text(record, "state_reason"), whole(record, "node_count") or 0
    priority = number(record, "priority")
    restarts, later = whole(record, "restart_cnt") or 0, _begins_later(record, reason, now)
    held = state is JobState.PENDING and (later or priority == 0 or reason in HELD)
    if state is JobState.PENDING:
        why = _blocked_reason(record, reason, misfits)
        if why or (later and not restarts):
            state, reason = JobState.BLOCKED, why or reason
    has_run = state not in (JobState.PENDING, JobState.BLOCKED)
    occupied = hosts(text(record, "nodes")) if has_run else ()
    wanted, unsupported = _requested_gpus(record)
    if whole(record, "het_job_id") and not unsupported:
        unsupported = "it is a component of a het job, and its components start together"
    used = dict(zip(occupied, gpus_on(record, occupied, wanted.count), strict=True))
    if is_exclusive(record):
        used = {node: max(gpus, misfits.gpus_of(node)) for node, gpus in used.items()}
    occupies = state is JobState.RUNNING or completing
    fields: dict[str, Field] = {"priority": _finite(priority) or 0.0, "gpu_type": wanted.kind}
    for field, key in _TEXT_KEYS.items():
        fields[field] = text(record, key)
    fields["array_job"] = str(whole(record, "array_job_id") or "")
    for field, value in (
        ("array_task", number(record, "array_task_id")), ("time_limit", time_limit(record)),
        ("nodes_wanted", float(count) if count else None),
        ("deadline_date", date(record, "deadline")),
    ):  # fmt: skip
        if value is not None and _finite(value) is not None:
            fields[field] = value
    waits = state in (JobState.PENDING, JobState.BLOCKED)
    if not state.has_ended and not unsupported:
        unsupported = misfits.unsupported(record, max(count, 1))
    is_planned = not state.has_ended and not unsupported
    return ObservedJob(
        name=name,
        state=state,
        gpus=wanted.count,
        nodes=count,
        held=held,
        pinned=hosts(text(record, "required_nodes")),
        allocation=used if occupies else {},
        ran_on=used if state.has_ended else {},
        submitted=date(record, "submit_time"),
        started=date(record, "start_time") if has_run else None,
        ended=date(record, "end_time") if state.has_ended else None,
        restarts=restarts,
        fields=fields,
        unsupported=unsupported,
        reason=reason if waits else "",
        waits_everywhere=state is JobState.PENDING and reason not in OF_NODES,
        misfits=misfits.of(record, wanted, max(count, 1)) if is_planned else {},
        even=is_planned and bool(text(record, "tres_per_node")),
        lists=misfits.lists_of(record, wanted, max(count, 1)) if is_planned else {},
    )


_TEXT_KEYS = {**{name: name for name in TEXTS}, "user": "user_name", "job_name": "name"}


def _finite(value: float | None) -> float | None:
    return value if value is not None and abs(value) < float("inf") else None


def _unread_job(record: Mapping[str, Any], at: int, facts: Mapping[str, NodeFacts], why: str) -> ObservedJob:
    """A job of which something is not understood: it occupies all GPUs of its nodes, unless it has ended for sure."""
    try:
        name = name_of(record)
    except UnknownJson:
        name = f"record {at + 1}"
    try:
        state, completing = _state(record)
        over = (state.has_ended and not completing) or not (state.has_ended or state is JobState.RUNNING)
    except UnknownJson:
        over = False
    try:
        nodes = () if over else hosts(text(record, "nodes"))
    except UnknownJson:
        nodes = ()
    used = {node: facts[node].node.gpus for node in nodes if node in facts}
    return ObservedJob(
        name, JobState.RUNNING if used else JobState.BLOCKED, allocation=used, unread=True,
        unsupported=f"its record is not understood: {why}",
    )  # fmt: skip


def _state(record: Mapping[str, Any]) -> tuple[JobState, bool]:
    """The state of a job, and whether it still occupies its nodes while it ends."""
    chosen, completing = job_states(record)
    waits = next((state for state in (JobState.BLOCKED, JobState.PENDING) if state in chosen), None)
    return waits or chosen[0], completing


def _blocked_reason(record: Mapping[str, Any], reason: str, misfits: SlurmDemands) -> str:
    """Why a waiting job must not be started by us, "" if it may. A held job does not show what else it waits for."""
    dependency, reservation = text(record, "dependency"), text(record, "resv_name")
    if reason in BLOCKED:
        return reason
    if dependency and dependency != "(null)":
        return f"it waits for {dependency}"
    if reason == "JobHeldAdmin" and not HELD_BY_US.match(text(record, "admin_comment").strip()):
        return "an operator holds it"
    if reservation and not misfits.has_reserved_node:
        return f"its reservation `{reservation}` is not active"
    return ""


def _waits_for_jobs_only(record: Mapping[str, Any], misfits: SlurmDemands) -> bool:
    """Whether only its dependency blocks a waiting job. Tasks of an array with a limit are not planned ahead."""
    if text(record, "dependency") in ("", "(null)") or task_limit(record):
        return False
    reason = text(record, "state_reason")
    rest = {**record, "dependency": ""}
    return not _blocked_reason(rest, "" if reason == "Dependency" else reason, misfits)


def _begins_later(record: Mapping[str, Any], reason: str, now: float) -> bool:
    """Whether a job is to begin later: its user said so, or it was put back, and then it may start at once."""
    eligible = date(record, "eligible_time")
    return reason == "BeginTime" or (eligible is not None and 0.0 < now < eligible)


def _requested_gpus(record: Mapping[str, Any]) -> tuple[GpuCount, str]:
    """The GPUs that a job requests in all, and why the job cannot be managed, else ""."""
    nodes, tasks = whole(record, "node_count") or 1, whole(record, "tasks") or 1
    slices = 0
    for key, times in (("tres_per_job", 1), ("tres_per_node", nodes), ("tres_per_task", tasks), ("tres_req_str", 1)):
        if key == "tres_req_str" and "gpu" in text(record, "tres_per_socket"):
            return GpuCount(), "it requests GPUs per socket"
        try:
            found = read_gpus(text(record, key))
        except ValueError as failure:
            return GpuCount(), str(failure)
        slices += found.slices
        if slices and found.count:
            return GpuCount(), "it requests GPUs and slices of GPUs"
        if found.count:
            return replace(found, count=found.count * times), ""
    return GpuCount(), "it requests slices of GPUs" if slices else "it requests no GPU"


# --- nodes -----------------------------------------------------------------------------------------------------------


def node_states(record: Mapping[str, Any]) -> frozenset[str]:
    """The states and flags of a node, without the signs that older releases append. Raises UnknownJson."""
    return frozenset(s.rstrip("*~#!%$@^-") for s in (*names(record, "state"), *names(record, "state_flags")))


def _node(record: Mapping[str, Any], unread: list[str]) -> NodeFacts:
    """What is known of a node; what is not understood of it is added to `unread`, and it starts no jobs."""
    name = record.get("name")
    if not isinstance(name, str) or not name:
        raise UnknownJson("it has no `name`")
    trouble, stated, found, features, note = "", frozenset[str](), GpuCount(), frozenset[str](), ""
    try:
        stated = node_states(record)
        unknown = stated - NODE_STATES
        if unknown or not stated:
            trouble = f"its state is unknown: {', '.join(sorted(unknown)) or 'none'}"
        note = text(record, "reason")
        features = frozenset(items(record, "active_features") or items(record, "features"))
        found = read_gpus(text(record, "gres"))
    except (UnknownJson, ValueError) as failure:
        trouble = str(failure)
    if trouble:
        unread.append(f"node `{name}` is left out: {trouble}")
    elif found.slices:
        unread.append(f"{found.slices} slices of GPUs of node `{name}` are left out: a slice is no GPU")
    down = bool(stated & DOWN)
    drains = not down and bool(trouble or stated & DRAINS)
    node = ObservedNode(name, found.count, not down and not drains, found.kind, trouble or note, drains)
    return NodeFacts(node, features, found, "RESERVED" in stated or "RES" in stated)
