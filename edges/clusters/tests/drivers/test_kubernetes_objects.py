"""Pods, Jobs and Workloads of Kubernetes as jobs, and the answers of the API server."""

from __future__ import annotations

import itertools
import json
import math
import random
from decimal import Decimal
from typing import Any

import pytest

from gsdsl_clusters.drivers.kubernetes.api import Answer, Gone, KubernetesApi, ObjectChanged
from gsdsl_clusters.drivers.kubernetes.dates import seconds
from gsdsl_clusters.drivers.kubernetes.demands import misfit
from gsdsl_clusters.drivers.kubernetes.kueue import KueueCluster
from gsdsl_clusters.drivers.kubernetes.objects import Gpus, observed_node, requests
from gsdsl_clusters.drivers.kubernetes.parts import nodes_of_parts
from gsdsl_clusters.drivers.kubernetes.scheduler import PodScheduler
from gsdsl_clusters.drivers.kubernetes.units import observed_unit, units_of
from gsdsl_clusters.drivers.kubernetes.workloads import WorkloadReader
from gsdsl_clusters.drivers.protocol import ActionRefused, ClusterUnavailable, JobState
from gsdsl_clusters.kubernetes_objects.values import UnknownValue, quantity

GPU, WHEN = "nvidia.com/gpu", "2026-11-23T10:00:00Z"
AT = 1795428000.0
Json = dict[str, Any]


def pod(name: str = "p", gpus: int = 2, node: str = "", phase: str = "Pending", job: str = "", **more: Any) -> Json:
    owner = [{"kind": "Job", "uid": job, "controller": True, "name": "train"}] if job else []
    container = {"name": "main", "resources": {"limits": {GPU: str(gpus)}, "requests": {"cpu": "500m"}}}
    return {
        "metadata": {"name": name, "namespace": "ml", "uid": f"{name}-0123456789", "creationTimestamp": WHEN,
                     "ownerReferences": owner, "annotations": {"example.com/due": "4h"}},
        "spec": {"containers": [container], **({"nodeName": node} if node else {}), **more},
        "status": {"phase": phase, "conditions": [
            {"type": "PodScheduled", "status": "True" if node else "False", "lastTransitionTime": WHEN}]},
    }  # fmt: skip


def a_job(parallel: int = 2, complete: int | None = 2, conditions: list[str] | None = None, **state: Any) -> Json:
    known = [{"type": kind, "status": "True", "lastTransitionTime": WHEN} for kind in conditions or []]
    return {
        "metadata": {"name": "train", "namespace": "ml", "uid": "u-123456789", "creationTimestamp": WHEN},
        "spec": {"parallelism": parallel, "completions": complete, "activeDeadlineSeconds": 600, "template": pod()},
        "status": {"conditions": known, **state},
    }


def node(name: str = "g1", gpus: int = 8, labels: Json | None = None, **more: Any) -> Json:
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "nvidia.com/gpu.product": "H200"}
                     | (labels or {})},
        "spec": more,
        "status": {"allocatable": {GPU: str(gpus), "cpu": "4", "pods": "110"},
                   "conditions": [{"type": "Ready", "status": "True"}]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("pods", "job", "state", "allocation", "held", "partly"),
    [
        ([pod()], None, JobState.PENDING, {}, True, False),
        ([pod(node="g1")], None, JobState.RUNNING, {"g1": 2}, False, False),
        ([pod(node="g1", phase="Succeeded")], None, JobState.DONE, {}, False, False),
        ([pod(node="g1", phase="Failed")], None, JobState.FAILED, {}, False, False),
        ([pod(schedulingGates=[{"name": "x"}])], None, JobState.BLOCKED, {}, False, False),
        ([pod("a", job="u-123456789")], a_job(), JobState.BLOCKED, {}, False, False),
        ([pod("a", job="u-123456789"), pod("b", job="u-123456789")], a_job(), JobState.PENDING, {}, True, False),
        (
            [pod("a", job="u-123456789", node="g1"), pod("b", job="u-123456789")],
            a_job(), JobState.PENDING, {"g1": 2}, False, True,
        ),
        (
            [pod("a", job="u-123456789", node="g1"), pod("b", job="u-123456789", node="g2", phase="Succeeded")],
            a_job(succeeded=1), JobState.RUNNING, {"g1": 2, "g2": 2}, False, False,
        ),
        ([], a_job(conditions=["Complete"], completionTime=WHEN), JobState.DONE, {}, False, False),
        ([], a_job(conditions=["Failed"]), JobState.FAILED, {}, False, False),
    ],
)  # fmt: skip
def test_pods_and_jobs(
    pods: list[Json], job: Json | None, state: JobState, allocation: Json, held: bool, partly: bool
) -> None:
    ((unit,), _) = units_of(pods, [job] if job else [])
    seen = observed_unit(unit, Gpus(), {"due": "example.com/due"})
    assert (seen.state, seen.allocation, seen.held, seen.partly_started) == (state, allocation, held, partly)
    assert seen.gpus == (4 if job else 2)
    assert (seen.submitted, seen.fields["due"], seen.unsupported) == (AT, "4h", "")
    assert seen.name == ("ml/train/u-123456" if job else "ml/p/p-012345")
    assert ("time_limit" in seen.fields) is (job is not None)
    assert (seen.ended is not None) is (state.has_ended and job is not None)


def test_jobs_that_cannot_be_managed() -> None:
    def why(**more: Any) -> str:
        return observed_unit(units_of([pod(**more)], [])[0][0], Gpus(), {}).unsupported

    hard: Json = {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}
    assert why(affinity={"podAntiAffinity": hard}) == "it has required affinity to other pods"
    assert (
        why(topologySpreadConstraints=[{"whenUnsatisfiable": "DoNotSchedule"}]) == "it has a topology spread constraint"
    )
    assert why(resourceClaims=[{"name": "x"}]).startswith("it claims devices")
    assert why(topologySpreadConstraints=[{"whenUnsatisfiable": "ScheduleAnyway"}]) == ""
    assert "one after the other" in observed_unit(units_of([], [a_job(1, 5)])[0][0], Gpus(), {}).unsupported


def a_workload(*conditions: str, check: Json | None = None, sets: tuple[tuple[str, int, int], ...] = (("main", 1, 4),),
               **more: Any) -> Json:  # fmt: skip
    reasons = {"Finished": "Succeeded"}
    return {
        "metadata": {"name": "w", "namespace": "ml", "uid": "w-123456789", "creationTimestamp": WHEN,
                     "annotations": more.pop("annotations", {})},
        "spec": {"queueName": "q", "priority": 3, "maximumExecutionTimeSeconds": 3600,
                 "podSets": [{"name": n, "count": c, "template": pod(gpus=g)} for n, c, g in sets], **more},
        "status": {
            "conditions": [{"type": one.partition("=")[0], "status": "True", "lastTransitionTime": WHEN,
                            "reason": one.partition("=")[2] or reasons.get(one, "Any")} for one in conditions],
            "admissionChecks": [] if check is None else [{"name": "gpusched-dsl", "message": "", **check}],
        },
    }  # fmt: skip


def ready(*nodes: tuple[str, str]) -> Json:
    updates = [{"name": name, "nodeSelector": {"kubernetes.io/hostname": host}} for name, host in nodes]
    return {"state": "Ready", "podSetUpdates": updates}


@pytest.mark.parametrize(
    ("workload", "retries", "state", "held", "pinned", "allocation"),
    [
        (a_workload(), False, "pending", True, (), {}),
        (a_workload(annotations={"gpusched-dsl/nodes": '{"g1": 4}'}), False, "pending", False, ("g1",), {}),
        (a_workload(annotations={"gpusched-dsl/nodes": "junk"}), False, "pending", True, (), {}),
        (a_workload("QuotaReserved", check={"state": "Pending"}), False, "pending", True, (), {}),
        (a_workload("QuotaReserved", check={"state": "Pending"}), True, "pending", False, (), {}),
        (a_workload("QuotaReserved", check=ready(("main", "h1"))), False, "pending", False, ("g1",), {}),
        (a_workload("QuotaReserved", "Admitted", check=ready(("main", "h1"))), False, "running", False, (), {"g1": 4}),
        (a_workload("QuotaReserved", "Admitted", check={"state": "Retry"}), False, "pending", True, (), {}),
        (a_workload("Finished", check=ready(("main", "h1"))), False, "done", False, (), {}),
        (a_workload("Finished=Failed"), False, "failed", False, (), {}),
        (a_workload(active=False), False, "blocked", False, (), {}),
    ],
)
def test_workloads(
    workload: Json, retries: bool, state: str, held: bool, pinned: tuple[str, ...], allocation: Json
) -> None:
    reader = WorkloadReader("gpusched-dsl", Gpus(), "kubernetes.io/hostname", {"h1": "g1", "h2": "g2"}, retries, {})
    seen = reader.observe_workload(workload, ())
    assert (seen.state, seen.held, seen.pinned, seen.allocation) == (state, held, pinned, allocation)
    assert (seen.gpus, seen.nodes, seen.fields["time_limit"], seen.fields["queue"]) == (4, 1, 3600, "q")
    assert seen.asks is (workload["status"]["admissionChecks"][:1] == [
        {"name": "gpusched-dsl", "message": "", "state": "Pending"}])  # fmt: skip
    assert seen.ran_on == ({"g1": 4} if state == "done" else {})


def test_a_workload_with_several_pod_sets() -> None:
    reader = WorkloadReader("gpusched-dsl", Gpus(), "kubernetes.io/hostname", {"h1": "g1", "h2": "g2"}, False, {})
    sets = (("launcher", 1, 0), ("small", 2, 1), ("large", 1, 4))
    seen = reader.observe_workload(
        a_workload("QuotaReserved", "Admitted", check=ready(("small", "h1"), ("large", "h2")), sets=sets), ()
    )
    assert (seen.gpus, seen.nodes, seen.allocation) == (6, 0, {"g1": 2, "g2": 4})


def test_parts_against_brute_force() -> None:
    rng = random.Random(3)
    found = 0
    for _ in range(600):
        sizes = [rng.choice((1, 1, 2, 3, 4)) for _ in range(rng.randint(1, 5))]
        allocation = {f"g{n}": rng.randint(1, 6) for n in range(rng.randint(1, 3))}

        def fits(chosen: tuple[str, ...], sizes: list[int] = sizes, wanted: Json = allocation) -> bool:
            return all(sum(s for s, c in zip(sizes, chosen, strict=True) if c == n) == g for n, g in wanted.items())

        possible = any(fits(chosen) for chosen in itertools.product(allocation, repeat=len(sizes)))
        answer = nodes_of_parts(sizes, allocation)
        assert (answer is not None) is possible, (sizes, allocation)
        assert answer is None or fits(answer)
        found += possible
    assert 30 < found < 570
    assert nodes_of_parts([2] * 500, {"g1": 400, "g2": 600}) is not None
    assert nodes_of_parts([2] * 500, {"g1": 401, "g2": 599}) is None
    rooms = {f"g{number}": 8 for number in range(2000)}
    assert nodes_of_parts([2, *[8] * 1999], {**rooms, "g7": 2}) is not None, "a leader and many workers"
    assert nodes_of_parts([6] * 1000 + [4] * 500, dict.fromkeys(list(rooms)[:1000], 8)) is None


def test_a_pod_fits_a_node_or_the_reason() -> None:
    assert misfit(pod(), node(), {}) is None
    assert misfit(pod(gpus=8), node(), {GPU: Decimal(1)}) == (
        f"node `g1` has 7 of {GPU} free, and 8 are needed"
    )  # fmt: skip
    assert "cpu free" in (misfit(pod(), node(), {"cpu": Decimal("3.6")}) or "")
    assert "of pods free" in (misfit(pod(), node(), {"pods": Decimal(110)}) or "")
    assert "label zone=a" in (misfit(pod(nodeSelector={"zone": "a"}), node(), {}) or "")
    assert misfit(pod(nodeSelector={"zone": "a"}), node(labels={"zone": "a"}), {}) is None
    taints = [{"key": "dedicated", "value": "ml", "effect": "NoSchedule"}]
    assert "taint dedicated" in (misfit(pod(), node(taints=taints), {}) or "")
    for tolerated, one in (
        (True, {"key": "dedicated", "operator": "Equal", "value": "ml"}),
        (True, {"operator": "Exists"}),
        (True, {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}),
        (False, {"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}),
        (False, {"key": "dedicated", "value": "other"}),
    ):
        assert (misfit(pod(tolerations=[one]), node(taints=taints), {}) is None) is tolerated

    def affinity(*terms: Json) -> Json:
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}

    for holds, expression in (
        (True, {"key": "zone", "operator": "In", "values": ["a", "b"]}),
        (False, {"key": "zone", "operator": "NotIn", "values": ["a"]}),
        (True, {"key": "other", "operator": "DoesNotExist"}),
        (False, {"key": "other", "operator": "Exists"}),
        (True, {"key": "size", "operator": "Gt", "values": ["3"]}),
        (False, {"key": "zone", "operator": "Lt", "values": ["3"]}),
    ):
        found = misfit(pod(affinity=affinity({"matchExpressions": [expression]})),
                       node(labels={"zone": "a", "size": "4"}), {})  # fmt: skip
        assert (found is None) is holds, expression
    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["g2"]}]}
    assert misfit(pod(affinity=affinity(named)), node("g2"), {}) is None
    assert misfit(pod(affinity=affinity(named, {})), node("g1"), {}) is not None


def test_nodes_requests_and_quantities() -> None:
    assert observed_node(node(), Gpus()).up
    assert observed_node(node(unschedulable=True), Gpus()).reason == "it is cordoned"
    lost = node()
    lost["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "message": "no heartbeat"}]
    assert (observed_node(lost, Gpus()).up, observed_node(lost, Gpus()).reason) == (False, "no heartbeat")
    assert (observed_node(node(), Gpus()).gpus, observed_node(node(), Gpus()).gpu_type) == (8, "H200")
    both = pod()
    both["spec"]["initContainers"] = [
        {"resources": {"requests": {"cpu": "2", "memory": "1Gi"}}},
        {"restartPolicy": "Always", "resources": {"requests": {"cpu": "250m"}}},
    ]
    both["spec"]["overhead"] = {"memory": "64Mi"}
    assert requests(both) == {GPU: 2, "cpu": Decimal(2), "memory": Decimal(2**30 + 2**26)}
    for text, number in (
        ("500m", "0.5"),
        ("16Gi", str(2**34)),
        ("1e3", "1000"),
        ("4", "4"),
        (4, "4"),
        ("1.5k", "1500"),
    ):
        assert quantity(text) == Decimal(number)
    for wrong in ("", "4 GPUs", "Gi", None, "1.2.3"):
        with pytest.raises(UnknownValue, match="is not a quantity"):
            quantity(wrong)
    assert seconds("2026-11-23T11:00:00+01:00") == AT == seconds(WHEN)
    assert seconds(None) is None
    with pytest.raises(UnknownValue, match="is not a date"):
        seconds("today")


def answering(*answers: tuple[int, Any]) -> KubernetesApi:
    left = list(answers)
    seen: list[str] = []

    def send(method: str, path: str, headers: Any, body: Any) -> Answer:
        seen.append(path)
        status, document = left.pop(0)
        return Answer(status, document if isinstance(document, bytes) else json.dumps(document).encode())

    api = KubernetesApi(send)
    object.__setattr__(api, "seen", seen)
    return api


def test_answers_of_the_api_server() -> None:
    pages = answering((200, {"items": [{"a": 1}], "metadata": {"continue": "x y"}}), (200, {"items": None}))
    assert list(pages.list("/api/v1/pods", labelSelector="a=b")) == [{"a": 1}]
    assert pages.seen == [  # type: ignore[attr-defined]
        "/api/v1/pods?labelSelector=a%3Db&limit=500", "/api/v1/pods?labelSelector=a%3Db&limit=500&continue=x+y",
    ]  # fmt: skip
    for status, kind in (
        (404, Gone), (409, ObjectChanged), (403, ActionRefused), (422, ActionRefused), (429, ClusterUnavailable),
        (503, ClusterUnavailable),
    ):  # fmt: skip
        with pytest.raises(kind, match="why not"):
            answering((status, {"message": "why not"})).get("/x")
    with pytest.raises(ClusterUnavailable, match="answered with status 500"):
        answering((500, b"<html>")).get("/x")
    with pytest.raises(ClusterUnavailable, match="cannot be listed: forbidden"):
        list(answering((403, {"message": "forbidden"})).list("/x"))
    with pytest.raises(ClusterUnavailable, match="not a list of objects"):
        list(answering((200, {"items": 3})).list("/x"))
    for other in ({}, {"kind": "Status", "status": "Failure"}, b""):
        with pytest.raises(ClusterUnavailable, match="not a list of objects"):
            list(answering((200, other)).list("/x"))
    with pytest.raises(ClusterUnavailable, match="no JSON object"):
        answering((200, [1])).get("/x")
    with pytest.raises(ClusterUnavailable, match="no JSON object: an object has the key `a` twice"):
        answering((200, b'{"items": [{"a": 1, "a": 2}]}')).get("/x")


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (KueueCluster, {"chekc": "x"}, "chekc: is unknown"),
        (KueueCluster, {"boost": "x"}, "boost: must be an integer"),
        (KueueCluster, {"retry_seconds": -1}, "retry_seconds: must be"),
        (KueueCluster, {"retry_seconds": math.inf}, "retry_seconds: must be"),
        (KueueCluster, {"retry_seconds": math.nan}, "retry_seconds: must be"),
        (KueueCluster, {"timeout": math.inf}, "timeout: must be at most"),
        (KueueCluster, {"fields": {"queue": "example.com/q"}}, "fields: `queue` is a field of the driver"),
        (PodScheduler, {"fields": {"gpus": "example.com/g"}}, "fields: `gpus` is a field of the driver"),
        (PodScheduler, {"fields": {"due": ""}}, "fields: must name labels"),
        (PodScheduler, {"resource": ""}, "resource: must not be empty"),
        (KueueCluster, {"left_out": "drop"}, "left_out: must be wait, admit, reject"),
        (PodScheduler, {"fields": {"due": 3}}, "fields: must name labels"),
        (PodScheduler, {"check": "x"}, "check: is unknown"),
        (PodScheduler, {"timeout": 0}, "timeout: must be positive"),
    ],
)
def test_settings(kind: Any, settings: Json, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind.from_settings(settings)
