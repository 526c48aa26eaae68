"""Our Kueue with multi-node jobs: from a clean folder to a believed shadow report, and on to gangs that are bound.

The commands are those of docs/kubernetes.md, on a real API server with Kueue's published definitions. `gsdsl` has the
rights of `deploy/` only. Stand-ins play Kueue's controller, those of jobs, the default scheduler and kubelets.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kubernetes", reason="the extra `kubernetes` is not installed")

from kubernetes_commands import Commands, wait_for
from kubernetes_service import DEPLOY, NEEDS_KUBERNETES, KubernetesService, kubernetes_service
from multi_node_jobs import (
    GPU,
    KINDS,
    QUEUE,
    TYPE,
    Controllers,
    Job,
    define_controllers,
    define_queue,
    submit,
    time_of,
)
from small_queue import Run, simulate

from gpusched_dsl.language.pages import read_page
from gsdsl_clusters.drivers.drive import HISTORY
from gsdsl_clusters.drivers.kubernetes.dates import seconds
from gsdsl_clusters.drivers.kubernetes.objects import annotations_of, condition, labels, metadata, node_of, status
from gsdsl_clusters.drivers.kubernetes.workloads import GROUP, NODES, check_of
from gsdsl_clusters.drivers.records import read_records

NEEDS_KUBECTL = pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl: package kubernetes-client")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000), NEEDS_KUBERNETES, NEEDS_KUBECTL]
PAGE = read_page("kubernetes") + "\n" + read_page("kubernetes_in_detail")
# Pods of a type have one size, which divides the node: what fits by number fits on nodes.
TYPES = {"h200": (3, 8, 8), "a100": (2, 8, 4), "v100": (2, 4, 2)}  # nodes, GPUs of a node, GPUs of a pod
NODE_NAMES = {f"{kind[0]}{number}": kind for kind, (nodes, _, _) in TYPES.items() for number in range(1, nodes + 1)}
GPUS = {kind: nodes * gpus for kind, (nodes, gpus, _) in TYPES.items()}
Json = dict[str, Any]


def commands_of_page() -> dict[str, str]:
    """The commands of the page with Kueue, by what they do."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    words = {"look": "inspect kubeconfig", "write": "--write", "check": "--check", "watch": "drive cluster.toml\n",
             "report": "--report", "act": "--act"}  # fmt: skip
    lines = [line for block in blocks for line in block.splitlines()]
    return {name: next(line for line in lines if line.startswith("gsdsl") and word in f"{line}\n")
            for name, word in words.items()}  # fmt: skip


def kubectl_of_page(section: str) -> list[str]:
    text = PAGE[PAGE.index(f"\n## {section}\n") :].split("\n## ", 2)[1]
    return [line for line in text.splitlines() if line.startswith("kubectl ")]


@dataclass
class World:
    """The cluster, the commands of the page, and the folder in which a user begins."""

    service: KubernetesService
    shell: Commands
    began: float

    @property
    def ours(self) -> Path:
        return self.shell.folder / "ours"

    def workload(self, job: Job) -> Json:
        name = f"{job.kind.lower()}-{job.name}"
        return self.service.admin.get(f"{GROUP}/namespaces/{job.namespace}/workloads/{name}")

    def pods(self, job: Job) -> list[Json]:
        found = self.service.admin.list(f"/api/v1/namespaces/{job.namespace}/pods")
        return [pod for pod in found if labels(pod).get("test/of") == f"{job.kind.lower()}-{job.name}"]

    def wait(self, what: str, jobs: Sequence[Job], log: Path, limit: float = 600.0) -> None:
        """Wait until a condition of the Workloads of all jobs is true."""
        wait_for(lambda: all(condition(self.workload(job), what) for job in jobs), log, limit)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, user = tmp_path_factory.mktemp("walk"), tmp_path_factory.mktemp("user")
    with kubernetes_service(folder) as service:
        service.define_kueue()
        define_controllers(service)
        define_queue(service, GPUS, ("ml", "vision"))
        for name, kind in NODE_NAMES.items():
            service.add_node(name, TYPES[kind][1], {TYPE: kind})
        shutil.copy(service.kubeconfig, user / "kubeconfig")
        (user / "kubeconfig").chmod(0o600)
        (user / "deploy").symlink_to(DEPLOY)
        yield World(service, Commands(user, folder / "admin.yaml"), time.monotonic())


def drawn_jobs(count: int, seed: int, scheduler: str = "default-scheduler") -> list[Job]:
    """Jobs of one to four pods, of all kinds and types, with limits above their lengths."""
    rng, found = random.Random(seed), []
    for number in range(count):
        kind = rng.choice(list(TYPES))
        length = rng.randint(4, 12)
        found.append(Job(
            f"t{number:02d}", rng.choice(list(KINDS)), rng.randint(1, 3 if kind == "h200" else 4), TYPES[kind][2], kind,
            length, int(length * rng.choice([1.5, 3.0])), rng.choice(["ml", "vision"]), scheduler,
        ))  # fmt: skip
    return found


def submit_each_second(world: World, jobs: Sequence[Job]) -> dict[str, Job]:
    """Submit jobs with different times of creation, which have full seconds; return them by name for the driver."""
    found = {}
    for job in jobs:
        found[submit(world.service.admin, job)] = job
        time.sleep(1.1)
    return found


def test_look_and_write_a_model(world: World) -> None:
    """While gangs run and wait, the reasons are in words of nodes, GPUs and types."""
    page = commands_of_page()
    for command in kubectl_of_page("From nothing to a report"):
        world.shell.kubectl(command)
    runs = [Job("big", "JobSet", 2, 8, "h200", 1e6, 7200), Job("vis", "PyTorchJob", 3, 4, "a100", 1e6, 7200, "vision")]
    waits = [Job("next", "PyTorchJob", 2, 8, "h200", 1e6, 7200), Job("last", "Job", 2, 4, "a100", 1e6, 7200)]
    controllers = Controllers(world.service.admin)
    with controllers:
        submit_each_second(world, [*runs, *waits])
        log = world.service.folder / "kube-apiserver.log"
        wait_for(lambda: all(node_of(pod) for job in runs for pod in world.pods(job))
                 and sum(len(world.pods(job)) for job in runs) == 6, log)  # fmt: skip
        shown = world.shell.gsdsl(page["look"])
        assert "28 of 48 GPUs are in use" in shown, shown
        words = " ".join(shown.split())
        print(shown)
        assert re.search("needs 2 nodes .{0,40}8 GPUs", words), shown
        assert re.search("needs 8 GPUs|needs 2 nodes .{0,40}4 GPUs", words), shown
        assert "not read" not in words, shown
        for kind in TYPES:
            assert re.search(rf"^ +{kind} +{TYPES[kind][0]} +{GPUS[kind]} ", shown, re.MULTILINE), shown
        world.shell.gsdsl(page["write"])
        settings = (world.ours / "cluster.toml").read_text()
        assert settings.startswith('driver = "kueue"')
        assert f'kubeconfig = "{world.shell.folder / "kubeconfig"}"' in settings
        checked = world.shell.gsdsl(page["check"], world.ours)
        assert "nodes: 7, 7 of them up with 48 GPUs" in checked
        assert "left out" not in checked, checked
    for job in [*runs, *waits]:  # their ends are not part of the report
        world.service.admin.delete(
            f"{GROUP}/namespaces/{job.namespace}/workloads/{job.kind.lower()}-{job.name}", {"gracePeriodSeconds": 0}
        )
        for pod in world.pods(job):
            known = metadata(pod)
            path = f"/api/v1/namespaces/{known['namespace']}/pods/{known['name']}"
            world.service.admin.delete(path, {"gracePeriodSeconds": 0})


def test_the_shadow_report_is_right(world: World) -> None:
    """Watch while Kueue runs 24 jobs, first in, first out; the report has the figures of an own simulation."""
    page, jobs = commands_of_page(), drawn_jobs(24, 2)
    text = (world.ours / "cluster.toml").read_text()
    (world.ours / "cluster.toml").write_text(re.sub(r"interval = \d+ ", "interval = 1 ", text))
    with world.shell.running(page["watch"], "shadow", world.ours) as log, Controllers(world.service.admin) as played:
        names = submit_each_second(world, jobs[:1])
        wait_for(lambda: "would start job" in log.read_text(), log)  # its first plan compiles the method
        names |= submit_each_second(world, jobs[1:])
        world.wait("Finished", jobs, log)

        def is_recorded() -> bool:
            lines = list(read_records(world.ours / "shadow" / HISTORY))
            return {line["job"] for line in lines if line.get("state") == "done"} >= names.keys()

        wait_for(is_recorded, log)
        shown_watch = log.read_text()
    assert played.overloaded == []
    assert "would start job" in shown_watch
    shown = world.shell.gsdsl(page["report"], world.ours)
    world.shell.seconds["all until the report"] = time.monotonic() - world.began
    print(shown)
    assert f"compared: {len(jobs)} jobs" in shown
    assert "left out" not in shown
    runs = [observed_run(world, job) for job in jobs]
    rows = rows_of(shown)
    assert list(rows) == ["cluster", "EASY", "FIFO", "SlurmFairShare"]
    own = {"cluster": figures(runs)}
    for method, rule in (("FIFO", "strict"), ("SlurmFairShare", "greedy"), ("EASY", "easy")):
        own[method] = figures(simulated(runs, rule))
    print(own)
    for method in ("cluster", "FIFO", "SlurmFairShare"):
        completion, wait = rows[method]
        assert (completion, wait) == (pytest.approx(own[method][0], rel=2e-3), pytest.approx(own[method][1], rel=2e-3))
    # no queue saves what cannot be saved: EASY reserves nodes, and the simulation numbers of GPUs
    (bound,) = re.findall(r"mean completion at least ([0-9.]+) h", shown)
    assert float(bound) <= min(completion for completion, _ in [*own.values(), *rows.values()]) + 1e-9
    assert float(bound) >= sum(run.length for run in runs) / len(runs) / 3600 * 0.999
    assert rows["EASY"][0] == pytest.approx(own["EASY"][0], rel=0.25)
    assert rows["EASY"][0] < rows["cluster"][0]
    assert (world.ours / "report.html").stat().st_size > 100_000


def observed_run(world: World, job: Job) -> Run:
    """What the API server shows about a job that has ended."""
    one = world.workload(job)
    created = seconds(metadata(one)["creationTimestamp"])
    assert created is not None
    start, end = time_of(one, "Admitted"), time_of(one, "Finished")
    return Run(created, job.gpu_type, job.pods * job.gpus, end - start, float(job.limit), start)


def simulated(runs: Sequence[Run], rule: str) -> list[Run]:
    found = [replace(run, start=None) for run in runs]
    simulate(found, GPUS, rule)
    return found


def figures(runs: Sequence[Run]) -> tuple[float, float]:
    """Mean time to completion and mean wait, in hours."""
    wait = sum((run.start or 0.0) - run.arrival for run in runs) / len(runs) / 3600
    return wait + sum(run.length for run in runs) / len(runs) / 3600, wait


def rows_of(shown: str) -> dict[str, tuple[float, float]]:
    """Mean completion and mean wait in hours, by method, as the table of the report shows them."""
    lines = shown.splitlines()
    head = next(at for at, line in enumerate(lines) if line.strip().startswith("method"))
    columns = re.split(r"  +", lines[head].strip())
    assert (columns[1], columns[3]) == ("mean completion [h]", "mean wait [h]")
    found = {}
    for line in lines[head + 2 :]:
        if not line.strip():
            break
        words = line.replace("*", " ").split()
        found[words[0]] = float(words[1]), float(words[3])
    return found


def test_gangs_are_bound_to_the_nodes_of_the_plan(world: World) -> None:
    """With quota for all, the plan alone decides: pods of a gang are bound to its nodes, one by one, by the account."""
    page, jobs = commands_of_page(), drawn_jobs(12, 5, "gpusched-dsl")
    jobs = [replace(job, name=job.name.replace("t", "u")) for job in jobs]
    jobs.append(Job("plain", "Job", 1, 2, "v100", 4, 60))  # of the default scheduler: it gets a selector of its node
    for command in kubectl_of_page("Acting with Kueue"):
        world.shell.kubectl(command)
    allow_all(world)
    text = (world.ours / "cluster.toml").read_text()
    (world.ours / "cluster.toml").write_text('folder = "acting"\n' + text)
    with world.shell.running(page["act"], "acting", world.ours) as log, Controllers(world.service.admin) as played:
        submit_each_second(world, jobs)
        world.wait("Finished", jobs, log)
    assert played.overloaded == []
    spread = 0
    for job in jobs:
        check = check_of(world.workload(job), "gpusched-dsl") or {}
        assert (check["state"], check["message"][:10]) == ("Ready", "gsdsl step")
        pods = [pod for pod in world.pods(job) if GPU in pod["spec"]["containers"][0]["resources"]["requests"]]
        used: dict[str, int] = {}
        for pod in pods:
            used[node_of(pod)] = used.get(node_of(pod), 0) + job.gpus
        assert len(pods) == job.pods
        assert {NODE_NAMES[name] for name in used} == {job.gpu_type}
        if job.scheduler != "gpusched-dsl":
            (update,) = check["podSetUpdates"]
            assert {update["nodeSelector"]["kubernetes.io/hostname"]} == used.keys()
            continue
        planned: dict[str, int] = {}
        for update in check["podSetUpdates"]:
            for name, gpus in json.loads(update["annotations"][NODES]).items():
                planned[name] = planned.get(name, 0) + gpus
        assert used == planned
        assert all(NODES in annotations_of(pod) for pod in pods)
        assert {status(pod)["phase"] for pod in pods} == {"Succeeded"}
        spread += len(used) > 1
    assert spread >= 3
    events = list(world.service.admin.list("/api/v1/events"))
    bound = {e["involvedObject"]["name"] for e in events if e["reason"] == "Scheduled"}
    ours = [metadata(pod)["name"] for job in jobs[:-1] for pod in world.pods(job) if NODES in annotations_of(pod)]
    assert set(ours) <= bound
    assert any(e["reason"] == "Waiting" and "needs" in e["message"] for e in events)
    print({command: round(seconds, 1) for command, seconds in world.shell.seconds.items()})


def allow_all(world: World) -> None:
    """A quota larger than the GPUs: Kueue asks about every Workload at once."""
    path = f"{GROUP}/clusterqueues/{QUEUE}"
    queue = world.service.admin.get(path)
    for flavor in queue["spec"]["resourceGroups"][0]["flavors"]:
        flavor["resources"][0]["nominalQuota"] = 1000
    world.service.admin.replace(path, queue)
