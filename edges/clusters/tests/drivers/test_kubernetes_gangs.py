"""Pods of JobSets, Kubeflow, Ray and LeaderWorkerSets are one job: a leader with 2 GPUs and three workers with 4."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from test_kubernetes_dirt import WRONG, changed, places
from test_kubernetes_objects import WHEN, a_job, node, pod
from test_kubernetes_placing import ServerInMemory

from gsdsl_clusters.drivers.kubernetes.api import Answer, KubernetesApi
from gsdsl_clusters.drivers.kubernetes.scheduler import PodScheduler
from gsdsl_clusters.drivers.protocol import Action, ActionKind, ActionRefused, JobState

Json = dict[str, Any]
Objects = tuple[dict[str, list[Json]], list[Json]]  # controllers by plural, pods


def template(gpus: int) -> Json:
    return pod(gpus=gpus, schedulerName="gpusched-dsl")


def owned(thing: Json, version: str, kind: str, uid: str) -> Json:
    thing["metadata"]["ownerReferences"] = [{"apiVersion": version, "kind": kind, "uid": uid, "controller": True}]
    return thing


def gang_pods(version: str, kind: str, leader: str, workers: str) -> list[Json]:
    """The four pods, with the uids of the controllers of the leader and of the workers."""
    found = [owned(pod("leader", 2, schedulerName="gpusched-dsl"), version, kind, leader)]
    return [
        *found,
        *(owned(pod(f"worker{n}", 4, schedulerName="gpusched-dsl"), version, kind, workers) for n in range(3)),
    ]


def controller(name: str, spec: Json) -> Json:
    about = {"name": name, "namespace": "ml", "uid": f"{name}-123456789", "creationTimestamp": WHEN}
    return {"metadata": about, "spec": spec, "status": {}}


def job_set() -> Objects:
    def of_job(gpus: int, pods: int) -> Json:
        return {"spec": {"parallelism": pods, "completions": pods, "template": template(gpus)}}

    top = controller("train", {"replicatedJobs": [
        {"name": "leader", "replicas": 1, "template": of_job(2, 1)},
        {"name": "workers", "replicas": 1, "template": of_job(4, 3)},
    ]})  # fmt: skip
    jobs = [a_job(1, 1), a_job(3, 3)]
    for name, gpus, one in zip(("l", "w"), (2, 4), jobs, strict=True):
        one["metadata"] |= {"name": f"train-{name}", "uid": f"{name}-job"}
        one["spec"]["template"] = template(gpus)
        owned(one, "jobset.x-k8s.io/v1alpha2", "JobSet", top["metadata"]["uid"])
    return {"jobsets": [top], "jobs": jobs}, gang_pods("batch/v1", "Job", "l-job", "w-job")


def kubeflow() -> Objects:
    top = controller("train", {"runPolicy": {"activeDeadlineSeconds": 600}, "pytorchReplicaSpecs": {
        "Master": {"template": template(2)}, "Worker": {"replicas": 3, "template": template(4)},
    }})  # fmt: skip
    uid = top["metadata"]["uid"]
    return {"pytorchjobs": [top]}, gang_pods("kubeflow.org/v1", "PyTorchJob", uid, uid)


def ray() -> Objects:
    cluster = {"headGroupSpec": {"template": template(2)}, "workerGroupSpecs": [
        {"groupName": "w", "replicas": 3, "template": template(4)}]}  # fmt: skip
    top, below = controller("train", {"rayClusterSpec": cluster}), controller("train-x7", cluster)
    owned(below, "ray.io/v1", "RayJob", top["metadata"]["uid"])
    uid = below["metadata"]["uid"]
    return {"rayjobs": [top], "rayclusters": [below]}, gang_pods("ray.io/v1", "RayCluster", uid, uid)


def leader_worker_set() -> Objects:
    pods = gang_pods("apps/v1", "StatefulSet", "set", "set")
    for number, one in enumerate(pods):
        one["metadata"]["labels"] = {
            "leaderworkerset.sigs.k8s.io/name": "train", "leaderworkerset.sigs.k8s.io/group-index": "0",
            "leaderworkerset.sigs.k8s.io/worker-index": str(number),
        }  # fmt: skip
        one["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/size"] = "4"
    return {}, pods


KINDS: dict[str, Callable[[], Objects]] = {
    "JobSet": job_set, "PyTorchJob": kubeflow, "RayJob": ray, "LeaderWorkerSet": leader_worker_set
}  # fmt: skip
ENDS = {
    "JobSet": {"conditions": [{"type": "Completed", "status": "True", "lastTransitionTime": WHEN}]},
    "PyTorchJob": {"conditions": [{"type": "Succeeded", "status": "True", "lastTransitionTime": WHEN}]},
    "RayJob": {"jobStatus": "SUCCEEDED", "endTime": WHEN},
}


class GangServer(ServerInMemory):
    """Also controllers, by the plural of their kind; `forbidden` plurals may not be read."""

    def __init__(self, controllers: dict[str, list[Json]], pods: list[Json]) -> None:
        super().__init__([node("g1"), node("g2")], pods)
        self.controllers = controllers
        self.forbidden = ""
        self.deleted: list[str] = []

    def send(self, method: str, path: str, headers: Any, body: Any) -> Answer:
        name = path.partition("?")[0].split("/")[-1]
        if name == self.forbidden:
            return Answer(403, b'{"message": "not permitted"}')
        if method == "DELETE":
            self.deleted.append(name)
            return Answer(200, b"{}")
        if method == "GET" and name in ("jobs", "jobsets", "pytorchjobs", "rayjobs", "rayclusters"):
            return Answer(200, json.dumps({"items": self.controllers.get(name, [])}).encode())
        return super().send(method, path, headers, body)


def server_of(kind: str) -> tuple[GangServer, PodScheduler]:
    server = GangServer(*KINDS[kind]())
    return server, PodScheduler(KubernetesApi(server.send), now=server.now)


def name_in(kind: str) -> str:
    return "ml/leader/leader-0" if kind == "LeaderWorkerSet" else "ml/train/train-12"


@pytest.mark.parametrize("kind", KINDS)
def test_a_gang_is_one_job_and_is_bound_together(kind: str) -> None:
    server, cluster = server_of(kind)
    (seen,) = cluster.observe().jobs.values()
    assert (seen.name, seen.state, seen.gpus, seen.held) == (name_in(kind), JobState.PENDING, 14, True)
    assert (seen.fields["pods"], seen.fields["gpus_per_pod"], seen.unsupported) == (4, 4, "")
    wanted = {"g1": 8, "g2": 6}
    with pytest.raises(ActionRefused, match="do not fit"):
        cluster.act(Action(ActionKind.START, seen.name, {"g1": 7, "g2": 7}))
    assert server.bound == []
    cluster.act(Action(ActionKind.START, seen.name, wanted, "gsdsl step 1"))
    assert ("leader", "g2") in server.bound
    assert len(server.bound) == 4
    (seen,) = cluster.observe().jobs.values()
    assert (seen.state, seen.allocation) == (JobState.RUNNING, wanted)
    cluster.act(Action(ActionKind.REQUEUE, seen.name, reason="gsdsl step 2: to wait"))
    assert sorted(server.deleted) == ["leader", "worker0", "worker1", "worker2"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_gang_waits_until_all_of_its_pods_have_been_made(kind: str) -> None:
    server, cluster = server_of(kind)
    del server.pods["worker1"]
    (seen,) = cluster.observe().jobs.values()
    assert (seen.state, seen.reason) == (JobState.BLOCKED, "3 of its 4 pods have been made")


@pytest.mark.parametrize("kind", ENDS)
def test_the_end_of_a_gang_is_that_of_its_controller(kind: str) -> None:
    """Also when its pods have been removed."""
    server, cluster = server_of(kind)
    cluster.act(Action(ActionKind.START, name_in(kind), {"g1": 8, "g2": 6}))
    cluster.observe()
    next(iter(server.controllers.values()))[0]["status"] = ENDS[kind]
    server.pods.clear()
    (seen,) = cluster.observe().jobs.values()
    assert (seen.name, seen.state, seen.ended) == (name_in(kind), JobState.DONE, 1795428000.0)


@pytest.mark.parametrize(
    ("kind", "plural"), [("JobSet", "jobsets"), ("PyTorchJob", "pytorchjobs"), ("RayJob", "rayjobs")]
)
def test_pods_of_a_controller_that_cannot_be_read_do_not_start_alone(kind: str, plural: str) -> None:
    server, cluster = server_of(kind)
    server.forbidden = plural
    jobs = cluster.observe().jobs.values()
    assert {job.state for job in jobs} == {JobState.BLOCKED}
    assert all("not permitted" in job.unsupported for job in jobs)


def test_a_pod_whose_job_is_newer_than_the_list_does_not_start_alone() -> None:
    _, pods = job_set()
    server = GangServer({}, pods[:1])
    (seen,) = PodScheduler(KubernetesApi(server.send)).observe().jobs.values()
    assert (seen.state, seen.unsupported) == (JobState.BLOCKED, "its Job is not shown")


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("JobSet", {"startupPolicy": {"startupPolicyOrder": "InOrder"}}, "one after the other (`startupPolicyOrder`)"),
        ("RayJob", {"rayClusterSpec": {"enableInTreeAutoscaling": True}}, "changes the number of its pods"),
    ],
)
def test_gangs_whose_pods_do_not_run_together_are_left_out(kind: str, change: Json, words: str) -> None:
    server, cluster = server_of(kind)
    top = next(iter(server.controllers.values()))[0]
    for key, value in change.items():
        top["spec"][key] = {**top["spec"].get(key, {}), **value}
    (seen,) = cluster.observe().jobs.values()
    assert words in seen.unsupported


def test_suspended_gangs_and_time_limits() -> None:
    server, cluster = server_of("PyTorchJob")
    (seen,) = cluster.observe().jobs.values()
    assert seen.fields["time_limit"] == 600
    server.controllers["pytorchjobs"][0]["spec"]["runPolicy"]["suspend"] = True
    (seen,) = cluster.observe().jobs.values()
    assert (seen.state, seen.reason) == (JobState.BLOCKED, "it is suspended")


@pytest.mark.parametrize("kind", KINDS)
def test_a_gang_with_a_wrong_field_does_not_start_in_parts(kind: str) -> None:
    """Each field of a pod or controller becomes a wrong value: it is read all the same, and all pods start or none."""
    controllers, pods = KINDS[kind]()
    lists = {**controllers, "pods": pods}
    fields = [(name, at, *path) for name in lists for at, one in enumerate(lists[name]) for path in places(one)]
    owning = {"ownerReferences", "labels", "metadata", "uid"}  # then other pods belong together
    every = [(path, value) for path in fields for value in WRONG if path[2] != "metadata" and not owning & set(path)]
    started = 0
    for path, value in random.Random(1).sample(every, 150):
        mutated = changed(lists, path, value)
        server = GangServer({name: mutated[name] for name in controllers}, mutated["pods"])
        server.nodes = {"g1": node("g1", 64)}
        cluster = PodScheduler(KubernetesApi(server.send), now=server.now)
        for job in cluster.observe().jobs.values():
            if job.state is JobState.PENDING and not job.unsupported:
                with suppress(ActionRefused):
                    cluster.act(Action(ActionKind.START, job.name, {"g1": job.gpus}, "gsdsl step 1"))
        assert len(server.bound) in (0, 4), (path, value)
        started += len(server.bound) == 4
    assert 10 < started < 150
