"""The driver on an API server in memory: pods run where their demands allow, also when a cause has gone."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from drive_files import CLUSTER, MODEL, run_driver, write_files
from simulated_cluster import EPOCH
from test_kubernetes_objects import node, pod

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gsdsl_clusters.drivers.kubernetes.api import Answer, KubernetesApi
from gsdsl_clusters.drivers.kubernetes.scheduler import PodScheduler

Json = dict[str, Any]
FILE = CLUSTER.replace(
    'exec_time = { field = "comment", match = "length=([0-9.]+)", unit = "s" }', "exec_time = { value = 1 }"
)


class ServerInMemory:
    """Nodes and pods. A binding puts a pod on a node, where it runs at once; `bound` has them in their order."""

    def __init__(self, nodes: list[Json], pods: list[Json]) -> None:
        self.nodes = {one["metadata"]["name"]: one for one in nodes}
        self.pods = {one["metadata"]["name"]: one for one in pods}
        self.bound: list[tuple[str, str]] = []
        self.time = EPOCH
        self.at: list[tuple[float, Any]] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        for due in [one for one in self.at if EPOCH + one[0] <= self.time]:
            self.at.remove(due)
            due[1]()

    def send(self, method: str, path: str, headers: Any, body: Any) -> Answer:
        where, _, query = path.partition("?")
        kind, name = where.split("/")[-2:]
        if method == "POST":
            if name == "binding":
                self.pods[kind]["spec"]["nodeName"] = body["target"]["name"]
                self.pods[kind]["status"]["phase"] = "Running"
                self.bound.append((kind, body["target"]["name"]))
            return Answer(201, b"{}")
        found: Any = {"nodes": self.nodes, "pods": self.pods, "jobs": {}}.get(name)
        if found is not None:
            chosen = query.partition("spec.nodeName%3D")[2].partition("&")[0]
            items = [o for o in found.values() if not chosen or o["spec"].get("nodeName") == chosen]
            return Answer(200, json.dumps({"items": items}).encode())
        one = {"nodes": self.nodes, "pods": self.pods}.get(kind, {}).get(name)
        return Answer(404, b"{}") if one is None else Answer(200, json.dumps(one).encode())

    def drive(self, tmp_path: Path, rounds: int) -> list[Diagnostic]:
        cluster: Any = PodScheduler(KubernetesApi(self.send), now=self.now)
        cluster.sleep = self.sleep
        told: list[Diagnostic] = []
        path = write_files(tmp_path, MODEL.replace("gpus[n in Nodes] = 4", "gpus[n in Nodes] = 8"), FILE)
        run_driver(path, cluster, rounds, told=told)
        return told


def wanted(name: str, gpus: int = 8, **more: Any) -> Json:
    return pod(name, gpus, schedulerName="gpusched-dsl", **more)


def big(cpu: str, where: str) -> Json:
    """A pod without GPUs of somebody else."""
    found = pod(f"other-{where}", 0, where, "Running")
    found["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return found


def blockers() -> dict[str, tuple[Json, list[Json], list[Json]]]:
    """Pods that cannot run on g1, with the nodes and the other pods."""
    plain = [node("g1"), node("g2")]
    tainted = [node("g1", taints=[{"key": "team", "effect": "NoSchedule"}]), node("g2")]
    labelled = [node("g1"), node("g2", labels={"zone": "b"})]
    return {
        "selector": (wanted("p", nodeSelector={"zone": "b"}), labelled, []),
        "taint": (wanted("p"), tainted, []),
        "cpu": (wanted("p"), plain, [big("3.9", "g1")]),
    }


@pytest.mark.parametrize("why", ["selector", "taint", "cpu"])
def test_a_pod_runs_on_the_node_that_suits_it(tmp_path: Path, why: str) -> None:
    one, nodes, others = blockers()[why]
    server = ServerInMemory(nodes, [one, *others])
    server.drive(tmp_path, 8)
    assert server.bound == [("p", "g2")]


@pytest.mark.parametrize("why", ["selector", "taint", "cpu"])
def test_a_pod_runs_when_the_cause_has_gone(tmp_path: Path, why: str) -> None:
    """No node suits the pod for a minute, longer than three refusals take; then g1 does."""
    one, nodes, others = blockers()[why]
    nodes = [nodes[0], node("g2", unschedulable=True)]
    server = ServerInMemory(nodes, [one, *others])
    free = copy.deepcopy(node("g1", labels={"zone": "b"}))

    def go() -> None:
        server.nodes["g1"] = free
        server.pods.pop("other-g1", None)

    server.at.append((60, go))
    server.drive(tmp_path, 20)
    assert server.bound == [("p", "g1")]


def test_gpus_of_other_pods_are_not_planned_for(tmp_path: Path) -> None:
    """Somebody else has g1, and gives it back after a minute; two pods that need a complete node run one by one."""
    other = pod("other", 8, "g1", "Running")
    server = ServerInMemory([node("g1"), node("g2")], [wanted("a"), wanted("b"), other])

    def end() -> None:
        assert server.bound == [("a", "g2")]
        server.pods["other"]["status"]["phase"] = "Succeeded"

    server.at.append((60, end))
    told = server.drive(tmp_path, 20)
    assert server.bound == [("a", "g2"), ("b", "g1")]
    assert not [diagnostic for diagnostic in told if diagnostic.code == "GSM5407"]


def test_objects_that_cannot_be_read_do_not_end_the_run(tmp_path: Path) -> None:
    wrong = wanted("wrong", activeDeadlineSeconds=float("inf"), affinity={"nodeAffinity": "x"})
    server = ServerInMemory([node("g1"), node("g2"), {"metadata": {"name": 3}}], [wrong, wanted("p")])
    told = server.drive(tmp_path, 6)
    assert [name for name, _ in server.bound] == ["p"]
    left_out = [one.message for one in told if "ml/wrong/" in one.message]
    assert len(left_out) == 1, told


def test_an_answer_of_another_kind_is_no_empty_cluster(tmp_path: Path) -> None:
    """A proxy that answers `{}` for a while changes nothing: no node fails, and no job ends or starts again."""
    server = ServerInMemory([node("g1")], [wanted("a", 4), wanted("b", 8)])
    send, broken = server.send, []

    def through_a_proxy(method: str, path: str, headers: Any, body: Any) -> Answer:
        if method == "GET" and 20 <= server.time - EPOCH < 60:
            broken.append(path)
            return Answer(200, b"{}")
        return send(method, path, headers, body)

    server.send = through_a_proxy  # type: ignore[method-assign]
    told = server.drive(tmp_path, 20)
    assert broken
    assert [d.code for d in told if "cannot be observed" in d.message] == ["GSM5405"]
    assert len(server.bound) == 1, "the other job does not fit beside it"
    events = [json.loads(line) for line in (tmp_path / "shadow" / "cluster.jsonl").read_text().splitlines()]
    assert not [one for one in events if one.get("gone") or one.get("types") == {}]
