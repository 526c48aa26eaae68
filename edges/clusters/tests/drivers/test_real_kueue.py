"""The driver of Kueue on a real API server with Kueue's published definitions; a stand-in plays Kueue's controller."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from action_delay import action_delay
from drive_files import wait_for_actions
from kubernetes_service import DEPLOY, NEEDS_KUBERNETES, KubernetesService, kubernetes_service
from kueue_stand_in import KueueStandIn, conditions, true

from gsdsl_clusters.drivers.drive import ACTIONS
from gsdsl_clusters.drivers.kubernetes.api import KubernetesApi
from gsdsl_clusters.drivers.kubernetes.kueue import KueueCluster
from gsdsl_clusters.drivers.kubernetes.objects import annotations_of, condition, metadata, status
from gsdsl_clusters.drivers.kubernetes.workloads import BOOST, GROUP, NODES, check_of
from gsdsl_clusters.drivers.protocol import Action, ActionKind, ActionRefused, ClusterUnavailable, JobState
from gsdsl_clusters.drivers.records import read_records

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), NEEDS_KUBERNETES]
NODE_NAMES = tuple(f"g{n}" for n in range(1, 9))
GPUS = 4
MODEL = f"""import "gsdsl:trace_replay/policies.gsm";
scenario Cluster for TraceReplay {{
  Nodes = {{ {", ".join(NODE_NAMES)} }};
  gpus[n in Nodes] = {GPUS};
  Jobs = {{ }};
}}
online Live for TraceReplay {{
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry clock = now;
}}
"""
CLUSTER = """driver = "kueue"
model = "cluster.gsm"
online = "Live"
method = "SJF"
interval = 1

[kueue]
kubeconfig = "KUBECONFIG"
EXTRA

[jobs]
submitted = "submitted"
needs = "gpus"
exec_time = "time_limit"

[guard]
changes_per_hour = 100000
"""
Json = dict[str, Any]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubernetesService]:
    with kubernetes_service(tmp_path_factory.mktemp("kueue")) as started:
        started.define_kueue()
        for name in ("namespace", "kueue-watch", "kueue-act"):
            for thing in yaml.safe_load_all((DEPLOY / f"{name}.yaml").read_text(encoding="utf-8")):
                started.apply(thing)
        for name in NODE_NAMES:
            started.add_node(name, GPUS, {"gpu": "h200"})
        flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "h200"},
                  "spec": {"nodeLabels": {"gpu": "h200"}}}  # fmt: skip
        started.apply(flavor)
        yield started


@pytest.fixture(autouse=True)
def no_workloads(service: KubernetesService) -> Iterator[None]:
    yield
    service.admin.delete(f"{GROUP}/namespaces/default/workloads", {})


def submit(service: KubernetesService, name: str, gpus: int, seconds: int, count: int = 1, **more: Any) -> str:
    """Create a Workload as Kueue makes one for a Job; return the name of the job."""
    container = {"name": "main", "image": "x", "resources": {"requests": {"nvidia.com/gpu": str(gpus)},
                                                             "limits": {"nvidia.com/gpu": str(gpus)}}}  # fmt: skip
    template = {"spec": {"containers": [container], "restartPolicy": "Never", **more}}
    made = service.admin.create(f"{GROUP}/namespaces/default/workloads", {
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": name, "namespace": "default"},
        "spec": {"queueName": "team", "priority": 0, "maximumExecutionTimeSeconds": seconds,
                 "podSets": [{"name": "main", "count": count, "template": template}]},
    })  # fmt: skip
    return f"default/{name}/{made['metadata']['uid'][:8]}"


def read(service: KubernetesService, name: str) -> Json:
    return service.admin.get(f"{GROUP}/namespaces/default/workloads/{name}")


def cluster_of(service: KubernetesService, **settings: Any) -> KueueCluster:
    return KueueCluster.from_settings({"kubeconfig": str(service.kubeconfig), **settings})


def write_files(service: KubernetesService, folder: Path, extra: str = "") -> Path:
    (folder / "cluster.gsm").write_text(MODEL)
    text = CLUSTER.replace("KUBECONFIG", str(service.kubeconfig)).replace("EXTRA", extra)
    (folder / "cluster.toml").write_text(text)
    return folder / "cluster.toml"


def start_driver(path: Path, *options: str) -> subprocess.Popen[str]:
    log = (path.parent / "drive.log").open("a")
    words = [sys.executable, "-m", "gpusched_dsl", "drive", str(path), *options]
    return subprocess.Popen(words, stdout=log, stderr=log, text=True, start_new_session=True)


def wait_until_finished(service: KubernetesService, count: int, seconds: float, log: Path) -> list[Json]:
    until = time.monotonic() + seconds
    while True:
        try:
            found = list(service.admin.list(f"{GROUP}/namespaces/default/workloads"))
        except ClusterUnavailable:
            found = []
        done = [one for one in found if condition(one, "Finished")]
        if len(done) == count:
            return done
        assert time.monotonic() < until, (len(done), log.read_text()[-3000:])
        time.sleep(1.0)


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 0


@pytest.mark.parametrize("quota", ["exact", "ample"])
def test_two_hundred_workloads_are_admitted_in_the_order_of_the_model(
    service: KubernetesService, tmp_path: Path, quota: str
) -> None:
    """The model starts the shortest job first; Kueue would start the oldest. With a quota of exactly the GPUs, wrong
    Workloads give it back by `Retry`, and boosted ones get it.
    """
    count, gpus = (200, 2) if quota == "exact" else (60, 2)
    lengths = random.Random(1).sample(range(600, 600 + 60 * count, 60), count)
    for number, length in enumerate(lengths):
        submit(service, f"w{number}", gpus, length)
    path = write_files(service, tmp_path, "retry_seconds = 2" if quota == "exact" else "")
    most = len(NODE_NAMES) * GPUS
    process = start_driver(path, "--act")
    try:
        with KueueStandIn(service.admin, most if quota == "exact" else most * 100, seconds=1.0) as kueue:
            done = wait_until_finished(service, count, 1200, tmp_path / "drive.log")
    finally:
        stop(process)
    order = [f"w{number}" for number in sorted(range(count), key=lambda n: lengths[n])]
    starts = [line["job"].split("/")[1] for line in read_records(tmp_path / "shadow" / ACTIONS)
              if line.get("action") == "start"]  # fmt: skip
    together = most // gpus  # these start at one time, in any order
    for found in (list(dict.fromkeys(starts)), kueue.admitted):
        place = {name: at for at, name in enumerate(found)}
        assert sorted(place) == sorted(order)
        assert all(abs(place[name] - at) < together for at, name in enumerate(order))
    assert len(kueue.admitted) == count  # none was admitted twice
    if quota == "exact":
        assert kueue.evicted
        assert set(kueue.requeued_after) == {2}
    for one in done:
        (update,) = kueue.selected[metadata(one)["name"]]
        assert update["nodeSelector"]["kubernetes.io/hostname"] in NODE_NAMES
        assert (check_of(one, "gpusched-dsl") or {})["message"].startswith("gsdsl step")


def test_every_answer(service: KubernetesService) -> None:
    """Notes, Ready, Retry of an admitted Workload, and the three answers for one that is left out."""
    name = submit(service, "one", 2, 60, count=2)
    cluster, kueue = cluster_of(service, retry_seconds=7), KueueStandIn(service.admin, 8, 1e9)
    start = Action(ActionKind.START, name, {"g3": 4}, "gsdsl step 1: to run on g3")
    assert cluster.observe().jobs[name].held
    cluster.act(start)
    assert annotations_of(read(service, "one"))[BOOST] == "1000"
    assert (cluster.observe().jobs[name].held, cluster.observe().jobs[name].pinned) == (False, ("g3",))
    cluster.act(Action(ActionKind.HOLD, name, reason="gsdsl step 2: to wait"))
    assert not {BOOST, NODES} & set(annotations_of(read(service, "one")))
    kueue.step()
    assert cluster.observe().jobs[name].asks
    cluster.act(start)
    kueue.step()
    seen = cluster.observe().jobs[name]
    assert (seen.state, seen.allocation, seen.fields["cluster_queue"]) == (JobState.RUNNING, {"g3": 4}, "gpus")
    with pytest.raises(ActionRefused, match="admitted already"):
        cluster.act(start)
    cluster.act(Action(ActionKind.REQUEUE, name, reason="gsdsl step 3: to wait"))
    check = check_of(read(service, "one"), "gpusched-dsl") or {}
    assert (check["state"], check["requeueAfterSeconds"], check["message"]) == ("Retry", 7, "gsdsl step 3: to wait")
    kueue.step()
    assert (kueue.evicted, cluster.observe().jobs[name].restarts) == (["one"], 1)
    for answer, state in (("wait", "Pending"), ("admit", "Ready"), ("reject", "Rejected")):
        other = submit(service, answer, 1, 60)
        kueue.step()
        told = cluster_of(service, left_out=answer)
        told.act(Action(ActionKind.LEAVE_OUT, other, reason="`deadline` has no value"))
        check = check_of(read(service, answer), "gpusched-dsl") or {}
        assert (check["state"], check["message"]) == (state, "left out by gsdsl: `deadline` has no value")
        assert not told.observe().jobs[other].asks
    kueue.step()
    assert cluster.observe().jobs[other].state is JobState.BLOCKED  # Kueue deactivates what was rejected


def test_refusals(service: KubernetesService) -> None:
    cluster, kueue = cluster_of(service), KueueStandIn(service.admin, 100, 1e9)
    name = submit(service, "one", 2, 60, count=2)

    def refused(words: str, allocation: dict[str, int], job: str = name, kind: ActionKind = ActionKind.START) -> None:
        with pytest.raises(ActionRefused, match=words):
            cluster.act(Action(kind, job, allocation, "gsdsl step 1"))

    kueue.step()
    refused("pod sets with main 4 GPUs do not fit", {"g1": 2, "g2": 2})
    refused("there is no node `g99`", {"g99": 4})
    refused("there is no Workload `default/two/12345678`", {"g1": 4}, "default/two/12345678")
    refused("any more", {"g1": 4}, "default/one/00000000")  # another Workload of that name
    refused("cannot be changed", {"g1": 4}, kind=ActionKind.RESIZE)
    refused("was not admitted by the check", {}, kind=ActionKind.REQUEUE)
    other = submit(service, "two", 2, 60, nodeSelector={"zone": "a"})
    kueue.step()
    refused("node `g1` does not have zone=a", {"g1": 2}, other)
    path, one = f"{GROUP}/namespaces/default/workloads/one", read(service, "one")
    with pytest.raises(ActionRefused, match="message"):  # the schema limits messages
        cluster._answer(path, one, "Ready", "x", message="y" * 33000)
    assert cluster_of(service, check="other").observe().jobs[name].asks is False


def test_a_change_at_the_same_time(service: KubernetesService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else writes between our reading and our answer: it is read again, and nothing is overwritten."""
    name = submit(service, "one", 2, 60)
    kueue = KueueStandIn(service.admin, 100, 1e9)
    kueue.step()
    cluster, replaced = cluster_of(service), []
    replace = KubernetesApi.replace

    def meddle(api: KubernetesApi, path: str, body: Json) -> Json:
        if api is cluster.api and len(replaced) < 2:
            replaced.append(path)
            one = read(service, "one")
            note = true(f"Note{len(replaced)}", "Test")
            body_of_other = {**one, "status": {**status(one), "conditions": [*conditions(one), note]}}
            replace(service.admin, path, body_of_other)
        return replace(api, path, body)

    monkeypatch.setattr(KubernetesApi, "replace", meddle)
    cluster.act(Action(ActionKind.START, name, {"g1": 2}, "gsdsl step 1"))
    found = read(service, "one")
    assert len(replaced) == 2
    assert (check_of(found, "gpusched-dsl") or {})["state"] == "Ready"
    assert {"Note1", "Note2"} <= {one["type"] for one in conditions(found)}
    monkeypatch.setattr(KubernetesApi, "replace", replace)
    kueue.step()
    kueue.seconds = 0.0
    kueue.step()
    assert cluster.observe().jobs[name].state is JobState.DONE


def test_the_roles_are_enough_and_no_more(service: KubernetesService) -> None:
    api = cluster_of(service).api
    submit(service, "one", 2, 60)
    for words, call in (
        ("delete", lambda: api.delete(f"{GROUP}/namespaces/default/workloads/one", {})),
        ("create", lambda: api.create(f"{GROUP}/namespaces/default/workloads", {"metadata": {"name": "x"}})),
        ("patch", lambda: api.merge("/api/v1/nodes/g1", {"spec": {"unschedulable": True}})),
        ("create", lambda: api.create("/api/v1/namespaces/default/pods", {"metadata": {"name": "x"}})),
        ("get", lambda: api.get("/api/v1/namespaces/default/secrets/x")),
    ):
        with pytest.raises(ActionRefused, match=f"cannot {words} resource"):
            call()
    assert list(api.list(f"{GROUP}/localqueues")) == list(api.list(f"{GROUP}/clusterqueues")) == []
    assert list(api.list("/apis/batch/v1/jobs")) == []
    cluster = cluster_of(service)
    cluster.prepare()
    check = service.admin.get(f"{GROUP}/admissionchecks/gpusched-dsl")
    assert (condition(check, "Active") or {})["status"] == "True"
    other = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck", "metadata": {"name": "other"},
             "spec": {"controllerName": "somebody"}}  # fmt: skip
    service.apply(other)
    with pytest.raises(ActionRefused, match="belongs to `somebody`"):
        cluster_of(service, check="other").prepare()
    with pytest.raises(ActionRefused, match="there is no admission check `third`"):
        cluster_of(service, check="third").prepare()


def test_killed_drivers_and_a_killed_api_server(service: KubernetesService, tmp_path: Path) -> None:
    """After two kills of the driver and one of the API server every Workload has been admitted once."""
    count = 40
    for number in range(count):
        submit(service, f"w{number}", 2, 600 + number)
    path = write_files(service, tmp_path)
    with KueueStandIn(service.admin, 1000, seconds=3.0) as kueue:
        for actions in (3, 12):
            process = start_driver(path, "--act")
            wait_for_actions(path, actions)
            process.kill()
            process.wait(10)
        process = start_driver(path, "--act")
        try:
            wait_for_actions(path, 18)
            service.kill("kube-apiserver")
            time.sleep(3.0)
            service.start_server()
            wait_until_finished(service, count, 800, tmp_path / "drive.log")
        finally:
            stop(process)
    assert sorted(kueue.admitted) == sorted(f"w{number}" for number in range(count))
    assert kueue.evicted == []


def test_from_event_to_action_takes_less_than_a_second(service: KubernetesService, tmp_path: Path) -> None:
    """100 nodes and 400 Workloads, of which 399 run by the plan; the last one comes, and its check is answered."""
    more = [f"h{number}" for number in range(9, 101)]
    for name in more:
        service.add_node(name, GPUS, {"gpu": "h200"})
    kueue = KueueStandIn(service.admin, 1000, 1e9)
    for number in range(399):
        submit(service, f"w{number}", 1, 3600)

    def before(number: int) -> None:
        if number == 4:
            submit(service, "last", 1, 3600)
        kueue.step()

    path = write_files(service, tmp_path)
    names = ", ".join([*NODE_NAMES, *more])
    (tmp_path / "cluster.gsm").write_text(MODEL.replace(", ".join(NODE_NAMES), names))
    try:
        delay = action_delay(path, [process.pid for process in service.processes.values()], 4, before)
    finally:
        for name in more:
            service.admin.delete(f"/api/v1/nodes/{name}", {})
    assert delay < 1.0  # with the plan


def test_only_the_role_for_bindings_lets_pods_be_bound(service: KubernetesService) -> None:
    """A Workload over two nodes: refused without `kueue-bind.yaml`, and bound with it, by the account of the driver."""
    job = submit(service, "gang", 4, 60, count=2, schedulerName="gpusched-dsl")
    kueue, cluster = KueueStandIn(service.admin, 100, 1e9), cluster_of(service)
    start = Action(ActionKind.START, job, {"g1": 4, "g2": 4}, "gsdsl step 1")
    kueue.step()
    cluster.act(start)
    kueue.step()
    (updates,) = kueue.selected["gang"]
    amount = {"nvidia.com/gpu": "4"}
    container = {"name": "main", "image": "x", "resources": {"limits": amount, "requests": amount}}
    for number in range(2):
        assert not cluster.observe().jobs[job].partly_started  # until all have been made
        service.admin.create("/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"gang-{number}", "annotations": updates["annotations"]},
            "spec": {"schedulerName": "gpusched-dsl", "containers": [container]},
        })  # fmt: skip
    try:
        with pytest.raises(ActionRefused, match="cannot create resource"):
            cluster.act(start)
        assert cluster.observe().jobs[job].partly_started
        for thing in yaml.safe_load_all((DEPLOY / "kueue-bind.yaml").read_text(encoding="utf-8")):
            service.apply(thing)
        act_when_permitted(cluster, start)
        seen = cluster.observe().jobs[job]
        assert (seen.state, seen.allocation, seen.partly_started) == (JobState.RUNNING, {"g1": 4, "g2": 4}, False)
    finally:
        service.admin.delete("/api/v1/namespaces/default/pods", {"gracePeriodSeconds": 0})


def act_when_permitted(cluster: KueueCluster, action: Action) -> None:
    """The server learns new roles within moments."""
    until = time.monotonic() + 30
    while True:
        try:
            return cluster.act(action)
        except ActionRefused as refused:
            if "cannot create resource" not in str(refused) or time.monotonic() > until:
                raise
            time.sleep(0.2)
