"""The nodes and pods of a cluster, each read by itself: what pods reserve, and whose GPUs are not free."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from gsdsl_clusters.drivers.kubernetes.dates import seconds
from gsdsl_clusters.drivers.kubernetes.objects import (
    Gpus,
    add_reservation,
    annotations_of,
    gpus_of,
    has_ended,
    labels,
    metadata,
    name_of,
    node_of,
    observed_places,
    owner_of,
    place_of,
    requests,
    scheduled_at,
    spec,
)
from gsdsl_clusters.drivers.protocol import JobState, ObservedJob, ObservedNode
from gsdsl_clusters.kubernetes_objects.requests import pod_requests
from gsdsl_clusters.kubernetes_objects.values import Json, UnknownValue, devices


@dataclass
class ClusterState:
    """Nodes and pods of a cluster, read one by one.

    `nodes` are by name, `raw_nodes` those that can be read. `pods` are readable pods that request GPUs, also ended
    ones; `unread_pods` cannot be read, with the reason, and may occupy GPUs. `reserved` is what pods reserve by node.
    `unread` says in words what is left out.
    """

    gpus: Gpus
    nodes: dict[str, ObservedNode] = field(default_factory=dict)
    raw_nodes: dict[str, Json] = field(default_factory=dict)
    pods: list[Json] = field(default_factory=list)
    unread_pods: list[tuple[Json, str]] = field(default_factory=list)
    reserved: dict[str, dict[str, Decimal]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, nodes: Iterable[Json], pods: Iterable[Json], gpus: Gpus) -> ClusterState:
        found = cls(gpus)
        for node in nodes:
            found._add_node(node)
        for pod in pods:
            found._add_pod(pod)
        return found

    def _add_node(self, node: Json) -> None:
        name = best_text(node, "metadata", "name")
        try:
            self.nodes.update((place.name, place) for place in observed_places(node, self.gpus))
            self.raw_nodes[name] = node
        except UnknownValue as unknown:
            self.unread.append(f"node `{name}` is left out: {unknown}")
            if name:  # jobs may run there
                self.nodes[name] = ObservedNode(name, 0, False, "", f"its object cannot be read: {unknown}", True)

    def _add_pod(self, pod: Json) -> None:
        try:
            amounts, node = requests(pod), node_of(pod)
            if node and not has_ended(pod):
                add_reservation(self.reserved.setdefault(node, {}), amounts)
            if gpus_of(pod, self.gpus):
                name_of(pod), owner_of(pod, "Job"), labels(pod), annotations_of(pod)  # what decides whose pod it is
                self.pods.append(pod)
        except UnknownValue as unknown:
            if self._may_have_gpus(pod):
                self.unread_pods.append((pod, str(unknown)))

    def _may_have_gpus(self, pod: Json) -> bool:
        try:
            return not has_ended(pod) and any(_gpus_alone(pod, resource) for resource in self.gpus.all)
        except UnknownValue:
            return True

    def unread_jobs(self) -> list[ObservedJob]:
        return [self.unread_job(pod, [pod], why) for pod, why in self.unread_pods]

    def unread_job(self, thing: Json, pods: Sequence[Json], why: str) -> ObservedJob:
        """A job that cannot be read, with the GPUs that it may occupy: of a node all, unless its pod states fewer."""
        space, name, uid = (best_text(thing, "metadata", key) for key in ("namespace", "name", "uid"))
        used: dict[str, int] = {}
        for pod in pods:
            node = best_text(pod, "spec", "nodeName")
            if node and best_text(pod, "status", "phase") not in ("Succeeded", "Failed"):
                for resource in self.gpus.all:
                    place = self.gpus.place(node, resource)
                    most = self.nodes[place].gpus if place in self.nodes else 0
                    try:
                        amount = used.get(place, 0) + _gpus_alone(pod, resource)
                    except UnknownValue:
                        amount = most
                    if amount or resource == self.gpus.resource:
                        used[place] = amount
        label = f"{space}/{name}/{uid[:8]}"
        self.unread.append(f"job `{label}` is left out: {why}")
        return ObservedJob(
            label, JobState.RUNNING if used else JobState.BLOCKED, allocation=used, unsupported=why, unread=True
        )

    def divide(self, is_mine: Callable[[Json], bool]) -> tuple[list[Json], list[Json]]:
        """The pods that a driver manages, and the others."""
        mine: list[Json] = []
        others: list[Json] = []
        for pod in self.pods:
            try:
                (mine if is_mine(pod) else others).append(pod)
            except UnknownValue as unknown:
                self.unread_pods.append((pod, str(unknown)))
        return mine, others

    def foreign_jobs(self, pods: Sequence[Json], why: str) -> list[ObservedJob]:
        """Pods that occupy GPUs, as jobs that cannot be managed."""
        found = []
        for pod in pods:
            try:
                if node_of(pod) and not has_ended(pod):
                    found.append(self._foreign_job(pod, why))
            except UnknownValue as unknown:
                found.append(self.unread_job(pod, [pod], str(unknown)))
        return found

    def _foreign_job(self, pod: Json, why: str) -> ObservedJob:
        number = gpus_of(pod, self.gpus)
        return ObservedJob(
            name=name_of(pod), state=JobState.RUNNING, gpus=number, allocation={place_of(pod, self.gpus): number},
            submitted=seconds(metadata(pod).get("creationTimestamp")), started=scheduled_at(pod), unsupported=why,
        )  # fmt: skip


def best_text(thing: Mapping[str, Any], part: str, key: str) -> str:
    """A text within an object that may have any form, "" if there is none."""
    inner = thing.get(part)
    found = inner.get(key) if isinstance(inner, dict) else None
    return found if isinstance(found, str) else ""


def _gpus_alone(pod: Json, resource: str) -> int:
    return devices(pod_requests(spec(pod), resource).get(resource, 0))
