"""Nodes of Kubernetes in the columns of a snapshot, a row for each resource of GPUs, and the nodes that suit a pod."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

from gsdsl_clusters.drivers.kubernetes.demands import misfit
from gsdsl_clusters.drivers.kubernetes.objects import HOSTNAME, Gpus, labels, metadata, observed_node, spec, status
from gsdsl_clusters.inspecting.readers.left_out import LeftOut
from gsdsl_clusters.kubernetes_objects.requests import pod_requests
from gsdsl_clusters.kubernetes_objects.values import Json, UnknownValue, devices, quantity, table, texts

# Resources of GPUs: whole ones, shared ones, MIG slices of one size, and those of other vendors.
_GPU = re.compile(
    r"(?:nvidia\.com/(?:gpu(?:\.shared)?|mig-.+)|amd\.com/gpu.*|gpu\.intel\.com/\w+|habana\.ai/gaudi\w*)$"
)
_NO_DEVICES = ("gpu.intel.com/memory.max", "gpu.intel.com/millicores", "gpu.intel.com/tiles")
_TYPE_LABELS = ("nvidia.com/gpu.product", "amd.com/gpu.product-name", "cloud.google.com/gke-accelerator",
                "k8s.amazonaws.com/accelerator", "gpu.intel.com/product")  # fmt: skip
_RACK_LABELS = ("topology.kubernetes.io/rack", "cloud.provider.com/topology-rack",
                "topology.k8s.aws/network-node-layer-3", "cloud.google.com/gce-topology-subblock")  # fmt: skip
_PLAIN = "nvidia.com/gpu"
_SHARED = "nvidia.com/gpu.shared"
_OF_ONE = re.compile(r"hostname|matchFields")  # demands that may name single nodes
_DEMANDS = ("nodeSelector", "affinity", "tolerations")
NOWHERE = "no node suits"  # no name of a node or feature has spaces
GIBIBYTE = Decimal(2**30)


def gpu_requests(pod_spec: Json) -> dict[str, int]:
    """The GPUs that a pod with this spec requests, by resource. Raises UnknownValue."""
    return {name: number for name, amount in pod_requests(pod_spec).items() if is_gpu(name)
            if (number := devices(amount))}  # fmt: skip


def is_gpu(resource: str) -> bool:
    """Whether a resource counts GPUs or parts of them."""
    return bool(_GPU.match(resource)) and resource not in _NO_DEVICES


@dataclass
class KubernetesNodes:
    """Rows of nodes, `rack_labels` first among the labels of racks. What jobs demand becomes features of the nodes."""

    unread: LeftOut
    rack_labels: Sequence[str] = ()
    raw: dict[str, Json] = field(default_factory=dict)
    offers: dict[str, dict[str, int]] = field(default_factory=dict)  # GPUs by node and resource
    largest: dict[str, int] = field(default_factory=dict)  # GPUs of one node by resource
    rows: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    labels_of_types: Counter[str] = field(default_factory=Counter)  # by the nodes that they name the type of
    _known: dict[str, str] = field(default_factory=dict)  # features by demand
    _features: dict[frozenset[tuple[str, str]], str] = field(default_factory=dict)  # by the rows that have them
    _groups: list[list[str]] | None = None

    def add(self, node: Json) -> None:
        """Add a node; one that cannot be read is left out."""
        name = ""
        try:
            name = str(metadata(node).get("name") or "")
            offered = table(status(node).get("allocatable"))
            gpus = {key: number for key, value in offered.items() if is_gpu(key) if (number := devices(value))}
            seen, own = observed_node(node, Gpus()), labels(node)
            cpu, memory = (quantity(offered[key]) if key in offered else None for key in ("cpu", "memory"))
        except UnknownValue as unknown:
            self.unread.add("node", name, str(unknown))
            return
        self.raw[name], self.offers[name] = node, gpus
        self.largest |= {key: max(number, self.largest.get(key, 0)) for key, number in gpus.items()}
        named = next((label for label in _TYPE_LABELS if own.get(label)), "")
        kind = own.get(named, "")
        if named and gpus:
            self.labels_of_types[named] += 1
        rack = next((own[label] for label in (*self.rack_labels, *_RACK_LABELS) if own.get(label)), "")
        for resource, number in gpus.items():
            self.rows[name, resource] = {
                "gpus": number, "gpu_type": _type_of(resource, kind),
                "up": seen.up, "reason": seen.reason, "rack": rack, "features": [],
                "cpus": None if cpu is None else float(cpu),
                "memory": None if memory is None else float(memory / GIBIBYTE),
            }  # fmt: skip

    def table(self) -> list[dict[str, Any]]:
        """The rows with their names, when all nodes have been added."""
        return [{**row, "node": self.row_name(*at)} for at, row in self.rows.items()]

    def row_name(self, node: str, resource: str) -> str:
        """The name of the row for a resource of a node: that of the place, for resources that a driver can read."""
        if resource in self.gpus.all:
            return self.gpus.place(node, resource)
        return node if len(self.offers.get(node, {})) == 1 else f"{node}/{resource}"

    @cached_property
    def gpus(self) -> Gpus:
        """What a driver has to read: the main resource, the others, and the label that names types of GPUs."""
        total = Counter[str]()
        for own in self.offers.values():
            total.update(own)
        most = [name for name, _ in total.most_common()]
        whole = [name for name in most if _is_whole(name) and name != _SHARED]
        main = Gpus.resource if Gpus.resource in total or not whole else whole[0]
        names: dict[str, str] = {}
        for resource in (main, *most):
            names.setdefault(_short(resource), resource)  # the others would have the same places
        label = next((label for label, _ in self.labels_of_types.most_common(1)), Gpus.type_label)
        return Gpus(main, label, tuple(one for one in names.values() if one != main))

    def driver_settings(self) -> dict[str, Any]:
        """The entries of a cluster file that are not the defaults."""
        found: dict[str, Any] = {}
        if self.gpus.others:
            found["resource"] = list(self.gpus.all)
        elif self.gpus.resource != Gpus.resource:
            found["resource"] = self.gpus.resource
        if self.gpus.type_label != Gpus.type_label:
            found["type_label"] = self.gpus.type_label
        return found

    def demands_of(self, pod_spec: Json, resource: str) -> tuple[list[str], list[str]]:
        """The types and features that a pod demands; one feature names all nodes that suit, `NOWHERE` none of them.

        Raises UnknownValue.
        """
        wanted = texts(pod_spec.get("nodeSelector"))
        types = [wanted[label] for label in _TYPE_LABELS if label in wanted and _is_whole(resource)]
        amounts = {name: str(amount) for name, amount in pod_requests(pod_spec).items()}
        key = json.dumps([{name: pod_spec.get(name) for name in _DEMANDS}, amounts, resource], sort_keys=True)
        if key not in self._known:
            self._known[key] = self._feature(pod_spec, wanted, resource, _OF_ONE.search(key) is not None)
        feature = self._known[key]
        return types, [feature] if feature else []

    def _feature(self, pod_spec: Json, wanted: Mapping[str, str], resource: str, by_name: bool) -> str:
        """The feature of the rows on which a pod can run; "" if it can run on all, `NOWHERE` if on none."""
        suits: set[str] = set()
        for members in self._singly(wanted.get(HOSTNAME)) if by_name else self._alike():
            if misfit({"spec": pod_spec}, self.raw[members[0]], {}) is None:
                suits.update(members)
        rows = frozenset(at for at in self.rows if at[1] == resource and at[0] in suits)
        if len(rows) == len(self.rows):
            return ""
        if not rows:
            return NOWHERE
        if rows not in self._features:
            words = [f"{key.rpartition('/')[2]}={value}" for key, value in wanted.items()]
            words += [_short(resource)] if resource != _PLAIN else []
            name = " ".join(words) or ("node affinity" if pod_spec.get("affinity") else "tolerated")
            taken = sum(other == name or other.startswith(f"{name} #") for other in self._features.values())
            self._features[rows] = f"{name} #{taken + 1}" if taken else name
            for at in rows:
                self.rows[at]["features"].append(self._features[rows])
        return self._features[rows]

    def _singly(self, host: str | None) -> list[list[str]]:
        """The names of all nodes, or of those with this label of their host."""
        return [[name] for name, node in self.raw.items() if host is None or labels(node).get(HOSTNAME) == host]

    def _alike(self) -> list[list[str]]:
        """The names of nodes with the same labels (but their names), taints and resources."""
        if self._groups is None:
            groups: dict[str, list[str]] = {}
            for name, node in self.raw.items():
                own = {key: value for key, value in labels(node).items() if "hostname" not in key}
                parts = [own, spec(node).get("taints"), status(node).get("allocatable")]
                groups.setdefault(json.dumps(parts, sort_keys=True), []).append(name)
            self._groups = list(groups.values())
        return self._groups


def _is_whole(resource: str) -> bool:
    return not resource.startswith("nvidia.com/mig-")


def _type_of(resource: str, product: str) -> str:
    """The type of the GPUs of a resource: the product, or the size of the slice."""
    if not _is_whole(resource):
        return _short(resource)
    return product if resource != _SHARED else f"{product} shared".strip()


def _short(resource: str) -> str:
    return resource.rpartition("/")[2]
