"""Whatever an object of Kubernetes contains, it is left out by itself: every field of recorded objects, mutated."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from test_kubernetes_objects import GPU, WHEN, a_job, a_workload, node, pod, ready

from gsdsl_clusters.drivers.kubernetes.api import Answer, KubernetesApi
from gsdsl_clusters.drivers.kubernetes.kueue import KueueCluster
from gsdsl_clusters.drivers.kubernetes.scheduler import PodScheduler
from gsdsl_clusters.drivers.protocol import ClusterUnavailable, Observation

Json = dict[str, Any]
Lists = dict[str, list[Json]]
DEEP = "[" * 3000 + "]" * 3000
WRONG: tuple[Any, ...] = (
    None, "x", "", "1e999", float("inf"), float("nan"), -1, 10**30, True, [], {}, [None], ["x"], {"x": None}, [[[]]],
)  # fmt: skip


def full_pod(name: str = "p", job: str = "u-123456789", where: str = "") -> Json:
    """A pod with everything that a driver reads."""
    return pod(
        name, 2, where, "Running" if where else "Pending", job, schedulerName="gpusched-dsl",
        nodeSelector={"zone": "a"},
        tolerations=[{"key": "dedicated", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}], priority=3,
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}],
             "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["g9"]}]}]}},
            "podAffinity": {}},
        initContainers=[{"restartPolicy": "Always", "resources": {"limits": {"cpu": "1"}}}], overhead={"cpu": "1m"},
        schedulingGates=[], topologySpreadConstraints=[{"whenUnsatisfiable": "ScheduleAnyway"}],
    )  # fmt: skip


def full_node(name: str) -> Json:
    taint = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
    return node(name, labels={"zone": "a"}, taints=[taint], unschedulable=False)


def objects() -> Lists:
    """A cluster: one Job that waits, one that runs, a pod of somebody else, and Workloads in several states."""
    waits, runs = a_job(1, 1), a_job(1, 1)
    runs["metadata"] |= {"name": "other", "uid": "v-123456789"}
    for one in (waits, runs):
        one["spec"]["template"] = full_pod()
    foreign = full_pod("foreign", job="", where="g2")
    foreign["spec"]["schedulerName"] = "default-scheduler"
    foreign["status"]["containerStatuses"] = [{"state": {"terminated": {"finishedAt": WHEN}}}]
    workloads = [
        a_workload(annotations={"gpusched-dsl/nodes": '{"g1": 4}'}),
        a_workload("QuotaReserved", "Admitted", check=ready(("main", "g1"))),
        a_workload(),
    ]
    for number, one in enumerate(workloads):
        one["metadata"] |= {"name": f"w{number}", "uid": f"{number}-w123456", "ownerReferences": [
            {"uid": f"owner-{number}", "name": "train", "kind": "Job", "controller": True}]}  # fmt: skip
        one["spec"]["podSets"][0]["template"] = full_pod()
        one["status"] |= {"schedulingStats": {"evictions": [{"count": 2}]}}
    for one in workloads[:2]:
        one["status"]["admission"] = {
            "clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": 1, "flavors": {GPU: "f"}}],
        }  # fmt: skip
    queue = {"metadata": {"name": "q", "namespace": "ml"}, "spec": {"clusterQueue": "cq"}}
    return {
        "nodes": [full_node("g1"), full_node("g2")],
        "pods": [full_pod("a"), full_pod("b", "v-123456789", "g1"), foreign],
        "jobs": [waits, runs],
        "workloads": workloads,
        "localqueues": [queue],
    }


def api_of(lists: Mapping[str, list[Json]]) -> KubernetesApi:
    def send(method: str, path: str, headers: Any, body: Any) -> Answer:
        kind = path.split("?")[0].rsplit("/", 1)[-1]
        found: Json = {"items": lists[kind]} if kind in lists else {"spec": {"nodeLabels": {"zone": "a"}}}
        return Answer(200, json.dumps(found).encode())

    return KubernetesApi(send)


def observe(kind: str, lists: Mapping[str, list[Json]]) -> Observation:
    api = api_of(lists)
    return KueueCluster(api).observe() if kind == "kueue" else PodScheduler(api).observe()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every field of an object and every item of its lists."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def changed(lists: Lists, path: tuple[Any, ...], value: Any) -> Lists:
    found = copy.deepcopy(lists)
    inner: Any = found
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return found


@pytest.mark.parametrize("kind", ["kubernetes", "kueue"])
@pytest.mark.parametrize("share", [0.12, pytest.param(1.0, marks=pytest.mark.slow)])
def test_a_mutated_object_is_left_out_by_itself(kind: str, share: float) -> None:
    """Each field of each object becomes each wrong value: all others are observed as before."""
    lists = objects()
    usual = observe(kind, lists)
    assert usual.unread == ()
    assert {job.state.value for job in usual.jobs.values()} == {"pending", "running"}
    assert not any(job.misfits for job in usual.jobs.values())
    managed = [job for job in usual.jobs.values() if not job.unsupported]
    assert {job.fields.get("cluster_queue") for job in managed} == {"cq" if kind == "kueue" else None}
    read = ("nodes", "pods", "jobs") if kind == "kubernetes" else ("nodes", "pods", "workloads", "localqueues")
    fields = [(name, at, *path) for name in read for at, one in enumerate(lists[name]) for path in places(one)]
    every = [(path, value) for path in fields for value in WRONG]
    chosen = random.Random(5).sample(every, int(share * len(every)))
    told = 0
    for path, value in chosen:
        seen = observe(kind, changed(lists, path, value))
        told += bool(seen.unread)
        if path[0] == "nodes":
            assert {"g1", "g2"} - {f"g{path[1] + 1}"} <= seen.nodes.keys()
            assert seen.jobs.keys() == usual.jobs.keys(), (path, value)
        else:
            assert seen.nodes == usual.nodes
            assert sum(seen.jobs.get(job.name) == job for job in managed) >= len(managed) - 1, (path, value)
    assert told > 0.2 * len(chosen)


def test_deep_annotations_and_infinite_numbers() -> None:
    lists = objects()
    for text in (DEEP, '{"g1": 1e999}', '{"g1": NaN}', '{"g1": "4"}', "[1]", "null"):
        lists["workloads"][0]["metadata"]["annotations"] = {"gpusched-dsl/nodes": text}
        assert observe("kueue", lists).jobs["ml/w0/0-w12345"].held


def test_an_answer_that_is_too_deep_is_no_answer() -> None:
    api = KubernetesApi(lambda *request: Answer(200, ('{"items": [' + "[" * 200_000 + "]" * 200_000 + "]}").encode()))
    with pytest.raises(ClusterUnavailable):
        PodScheduler(api).observe()


def test_a_pod_that_cannot_be_read_keeps_the_gpus_that_it_may_have() -> None:
    lists = objects()
    lists["pods"][2]["spec"]["containers"][0]["resources"]["limits"][GPU] = "many"
    lists["pods"][2]["spec"]["containers"][0]["resources"]["requests"] = {}
    seen = observe("kubernetes", lists)
    assert seen.jobs["ml/foreign/foreign-"].allocation == {"g2": 8}
    assert seen.jobs["ml/foreign/foreign-"].unread
    assert seen.unread == ("job `ml/foreign/foreign-` is left out: `many` is not a quantity",)
    lists["pods"][2]["spec"]["containers"][0]["resources"] = {"limits": {GPU: "3", "cpu": "many"}}
    assert observe("kubernetes", lists).jobs["ml/foreign/foreign-"].allocation == {"g2": 3}
    lists["pods"][2]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "many"}}
    assert "ml/foreign/foreign-" not in observe("kubernetes", lists).jobs
