"""Pods and nodes as the API server shows them: their fields, what they request and offer.

Every function raises UnknownValue for a field of another form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from gpusched_dsl.data.kubernetes.requests import pod_requests
from gpusched_dsl.data.kubernetes.values import Json, devices, table, tables, text, texts
from gpusched_dsl.drivers.kubernetes.dates import seconds
from gpusched_dsl.drivers.protocol import ObservedNode

HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Gpus:
    """The name of the resource, and the label of nodes that has the type of their GPUs."""

    resource: str = "nvidia.com/gpu"
    type_label: str = "nvidia.com/gpu.product"


# --- any object ------------------------------------------------------------------------------------------------------


def metadata(thing: Json) -> Json:
    return table(thing.get("metadata"))


def spec(thing: Json) -> Json:
    return table(thing.get("spec"))


def status(thing: Json) -> Json:
    return table(thing.get("status"))


def labels(thing: Json) -> Mapping[str, str]:
    return texts(metadata(thing).get("labels"))


def annotations_of(thing: Json) -> Mapping[str, str]:
    return texts(metadata(thing).get("annotations"))


def condition(thing: Json, kind: str) -> Json | None:
    """A condition that is true."""
    for found in tables(status(thing).get("conditions")):
        if found.get("type") == kind and found.get("status") == "True":
            return dict(found)
    return None


def since(found: Json | None) -> float | None:
    """When a condition became true, in seconds since 1970."""
    return None if found is None else seconds(found.get("lastTransitionTime"))


def name_of(thing: Json) -> str:
    """A name that no later object has: `namespace/name/` and the first digits of its uid."""
    known = metadata(thing)
    return f"{text(known.get('namespace'))}/{text(known.get('name'))}/{text(known.get('uid'))[:8]}"


# --- pods ------------------------------------------------------------------------------------------------------------


def requests(pod: Json) -> dict[str, Decimal]:
    """What a pod reserves. Raises UnknownValue."""
    return pod_requests(spec(pod))


def gpus_of(pod: Json, gpus: Gpus) -> int:
    return devices(requests(pod).get(gpus.resource, 0))


def has_ended(pod: Json) -> bool:
    return status(pod).get("phase") in ("Succeeded", "Failed")


def node_of(pod: Json) -> str:
    return text(spec(pod).get("nodeName"))


def is_leaving(pod: Json) -> bool:
    return metadata(pod).get("deletionTimestamp") is not None


def owner_of(pod: Json, kind: str) -> str:
    """The uid of the object of a kind that controls a pod, "" without one."""
    for owner in tables(metadata(pod).get("ownerReferences")):
        if owner.get("kind") == kind and owner.get("controller"):
            return text(owner.get("uid"))
    return ""


def scheduled_at(pod: Json) -> float | None:
    return since(condition(pod, "PodScheduled")) if node_of(pod) else None


def ended_at(pod: Json) -> float | None:
    """When the last container of an ended pod ended."""
    found = [
        seconds(table(table(one.get("state")).get("terminated")).get("finishedAt"))
        for one in tables(status(pod).get("containerStatuses"))
    ]
    times = [time for time in found if time is not None]
    return max(times) if times and has_ended(pod) else None


# --- nodes -----------------------------------------------------------------------------------------------------------


def observed_node(node: Json, gpus: Gpus) -> ObservedNode:
    """A node is up if it is ready and schedulable; jobs go on running on one that is only cordoned."""
    name = text(metadata(node).get("name"))
    amount = devices(table(status(node).get("allocatable")).get(gpus.resource, 0))
    reason, drains = "", False
    if condition(node, "Ready") is None:
        found = [c for c in tables(status(node).get("conditions")) if c.get("type") == "Ready"]
        reason = str(found[0].get("message") or "it is not ready") if found else "it is not ready"
    elif is_leaving(node):
        reason = "it is being removed"
    elif spec(node).get("unschedulable"):
        reason, drains = "it is cordoned", True
    return ObservedNode(name, amount, not reason, labels(node).get(gpus.type_label, ""), reason, drains)


def sum_reservations(pods: Sequence[Json]) -> dict[str, Decimal]:
    """What the pods of a node reserve together. Raises UnknownValue."""
    total: dict[str, Decimal] = {"pods": Decimal(0)}
    for pod in pods:
        if not has_ended(pod):
            add_reservation(total, requests(pod))
    return total


def add_reservation(total: dict[str, Decimal], amounts: Mapping[str, Decimal]) -> None:
    """Add one pod to what is reserved on a node."""
    for resource, amount in {**amounts, "pods": Decimal(1)}.items():
        total[resource] = total.get(resource, Decimal(0)) + amount
