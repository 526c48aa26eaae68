"""Pods as jobs: all pods of a Job together are one, every other pod is one by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpusched_dsl.data.kubernetes.values import Json, count, integer, table, tables, text
from gpusched_dsl.drivers.kubernetes.dates import seconds
from gpusched_dsl.drivers.kubernetes.demands import Misfits
from gpusched_dsl.drivers.kubernetes.gang_fields import GANG_FIELDS, gang_fields
from gpusched_dsl.drivers.kubernetes.objects import (
    Gpus,
    condition,
    ended_at,
    gpus_of,
    has_ended,
    is_leaving,
    metadata,
    name_of,
    node_of,
    owner_of,
    scheduled_at,
    since,
    spec,
    status,
)
from gpusched_dsl.drivers.kubernetes.workloads import marks
from gpusched_dsl.drivers.protocol import Allocation, Field, JobState, ObservedJob

FIELDS = GANG_FIELDS | {"namespace", "job_name", "priority", "priority_class", "time_limit"}


@dataclass
class PodGroup:
    """What is started together: a Job with its pods, or one pod. `controller` is the Job."""

    controller: Json | None
    pods: list[Json] = field(default_factory=list)

    @property
    def thing(self) -> Json:
        return self.controller if self.controller is not None else self.pods[0]

    @property
    def name(self) -> str:
        return name_of(self.thing)

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

    @property
    def wanted(self) -> int:
        """The number of pods that run together, but for those that have ended."""
        if self.controller is None:
            return 1
        parallel, complete = _parallelism(self.controller), spec(self.controller).get("completions")
        succeeded = count(status(self.controller).get("succeeded"))
        return parallel if complete is None else max(0, min(parallel, count(complete) - succeeded))


def units_of(pods: Sequence[Json], jobs: Sequence[Json]) -> list[PodGroup]:
    """The units of some pods, and of Jobs that have none of them any more."""
    by_uid = {text(metadata(job).get("uid")): PodGroup(job) for job in jobs}
    alone = []
    for pod in pods:
        unit = by_uid.get(owner_of(pod, "Job"))
        if unit is None:
            alone.append(PodGroup(None, [pod]))
        else:
            unit.pods.append(pod)
    return [*by_uid.values(), *alone]


def template_of(unit: PodGroup) -> Json:
    """What every pod of the unit is made from: the template of the Job, or the pod itself."""
    return unit.thing if unit.controller is None else table(spec(unit.controller).get("template"))


def observed_unit(unit: PodGroup, gpus: Gpus, extra: Mapping[str, str], misfits: Misfits | None = None) -> ObservedJob:
    """A unit as a job; without `misfits` it may run on every node. Raises UnknownValue."""
    state, partly = _state(unit)
    template = template_of(unit)
    each = gpus_of(template, gpus)
    used: dict[str, int] = {}
    for pod in unit.pods:
        ran = state is JobState.RUNNING and status(pod).get("phase") == "Succeeded"  # its GPUs stay with the unit
        if node_of(pod) and (ran or not has_ended(pod)):
            used[node_of(pod)] = used.get(node_of(pod), 0) + gpus_of(pod, gpus)
    times = [time for time in map(scheduled_at, unit.pods) if time is not None]
    has_run = state is JobState.RUNNING or state.has_ended
    return ObservedJob(
        name=unit.name,
        state=state,
        gpus=each * (1 if unit.controller is None else _parallelism(unit.controller)),
        held=state is JobState.PENDING and not partly,
        pinned=tuple(dict.fromkeys(node_of(pod) for pod in unit.bound)) if partly else (),
        allocation=used,
        ran_on=_ran_on(unit, gpus) if state.has_ended else {},
        submitted=seconds(metadata(unit.thing).get("creationTimestamp")),
        started=min(times) if has_run and times else None,
        ended=_end_time(unit, state),
        restarts=0 if unit.controller is None else count(status(unit.controller).get("failed")),
        fields=_fields(unit, template, each, extra),
        unsupported=_unsupported_reason(unit, template),
        partly_started=partly,
        reason=_waiting_reason(unit) if state in (JobState.PENDING, JobState.BLOCKED) else "",
        misfits=misfits.of(unit.unbound or [template]) if misfits is not None and state is JobState.PENDING else {},
    )


def _parallelism(controller: Json) -> int:
    return count(spec(controller).get("parallelism"), 1)


def _waiting_reason(unit: PodGroup) -> str:
    """What the cluster says about pods that wait."""
    gates = [text(gate.get("name")) for pod in unit.unbound for gate in tables(spec(pod).get("schedulingGates"))]
    if gates:
        return f"it has the scheduling gate {', '.join(dict.fromkeys(gates))}"
    if unit.controller is not None and spec(unit.controller).get("suspend"):
        return "it is suspended"
    for pod in unit.unbound:
        for one in tables(status(pod).get("conditions")):
            if one.get("type") == "PodScheduled" and one.get("message"):
                return text(one.get("message"))
    return ""


def _state(unit: PodGroup) -> tuple[JobState, bool]:
    """The state, and whether only a part of a waiting unit has been started."""
    if unit.controller is not None:
        if condition(unit.controller, "Complete") or condition(unit.controller, "SuccessCriteriaMet"):
            return JobState.DONE, False
        if condition(unit.controller, "Failed") or condition(unit.controller, "FailureTarget"):
            return JobState.FAILED, False
        if is_leaving(unit.controller):
            return JobState.CANCELLED, False
        if spec(unit.controller).get("suspend"):
            return JobState.BLOCKED, False
    else:
        phase = status(unit.pods[0]).get("phase")
        if phase in ("Succeeded", "Failed"):
            return (JobState.DONE if phase == "Succeeded" else JobState.FAILED), False
        if is_leaving(unit.pods[0]):
            return JobState.CANCELLED, False
    if any(spec(pod).get("schedulingGates") for pod in unit.unbound):
        return JobState.BLOCKED, False
    if not unit.unbound and unit.bound:
        return JobState.RUNNING, False
    if len(unit.active) < unit.wanted or not unit.active:  # its pods are still being made, or have just ended
        return (JobState.RUNNING if unit.bound else JobState.BLOCKED), False
    return JobState.PENDING, bool(unit.bound)


def _end_time(unit: PodGroup, state: JobState) -> float | None:
    if not state.has_ended:
        return None
    if unit.controller is None:
        return ended_at(unit.pods[0]) or seconds(metadata(unit.pods[0]).get("deletionTimestamp"))
    done = seconds(status(unit.controller).get("completionTime"))
    return done or since(condition(unit.controller, "Complete")) or since(condition(unit.controller, "Failed"))


def _ran_on(unit: PodGroup, gpus: Gpus) -> Allocation:
    found: dict[str, int] = {}
    for pod in unit.pods:
        if node_of(pod) and (status(pod).get("phase") == "Succeeded" or unit.controller is None):
            found[node_of(pod)] = found.get(node_of(pod), 0) + gpus_of(pod, gpus)
    return found


def _fields(unit: PodGroup, template: Json, each: int, extra: Mapping[str, str]) -> Mapping[str, Field]:
    pod = spec(template)
    limit = spec(unit.thing).get("activeDeadlineSeconds", pod.get("activeDeadlineSeconds"))
    found: dict[str, Field] = {
        "namespace": text(metadata(unit.thing).get("namespace")),
        "job_name": text(metadata(unit.thing).get("name")),
        "priority": float(integer((spec(unit.pods[0]) if unit.pods else pod).get("priority"))),
        "priority_class": text(pod.get("priorityClassName")),
        **gang_fields([(unit.wanted, each)]),
    }
    if limit is not None:
        found["time_limit"] = float(count(limit))
    return found | marks(extra, [unit.thing] if template is unit.thing else [unit.thing, template])


def _unsupported_reason(unit: PodGroup, template: Json) -> str:
    """Why the unit cannot be managed, "" if it can."""
    pod = spec(template)
    if unit.controller is not None:
        complete = spec(unit.controller).get("completions")
        if complete is not None and count(complete) > _parallelism(unit.controller):
            return "it runs its pods one after the other (`completions` is larger than `parallelism`)"
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
