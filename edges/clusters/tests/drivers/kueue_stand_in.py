"""Plays the part of Kueue's controller, which cannot be built here: quota, admission, eviction; and runs the jobs.

It follows the published behaviour: quota by effective priority (with the boost), then by age; admission when the check
is ready; `Retry` evicts and puts back after a delay; `Rejected` deactivates.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from gsdsl_clusters.drivers.kubernetes.api import Gone, KubernetesApi, ObjectChanged
from gsdsl_clusters.drivers.kubernetes.dates import date_text
from gsdsl_clusters.drivers.kubernetes.objects import Gpus, annotations_of, condition, metadata, spec, status
from gsdsl_clusters.drivers.kubernetes.workloads import (
    BOOST,
    GROUP,
    WORKLOAD,
    check_of,
    has_quota,
    is_admitted,
    pod_sets,
)
from gsdsl_clusters.drivers.protocol import ClusterUnavailable

Json = dict[str, Any]


@dataclass
class KueueStandIn:
    """`quota` GPUs; every job runs `seconds`. `admitted` are the names of Workloads in the order of their admission.

    With `nodes`, GPUs by node, no check is asked: a pod of each Workload is placed where there is room.
    """

    api: KubernetesApi
    quota: int
    seconds: float
    check: str = "gpusched-dsl"
    nodes: dict[str, int] = field(default_factory=dict)
    admitted: list[str] = field(default_factory=list)
    selected: dict[str, list[Json]] = field(default_factory=dict)
    evicted: list[str] = field(default_factory=list)
    requeued_after: list[int] = field(default_factory=list)
    _where: dict[str, tuple[str, int]] = field(default_factory=dict)
    _started: dict[str, float] = field(default_factory=dict)
    _not_before: dict[str, float] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> KueueStandIn:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *about: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            try:
                self.step()
            except ClusterUnavailable:
                continue

    def step(self) -> None:
        waiting, used = [], 0
        for workload in list(self.api.list(f"{GROUP}/workloads")):
            name = str(metadata(workload)["name"])
            if condition(workload, "Finished") or spec(workload).get("active") is False:
                continue
            answer = check_of(workload, self.check) or {}
            if answer.get("state") == "Retry":
                after = int(answer.get("requeueAfterSeconds", 0))
                self.requeued_after.append(after)
                self._not_before[name] = time.monotonic() + after
                self._evict(workload)
            elif answer.get("state") == "Rejected":
                self._evict(workload)
                self._change(f"{GROUP}/namespaces/{metadata(workload)['namespace']}/workloads/{name}", active=False)
            elif is_admitted(workload):
                used += gpus_of(workload)
                if time.monotonic() - self._started.get(name, 0.0) >= self.seconds:
                    self._write(workload, [*conditions(workload), true("Finished", "Succeeded")])
                    self._remove_pod(name)
            elif has_quota(workload):
                used += gpus_of(workload)
                if answer.get("state") == "Ready" or (self.nodes and self._place_pod(workload)):
                    self._started[name] = time.monotonic()
                    if self._write(workload, [*conditions(workload), true("Admitted", "Admitted")]):
                        self.admitted.append(name)
                        self.selected[name] = answer.get("podSetUpdates") or []
            elif self._not_before.get(name, 0.0) <= time.monotonic():
                waiting.append(workload)
        for workload in sorted(waiting, key=_turn):
            if used + gpus_of(workload) <= self.quota:
                used += gpus_of(workload)
                self._reserve(workload)

    def _reserve(self, workload: Json) -> None:
        sets = pod_sets(workload, Gpus())
        assigned = [{"name": one.name, "count": one.count, "flavors": {"nvidia.com/gpu": "h200"}} for one in sets]
        self._write(
            workload, [*conditions(workload), true("QuotaReserved", "QuotaReserved")],
            admission={"clusterQueue": "gpus", "podSetAssignments": assigned},
            admissionChecks=[] if self.nodes else [
                {"name": self.check, "state": "Pending", "message": "", "lastTransitionTime": now()}],
        )  # fmt: skip

    def _place_pod(self, workload: Json) -> bool:
        name, gpus = str(metadata(workload)["name"]), gpus_of(workload)
        node = next((node for node, free in self.nodes.items() if free >= gpus), None)
        if node is None:
            return False
        self.nodes[node] -= gpus
        self._where[name] = node, gpus
        amount = {"nvidia.com/gpu": str(gpus)}
        container = {"name": "main", "image": "x", "resources": {"limits": amount, "requests": amount}}
        self.api.create("/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": {WORKLOAD: name}},
            "spec": {"nodeName": node, "containers": [container]},
        })  # fmt: skip
        return True

    def _remove_pod(self, name: str) -> None:
        if name in self._where:
            node, gpus = self._where.pop(name)
            self.nodes[node] += gpus
            self.api.delete(f"/api/v1/namespaces/default/pods/{name}", {"gracePeriodSeconds": 0})

    def _evict(self, workload: Json) -> None:
        kept = [one for one in conditions(workload) if one["type"] not in ("QuotaReserved", "Admitted", "Evicted")]
        count = sum(one["count"] for one in (status(workload).get("schedulingStats") or {}).get("evictions") or [])
        if self._write(
            workload, [*kept, true("Evicted", "AdmissionCheck")], admission=None, admissionChecks=[],
            schedulingStats={"evictions": [{"reason": "AdmissionCheck", "underlyingCause": "", "count": count + 1}]},
        ):  # fmt: skip
            self.evicted.append(str(metadata(workload)["name"]))

    def _write(self, workload: Json, found: list[Json], **more: Any) -> bool:
        """Whether nobody else has changed the Workload."""
        path = f"{GROUP}/namespaces/{metadata(workload)['namespace']}/workloads/{metadata(workload)['name']}/status"
        changed = {**status(workload), "conditions": found, **more}
        body = {**workload, "status": {key: value for key, value in changed.items() if value is not None}}
        try:
            self.api.replace(path, body)
        except (ObjectChanged, Gone):
            return False
        return True

    def _change(self, path: str, **changes: Any) -> None:
        self.api.merge(path, {"spec": changes})


def conditions(workload: Json) -> list[Json]:
    return list(status(workload).get("conditions") or [])


def true(kind: str, reason: str) -> Json:
    return {"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": now()}


def now() -> str:
    return date_text(time.time())


def gpus_of(workload: Json) -> int:
    return sum(one.gpus for one in pod_sets(workload, Gpus()))


def _turn(workload: Json) -> tuple[int, str, str]:
    """By effective priority, then by age."""
    priority = int(spec(workload).get("priority") or 0) + int(annotations_of(workload).get(BOOST, 0))
    return -priority, metadata(workload)["creationTimestamp"], metadata(workload)["name"]
