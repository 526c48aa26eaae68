"""Controllers of pods that run together (Job, JobSet, the jobs of Kubeflow, Ray, LeaderWorkerSet) and their roles.

The owner references of a pod lead to its controller: a pod of a JobSet to a Job and on to the JobSet, a pod of a RayJob
to a RayCluster and on to the RayJob. The last known controller starts its pods together. Groups of a LeaderWorkerSet
are known by their labels: its pods are owned by their leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gsdsl_clusters.drivers.kubernetes.api import Gone, KubernetesApi
from gsdsl_clusters.drivers.kubernetes.objects import annotations_of, labels, metadata, spec
from gsdsl_clusters.drivers.protocol import ActionRefused, ClusterUnavailable
from gsdsl_clusters.kubernetes_objects.values import Json, UnknownValue, count, devices, table, tables, text

PLURALS = {
    "JobSet": "jobsets", "PyTorchJob": "pytorchjobs", "TFJob": "tfjobs", "XGBoostJob": "xgboostjobs",
    "PaddleJob": "paddlejobs", "MPIJob": "mpijobs", "JAXJob": "jaxjobs", "RayJob": "rayjobs",
    "RayCluster": "rayclusters",
}  # fmt: skip
GROUP_OF = "leaderworkerset.sigs.k8s.io/name"  # labels and annotations of the pods of a LeaderWorkerSet
GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
GROUP_SIZE = "leaderworkerset.sigs.k8s.io/size"
_REPLICAS = ("pytorchReplicaSpecs", "tfReplicaSpecs", "xgbReplicaSpecs", "paddleReplicaSpecs", "mpiReplicaSpecs",
             "jaxReplicaSpecs")  # fmt: skip


@dataclass(frozen=True)
class Role:
    """Equal pods of a gang, such as its workers."""

    name: str
    count: int
    template: Json


def roles_of(controller: Json) -> list[Role]:
    """The roles of a controller, by the fields that its kind has. Raises UnknownValue."""
    own = spec(controller)
    if "replicatedJobs" in own:
        return [_role_of_jobs(one) for one in tables(own.get("replicatedJobs"))]
    for name in _REPLICAS:
        if name in own:
            roles = table(own.get(name)).items()
            return [
                Role(role, count(table(one).get("replicas"), 1), table(table(one).get("template")))
                for role, one in roles
            ]
    ray = table(own.get("rayClusterSpec")) if "rayClusterSpec" in own else own
    if "headGroupSpec" in ray:
        head = Role("head", 1, table(table(ray.get("headGroupSpec")).get("template")))
        return [head, *(_role_of_ray(one) for one in tables(ray.get("workerGroupSpecs")))]
    return [Role("", count(own.get("parallelism"), 1), table(own.get("template")))]


def _role_of_jobs(one: Json) -> Role:
    job = spec(table(one.get("template")))
    number = count(one.get("replicas"), 1) * count(job.get("parallelism"), 1)
    return Role(text(one.get("name")), number, table(job.get("template")))


def _role_of_ray(one: Json) -> Role:
    number = count(one.get("replicas"), 0) * count(one.get("numOfHosts"), 1)
    return Role(text(one.get("groupName")), number, table(one.get("template")))


def staggered_reason(controller: Json) -> str:
    """Why the pods of a controller do not all run at the same time, "" if they do. Raises UnknownValue."""
    own = spec(controller)
    ray = table(own.get("rayClusterSpec")) if "rayClusterSpec" in own else own
    if ray.get("enableInTreeAutoscaling"):
        return "it changes the number of its pods (`enableInTreeAutoscaling`)"
    if table(own.get("startupPolicy")).get("startupPolicyOrder") == "InOrder":
        return "it starts its pods one after the other (`startupPolicyOrder`)"
    jobs = [own]
    if "replicatedJobs" in own:
        replicated = tables(own.get("replicatedJobs"))
        if any(one.get("dependsOn") for one in replicated):
            return "it starts its pods one after the other (`dependsOn`)"
        jobs = [spec(table(one.get("template"))) for one in replicated]
    for job in jobs:
        complete = job.get("completions")
        if complete is not None and count(complete) > count(job.get("parallelism"), 1):
            return "it runs its pods one after the other (`completions` is larger than `parallelism`)"
    return ""


def group_of(pod: Json) -> tuple[str, str, str] | None:
    """Namespace, name and index of the group of a LeaderWorkerSet that a pod belongs to, None without one."""
    own = labels(pod)
    if GROUP_OF not in own or GROUP_INDEX not in own:
        return None
    return text(metadata(pod).get("namespace")), own[GROUP_OF], own[GROUP_INDEX]


def group_size(pod: Json) -> int:
    return devices(annotations_of(pod).get(GROUP_SIZE, 1))


def is_leader(pod: Json) -> bool:
    return labels(pod).get(WORKER_INDEX) == "0"


@dataclass
class Controllers:
    """Controllers of pods by uid, Jobs among them, and why those of some API versions and kinds cannot be read."""

    known: dict[str, Json] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def read(
        cls, api: KubernetesApi, place: str, jobs: Sequence[Json], pods: Iterable[Json], kinds: set[tuple[str, str]]
    ) -> Controllers:
        """Read the controllers that pods and Jobs refer to, and those that these refer to.

        `kinds` are the API versions and kinds that were referred to before; it is extended. They are read also when
        they have no pods any more, because they show how a job has ended. Raises ClusterUnavailable.
        """
        found, listed = cls(), set[tuple[str, str]]()
        found._add(jobs)
        level: list[Json] = [*jobs, *pods]
        while True:
            kinds |= {(version, kind) for version, kind, _ in map(_controller_or_none, level) if kind in PLURALS}
            level = []
            for version, kind in sorted(kinds - listed):
                listed.add((version, kind))
                try:
                    level += api.list(f"/apis/{version}{place}/{PLURALS[kind]}")
                except ClusterUnavailable as failure:
                    if not isinstance(failure.__cause__, Gone | ActionRefused):
                        raise
                    found.failed[version, kind] = str(failure)
            found._add(level)
            if not level:
                return found

    def _add(self, things: Iterable[Json]) -> None:
        for thing in things:
            known = thing.get("metadata")
            if isinstance(known, dict) and isinstance(known.get("uid"), str) and known["uid"]:
                self.known[known["uid"]] = thing

    def top_of(self, thing: Json) -> str:
        """The uid of the last known controller, "" without one. Raises UnknownValue, also if one cannot be read."""
        found: list[str] = []
        version, kind, uid = controller_of(thing)
        while uid in self.known and uid not in found:
            found.append(uid)
            version, kind, uid = controller_of(self.known[uid])
        if (kind in PLURALS or kind == "Job") and uid not in self.known:
            raise UnknownValue(self.failed.get((version, kind), f"its {kind} is not shown"))
        return found[-1] if found else ""


def _controller_or_none(thing: Json) -> tuple[str, str, str]:
    try:
        return controller_of(thing)
    except UnknownValue:
        return "", "", ""


def controller_of(thing: Json) -> tuple[str, str, str]:
    """API version, kind and uid of the controller of an object, texts that are empty without one."""
    for owner in tables(metadata(thing).get("ownerReferences")):
        if owner.get("controller"):
            return text(owner.get("apiVersion")), text(owner.get("kind")), text(owner.get("uid"))
    return "", "", ""
