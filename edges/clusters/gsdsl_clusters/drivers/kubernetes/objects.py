"""Pods and nodes as the API server shows them: their fields, what they request and offer.

Every function raises UnknownValue for a field of another form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from gsdsl_clusters.drivers.kubernetes.dates import seconds
from gsdsl_clusters.drivers.protocol import ObservedNode
from gsdsl_clusters.kubernetes_objects.requests import pod_requests
from gsdsl_clusters.kubernetes_objects.values import Json, UnknownValue, devices, table, tables, text, texts

HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Gpus:
    """The names of resources, and the label of nodes that has the type of their GPUs.

    The `others`, such as MIG profiles and time slices, are on places of their own: `node:profile`, whose type is the
    profile.
    """

    resource: str = "nvidia.com/gpu"
    type_label: str = "nvidia.com/gpu.product"
    others: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return self.resource, *self.others

    def place(self, node: str, resource: str) -> str:
        """The name of the place with one resource of a node."""
        return node if resource == self.resource else f"{node}:{profile_of(resource)}"


def profile_of(resource: str) -> str:
    """The last part of the name of a resource, such as `mig-1g.5gb`."""
    return resource.rpartition("/")[2]


def host_of(place: str) -> str:
    """The node of a place. Names of nodes have no colon."""
    return place.partition(":")[0]


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
    """The GPUs, or parts of GPUs, that a pod requests. Raises UnknownValue if they are of several resources."""
    amounts = requests(pod)
    return devices(amounts.get(_resource_in(amounts, gpus), 0))


def resource_of(pod: Json, gpus: Gpus) -> str:
    """The resource whose devices a pod requests. Raises UnknownValue for several."""
    return _resource_in(requests(pod), gpus) if gpus.others else gpus.resource


def _resource_in(amounts: Mapping[str, Decimal], gpus: Gpus) -> str:
    found = [resource for resource in gpus.all if amounts.get(resource)]
    if len(found) > 1:
        raise UnknownValue(f"it requests GPUs of several resources ({', '.join(found)})")
    return found[0] if found else gpus.resource


def several_resources(pods: Sequence[Json], gpus: Gpus) -> str:
    """Why pods that start together cannot be managed, "" if they request devices of one resource."""
    found = {resource_of(pod, gpus) for pod in pods}
    return f"its pods request GPUs of several resources ({', '.join(sorted(found))})" if len(found) > 1 else ""


def place_of(pod: Json, gpus: Gpus) -> str:
    """The place that a pod uses, "" without a node."""
    return gpus.place(node_of(pod), resource_of(pod, gpus)) if node_of(pod) else ""


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


def observed_places(node: Json, gpus: Gpus) -> list[ObservedNode]:
    """A node, and a place for each other resource that it offers."""
    whole = observed_node(node, gpus)
    offered = table(status(node).get("allocatable"))
    amounts = {resource: devices(offered.get(resource, 0)) for resource in gpus.others}
    return [
        whole,
        *(
            replace(whole, name=gpus.place(whole.name, resource), gpus=amount, gpu_type=profile_of(resource))
            for resource, amount in amounts.items()
            if amount
        ),
    ]


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
