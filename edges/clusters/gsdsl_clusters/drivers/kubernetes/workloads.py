"""Kueue's Workloads as jobs: states, GPUs, and the answer of our admission check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gpusched_dsl.data.sources.json_keys import decode_distinct
from gsdsl_clusters.drivers.kubernetes.dates import seconds
from gsdsl_clusters.drivers.kubernetes.demands import Misfits
from gsdsl_clusters.drivers.kubernetes.gang_fields import GANG_FIELDS, gang_fields
from gsdsl_clusters.drivers.kubernetes.objects import (
    Gpus,
    annotations_of,
    condition,
    gpus_of,
    has_ended,
    is_leaving,
    labels,
    metadata,
    name_of,
    node_of,
    place_of,
    resource_of,
    several_resources,
    since,
    spec,
    status,
)
from gsdsl_clusters.drivers.protocol import Allocation, Field, JobState, ObservedJob
from gsdsl_clusters.kubernetes_objects.values import Json, UnknownValue, count, integer, table, tables, text, texts

GROUP = "/apis/kueue.x-k8s.io/v1beta2"
BOOST = "kueue.x-k8s.io/priority-boost"
NODES = "gpusched-dsl/nodes"  # the annotation with the wanted GPUs by node
OWN_WORKLOAD = "gpusched-dsl/workload"  # the annotation of pods that we bind, with the name of their Workload
WORKLOAD = "kueue.x-k8s.io/workload"
OF_KUEUE = ("kueue.x-k8s.io/podset", "kueue.x-k8s.io/queue-name", WORKLOAD)
FIELDS = GANG_FIELDS | {
    "namespace", "queue", "cluster_queue", "priority", "priority_class", "job_name", "time_limit"
}  # fmt: skip
PENDING, READY, RETRY, REJECTED = "Pending", "Ready", "Retry", "Rejected"


@dataclass(frozen=True)
class PodSet:
    """One pod set: the number of its pods, and the GPUs of each."""

    name: str
    count: int
    each: int
    template: Json

    @property
    def gpus(self) -> int:
        return self.count * self.each


def pod_sets(workload: Json, gpus: Gpus) -> tuple[PodSet, ...]:
    """The pod sets, with the number of pods that Kueue has admitted if that is known."""
    admitted = {text(one.get("name")): one.get("count") for one in _assignments(workload)}
    found = []
    for one in tables(spec(workload).get("podSets")):
        name = text(one.get("name")) or "main"
        template = table(one.get("template"))
        wanted = count(admitted.get(name), count(one.get("count"), 1))
        found.append(PodSet(name, wanted, gpus_of(template, gpus), template))
    return tuple(found)


def flavors_of(workload: Json, resource: str) -> dict[str, str]:
    """The flavor of a resource that Kueue has assigned to each pod set."""
    return {text(one.get("name")): text(table(one.get("flavors")).get(resource)) for one in _assignments(workload)}


def _assignments(workload: Json) -> list[Json]:
    return tables(admission(workload).get("podSetAssignments"))


def admission(workload: Json) -> Json:
    return table(status(workload).get("admission"))


def check_of(workload: Json, name: str) -> Json | None:
    """The state of an admission check, None if Kueue has not asked for it."""
    return next((dict(check) for check in checks_of(workload) if check.get("name") == name), None)


def checks_of(workload: Json) -> list[Json]:
    """The states of all admission checks of a Workload."""
    return tables(status(workload).get("admissionChecks"))


def has_quota(workload: Json) -> bool:
    return condition(workload, "QuotaReserved") is not None


def is_admitted(workload: Json) -> bool:
    return condition(workload, "Admitted") is not None


def binds_pods(sets: Sequence[PodSet], scheduler: str) -> bool:
    """Whether pods of these pod sets wait for this scheduler. Raises UnknownValue if only those of some sets do."""
    named = {text(spec(one.template).get("schedulerName")) == scheduler for one in sets}
    if len(named) > 1:
        raise UnknownValue(f"only some of its pod sets name the scheduler `{scheduler}`")
    return True in named


def wanted_nodes(workload: Json) -> Allocation:
    """The nodes that an earlier action has noted, empty without: the annotation may have any content."""
    return _noted(annotations_of(workload))


def _noted(annotations: Mapping[str, str]) -> Allocation:
    try:
        noted = decode_distinct(annotations.get(NODES, "{}"))
        return {node: count(gpus) for node, gpus in table(noted).items()}
    except (ValueError, RecursionError, UnknownValue):
        return {}


@dataclass(frozen=True)
class WorkloadReader:
    """`hosts` are nodes by their value of the node label; `retries`: whether waiting Workloads give their quota back;
    `extra` are further fields by the label or annotation that has them. Without `misfits` Workloads may run on every
    node; `flavor_labels` gives the labels of nodes of a flavor. Pods that name the `scheduler` are bound by us.
    """

    check: str
    gpus: Gpus
    label: str
    hosts: Mapping[str, str]
    retries: bool
    extra: Mapping[str, str]
    misfits: Misfits | None = None
    flavor_labels: Callable[[str], Mapping[str, str]] = lambda name: {}
    scheduler: str = "gpusched-dsl"
    cluster_queues: Mapping[str, str] = field(default_factory=dict)  # by `namespace/queue`

    def observe_workload(self, workload: Json, pods: Sequence[Json]) -> ObservedJob:
        """A Workload as a job; `pods` are its own. Raises UnknownValue."""
        sets = pod_sets(workload, self.gpus)
        total = sum(one.gpus for one in sets)
        with_gpus = [one for one in sets if one.gpus]
        check = check_of(workload, self.check)
        state = self._state(workload, check)
        binds = binds_pods(with_gpus, self.scheduler)
        gang = PodsOfSets.of(pods, sum(one.count for one in with_gpus)) if binds else None
        starts = gang is not None and state is JobState.RUNNING and not gang.runs
        if starts:
            state = JobState.PENDING
        held, pinned = self._hold_state(workload, check, sets) if state is JobState.PENDING else (False, ())
        used = self._allocation(workload, pods, sets) if gang is None else self._bound(workload, gang)
        partly = starts and gang is not None and gang.is_complete
        occupies = state is JobState.RUNNING or is_admitted(workload)
        evictions = tables(table(status(workload).get("schedulingStats")).get("evictions"))
        has_run = is_admitted(workload) or state.has_ended
        return ObservedJob(
            name=name_of(workload),
            state=state,
            gpus=total,
            nodes=1 if sum(one.count for one in with_gpus) == 1 else 0,
            held=held,
            pinned=tuple(used) if partly else pinned,
            allocation=used if occupies and not state.has_ended else {},
            ran_on=used if state.has_ended else {},
            submitted=seconds(metadata(workload).get("creationTimestamp")),
            started=since(condition(workload, "Admitted")) if has_run else None,
            ended=since(condition(workload, "Finished")) if state.has_ended else None,
            restarts=sum(count(one.get("count")) for one in evictions),
            fields=self._fields(workload, sets),
            unsupported=several_resources([one.template for one in with_gpus], self.gpus) if total
            else f"it requests no {' or '.join(self.gpus.all)}",
            partly_started=partly,
            asks=state is JobState.PENDING and check is not None and check.get("state") == PENDING
            and has_quota(workload) and not text(check.get("message")).startswith(LEFT_OUT),
            reason=self._waiting_reason(workload) if state in (JobState.PENDING, JobState.BLOCKED) else "",
            misfits=self._misfits(workload, with_gpus) if state is JobState.PENDING else {},
        )  # fmt: skip

    def _state(self, workload: Json, check: Json | None) -> JobState:
        finished = condition(workload, "Finished")
        if finished is not None:
            return JobState.DONE if finished.get("reason") in DONE else JobState.FAILED
        if is_leaving(workload):
            return JobState.CANCELLED
        if spec(workload).get("active") is False or (not is_admitted(workload) and self._waits_for(workload)):
            return JobState.BLOCKED
        if is_admitted(workload) and (check is None or check.get("state") not in (RETRY, REJECTED)):
            return JobState.RUNNING
        return JobState.PENDING

    def _hold_state(self, workload: Json, check: Json | None, sets: Sequence[PodSet]) -> tuple[bool, tuple[str, ...]]:
        """Whether a waiting Workload is held, and the nodes for which it was released."""
        answer = None if check is None else check.get("state")
        if not has_quota(workload):  # Kueue has not asked yet; a start is noted, so that its turn comes
            wanted = tuple(wanted_nodes(workload))
            return not wanted, wanted
        if answer == READY:
            chosen = [node for _, node in self._chosen_nodes(check, sets)] or [*_answered_nodes(check)]
            return False, tuple(dict.fromkeys(chosen))
        if answer in (RETRY, REJECTED) or not self.retries:
            return True, ()
        return False, ()

    def _chosen_nodes(self, check: Json | None, sets: Sequence[PodSet]) -> list[tuple[str, str]]:
        """The pod sets and nodes of our answer."""
        resources = {one.name: resource_of(one.template, self.gpus) for one in sets}
        found = []
        for update in tables((check or {}).get("podSetUpdates")):
            host = texts(update.get("nodeSelector")).get(self.label)
            if host is not None:
                name = text(update.get("name"))
                resource = resources.get(name, self.gpus.resource)
                found.append((name, self.gpus.place(self.hosts.get(host, host), resource)))
        return found

    def _allocation(self, workload: Json, pods: Sequence[Json], sets: Sequence[PodSet]) -> Allocation:
        """The GPUs by node: those of our answer, else those of its pods."""
        sizes = {one.name: one.gpus for one in sets}
        found: dict[str, int] = {}
        selected = self._chosen_nodes(check_of(workload, self.check), sets)
        if selected:
            for name, node in selected:
                found[node] = found.get(node, 0) + sizes.get(name, 0)
            return found
        for pod in pods:
            if node_of(pod) and (not has_ended(pod) or condition(workload, "Finished") is not None):
                place = place_of(pod, self.gpus)
                found[place] = found.get(place, 0) + gpus_of(pod, self.gpus)
        return found

    def _bound(self, workload: Json, gang: PodsOfSets) -> Allocation:
        """The GPUs by node of pods that we bind. While one is made again, its place is that of our answer."""
        ended = condition(workload, "Finished") is not None
        found: dict[str, int] = {}
        for pod in (*gang.bound, *gang.done, *(gang.failed if ended else ())):
            place = place_of(pod, self.gpus)
            found[place] = found.get(place, 0) + gpus_of(pod, self.gpus)
        answered = _answered_nodes(check_of(workload, self.check))
        is_between = bool(gang.bound) and not gang.is_complete and not ended
        if is_between and all(answered.get(node, 0) >= gpus for node, gpus in found.items()):
            return answered
        return found

    def _waits_for(self, workload: Json) -> list[str]:
        """The admission checks of others that have not agreed yet."""
        return [
            text(one.get("name"))
            for one in checks_of(workload)
            if one.get("name") != self.check and one.get("state") != READY
        ]

    def _waiting_reason(self, workload: Json) -> str:
        if spec(workload).get("active") is False:
            return "it is not active"
        waits = self._waits_for(workload)
        return f"the admission check {', '.join(waits)} has not agreed" if waits else ""

    def _misfits(self, workload: Json, sets: Sequence[PodSet]) -> Mapping[str, str]:
        """Nodes on which a pod set with GPUs cannot run, also by the flavor that Kueue has assigned to it."""
        if self.misfits is None:
            return {}
        found: Mapping[str, str] = {}
        for one in sets:
            flavors = flavors_of(workload, resource_of(one.template, self.gpus))
            needs = self.flavor_labels(flavors.get(one.name, ""))
            own = self.misfits.of([one.template], needs)
            found = {**own, **found} if found else own
        return found

    def _cluster_queue(self, workload: Json) -> str:
        """The ClusterQueue that will admit a Workload, "" if it is not known."""
        queue = f"{text(metadata(workload).get('namespace'))}/{text(spec(workload).get('queueName'))}"
        return self.cluster_queues.get(queue, "")

    def _fields(self, workload: Json, sets: Sequence[PodSet]) -> Mapping[str, Field]:
        owners = tables(metadata(workload).get("ownerReferences"))
        reference = table(spec(workload).get("priorityClassRef"))
        limit = spec(workload).get("maximumExecutionTimeSeconds")
        found: dict[str, Field] = {
            "namespace": text(metadata(workload).get("namespace")),
            "queue": text(spec(workload).get("queueName")),
            "cluster_queue": text(admission(workload).get("clusterQueue")) or self._cluster_queue(workload),
            "priority": float(integer(spec(workload).get("priority"))),
            "priority_class": text(reference.get("name")) or text(spec(workload).get("priorityClassName")),
            "job_name": text((owners[0] if owners else metadata(workload)).get("name")),
            **gang_fields([(one.count, one.template) for one in sets], self.gpus),
        }
        if limit is not None:
            found["time_limit"] = float(count(limit))
        return found | marks(self.extra, [workload, *(one.template for one in sets)])


LEFT_OUT = "left out by gsdsl: "
DONE = frozenset({"Succeeded", "JobFinished", "OwnerSucceeded"})


def _answered_nodes(check: Json | None) -> dict[str, int]:
    """The GPUs by node of all pod sets of an answer whose pods we bind."""
    found: dict[str, int] = {}
    for update in tables((check or {}).get("podSetUpdates")):
        for node, gpus in _noted(texts(update.get("annotations"))).items():
            found[node] = found.get(node, 0) + gpus
    return found


@dataclass(frozen=True)
class PodsOfSets:
    """The pods with GPUs of a Workload: those that may get a node, those bound, and those that have ended.

    `wanted` is their number in all pod sets.
    """

    waiting: tuple[Json, ...]
    bound: tuple[Json, ...]
    done: tuple[Json, ...]
    failed: tuple[Json, ...]
    wanted: int

    @classmethod
    def of(cls, pods: Sequence[Json], wanted: int) -> PodsOfSets:
        active = [pod for pod in pods if not has_ended(pod) and not is_leaving(pod)]
        ended = [pod for pod in pods if has_ended(pod) and node_of(pod)]
        return cls(
            tuple(pod for pod in active if not node_of(pod) and not spec(pod).get("schedulingGates")),
            tuple(pod for pod in active if node_of(pod)),
            tuple(pod for pod in ended if status(pod).get("phase") == "Succeeded"),
            tuple(pod for pod in ended if status(pod).get("phase") == "Failed"),
            wanted,
        )

    @property
    def is_complete(self) -> bool:
        """Whether all pods have been made, without gates."""
        return len(self.waiting) + len(self.bound) + len(self.done) >= self.wanted

    @property
    def runs(self) -> bool:
        """Whether all pods have a node, or some run while others are made again."""
        return bool(self.bound or self.done) and not (self.waiting and self.is_complete)


def marks(extra: Mapping[str, str], things: Sequence[Json]) -> dict[str, str]:
    """The value of each label or annotation, in the first of some objects that has it."""
    found = {}
    for name, key in extra.items():
        for thing in things:
            value = labels(thing).get(key, annotations_of(thing).get(key))
            if value is not None:
                found[name] = value
                break
    return found
