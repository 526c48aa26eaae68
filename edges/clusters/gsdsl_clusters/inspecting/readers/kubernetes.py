"""A snapshot of a Kubernetes cluster: nodes, pods by the jobs that own them, and Workloads of Kueue."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpusched_dsl.data.sources.files import Fault, Unreadable
from gsdsl_clusters.drivers.kubernetes.api import Gone, KubernetesApi
from gsdsl_clusters.drivers.kubernetes.cluster_state import best_text
from gsdsl_clusters.drivers.kubernetes.dates import seconds
from gsdsl_clusters.drivers.kubernetes.objects import (
    annotations_of,
    condition,
    ended_at,
    has_ended,
    labels,
    metadata,
    node_of,
    scheduled_at,
    since,
    spec,
    status,
)
from gsdsl_clusters.drivers.protocol import ClusterUnavailable
from gsdsl_clusters.inspecting.inferring import infer_nodes
from gsdsl_clusters.inspecting.readers.kubernetes_nodes import NOWHERE, KubernetesNodes, gpu_requests, is_gpu
from gsdsl_clusters.inspecting.readers.left_out import LeftOut
from gsdsl_clusters.inspecting.snapshot import (
    JOB_COLUMNS,
    LIMIT_COLUMNS,
    NODE_COLUMNS,
    ClusterSnapshot,
    SnapshotState,
    frame,
)
from gsdsl_clusters.kubernetes_objects.values import Json, UnknownValue, count, devices, integer, table, tables, text

OF_KUEUE = ("Workload", "LocalQueue", "ClusterQueue")
_QUEUE = "kueue.x-k8s.io/queue-name"
_WORKLOAD = "kueue.x-k8s.io/workload"
# Labels of pods that name the job of several pods to which they belong, where its object is not there.
_GANGS = (
    "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name", "ray.io/cluster",
    "leaderworkerset.sigs.k8s.io/name", "pod-group.scheduling.sigs.k8s.io", "scheduling.k8s.io/group-name",
    "volcano.sh/job-name",
)  # fmt: skip
_GROUP_OF = {"leaderworkerset.sigs.k8s.io/name": "leaderworkerset.sigs.k8s.io/group-index"}
_SEVERAL = frozenset({"ReplicaSet", "StatefulSet", "DaemonSet", "Node"})  # whose pods run for themselves
LISTS: Mapping[str, tuple[str, ...]] = {
    "Node": ("/api/v1/nodes",),
    "Pod": ("/api/v1/pods",),
    "Job": ("/apis/batch/v1/jobs",),
    "JobSet": ("/apis/jobset.x-k8s.io/v1alpha2/jobsets",),
    "Workload": ("/apis/kueue.x-k8s.io/v1beta2/workloads", "/apis/kueue.x-k8s.io/v1beta1/workloads"),
    "LocalQueue": ("/apis/kueue.x-k8s.io/v1beta2/localqueues", "/apis/kueue.x-k8s.io/v1beta1/localqueues"),
    "ClusterQueue": ("/apis/kueue.x-k8s.io/v1beta2/clusterqueues", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues"),
    "Topology": ("/apis/kueue.x-k8s.io/v1beta2/topologies", "/apis/kueue.x-k8s.io/v1alpha1/topologies"),
}


def read_live_kubernetes(api: KubernetesApi, source: str, zone: str = "UTC") -> ClusterSnapshot:
    """Read a cluster by its API. Raises Unreadable (GSM5603) without nodes or pods."""
    objects: list[Json] = []
    unread: list[str] = []
    for kind, paths in LISTS.items():
        try:
            objects += [{**item, "kind": kind} for item in _first_list(api, paths)]
        except ClusterUnavailable as failure:
            if kind in ("Node", "Pod"):
                help = "check the address and the rights by `kubectl get nodes,pods --all-namespaces`"
                message = f"the cluster of `{source}` cannot be read"
                raise Unreadable(Fault("GSM5603", message, notes=(str(failure),), help=help)) from None
            unread.append(f"{kind}s: {failure}")
    found = read_objects(objects, source, now=time.time(), zone=zone)
    return replace(found, unread=[*unread, *found.unread])


def _first_list(api: KubernetesApi, paths: Sequence[str]) -> list[Json]:
    """The objects of the first version that the server has; none if it has no such kind."""
    for path in paths:
        try:
            return list(api.list(path))
        except ClusterUnavailable as failure:
            if not isinstance(failure.__cause__, Gone):
                raise
    return []


def read_objects(
    objects: Iterable[Json], source: str, *, now: float | None = None, zone: str = "UTC"
) -> ClusterSnapshot:
    """A snapshot of objects of any kinds. `now` is the present for a live cluster, by default the latest time that
    they show.

    Raises Unreadable (GSM5603) for saved objects without pods, jobs or Workloads.
    """
    by_kind: dict[str, list[Json]] = {}
    left = LeftOut()
    for thing in _once(objects, left):
        by_kind.setdefault(str(thing.get("kind", "")), []).append(thing)
    if now is None and not any(by_kind.get(kind) for kind in ("Pod", "Job", "Workload")):
        help = "save them by `kubectl get nodes,pods,jobs --all-namespaces -o json`"
        raise Unreadable(Fault("GSM5603", f"`{source}` has no pods, jobs or Workloads", help=help))
    nodes = KubernetesNodes(left, _rack_labels(by_kind.get("Topology", ())))
    for node in by_kind.get("Node", ()):
        nodes.add(node)
    moment = now if now is not None else _latest(by_kind)
    reader = _JobReader(nodes, left, moment, by_kind)
    rows = reader.rows()
    pods = {row["job"]: number for row in rows if (number := row.pop("pods"))}
    jobs = frame(rows, JOB_COLUMNS)
    table_of_nodes, inferred = frame(nodes.table(), NODE_COLUMNS), ""
    if not table_of_nodes.height:
        table_of_nodes, inferred = infer_nodes(jobs)
        left.add("node", "", "no node with GPUs is there")
    limits = frame(_limits(by_kind.get("ClusterQueue", ()), left), LIMIT_COLUMNS)
    system = "Kubernetes with Kueue" if any(by_kind.get(kind) for kind in OF_KUEUE) else "Kubernetes"
    return ClusterSnapshot(
        f"{system}: {source}", moment, table_of_nodes, jobs, limits=limits, timezone=zone, inferred=inferred,
        unread=left.texts(), driver_settings=nodes.driver_settings(), pods=pods,
    )  # fmt: skip


# --- jobs ------------------------------------------------------------------------------------------------------------


@dataclass
class _Part:
    """Equal pods of a job: their number, the spec of one, and the pods that are there."""

    number: int
    spec: Json
    each: int
    resource: str


@dataclass
class _JobReader:
    nodes: KubernetesNodes
    left: LeftOut
    now: float
    by_kind: Mapping[str, Sequence[Json]]
    by_uid: dict[str, Json] = field(default_factory=dict)
    workloads: dict[str, str] = field(
        default_factory=dict
    )  # the uid of a Workload by the uid of its owner, or its name
    queues: dict[str, str] = field(default_factory=dict)  # the ClusterQueue of `namespace/queue`

    def rows(self) -> list[dict[str, Any]]:
        for things in self.by_kind.values():
            self.by_uid |= {uid: thing for thing in things if (uid := best_text(thing, "metadata", "uid"))}
        for queue in self.by_kind.get("LocalQueue", ()):
            self.queues[_full_name(queue)] = best_text(queue, "spec", "clusterQueue")
        workloads = self.by_kind.get("Workload", ())
        for one in workloads:
            uid = best_text(one, "metadata", "uid") or _full_name(one)
            self.workloads[_full_name(one)] = uid
            self.workloads |= dict.fromkeys(self._owner_uids(one), uid)
        groups: dict[str, list[Json]] = {}
        for pod in self.by_kind.get("Pod", ()):
            try:
                if gpu_requests(spec(pod)):
                    groups.setdefault(self._group(pod), []).append(pod)
            except UnknownValue as unknown:
                self.left.add("pod", _full_name(pod), str(unknown))
        found: list[dict[str, Any] | None] = []
        for one in workloads:
            pods = groups.pop(best_text(one, "metadata", "uid") or _full_name(one), [])
            found.append(self._safely(one, pods, self._workload))
        for key, pods in groups.items():
            top = self.by_uid.get(key.partition("#")[0], pods[0])
            found.append(self._safely(top, pods, self._group_of_pods))
        seen = {self._top(self.by_uid[uid]) for uid in self.by_uid if self.by_uid[uid].get("kind") == "Pod"}
        for job in self.by_kind.get("Job", ()):
            owner = self._top(job)
            known = owner in self.workloads or owner in seen or best_text(job, "metadata", "uid") in self.workloads
            if not known:
                found.append(self._safely(job, [], self._job_without_pods))
        rows = [row for row in found if row is not None]
        return _distinct(rows)

    def _safely(self, thing: Json, pods: list[Json], read: Any) -> dict[str, Any] | None:
        try:
            row: dict[str, Any] | None = read(thing, pods)
        except UnknownValue as unknown:
            self.left.add("job", _full_name(thing), str(unknown))
            return None
        return row

    # --- which pods belong together ----------------------------------------------------------------------------------

    def _owner_uids(self, thing: Json) -> list[str]:
        owners = thing.get("metadata", {}).get("ownerReferences") if isinstance(thing.get("metadata"), dict) else None
        return [str(owner.get("uid")) for owner in owners or () if isinstance(owner, dict) and owner.get("uid")]

    def _controller(self, thing: Json) -> Json | None:
        for owner in tables(metadata(thing).get("ownerReferences")):
            if owner.get("controller"):
                return dict(owner)
        return None

    def _top(self, thing: Json) -> str:
        """The uid of the object at the top of the owners of an object."""
        uid = best_text(thing, "metadata", "uid")
        for _ in range(8):
            try:
                owner = self._controller(thing)
            except UnknownValue:
                break
            if owner is None or owner.get("kind") in _SEVERAL:
                break
            uid = str(owner.get("uid"))
            if uid not in self.by_uid:
                break
            thing = self.by_uid[uid]
        return uid

    def _group(self, pod: Json) -> str:
        """The key of the job of a pod: the uid of its Workload, of the object that owns it, or the name of its gang."""
        own, space = labels(pod), text(metadata(pod).get("namespace"))
        named = annotations_of(pod).get(_WORKLOAD) or own.get(_WORKLOAD)
        if named and f"{space}/{named}" in self.workloads:
            return self.workloads[f"{space}/{named}"]
        top = self._top(pod)
        chain = [best_text(pod, "metadata", "uid"), *self._owner_uids(pod), top]
        for uid in chain:
            if uid in self.workloads:
                return self.workloads[uid]
        for label in _GANGS:
            if label in own:
                part = own.get(_GROUP_OF.get(label, ""), "")
                known = top if top in self.by_uid and self.by_uid[top].get("kind") != "Pod" else ""
                return f"{known}#{space}/{label}={own[label]}/{part}"
        return top or _full_name(pod)

    # --- rows --------------------------------------------------------------------------------------------------------

    def _group_of_pods(self, top: Json, pods: list[Json]) -> dict[str, Any] | None:
        """A job of the pods that are there; pods of a Job that ended do not run at once with their successors."""
        alive = [pod for pod in pods if not has_ended(pod)]
        here = alive or pods
        parts = [self._part(1, spec(pod)) for pod in here]
        row = self._row(top, [part for part in parts if part is not None], spec(here[0]), here)
        bound = [time for pod in here if (time := scheduled_at(pod)) is not None]
        if not alive:
            ends = [time for pod in pods if (time := ended_at(pod)) is not None]
            outcome = "Failed" if any(status(pod).get("phase") == "Failed" for pod in pods) else "Succeeded"
            return row | _ended(min(bound, default=None), max(ends, default=None), outcome)
        if any(node_of(pod) for pod in alive):
            return row | self._running(min(bound, default=None))
        gates = [gate for pod in alive for gate in tables(spec(pod).get("schedulingGates"))]
        state = SnapshotState.BLOCKED if gates else SnapshotState.WAITING
        reason = f"gate {gates[0].get('name')}" if gates else _message_of(alive[0], "PodScheduled")
        return row | {"state": state.value, "reason": reason}

    def _workload(self, workload: Json, pods: list[Json]) -> dict[str, Any] | None:
        assigned = {
            text(one.get("name")): one.get("count")
            for one in tables(table(status(workload).get("admission")).get("podSetAssignments"))
        }
        parts = []
        for one in tables(spec(workload).get("podSets")):
            number = count(assigned.get(text(one.get("name"))), count(one.get("count"), 1))
            part = self._part(number, spec(table(one.get("template"))))
            if part is not None:
                parts.append(part)
        if not parts:
            return None
        alive = [pod for pod in pods if not has_ended(pod)]
        row = self._row(workload, parts, parts[0].spec, alive or pods)
        row |= {"priority": float(integer(spec(workload).get("priority")))}
        cluster_queue = text(table(status(workload).get("admission")).get("clusterQueue"))
        row["team"] = cluster_queue or row["team"]
        limit = spec(workload).get("maximumExecutionTimeSeconds")
        row["limit"] = float(count(limit)) if limit is not None else row["limit"]
        finished, admitted = condition(workload, "Finished"), condition(workload, "Admitted")
        if finished is not None:
            return row | _ended(since(admitted), since(finished), str(finished.get("reason") or "Finished"))
        if admitted is not None and (any(node_of(pod) for pod in alive) or not self.by_kind.get("Pod")):
            return row | self._running(since(admitted))
        if spec(workload).get("active") is False:
            return row | {"state": SnapshotState.BLOCKED.value, "reason": "it is not active"}
        reason = _message_of(workload, "QuotaReserved") or _message_of(workload, "Admitted")
        if admitted is not None:
            reason = "it is admitted, and its pods wait"
        return row | {"state": SnapshotState.WAITING.value, "reason": reason}

    def _job_without_pods(self, job: Json, _: list[Json]) -> dict[str, Any] | None:
        """A Job that has no pods yet, or whose pods are gone."""
        template = spec(table(spec(job).get("template")))
        part = self._part(count(spec(job).get("parallelism"), 1), template)
        if part is None:
            return None
        row = self._row(job, [part], template, [])
        end = condition(job, "Complete") or condition(job, "Failed")
        if end is not None:
            stopped = seconds(status(job).get("completionTime")) or since(end)
            return row | _ended(seconds(status(job).get("startTime")), stopped, str(end.get("type")))
        if spec(job).get("suspend"):
            return row | {"state": SnapshotState.BLOCKED.value, "reason": "it is suspended"}
        return row | {"state": SnapshotState.WAITING.value, "reason": "it has no pods yet"}

    def _part(self, number: int, pod_spec: Json) -> _Part | None:
        requested = gpu_requests(pod_spec) if number else {}  # a set without pods demands nothing
        if not requested:
            return None
        resource = max(requested, key=lambda name: requested[name])
        if len(requested) > 1:
            raise UnknownValue(f"it requests several kinds of GPUs: {', '.join(sorted(requested))}")
        return _Part(number, pod_spec, requested[resource], resource)

    def _row(self, top: Json, parts: Sequence[_Part], first: Json, pods: Sequence[Json]) -> dict[str, Any]:
        sizes, resources = {part.each for part in parts}, {part.resource for part in parts}
        if len(resources) > 1:
            raise UnknownValue(f"it requests several kinds of GPUs: {', '.join(sorted(resources))}")
        resource, number = parts[0].resource, sum(part.number for part in parts)
        total = sum(part.each * part.number for part in parts)
        types, features = self.nodes.demands_of(max(parts, key=lambda part: part.each).spec, resource)
        largest = self.nodes.largest.get(resource, 0)
        alone = len(sizes) == 1 and (number == 1 or 2 * parts[0].each > largest)  # no two pods share a node
        nowhere = features == [NOWHERE] and bool(self.nodes.rows)  # without nodes nothing is known
        used: dict[str, int] = {}
        for pod in pods:
            if node := node_of(pod):
                name = self.nodes.row_name(node, resource)
                used[name] = used.get(name, 0) + gpu_requests(spec(pod)).get(resource, 0)
        known = metadata(top)
        space = text(known.get("namespace"))
        queue = labels(top).get(_QUEUE) or text(spec(top).get("queueName")) or self._queue_of(pods)
        made = [seconds(metadata(thing).get("creationTimestamp")) for thing in (top, *pods)]
        limit = spec(top).get("activeDeadlineSeconds", first.get("activeDeadlineSeconds"))
        owner = self._controller(top) if top.get("kind") in ("Workload", "Pod") else None
        name = str(owner.get("name")) if owner and top.get("kind") == "Workload" else text(known.get("name"))
        priority = first.get("priority")
        return {
            "job": f"{space}/{text(known.get('name'))}", "gpus": parts[0].each if alone else total,
            "nodes": number if alone else 0, "pods": number if len(sizes) == 1 else 0,
            "gpu_types": types, "features": [] if nowhere else features,
            "allowed_nodes": [NOWHERE] if nowhere else [],
            "team": self.queues.get(f"{space}/{queue}", queue) or space,
            "qos": text(first.get("priorityClassName")), "name": name,
            "priority": None if priority is None else float(integer(priority)),
            "submitted": min((time for time in made if time is not None), default=self.now),
            "limit": None if limit is None else float(count(limit)),
            "on_nodes": list(used), "on_gpus": list(used.values()),
        }  # fmt: skip

    def _queue_of(self, pods: Sequence[Json]) -> str:
        return next((labels(pod)[_QUEUE] for pod in pods if _QUEUE in labels(pod)), "")

    def _running(self, started: float | None) -> dict[str, Any]:
        start = self.now if started is None else started
        return {"state": SnapshotState.RUNNING.value, "started": start, "duration": max(self.now - start, 0.0)}


def _ended(started: float | None, ended: float | None, outcome: str) -> dict[str, Any]:
    known = started is not None and ended is not None
    return {
        "state": SnapshotState.ENDED.value, "outcome": outcome, "started": started if known else None, "ended": ended,
        "duration": max(ended - started, 0.0) if started is not None and ended is not None else None,
    }  # fmt: skip


def _distinct(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with names that occur once."""
    seen: dict[str, int] = {}
    for row in rows:
        name = row["job"]
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            row["job"] = f"{name} ({seen[name]})"
    return rows


def _once(objects: Iterable[Json], left: LeftOut) -> Iterator[Json]:
    """Objects that several of the saved lists have, once: the first one."""
    seen: dict[tuple[str, str], Json] = {}
    for thing in objects:
        kind, name = str(thing.get("kind", "")), _full_name(thing)
        key = kind, best_text(thing, "metadata", "uid") or name
        if name == "/" or key not in seen:
            seen[key] = thing
            yield thing
        elif seen[key] != thing:
            left.add(kind.lower(), name, "it was saved several times with other contents: the first one is used")


def _full_name(thing: Json) -> str:
    return f"{best_text(thing, 'metadata', 'namespace')}/{best_text(thing, 'metadata', 'name')}"


def _message_of(thing: Json, kind: str) -> str:
    """The first sentence of a condition that is not true."""
    for found in tables(status(thing).get("conditions")):
        if found.get("type") == kind and found.get("status") != "True":
            message = text(found.get("message")) or text(found.get("reason"))
            return message.split(". ")[0][:200].rstrip(".")
    return ""


# --- the rest --------------------------------------------------------------------------------------------------------


def _rack_labels(topologies: Iterable[Json]) -> list[str]:
    """The lowest level above the node of the topologies of Kueue."""
    found = []
    for one in topologies:
        try:
            levels = [text(level.get("nodeLabel")) for level in tables(spec(one).get("levels"))]
        except UnknownValue:
            continue
        above = [level for level in levels if level and level != "kubernetes.io/hostname"]
        found += above[-1:]
    return found


def _limits(queues: Iterable[Json], left: LeftOut) -> list[dict[str, Any]]:
    """The quota of GPUs of each ClusterQueue that borrows nothing."""
    rows = []
    for queue in queues:
        name = best_text(queue, "metadata", "name")
        try:
            if spec(queue).get("cohort") or spec(queue).get("cohortName"):
                left.add("ClusterQueue", name, "it may borrow quota in its cohort, so that its own is no limit")
                continue
            total, found = 0, False
            for group in tables(spec(queue).get("resourceGroups")):
                for flavor in tables(group.get("flavors")):
                    for resource in tables(flavor.get("resources")):
                        if is_gpu(text(resource.get("name"))):
                            total, found = total + devices(resource.get("nominalQuota", 0)), True
        except UnknownValue as unknown:
            left.add("ClusterQueue", name, str(unknown))
            continue
        if found:
            rows.append({"scope": "team", "owner": name, "gpus": total})
    return rows


def _latest(by_kind: Mapping[str, Sequence[Json]]) -> float:
    """The latest time in the objects: a creation, a change of a condition, or the last sign of a node."""
    found = [0.0]
    for thing in (thing for things in by_kind.values() for thing in things):
        try:
            times = [metadata(thing).get("creationTimestamp"), status(thing).get("completionTime")]
            for one in tables(status(thing).get("conditions")):
                times += [one.get("lastTransitionTime"), one.get("lastHeartbeatTime")]
            found += [time for each in times if (time := seconds(each)) is not None]
            found += [end for end in [ended_at(thing)] if end is not None]
        except UnknownValue:
            continue
    return max(found)
