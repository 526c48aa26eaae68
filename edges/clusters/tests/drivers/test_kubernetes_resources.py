"""MIG profiles and time slices are places of their own on a node: jobs that request them run there and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from drive_files import MODEL, run_driver, write_files
from kueue_in_memory import KueueInMemory
from test_kubernetes_objects import GPU, node
from test_kubernetes_placing import FILE, ServerInMemory, wanted

from gsdsl_clusters.drivers.kubernetes.api import KubernetesApi
from gsdsl_clusters.drivers.kubernetes.kueue import KueueCluster
from gsdsl_clusters.drivers.kubernetes.objects import Gpus
from gsdsl_clusters.drivers.kubernetes.scheduler import PodScheduler
from gsdsl_clusters.drivers.kubernetes.settings import Selection, check_settings, selection_of
from gsdsl_clusters.drivers.protocol import Action, ActionKind, JobState

MIG, SHARED = "nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared"
CHOSEN = Selection(gpus=Gpus(others=(MIG, SHARED)))
PLACES = MODEL.replace("{ g1, g2 }", '{ g1, "g1:mig-1g.5gb", g2, "g2:gpu.shared" }')
Json = dict[str, Any]


def nodes() -> list[Json]:
    """A node with GPUs and slices of others, and one with GPUs and time slices."""
    found = [node("g1", 4), node("g2", 4)]
    found[0]["status"]["allocatable"][MIG] = "4"
    found[1]["status"]["allocatable"][SHARED] = "4"
    return found


def slices(name: str, resource: str, number: int, where: str = "") -> Json:
    found = wanted(name, 1, **({"node": where, "phase": "Running"} if where else {}))
    found["spec"]["containers"][0]["resources"] = {"limits": {resource: str(number)}}
    return found


def scheduler(server: ServerInMemory) -> Any:
    cluster: Any = PodScheduler(KubernetesApi(server.send), CHOSEN, now=server.now)
    cluster.sleep = server.sleep
    return cluster


def test_places_and_misfits() -> None:
    server = ServerInMemory(nodes(), [slices("a", MIG, 2), slices("b", SHARED, 1, "g2"), wanted("c", 2)])
    seen = scheduler(server).observe()
    assert {name: (one.gpus, one.gpu_type) for name, one in seen.nodes.items()} == {
        "g1": (4, "H200"), "g1:mig-1g.5gb": (4, "mig-1g.5gb"), "g2": (4, "H200"), "g2:gpu.shared": (4, "gpu.shared"),
    }  # fmt: skip
    a, b, c = (seen.jobs[f"ml/{name}/{name}-012345"] for name in "abc")
    assert (a.gpus, a.misfits.keys()) == (2, {"g1", "g2", "g2:gpu.shared", "g2:mig-1g.5gb"})
    assert b.allocation == {"g2:gpu.shared": 1}
    assert c.misfits.keys() == {"g1:mig-1g.5gb", "g2:gpu.shared"}


def test_jobs_of_each_resource_run_beside_each_other(tmp_path: Path) -> None:
    """Whole nodes, all slices of a profile twice, and time slices: only the second job of the profile waits."""
    pods = [wanted("a", 4), slices("b", MIG, 4), wanted("c", 4), slices("d", SHARED, 4), slices("e", MIG, 4)]
    server = ServerInMemory(nodes(), pods)

    def end() -> None:
        assert server.bound[-1][0] != "e"
        server.pods["b"]["status"]["phase"] = "Succeeded"

    server.at.append((60, end))
    told: list[Any] = []
    run_driver(write_files(tmp_path, PLACES, FILE), scheduler(server), 25, told=told)
    where = dict(server.bound)
    assert {where["a"], where["c"]} == {"g1", "g2"}
    assert (where["b"], where["d"], where["e"]) == ("g1", "g2", "g1")
    assert not [one.message for one in told if one.code in ("GSM5407", "GSM5408")]


@pytest.mark.parametrize("kind", ["pod", "role"])
def test_several_resources_in_one_job_are_left_out(kind: str) -> None:
    one = slices("a", MIG, 1)
    if kind == "pod":
        one["spec"]["containers"].append({"resources": {"limits": {GPU: "1"}}})
        seen = scheduler(ServerInMemory(nodes(), [one])).observe()
    else:
        server = KueueInMemory(nodes())
        server.submit("w", ("leader", 1, 1), ("workers", 1, 1))
        template = server.workloads["w"]["spec"]["podSets"][0]["template"]
        template["spec"]["containers"][0]["resources"] = {"limits": {MIG: "1"}}
        seen = KueueCluster(server.api, CHOSEN).observe()
    (job,) = seen.jobs.values()
    assert "GPUs of several resources" in job.unsupported


@pytest.mark.parametrize("binder", ["gpusched-dsl", "default-scheduler"])
def test_slices_with_kueue(binder: str) -> None:
    server = KueueInMemory(nodes())
    job = server.submit("w", ("main", 2, 1), scheduler=binder)
    template = server.workloads["w"]["spec"]["podSets"][0]["template"]
    template["spec"]["containers"][0]["resources"] = {"limits": {MIG: "1"}}
    cluster = KueueCluster(server.api, CHOSEN, now=server.now)
    place = {"g1:mig-1g.5gb": 2}
    server.step()
    cluster.act(Action(ActionKind.START, job, place))
    assert cluster.observe().jobs[job].pinned == tuple(place)
    server.step()
    if binder == "gpusched-dsl":
        cluster.act(Action(ActionKind.START, job, place))
        assert {where for _, where in server.bound} == {"g1"}
    seen = cluster.observe().jobs[job]
    assert (seen.state, seen.allocation) == (JobState.RUNNING, place)


def test_the_setting() -> None:
    check_settings({"resource": [GPU, MIG]}, {}, ())
    assert selection_of({"resource": [GPU, MIG]}).gpus == Gpus(GPU, others=(MIG,))
    for wrong in ([], [GPU, ""], [GPU, 3], ["nvidia.com/gpu", "amd.com/gpu"]):
        with pytest.raises(ValueError, match="resource: must be names that differ"):
            check_settings({"resource": wrong}, {}, ())
    with pytest.raises(ValueError, match="must be a text or a list of texts"):
        check_settings({"resource": 3}, {}, ())
