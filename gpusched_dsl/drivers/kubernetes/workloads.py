"""Kueue's Workloads as jobs: states, GPUs, and the answer of our admission check."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusched_dsl.drivers.kubernetes.dates import seconds
from gpusched_dsl.drivers.kubernetes.objects import (
    Gpus,
    Json,
    annotations_of,
    condition,
    gpus_of,
    has_ended,
    is_leaving,
    labels,
    metadata,
    name_of,
    node_of,
    since,
    spec,
    status,
)
from gpusched_dsl.drivers.protocol import Allocation, Field, JobState, ObservedJob

GROUP = "/apis/kueue.x-k8s.io/v1beta2"
BOOST = "kueue.x-k8s.io/priority-boost"
NODES = "gpusched-dsl/nodes"  # the annotation with the wanted GPUs by node
WORKLOAD = "kueue.x-k8s.io/workload"
OF_KUEUE = ("kueue.x-k8s.io/podset", "kueue.x-k8s.io/queue-name", WORKLOAD)
FIELDS = frozenset({"namespace", "queue", "cluster_queue", "priority", "priority_class", "job_name", "time_limit"})
PENDING, READY, RETRY, REJECTED = "Pending", "Ready", "Retry", "Rejected"


@dataclass(frozen=True)
class PodSet:
    """One pod set: the number of its pods, and the GPUs of each."""

    name: str
    count: int
    each: int
    template: Json

    @property
    def gpus(self) -> int:
        return self.count * self.each


def pod_sets(workload: Json, gpus: Gpus) -> tuple[PodSet, ...]:
    """The pod sets, with the number of pods that Kueue has admitted if that is known."""
    admitted = {one.get("name"): one.get("count") for one in admission(workload).get("podSetAssignments") or []}
    found = []
    for one in spec(workload).get("podSets") or []:
        name = str(one.get("name") or "main")
        count = admitted.get(name)
        template = one.get("template") or {}
        wanted = one.get("count", 1) if count is None else count
        found.append(PodSet(name, int(wanted), gpus_of(template, gpus), template))
    return tuple(found)


def admission(workload: Json) -> Json:
    return status(workload).get("admission") or {}


def check_of(workload: Json, name: str) -> Json | None:
    """The state of an admission check, None if Kueue has not asked for it."""
    return next((dict(c) for c in status(workload).get("admissionChecks") or [] if c.get("name") == name), None)


def has_quota(workload: Json) -> bool:
    return condition(workload, "QuotaReserved") is not None


def is_admitted(workload: Json) -> bool:
    return condition(workload, "Admitted") is not None


def wanted_nodes(workload: Json) -> Allocation:
    """The nodes that an earlier action has noted, empty without."""
    try:
        found = json.loads(annotations_of(workload).get(NODES, "{}"))
        return {str(node): int(gpus) for node, gpus in found.items()}
    except (ValueError, AttributeError, TypeError):
        return {}


@dataclass(frozen=True)
class WorkloadReader:
    """`hosts` are nodes by their value of the node label; `retries`: whether waiting Workloads give their quota back;
    `extra` are further fields by the label or annotation that has them.
    """

    check: str
    gpus: Gpus
    label: str
    hosts: Mapping[str, str]
    retries: bool
    extra: Mapping[str, str]

    def observe_workload(self, workload: Json, pods: Sequence[Json]) -> ObservedJob:
        """A Workload as a job; `pods` are its own. Raises UnknownValue."""
        sets = pod_sets(workload, self.gpus)
        total = sum(one.gpus for one in sets)
        with_gpus = [one for one in sets if one.gpus]
        check = check_of(workload, self.check)
        state = self._state(workload, check)
        held, pinned = self._hold_state(workload, check) if state is JobState.PENDING else (False, ())
        used = self._allocation(workload, pods, sets)
        occupies = state is JobState.RUNNING or is_admitted(workload)
        evictions = (status(workload).get("schedulingStats") or {}).get("evictions") or []
        has_run = is_admitted(workload) or state.has_ended
        return ObservedJob(
            name=name_of(workload),
            state=state,
            gpus=total,
            nodes=1 if len(with_gpus) == 1 else 0,
            held=held,
            pinned=pinned,
            allocation=used if occupies and not state.has_ended else {},
            ran_on=used if state.has_ended else {},
            submitted=seconds(metadata(workload).get("creationTimestamp")),
            started=since(condition(workload, "Admitted")) if has_run else None,
            ended=since(condition(workload, "Finished")) if state.has_ended else None,
            restarts=sum(int(one.get("count", 0)) for one in evictions),
            fields=self._fields(workload, sets),
            unsupported="" if total else f"it requests no {self.gpus.resource}",
            asks=state is JobState.PENDING and check is not None and check.get("state") == PENDING
            and has_quota(workload) and not str(check.get("message", "")).startswith(LEFT_OUT),
        )  # fmt: skip

    def _state(self, workload: Json, check: Json | None) -> JobState:
        finished = condition(workload, "Finished")
        if finished is not None:
            return JobState.DONE if finished.get("reason") in DONE else JobState.FAILED
        if is_leaving(workload):
            return JobState.CANCELLED
        if spec(workload).get("active") is False:
            return JobState.BLOCKED
        if is_admitted(workload) and (check is None or check.get("state") not in (RETRY, REJECTED)):
            return JobState.RUNNING
        return JobState.PENDING

    def _hold_state(self, workload: Json, check: Json | None) -> tuple[bool, tuple[str, ...]]:
        """Whether a waiting Workload is held, and the nodes for which it was released."""
        answer = None if check is None else check.get("state")
        if not has_quota(workload):  # Kueue has not asked yet; a start is noted, so that its turn comes
            wanted = tuple(wanted_nodes(workload))
            return not wanted, wanted
        if answer == READY:
            return False, tuple(node for _, node in self._chosen_nodes(check))
        if answer in (RETRY, REJECTED) or not self.retries:
            return True, ()
        return False, ()

    def _chosen_nodes(self, check: Json | None) -> list[tuple[str, str]]:
        """The pod sets and nodes of our answer."""
        found = []
        for update in (check or {}).get("podSetUpdates") or []:
            host = (update.get("nodeSelector") or {}).get(self.label)
            if host is not None:
                found.append((str(update.get("name")), self.hosts.get(host, host)))
        return found

    def _allocation(self, workload: Json, pods: Sequence[Json], sets: Sequence[PodSet]) -> Allocation:
        """The GPUs by node: those of our answer, else those of its pods."""
        sizes = {one.name: one.gpus for one in sets}
        found: dict[str, int] = {}
        selected = self._chosen_nodes(check_of(workload, self.check))
        if selected:
            for name, node in selected:
                found[node] = found.get(node, 0) + sizes.get(name, 0)
            return found
        for pod in pods:
            if node_of(pod) and (not has_ended(pod) or condition(workload, "Finished") is not None):
                found[node_of(pod)] = found.get(node_of(pod), 0) + gpus_of(pod, self.gpus)
        return found

    def _fields(self, workload: Json, sets: Sequence[PodSet]) -> Mapping[str, Field]:
        owners = metadata(workload).get("ownerReferences") or []
        reference = spec(workload).get("priorityClassRef") or {}
        known: dict[str, Any] = {
            "namespace": metadata(workload).get("namespace", ""),
            "queue": spec(workload).get("queueName") or "",
            "cluster_queue": admission(workload).get("clusterQueue") or "",
            "priority": float(spec(workload).get("priority") or 0),
            "priority_class": reference.get("name") or spec(workload).get("priorityClassName") or "",
            "job_name": owners[0].get("name", "") if owners else metadata(workload).get("name", ""),
            "time_limit": spec(workload).get("maximumExecutionTimeSeconds"),
        }
        found = {name: value for name, value in known.items() if value is not None}
        templates = [one.template for one in sets]
        return found | marks(self.extra, [workload, *templates])


LEFT_OUT = "left out by gsdsl: "
DONE = frozenset({"Succeeded", "JobFinished", "OwnerSucceeded"})


def marks(extra: Mapping[str, str], things: Sequence[Json]) -> dict[str, str]:
    """The value of each label or annotation, in the first of some objects that has it."""
    found = {}
    for name, key in extra.items():
        for thing in things:
            value = labels(thing).get(key, annotations_of(thing).get(key))
            if value is not None:
                found[name] = str(value)
                break
    return found
