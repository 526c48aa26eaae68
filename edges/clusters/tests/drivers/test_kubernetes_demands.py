"""What pods and Workloads demand of their nodes is shown to the run, as it is now; gates of others are obeyed."""

from __future__ import annotations

from typing import Any

import pytest
from test_kubernetes_dirt import api_of, full_node, full_pod, objects, observe
from test_kubernetes_objects import GPU, a_job, a_workload, node, pod

from gsdsl_clusters.drivers.kubernetes.api import Answer, KubernetesApi
from gsdsl_clusters.drivers.kubernetes.kueue import KueueCluster
from gsdsl_clusters.drivers.protocol import ClusterUnavailable, JobState

Json = dict[str, Any]
NAME = "ml/p/p-012345"


def misfits(one: Json, nodes: list[Json], others: tuple[Json, ...] = ()) -> dict[str, str]:
    one["spec"]["schedulerName"] = "gpusched-dsl"
    seen = observe("kubernetes", {"nodes": nodes, "pods": [one, *others], "jobs": []})
    assert seen.jobs[NAME].state is JobState.PENDING
    return dict(seen.jobs[NAME].misfits)


def small(cpu: str, name: str = "other", where: str = "g1", phase: str = "Running") -> Json:
    """A pod without GPUs, which other people run."""
    found = pod(name, 0, where, phase)
    found["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return found


@pytest.mark.parametrize(
    ("more", "nodes", "reasons"),
    [
        ({"nodeSelector": {"nvidia.com/gpu.product": "A100"}}, {}, {"g1": "nvidia.com/gpu.product=A100"}),
        ({}, {"taints": [{"key": "team", "effect": "NoSchedule"}]}, {"g1": "taint team"}),
        ({"tolerations": [{"operator": "Exists"}]}, {"taints": [{"key": "team", "effect": "NoSchedule"}]}, {}),
        ({}, {"taints": [{"key": "team", "effect": "PreferNoSchedule"}]}, {}),
        ({}, {}, {}),
    ],
)
def test_demands_of_a_pod(more: Json, nodes: Json, reasons: dict[str, str]) -> None:
    second = node("g2", labels={"nvidia.com/gpu.product": "A100"})
    found = misfits(pod(**more), [node("g1", **nodes), second])
    assert found.keys() == reasons.keys()
    assert all(words in found[name] for name, words in reasons.items())


def test_other_pods_take_their_share_while_they_run() -> None:
    """CPU that others use is not free, also that of pods without GPUs; the node is free again when they end."""
    wanted = pod()
    wanted["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2"
    nodes = [node("g1"), node("g2")]
    assert misfits(wanted, nodes) == {}
    assert "2 are needed" in misfits(wanted, nodes, (small("3"),))["g1"]
    assert misfits(wanted, nodes, (small("3", where="g2"),)).keys() == {"g2"}
    assert misfits(wanted, nodes, (small("3", phase="Succeeded"),)) == {}
    assert misfits(wanted, nodes, (small("2"),)) == {}


def test_gpus_are_left_to_the_plan_but_for_the_size_of_a_node() -> None:
    busy = pod("busy", 8, "g1", "Running")
    assert misfits(pod(gpus=8), [node("g1")], (busy,)) == {}
    assert f"8 of {GPU} free, and 9 are needed" in misfits(pod(gpus=9), [node("g1")])["g1"]


def test_devices_by_another_name_are_demands() -> None:
    sliced = pod()
    sliced["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/mig-1g.5gb"] = "1"
    assert "nvidia.com/mig-1g.5gb" in misfits(sliced, [node("g1")])["g1"]
    own = node("g2")
    own["status"]["allocatable"]["nvidia.com/mig-1g.5gb"] = "7"
    assert misfits(sliced, [node("g1"), own]).keys() == {"g1"}


def test_gates_and_ports_of_a_pod() -> None:
    gated = pod(schedulingGates=[{"name": "example.com/quota"}], schedulerName="gpusched-dsl")
    seen = observe("kubernetes", {"nodes": [node()], "pods": [gated], "jobs": []}).jobs[NAME]
    assert (seen.state, seen.reason) == (JobState.BLOCKED, "it has the scheduling gate example.com/quota")
    ports = pod(schedulerName="gpusched-dsl")
    ports["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    seen = observe("kubernetes", {"nodes": [node()], "pods": [ports], "jobs": []}).jobs[NAME]
    assert seen.unsupported == "it asks for a port of its node"


def test_a_cordoned_node_starts_nothing_and_keeps_its_jobs() -> None:
    nodes = [node("g1", unschedulable=True), node("g2")]
    nodes[1]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    seen = observe("kubernetes", {"nodes": nodes, "pods": [], "jobs": []}).nodes
    assert (seen["g1"].up, seen["g1"].drains) == (False, True)
    assert (seen["g2"].up, seen["g2"].drains) == (False, False)


def test_a_workload_waits_for_the_checks_of_others_and_shows_its_misfits() -> None:
    lists = objects()
    first = lists["workloads"][0]
    lists["nodes"].append(full_node("g3"))
    lists["nodes"][2]["metadata"]["labels"]["zone"] = "b"
    assert observe("kueue", lists).jobs["ml/w0/0-w12345"].misfits.keys() == {"g3"}
    first["status"]["admissionChecks"] = [{"name": "budget", "state": "Pending"}]
    seen = observe("kueue", lists).jobs["ml/w0/0-w12345"]
    assert (seen.state, seen.reason) == (JobState.BLOCKED, "the admission check budget has not agreed")
    first["status"]["admissionChecks"][0]["state"] = "Ready"
    assert observe("kueue", lists).jobs["ml/w0/0-w12345"].state is JobState.PENDING


def test_the_flavor_of_a_workload_is_a_demand() -> None:
    """Kueue lets a pod set of a flavor run only on its nodes, here those with `zone: a`."""
    lists = objects()
    template = full_pod()
    template["spec"] |= {"nodeSelector": {}, "affinity": {}}
    lists["workloads"][0]["spec"]["podSets"][0]["template"] = template
    lists["nodes"][1]["metadata"]["labels"]["zone"] = "b"
    assert observe("kueue", lists).jobs["ml/w0/0-w12345"].misfits.keys() == {"g2"}


TYPE = "nvidia.com/gpu.product"


def affinity(*terms: dict[str, list[str]], operator: str = "In") -> Json:
    found = [{"matchExpressions": [{"key": key, "operator": operator, "values": values} for key, values in one.items()]}
             for one in terms]  # fmt: skip
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": found}}
    return {"affinity": {"nodeAffinity": rule}}


@pytest.mark.parametrize(
    ("demand", "wanted"),
    [
        ({}, ""),
        ({"nodeSelector": {TYPE: "A100"}}, "A100"),
        ({"nodeSelector": {"zone": "a"}}, ""),
        (affinity({TYPE: ["A100"]}), "A100"),
        (affinity({"zone": ["a"], TYPE: ["A100"]}, {TYPE: ["A100"], "zone": ["b"]}), "A100"),
        (affinity({TYPE: ["A100", "H200"]}), ""),
        (affinity({TYPE: ["A100"]}, {TYPE: ["H200"]}), ""),
        (affinity({TYPE: ["A100"]}, {"zone": ["a"]}), ""),
        (affinity({TYPE: ["A100"]}, operator="NotIn"), ""),
    ],
)
def test_the_type_that_pods_select(demand: Json, wanted: str) -> None:
    """Of Workloads and of pods; a job whose pods select different types has none."""
    lists = objects()
    one = pod(schedulerName="gpusched-dsl", **demand)
    workload = lists["workloads"][2]
    workload["spec"]["podSets"][0]["template"] = one
    lists |= {"pods": [one], "jobs": [], "nodes": [node("g1"), node("g2", labels={TYPE: "A100"})]}
    assert observe("kubernetes", lists).jobs[NAME].fields["gpu_type"] == wanted
    assert observe("kueue", lists).jobs["ml/w2/2-w12345"].fields["gpu_type"] == wanted
    other = pod(nodeSelector={TYPE: "V100"}, schedulerName="gpusched-dsl")
    workload["spec"]["podSets"].append({"name": "other", "count": 1, "template": other})
    assert observe("kueue", lists).jobs["ml/w2/2-w12345"].fields["gpu_type"] == ""


def test_the_queue_of_a_workload_that_waits() -> None:
    """Its ClusterQueue is that of its LocalQueue, in its namespace; a role without the right leaves it unknown."""
    lists = objects()
    lists["localqueues"].insert(0, {"metadata": {"name": "q", "namespace": "other"}, "spec": {"clusterQueue": "no"}})

    def queue(status: int = 200) -> Any:
        api = api_of(lists)

        def send(method: str, path: str, headers: Any, body: Any) -> Answer:
            refused = status != 200 and path.split("?")[0].endswith("/localqueues")
            return Answer(status, b"{}") if refused else api.send(method, path, headers, body)

        return KueueCluster(KubernetesApi(send)).observe().jobs["ml/w2/2-w12345"].fields["cluster_queue"]

    assert (queue(), queue(403), queue(404)) == ("cq", "", "")
    with pytest.raises(ClusterUnavailable):
        queue(500)  # a change of the team would follow


@pytest.mark.parametrize(("kind", "version", "plural"), [("Job", "batch/v1", "jobs"),
                                                         ("RayCluster", "ray.io/v1", "rayclusters")])  # fmt: skip
def test_pods_belong_to_the_workload_of_the_owner_of_their_controller(kind: str, version: str, plural: str) -> None:
    """As of a JobSet or a RayJob, also without an annotation of the pods; by roles that do not permit it, of nobody."""
    workload, inner, other = a_workload("QuotaReserved", "Admitted"), a_job(), a_job()
    workload["metadata"]["ownerReferences"] = [{"uid": "outer-1", "kind": "Outer", "controller": True}]
    inner["metadata"]["ownerReferences"] = [{"uid": "outer-1", "kind": "Outer", "controller": True}]
    other["metadata"] |= {"uid": "v-123456789", "ownerReferences": []}
    pods = [pod("a", 2, "g1", "Running", "u-123456789"), pod("b", 2, "g2", "Running", "v-123456789")]
    for one in pods:
        one["metadata"]["ownerReferences"][0] |= {"kind": kind, "apiVersion": version}
    lists = {"nodes": [node("g1"), node("g2")], "pods": pods, "workloads": [workload],
             "localqueues": [], plural: [inner, other]}  # fmt: skip
    seen = observe("kueue", lists).jobs
    assert (seen["ml/w/w-123456"].allocation, seen["ml/w/w-123456"].state) == ({"g1": 2}, JobState.RUNNING)
    assert [(job.name, job.allocation) for job in seen.values() if job.unsupported] == [("ml/b/b-012345", {"g2": 2})]
    api = api_of(lists)

    def send(method: str, path: str, headers: Any, body: Any) -> Answer:
        refused = path.split("?")[0].endswith(f"/{plural}")
        return Answer(403, b"{}") if refused else api.send(method, path, headers, body)

    unseen = KueueCluster(KubernetesApi(send)).observe().jobs
    assert unseen["ml/w/w-123456"].allocation == {}
    assert sum(sum(job.allocation.values()) for job in unseen.values()) == 4
