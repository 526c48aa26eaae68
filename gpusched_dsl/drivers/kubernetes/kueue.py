"""Kueue as a cluster: the controller of an admission check, which decides when a Workload starts and where."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpusched_dsl.data.kubernetes.values import UnknownValue
from gpusched_dsl.drivers.kubernetes.api import Gone, Json, KubernetesApi, ObjectChanged
from gpusched_dsl.drivers.kubernetes.dates import date_text
from gpusched_dsl.drivers.kubernetes.foreign import foreign_pods, pods_with_gpus
from gpusched_dsl.drivers.kubernetes.objects import HOSTNAME, labels, metadata, observed_node, spec, status
from gpusched_dsl.drivers.kubernetes.parts import nodes_of_parts
from gpusched_dsl.drivers.kubernetes.settings import Selection, check_settings, connect, selection_of
from gpusched_dsl.drivers.kubernetes.workloads import (
    BOOST,
    FIELDS,
    GROUP,
    LEFT_OUT,
    NODES,
    OF_KUEUE,
    PENDING,
    READY,
    REJECTED,
    RETRY,
    WORKLOAD,
    WorkloadReader,
    admission,
    check_of,
    has_quota,
    is_admitted,
    pod_sets,
)
from gpusched_dsl.drivers.protocol import (
    Action,
    ActionKind,
    ActionRefused,
    ClusterUnavailable,
    Observation,
)

CONTROLLER = "gpusched-dsl/plan"  # `controllerName` of our admission checks
ATTEMPTS = 5  # at a change that somebody else makes at the same time
LONGEST_MESSAGE = 1000
_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "check": str, "node_label": str, "boost": int, "retry_seconds": (int, float), "left_out": str,
}  # fmt: skip
ANSWERS = {"wait": PENDING, "admit": READY, "reject": REJECTED}


@dataclass
class KueueCluster:
    """Workloads whose ClusterQueue has our admission check.

    A start answers `Ready` with the node of each pod set. If Kueue has not reserved quota yet, it raises the priority
    of the Workload by `boost` instead. A hold answers `Retry` after `retry_seconds`; without them, waiting Workloads
    keep their quota, and the check stays `Pending`. `left_out` is the answer for Workloads that are left out.
    """

    api: KubernetesApi
    selection: Selection = field(default_factory=Selection)
    check: str = "gpusched-dsl"
    node_label: str = HOSTNAME
    boost: int = 1000
    retry_seconds: int | None = None
    left_out: str = "wait"
    now: Callable[[], float] = time.time
    fields: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.fields = FIELDS | frozenset(self.selection.extra or {})

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> KueueCluster:
        """Read the section [kueue]. Raises ValueError with `key: reason` for a wrong entry."""
        check_settings(settings, _KEYS)
        retry = settings.get("retry_seconds")
        if retry is not None and not (retry >= 0 and retry == int(retry)):
            raise ValueError("retry_seconds: must be an integer of at least 0")
        left_out = settings.get("left_out", "wait")
        if left_out not in ANSWERS:
            raise ValueError(f"left_out: must be {', '.join(ANSWERS)}")
        return cls(
            connect(settings), selection_of(settings), settings.get("check", cls.check),
            settings.get("node_label", cls.node_label), settings.get("boost", cls.boost),
            None if retry is None else int(retry), left_out,
        )  # fmt: skip

    # --- observe -----------------------------------------------------------------------------------------------------

    def observe(self) -> Observation:
        """Read nodes, pods, then Workloads: a Workload that ends in between seems to be there, and not a free node."""
        chosen = self.selection
        raw = list(self.api.list("/api/v1/nodes", **chosen.node_selector))
        pods = pods_with_gpus(self.api, chosen.gpus)
        path = GROUP if chosen.namespace is None else f"{GROUP}/namespaces/{chosen.namespace}"
        workloads = list(self.api.list(f"{path}/workloads"))
        try:
            nodes = [observed_node(node, chosen.gpus) for node in raw]
            hosts = {labels(node).get(self.node_label, ""): str(metadata(node)["name"]) for node in raw}
            reader = WorkloadReader(
                self.check, chosen.gpus, self.node_label, hosts, self.retry_seconds is not None, chosen.extra or {}
            )
            own: dict[str, list[Json]] = {}
            others = []
            keys = _keys(workloads)
            for pod in pods:
                uid = next((keys[key] for key in _pod_keys(pod) if key in keys), None)
                if uid is not None:
                    own.setdefault(uid, []).append(pod)
                elif not any(key in labels(pod) or key in (metadata(pod).get("annotations") or {}) for key in OF_KUEUE):
                    others.append(pod)
            jobs = [reader.observe_workload(one, own.get(metadata(one)["uid"], ())) for one in workloads]
            jobs += foreign_pods(others, chosen.gpus, "it does not belong to a Workload of Kueue")
        except (UnknownValue, KeyError, TypeError, AttributeError) as unknown:
            raise ClusterUnavailable(f"this gsdsl cannot read the objects of this cluster: {unknown}") from unknown
        return Observation({job.name: job for job in jobs}, {node.name: node for node in nodes})

    # --- prepare -----------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Report the admission check as active: Kueue stops queues whose checks are not."""
        path = f"{GROUP}/admissionchecks/{self.check}"
        for _ in range(ATTEMPTS):
            try:
                check = self.api.get(path)
                controller = spec(check).get("controllerName")
                if controller != CONTROLLER:
                    raise ActionRefused(f"the admission check `{self.check}` belongs to `{controller}`")
                active = {
                    "type": "Active", "status": "True", "reason": "Active", "message": "gsdsl drive answers this check",
                    "lastTransitionTime": date_text(self.now()),
                    "observedGeneration": int(metadata(check).get("generation", 0)),
                }  # fmt: skip
                others = [one for one in status(check).get("conditions") or [] if one.get("type") != "Active"]
                self.api.replace(
                    f"{path}/status", {**check, "status": {**status(check), "conditions": [*others, active]}}
                )
                return
            except ObjectChanged:
                continue
            except Gone:
                raise ActionRefused(f"there is no admission check `{self.check}`") from None
        raise ActionRefused(f"somebody else changes the admission check `{self.check}` all the time")

    # --- act ---------------------------------------------------------------------------------------------------------

    def act(self, action: Action) -> None:
        """Answer the check, or note the wish for a Workload that Kueue has not reserved quota for."""
        if action.kind is ActionKind.RESIZE:
            raise ActionRefused("the GPUs of a Workload cannot be changed")
        for _ in range(ATTEMPTS):
            try:
                self._act_once(action)
                return
            except ObjectChanged:
                continue
            except Gone:
                raise ActionRefused(f"there is no Workload `{action.job}` any more") from None
        raise ActionRefused("somebody else changes the Workload all the time")

    def _act_once(self, action: Action) -> None:
        """Read the Workload and change this version of it. Raises ObjectChanged and Gone."""
        namespace, name, uid = [*action.job.split("/"), "", ""][:3]
        path = f"{GROUP}/namespaces/{namespace}/workloads/{name}"
        workload = self.api.get(path)
        if not str(metadata(workload).get("uid", "")).startswith(uid):
            raise Gone(path)
        check = check_of(workload, self.check)
        match action.kind:
            case ActionKind.START:
                updates = self._updates(workload, action)
                if is_admitted(workload):
                    raise ActionRefused("the Workload is admitted already")
                if has_quota(workload) and check is not None and check.get("state") == PENDING:
                    self._answer(path, workload, READY, action.reason, podSetUpdates=updates)
                else:
                    self._note(path, workload, action)
            case ActionKind.HOLD if has_quota(workload) and check is not None:
                if is_admitted(workload):
                    raise ActionRefused("the Workload is admitted already")
                self._answer(path, workload, RETRY, action.reason, **self._after())
            case ActionKind.HOLD:
                self._note(path, workload, None)
            case ActionKind.REQUEUE if check is None or not is_admitted(workload):
                raise ActionRefused(f"the Workload was not admitted by the check `{self.check}`")
            case ActionKind.REQUEUE:
                self._answer(path, workload, RETRY, action.reason, **self._after())
            case ActionKind.LEAVE_OUT if has_quota(workload) and check is not None:
                self._answer(path, workload, ANSWERS[self.left_out], LEFT_OUT + action.reason)

    def _after(self) -> dict[str, Any]:
        return {} if self.retry_seconds is None else {"requeueAfterSeconds": self.retry_seconds}

    def _answer(self, path: str, workload: Json, state: str, reason: str, **more: Any) -> None:
        """Set our check in this version of the Workload. Raises ObjectChanged if it has changed."""
        answer = {
            "name": self.check, "state": state, "message": reason[:LONGEST_MESSAGE],
            "lastTransitionTime": date_text(self.now()), **more,
        }  # fmt: skip
        checks = [answer if one.get("name") == self.check else one for one in status(workload)["admissionChecks"]]
        self.api.replace(f"{path}/status", {**workload, "status": {**status(workload), "admissionChecks": checks}})

    def _note(self, path: str, workload: Json, action: Action | None) -> None:
        """Write or remove the wanted nodes and the boost of this version of the Workload."""
        started = action is not None
        changes: dict[str, str | None] = {NODES: json.dumps(dict(action.allocation)) if action is not None else None}
        if self.boost:
            changes[BOOST] = str(self.boost) if started else None
        version = metadata(workload).get("resourceVersion")
        self.api.merge(path, {"metadata": {"annotations": changes, "resourceVersion": version}})

    def _updates(self, workload: Json, action: Action) -> list[Json]:
        """The node of each pod set with GPUs. Raises ActionRefused if the pod sets do not fit the nodes."""
        sets = [one for one in pod_sets(workload, self.selection.gpus) if one.gpus]
        chosen = nodes_of_parts([one.gpus for one in sets], action.allocation)
        if chosen is None:
            sizes = ", ".join(f"{one.name} {one.gpus}" for one in sets)
            message = f"pod sets with {sizes} GPUs do not fit {dict(action.allocation)}: each goes to one node"
            raise ActionRefused(message)
        flavors = {
            one.get("name"): (one.get("flavors") or {}).get(self.selection.gpus.resource)
            for one in admission(workload).get("podSetAssignments") or []
        }
        updates = []
        for one, name in zip(sets, chosen, strict=True):
            try:
                node = self.api.get(f"/api/v1/nodes/{name}")
            except Gone:
                raise ActionRefused(f"there is no node `{name}`") from None
            host = labels(node).get(self.node_label)
            if host is None:
                raise ActionRefused(f"node `{name}` has no label `{self.node_label}`")
            wanted = {**self._flavor(flavors.get(one.name)), **(spec(one.template).get("nodeSelector") or {})}
            missing = [f"{key}={value}" for key, value in wanted.items() if labels(node).get(key) != value]
            if missing:
                needs = ", ".join(missing)
                raise ActionRefused(f"node `{name}` does not have {needs}, which pod set `{one.name}` needs")
            updates.append({"name": one.name, "nodeSelector": {self.node_label: host}})
        return updates

    def _flavor(self, name: str | None) -> Mapping[str, str]:
        """The labels of nodes of a flavor."""
        if name is None:
            return {}
        try:
            found: Mapping[str, str] = spec(self.api.get(f"{GROUP}/resourceflavors/{name}")).get("nodeLabels") or {}
        except Gone:
            return {}
        return found


def _keys(workloads: list[Json]) -> dict[tuple[str, str], str]:
    """The uid of a Workload by what its pods refer to: its name, or the uid of its owner."""
    found = {}
    for one in workloads:
        uid = str(metadata(one)["uid"])
        found["name", f"{metadata(one).get('namespace')}/{metadata(one)['name']}"] = uid
        for owner in metadata(one).get("ownerReferences") or []:
            found["uid", str(owner.get("uid"))] = uid
    return found


def _pod_keys(pod: Json) -> list[tuple[str, str]]:
    known = metadata(pod)
    found = [("uid", str(known.get("uid")))]
    named = (known.get("annotations") or {}).get(WORKLOAD)
    if named:
        found.append(("name", f"{known.get('namespace')}/{named}"))
    return found + [("uid", str(owner.get("uid"))) for owner in known.get("ownerReferences") or []]
