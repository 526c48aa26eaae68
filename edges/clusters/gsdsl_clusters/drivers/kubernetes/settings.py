"""Reads the entries that both drivers of Kubernetes have in the cluster file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from gsdsl_clusters.drivers.kubernetes.api import KubernetesApi
from gsdsl_clusters.drivers.kubernetes.objects import Gpus, profile_of
from gsdsl_clusters.drivers.toml_reader import timeout_of
from gsdsl_clusters.drivers.value_source import COMMON_FIELDS

COMMON: Mapping[str, type | tuple[type, ...]] = {
    "kubeconfig": str, "context": str, "namespace": str, "nodes": str, "resource": (str, list), "type_label": str,
    "timeout": (int, float), "fields": dict,
}  # fmt: skip
_NAMES: Mapping[object, str] = {
    str: "a text", int: "an integer", dict: "a table", (int, float): "a number",
    (str, list): "a text or a list of texts",
}  # fmt: skip


@dataclass(frozen=True)
class Selection:
    """What a driver reads: the jobs of one namespace or of all, nodes with these labels (a selector), their GPUs, and
    further fields of jobs by the label or annotation that has them.
    """

    namespace: str | None = None
    nodes: str = ""
    gpus: Gpus = field(default_factory=Gpus)
    extra: Mapping[str, str] | None = None

    @property
    def node_selector(self) -> dict[str, str]:
        return {"labelSelector": self.nodes} if self.nodes else {}


def check_settings(
    settings: Mapping[str, Any], own: Mapping[str, type | tuple[type, ...]], fields: Collection[str]
) -> None:
    """Raises ValueError with `key: reason` for an unknown entry, a value of another kind, an empty text, and a further
    field with the name of one of the `fields` that jobs have.
    """
    known = {**COMMON, **own}
    for key, value in settings.items():
        kind = known.get(key)
        if kind is None:
            raise ValueError(f"{key}: is unknown; known are {', '.join(known)}")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"{key}: must be {_NAMES[kind]}")
        if value == "":
            raise ValueError(f"{key}: must not be empty; omit it for the default")
    resources = settings.get("resource")
    if isinstance(resources, list) and (
        not resources or not all(isinstance(one, str) and one for one in resources)
        or len({profile_of(one) for one in resources}) < len(resources)
    ):  # fmt: skip
        raise ValueError('resource: must be names that differ after the last /, as in `["nvidia.com/gpu"]`')
    extra = settings.get("fields", {})
    if not all(isinstance(value, str) and value for value in extra.values()):
        raise ValueError('fields: must name labels or annotations, as in `due = "example.com/due"`')
    taken = [name for name in extra if name in COMMON_FIELDS or name in fields]
    if taken:
        raise ValueError(f"fields: `{taken[0]}` is a field of the driver; choose another name")


def selection_of(settings: Mapping[str, Any]) -> Selection:
    gpus = Gpus()
    named = settings.get("resource", gpus.resource)
    resources = [named] if isinstance(named, str) else named
    chosen = Gpus(resources[0], settings.get("type_label", gpus.type_label), tuple(resources[1:]))
    return Selection(settings.get("namespace"), settings.get("nodes", ""), chosen, settings.get("fields", {}))


def connect(settings: Mapping[str, Any]) -> KubernetesApi:
    """Raises ValueError with `key: reason`, and DiagnosticError without the client."""
    timeout = timeout_of(settings)
    return KubernetesApi.connect(settings.get("kubeconfig"), settings.get("context"), timeout)
