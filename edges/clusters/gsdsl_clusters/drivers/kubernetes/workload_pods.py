"""Which pods belong to which Workload of Kueue: by an annotation, or by the owners that both have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from gsdsl_clusters.drivers.kubernetes.cluster_state import best_text
from gsdsl_clusters.drivers.kubernetes.gangs import controller_of
from gsdsl_clusters.drivers.kubernetes.objects import annotations_of, labels, metadata
from gsdsl_clusters.drivers.kubernetes.workloads import OF_KUEUE, OWN_WORKLOAD, WORKLOAD
from gsdsl_clusters.kubernetes_objects.values import Json, UnknownValue, tables, text

Keys: TypeAlias = dict[tuple[str, str], str]

# Controllers of pods that have a controller themselves, such as the Jobs of a JobSet.
_INNER = {"Job": "jobs", "RayCluster": "rayclusters"}


def keys_of(workloads: Iterable[Json]) -> Keys:
    """The uid of a Workload by what its pods refer to: its name, or the uid of its owner."""
    found: Keys = {}
    for one in workloads:
        uid, known = best_text(one, "metadata", "uid"), one.get("metadata")
        if not uid or not isinstance(known, dict):
            continue
        found["name", f"{known.get('namespace')}/{known.get('name')}"] = uid
        found |= dict.fromkeys((("uid", owner) for owner in _owner_uids(one)), uid)
    return found


def _owner_uids(thing: Json) -> list[str]:
    """The uids of the owners of an object that may have any form."""
    known = thing.get("metadata")
    owners = known.get("ownerReferences") if isinstance(known, dict) else None
    return [str(one.get("uid")) for one in (owners if isinstance(owners, list) else []) if isinstance(one, dict)]


def uid_of(pod: Json, keys: Mapping[tuple[str, str], str]) -> str | None:
    """The uid of the Workload of a pod. Raises UnknownValue."""
    known = metadata(pod)
    found = [("uid", text(known.get("uid")))]
    named = annotations_of(pod).get(WORKLOAD) or annotations_of(pod).get(OWN_WORKLOAD)
    if named:
        found.append(("name", f"{text(known.get('namespace'))}/{named}"))
    found += [("uid", text(owner.get("uid"))) for owner in tables(known.get("ownerReferences"))]
    return next((keys[key] for key in found if key in keys), None)


def inner_controllers(pods: Iterable[Json], keys: Keys) -> set[tuple[str, str]]:
    """API versions and plural kinds of controllers that may lead from pods to the owner of a Workload."""
    found = set()
    for pod in pods:
        try:
            version, kind, _ = controller_of(pod)
            if kind in _INNER and uid_of(pod, keys) is None:
                found.add((version, _INNER[kind]))
        except UnknownValue:
            continue  # it is left out where it is read
    return found


def add_inner_controllers(keys: Keys, controllers: Iterable[Json]) -> None:
    """Let pods of these controllers belong to the Workload of the owner of their controller."""
    for one in controllers:
        uid, owners = best_text(one, "metadata", "uid"), [("uid", owner) for owner in _owner_uids(one)]
        known = next((keys[owner] for owner in owners if owner in keys), None)
        if uid and known is not None:
            keys["uid", uid] = known


def is_of_kueue(pod: Json) -> bool:
    """Whether a pod belongs to a Workload, of this namespace or another, that is not shown any more."""
    return any(key in labels(pod) or key in annotations_of(pod) for key in OF_KUEUE)
