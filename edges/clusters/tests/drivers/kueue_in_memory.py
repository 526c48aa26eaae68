"""Kueue and its API server in memory: quota for everybody, our check, and pods that are made when admitted."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

from gsdsl_clusters.drivers.kubernetes.api import Answer, KubernetesApi
from gsdsl_clusters.drivers.kubernetes.dates import date_text

Json = dict[str, Any]
GPU = "nvidia.com/gpu"
LATE = 1_900_000_000.0


class KueueInMemory:
    """Nodes, Workloads and pods, each by its name; `bound` has the pods and nodes of all bindings in their order.

    `step` is what the controllers do between two observations. Pods run as long as the label `length` of their
    Workload says, in seconds. The first `late` pods of each Workload are made one step later than the others.
    """

    def __init__(self, nodes: list[Json], late: int = 0) -> None:
        self.nodes = {one["metadata"]["name"]: one for one in nodes}
        self.checks = {"gpusched-dsl": {"metadata": {"generation": 1}, "spec": {"controllerName": "gpusched-dsl/plan"}}}
        self.workloads: dict[str, Json] = {}
        self.pods: dict[str, Json] = {}
        self.bound: list[tuple[str, str]] = []
        self.events: list[Json] = []
        self.evicted: list[str] = []
        self.refuse_bindings_after: int | None = None
        self.time, self.late = LATE, late
        self.since: dict[str, float] = {}

    @property
    def api(self) -> KubernetesApi:
        return KubernetesApi(self.send)

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.step()

    def submit(
        self, name: str, *sets: tuple[str, int, int], length: float = 1e9, scheduler: str = "gpusched-dsl"
    ) -> str:
        """Submit pod sets of a name, a number of pods, and GPUs of each; return the name that the driver uses."""
        amount = [{"resources": {"limits": {GPU: str(gpus)} if gpus else {}}} for _, _, gpus in sets]
        pod_sets = [
            {"name": one, "count": count, "template": {"spec": {
                "containers": [{"name": "main", **resources}], **({"schedulerName": scheduler} if gpus else {})}}}
            for (one, count, gpus), resources in zip(sets, amount, strict=True)
        ]  # fmt: skip
        self.workloads[name] = {
            "metadata": {"name": name, "namespace": "ml", "uid": f"{name}-12345678", "resourceVersion": "1",
                         "creationTimestamp": date_text(self.time), "labels": {"length": str(length)}},
            "spec": {"queueName": "q", "podSets": pod_sets},
            "status": {},
        }  # fmt: skip
        return f"ml/{name}/{f'{name}-12345678'[:8]}"

    # --- controllers -------------------------------------------------------------------------------------------------

    def step(self) -> None:
        for name, workload in self.workloads.items():
            state = workload["status"]
            (check,) = state.get("admissionChecks") or [None]
            if "Finished" in self._true(workload):
                continue
            if check is None:
                self._set(workload, "QuotaReserved")
                state["admissionChecks"] = [{"name": "gpusched-dsl", "state": "Pending", "message": ""}]
            elif check["state"] == "Retry":
                self.evicted.append(name)
                workload["status"] = {}
                self.pods = {at: pod for at, pod in self.pods.items() if pod["metadata"]["labels"]["of"] != name}
                self.since.pop(name, None)
            elif check["state"] == "Ready":
                late = self.late if "Admitted" not in self._true(workload) else 0
                self._set(workload, "Admitted")
                self._make_pods(name, workload, check, late)
                self._end(name, workload)

    def _make_pods(self, name: str, workload: Json, check: Json, late: int) -> None:
        updates = {one["name"]: one for one in check.get("podSetUpdates") or []}
        assert updates.keys() <= {one["name"] for one in workload["spec"]["podSets"]}, "Kueue refuses unknown names"
        for one in workload["spec"]["podSets"]:
            for number in range(late, one["count"]):
                pod = f"{name}-{one['name']}-{number}"
                notes = dict(updates.get(one["name"], {}).get("annotations") or {})
                spec = copy.deepcopy(one["template"]["spec"])
                spec["nodeSelector"] = updates.get(one["name"], {}).get("nodeSelector") or {}
                self.pods.setdefault(pod, {
                    "metadata": {"name": pod, "namespace": "ml", "uid": f"{pod}-uid", "annotations": notes,
                                 "creationTimestamp": date_text(self.time), "labels": {"of": name}},
                    "spec": spec, "status": {"phase": "Pending"},
                })  # fmt: skip

    def _end(self, name: str, workload: Json) -> None:
        pods = [pod for pod in self.pods.values() if pod["metadata"]["labels"]["of"] == name]
        wanted = [p for p in pods if p["spec"].get("schedulerName") == "gpusched-dsl"]
        if all(pod["spec"].get("nodeName") for pod in wanted) and wanted:
            begun = self.since.setdefault(name, self.time)
            if self.time >= begun + float(workload["metadata"]["labels"]["length"]):
                for pod in pods:
                    pod["status"]["phase"] = "Succeeded"
                self._set(workload, "Finished", "Succeeded")

    @staticmethod
    def _true(workload: Json) -> set[str]:
        return {one["type"] for one in workload["status"].get("conditions") or []}

    def _set(self, workload: Json, kind: str, reason: str = "Any") -> None:
        if kind not in self._true(workload):
            workload["status"].setdefault("conditions", []).append(
                {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": date_text(self.time)}
            )

    # --- the API server ----------------------------------------------------------------------------------------------

    def send(self, method: str, path: str, headers: Any, body: Any) -> Answer:
        where, _, query = path.partition("?")
        parts = where.split("/")
        if method == "POST" and parts[-1] == "binding":
            return self._bind(parts[-2], body)
        if method == "POST":
            self.events.append(body)
            return Answer(201, b"{}")
        kinds: Any = {
            "nodes": self.nodes,
            "pods": self.pods,
            "workloads": self.workloads,
            "admissionchecks": self.checks,
        }
        if parts[-1] in kinds:
            chosen = re.search("spec.nodeName%3D([^&]*)", query)
            items = [o for o in kinds[parts[-1]].values() if not chosen or o["spec"].get("nodeName") == chosen[1]]
            return Answer(200, json.dumps({"items": items}).encode())
        if method == "PUT":
            kinds[parts[-3]][parts[-2]]["status"] = copy.deepcopy(body["status"])
            return Answer(200, b"{}")
        one = kinds.get(parts[-2], {}).get(parts[-1])
        if one is not None and method == "PATCH":
            notes = one["metadata"].setdefault("annotations", {})
            notes.update(body["metadata"]["annotations"])
            one["metadata"]["annotations"] = {key: value for key, value in notes.items() if value is not None}
        return Answer(404, b"{}") if one is None else Answer(200, json.dumps(one).encode())

    def _bind(self, name: str, body: Json) -> Answer:
        pod = self.pods[name]
        if pod["spec"].get("nodeName") or pod["spec"].get("schedulingGates"):
            return Answer(409, b'{"message": "it is bound already"}')
        if self.refuse_bindings_after is not None and len(self.bound) >= self.refuse_bindings_after:
            return Answer(503, b"{}")
        pod["spec"]["nodeName"], pod["status"]["phase"] = body["target"]["name"], "Running"
        self.bound.append((name, body["target"]["name"]))
        return Answer(201, b"{}")
