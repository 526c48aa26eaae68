"""Kubernetes without Kueue: a second scheduler, which binds the pods that name it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gsdsl_clusters.drivers.kubernetes.api import Gone, KubernetesApi, ObjectChanged
from gsdsl_clusters.drivers.kubernetes.binding import PodBinder
from gsdsl_clusters.drivers.kubernetes.cluster_state import ClusterState, best_text
from gsdsl_clusters.drivers.kubernetes.demands import Misfits
from gsdsl_clusters.drivers.kubernetes.gangs import Controllers, group_of, roles_of
from gsdsl_clusters.drivers.kubernetes.objects import (
    gpus_of,
    metadata,
    name_of,
    owner_of,
    spec,
)
from gsdsl_clusters.drivers.kubernetes.settings import Selection, check_settings, connect, selection_of
from gsdsl_clusters.drivers.kubernetes.units import FIELDS, PodGroup, observed_unit, units_of
from gsdsl_clusters.drivers.protocol import Action, ActionKind, ActionRefused, Observation
from gsdsl_clusters.kubernetes_objects.values import Json, UnknownValue, text

DEFAULT = "default-scheduler"
_KEYS: Mapping[str, type | tuple[type, ...]] = {"scheduler": str}


@dataclass
class PodScheduler:
    """Pods with GPUs whose `schedulerName` is `scheduler`.

    A start binds the waiting pods of a controller (such as a Job), or a single pod. A hold deletes pods of a job that
    was started only in part; its controller makes new ones. A requeue deletes all running pods of a controller.
    """

    api: KubernetesApi
    selection: Selection = field(default_factory=Selection)
    scheduler: str = "gpusched-dsl"
    now: Callable[[], float] = time.time
    fields: frozenset[str] = field(init=False)
    _waiting: dict[str, Json] = field(default_factory=dict, init=False)  # a pod of each job that waits
    _kinds: set[tuple[str, str]] = field(default_factory=set, init=False)  # of controllers that pods have had

    def __post_init__(self) -> None:
        self.fields = FIELDS | frozenset(self.selection.extra or {})

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> PodScheduler:
        """Read the section [kubernetes]. Raises ValueError with `key: reason` for a wrong entry."""
        check_settings(settings, _KEYS, FIELDS)
        return cls(connect(settings), selection_of(settings), settings.get("scheduler", cls.scheduler))

    # --- observe -----------------------------------------------------------------------------------------------------

    def observe(self) -> Observation:
        """Read nodes, Jobs, then pods, so that no pod lacks its Job. What cannot be read is left out by itself."""
        chosen = self.selection
        raw = list(self.api.list("/api/v1/nodes", **chosen.node_selector))
        jobs = list(self.api.list(f"/apis/batch/v1{self._place}/jobs"))
        state = ClusterState.read(raw, self.api.list("/api/v1/pods"), chosen.gpus)
        controllers = Controllers.read(self.api, self._place, jobs, state.pods, self._kinds)
        misfits = Misfits(state.raw_nodes, state.reserved, chosen.gpus)
        mine, others = state.divide(self._is_mine)
        found = state.unread_jobs()
        candidates = [one for one in [*controllers.known.values(), *_unnamed(jobs)] if self._may_be_mine(one, state)]
        self._waiting = {}
        units, unread = units_of(mine, candidates, controllers)
        found += [state.unread_job(pod, [pod], why) for pod, why in unread]
        for unit in units:
            try:
                if unit.roles(chosen.gpus):
                    if unit.unbound:
                        self._waiting[unit.name] = unit.unbound[0]
                    found.append(observed_unit(unit, chosen.gpus, chosen.extra or {}, misfits))
            except UnknownValue as unknown:
                found.append(state.unread_job(unit.thing, unit.pods, str(unknown)))
        found += state.foreign_jobs(others, "another scheduler has started it")
        return Observation({job.name: job for job in found}, state.nodes, tuple(state.unread))

    @property
    def _binder(self) -> PodBinder:
        return PodBinder(self.api, self.selection.gpus, self.scheduler, self.now)

    @property
    def _place(self) -> str:
        return "" if self.selection.namespace is None else f"/namespaces/{self.selection.namespace}"

    def _is_mine(self, pod: Json, known: Json | None = None) -> bool:
        where = (metadata(pod) if known is None else known).get("namespace")
        named = text(spec(pod).get("schedulerName") or DEFAULT) == self.scheduler
        return named and self.selection.namespace in (None, where)

    def _may_be_mine(self, job: Json, state: ClusterState) -> bool:
        """Whether a Job has our pods, or does not show it: it is left out when it is read."""
        try:
            name_of(job)
        except UnknownValue as unknown:
            state.unread.append(f"a Job is left out: its name cannot be read: {unknown}")
            return False
        try:
            return any([self._is_mine(role.template, metadata(job)) for role in roles_of(job)])  # noqa: C419
        except UnknownValue:
            return True

    def explain(self, job: str, why: str) -> None:
        """Record an event of the first pod that waits."""
        if job in self._waiting and self.scheduler != DEFAULT:
            self._binder.tell(self._waiting[job], "Waiting", why)

    # --- act ---------------------------------------------------------------------------------------------------------

    def act(self, action: Action) -> None:
        if self.scheduler == DEFAULT:
            raise ActionRefused("the pods of the default scheduler can only be watched: set `scheduler`")
        try:
            unit = self._unit(action.job)
            match action.kind:
                case ActionKind.START:
                    self._binder.bind(unit.unbound, unit.bound, action)
                case ActionKind.HOLD:
                    self._delete(unit, unit.bound, action)
                case ActionKind.REQUEUE:
                    self._delete(unit, unit.bound, action)
                case ActionKind.RESIZE:
                    raise ActionRefused("the GPUs of a pod cannot be changed")
        except ObjectChanged as conflict:
            raise ActionRefused(str(conflict)) from conflict
        except Gone:
            raise ActionRefused(f"`{action.job}` is not there any more") from None
        except UnknownValue as unknown:
            raise ActionRefused(str(unknown)) from unknown

    def _unit(self, job: str) -> PodGroup:
        """The Job or pod of a name, with its pods as they are now. Raises Gone."""
        namespace, name, uid = [*job.split("/"), "", ""][:3]
        place = f"/namespaces/{namespace}"
        for path, kind in ((f"/apis/batch/v1{place}/jobs/{name}", "Job"), (f"/api/v1{place}/pods/{name}", "Pod")):
            try:
                thing = self.api.get(path)
            except Gone:
                continue
            if not str(metadata(thing).get("uid", "")).startswith(uid):
                continue
            if kind == "Pod":
                if group_of(thing) is not None:
                    break
                return PodGroup(None, [thing])
            pods = self.api.list(f"/api/v1{place}/pods", labelSelector=f"job-name={name}")
            return PodGroup(thing, [pod for pod in pods if owner_of(pod, "Job") == metadata(thing).get("uid")])
        return self._gang(job, place)

    def _gang(self, job: str, place: str) -> PodGroup:
        """A job of several controllers, or a group of a LeaderWorkerSet. Raises Gone."""
        jobs = list(self.api.list(f"/apis/batch/v1{place}/jobs"))
        pods = [pod for pod in self.api.list(f"/api/v1{place}/pods") if gpus_of(pod, self.selection.gpus)]
        controllers = Controllers.read(self.api, place, jobs, pods, self._kinds)
        units, _ = units_of(pods, [], controllers)
        found = next((unit for unit in units if unit.name == job), None)
        if found is None:
            raise Gone(job)
        return found

    def _delete(self, unit: PodGroup, pods: Sequence[Json], action: Action) -> None:
        """Delete pods of a Job, which makes new ones."""
        if unit.is_alone:
            raise ActionRefused("a pod without a Job is not made again: it would be lost")
        for pod in pods:
            known = metadata(pod)
            self._binder.tell(pod, "Preempted", action.reason)
            body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": known["uid"]}}
            try:
                self.api.delete(f"/api/v1/namespaces/{known['namespace']}/pods/{known['name']}", body)
            except Gone:
                continue


def _unnamed(jobs: Sequence[Json]) -> list[Json]:
    """Jobs without a readable uid."""
    return [job for job in jobs if not best_text(job, "metadata", "uid")]
