"""Jobs of several pods under Kueue on a real API server, and stand-ins for all controllers that they need.

Played are Kueue's controller (`StrictFIFO`, a quota by flavor, the checks that the ClusterQueue names), the controllers
of JobSets, PyTorchJobs and Jobs, the default scheduler (pod by pod) and kubelets. The API server is real, and all that
these would write is written to it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kubernetes_service import KubernetesService

from gsdsl_clusters.drivers.kubernetes.api import Gone, KubernetesApi, ObjectChanged
from gsdsl_clusters.drivers.kubernetes.dates import date_text, seconds
from gsdsl_clusters.drivers.kubernetes.objects import annotations_of, condition, labels, metadata, node_of, spec, status
from gsdsl_clusters.drivers.kubernetes.workloads import GROUP, WORKLOAD, check_of, has_quota, is_admitted
from gsdsl_clusters.drivers.protocol import ClusterUnavailable

Json = dict[str, Any]
GPU, TYPE = "nvidia.com/gpu", "nvidia.com/gpu.product"
CHECK, QUEUE = "gpusched-dsl", "gpus"
KINDS = {"JobSet": "jobset.x-k8s.io/v1alpha2", "PyTorchJob": "kubeflow.org/v1", "Job": "batch/v1"}


@dataclass(frozen=True)
class Job:
    """`pods` equal pods with `gpus` GPUs of a type, which run `length` seconds together. A JobSet has one more pod
    without GPUs; a PyTorchJob has one of its pods as master.
    """

    name: str
    kind: str
    pods: int
    gpus: int
    gpu_type: str
    length: float
    limit: int
    namespace: str = "ml"
    scheduler: str = "default-scheduler"

    @property
    def pod_sets(self) -> list[Json]:
        with_gpus = {"JobSet": [("leader", 1, 0), ("workers", self.pods, self.gpus)],
                     "PyTorchJob": [("master", 1, self.gpus), ("worker", self.pods - 1, self.gpus)],
                     "Job": [("main", self.pods, self.gpus)]}[self.kind]  # fmt: skip
        return [{"name": name, "count": count, "template": {"spec": self._pod(gpus)}}
                for name, count, gpus in with_gpus if count]  # fmt: skip

    def _pod(self, gpus: int) -> Json:
        amounts = {"cpu": "1", **({GPU: str(gpus)} if gpus else {})}
        container = {"name": "main", "image": "x", "resources": {"requests": amounts, "limits": amounts}}
        if not gpus:
            return {"containers": [container], "restartPolicy": "Never"}
        return {"containers": [container], "restartPolicy": "Never", "schedulerName": self.scheduler,
                "nodeSelector": {TYPE: self.gpu_type}}  # fmt: skip


def define_controllers(service: KubernetesService) -> None:
    """Let the API server have JobSets and PyTorchJobs, of any content."""
    definitions = []
    for kind in ("JobSet", "PyTorchJob"):
        group, version = KINDS[kind].split("/")
        plural = f"{kind.lower()}s"
        anything = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        definitions.append({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced",
                     "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
                     "versions": [{"name": version, "served": True, "storage": True, "schema": anything}]},
        })  # fmt: skip
    service.define(definitions)


def define_queue(service: KubernetesService, quota: dict[str, int], namespaces: tuple[str, ...]) -> None:
    """A flavor for each type with its quota, the ClusterQueue, and a LocalQueue `team` in each namespace."""
    kueue = {"apiVersion": GROUP.removeprefix("/apis/")}
    for kind in quota:
        service.apply({**kueue, "kind": "ResourceFlavor", "metadata": {"name": kind},
                       "spec": {"nodeLabels": {TYPE: kind}}})  # fmt: skip
    flavors = [{"name": kind, "resources": [{"name": GPU, "nominalQuota": number}]} for kind, number in quota.items()]
    service.apply({**kueue, "kind": "ClusterQueue", "metadata": {"name": QUEUE}, "spec": {
        "queueingStrategy": "StrictFIFO", "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": [GPU], "flavors": flavors}]}})  # fmt: skip
    for name in namespaces:
        service.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        service.apply({**kueue, "kind": "LocalQueue", "metadata": {"name": "team", "namespace": name},
                       "spec": {"clusterQueue": QUEUE}})  # fmt: skip


def submit(api: KubernetesApi, job: Job) -> str:
    """Create the object of the job and the Workload that Kueue makes for it; return its name for the driver."""
    version, plural = KINDS[job.kind], f"{job.kind.lower()}s"
    own: Json = {"suspend": True}
    if job.kind == "Job":
        own = {"parallelism": job.pods, "completions": job.pods, "template": job.pod_sets[0]["template"]}
    made = api.create(f"/apis/{version}/namespaces/{job.namespace}/{plural}", {
        "apiVersion": version, "kind": job.kind, "spec": own,
        "metadata": {"name": job.name, "namespace": job.namespace, "labels": {"kueue.x-k8s.io/queue-name": "team"}},
    })  # fmt: skip
    name = f"{job.kind.lower()}-{job.name}"
    found = api.create(f"{GROUP}/namespaces/{job.namespace}/workloads", {
        "apiVersion": GROUP.removeprefix("/apis/"), "kind": "Workload",
        "metadata": {"name": name, "namespace": job.namespace, "ownerReferences": [owner_of(made)],
                     "annotations": {"test/length": str(job.length)}},
        "spec": {"queueName": "team", "priority": 0, "maximumExecutionTimeSeconds": job.limit,
                 "podSets": job.pod_sets},
    })  # fmt: skip
    return f"{job.namespace}/{name}/{found['metadata']['uid'][:8]}"


def owner_of(thing: Json) -> Json:
    known = metadata(thing)
    return {"apiVersion": thing["apiVersion"], "kind": thing["kind"], "name": known["name"], "uid": known["uid"],
            "controller": True}  # fmt: skip


@dataclass
class Controllers:
    """`overloaded` are nodes that once had more GPUs in use than they have. With `annotates`, pods name their Workload,
    as by topology-aware scheduling of Kueue.
    """

    api: KubernetesApi
    annotates: bool = False
    overloaded: list[str] = field(default_factory=list)
    failure: list[BaseException] = field(default_factory=list)
    _since: dict[str, float] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Controllers:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *about: object) -> None:
        self._stop.set()
        self._thread.join(60)
        assert not self.failure, self.failure

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            try:
                self.step()
            except (ClusterUnavailable, ObjectChanged, Gone):
                continue
            except BaseException as failure:
                self.failure.append(failure)
                raise

    def step(self) -> None:
        nodes, pods = list(self.api.list("/api/v1/nodes")), list(self.api.list("/api/v1/pods"))
        workloads = sorted(self.api.list(f"{GROUP}/workloads"), key=_turn)
        queue = self.api.get(f"{GROUP}/clusterqueues/{QUEUE}")
        self._play_scheduler_and_kubelets(nodes, pods)
        used: Counter[str] = Counter()
        waiting: list[Json] = []
        for one in workloads:
            if condition(one, "Finished"):
                continue
            if not has_quota(one):
                waiting.append(one)
                continue
            used[_flavor(one)] += _gpus(one)
            mine = [pod for pod in pods if labels(pod).get("test/of") == metadata(one)["name"]]
            if is_admitted(one):
                self._play_job(one, mine)
            elif check_of(one, CHECK) is None or (check_of(one, CHECK) or {})["state"] == "Ready":
                self._write(one, "Admitted")
        quota = {flavor["name"]: int(flavor["resources"][0]["nominalQuota"])
                 for flavor in spec(queue)["resourceGroups"][0]["flavors"]}  # fmt: skip
        asked = (spec(queue).get("admissionChecksStrategy") or {}).get("admissionChecks") or []
        for one in waiting:
            if used[_flavor(one)] + _gpus(one) > quota[_flavor(one)]:
                break  # StrictFIFO
            used[_flavor(one)] += _gpus(one)
            sets = [{"name": each["name"], "count": each["count"],
                     "flavors": {GPU: _flavor(one)} if _gpus_of(each["template"]) else {}}
                    for each in spec(one)["podSets"]]  # fmt: skip
            checks = [{"name": each["name"], "state": "Pending", "message": "", "lastTransitionTime": _now()}
                      for each in asked]  # fmt: skip
            self._write(
                one, "QuotaReserved", admission={"clusterQueue": QUEUE, "podSetAssignments": sets},
                admissionChecks=checks,
            )  # fmt: skip

    # --- the controllers of jobs -------------------------------------------------------------------------------------

    def _play_job(self, workload: Json, pods: list[Json]) -> None:
        """Make the pods of an admitted Workload; end them all when they have run together for its length."""
        if not pods:
            self._make_pods(workload)
            return
        name = metadata(workload)["name"]
        if all(status(pod).get("phase") == "Running" for pod in pods):
            begun = self._since.setdefault(name, time.monotonic())
            if time.monotonic() >= begun + float(annotations_of(workload)["test/length"]):
                for pod in pods:
                    self._set(pod, phase="Succeeded")
                self._write(workload, "Finished", "Succeeded")

    def _make_pods(self, workload: Json) -> None:
        known = metadata(workload)
        (owner,) = known["ownerReferences"]
        updates = {one["name"]: one for one in (check_of(workload, CHECK) or {}).get("podSetUpdates") or []}
        for one in spec(workload)["podSets"]:
            update, parent = updates.get(one["name"], {}), owner
            if owner["kind"] == "JobSet":  # a Job for each of its parts
                made = self.api.create(f"/apis/batch/v1/namespaces/{known['namespace']}/jobs", {
                    "apiVersion": "batch/v1", "kind": "Job", "spec": {"parallelism": one["count"],
                                                                      "template": one["template"]},
                    "metadata": {"name": f"{owner['name']}-{one['name']}-0", "ownerReferences": [owner]},
                })  # fmt: skip
                parent = owner_of({"apiVersion": "batch/v1", "kind": "Job", **made})
            notes = {**update.get("annotations", {}), **({WORKLOAD: known["name"]} if self.annotates else {})}
            body = {**one["template"]["spec"]}
            body["nodeSelector"] = {**(body.get("nodeSelector") or {}), **update.get("nodeSelector", {})}
            for number in range(one["count"]):
                self.api.create(f"/api/v1/namespaces/{known['namespace']}/pods", {
                    "apiVersion": "v1", "kind": "Pod", "spec": body,
                    "metadata": {"name": f"{owner['name']}-{one['name']}-{number}", "ownerReferences": [parent],
                                 "annotations": notes, "labels": {"test/of": known["name"]}},
                })  # fmt: skip

    # --- the default scheduler and kubelets --------------------------------------------------------------------------

    def _play_scheduler_and_kubelets(self, nodes: list[Json], pods: list[Json]) -> None:
        free = {metadata(node)["name"]: int(status(node)["allocatable"][GPU]) for node in nodes}
        for pod in pods:
            if node_of(pod) and status(pod).get("phase") in ("Pending", "Running"):
                free[node_of(pod)] -= _gpus_of(pod)
        self.overloaded += [name for name, left in free.items() if left < 0]
        for pod in pods:
            path = f"/api/v1/namespaces/{metadata(pod)['namespace']}/pods/{metadata(pod)['name']}"
            if node_of(pod) and status(pod).get("phase") == "Pending":
                self._set(pod, phase="Running", startTime=_now())
            elif not node_of(pod) and spec(pod)["schedulerName"] == "default-scheduler":
                suit = [metadata(node)["name"] for node in nodes
                        if (spec(pod).get("nodeSelector") or {}).items() <= labels(node).items()
                        and free[metadata(node)["name"]] >= _gpus_of(pod)]  # fmt: skip
                if suit:
                    free[suit[0]] -= _gpus_of(pod)
                    self.api.create(f"{path}/binding", {
                        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": metadata(pod)["name"]},
                        "target": {"apiVersion": "v1", "kind": "Node", "name": suit[0]}})  # fmt: skip

    def _set(self, pod: Json, **changes: Any) -> None:
        path = f"/api/v1/namespaces/{metadata(pod)['namespace']}/pods/{metadata(pod)['name']}/status"
        self.api.replace(path, {**pod, "status": {**status(pod), **changes}})

    def _write(self, workload: Json, kind: str, reason: str = "Test", **more: Any) -> None:
        path = f"{GROUP}/namespaces/{metadata(workload)['namespace']}/workloads/{metadata(workload)['name']}/status"
        true = {"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": _now()}
        found = [*(status(workload).get("conditions") or []), true]
        self.api.replace(path, {**workload, "status": {**status(workload), "conditions": found, **more}})


def time_of(workload: Json, kind: str) -> float:
    """When a condition has become true, in seconds since 1970."""
    found = seconds((condition(workload, kind) or {}).get("lastTransitionTime"))
    assert found is not None, (metadata(workload)["name"], kind)
    return found


def _now() -> str:
    return date_text(time.time())


def _turn(workload: Json) -> tuple[str, str]:
    return metadata(workload)["creationTimestamp"], metadata(workload)["name"]


def _gpus_of(pod: Json) -> int:
    return sum(int(one["resources"]["requests"].get(GPU, 0)) for one in spec(pod)["containers"])


def _gpus(workload: Json) -> int:
    return sum(one["count"] * _gpus_of(one["template"]) for one in spec(workload)["podSets"])


def _flavor(workload: Json) -> str:
    return next(str(one["template"]["spec"]["nodeSelector"][TYPE]) for one in spec(workload)["podSets"]
                if _gpus_of(one["template"]))  # fmt: skip
