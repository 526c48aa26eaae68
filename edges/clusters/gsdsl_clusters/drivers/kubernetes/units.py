"""Pods as jobs: all pods of a controller together are one, every other pod is one by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gsdsl_clusters.drivers.kubernetes.dates import seconds
from gsdsl_clusters.drivers.kubernetes.demands import Misfits
from gsdsl_clusters.drivers.kubernetes.gang_fields import GANG_FIELDS, gang_fields
from gsdsl_clusters.drivers.kubernetes.gangs import (
    Controllers,
    Role,
    group_of,
    group_size,
    is_leader,
    roles_of,
    staggered_reason,
)
from gsdsl_clusters.drivers.kubernetes.objects import (
    Gpus,
    condition,
    ended_at,
    gpus_of,
    has_ended,
    is_leaving,
    metadata,
    name_of,
    node_of,
    place_of,
    scheduled_at,
    several_resources,
    since,
    spec,
    status,
)
from gsdsl_clusters.drivers.kubernetes.workloads import marks
from gsdsl_clusters.drivers.protocol import Allocation, Field, JobState, ObservedJob
from gsdsl_clusters.kubernetes_objects.values import Json, UnknownValue, count, integer, table, tables, text

FIELDS = GANG_FIELDS | {"namespace", "job_name", "priority", "priority_class", "time_limit"}


@dataclass
class PodGroup:
    """What is started together: the pods of a controller, of a group of a LeaderWorkerSet, or one pod.

    `size` is the number of pods of a group without a controller.
    """

    controller: Json | None
    pods: list[Json] = field(default_factory=list)
    size: int = 1

    @property
    def thing(self) -> Json:
        """The object that names the job: the controller, the leader of a group, or the pod."""
        if self.controller is not None:
            return self.controller
        return next((pod for pod in self.pods if is_leader(pod)), self.pods[0])

    @property
    def name(self) -> str:
        return name_of(self.thing)

    @property
    def is_alone(self) -> bool:
        return self.controller is None and self.size == 1

    @property
    def active(self) -> list[Json]:
        """Pods that wait or run."""
        return [pod for pod in self.pods if not has_ended(pod) and not is_leaving(pod)]

    @property
    def unbound(self) -> list[Json]:
        return [pod for pod in self.active if not node_of(pod)]

    @property
    def bound(self) -> list[Json]:
        return [pod for pod in self.active if node_of(pod)]

    def roles(self, gpus: Gpus) -> list[Role]:
        """The roles whose pods request GPUs."""
        if self.controller is not None:
            found = roles_of(self.controller)
        else:
            workers = next((pod for pod in self.pods if not is_leader(pod)), self.thing)
            found = [Role("", 1, self.thing), Role("", self.size - 1, workers)]
        return [role for role in found if role.count and gpus_of(role.template, gpus)]

    def wanted(self, gpus: Gpus) -> int:
        """The number of pods with GPUs that run together, but for those that have ended."""
        number = sum(role.count for role in self.roles(gpus))
        if self.controller is None:
            return number
        complete = spec(self.controller).get("completions")
        if "template" in spec(self.controller):
            succeeded = count(status(self.controller).get("succeeded"))
            return number if complete is None else max(0, min(number, count(complete) - succeeded))
        return max(0, number - len([pod for pod in self.pods if status(pod).get("phase") == "Succeeded"]))


def units_of(
    pods: Sequence[Json], jobs: Sequence[Json], controllers: Controllers | None = None
) -> tuple[list[PodGroup], list[tuple[Json, str]]]:
    """The units of some pods, and of `jobs` (Jobs and other controllers) that have none of them any more.

    Also the pods whose controller cannot be read, each with the reason.
    """
    known = controllers or Controllers({text(metadata(job).get("uid")): job for job in jobs})
    units: dict[str | tuple[str, str, str], PodGroup] = {}
    unread: list[tuple[Json, str]] = []
    for job in jobs:
        try:
            if not known.top_of(job):
                units[text(metadata(job).get("uid"))] = PodGroup(job)
        except UnknownValue:
            continue  # its pods say why
    alone = []
    for pod in pods:
        try:
            group = group_of(pod)
            top = known.top_of(pod)
            if group is not None:
                units.setdefault(group, PodGroup(None, size=group_size(pod))).pods.append(pod)
            elif top:
                units.setdefault(top, PodGroup(known.known[top])).pods.append(pod)
            else:
                alone.append(PodGroup(None, [pod]))
        except UnknownValue as unknown:
            unread.append((pod, str(unknown)))
    return [*units.values(), *alone], unread


def observed_unit(unit: PodGroup, gpus: Gpus, extra: Mapping[str, str], misfits: Misfits | None = None) -> ObservedJob:
    """A unit as a job; without `misfits` it may run on every node. Raises UnknownValue."""
    state, partly = _state(unit, gpus)
    roles = unit.roles(gpus)
    templates = [role.template for role in roles]
    used: dict[str, int] = {}
    for pod in unit.pods:
        ran = state is JobState.RUNNING and status(pod).get("phase") == "Succeeded"  # its GPUs stay with the unit
        if node_of(pod) and (ran or not has_ended(pod)):
            used[place_of(pod, gpus)] = used.get(place_of(pod, gpus), 0) + gpus_of(pod, gpus)
    times = [time for time in map(scheduled_at, unit.pods) if time is not None]
    has_run = state is JobState.RUNNING or state.has_ended
    return ObservedJob(
        name=unit.name,
        state=state,
        gpus=sum(role.count * gpus_of(role.template, gpus) for role in roles),
        held=state is JobState.PENDING and not partly,
        pinned=tuple(dict.fromkeys(place_of(pod, gpus) for pod in unit.bound)) if partly else (),
        allocation=used,
        ran_on=_ran_on(unit, gpus) if state.has_ended else {},
        submitted=seconds(metadata(unit.thing).get("creationTimestamp")),
        started=min(times) if has_run and times else None,
        ended=_end_time(unit, state),
        restarts=_restarts(unit),
        fields=_fields(unit, roles, gpus, extra),
        unsupported=several_resources(templates, gpus) or _unsupported_reason(unit, templates),
        partly_started=partly,
        reason=_waiting_reason(unit, gpus) if state in (JobState.PENDING, JobState.BLOCKED) else "",
        misfits=misfits.of(unit.unbound or templates) if misfits is not None and state is JobState.PENDING else {},
    )


def _restarts(unit: PodGroup) -> int:
    if unit.controller is None:
        return 0
    known = status(unit.controller)
    roles = table(known.get("replicaStatuses")).values() if isinstance(known.get("replicaStatuses"), dict) else ()
    return (
        count(known.get("failed"))
        + count(known.get("restarts"))
        + sum(count(table(one).get("failed")) for one in roles)
    )


def _is_suspended(controller: Json) -> bool:
    own = spec(controller)
    policy = own.get("runPolicy")
    return bool(own.get("suspend") or (table(policy).get("suspend") if policy is not None else False))


def _waiting_reason(unit: PodGroup, gpus: Gpus) -> str:
    """What the cluster says about pods that wait."""
    gates = [text(gate.get("name")) for pod in unit.unbound for gate in tables(spec(pod).get("schedulingGates"))]
    if gates:
        return f"it has the scheduling gate {', '.join(dict.fromkeys(gates))}"
    if unit.controller is not None and _is_suspended(unit.controller):
        return "it is suspended"
    if len(unit.active) < unit.wanted(gpus):
        return f"{len(unit.active)} of its {unit.wanted(gpus)} pods have been made"
    for pod in unit.unbound:
        for one in tables(status(pod).get("conditions")):
            if one.get("type") == "PodScheduled" and one.get("message"):
                return text(one.get("message"))
    return ""


_DONE = ("Complete", "SuccessCriteriaMet", "Completed", "Succeeded")  # conditions of Jobs, JobSets, Kubeflow
_FAILED = ("Failed", "FailureTarget")
_OF_RAY = {"SUCCEEDED": JobState.DONE, "FAILED": JobState.FAILED, "STOPPED": JobState.CANCELLED}


def _outcome(controller: Json) -> JobState | None:
    """How a controller has ended, None while it has not."""
    if any(condition(controller, kind) for kind in _DONE):
        return JobState.DONE
    if any(condition(controller, kind) for kind in _FAILED):
        return JobState.FAILED
    if is_leaving(controller):
        return JobState.CANCELLED
    known = status(controller)
    if known.get("jobDeploymentStatus") == "Failed":
        return JobState.FAILED
    return _OF_RAY.get(text(known.get("jobStatus")))


def _state(unit: PodGroup, gpus: Gpus) -> tuple[JobState, bool]:
    """The state, and whether only a part of a waiting unit has been started."""
    if unit.controller is not None:
        outcome = _outcome(unit.controller)
        if outcome is not None:
            return outcome, False
        if _is_suspended(unit.controller):
            return JobState.BLOCKED, False
    elif unit.is_alone:
        phase = status(unit.pods[0]).get("phase")
        if phase in ("Succeeded", "Failed"):
            return (JobState.DONE if phase == "Succeeded" else JobState.FAILED), False
        if is_leaving(unit.pods[0]):
            return JobState.CANCELLED, False
    if any(spec(pod).get("schedulingGates") for pod in unit.unbound):
        return JobState.BLOCKED, False
    if not unit.unbound and unit.bound:
        return JobState.RUNNING, False
    if len(unit.active) < unit.wanted(gpus) or not unit.active:  # pods are still being made, or have just ended
        return (JobState.RUNNING if unit.bound else JobState.BLOCKED), False
    return JobState.PENDING, bool(unit.bound)


def _end_time(unit: PodGroup, state: JobState) -> float | None:
    if not state.has_ended:
        return None
    if unit.controller is None:
        return ended_at(unit.pods[0]) or seconds(metadata(unit.pods[0]).get("deletionTimestamp"))
    known = status(unit.controller)
    ends = [seconds(known.get(key)) for key in ("completionTime", "endTime")]
    ends += [since(condition(unit.controller, kind)) for kind in (*_DONE, *_FAILED)]
    return next((time for time in ends if time), None)


def _ran_on(unit: PodGroup, gpus: Gpus) -> Allocation:
    found: dict[str, int] = {}
    for pod in unit.pods:
        if node_of(pod) and (status(pod).get("phase") == "Succeeded" or unit.controller is None):
            found[place_of(pod, gpus)] = found.get(place_of(pod, gpus), 0) + gpus_of(pod, gpus)
    return found


def _fields(unit: PodGroup, roles: Sequence[Role], gpus: Gpus, extra: Mapping[str, str]) -> Mapping[str, Field]:
    templates = [role.template for role in roles]
    pod, own = spec(templates[0] if templates else {}), spec(unit.thing)
    policy = own.get("runPolicy")
    limit = own.get("activeDeadlineSeconds", pod.get("activeDeadlineSeconds"))
    if limit is None and policy is not None:
        limit = table(policy).get("activeDeadlineSeconds")
    found: dict[str, Field] = {
        "namespace": text(metadata(unit.thing).get("namespace")),
        "job_name": text(metadata(unit.thing).get("name")),
        "priority": float(integer((spec(unit.pods[0]) if unit.pods else pod).get("priority"))),
        "priority_class": text(pod.get("priorityClassName")),
        **gang_fields([(role.count, role.template) for role in roles], gpus),
    }
    if limit is not None:
        found["time_limit"] = float(count(limit))
    return found | marks(extra, [unit.thing, *(one for one in templates if one is not unit.thing)])


def _unsupported_reason(unit: PodGroup, templates: Sequence[Json]) -> str:
    """Why the unit cannot be managed, "" if it can."""
    reasons = [] if unit.controller is None else [staggered_reason(unit.controller)]
    reasons += [_unsupported_pod(spec(template)) for template in templates]
    return next((reason for reason in reasons if reason), "")


def _unsupported_pod(pod: Json) -> str:
    affinity = table(pod.get("affinity"))
    rules = [table(affinity.get(kind)) for kind in ("podAffinity", "podAntiAffinity")]
    if any(rule.get("requiredDuringSchedulingIgnoredDuringExecution") for rule in rules):
        return "it has required affinity to other pods"
    if any(one.get("whenUnsatisfiable") == "DoNotSchedule" for one in tables(pod.get("topologySpreadConstraints"))):
        return "it has a topology spread constraint"
    if pod.get("resourceClaims"):
        return "it claims devices by dynamic resource allocation"
    containers = [*tables(pod.get("containers")), *tables(pod.get("initContainers"))]
    if any(port.get("hostPort") for container in containers for port in tables(container.get("ports"))):
        return "it asks for a port of its node"
    return ""
