"""Objects of Kubernetes in files, as `kubectl get ... -o json` prints them, and clusters by a kubeconfig."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpusched_dsl.data.formats.shape import Raw
from gpusched_dsl.data.sources.files import Fault, Unreadable
from gpusched_dsl.data.sources.json_keys import decode_distinct
from gpusched_dsl.drivers.kubernetes.api import KubernetesApi
from gpusched_dsl.inspecting.readers.kubernetes import read_live_kubernetes
from gpusched_dsl.inspecting.snapshot import ClusterSnapshot

_HEAD = 1 << 16
_CONFIG = re.compile(rb"""(?:^|[{,])\s*["']?kind["']?\s*:\s*["']?Config\b""", re.MULTILINE)
_OBJECTS = re.compile(rb'"apiVersion"\s*:')
_TIMEOUT = 60.0  # s for one answer


def is_kubeconfig(raw: Raw) -> bool:
    """Whether a file names clusters and how to reach them."""
    return _CONFIG.search(raw.data[:_HEAD]) is not None or _CONFIG.search(raw.data[-_HEAD:]) is not None


def has_objects(raw: Raw) -> bool:
    """Whether a file seems to have objects of Kubernetes in JSON."""
    return raw.data.lstrip()[:1] == b"{" and _OBJECTS.search(raw.data[:_HEAD]) is not None


def read_kubeconfig(path: Path | None, zone: str = "UTC") -> ClusterSnapshot:
    """Read the cluster of the present context of a kubeconfig, by default as `kubectl` finds it.

    Raises Unreadable (GSM5603), and DiagnosticError (GSM5404) without the client.
    """
    name = "the present context" if path is None else str(path)
    try:
        api = KubernetesApi.connect(None if path is None else str(path), None, _TIMEOUT)
    except ValueError as failure:
        raise Unreadable(Fault("GSM5603", f"the cluster of `{name}` cannot be read", notes=(str(failure),))) from None
    found = read_live_kubernetes(api, name, zone)
    if path is None or path.resolve() == Path("~/.kube/config").expanduser().resolve():
        return found
    return replace(found, driver_settings={"kubeconfig": str(path.resolve()), **found.driver_settings})


def objects_of(raw: Raw) -> Iterator[dict[str, Any]]:
    """The objects of a list, or the single object, with their kinds. Raises Unreadable (GSM2008)."""
    raw.limits.allow_json(raw.data, raw.name)
    try:
        document = decode_distinct(raw.data)
    except (ValueError, RecursionError) as failure:
        notes = (str(failure) or "too deeply nested",)
        raise Unreadable(Fault("GSM2008", f"data file `{raw.name}` is not JSON", notes=notes)) from None
    if not isinstance(document, dict):
        return
    kind = str(document.get("kind", ""))
    items = document.get("items")
    if not kind.endswith("List") or not isinstance(items, list):
        yield document
        return
    for item in items:
        if isinstance(item, dict):
            yield item if item.get("kind") else {**item, "kind": kind.removesuffix("List")}
