"""What a pod reserves on its node, as Kubernetes counts it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from gsdsl_clusters.kubernetes_objects.values import Json, quantity, table, tables

_OF_PODS = ("cpu", "memory")  # with `hugepages-...`, resources that the pod itself may request

Requests = dict[str, Decimal]


def pod_requests(spec: Json, only: str | None = None) -> Requests:
    """The amount of each resource that a pod with this `spec` reserves, or only of one. Raises UnknownValue.

    An initial container with `restartPolicy: Always` is a sidecar: it runs on beside the containers and beside the
    initial containers after it. With initial containers i in their order, S(i) the sum of the sidecars up to i,

        max(containers + all sidecars, max over i of S(i) and, if i is no sidecar, request(i)) + overhead

    of each resource. A container that states only the limit of a resource requests its limit. What the pod itself
    requests (`resources` of the pod) replaces the sum of its containers, for CPU, memory and huge pages.
    """
    total: Requests = {}
    for container in tables(spec.get("containers")):
        _add(total, _requests(container.get("resources"), only))
    sidecars: Requests = {}
    first: Requests = {}
    for container in tables(spec.get("initContainers")):
        own = _requests(container.get("resources"), only)
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(sidecars, own)
            own = sidecars
        else:
            own = _sum(own, sidecars)
        first = {name: max(first.get(name, Decimal(0)), own.get(name, Decimal(0))) for name in {**first, **own}}
    total = {name: max(total.get(name, Decimal(0)), first.get(name, Decimal(0))) for name in {**total, **first}}
    for name, amount in _requests(spec.get("resources"), only).items():
        if name in _OF_PODS or name.startswith("hugepages-"):
            total[name] = amount
    return _sum(total, _requests({"requests": spec.get("overhead")}, only))


def _requests(resources: Any, only: str | None) -> Requests:
    stated = table(resources)
    amounts = {**table(stated.get("limits")), **table(stated.get("requests"))}
    return {name: quantity(value) for name, value in amounts.items() if only in (None, name)}


def _add(total: Requests, more: Requests) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Decimal(0)) + amount


def _sum(one: Requests, other: Requests) -> Requests:
    total = dict(one)
    _add(total, other)
    return total
