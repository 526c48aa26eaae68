"""Pods as jobs: all pods of a Job together are one, every other pod is one by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpusched_dsl.drivers.kubernetes.dates import seconds
from gpusched_dsl.drivers.kubernetes.objects import (
    Gpus,
    Json,
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

FIELDS = frozenset({"namespace", "job_name", "priority", "priority_class", "time_limit", "pods"})


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
        parallel, complete = spec(self.controller).get("parallelism", 1), spec(self.controller).get("completions")
        succeeded = int(status(self.controller).get("succeeded") or 0)
        return int(parallel) if complete is None else max(0, min(int(parallel), int(complete) - succeeded))


def units_of(pods: Sequence[Json], jobs: Sequence[Json]) -> list[PodGroup]:
    """The units of some pods, and of Jobs that have none of them any more."""
    by_uid = {str(metadata(job).get("uid")): PodGroup(job) for job in jobs}
    alone = []
    for pod in pods:
        unit = by_uid.get(owner_of(pod, "Job"))
        if unit is None:
            alone.append(PodGroup(None, [pod]))
        else:
            unit.pods.append(pod)
    return [*by_uid.values(), *alone]


def observed_unit(unit: PodGroup, gpus: Gpus, extra: Mapping[str, str]) -> ObservedJob:
    """A unit as a job. Raises UnknownValue."""
    state, partly = _state(unit)
    template = [unit.thing, spec(unit.controller).get("template") or {}] if unit.controller else [unit.thing]
    each = gpus_of(template[-1], gpus)
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
        gpus=each * (1 if unit.controller is None else int(spec(unit.controller).get("parallelism", 1))),
        held=state is JobState.PENDING and not partly,
        pinned=tuple(dict.fromkeys(node_of(pod) for pod in unit.bound)) if partly else (),
        allocation=used,
        ran_on=_ran_on(unit, gpus) if state.has_ended else {},
        submitted=seconds(metadata(unit.thing).get("creationTimestamp")),
        started=min(times) if has_run and times else None,
        ended=_end_time(unit, state),
        restarts=0 if unit.controller is None else int(status(unit.controller).get("failed") or 0),
        fields=_fields(unit, template, extra),
        unsupported=_unsupported_reason(unit, template[-1]),
        partly_started=partly,
    )


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


def _fields(unit: PodGroup, things: Sequence[Json], extra: Mapping[str, str]) -> Mapping[str, Field]:
    pod = spec(things[-1])
    limit = spec(unit.thing).get("activeDeadlineSeconds", pod.get("activeDeadlineSeconds"))
    found: dict[str, Field] = {
        "namespace": str(metadata(unit.thing).get("namespace", "")),
        "job_name": str(metadata(unit.thing).get("name", "")),
        "priority": float((spec(unit.pods[0]) if unit.pods else pod).get("priority") or 0),
        "priority_class": str(pod.get("priorityClassName") or ""),
        "pods": unit.wanted,
    }
    if limit is not None:
        found["time_limit"] = float(limit)
    return found | marks(extra, things)


def _unsupported_reason(unit: PodGroup, template: Json) -> str:
    """Why the unit cannot be managed, "" if it can."""
    pod = spec(template)
    if unit.controller is not None:
        parallel, complete = spec(unit.controller).get("parallelism", 1), spec(unit.controller).get("completions")
        if complete is not None and int(complete) > int(parallel):
            return "it runs its pods one after the other (`completions` is larger than `parallelism`)"
    affinity = pod.get("affinity") or {}
    rules = [(affinity.get(kind) or {}) for kind in ("podAffinity", "podAntiAffinity")]
    if any(rule.get("requiredDuringSchedulingIgnoredDuringExecution") for rule in rules):
        return "it has required affinity to other pods"
    if any(one.get("whenUnsatisfiable") == "DoNotSchedule" for one in pod.get("topologySpreadConstraints") or []):
        return "it has a topology spread constraint"
    if pod.get("resourceClaims"):
        return "it claims devices by dynamic resource allocation"
    return ""
