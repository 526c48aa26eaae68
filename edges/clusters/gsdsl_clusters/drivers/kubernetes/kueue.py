"""Kueue as a cluster: the controller of an admission check, which decides when a Workload starts and where."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gsdsl_clusters.drivers.kubernetes.api import Gone, KubernetesApi, ObjectChanged
from gsdsl_clusters.drivers.kubernetes.binding import PodBinder
from gsdsl_clusters.drivers.kubernetes.cluster_state import ClusterState, best_text
from gsdsl_clusters.drivers.kubernetes.dates import date_text
from gsdsl_clusters.drivers.kubernetes.demands import Misfits
from gsdsl_clusters.drivers.kubernetes.event_record import record_event
from gsdsl_clusters.drivers.kubernetes.objects import (
    HOSTNAME,
    gpus_of,
    host_of,
    labels,
    metadata,
    resource_of,
    spec,
    status,
)
from gsdsl_clusters.drivers.kubernetes.parts import nodes_of_parts
from gsdsl_clusters.drivers.kubernetes.settings import Selection, check_settings, connect, selection_of
from gsdsl_clusters.drivers.kubernetes.workload_pods import (
    add_inner_controllers,
    inner_controllers,
    is_of_kueue,
    keys_of,
    uid_of,
)
from gsdsl_clusters.drivers.kubernetes.workloads import (
    BOOST,
    FIELDS,
    GROUP,
    LEFT_OUT,
    NODES,
    OWN_WORKLOAD,
    PENDING,
    READY,
    REJECTED,
    RETRY,
    PodSet,
    PodsOfSets,
    WorkloadReader,
    binds_pods,
    check_of,
    checks_of,
    flavors_of,
    has_quota,
    is_admitted,
    pod_sets,
)
from gsdsl_clusters.drivers.protocol import (
    Action,
    ActionKind,
    ActionRefused,
    ClusterUnavailable,
    Observation,
)
from gsdsl_clusters.drivers.toml_reader import LONGEST_WAIT
from gsdsl_clusters.kubernetes_objects.values import Json, UnknownValue, count, tables, text, texts

CONTROLLER = "gpusched-dsl/plan"  # `controllerName` of our admission checks
ATTEMPTS = 5  # at a change that somebody else makes at the same time
LONGEST_MESSAGE = 1000
_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "check": str, "node_label": str, "boost": int, "retry_seconds": (int, float), "left_out": str, "scheduler": str,
}  # fmt: skip
ANSWERS = {"wait": PENDING, "admit": READY, "reject": REJECTED}


@dataclass
class KueueCluster:
    """Workloads whose ClusterQueue has our admission check.

    A start answers `Ready` with the node of each pod set. Pods that name the `scheduler` are bound instead, each to its
    node, when all of them have been made; so a pod set may have several nodes. If Kueue has not reserved quota yet, a
    start raises the priority of the Workload by `boost`. A hold answers `Retry` after `retry_seconds`; without them,
    waiting Workloads keep their quota, and the check stays `Pending`. `left_out` is the answer for Workloads that are
    left out.
    """

    api: KubernetesApi
    selection: Selection = field(default_factory=Selection)
    check: str = "gpusched-dsl"
    node_label: str = HOSTNAME
    boost: int = 1000
    retry_seconds: int | None = None
    left_out: str = "wait"
    scheduler: str = "gpusched-dsl"
    now: Callable[[], float] = time.time
    fields: frozenset[str] = field(init=False)
    _seen: dict[str, Json] = field(default_factory=dict, init=False)  # the Workloads of the last observation

    def __post_init__(self) -> None:
        self.fields = FIELDS | frozenset(self.selection.extra or {})

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> KueueCluster:
        """Read the section [kueue]. Raises ValueError with `key: reason` for a wrong entry."""
        check_settings(settings, _KEYS, FIELDS)
        retry = settings.get("retry_seconds")
        if retry is not None and not (0 <= retry <= LONGEST_WAIT and retry == int(retry)):
            raise ValueError(f"retry_seconds: must be an integer from 0 to {LONGEST_WAIT:g}")
        left_out = settings.get("left_out", "wait")
        if left_out not in ANSWERS:
            raise ValueError(f"left_out: must be {', '.join(ANSWERS)}")
        return cls(
            connect(settings), selection_of(settings), settings.get("check", cls.check),
            settings.get("node_label", cls.node_label), settings.get("boost", cls.boost),
            None if retry is None else int(retry), left_out,
            settings.get("scheduler", cls.scheduler),
        )  # fmt: skip

    # --- observe -----------------------------------------------------------------------------------------------------

    def observe(self) -> Observation:
        """Read nodes, pods, then Workloads: a Workload that ends in between seems to be there, and not a free node.

        What cannot be read is left out by itself.
        """
        chosen = self.selection
        raw = list(self.api.list("/api/v1/nodes", **chosen.node_selector))
        state = ClusterState.read(raw, self.api.list("/api/v1/pods"), chosen.gpus)
        workloads = list(self.api.list(f"{self._place}/workloads"))
        hosts = {labels(node).get(self.node_label, ""): name for name, node in state.raw_nodes.items()}
        misfits = Misfits(state.raw_nodes, state.reserved, chosen.gpus)
        reader = WorkloadReader(
            self.check, chosen.gpus, self.node_label, hosts, self.retry_seconds is not None, chosen.extra or {},
            misfits, cache(self._flavor), self.scheduler, self._cluster_queues(workloads),
        )  # fmt: skip
        keys = keys_of(workloads)
        for version, plural in sorted(inner_controllers(state.pods, keys)):
            space = "" if chosen.namespace is None else f"/namespaces/{chosen.namespace}"
            add_inner_controllers(keys, self._list_permitted(f"/apis/{version}{space}/{plural}"))
        own: dict[str, list[Json]] = {}
        belonging, others = state.divide(lambda pod: uid_of(pod, keys) is not None or is_of_kueue(pod))
        for pod in belonging:
            own.setdefault(uid_of(pod, keys) or "", []).append(pod)
        jobs = state.unread_jobs()
        self._seen = {}
        for one in workloads:
            pods = own.get(best_text(one, "metadata", "uid"), [])
            try:
                jobs.append(reader.observe_workload(one, pods))
                self._seen[jobs[-1].name] = one
            except UnknownValue as unknown:
                jobs.append(state.unread_job(one, pods, str(unknown)))
        jobs += state.foreign_jobs(others, "it does not belong to a Workload of Kueue")
        return Observation({job.name: job for job in jobs}, state.nodes, tuple(state.unread))

    @property
    def _place(self) -> str:
        return GROUP if self.selection.namespace is None else f"{GROUP}/namespaces/{self.selection.namespace}"

    def _list_permitted(self, path: str) -> list[Json]:
        """All objects, none if the server does not have them or a role does not permit to read them."""
        try:
            return list(self.api.list(path))
        except ClusterUnavailable as failure:
            if isinstance(failure.__cause__, (ActionRefused, Gone)):
                return []
            raise

    def _cluster_queues(self, workloads: list[Json]) -> Mapping[str, str]:
        """The ClusterQueue of each LocalQueue, by `namespace/queue`, if a Workload waits for quota.

        None where they may not be read.
        """
        known = [one.get("status") for one in workloads]
        if all(isinstance(one, dict) and one.get("admission") for one in known):
            return {}
        return {
            f"{best_text(one, 'metadata', 'namespace')}/{best_text(one, 'metadata', 'name')}":
            best_text(one, "spec", "clusterQueue") for one in self._list_permitted(f"{self._place}/localqueues")
        }  # fmt: skip

    def explain(self, job: str, why: str) -> None:
        """Record an event of the Workload."""
        if job in self._seen:
            kind = (GROUP.removeprefix("/apis/"), "Workload")
            record_event(self.api, self._seen[job], kind, CONTROLLER.partition("/")[0], self.now(), "Waiting", why)

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
                    "observedGeneration": count(metadata(check).get("generation")),
                }  # fmt: skip
                others = [one for one in tables(status(check).get("conditions")) if one.get("type") != "Active"]
                self.api.replace(
                    f"{path}/status", {**check, "status": {**status(check), "conditions": [*others, active]}}
                )
                return
            except ObjectChanged:
                continue
            except Gone:
                raise ActionRefused(f"there is no admission check `{self.check}`") from None
            except UnknownValue as unknown:
                raise ActionRefused(f"the admission check `{self.check}` cannot be read: {unknown}") from unknown
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
            except UnknownValue as unknown:
                raise ActionRefused(f"the Workload `{action.job}` cannot be read: {unknown}") from unknown
        raise ActionRefused("somebody else changes the Workload all the time")

    def _act_once(self, action: Action) -> None:
        """Read the Workload and change this version of it. Raises ObjectChanged and Gone."""
        namespace, name, uid = [*action.job.split("/"), "", ""][:3]
        path = f"{GROUP}/namespaces/{namespace}/workloads/{name}"
        workload = self.api.get(path)
        if not text(metadata(workload).get("uid")).startswith(uid):
            raise Gone(path)
        check = check_of(workload, self.check)
        match action.kind:
            case ActionKind.START:
                if is_admitted(workload):
                    self._bind(workload, action)
                    return
                updates = self._updates(workload, action)
                if has_quota(workload) and check is not None and check.get("state") == PENDING:
                    self._answer(path, workload, READY, action.reason, podSetUpdates=updates)
                else:
                    self._note(path, workload, action)
            case ActionKind.HOLD if has_quota(workload) and check is not None:
                if is_admitted(workload) and (not self._binds(workload) or self._pods_of(workload).runs):
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
        checks = [answer if one.get("name") == self.check else one for one in checks_of(workload)]
        self.api.replace(f"{path}/status", {**workload, "status": {**status(workload), "admissionChecks": checks}})

    def _note(self, path: str, workload: Json, action: Action | None) -> None:
        """Write or remove the wanted nodes and the boost of this version of the Workload."""
        started = action is not None
        changes: dict[str, str | None] = {NODES: json.dumps(dict(action.allocation)) if action is not None else None}
        if self.boost:
            changes[BOOST] = str(self.boost) if started else None
        version = metadata(workload).get("resourceVersion")
        self.api.merge(path, {"metadata": {"annotations": changes, "resourceVersion": version}})

    def _sets(self, workload: Json) -> list[PodSet]:
        return [one for one in pod_sets(workload, self.selection.gpus) if one.gpus]

    def _binds(self, workload: Json) -> bool:
        return binds_pods(self._sets(workload), self.scheduler)

    def _pods_of(self, workload: Json) -> PodsOfSets:
        """The pods with GPUs of a Workload, as they are now."""
        keys, space = keys_of([workload]), text(metadata(workload).get("namespace"))
        pods = [pod for pod in self.api.list(f"/api/v1/namespaces/{space}/pods") if uid_of(pod, keys) is not None]
        pods = [pod for pod in pods if gpus_of(pod, self.selection.gpus)]
        return PodsOfSets.of(pods, sum(one.count for one in self._sets(workload)))

    def _bind(self, workload: Json, action: Action) -> None:
        """Bind the pods of an admitted Workload, all at once."""
        if not self._binds(workload):
            raise ActionRefused("the Workload is admitted already")
        pods = self._pods_of(workload)
        if not pods.is_complete:
            raise ActionRefused("not all of its pods have been made")
        self._updates(workload, action)  # the nodes must suit the flavors
        binder = PodBinder(self.api, self.selection.gpus, self.scheduler, self.now)
        binder.bind(pods.waiting, [*pods.bound, *pods.done], action)

    def _updates(self, workload: Json, action: Action) -> list[Json]:
        """The node of each pod set with GPUs, or a note for pods that we bind. Raises ActionRefused for a misfit."""
        sets, binds = self._sets(workload), self._binds(workload)
        owner = [one for one in sets for _ in range(one.count if binds else 1)]
        chosen = nodes_of_parts([one.each if binds else one.gpus for one in owner], action.allocation)
        if chosen is None:
            sizes = ", ".join(f"{one.name} {one.gpus}" for one in sets)
            message = f"pod sets with {sizes} GPUs do not fit {dict(action.allocation)}: each goes to one node"
            if binds:
                sizes = ", ".join(f"{one.name} {one.count} x {one.each}" for one in sets)
                message = f"pods with {sizes} GPUs do not fit {dict(action.allocation)}"
            elif any(one.count > 1 for one in sets):
                message += f", unless its pods name the scheduler `{self.scheduler}`"
            raise ActionRefused(message)
        gpus = self.selection.gpus
        flavors = {one.name: flavors_of(workload, resource_of(one.template, gpus)).get(one.name, "") for one in sets}
        updates = []
        for one in sets:
            parts = Counter(name for of, name in zip(owner, chosen, strict=True) if of.name == one.name)
            found = [self._host(one, host_of(name), flavors[one.name]) for name in parts]
            if binds:
                noted = json.dumps({name: number * one.each for name, number in parts.items()})
                workload_name = text(metadata(workload).get("name"))
                updates.append({"name": one.name, "annotations": {NODES: noted, OWN_WORKLOAD: workload_name}})
            else:
                updates.append({"name": one.name, "nodeSelector": {self.node_label: found[0]}})
        return updates

    def _host(self, one: PodSet, name: str, flavor: str) -> str:
        """The value of the node label of a node. Raises ActionRefused if the node does not suit a pod set."""
        try:
            node = self.api.get(f"/api/v1/nodes/{name}")
        except Gone:
            raise ActionRefused(f"there is no node `{name}`") from None
        host = labels(node).get(self.node_label)
        if host is None:
            raise ActionRefused(f"node `{name}` has no label `{self.node_label}`")
        wanted = {**self._flavor(flavor), **texts(spec(one.template).get("nodeSelector"))}
        missing = [f"{key}={value}" for key, value in wanted.items() if labels(node).get(key) != value]
        if missing:
            raise ActionRefused(f"node `{name}` does not have {', '.join(missing)}, which pod set `{one.name}` needs")
        return host

    def _flavor(self, name: str) -> Mapping[str, str]:
        """The labels of nodes of a flavor; none where it cannot be read, as in shadow mode."""
        if not name:
            return {}
        try:
            return texts(spec(self.api.get(f"{GROUP}/resourceflavors/{name}")).get("nodeLabels"))
        except (Gone, ActionRefused):
            return {}
