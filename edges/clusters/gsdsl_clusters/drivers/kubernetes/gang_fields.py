"""Fields of a job about its pods, for models of gangs: how many there are, the GPUs of each, and their type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gsdsl_clusters.drivers.kubernetes.objects import Gpus, gpus_of, profile_of, resource_of, spec
from gsdsl_clusters.drivers.protocol import Field
from gsdsl_clusters.kubernetes_objects.values import Json, UnknownValue, table, tables, texts

GANG_FIELDS = frozenset({"pods", "gpus_per_pod", "gpu_type"})


def gang_fields(sets: Iterable[tuple[int, Json]], gpus: Gpus) -> Mapping[str, Field]:
    """Return the number of pods with GPUs, the most GPUs of one, and the type if all demand the same.

    `sets` are the number and the template of pods of each kind. Raises UnknownValue.
    """
    sizes = [(pods, gpus_of(template, gpus), template) for pods, template in sets]
    with_gpus = [(pods, size, template) for pods, size, template in sizes if pods and size]
    types = {wanted_type(template, gpus) for _, _, template in with_gpus}
    return {
        "pods": sum(pods for pods, _, _ in with_gpus),
        "gpus_per_pod": max((size for _, size, _ in with_gpus), default=0),
        "gpu_type": types.pop() if len(types) == 1 else "",
    }


def wanted_type(pod: Json, gpus: Gpus) -> str:
    """The type of GPU that a pod demands, "" for any: a profile, or the one value of the label of types that its node
    selector or required node affinity permits. Raises UnknownValue.
    """
    resource = resource_of(pod, gpus)
    if resource in gpus.others:
        return profile_of(resource)
    selected = texts(spec(pod).get("nodeSelector")).get(gpus.type_label)
    return selected or _type_by_affinity(spec(pod), gpus.type_label)


def _type_by_affinity(pod: Json, label: str) -> str:
    affinity = table(table(pod.get("affinity")).get("nodeAffinity"))
    required = table(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    permitted: set[str] = set()
    for term in tables(required.get("nodeSelectorTerms")):  # one of them suffices
        values = [
            one.get("values")
            for one in tables(term.get("matchExpressions"))
            if one.get("key") == label and one.get("operator") == "In"
        ]
        if not values:
            return ""
        for value in values[0] if isinstance(values[0], list) else [None]:
            if not isinstance(value, str):
                raise UnknownValue("the values of a node affinity are not texts")
            permitted.add(value)
    return permitted.pop() if len(permitted) == 1 else ""
