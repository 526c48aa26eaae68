"""Objects of a made Kubernetes cluster, as the API server writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]
NOW = 1_796_000_000.0


def date(seconds_ago: float) -> str:
    return datetime.fromtimestamp(NOW - seconds_ago, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(name: str, gpus: dict[str, int], *, product: str = "", rack: str = "", taint: str = "", **more: Any) -> Json:
    labels = {"kubernetes.io/hostname": name, **more.get("labels", {})}
    labels |= {"nvidia.com/gpu.product": product} if product else {}
    labels |= {"topology.kubernetes.io/rack": rack} if rack else {}
    spec: Json = {"taints": [{"key": taint, "effect": "NoSchedule"}]} if taint else {}
    ready = {"type": "Ready", "status": more.get("ready", "True"), "lastHeartbeatTime": date(0)}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{name}", "labels": labels},
        "spec": {**spec, **({"unschedulable": True} if more.get("cordoned") else {})},
        "status": {
            "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110", **{k: str(n) for k, n in gpus.items()}},
            "conditions": [{**ready, "message": "kubelet is silent"}],
        },
    }  # fmt: skip


def pod_spec(gpus: int, *, resource: str = "nvidia.com/gpu", **more: Any) -> Json:
    container = {"name": "main", "resources": {"limits": {resource: gpus} if gpus else {}, "requests": {"cpu": "4"}}}
    return {"containers": [container], **more}


def pod(
    name: str, spec: Json, *, on: str = "", owner: tuple[str, str] | None = None, ago: float = 1000, **more: Any
) -> Json:
    """A pod that runs on a node since `ago - 100` seconds, or waits; `ended` seconds ago it ended."""
    meta: Json = {
        "name": name,
        "namespace": more.get("space", "red"),
        "uid": f"pod-{name}",
        "creationTimestamp": date(ago),
    }
    meta["labels"], meta["annotations"] = more.get("labels", {}), more.get("annotations", {})
    if owner is not None:
        meta["ownerReferences"] = [
            {"kind": owner[0], "name": owner[1], "uid": f"{owner[0]}-{owner[1]}", "controller": True}
        ]
    bound = {"type": "PodScheduled", "status": "True" if on else "False", "lastTransitionTime": date(ago - 100)}
    if not on:
        bound["message"] = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu. preemption: none."
    status: Json = {"phase": "Running" if on else "Pending", "conditions": [bound]}
    if "ended" in more:
        ended = {"terminated": {"finishedAt": date(more["ended"])}}
        status |= {"phase": more.get("phase", "Succeeded"), "containerStatuses": [{"state": ended}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**spec, **({"nodeName": on} if on else {})},
            "status": status}  # fmt: skip


def owned(kind: str, name: str, owner: tuple[str, str] | None = None, **more: Any) -> Json:
    """An object that owns pods."""
    meta: Json = {"name": name, "namespace": "red", "uid": f"{kind}-{name}", "creationTimestamp": date(2000)}
    meta["labels"] = more.get("labels", {})
    if owner is not None:
        meta["ownerReferences"] = [
            {"kind": owner[0], "name": owner[1], "uid": f"{owner[0]}-{owner[1]}", "controller": True}
        ]
    return {
        "apiVersion": "x/v1",
        "kind": kind,
        "metadata": meta,
        "spec": more.get("spec", {}),
        "status": more.get("status", {}),
    }


def workload(
    name: str, sets: list[tuple[int, Json]], *, owner: tuple[str, str], conditions: dict[str, Any], **more: Any
) -> Json:
    found = owned("Workload", name, owner)
    found["spec"] = {
        "queueName": "team-red", "priority": more.get("priority", 0), "active": more.get("active", True),
        "podSets": [{"name": f"set-{at}", "count": number, "template": {"spec": spec}}
                    for at, (number, spec) in enumerate(sets)],
        **({"maximumExecutionTimeSeconds": more["limit"]} if "limit" in more else {}),
    }  # fmt: skip
    found["status"] = {
        "conditions": [
            {"type": kind, "status": "True" if good else "False", "lastTransitionTime": date(ago), "message": message,
             "reason": "Succeeded"}
            for kind, (good, ago, message) in conditions.items()
        ],
        **({"admission": {"clusterQueue": "gpus", "podSetAssignments": []}} if "Admitted" in conditions else {}),
    }  # fmt: skip
    return found
