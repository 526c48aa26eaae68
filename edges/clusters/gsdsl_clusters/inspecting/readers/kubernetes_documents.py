"""Objects of Kubernetes in files, as `kubectl get ... -o json` prints them, and clusters by a kubeconfig."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpusched_dsl.data.formats.shape import Raw
from gpusched_dsl.data.sources.files import Fault, Unreadable
from gpusched_dsl.data.sources.json_keys import decode_distinct
from gpusched_dsl.language.diagnostics.extras import require_extra
from gsdsl_clusters.drivers.kubernetes.api import KubernetesApi
from gsdsl_clusters.inspecting.readers.kubernetes import read_live_kubernetes
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot

_HEAD = 1 << 16
_CONFIG = re.compile(rb"""(?:^|[{,])\s*["']?kind["']?\s*:\s*["']?Config\b""", re.MULTILINE)
_OBJECTS = re.compile(rb'"apiVersion"\s*:')
_TIMEOUT = 60.0  # s for one answer
KUBECONFIG = "kubeconfig"  # as a stated format
# What a user of a kubeconfig may name: programs that log in, and files that are sent to the server.
_PROGRAMS = frozenset(("exec", "auth-provider"))
_FILES = frozenset(("tokenFile", "client-certificate", "client-key"))


def is_kubeconfig(raw: Raw) -> bool:
    """Whether a file names clusters and how to reach them."""
    return _CONFIG.search(raw.data[:_HEAD]) is not None or _CONFIG.search(raw.data[-_HEAD:]) is not None


def has_objects(raw: Raw) -> bool:
    """Whether a file seems to have objects of Kubernetes in JSON."""
    return raw.data.lstrip()[:1] == b"{" and _OBJECTS.search(raw.data[:_HEAD]) is not None


def read_kubeconfig(path: Path | None, zone: str = "UTC", *, stated: bool = False) -> ClusterSnapshot:
    """Read the cluster of the present context of a kubeconfig, by default as `kubectl` finds it.

    A kubeconfig can start programs and send files. One that was only recognised, neither `stated` nor that of
    `kubectl`, may not: what is inspected may come from others.

    Raises Unreadable (GSM5603), and DiagnosticError (GSM5404) without the client.
    """
    name = "the present context" if path is None else str(path)
    try:
        if path is not None and not stated and not _is_own(path):
            _refuse_programs(path)
        api = KubernetesApi.connect(None if path is None else str(path), None, _TIMEOUT)
    except ValueError as failure:
        raise Unreadable(Fault("GSM5603", f"the cluster of `{name}` cannot be read", notes=(str(failure),))) from None
    found = read_live_kubernetes(api, name, zone)
    if path is None or path.resolve() == Path("~/.kube/config").expanduser().resolve():
        return found
    return replace(found, driver_settings={"kubeconfig": str(path.resolve()), **found.driver_settings})


def _is_own(path: Path) -> bool:
    """Whether `kubectl` reads the file too."""
    own = os.environ.get("KUBECONFIG") or "~/.kube/config"
    return path.resolve() in {Path(one).expanduser().resolve() for one in own.split(os.pathsep) if one}


def _refuse_programs(path: Path) -> None:
    """Raise Unreadable for a kubeconfig whose users name programs or files; ValueError for one that is damaged."""
    require_extra("kubernetes", "a cluster of Kubernetes needs", "GSM5404")
    import yaml

    if os.pathsep in str(path):
        raise ValueError(f"kubeconfig: the client reads several files where a name has `{os.pathsep}`")
    try:
        document = yaml.safe_load(path.read_bytes())
    except (yaml.YAMLError, RecursionError) as failure:
        raise ValueError(f"kubeconfig: cannot be used: {failure}") from failure
    users = document.get("users") if isinstance(document, dict) else None
    for entry in users if isinstance(users, list) else []:
        user = entry.get("user") if isinstance(entry, dict) else None
        if not isinstance(user, dict):
            continue
        for names, what in ((_PROGRAMS, "starts a program to log in"), (_FILES, "sends what other files contain")):
            for key in sorted(names & user.keys()):
                message = f"`{path}` is a kubeconfig that {what}"
                note = f"`{key}` of user `{entry.get('name', '')}`"
                help = "if you trust it, state it: `--as kubeconfig`, or name it in the variable KUBECONFIG"
                raise Unreadable(Fault("GSM5603", message, notes=(note,), help=help))


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
