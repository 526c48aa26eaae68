"""`gsdsl inspect --write` and `gsdsl drive --init`: the folder works at once, and says the same as its source."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from drive_files import mapping_for
from kubernetes_objects import NOW, node, owned, pod, pod_spec
from made_history import made_history
from simulated_cluster import SimulatedCluster
from simulated_slurm import EPOCH, Node, SimulatedSlurm
from test_kubernetes_source import NODES, kueue

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.data.sources.files import FileLimits
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gsdsl_clusters.drivers.drive import DriveOptions, drive
from gsdsl_clusters.drivers.kubernetes import units, workloads
from gsdsl_clusters.drivers.protocol import JobState, ObservedJob
from gsdsl_clusters.drivers.report import shadow_comparison
from gsdsl_clusters.drivers.settings import read_settings
from gsdsl_clusters.drivers.slurm import observe
from gsdsl_clusters.inspecting.readers.kubernetes import read_objects
from gsdsl_clusters.inspecting.reading import read_snapshot
from gsdsl_clusters.inspecting.snapshot import (
    JOB_COLUMNS,
    LIMIT_COLUMNS,
    NODE_COLUMNS,
    RESERVATION_COLUMNS,
    ClusterSnapshot,
    frame,
)
from gsdsl_clusters.inspecting.written_model import model_folder

RECORDS = Path(__file__).parent / "records"
SOURCES = ("slurm_22_05_json", "slurm_25", "sacct.txt", *(p.name for p in RECORDS.glob("kube*")))


def read(name: str) -> ClusterSnapshot:
    return read_snapshot(str(RECORDS / name), FileLimits(allow_outside=True))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def mixed(**changes: Any) -> ClusterSnapshot:
    """Four nodes of two types in two racks and partitions, one of them down; jobs with all kinds of demands."""
    nodes = [
        {"node": "a1", "gpu_type": "a100", "gpus": 8, "rack": "R1", "partitions": ["big"], "features": ["nvlink"]},
        {"node": "a2", "gpu_type": "a100", "gpus": 8, "rack": "R1", "partitions": ["big"]},
        {"node": "v1", "gpu_type": "v100", "gpus": 4, "rack": "R2", "partitions": ["small"]},
        {
            "node": "v2",
            "gpu_type": "v100",
            "gpus": 4,
            "rack": "R2",
            "partitions": ["small"],
            "up": False,
            "reason": "fan",
        },
        {"node": "cpu1", "gpus": 0},
    ]
    waits = {"state": "waiting", "user": "ada", "team": "vision", "nodes": 1, "gpus": 2, "limit": 7200.0}
    runs = {
        "state": "running",
        "user": "ben",
        "team": "speech",
        "started": EPOCH - 1800,
        "duration": 1800.0,
        "limit": 3600.0,
    }
    jobs: list[Mapping[str, Any]] = [
        {**runs, "job": "1", "gpus": 4, "nodes": 2, "on_nodes": ["a1", "a2"], "on_gpus": [4, 4]},
        {**runs, "job": "2", "gpus": 3, "nodes": 0, "on_nodes": ["v1", "v2"], "on_gpus": [2, 1]},
        {**runs, "job": "3", "gpus": 1, "on_nodes": ["gone"], "on_gpus": [1]},
        {**waits, "job": "4", "gpu_types": ["a100"]},
        {**waits, "job": "5", "nodes": 2, "gpus": 4, "partitions": ["big"]},
        {**waits, "job": "6", "nodes": 0, "gpus": 3, "partitions": ["small"]},
        {**waits, "job": "7", "features": ["nvlink"], "user": "root"},
        {**waits, "job": "8", "gpu_types": ["h100"]},
        {**waits, "job": "9", "allowed_nodes": ["v9"]},
        {**waits, "job": "10", "gpu_types": ["a100", "v100"], "excluded_nodes": ["a1"], "limit": None, "team": ""},
        {**waits, "job": "11", "state": "blocked"},
        {**waits, "job": "12", "after": ["0", "11"]},
        {**waits, "job": "13", "after": ["0"], "eligible": EPOCH + 1800},
    ]
    stated = [{"submitted": EPOCH - 100 + at, **job} for at, job in enumerate(jobs)]
    reservations = [
        {"reservation": "service", "nodes": ["a1", "cpu1"], "start": EPOCH + 3600, "end": EPOCH + 7200,
         "maintenance": True},
        {"reservation": "course", "nodes": ["v1"], "start": EPOCH - 60, "end": EPOCH + 7200, "users": ["root"],
         "teams": ["speech"]},
        {"reservation": "past", "nodes": ["v1"], "start": EPOCH - 60, "end": EPOCH - 1},
    ]  # fmt: skip
    limits = [
        {"scope": "team", "owner": "vision", "gpus": 6},
        {"scope": "team", "owner": "vision", "gpus": 5},
        {"scope": "team", "owner": "", "gpu_type": "a100", "gpus": 9},
        {"scope": "user", "owner": "", "gpus": 7},
        {"scope": "qos", "owner": "high", "gpus": 1},
    ]
    found = ClusterSnapshot(
        "Slurm", EPOCH, frame(nodes, NODE_COLUMNS), frame(stated, JOB_COLUMNS),
        frame(reservations, RESERVATION_COLUMNS), frame(limits, LIMIT_COLUMNS), timezone="Europe/Berlin",
    )  # fmt: skip
    return replace(found, **changes)


def switch_on(folder: Path, *rules: str) -> None:
    text = (folder / "cluster.gsm").read_text()
    for rule in rules:
        assert text.count(f"# {rule} = ") == 1
        text = text.replace(f"# {rule} = ", f"{rule} = ")
    (folder / "cluster.gsm").write_text(text)


@pytest.mark.quick(3)
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_works_at_once(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "ours"
    assert main(["inspect", str(RECORDS / source), "--write", str(folder)]) == 0
    assert "wrote cluster.gsm, now.gsm, nodes.csv, jobs.csv" in capsys.readouterr().err
    name = "Past" if "scenario Past" in (folder / "now.gsm").read_text() else "Now"
    for command in (
        ["fmt", "--check", str(folder)], ["check", str(folder / "cluster.gsm")], ["check", str(folder / "now.gsm")],
        ["solve", str(folder / "now.gsm"), "--scenario", name],
        ["solve", str(folder / "now.gsm"), "--scenario", name, "--method", "EASY"],
        ["run", str(folder / "now.gsm"), "--scenario", name, "--method", "EASY"],
    ):  # fmt: skip
        assert main(command) == 0, (command, capsys.readouterr())


def test_what_is_written(tmp_path: Path) -> None:
    found = model_folder(mixed())
    found.write(tmp_path)
    assert [row["node"] for row in rows(tmp_path / "nodes.csv")] == ["a1", "a2", "v1", "v2"]
    jobs = {row.pop("job"): row for row in rows(tmp_path / "jobs.csv")}
    assert list(jobs) == ["1", "2", "4", "5", "6", "7", "10", "13"]
    assert [(j["needs"], j["workers"], j["type"], j["demand"]) for j in jobs.values()] == [
        ("8", "2", "any_type", "no_demand"), ("3", "0", "any_type", "stays_there"), ("2", "1", "a100", "no_demand"),
        ("8", "2", "any_type", "big"), ("3", "0", "any_type", "small"), ("2", "1", "any_type", "demand_4"),
        ("2", "1", "any_type", "demand_6"), ("2", "1", "any_type", "no_demand"),
    ]  # fmt: skip
    assert [float(j["hours"]) for j in jobs.values()] == [0.5, 0.5, 2, 2, 2, 2, 24, 2]
    assert (jobs["4"]["submitted"], jobs["13"]["submitted"]) == ("-0.026944", "0.5")
    assert jobs["10"]["team"] == "others"
    held = {(row["job"], row["node"]): row["workers"] for row in rows(tmp_path / "held.csv")}
    assert held == {("1", "a1"): "1", ("1", "a2"): "1", ("2", "v1"): "2", ("2", "v2"): "1"}
    barred = {(row["demand"], row["node"]) for row in rows(tmp_path / "barred.csv")}
    assert barred == {
        ("big", "v1"), ("big", "v2"), ("small", "a1"), ("small", "a2"),
        ("demand_4", "a2"), ("demand_4", "v1"), ("demand_4", "v2"), ("demand_6", "a1"),
    }  # fmt: skip
    text = (tmp_path / "cluster.gsm").read_text()
    for line in (
        'calendar from "2027-01-15T09:00:00+01:00" in "Europe/Berlin";', 'team_gpus["vision"] = 5;',
        'team_type_gpus["speech", "a100"] = 9;', "user_gpus = 7;", 'Windows = { "service", "course" };',
        'window_start["service"] = 1[h];', 'window_end["course"] = 2[h];', 'covers["service", "a1"] = 1;',
        'for_team["course", "speech"] = 1;', 'is_maintenance["course"] = 0;',
        "quotas = yes;  # limits of QOS, partitions and users, which the cluster enforces",
        'Quotas = { "quota_1" };', 'quota_gpus["quota_1"] = 1;', 'quota_qos["quota_1"] = "high";',
    ):  # fmt: skip
        assert f"  {line}\n" in text, line
    now = (tmp_path / "now.gsm").read_text()
    assert 'gpus["v2"] = 1;  # it starts no jobs: fan' in now
    assert 'for_job["course", "7"] = 1;' in now
    assert Counter(found.left_out) == Counter(
        ["1 job (11) that must not start yet", "1 job (12) waiting for the end of others",
         "1 job (8) of a type of GPU that no node has",
         "1 job (9) whose demands no node meets",
         "1 job (3) running on nodes that are not known"]
    )  # fmt: skip


@pytest.mark.parametrize("method", ["highs", "EASY"])
def test_rules_that_were_read_are_obeyed(method: str, tmp_path: Path) -> None:
    model_folder(mixed()).write(tmp_path)
    rules = ("one_rack", "team_limits", "user_limits", "maintenance", "reservations", "rack_power")
    before = gs.load(tmp_path / "now.gsm").solve("Now", method)
    switch_on(tmp_path, *rules)
    after = gs.load(tmp_path / "now.gsm").solve("Now", method)
    assert (before.status, after.status) == (("optimal",) * 2 if method == "highs" else ("feasible",) * 2)

    def runs(result: Any) -> set[str]:
        return {str(job) for job, value in result["runs"].rows() if value > 0.5}

    assert {"1", "2"} <= runs(before) & runs(after)
    on_a1 = {str(job) for job, node, value in after["worker"].rows() if node == "a1" and value > 0}
    assert on_a1 == {"1"}  # the others take longer than the hour until the service
    on_v1 = {str(job) for job, node, value in after["worker"].rows() if node == "v1" and value > 0}
    assert on_v1 <= {"2", "7"}
    vision = {"4", "5", "6", "7"} & runs(after)
    assert sum({"4": 2, "5": 8, "6": 3, "7": 2}[job] for job in vision) <= 5
    assert len(runs(before)) > len(runs(after))


def test_a_kubernetes_cluster(tmp_path: Path) -> None:
    """Pods of a job may share a node; quotas of ClusterQueues are limits of teams."""
    found = model_folder(read_objects([*NODES, *kueue()], "test", now=NOW), "kueue")
    found.write(tmp_path)
    jobs = {row["job"]: row for row in rows(tmp_path / "jobs.csv")}
    assert {name: (job["needs"], job["workers"], job["per_node"], job["team"]) for name, job in jobs.items()} == {
        "red/w-one": ("16", "2", "2", "gpus"), "red/w-two": ("7", "0", "1", "gpus"),
        "red/w-five": ("8", "1", "1", "gpus"),
    }  # fmt: skip
    assert 'team_gpus["gpus"] = 20;' in (tmp_path / "cluster.gsm").read_text()
    switch_on(tmp_path, "team_limits")
    result = gs.load(tmp_path / "now.gsm").solve("Now")
    assert {job for job, value in result["runs"].rows() if value > 0.5} == {"red/w-one"}


@pytest.mark.parametrize(("gpus", "starts"), [(3, False), (4, True), (8, True)])
@pytest.mark.parametrize("method", ["highs", "EASY"])
def test_pods_that_may_share_a_node(gpus: int, starts: bool, method: str, tmp_path: Path) -> None:
    """All GPUs of a pod are on one node: three pods of four GPUs do not start on nodes with three free ones."""
    nodes = [node(f"g{at}", {"nvidia.com/gpu": 8}) for at in range(1, 5)]
    fill = [pod(f"r{at}", pod_spec(8 - gpus), on=f"g{at}") for at in range(1, 5)] if gpus < 8 else []
    gang = [pod(f"p{at}", pod_spec(4), owner=("Job", "gang")) for at in range(3)]
    model_folder(read_objects([*nodes, *fill, *gang, owned("Job", "gang")], "test", now=NOW)).write(tmp_path)
    job = next(row for row in rows(tmp_path / "jobs.csv") if row["job"] == "red/gang")
    assert (job["needs"], job["workers"], job["per_node"]) == ("12", "3", "3")
    result = gs.load(tmp_path / "now.gsm").solve("Now", method)
    assert ("red/gang" in {job for job, value in result["runs"].rows() if value > 0.5}) == starts


def test_a_job_that_the_model_cannot_divide(tmp_path: Path) -> None:
    """It is left out of a driven run with the reason, and the run goes on."""
    slurm = SimulatedSlurm([Node("a1", 8, "a100"), Node("a2", 8, "a100"), Node("v1", 4, "v100"), Node("v2", 4, "v100")])
    uneven, even = slurm.submit(gpus=8, seconds=60), slurm.submit(gpus=6, seconds=60)
    model_folder(mixed()).write(tmp_path)
    toml = (tmp_path / "cluster.toml").read_text()
    (tmp_path / "cluster.toml").write_text(toml.replace('field = "nodes_wanted", default = 1', "value = 3"))
    settings, _ = read_settings(tmp_path / "cluster.toml", slurm.cluster())
    workspace = load_workspace(settings.model, Diagnostics())
    options = DriveOptions(True, 6, now=slurm.now, wait=slurm.sleep)
    summary = drive(workspace, settings, slurm.cluster(), options, report=lambda diagnostic: None)
    why = "a check failed: the GPUs of a job must divide equally between its workers"
    assert summary.left_out == {str(uneven.id): why}
    assert (uneven.state, even.state) == ("PENDING", "PENDING")  # three workers on three nodes are no job of one node


def test_partitions_without_jobs(tmp_path: Path) -> None:
    """A job that comes later may be in a partition in which none waits now."""
    model_folder(mixed(jobs=mixed().jobs.filter(pl.col("partitions").list.len() == 0))).write(tmp_path)
    barred = {(row["demand"], row["node"]) for row in rows(tmp_path / "barred.csv")}
    assert {("big", "v1"), ("big", "v2"), ("small", "a1"), ("small", "a2")} <= barred
    assert 'values = { "big" = "big", "small" = "small" }' in (tmp_path / "cluster.toml").read_text()
    assert gs.load(tmp_path / "now.gsm").solve("Now").status == "optimal"


def test_more_gpus_in_use_than_known(tmp_path: Path) -> None:
    """Nodes that are inferred too small get what was in use, and say so."""
    nodes = mixed().nodes.with_columns(
        pl.when(pl.col("node") == "a1").then(2).otherwise("gpus").cast(pl.Int32).alias("gpus")
    )
    found = model_folder(mixed(nodes=nodes))
    assert "more GPUs were in use than known on a1: written as in use" in " ".join(found.left_out).replace("`", "")
    found.write(tmp_path)
    assert gs.load(tmp_path / "now.gsm").solve("Now").status == "optimal"


def test_a_history_becomes_past_jobs(tmp_path: Path) -> None:
    history = made_history(jobs=60)
    ended = replace(history, jobs=history.jobs.filter(pl.col("state") == "ended"))
    found = model_folder(ended)
    assert "cluster.toml" not in found.files  # the source names no kind of cluster
    found.write(tmp_path)
    run = gs.load(tmp_path / "now.gsm").run("Past", method="EASY")
    jobs = ended.jobs.filter(pl.col("duration") > 0)
    assert len(run.jobs) == jobs.height


def large(name: str, nodes: int, gpus: int, **more: Any) -> dict[str, Any]:
    return {"job": name, "state": "waiting", "nodes": nodes, "gpus": gpus, "submitted": EPOCH, "limit": 60.0, **more}


LARGE = [
    (large("fits", 3, 4, partitions=["small", "big"]), True, True),
    (large("gang", 5, 4), False, True),  # on Kubernetes two pods of 4 GPUs share a node
    (large("many", 7, 4), False, False),
    (large("one", 1, 9), False, False),
    (large("typed", 3, 4, gpu_types=["v100"]), False, False),
    (large("of two types", 4, 4, gpu_types=["v100", "a100"]), True, True),
    (large("in a partition", 2, 5, partitions=["small"]), False, False),
    (large("loose", 0, 24), True, True),
    (large("too many", 0, 25), False, False),
    (large("on a node that is down", 2, 4, gpu_types=["v100"]), True, True),
]


@pytest.mark.parametrize("system", ["Slurm", "Kubernetes: test"])
@pytest.mark.parametrize(("job", "on_slurm", "on_kubernetes"), LARGE, ids=[job["job"] for job, *_ in LARGE])
def test_jobs_larger_than_the_cluster(
    job: dict[str, Any], on_slurm: bool, on_kubernetes: bool, system: str, tmp_path: Path
) -> None:
    """They would never start, and a queue that lets no job overtake would end there; the others do start."""
    nodes = mixed().nodes.with_columns(up=pl.lit(True))
    small = large("small", 1, 1)
    found = model_folder(
        mixed(source=system, nodes=nodes, jobs=frame([job, small], JOB_COLUMNS), limits=mixed().limits[:0])
    )
    found.write(tmp_path)
    fits = on_slurm if system == "Slurm" else on_kubernetes
    assert list(found.left_out) == ([] if fits else [f"1 job ({job['job']}) larger than all nodes that suit"])
    run = gs.load(tmp_path / "now.gsm").run("Now", method="FIFO")
    assert run.jobs["state"].to_list() == ["done"] * (1 + fits)


@pytest.mark.parametrize("state", ["", "blocked", "ended"])
def test_a_cluster_without_present_jobs(state: str, tmp_path: Path) -> None:
    """Those that have ended are written in their place, if there are any; the commands of the page work."""
    times = {"started": EPOCH, "ended": EPOCH + 60, "duration": 60.0, "on_nodes": ["a1"], "on_gpus": [4]}
    jobs = (
        [large("old", 1, 4, **({**times, "state": state} if state == "ended" else {"state": state}))] if state else []
    )
    model_folder(mixed(jobs=frame(jobs, JOB_COLUMNS))).write(tmp_path)
    name = "Past" if state == "ended" else "Now"
    assert f"--scenario {name} " in (tmp_path / "README.md").read_text()
    chosen = [str(tmp_path / "now.gsm"), "--scenario", name, "--method", "EASY"]
    for command in (["check", chosen[0]], ["solve", *chosen], ["run", *chosen]):
        assert main(command) == 0, command
    assert len(rows(tmp_path / "jobs.csv")) == (state == "ended")


@pytest.mark.parametrize("maintenance", [False, True])
def test_a_node_that_starts_no_jobs(maintenance: bool, tmp_path: Path) -> None:
    """Also when the jobs that run there have ended: of any demand, and beside jobs that run on other nodes."""
    nodes = mixed().nodes.with_columns(up=pl.lit(True) if maintenance else pl.col("node") != "a1")
    windows = [
        {"reservation": "service", "nodes": ["a1"], "start": EPOCH - 60, "end": EPOCH + 9e6, "maintenance": True}
    ]
    jobs = [
        *mixed().jobs.head(2).to_dicts(),
        large("free", 1, 4), large("typed", 1, 8, gpu_types=["a100"]), large("big", 1, 4, partitions=["big"]),
    ]  # fmt: skip
    found = mixed(nodes=nodes, jobs=frame(jobs, JOB_COLUMNS), limits=mixed().limits[:0])
    found = replace(found, reservations=frame(windows[: int(maintenance)], RESERVATION_COLUMNS))
    model_folder(found).write(tmp_path)
    assert main(["fmt", "--check", str(tmp_path)]) == 0
    run = gs.load(tmp_path / "now.gsm").run("Now", method="EASY")
    assert run.jobs["state"].to_list() == ["done"] * 5
    assert set(run.schedule.filter(pl.col("node") == "a1")["job"]) == {"1"}
    assert run.schedule.height == 7  # the nodes of all jobs: "1" and "2" run on two


def test_names_that_the_language_cannot_write(tmp_path: Path) -> None:
    jobs = mixed().jobs.with_columns(pl.col("team").str.replace("vision", 'the "new"\tteam'))
    model_folder(mixed(jobs=jobs)).write(tmp_path)
    assert "the 'new' team" in {row["team"] for row in rows(tmp_path / "jobs.csv")}
    assert gs.load(tmp_path / "now.gsm").solve("Now").status == "optimal"


# --- the live cluster ------------------------------------------------------------------------------------------------


def test_the_cluster_file_drives(tmp_path: Path) -> None:
    """Jobs of each kind start on a simulated Slurm, on nodes of their type and partition."""
    slurm = SimulatedSlurm([Node("a1", 8, "a100"), Node("a2", 8, "a100"), Node("v1", 4, "v100"), Node("v2", 4, "v100")])
    typed = slurm.submit(gpus=8, seconds=60, kind="a100")
    small = slurm.submit(gpus=4, seconds=60, kind="v100")
    free = slurm.submit(gpus=2, seconds=60)
    model_folder(mixed()).write(tmp_path)
    settings, _ = read_settings(tmp_path / "cluster.toml", slurm.cluster())
    diagnostics = Diagnostics()
    workspace = load_workspace(settings.model, diagnostics)
    diagnostics.raise_if_errors()
    options = DriveOptions(True, 12, now=slurm.now, wait=slurm.sleep)
    summary = drive(workspace, settings, slurm.cluster(), options, report=lambda diagnostic: None)
    assert not summary.left_out
    assert not summary.broken
    assert typed.node.startswith("a")
    assert small.node.startswith("v")
    assert {job.state for job in (typed, small, free)} <= {"RUNNING", "COMPLETED"}
    drive(workspace, settings, slurm.cluster(), options, report=lambda diagnostic: None)
    report = shadow_comparison(workspace, settings, ["EASY"])  # its jobs have workers of 8, 4 and 2 GPUs
    assert report.jobs == 3
    assert [row.method for row in report.rows] == ["cluster", "EASY"]
    assert not any(row.diagnostics for row in report.rows)
    times = [row.result.metrics["jct_mean"] for row in report.rows if row.result is not None]
    assert len(times) == 2
    assert times[0] == pytest.approx(times[1], abs=20 / 3600)


@pytest.mark.parametrize(
    ("driver", "fields"),
    [("slurm", observe.FIELDS), ("kueue", workloads.FIELDS), ("kubernetes", units.FIELDS)],
    ids=["slurm", "kueue", "kubernetes"],
)
def test_cluster_files_are_right(driver: str, fields: frozenset[str], tmp_path: Path) -> None:
    """Each names fields of its driver, and gives the model all that it needs of a job."""
    model_folder(mixed(), driver).write(tmp_path)
    assert (tmp_path / "cluster.toml").read_text().startswith(f'driver = "{driver}"')
    cluster = SimulatedCluster({"a1": 8})
    cluster.fields = fields
    mapping = mapping_for(tmp_path / "cluster.toml", cluster)
    team = {"slurm": "account", "kueue": "cluster_queue", "kubernetes": "namespace"}[driver]
    job = ObservedJob(
        "7",
        JobState.PENDING,
        8,
        submitted=EPOCH,
        fields={team: "vision", "pods": 4, "nodes_wanted": 4.0, "gpu_type": "v100"},
    )
    values = mapping.values(job)
    assert (values["needs"], values["workers"], values["team"], values["exec_time"]) == (8, 4, "vision", 24.0)
    assert values.get("per_node", 1) == (1 if driver == "slurm" else 1000)
    assert values["gpu_type"] == "v100"
    assert mapping.values(replace(job, fields={**job.fields, "gpu_type": "unknown"}))["gpu_type"] == "any_type"
    assert mapping.values(replace(job, fields={team: "new"}))["team"] == "others"


def test_from_a_live_slurm_to_a_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`drive --init slurm`, then `drive --check`, by commands that print what those of Slurm 22.05 have printed."""
    bin, saved = tmp_path / "bin", RECORDS / "slurm_22_05_json"
    bin.mkdir()
    for name, text in {
        "squeue": f"cat '{saved / 'jobs.json'}'",
        "sinfo": f"cat '{saved / 'sinfo.json'}'",
        "scontrol": f"case \"$*\" in *partition*) cat '{saved / 'partitions.txt'}';; "
        f"*reservation*) cat '{saved / 'reservations.txt'}';; *) exit 1;; esac",
    }.items():
        (bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (bin / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}:/usr/bin:/bin")
    folder = tmp_path / "ours"
    assert main(["drive", "--init", "slurm", str(folder)]) == 0, capsys.readouterr()
    assert "the model leaves out" in capsys.readouterr().err
    assert main(["drive", str(folder / "cluster.toml"), "--check"]) == 0, capsys.readouterr()
    shown = capsys.readouterr().out
    assert "nodes: 4, 4 of them up with 16 GPUs" in shown
    assert "needs = 8, exec_time = 1, team = others, user = root, workers = 2" in shown


# --- refusals --------------------------------------------------------------------------------------------------------


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "cluster.toml"
    mine.write_text("mine")
    assert main(["inspect", str(RECORDS / "sacct.txt"), "--write", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert "error[GSM5610]" in error
    assert "`cluster.toml`" in error
    assert [path.name for path in tmp_path.iterdir()] == ["cluster.toml"]
    assert mine.read_text() == "mine"
    with pytest.raises(DiagnosticError, match="GSM5610"):
        model_folder(mixed()).write(tmp_path)
    with pytest.raises(DiagnosticError, match="GSM5610"):
        model_folder(mixed()).write(mine)
    assert main(["drive", "--init", "slurm", str(tmp_path)]) == 1
    assert "error[GSM5610]" in capsys.readouterr().err


def test_a_cluster_without_gpus() -> None:
    with pytest.raises(DiagnosticError, match="GSM5611"):
        model_folder(mixed(nodes=mixed().nodes.with_columns(pl.lit(0, pl.Int32).alias("gpus"))))
