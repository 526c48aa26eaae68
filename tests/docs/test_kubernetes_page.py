"""The examples of docs/kubernetes.md are correct: its files, its tables, and on a real API server its commands."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("kubernetes", reason="the extra `kubernetes` is not installed")

import yaml  # type: ignore[import-untyped]
from drive_files import mapping_for
from kubernetes_commands import Commands, wait_for
from kubernetes_service import DEPLOY, NEEDS_KUBERNETES, _kubeconfig, kubernetes_service
from kueue_stand_in import KueueStandIn

from gpusched_dsl.cli import main
from gpusched_dsl.language.pages import read_page
from gsdsl_clusters.drivers.drive import HISTORY
from gsdsl_clusters.drivers.kubernetes import kueue, scheduler
from gsdsl_clusters.drivers.kubernetes.objects import metadata, status
from gsdsl_clusters.drivers.kubernetes.settings import COMMON
from gsdsl_clusters.drivers.kubernetes.units import FIELDS as POD_FIELDS
from gsdsl_clusters.drivers.kubernetes.workloads import FIELDS, GROUP
from gsdsl_clusters.drivers.protocol import JobState, ObservedJob
from gsdsl_clusters.drivers.records import read_records
from gsdsl_clusters.drivers.settings import read_settings

PAGE = read_page("kubernetes") + "\n" + read_page("kubernetes_in_detail")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def write_files(folder: Path) -> None:
    (folder / "cluster.gsm").write_text(blocks("gsm")[0], encoding="utf-8")
    (folder / "cluster.toml").write_text(blocks("toml")[0], encoding="utf-8")


def test_the_files_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    (tmp_path / "kubeconfig").write_text(_kubeconfig(1, "token"))
    assert main(["fmt", "--check", "cluster.gsm"]) == 0
    settings, cluster = read_settings(tmp_path / "cluster.toml")
    assert isinstance(cluster, kueue.KueueCluster)
    assert sorted(settings.sources) == ["deadline", "exec_time", "needs", "submitted"]
    mapping = mapping_for(tmp_path / "cluster.toml")
    job = ObservedJob("a/b/c", JobState.PENDING, 2, submitted=mapping.start, fields={"time_limit": 7200.0, "due": "4"})
    values = {"submitted": 0.0, "needs": 2, "exec_time": 2.0, "deadline": 4.0}
    assert mapping.values(job) == pytest.approx(values)
    rest = blocks("toml")[0].split("\n[jobs]")[1]
    (tmp_path / "other.toml").write_text(
        blocks("toml")[1].replace("\n[kubernetes]", 'model = "cluster.gsm"\n[kubernetes]') + "[jobs]" + rest
    )
    other = read_settings(tmp_path / "other.toml")[1]
    assert isinstance(other, scheduler.PodScheduler)
    assert other.scheduler == "default-scheduler"


def test_the_tables_are_complete() -> None:
    for name in (*COMMON, *kueue._KEYS, *scheduler._KEYS, *FIELDS, *POD_FIELDS):
        assert f"`{name}`" in PAGE, name


def test_the_manifests() -> None:
    """Every one is applied by a command of the page; no role has more than it needs to watch or to act."""
    rules = {}
    for path in DEPLOY.glob("*.yaml"):
        assert f"kubectl apply -f deploy/{path.name}" in PAGE
        for thing in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if thing["kind"] == "ClusterRole":
                rules[path.stem] = {(r, v) for rule in thing["rules"] for r in rule["resources"] for v in rule["verbs"]}
    for name in ("kueue-watch", "scheduler-watch"):
        assert {verb for _, verb in rules[name]} == {"get", "list"}
    assert rules["kueue-act"] == {
        ("workloads", "patch"), ("workloads/status", "update"), ("admissionchecks/status", "update"),
        ("admissionchecks", "get"), ("resourceflavors", "get"), ("events", "create"),
    }  # fmt: skip
    assert rules["kueue-bind"] == {("pods/binding", "create")}
    assert rules["scheduler-act"] == {("pods/binding", "create"), ("events", "create"), ("pods", "delete")}


def ended_in(folder: Path) -> set[str]:
    """The jobs whose ends a run has recorded."""
    return {line["job"] for line in read_records(folder / HISTORY) if line.get("state") == "done"}


@pytest.mark.slow
@NEEDS_KUBERNETES
def test_every_command_runs_on_a_real_api_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check, watch while jobs run, report; then the commands for acting, with a stand-in for Kueue's controller."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed (Debian's package kubernetes-client)")
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    (tmp_path / "deploy").symlink_to(DEPLOY)
    text = (tmp_path / "cluster.toml").read_text()
    (tmp_path / "cluster.toml").write_text(text.replace("interval = 5 ", "interval = 1 "))
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    check, watch, report = (next(c for c in commands if c.startswith("gsdsl") and w in f"{c}  ")
                            for w in ("--check", "cluster.toml  ", "--report"))  # fmt: skip
    with kubernetes_service(tmp_path) as service:
        service.define_kueue()
        for number in range(1, 9):
            service.add_node(f"g{number}", 4)
        shutil.copy(service.kubeconfig, tmp_path / "kubeconfig")
        kind = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue"}
        service.apply({**kind, "metadata": {"name": "gpus"}, "spec": {}})
        shell = Commands(tmp_path, tmp_path / "admin.yaml")
        for command in commands:
            if "watch.yaml" in command or "namespace.yaml" in command:
                shell.kubectl(command)
        names = [f"w{number}" for number in range(10)]
        for number, name in enumerate(names):
            service.apply(a_workload(name, 60 + number))
        assert "nodes: 8, 8 of them up with 32 GPUs" in shell.gsdsl(check)
        shadow = tmp_path / "shadow"
        with shell.running(watch, "shadow") as log:
            wait_for(lambda: "would start job" in log.read_text(), log)
            with KueueStandIn(service.admin, 1000, seconds=3.0, nodes={f"g{n}": 4 for n in range(1, 9)}):
                wait_for(lambda: len(ended_in(shadow)) == len(names), log)
        shown = shell.gsdsl(report)
        assert f"compared: {len(names)} jobs" in shown
        assert "would have" in shown
        assert (tmp_path / "report.html").stat().st_size > 100_000
        for command in commands:
            if command.startswith("kubectl") and "watch.yaml" not in command:
                shell.kubectl(command)
        strategy = service.admin.get(f"{GROUP}/clusterqueues/gpus")["spec"]["admissionChecksStrategy"]
        assert [one["name"] for one in strategy["admissionChecks"]] == ["gpusched-dsl"]
        (tmp_path / "cluster.toml").write_text('folder = "acting"\n' + (tmp_path / "cluster.toml").read_text())
        service.apply(a_workload("later", 60))
        act = next(command for command in commands if "--act" in command)
        with KueueStandIn(service.admin, 1000, seconds=1.0) as stand_in, shell.running(act, "acting") as log:
            wait_for(lambda: "later" in stand_in.admitted, log)
        assert "start job default/later" in log.read_text()
        found = {metadata(one)["name"]: one for one in service.admin.list(f"{GROUP}/workloads")}
        (check_of_later,) = status(found["later"])["admissionChecks"]
        assert check_of_later["state"] == "Ready"
        deployment = service.admin.get("/apis/apps/v1/namespaces/gpusched-dsl/deployments/driver")
        assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == "gpusched-dsl"


def a_workload(name: str, seconds: int) -> dict[str, object]:
    limits = {"nvidia.com/gpu": "4"}
    container = {"name": "main", "image": "x", "resources": {"requests": limits, "limits": limits}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"queueName": "team", "maximumExecutionTimeSeconds": seconds, "podSets": [pods]}}  # fmt: skip
