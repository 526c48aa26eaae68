"""Events say why a job waits: in words of its GPUs and nodes, when the reason changes, on pods and on Workloads."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from kueue_in_memory import KueueInMemory
from test_kubernetes_objects import node, pod
from test_kubernetes_placing import ServerInMemory, wanted

from gsdsl_clusters.drivers.kubernetes.api import Answer
from gsdsl_clusters.drivers.kubernetes.kueue import KueueCluster
from gsdsl_clusters.drivers.protocol import JobState, Observation, ObservedJob, ObservedNode
from gsdsl_clusters.drivers.waiting_jobs import PAUSE, WaitingExplainer, WaitingWatch, waiting_jobs

NODES = {"g1": ObservedNode("g1", 8, gpu_type="H200"), "g2": ObservedNode("g2", 8, gpu_type="A100")}


def reason(*jobs: ObservedJob) -> tuple[str, str]:
    """The kind and the text of the last job."""
    found = waiting_jobs(Observation({job.name: job for job in jobs}, NODES))
    return found[-1].kind, found[-1].text


def running(name: str, **allocation: int) -> ObservedJob:
    return ObservedJob(name, JobState.RUNNING, sum(allocation.values()), allocation=allocation)


def waits(gpus: int, **more: Any) -> ObservedJob:
    return ObservedJob("w", more.pop("state", JobState.PENDING), gpus, **more)


@pytest.mark.parametrize(
    ("jobs", "kind", "text"),
    [
        ([running("a", g1=5, g2=6), waits(4)], "no room",
         "needs 4 GPUs, 3 are free on g1 (5 on all nodes together); g1 runs a"),
        ([running("a", g1=8), waits(4, misfits={"g2": "node `g2` has the taint x"})], "no room",
         "needs 4 GPUs of type H200, none is free; g1 runs a"),
        ([waits(4)], "room", "needs 4 GPUs, and 2 nodes (g1, g2) have room for it; the plan keeps it waiting"),
        ([running("a", g1=5, g2=8), waits(16, fields={"pods": 4})], "no room",
         "needs 4 workers of 4 GPUs each, there is room for none"),
        ([running("a", g1=4, g2=8), waits(16, fields={"pods": 4})], "no room",
         "needs 4 workers of 4 GPUs each, there is room for 1: 1 on g1"),
        ([running("a", g1=5, g2=8), waits(7, nodes=2)], "no room",
         "needs 7 workers of 1 GPU each, there is room for 3: 3 on g1"),
        ([waits(7, nodes=2)], "room",
         "needs 7 workers of 1 GPU each, and there is room for it on 2 nodes (g1, g2); the plan keeps it waiting"),
        ([running("a", g1=9, g2=9), waits(0)], "no room", "needs no resource; g1 runs a"),  # more GPUs than there are
        ([waits(4, misfits={"g1": "no label", "g2": "no label"})], "never",
         "can never run: there is no place for it; no label"),
        ([waits(4, state=JobState.BLOCKED, reason="it is suspended")], "blocked", "it is suspended"),
        ([waits(4, unsupported="it claims devices")], "left out", "it claims devices"),
    ],
)  # fmt: skip
def test_reasons(jobs: list[ObservedJob], kind: str, text: str) -> None:
    assert reason(*jobs) == (kind, text)


def has_room(free: Sequence[int], gpus: int, nodes: int, pods: int) -> bool:
    """Whether the free GPUs of nodes that suit a job are enough, by trying all ways to divide it."""
    if pods:
        size, rest = divmod(gpus, pods)
        return sum(free) >= gpus if rest else sum(have // size for have in free) >= pods
    if not nodes:
        return max(free, default=0) >= gpus or (gpus > 8 and sum(free) >= gpus)
    size, rest = divmod(gpus, nodes)
    if not rest:
        return sum(have >= size for have in free) >= nodes
    return any(sum(some) >= gpus for some in combinations([have for have in free if have], nodes))


@pytest.mark.parametrize("seed", range(20))
def test_kinds_of_reasons_equal_a_count_over_nodes(seed: int) -> None:
    draw = random.Random(seed)
    nodes = {f"n{at}": ObservedNode(f"n{at}", draw.randint(4, 8), up=draw.random() < 0.8) for at in range(4)}
    nodes["large"] = ObservedNode("large", 8)
    used = {name: draw.randint(0, one.gpus) for name, one in nodes.items()}
    misfits: list[dict[str, str]] = [{}, {"n0": "no label"}, {"n1": "no label", "large": "no label"}]
    jobs = {"r": running("r", **used)}
    for at in range(15):
        shape: dict[str, Any] = draw.choice(
            ({}, {"nodes": draw.randint(1, 3)}, {"fields": {"pods": draw.randint(1, 4)}})
        )
        job = ObservedJob(f"w{at}", JobState.PENDING, draw.randint(1, 14), misfits=draw.choice(misfits), **shape)
        jobs[job.name] = job
    for found in waiting_jobs(Observation(jobs, nodes)):
        job = jobs[found.name]
        suits = [name for name, one in nodes.items() if one.up and name not in job.misfits]
        pods = job.fields.get("pods", 0)
        assert isinstance(pods, int)
        room, possible = (
            has_room([nodes[name].gpus - less[name] for name in suits], job.gpus, job.nodes, pods)
            for less in (used, dict.fromkeys(nodes, 0))
        )
        if job.nodes and job.gpus % job.nodes:  # the number of nodes is not counted: there may seem to be room
            assert found.kind == "room" or not room
            assert found.kind != "never" or not possible
        else:
            assert found.kind == ("room" if room else "no room" if possible else "never")


def test_every_pod_that_waits_is_told_why_and_only_if_that_is_new(tmp_path: Path) -> None:
    server = ServerInMemory([node("g1"), node("g2", unschedulable=True)], [wanted("a", 6), wanted("b", 6)])
    events: list[Any] = []
    send = server.send

    def noting(method: str, path: str, headers: Any, body: Any) -> Answer:
        if method == "POST" and path.endswith("/events"):
            events.append(body)
        return send(method, path, headers, body)

    server.send = noting  # type: ignore[method-assign]
    server.at.append((700, lambda: server.pods.update(c=pod("c", 1, "g1", "Running"))))
    server.drive(tmp_path, 200)
    told = [one for one in events if one["reason"] == "Waiting" and one["involvedObject"]["name"] == "b"]
    texts = [one["message"] for one in told]
    assert texts == ["needs 6 GPUs, 2 are free on g1; g1 runs ml/a/a-012345",
                     "needs 6 GPUs, 1 is free on g1; g1 runs ml/a/a-012345, ml/c/c-012345"]  # fmt: skip
    assert told[0]["involvedObject"]["uid"] == "b-0123456789"


def test_a_pause_between_two_explanations_of_a_job() -> None:
    class Board:
        def __init__(self) -> None:
            self.told: list[tuple[float, str]] = []

        def explain(self, job: str, why: str) -> None:
            self.told.append((clock, why.partition(";")[0]))

    clock, board = 0.0, Board()
    explainer = WaitingExplainer(board, lambda: clock)
    for at, used in ((0.0, 5), (1.0, 5), (2.0, 6), (PAUSE + 3, 6)):
        clock = at
        jobs = (running("a", g1=used, g2=8), waits(4))
        explainer.tell(Observation({job.name: job for job in jobs}, NODES), {})
    assert board.told == [
        (0.0, "needs 4 GPUs, 3 are free on g1"), (PAUSE + 3, "needs 4 GPUs, 2 are free on g1")
    ]  # fmt: skip


def test_reasons_of_a_large_cluster_take_a_small_part_of_the_time() -> None:
    seen = Observation({"w": waits(4)}, NODES)
    watch = WaitingWatch()
    assert watch.look(seen, {}, 0.0) is not None
    assert watch.look(seen, {}, 1e-9) is None
    assert watch.look(seen, {}, 1e6) is not None


def test_an_event_of_a_workload() -> None:
    server = KueueInMemory([node("g1")])
    job = server.submit("w", ("main", 1, 4))
    cluster = KueueCluster(server.api, now=server.now)
    cluster.observe()
    cluster.explain(job, "needs 4 GPUs")
    cluster.explain("ml/gone/12345678", "needs 4 GPUs")
    (event,) = server.events
    assert event["involvedObject"] == {
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "name": "w", "namespace": "ml", "uid": "w-12345678",
    }  # fmt: skip
    assert (event["reason"], event["message"], event["source"]) == (
        "Waiting",
        "needs 4 GPUs",
        {"component": "gpusched-dsl"},
    )
