"""Plays kubelets and the controller of Jobs on a real API server: bound pods run and end, deleted ones are replaced."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from gsdsl_clusters.drivers.kubernetes.api import Gone, KubernetesApi, ObjectChanged
from gsdsl_clusters.drivers.kubernetes.dates import date_text
from gsdsl_clusters.drivers.kubernetes.objects import (
    has_ended,
    is_leaving,
    metadata,
    node_of,
    owner_of,
    spec,
    status,
)
from gsdsl_clusters.drivers.protocol import ClusterUnavailable

Json = dict[str, Any]
PODS, JOBS = "/api/v1/namespaces/default/pods", "/apis/batch/v1/namespaces/default/jobs"


@dataclass
class PodStandIns:
    """Every pod runs as long as its annotation `test/seconds` states. `bound` are names in the order of binding."""

    api: KubernetesApi
    bound: list[str] = field(default_factory=list)
    where: dict[str, str] = field(default_factory=dict)
    _since: dict[str, float] = field(default_factory=dict)
    _made: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> PodStandIns:
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
            except (ClusterUnavailable, ObjectChanged, Gone):
                continue

    def step(self) -> None:
        pods = list(self.api.list(PODS))
        for pod in pods:
            self._play_kubelet(pod)
        for job in list(self.api.list(JOBS)):
            self._play_controller(job, [p for p in pods if owner_of(p, "Job") == metadata(job)["uid"]])

    def _play_kubelet(self, pod: Json) -> None:
        name = metadata(pod)["name"]
        if not node_of(pod) or has_ended(pod):
            return
        if is_leaving(pod):
            self.api.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 0})
            return
        now = date_text(time.time())
        if name not in self._since:
            self._since[name] = time.monotonic()
            self.bound.append(name)
            self.where[name] = node_of(pod)
            kept = [c for c in status(pod).get("conditions") or [] if c["type"] != "PodScheduled"]
            scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now}
            self._set(pod, phase="Running", startTime=now, conditions=[*kept, scheduled])
        elif time.monotonic() - self._since[name] >= float(metadata(pod)["annotations"]["test/seconds"]):
            ended = {"exitCode": 0, "finishedAt": now, "startedAt": now}
            container = {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 0,
                         "state": {"terminated": ended}}  # fmt: skip
            self._set(pod, phase="Succeeded", containerStatuses=[container])

    def _play_controller(self, job: Json, pods: list[Json]) -> None:
        done = sum(status(pod).get("phase") == "Succeeded" for pod in pods)
        active = [pod for pod in pods if not has_ended(pod) and not is_leaving(pod)]
        wanted = spec(job)["parallelism"]
        if done >= wanted:
            if not status(job).get("conditions"):
                now = date_text(time.time())
                self._set(job, JOBS, succeeded=done, completionTime=now, conditions=[
                    {"type": "Complete", "status": "True", "lastTransitionTime": now}])  # fmt: skip
            return
        for _ in range(wanted - done - len(active)):
            self._made += 1
            owner = {"apiVersion": "batch/v1", "kind": "Job", "name": metadata(job)["name"],
                     "uid": metadata(job)["uid"], "controller": True}  # fmt: skip
            template = spec(job)["template"]
            self.api.create(PODS, {
                "apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
                "metadata": {"name": f"{metadata(job)['name']}-{self._made}", "ownerReferences": [owner],
                             "labels": {"job-name": metadata(job)["name"]},
                             "annotations": template["metadata"]["annotations"]},
            })  # fmt: skip

    def _set(self, thing: Json, root: str = PODS, **changes: Any) -> None:
        path = f"{root}/{metadata(thing)['name']}/status"
        self.api.replace(path, {**thing, "status": {**status(thing), **changes}})
