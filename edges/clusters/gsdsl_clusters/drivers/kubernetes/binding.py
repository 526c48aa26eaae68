"""Binds the pods of a job to the nodes of a plan: all of them, or none if one does not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from gsdsl_clusters.drivers.kubernetes.api import Gone, KubernetesApi
from gsdsl_clusters.drivers.kubernetes.demands import misfit
from gsdsl_clusters.drivers.kubernetes.event_record import record_event
from gsdsl_clusters.drivers.kubernetes.objects import (
    Gpus,
    add_reservation,
    gpus_of,
    host_of,
    metadata,
    place_of,
    requests,
    sum_reservations,
)
from gsdsl_clusters.drivers.kubernetes.parts import nodes_of_parts
from gsdsl_clusters.drivers.protocol import Action, ActionRefused
from gsdsl_clusters.kubernetes_objects.values import Json


@dataclass(frozen=True)
class PodBinder:
    """Binds pods by the Binding API; `component` is the scheduler that its events name, `now` in seconds since 1970."""

    api: KubernetesApi
    gpus: Gpus
    component: str
    now: Callable[[], float]

    def bind(self, waiting: Sequence[Json], bound: Sequence[Json], action: Action) -> None:
        """Bind all waiting pods, so that together with those `bound` they use the GPUs of the action.

        It first checks that each pod fits its node. Raises ActionRefused before the first one is bound, ObjectChanged
        and Gone if a pod has changed since it was read, and UnknownValue.
        """
        missing = dict(action.allocation)
        for pod in bound:
            place = place_of(pod, self.gpus)
            missing[place] = missing.get(place, 0) - gpus_of(pod, self.gpus)
        sizes = [gpus_of(pod, self.gpus) for pod in waiting]
        if any(left < 0 for left in missing.values()):
            raise ActionRefused("a part of it runs on another node")
        chosen = nodes_of_parts(sizes, missing)
        if not waiting or chosen is None:
            raise ActionRefused(f"waiting pods with {sizes} GPUs do not fit {missing}")
        chosen = tuple(map(host_of, chosen))
        self._check_fit(waiting, chosen)
        for pod, node in zip(waiting, chosen, strict=True):
            known = metadata(pod)
            path = f"/api/v1/namespaces/{known['namespace']}/pods/{known['name']}/binding"
            self.api.create(path, {
                "apiVersion": "v1", "kind": "Binding",
                "metadata": {"name": known["name"], "namespace": known["namespace"], "uid": known["uid"]},
                "target": {"apiVersion": "v1", "kind": "Node", "name": node},
            })  # fmt: skip
            self.tell(pod, "Scheduled", f"{action.reason} (assigned to {node})")

    def _check_fit(self, pods: Sequence[Json], chosen: Sequence[str]) -> None:
        """Raises ActionRefused if a node is gone, or has no room, or does not suit a pod."""
        nodes: dict[str, Json] = {}
        used: dict[str, dict[str, Decimal]] = {}
        for pod, name in zip(pods, chosen, strict=True):
            if name not in nodes:
                try:
                    nodes[name] = self.api.get(f"/api/v1/nodes/{name}")
                except Gone:
                    raise ActionRefused(f"there is no node `{name}`") from None
                used[name] = sum_reservations(
                    list(self.api.list("/api/v1/pods", fieldSelector=f"spec.nodeName={name}"))
                )
            why = misfit(pod, nodes[name], used[name])
            if why is not None:
                raise ActionRefused(why)
            add_reservation(used[name], requests(pod))

    def tell(self, pod: Json, reason: str, message: str) -> None:
        """Record the reason as an event of the pod. The action does not depend on it."""
        record_event(self.api, pod, ("v1", "Pod"), self.component, self.now(), reason, message)
