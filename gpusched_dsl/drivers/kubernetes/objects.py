"""Pods and nodes as the API server shows them: what they request, offer and require."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from gpusched_dsl.data.kubernetes.requests import pod_requests
from gpusched_dsl.data.kubernetes.values import UnknownValue, devices, quantity
from gpusched_dsl.drivers.kubernetes.dates import seconds
from gpusched_dsl.drivers.protocol import ObservedNode

Json: TypeAlias = dict[str, Any]
HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Gpus:
    """The name of the resource, and the label of nodes that has the type of their GPUs."""

    resource: str = "nvidia.com/gpu"
    type_label: str = "nvidia.com/gpu.product"


# --- any object ------------------------------------------------------------------------------------------------------


def metadata(thing: Json) -> Json:
    return thing.get("metadata") or {}


def spec(thing: Json) -> Json:
    return thing.get("spec") or {}


def status(thing: Json) -> Json:
    return thing.get("status") or {}


def labels(thing: Json) -> Mapping[str, str]:
    return metadata(thing).get("labels") or {}


def annotations_of(thing: Json) -> Mapping[str, str]:
    return metadata(thing).get("annotations") or {}


def condition(thing: Json, kind: str) -> Json | None:
    """A condition that is true."""
    for found in status(thing).get("conditions") or []:
        if found.get("type") == kind and found.get("status") == "True":
            return dict(found)
    return None


def since(found: Json | None) -> float | None:
    """When a condition became true, in seconds since 1970."""
    return None if found is None else seconds(found.get("lastTransitionTime"))


def name_of(thing: Json) -> str:
    """A name that no later object has: `namespace/name/` and the first digits of its uid."""
    known = metadata(thing)
    return f"{known.get('namespace', '')}/{known.get('name', '')}/{str(known.get('uid', ''))[:8]}"


# --- pods ------------------------------------------------------------------------------------------------------------


def requests(pod: Json) -> dict[str, Decimal]:
    """What a pod reserves. Raises UnknownValue."""
    return pod_requests(spec(pod))


def gpus_of(pod: Json, gpus: Gpus) -> int:
    return devices(requests(pod).get(gpus.resource, 0))


def has_ended(pod: Json) -> bool:
    return status(pod).get("phase") in ("Succeeded", "Failed")


def node_of(pod: Json) -> str:
    return str(spec(pod).get("nodeName") or "")


def is_leaving(pod: Json) -> bool:
    return metadata(pod).get("deletionTimestamp") is not None


def owner_of(pod: Json, kind: str) -> str:
    """The uid of the object of a kind that controls a pod, "" without one."""
    for owner in metadata(pod).get("ownerReferences") or []:
        if owner.get("kind") == kind and owner.get("controller"):
            return str(owner.get("uid", ""))
    return ""


def scheduled_at(pod: Json) -> float | None:
    return since(condition(pod, "PodScheduled")) if node_of(pod) else None


def ended_at(pod: Json) -> float | None:
    """When the last container of an ended pod ended."""
    found = [
        seconds(((one.get("state") or {}).get("terminated") or {}).get("finishedAt"))
        for one in status(pod).get("containerStatuses") or []
    ]
    times = [time for time in found if time is not None]
    return max(times) if times and has_ended(pod) else None


# --- nodes -----------------------------------------------------------------------------------------------------------


def observed_node(node: Json, gpus: Gpus) -> ObservedNode:
    """A node is up if it is ready and schedulable."""
    name = str(metadata(node).get("name", ""))
    amount = devices((status(node).get("allocatable") or {}).get(gpus.resource, 0))
    reason = ""
    if spec(node).get("unschedulable"):
        reason = "it is cordoned"
    elif condition(node, "Ready") is None:
        found = [c for c in status(node).get("conditions") or [] if c.get("type") == "Ready"]
        reason = str(found[0].get("message") or "it is not ready") if found else "it is not ready"
    elif is_leaving(node):
        reason = "it is being removed"
    return ObservedNode(name, amount, not reason, str(labels(node).get(gpus.type_label, "")), reason)


def misfit(pod: Json, node: Json, used: Mapping[str, Decimal]) -> str | None:
    """Why a pod cannot run on a node of which `used` is reserved, None if it can.

    Checked are what a kubelet refuses: resources, node selector and required node affinity, and taints.
    """
    name = metadata(node).get("name")
    offered = status(node).get("allocatable") or {}
    for resource, amount in {**requests(pod), "pods": Decimal(1)}.items():
        free = quantity(offered.get(resource, 0)) - used.get(resource, Decimal(0))
        if amount > free:
            return f"node `{name}` has {max(free, Decimal(0)):f} of {resource} free, and {amount:f} are needed"
    own = labels(node)
    for key, value in (spec(pod).get("nodeSelector") or {}).items():
        if own.get(key) != value:
            return f"node `{name}` does not have the label {key}={value}"
    required = ((spec(pod).get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if required is not None and not any(_term_holds(term, node) for term in required.get("nodeSelectorTerms") or []):
        return f"node `{name}` does not satisfy the node affinity"
    for taint in spec(node).get("taints") or []:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not _is_tolerated(taint, spec(pod)):
            return f"node `{name}` has the taint {taint.get('key')}, which is not tolerated"
    return None


def sum_reservations(pods: Sequence[Json]) -> dict[str, Decimal]:
    """What the pods of a node reserve together."""
    total: dict[str, Decimal] = {"pods": Decimal(0)}
    for pod in pods:
        if not has_ended(pod):
            total["pods"] += 1
            for resource, amount in requests(pod).items():
                total[resource] = total.get(resource, Decimal(0)) + amount
    return total


def _term_holds(term: Json, node: Json) -> bool:
    found = [*(term.get("matchExpressions") or []), *(term.get("matchFields") or [])]
    fields = {"metadata.name": str(metadata(node).get("name", ""))}
    return bool(found) and all(
        _expression_holds(one, fields if one in (term.get("matchFields") or []) else labels(node)) for one in found
    )


def _expression_holds(expression: Json, known: Mapping[str, str]) -> bool:
    key, values = expression.get("key"), expression.get("values") or []
    value = known.get(str(key))
    match expression.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            try:
                difference = int(value or "") - int(values[0])
            except (ValueError, IndexError):
                return False
            return difference > 0 if operator == "Gt" else difference < 0
    raise UnknownValue(f"the operator `{expression.get('operator')}` of a node affinity is unknown")


def _is_tolerated(taint: Json, pod: Json) -> bool:
    for one in pod.get("tolerations") or []:
        if one.get("effect") not in (None, "", taint.get("effect")):
            continue
        if not one.get("key"):
            if one.get("operator") == "Exists":
                return True
            continue
        if one.get("key") != taint.get("key"):
            continue
        if one.get("operator") == "Exists" or (one.get("value") or "") == (taint.get("value") or ""):
            return True
    return False
