"""The second scheduler on a real API server: binding, refusals, half-done starts, Jobs that are stopped, roles."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from kubernetes_service import DEPLOY, NEEDS_KUBERNETES, KubernetesService, kubernetes_service
from pod_stand_ins import JOBS, PODS, PodStandIns
from test_real_kueue import CLUSTER, MODEL, start_driver, stop

from gsdsl_clusters.drivers.drive import ACTIONS
from gsdsl_clusters.drivers.kubernetes.objects import has_ended, is_leaving, metadata, node_of
from gsdsl_clusters.drivers.kubernetes.scheduler import PodScheduler
from gsdsl_clusters.drivers.protocol import Action, ActionKind, ActionRefused, JobState
from gsdsl_clusters.drivers.reconcile import WantedState, difference
from gsdsl_clusters.drivers.records import read_records

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200), NEEDS_KUBERNETES]
NODE_NAMES = tuple(f"g{n}" for n in range(1, 9))
Json = dict[str, Any]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubernetesService]:
    with kubernetes_service(tmp_path_factory.mktemp("scheduler")) as started:
        for name in ("namespace", "scheduler-watch", "scheduler-act"):
            for thing in yaml.safe_load_all((DEPLOY / f"{name}.yaml").read_text(encoding="utf-8")):
                started.apply(thing)
        for name in NODE_NAMES:
            started.add_node(name, 4)
        yield started


@pytest.fixture(autouse=True)
def nothing_left(service: KubernetesService) -> Iterator[None]:
    yield
    for root in (JOBS, PODS):
        # without a policy a Job waits for the garbage collector, which does not run here
        service.admin.delete(root, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})


def template(gpus: int, seconds: float, **more: Any) -> Json:
    limits = {"nvidia.com/gpu": str(gpus)}
    container = {"name": "main", "image": "x", "resources": {"requests": limits, "limits": limits}}
    spec = {"schedulerName": "gpusched-dsl", "restartPolicy": "Never", "containers": [container], **more}
    return {"metadata": {"annotations": {"test/seconds": str(seconds)}}, "spec": spec}


def submit(service: KubernetesService, name: str, gpus: int, seconds: float = 1.0, **more: Any) -> str:
    made = template(gpus, seconds, **more)
    made["metadata"]["name"] = name
    found = service.admin.create(PODS, {"apiVersion": "v1", "kind": "Pod", **made})
    return f"default/{name}/{found['metadata']['uid'][:8]}"


def submit_job(service: KubernetesService, name: str, pods: int, gpus: int, seconds: float = 1e9) -> str:
    found = service.admin.create(JOBS, {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"parallelism": pods, "completions": pods, "template": template(gpus, seconds)},
    })  # fmt: skip
    return f"default/{name}/{found['metadata']['uid'][:8]}"


def cluster_of(service: KubernetesService, **settings: Any) -> PodScheduler:
    return PodScheduler.from_settings({"kubeconfig": str(service.kubeconfig), **settings})


def pods_of(service: KubernetesService) -> list[Json]:
    return list(service.admin.list(PODS))


def test_pods_are_bound_in_the_order_of_the_model(service: KubernetesService, tmp_path: Path) -> None:
    """Forty pods and two Jobs of two pods: FIFO order, no node overloaded, each bound once."""
    names = [f"p{number:02d}" for number in range(40)]
    sizes = dict(zip(names, (1, 2, 4, 1, 2) * 8, strict=True))
    for name in names:
        submit(service, name, sizes[name], 2.0, activeDeadlineSeconds=600)
    submit_job(service, "train", 2, 2, 2.0)
    (tmp_path / "cluster.gsm").write_text(MODEL)
    text = CLUSTER.replace('"kueue"', '"kubernetes"').replace("[kueue]", "[kubernetes]").replace('"SJF"', '"FIFO"')
    text = text.replace("KUBECONFIG", str(service.kubeconfig)).replace("EXTRA", "")
    text = text.replace('"time_limit"', '{ field = "time_limit", default = 1 }')
    (tmp_path / "cluster.toml").write_text(text)
    busiest: Counter[str] = Counter()
    with PodStandIns(service.admin) as players:
        process = start_driver(tmp_path / "cluster.toml", "--act")
        try:
            until = time.monotonic() + 400
            while not all(has_ended(pod) for pod in pods_of(service)) or len(pods_of(service)) < 42:
                used: Counter[str] = Counter()
                for pod in pods_of(service):
                    if node_of(pod) and not has_ended(pod):
                        used[node_of(pod)] += sizes.get(metadata(pod)["name"], 2)
                busiest = busiest | used
                assert time.monotonic() < until, (tmp_path / "drive.log").read_text()[-3000:]
                time.sleep(1.0)
            time.sleep(4.0)
        finally:
            stop(process)
    assert max(busiest.values()) <= 4
    starts = [line["job"].split("/")[1] for line in read_records(tmp_path / "shadow" / ACTIONS)
              if line.get("action") == "start"]  # fmt: skip
    assert len(starts) == len(set(starts)) == 41
    assert sorted(set(players.bound)) == sorted(metadata(pod)["name"] for pod in pods_of(service))
    events = list(service.admin.list("/api/v1/namespaces/default/events"))
    told = {e["involvedObject"]["name"]: e["message"] for e in events if e["reason"] == "Scheduled"}
    assert all(
        told[name].startswith("gsdsl step") and told[name].endswith(f"to {players.where[name]})") for name in names
    )


def test_refusals(service: KubernetesService) -> None:
    cluster = cluster_of(service)
    name = submit(service, "one", 3)

    def refused(words: str, allocation: dict[str, int], job: str = name, kind: ActionKind = ActionKind.START) -> None:
        with pytest.raises(ActionRefused, match=words):
            cluster.act(Action(kind, job, allocation, "gsdsl step 1"))

    other = service.admin.create(PODS, {"apiVersion": "v1", "kind": "Pod",
        **template(2, 1e9, schedulerName="default-scheduler", nodeName="g1"),
        "metadata": {"name": "other", "annotations": {"test/seconds": "1e9"}}})  # fmt: skip
    seen = cluster.observe()
    foreign = seen.jobs[f"default/other/{other['metadata']['uid'][:8]}"]
    assert (foreign.state, foreign.allocation, foreign.unsupported) == (
        JobState.RUNNING, {"g1": 2}, "another scheduler has started it",
    )  # fmt: skip
    refused("node `g1` has 2 of nvidia.com/gpu free, and 3 are needed", {"g1": 3})
    refused("there is no node `g99`", {"g99": 3})
    refused(r"waiting pods with \[3\] GPUs do not fit", {"g2": 2})
    refused("is not there any more", {"g2": 3}, "default/one/00000000")
    refused("cannot be changed", {"g2": 3}, kind=ActionKind.RESIZE)
    refused("a pod without a Job is not made again", {}, kind=ActionKind.REQUEUE)
    refused("label zone=a", {"g2": 1}, submit(service, "two", 1, nodeSelector={"zone": "a"}))
    with pytest.raises(ActionRefused, match="can only be watched"):
        cluster_of(service, scheduler="default-scheduler").act(Action(ActionKind.START, name, {"g2": 3}))
    cluster.act(Action(ActionKind.START, name, {"g2": 3}, "gsdsl step 2"))
    refused("do not fit", {"g2": 3})
    raced = submit(service, "three", 1)
    unit = cluster._unit(raced)
    cluster_of(service).act(Action(ActionKind.START, raced, {"g4": 1}, "gsdsl step 3"))
    cluster._unit = lambda job: unit  # type: ignore[method-assign] # as it was before the other one bound it
    refused("already assigned to node", {"g5": 1}, raced)


def test_a_half_done_start_is_finished_or_undone(service: KubernetesService) -> None:
    """Two of three pods were bound when the process was killed. The plan wants the same nodes, or others."""
    cluster, players = cluster_of(service), PodStandIns(service.admin)
    name = submit_job(service, "train", 3, 2)
    assert cluster.observe().jobs[name].state is JobState.BLOCKED
    players.step()
    assert cluster.observe().jobs[name].held
    half = {"g1": 4}
    for pod in pods_of(service)[:2]:
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": metadata(pod)["name"]},
                "target": {"kind": "Node", "name": "g1"}}  # fmt: skip
        service.admin.create(f"{PODS}/{metadata(pod)['name']}/binding", body)
    seen = cluster.observe()
    assert (seen.jobs[name].state, seen.jobs[name].partly_started, seen.jobs[name].allocation) == (
        JobState.PENDING, True, half,
    )  # fmt: skip
    elsewhere = WantedState({name: {"g3": 4, "g4": 2}}, (name,))
    (undo,) = difference(elsewhere, seen, preempt=False).actions
    assert undo.kind is ActionKind.HOLD
    same = WantedState({name: {"g1": 4, "g2": 2}}, (name,))
    (finish,) = difference(same, seen, preempt=False).actions
    cluster.act(finish)
    seen = cluster.observe()
    assert (seen.jobs[name].state, seen.jobs[name].allocation) == (JobState.RUNNING, {"g1": 4, "g2": 2})
    assert difference(same, seen, preempt=False).actions == ()
    (stopped,) = difference(elsewhere, seen, preempt=True).actions
    cluster.act(stopped)
    assert all(is_leaving(pod) for pod in pods_of(service) if node_of(pod))
    for _ in range(3):
        players.step()
    seen = cluster.observe()
    assert (seen.jobs[name].state, seen.jobs[name].held, seen.jobs[name].allocation) == (JobState.PENDING, True, {})
    (start,) = difference(elsewhere, seen, preempt=True).actions
    cluster.act(start)
    assert cluster.observe().jobs[name].allocation == {"g3": 4, "g4": 2}


def test_the_roles_are_enough_and_no_more(service: KubernetesService) -> None:
    api = cluster_of(service).api
    submit(service, "one", 2)
    for words, call in (
        ("create", lambda: api.create(PODS, {"metadata": {"name": "x"}})),
        ("patch", lambda: api.merge(f"{PODS}/one", {"metadata": {"labels": {"a": "b"}}})),
        ("patch", lambda: api.merge("/api/v1/nodes/g1", {"spec": {"unschedulable": True}})),
        ("delete", lambda: api.delete(f"{JOBS}/x", {})),
        ("get", lambda: api.get("/api/v1/namespaces/default/secrets/x")),
    ):
        with pytest.raises(ActionRefused, match=f"cannot {words} resource"):
            call()
