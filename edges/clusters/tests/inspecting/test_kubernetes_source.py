"""Snapshots of Kubernetes: nodes by resource, pods by the job that owns them, Workloads of Kueue, quotas."""

from __future__ import annotations

import csv
import io
import json
import threading
import tomllib
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes_objects import NOW, Json, date, node, owned, pod, pod_spec, workload

from gpusched_dsl.cli import main
from gpusched_dsl.data.sources.files import FileLimits, Unreadable
from gsdsl_clusters.drivers.kubernetes.api import Answer, KubernetesApi
from gsdsl_clusters.drivers.kubernetes.objects import observed_places
from gsdsl_clusters.drivers.kubernetes.settings import selection_of
from gsdsl_clusters.inspecting.inspection import inspect
from gsdsl_clusters.inspecting.queue_simulation import demands
from gsdsl_clusters.inspecting.readers.kubernetes import LISTS, read_live_kubernetes, read_objects
from gsdsl_clusters.inspecting.reading import read_snapshot
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot
from gsdsl_clusters.inspecting.written_model import model_folder

LIMITS = FileLimits(allow_outside=True)
GPU = "nvidia.com/gpu"
NODES = [
    node("a1", {GPU: 8}, product="A100", rack="r1"),
    node("a2", {GPU: 8}, product="A100", rack="r2", labels={"pool": "train"}),
    node("h1", {GPU: 4}, product="H100", taint="reserved"),
    node("m1", {"nvidia.com/mig-1g.10gb": 7, "nvidia.com/mig-3g.40gb": 1}, product="H100"),
    node("amd", {"amd.com/gpu": 8}, labels={"amd.com/gpu.product-name": "MI300X"}, cordoned=True),
    node("down", {GPU: 8}, product="A100", ready="Unknown"),
    node("plain", {}),
]


def jobs_of(objects: Iterable[Json]) -> dict[str, dict[str, Any]]:
    found = read_objects([*NODES, *objects], "test", now=NOW)
    return {row["job"]: row for row in found.jobs.iter_rows(named=True)}


def test_nodes_by_resource() -> None:
    found = read_objects([*NODES, pod("p", pod_spec(1))], "test", now=NOW).nodes
    rows = {row["node"]: (row["gpus"], row["gpu_type"], row["up"], row["rack"]) for row in found.iter_rows(named=True)}
    assert rows == {
        "a1": (8, "A100", True, "r1"), "a2": (8, "A100", True, "r2"), "h1": (4, "H100", True, ""),
        "m1:mig-1g.10gb": (7, "mig-1g.10gb", True, ""), "m1:mig-3g.40gb": (1, "mig-3g.40gb", True, ""),
        "amd": (8, "MI300X", False, ""), "down": (8, "A100", False, ""),
    }  # fmt: skip
    assert found.filter(found["node"] == "down")["reason"].item() == "kubelet is silent"
    assert found["memory"][0] == 512.0


@pytest.mark.parametrize(
    ("spec", "suits"),
    [
        (pod_spec(1), {"a1", "a2", "down"}),
        (pod_spec(1, nodeSelector={"pool": "train"}), {"a2"}),
        (pod_spec(1, nodeSelector={"nvidia.com/gpu.product": "A100"}), {"a1", "a2", "down"}),
        (pod_spec(1, tolerations=[{"operator": "Exists"}]), {"a1", "a2", "down", "h1", "amd"} - {"amd"}),
        (pod_spec(1, nodeSelector={"kubernetes.io/hostname": "a1"}), {"a1"}),
        (pod_spec(1, nodeSelector={"pool": "nowhere"}), set()),
        (pod_spec(1, resource="nvidia.com/mig-1g.10gb"), {"m1:mig-1g.10gb"}),
        (pod_spec(1, resource="nvidia.com/mig-3g.40gb"), {"m1:mig-3g.40gb"}),
        (pod_spec(2, resource="amd.com/gpu"), {"amd"}),
    ],
)
def test_nodes_that_suit_a_job(spec: Json, suits: set[str]) -> None:
    others = [pod(f"other-{at}", pod_spec(1, nodeSelector={"pool": f"p{at}"})) for at in range(3)]
    found = read_objects([*NODES, *others, pod("p", spec)], "test", now=NOW)
    own = found.jobs.filter(found.jobs["job"] == "red/p")
    _, fits = demands(found, own)
    names = found.nodes["node"].to_list()
    assert {name for name, fit in zip(names, fits[0], strict=True) if fit} == suits


@pytest.mark.parametrize(
    "term",
    [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]},
        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n2"]}]},
        None,
    ],
)
def test_one_of_nodes_that_are_alike(term: Json | None) -> None:
    """By affinity to its name or the label of its host, or by a node selector."""
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    demand: Json = {"affinity": {"nodeAffinity": rule}} if term else {"nodeSelector": {"kubernetes.io/hostname": "n2"}}
    nodes = [node(f"n{at}", {GPU: 8}) for at in range(4)]
    found = read_objects([*nodes, pod("p", pod_spec(1, **demand))], "test", now=NOW)
    _, fits = demands(found, found.jobs)
    assert fits[0].tolist() == [False, False, True, False]


def test_pods_of_one_owner_are_one_job() -> None:
    """Of a Job, of a JobSet above Jobs, of an owner that is not there, by the labels of gangs, and each for itself."""
    jobset = [owned("JobSet", "js"), owned("Job", "js-w-0", ("JobSet", "js")), owned("Job", "js-l-0", ("JobSet", "js"))]
    found = jobs_of([
        owned("Job", "j"), *(pod(f"j-{at}", pod_spec(8), on=f"a{at}", owner=("Job", "j")) for at in (1, 2)),
        *jobset, pod("js-0", pod_spec(2), owner=("Job", "js-w-0")), pod("js-1", pod_spec(1), owner=("Job", "js-l-0")),
        *(pod(f"py-{at}", pod_spec(8), owner=("PyTorchJob", "py")) for at in range(3)),
        *(pod(f"ray-{at}", pod_spec(1), labels={"ray.io/cluster": "ray"}) for at in range(2)),
        *(pod(f"lws-{at}", pod_spec(1), labels={"leaderworkerset.sigs.k8s.io/name": "lws",
                                               "leaderworkerset.sigs.k8s.io/group-index": str(at // 2)})
          for at in range(4)),
        *(pod(f"web-{at}", pod_spec(1), owner=("ReplicaSet", "web")) for at in range(2)),
    ])  # fmt: skip
    shapes = {name: (row["state"], row["gpus"], row["nodes"]) for name, row in found.items()}
    assert shapes == {
        "red/j": ("running", 8, 2),
        "red/js": ("waiting", 3, 0),  # leader and worker of different size
        "red/py-0": ("waiting", 8, 3),
        "red/ray-0": ("waiting", 2, 0),  # two pods may share a node
        "red/lws-0": ("waiting", 2, 0), "red/lws-2": ("waiting", 2, 0),
        "red/web-0": ("waiting", 1, 1), "red/web-1": ("waiting", 1, 1),
    }  # fmt: skip
    job = found["red/j"]
    assert (job["on_nodes"], job["on_gpus"], job["submitted"], job["started"], job["duration"]) == (
        ["a1", "a2"], [8, 8], NOW - 2000, NOW - 900, 900.0
    )  # fmt: skip
    assert found["red/web-0"]["reason"] == "0/4 nodes are available: 4 Insufficient nvidia.com/gpu"


def test_pods_that_ended_or_wait_for_a_gate() -> None:
    found = jobs_of([
        pod("done", pod_spec(2), on="a1", ago=5000, ended=400),
        pod("bad", pod_spec(2), on="a1", ended=400, phase="Failed"),
        owned("Job", "j"), pod("j-old", pod_spec(4), on="a1", owner=("Job", "j"), ended=600),
        pod("j-new", pod_spec(4), on="a2", owner=("Job", "j"), ago=500),
        pod("gated", pod_spec(1, schedulingGates=[{"name": "example.com/gate"}])), pod("cpu", pod_spec(0)),
    ])  # fmt: skip
    done = found["red/done"]
    assert (done["state"], done["outcome"], done["duration"], done["on_nodes"]) == (
        "ended",
        "Succeeded",
        4500.0,
        ["a1"],
    )
    assert found["red/bad"]["outcome"] == "Failed"
    assert (found["red/j"]["state"], found["red/j"]["gpus"], found["red/j"]["on_nodes"]) == ("running", 4, ["a2"])
    assert (found["red/gated"]["state"], found["red/gated"]["reason"]) == ("blocked", "gate example.com/gate")
    assert set(found) == {"red/done", "red/bad", "red/j", "red/gated"}


def kueue() -> list[Json]:
    """Workloads in each state; `one` is a Job of two pods, `two` of a PyTorchJob that is not there."""
    full = pod_spec(8, priorityClassName="high", priority=5)
    reserved = {"QuotaReserved": (True, 800, ""), "Admitted": (True, 700, "")}
    return [
        owned("Job", "one", spec={"parallelism": 2, "template": {"spec": full}}),
        workload("w-one", [(2, full)], owner=("Job", "one"), conditions=reserved, limit=3600, priority=7),
        *(pod(f"one-{at}", full, on=f"a{at}", owner=("Job", "one")) for at in (1, 2)),
        workload("w-two", [(1, pod_spec(1)), (3, pod_spec(2))], owner=("PyTorchJob", "two"),
                 conditions={"QuotaReserved": (False, 100, "couldn't assign flavors to pod set. More text.")}),
        workload("w-three", [(1, full)], owner=("Job", "three"), conditions={}, active=False),
        workload("w-four", [(1, full)], owner=("Job", "four"),
                 conditions={**reserved, "Finished": (True, 300, "Job finished")}),
        workload("w-five", [(1, full)], owner=("Job", "five"), conditions=reserved),
        owned("Job", "three", spec={"suspend": True, "template": {"spec": full}}),
        owned("LocalQueue", "team-red", spec={"clusterQueue": "gpus"}),
        owned("ClusterQueue", "gpus", spec={"resourceGroups": [{"flavors": [
            {"name": "a", "resources": [{"name": "cpu", "nominalQuota": 4}, {"name": GPU, "nominalQuota": "16"}]},
            {"name": "b", "resources": [{"name": GPU, "nominalQuota": 4}]}]}]}),
        owned("ClusterQueue", "lends", spec={"cohort": "all", "resourceGroups": []}),
        owned("Topology", "t", spec={"levels": [{"nodeLabel": "pool"}, {"nodeLabel": "kubernetes.io/hostname"}]}),
    ]  # fmt: skip


def test_workloads_of_kueue() -> None:
    snapshot = read_objects([*NODES, *kueue()], "test", now=NOW)
    jobs = {row["job"]: row for row in snapshot.jobs.iter_rows(named=True)}
    assert {name: (row["state"], row["gpus"], row["nodes"]) for name, row in jobs.items()} == {
        "red/w-one": ("running", 8, 2), "red/w-two": ("waiting", 7, 0), "red/w-three": ("blocked", 8, 1),
        "red/w-four": ("ended", 8, 1), "red/w-five": ("waiting", 8, 1),
    }  # fmt: skip
    one = jobs["red/w-one"]
    assert (one["team"], one["qos"], one["priority"], one["limit"], one["started"], one["name"]) == (
        "gpus", "high", 7.0, 3600.0, NOW - 700, "one"
    )  # fmt: skip
    assert (one["on_nodes"], one["on_gpus"]) == (["a1", "a2"], [8, 8])
    assert jobs["red/w-two"]["reason"] == "couldn't assign flavors to pod set"
    assert (jobs["red/w-four"]["duration"], jobs["red/w-four"]["outcome"]) == (400.0, "Succeeded")
    assert jobs["red/w-five"]["reason"] == "it is admitted, and its pods wait"
    assert snapshot.limits.select("scope", "owner", "gpus").rows() == [("team", "gpus", 20)]
    assert snapshot.nodes.filter(snapshot.nodes["node"] == "a2")["rack"].item() == "train"  # the level of the topology
    assert list(snapshot.unread) == [
        "1 ClusterQueue (lends): it may borrow quota in its cohort, so that its own is no limit",
    ]


def test_jobs_without_pods() -> None:
    template = {"template": {"spec": pod_spec(8)}}
    found = jobs_of([
        owned("Job", "waits", spec={**template, "parallelism": 2}),
        owned("Job", "held", spec={**template, "suspend": True}),
        owned("Job", "cpu", spec={"template": {"spec": pod_spec(0)}}),
        owned("Job", "done", spec=template, status={
            "startTime": date(900), "completionTime": date(500),
            "conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": date(500)}]}),
    ])  # fmt: skip
    shapes = {name: (row["state"], row["gpus"], row["nodes"], row["duration"]) for name, row in found.items()}
    assert shapes == {
        "red/waits": ("waiting", 8, 2, None), "red/held": ("blocked", 8, 1, None), "red/done": ("ended", 8, 1, 400.0)
    }  # fmt: skip


def test_odd_objects_are_left_out_by_themselves() -> None:
    bad_node = node("bad", {GPU: 8})
    bad_node["status"]["allocatable"][GPU] = "a few"
    bad_pod = pod("odd", pod_spec(1))
    bad_pod["spec"]["containers"] = 5
    both = pod("both", pod_spec(1))
    both["spec"]["containers"][0]["resources"]["limits"]["amd.com/gpu"] = 1
    found = read_objects([*NODES, bad_node, bad_pod, both, pod("good", pod_spec(1))], "test", now=NOW)
    assert found.jobs["job"].to_list() == ["red/good"]
    assert list(found.unread) == [
        "1 node (bad): `a few` is not a quantity",
        "1 pod (red/odd): `5` is not a list of objects",
        "1 job (red/both): it requests several kinds of GPUs: amd.com/gpu, nvidia.com/gpu",
    ]


def test_files_and_folders_of_kubectl(tmp_path: Path) -> None:
    objects = [*NODES, *kueue()]
    one, folder = tmp_path / "cluster.json", tmp_path / "saved"
    one.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    folder.mkdir()
    for kind in {thing["kind"] for thing in objects}:
        items = [{k: v for k, v in thing.items() if k != "kind"} for thing in objects if thing["kind"] == kind]
        (folder / f"{kind}.json").write_text(json.dumps({"apiVersion": "v1", "kind": f"{kind}List", "items": items}))
    whole = read_objects(objects, "test")
    assert whole.now == NOW  # the last sign of a node
    for path in (one, folder):
        found = read_snapshot(str(path), LIMITS)
        assert found.source == f"Kubernetes with Kueue: {path}"
        assert found.nodes.sort("node").drop("features").equals(whole.nodes.sort("node").drop("features"))
        assert found.jobs.sort("job").drop("features").equals(whole.jobs.sort("job").drop("features"))
    assert "red/w-two" in str(inspect(read_snapshot(str(one), LIMITS)))


def test_objects_of_several_lists_count_once() -> None:
    """`pods.json` beside a list of everything; a list of another time is said."""
    running = pod("r", pod_spec(4), on="a1")
    later = {**running, "status": {**running["status"], "phase": "Succeeded"}}
    once = read_objects([*NODES, running], "test", now=NOW)
    assert once.jobs["on_gpus"].to_list() == [[4]]
    said = ["1 pod (red/r): it was saved several times with other contents: the first one is used"]
    for more, unread in (([*NODES, running], []), ([later], said)):
        found = read_objects([*NODES, running, *more], "test", now=NOW)
        assert found.jobs.drop("features").equals(once.jobs.drop("features"))
        assert found.nodes.drop("features").equals(once.nodes.drop("features"))
        assert sorted(found.unread) == sorted([*once.unread, *unread])


def served(objects: list[Json], refused: Mapping[str, int]) -> KubernetesApi:
    """An API server with these objects, two of a list in each answer; paths that are refused have this status."""

    def send(method: str, path: str, headers: Mapping[str, str], body: Any) -> Answer:
        where, _, query = path.partition("?")
        kind = next(kind for kind, paths in LISTS.items() if where in paths)
        if where in refused:
            return Answer(refused[where], json.dumps({"message": f"no {where}"}).encode())
        items = [{k: v for k, v in thing.items() if k != "kind"} for thing in objects if thing["kind"] == kind]
        first = int(query.partition("continue=")[2] or 0)
        more = {"continue": str(first + 2)} if first + 2 < len(items) else {}
        return Answer(200, json.dumps({"items": items[first : first + 2], "metadata": more}).encode())

    return KubernetesApi(send)


def live(refused: Mapping[str, int]) -> ClusterSnapshot:
    return read_live_kubernetes(served([*NODES, *kueue()], refused), "config")


def test_a_live_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: NOW)
    whole, found = read_objects([*NODES, *kueue()], "config", now=NOW), live({})
    assert found.jobs.equals(whole.jobs)
    assert found.nodes.equals(whole.nodes)
    old = live({paths[0]: 404 for kind, paths in LISTS.items() if len(paths) > 1})  # an older Kueue
    assert old.jobs.equals(whole.jobs)
    none = live({path: 404 for kind, paths in LISTS.items() for path in paths if "k8s.io" in path})  # no Kueue
    assert none.jobs["job"].to_list() == ["red/one", "red/three"]
    assert not none.unread
    forbidden = live({paths[0]: 403 for kind, paths in LISTS.items() if kind == "Workload"})
    assert any(text.startswith("Workloads: ") and "no /apis/kueue" in text for text in forbidden.unread)


def test_an_idle_cluster() -> None:
    """A live cluster may have no jobs; saved objects without any are refused."""
    found = read_live_kubernetes(served(NODES, {}), "config")
    assert (found.source, found.jobs.height) == ("Kubernetes: config", 0)
    assert inspect(found).headline() == "0 jobs on 28 GPUs"
    assert 'driver = "kubernetes"' in model_folder(found).files["cluster.toml"]


@pytest.mark.parametrize("kind", ["Node", "Pod"])
@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_cluster_that_cannot_be_read(kind: str, status: int) -> None:
    with pytest.raises(Unreadable) as raised:
        live({LISTS[kind][0]: status})
    assert raised.value.faults[0].code == "GSM5603"


def test_a_kubeconfig_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: k\n  cluster: {server: 'http://127.0.0.1:9'}\n"
        "contexts:\n- name: c\n  context: {cluster: k, user: u}\nusers:\n- name: u\n  user: {}\n"
    )
    with pytest.raises(Unreadable) as raised:
        read_snapshot(str(path), LIMITS)
    assert raised.value.faults[0].code == "GSM5603"
    assert "does not answer" in raised.value.faults[0].notes[0]
    server = {"name": "k", "cluster": {"server": "http://127.0.0.1:9"}}
    context = {"name": "c", "context": {"cluster": "k", "user": "u"}}
    document = {"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [server],
                "contexts": [context], "users": [{"name": "u", "user": {}}]}  # fmt: skip
    for text in (json.dumps(document), json.dumps(document, indent=1), json.dumps(document, separators=(",", ":"))):
        path.write_text(text)
        with pytest.raises(Unreadable, match="cannot be read"):
            read_snapshot(str(path), LIMITS)
    path.write_text("kind: Config\nclusters: [}\n")
    with pytest.raises(Unreadable) as raised:
        read_snapshot(str(path), LIMITS)
    assert "kubeconfig: cannot be used" in raised.value.faults[0].notes[0]


PROGRAM = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [RAN], interactiveMode: Never}}"
OLD_PROGRAM = "{auth-provider: {name: gcp, config: {cmd-path: touch, cmd-args: RAN}}}"


@pytest.mark.parametrize(
    ("user", "what"),
    [
        (PROGRAM, "starts a program"),
        (OLD_PROGRAM, "starts a program"),
        ("{tokenFile: RAN}", "other files"),
        ("{client-certificate: RAN, client-key: RAN}", "other files"),
    ],
)
@pytest.mark.parametrize("kind", ["yaml", "anchored", "json"])
def test_data_that_turn_out_to_be_a_kubeconfig_start_no_program(
    user: str, what: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the kubeconfig of `kubectl`, and one that the user states, may do what a kubeconfig can."""
    ran, path = tmp_path / "ran", tmp_path / "jobs.txt"
    users = (
        f"- name: u\n  user: {user}\n"
        if kind != "anchored"
        else f"- &a {{name: u, user: {user}}}\n- {{<<: *a, name: v}}\n"
    )
    text = (
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: k\n  cluster: {server: 'http://127.0.0.1:9'}\n"
        f"contexts:\n- name: c\n  context: {{cluster: k, user: u}}\nusers:\n{users}"
    ).replace("RAN", str(ran))
    path.write_text(json.dumps(yaml.safe_load(text)) if kind == "json" else text)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(Unreadable) as raised:
        read_snapshot(str(path), LIMITS)
    assert what in raised.value.faults[0].message
    assert not ran.exists()
    for stated in ("as", "variable"):
        if stated == "variable":
            monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'none'}:{path}")
        with pytest.raises(Unreadable) as raised:
            read_snapshot(str(path), LIMITS, form="kubeconfig" if stated == "as" else None)
        assert "cannot be read" in raised.value.faults[0].message
        assert ran.exists() == (user in (PROGRAM, OLD_PROGRAM))
        ran.unlink(missing_ok=True)


def test_a_cluster_by_its_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the client and HTTP, with a token that the server wants. The file is written where `kubectl` has another."""
    api = served([*NODES, *kueue()], {})

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            allowed = self.headers["Authorization"] == "Bearer secret"
            answer = api.send("GET", self.path, {}, None) if allowed else Answer(401, b"{}")
            self.send_response(answer.status)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *about: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        path = tmp_path / "config"
        path.write_text(
            f"apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: k\n"
            f"  cluster: {{server: 'http://127.0.0.1:{server.server_port}'}}\n"
            "contexts:\n- name: c\n  context: {cluster: k, user: u}\nusers:\n- name: u\n  user: {token: secret}\n"
        )
        found = read_snapshot(str(path), LIMITS)
        usual = tmp_path / ".kube" / "config"
        usual.parent.mkdir()
        usual.write_text(path.read_text())
        monkeypatch.setenv("HOME", str(tmp_path))
        same = read_snapshot(str(usual), LIMITS)
        assert main(["drive", "--init", "kueue", str(tmp_path / "usual")]) == 0
        usual.unlink()
        several = f"{tmp_path / 'none'}:{path}"  # several files, as `kubectl` takes them; the client reads it once
        monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", several)
        assert main(["drive", "--init", "kubernetes", str(tmp_path / "several")]) == 0
        server.shutdown()
    assert "kubeconfig" not in same.driver_settings
    for folder in ("usual", "several"):
        assert "\nkubeconfig" not in (tmp_path / folder / "cluster.toml").read_text()
        assert (tmp_path / folder / "jobs.csv").read_text().count("\n") == 4
    written = tomllib.loads(model_folder(found).files["cluster.toml"])
    assert (written["driver"], written["kueue"]["kubeconfig"]) == ("kueue", str(path))
    assert found.jobs.height == 5
    assert not found.files  # a hash of secrets is not kept
    assert found.now > 1_700_000_000


def test_objects_without_jobs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": NODES}))
    with pytest.raises(Unreadable, match="has no pods, jobs or Workloads"):
        read_snapshot(str(path), LIMITS)


@pytest.mark.parametrize(
    ("nodes", "settings"),
    [
        (NODES[:3], {}),
        (NODES[:4], {"resource": [GPU, "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb"]}),
        (NODES[3:4], {"resource": [GPU, "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb"]}),
        (NODES[4:5], {"resource": "amd.com/gpu", "type_label": "amd.com/gpu.product-name"}),
        (
            [node("g", {GPU: 8}, labels={"cloud.google.com/gke-accelerator": "L4"})],
            {"type_label": "cloud.google.com/gke-accelerator"},
        ),
        ([node("both", {GPU: 8, "amd.com/gpu": 4}, product="A100")], {}),  # places of both would have one name
    ],
)
def test_a_driver_reads_the_nodes_that_were_written(nodes: list[Json], settings: dict[str, Any]) -> None:
    """The cluster file says which resources and labels; names, types and GPUs are the same."""
    files = model_folder(read_objects([*nodes, pod("p", pod_spec(1))], "test", now=NOW)).files
    assert {k: v for k, v in tomllib.loads(files["cluster.toml"])["kubernetes"].items() if k != "scheduler"} == settings
    written = {
        row["node"]: (row["gpu_type"], int(row["gpus"])) for row in csv.DictReader(io.StringIO(files["nodes.csv"]))
    }
    gpus = selection_of(settings).gpus
    seen = [place for one in nodes for place in observed_places(one, gpus)]
    assert {one.name: (one.gpu_type, one.gpus) for one in seen if one.gpus}.items() <= written.items()
    assert len(written) == len([one for one in seen if one.gpus]) + (nodes[0]["metadata"]["name"] == "both")


@pytest.mark.parametrize("counts", [(0, 0), (1, 0), (0, 2)])
def test_pod_sets_without_pods(counts: tuple[int, int]) -> None:
    """They demand nothing: no GPUs, no type, no other resource."""
    sets = [
        pod_spec(1),
        pod_spec(1, resource="nvidia.com/mig-1g.10gb"),
        pod_spec(8, nodeSelector={"nvidia.com/gpu.product": "H100"}),
    ]
    numbers = (counts[0], 0, counts[1])
    conditions = {"QuotaReserved": (False, 10, "no quota")}
    one = workload("w", [*zip(numbers, sets, strict=True)], owner=("Job", "j"), conditions=conditions)
    found = {name: (row["gpus"], row["nodes"], row["gpu_types"]) for name, row in jobs_of([one]).items()}
    expected = {(1, 0): (1, 1, []), (0, 2): (8, 2, ["H100"])}
    assert found == ({"red/w": expected[counts]} if counts in expected else {})
