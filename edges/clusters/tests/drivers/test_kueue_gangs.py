"""Workloads of Kueue whose pods go to several nodes: the driver binds them together, as the plan says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from drive_files import run_driver, write_files
from kueue_in_memory import KueueInMemory
from test_kubernetes_objects import node

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gsdsl_clusters.drivers.kubernetes.kueue import KueueCluster
from gsdsl_clusters.drivers.kubernetes.workloads import NODES
from gsdsl_clusters.drivers.protocol import Action, ActionKind, ActionRefused, ClusterUnavailable, JobState

MODEL = """import "gangs.gsm";
scenario Cluster for Gangs "Two racks" {
  Racks = { a, b };
  table Nodes: rack gpus = g1 a 8  g2 a 8  g3 b 8;
  Jobs = { };
}
"""
REPOSITORY = Path(__file__).parents[4]
FILE = """driver = "kueue"
model = "cluster.gsm"
online = "EveryEvent"
method = "FIFO"
interval = 5

[jobs]
workers = "pods"
each = "gpus_per_pod"
length = { value = 0.02 }
deadline = { value = 10 }
weight = { value = 1 }

[guard]
changes_per_hour = 1000
"""


def write_model(folder: Path) -> None:
    """The shipped model of gangs, with workers of several GPUs."""
    text = (REPOSITORY / "models" / "gangs" / "model.gsm").read_text()
    text = text.replace("uses 1 of", "uses each[j] of").replace(
        "sum[j in Jobs] worker", "sum[j in Jobs] each[j] * worker"
    )
    text = text.replace("  param submitted", "  param each[Jobs] integer >= 1;\n  param submitted")
    (folder / "model.gsm").write_text(text)
    (folder / "gangs.gsm").write_text((REPOSITORY / "models" / "gangs" / "online.gsm").read_text())


def cluster_on(server: KueueInMemory) -> Any:
    cluster: Any = KueueCluster(server.api, now=server.now)
    cluster.sleep = server.sleep
    return cluster


def start(job: str, allocation: dict[str, int]) -> Action:
    return Action(ActionKind.START, job, allocation, "gsdsl step 1")


def places(server: KueueInMemory, name: str) -> dict[str, int]:
    """The pods of a Workload by node."""
    return dict(Counter(where for pod, where in server.bound if pod.startswith(f"{name}-")))


@pytest.mark.parametrize("late", [0, 1])
def test_a_pod_set_goes_to_the_nodes_of_the_plan(tmp_path: Path, late: int) -> None:
    """The first of two jobs needs three nodes; the second waits, also for the GPUs that pods are still made for."""
    server = KueueInMemory([node("g1"), node("g2"), node("g3")], late)
    first = server.submit("first", ("main", 5, 4), length=60)
    second = server.submit("second", ("main", 4, 2), length=60)
    cluster = cluster_on(server)
    told: list[Diagnostic] = []
    path = write_files(tmp_path, MODEL, FILE)
    write_model(tmp_path)
    run_driver(path, cluster, 10, told=told)
    seen = cluster.observe().jobs
    assert (seen[first].state, seen[second].state) == (JobState.RUNNING, JobState.PENDING)
    assert sum(seen[first].allocation.values()) == 20
    by_node = {n: 4 * count for n, count in places(server, "first").items()}
    assert (by_node, len(by_node)) == (seen[first].allocation, 3)
    assert places(server, "second") == {}
    run_driver(path, cluster, 30, told=told)
    seen = cluster.observe().jobs
    assert {seen[first].state, seen[second].state} == {JobState.DONE}
    assert sum(places(server, "second").values()) == 4
    assert server.evicted == []
    assert not [one for one in told if one.code in ("GSM5407", "GSM5408")], told


def test_one_start_from_the_answer_to_the_bindings() -> None:
    server = KueueInMemory([node("g1"), node("g2")], late=1)
    job, cluster = server.submit("w", ("leader", 1, 2), ("workers", 3, 4)), cluster_on(server)
    wanted = {"g1": 8, "g2": 6}
    server.step()
    assert (cluster.observe().jobs[job].asks, cluster.observe().jobs[job].nodes) == (True, 0)
    cluster.act(start(job, wanted))
    (check,) = server.workloads["w"]["status"]["admissionChecks"]
    assert [one["annotations"][NODES] for one in check["podSetUpdates"]] == ['{"g2": 2}', '{"g1": 8, "g2": 4}']
    assert not any("nodeSelector" in one for one in check["podSetUpdates"])
    for _ in range(2):  # answered; then admitted, but a pod is missing
        seen = cluster.observe().jobs[job]
        assert (seen.state, seen.held, seen.pinned, seen.partly_started) == (
            JobState.PENDING, False, ("g2", "g1"), False)  # fmt: skip
        server.step()
    assert len(server.pods) == 4
    with pytest.raises(ActionRefused, match=r"leader 1 x 2, workers 3 x 4 GPUs do not fit"):
        cluster.act(start(job, {"g1": 7, "g2": 7}))
    assert server.bound == []
    seen = cluster.observe().jobs[job]
    assert (seen.state, seen.partly_started, seen.allocation) == (JobState.PENDING, True, {})
    cluster.act(start(job, wanted))
    seen = cluster.observe().jobs[job]
    assert (seen.state, seen.allocation, seen.held) == (JobState.RUNNING, wanted, False)
    assert {one["reason"] for one in server.events} == {"Scheduled"}
    with pytest.raises(ActionRefused, match="do not fit"):
        cluster.act(start(job, wanted))
    with pytest.raises(ActionRefused, match="admitted already"):
        cluster.act(Action(ActionKind.HOLD, job))


def started(server: KueueInMemory, *sets: tuple[str, int, int]) -> tuple[Any, str]:
    """A cluster with an admitted Workload whose pods wait."""
    job, cluster = server.submit("w", *sets), cluster_on(server)
    server.step()
    cluster.act(start(job, {"g1": 8, "g2": 8}))
    server.step()
    return cluster, job


def test_a_start_that_is_interrupted_is_continued_or_stopped() -> None:
    server = KueueInMemory([node("g1"), node("g2"), node("g3")])
    cluster, job = started(server, ("main", 4, 4))
    server.refuse_bindings_after = 1
    with pytest.raises(ClusterUnavailable):
        cluster.act(start(job, {"g1": 8, "g2": 8}))
    seen = cluster.observe().jobs[job]
    assert (seen.state, seen.partly_started, seen.allocation) == (JobState.PENDING, True, {"g1": 4})
    server.refuse_bindings_after = None
    with pytest.raises(ActionRefused, match="runs on another node"):
        cluster.act(start(job, {"g2": 8, "g3": 8}))
    cluster.act(start(job, {"g1": 8, "g2": 8}))
    assert cluster.observe().jobs[job].allocation == {"g1": 8, "g2": 8}
    cluster, job = started(other := KueueInMemory([node("g1"), node("g2")]), ("main", 4, 4))
    other.refuse_bindings_after = 1
    with pytest.raises(ClusterUnavailable):
        cluster.act(start(job, {"g1": 8, "g2": 8}))
    cluster.act(Action(ActionKind.HOLD, job, reason="gsdsl step 2: to wait"))
    other.step()
    assert (other.evicted, other.pods) == (["w"], {})
    assert cluster.observe().jobs[job].held


def test_a_pod_that_is_made_again_goes_back_to_its_node() -> None:
    server = KueueInMemory([node("g1"), node("g2")])
    cluster, job = started(server, ("main", 4, 4))
    cluster.act(start(job, {"g1": 8, "g2": 8}))
    name, where = server.bound[-1]
    del server.pods[name]
    seen = cluster.observe().jobs[job]
    assert (seen.state, seen.allocation) == (JobState.RUNNING, {"g1": 8, "g2": 8})
    server.step()
    assert cluster.observe().jobs[job].partly_started
    cluster.act(start(job, {"g1": 8, "g2": 8}))
    assert server.bound[-1] == (name, where)
    server.pods["w-main-0"]["status"]["phase"] = "Succeeded"
    assert cluster.observe().jobs[job].allocation == {"g1": 8, "g2": 8}, "its GPUs stay with the gang"


def test_nothing_is_bound_if_one_pod_does_not_fit() -> None:
    server = KueueInMemory([node("g1"), node("g2")])
    cluster, job = started(server, ("main", 4, 4))
    server.nodes["g2"]["spec"]["taints"] = [{"key": "broken", "effect": "NoSchedule"}]
    with pytest.raises(ActionRefused, match="has the taint broken"):
        cluster.act(start(job, {"g1": 8, "g2": 8}))
    assert server.bound == []
    gated = next(iter(server.pods.values()))
    gated["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    with pytest.raises(ActionRefused, match="not all of its pods have been made"):
        cluster.act(start(job, {"g1": 8, "g2": 8}))


def test_pods_of_the_default_scheduler_stay_on_one_node() -> None:
    server = KueueInMemory([node("g1"), node("g2")])
    job, cluster = server.submit("w", ("main", 4, 4), scheduler="default-scheduler"), cluster_on(server)
    server.step()
    with pytest.raises(ActionRefused, match="each goes to one node, unless its pods name the scheduler `gpusched-dsl`"):
        cluster.act(start(job, {"g1": 8, "g2": 8}))
    mixed = server.submit("mixed", ("a", 1, 4), ("b", 1, 4))
    del server.workloads["mixed"]["spec"]["podSets"][0]["template"]["spec"]["schedulerName"]
    seen = cluster.observe().jobs[mixed]
    assert (seen.unread, "only some of its pod sets" in seen.unsupported) == (True, True)
