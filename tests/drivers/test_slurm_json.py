"""Jobs and nodes in the JSON of several releases of Slurm."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gpusched_dsl.drivers.protocol import Action, ActionKind, ActionRefused, ClusterUnavailable, JobState
from gpusched_dsl.drivers.slurm.cluster import SlurmCluster
from gpusched_dsl.drivers.slurm.commands import Commands
from gpusched_dsl.drivers.slurm.gres import gpus
from gpusched_dsl.drivers.slurm.hostlist import expand
from gpusched_dsl.drivers.slurm.json_values import UnknownJson
from gpusched_dsl.drivers.slurm.observe import observation_of

# What release 22.05.8 wrote of a running and of a held job, and of their node, without the fields that are not read.
JOBS_22: list[dict[str, Any]] = [
    {"job_id": 1, "job_state": "RUNNING", "state_reason": "None", "priority": 4294901759, "nodes": "g[1-2]",
     "tres_per_node": "gres:gpu:2", "tres_per_job": "", "tres_per_task": "", "tres_per_socket": "", "node_count": 2,
     "tres_req_str": "cpu=1,mem=100M,node=1,billing=1", "gres_detail": ["gpu:h200:2(IDX:0-1)", "gpu:h200:2(IDX:4-5)"],
     "required_nodes": "", "submit_time": 1795465608, "start_time": 1795465609, "end_time": 1795466208, "tasks": 1,
     "time_limit": 10, "array_job_id": 0, "array_task_string": "", "het_job_id": 0, "restart_cnt": 1, "deadline": 0,
     "comment": "family=bert", "account": "", "qos": "", "partition": "main", "user_name": "ada", "name": "wrap"},
    {"job_id": 2, "job_state": "PENDING", "state_reason": "JobHeldUser", "priority": 0, "nodes": "", "node_count": 1,
     "tres_per_node": "gres:gpu:h200:4", "gres_detail": [], "required_nodes": "g2", "submit_time": 1795465608,
     "start_time": 0, "end_time": 0, "tasks": 1, "time_limit": 4294967295, "array_task_string": "", "restart_cnt": 0,
     "deadline": 1795466000, "partition": "main", "user_name": "ada", "name": "wrap", "comment": ""},
]  # fmt: skip
NODES_22: list[dict[str, Any]] = [
    {"name": "g1", "gres": "gpu:h200:8", "state": "mixed", "state_flags": [], "partitions": ["main"], "reason": ""},
    {"name": "g2", "gres": "gpu:h200:8", "state": "idle", "state_flags": ["DRAIN"], "partitions": ["main"],
     "reason": "broken fan"},
]  # fmt: skip
NUMBERS = ("job_id", "priority", "node_count", "tasks", "time_limit", "submit_time", "start_time", "end_time")


def as_24(job: dict[str, Any]) -> dict[str, Any]:
    """The same job as release 24.11 writes it."""
    found = dict(job)
    for name in NUMBERS:
        value = found[name]
        unset = name == "time_limit" and value == 4294967295
        if name in ("job_id", "submit_time"):  # some numbers stayed plain
            continue
        found[name] = {"set": True, "infinite": unset, "number": 0 if unset else value}
    found["job_state"] = [found["job_state"]]
    return found


@pytest.mark.parametrize("release", [22, 24])
def test_jobs_and_nodes(release: int) -> None:
    jobs, nodes = JOBS_22, NODES_22
    if release == 24:
        jobs = [as_24(job) for job in jobs]
        nodes = [{**n, "state": [n["state"].upper(), *n["state_flags"]], "state_flags": None} for n in nodes]
    found = observation_of(jobs, nodes, "main")
    running, held = found.jobs["1"], found.jobs["2"]
    assert (running.state, running.gpus, running.allocation) == (JobState.RUNNING, 4, {"g1": 2, "g2": 2})
    assert (running.nodes, held.nodes) == (2, 1)
    assert (running.submitted, running.started, running.ended) == (1795465608.0, 1795465609.0, None)
    assert (running.restarts, running.fields["time_limit"], running.fields["user"]) == (1, 600.0, "ada")
    assert (held.state, held.held, held.pinned, held.gpus) == (JobState.PENDING, True, ("g2",), 4)
    assert (held.allocation, held.started, "time_limit" in held.fields) == ({}, None, False)
    assert (held.fields["deadline_date"], held.fields["gpu_type"]) == (1795466000.0, "h200")
    assert [(n.name, n.gpus, n.gpu_type, n.up) for n in found.nodes.values()] == [
        ("g1", 8, "h200", True), ("g2", 8, "h200", False)
    ]  # fmt: skip
    assert found.nodes["g2"].reason == "broken fan"
    assert observation_of(jobs, nodes, "other") == observation_of([], [], None)


@pytest.mark.parametrize(
    ("change", "state", "allocation"),
    [
        ({"job_state": "COMPLETED"}, JobState.DONE, {}),
        ({"job_state": ["COMPLETED", "COMPLETING"]}, JobState.DONE, {"g1": 2, "g2": 2}),
        ({"job_state": "COMPLETING"}, JobState.DONE, {"g1": 2, "g2": 2}),
        ({"job_state": ["CANCELLED"]}, JobState.CANCELLED, {}),
        ({"job_state": "TIMEOUT"}, JobState.FAILED, {}),
        ({"job_state": "SUSPENDED"}, JobState.RUNNING, {"g1": 2, "g2": 2}),
        ({"job_state": "PENDING", "state_reason": "Dependency"}, JobState.BLOCKED, {}),
        ({"job_state": "PENDING", "state_reason": "BeginTime", "restart_cnt": 0}, JobState.BLOCKED, {}),
        ({"job_state": "PENDING", "state_reason": "BeginTime"}, JobState.PENDING, {}),
        ({"job_state": ["PENDING", "REQUEUED"]}, JobState.PENDING, {}),
        ({"job_state": "RUNNING", "gres_detail": []}, JobState.RUNNING, {"g1": 2, "g2": 2}),
    ],
)
def test_states(change: dict[str, Any], state: JobState, allocation: dict[str, int]) -> None:
    job = observation_of([{**JOBS_22[0], **change}], NODES_22, None).jobs["1"]
    assert (job.state, job.allocation) == (state, allocation)
    assert (job.ran_on == {"g1": 2, "g2": 2}) is state.has_ended


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"job_state": "DREAMING"}, "the state of job 1 is unknown: DREAMING"),
        ({"job_state": []}, "the state of job 1 is unknown: none"),
        ({"job_state": {"current": 3}}, "which is not a list of names"),
        ({"submit_time": "yesterday"}, "`submit_time` is 'yesterday', which is not a number of Slurm"),
        ({"nodes": "g[1-"}, "is not a list of nodes"),
        ({"job_id": None}, "a job has no `job_id`"),
    ],
)
def test_unknown_json_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UnknownJson, match=message.replace("[", r"\[")):
        observation_of([{**JOBS_22[0], **change}], NODES_22, None)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"array_task_string": "1-3%1"},
            "it is an array of jobs that are not separate yet; submit them as single jobs",
        ),
        ({"het_job_id": 7}, "it is a part of a heterogeneous job"),
        ({"tres_per_node": "", "tres_per_socket": "gres:gpu:1"}, "it requests GPUs per socket"),
        ({"tres_per_node": ""}, "it requests no GPU"),
    ],
)
def test_jobs_that_cannot_be_managed(change: dict[str, Any], reason: str) -> None:
    assert observation_of([{**JOBS_22[1], **change}], NODES_22, None).jobs["2"].unsupported == reason


def test_a_job_that_was_put_back_is_not_released() -> None:
    """Slurm delays it; only a new start lets it run at once."""
    job = {**JOBS_22[0], "job_state": "PENDING", "eligible_time": 1795466000, "state_reason": "None"}
    assert observation_of([job], NODES_22, None, now=1795465900.0).jobs["1"].held
    assert not observation_of([job], NODES_22, None, now=1795466001.0).jobs["1"].held
    first = observation_of([{**job, "restart_cnt": 0}], NODES_22, None, now=1795465900.0).jobs["1"]
    assert first.state is JobState.BLOCKED


def test_gpus() -> None:
    assert gpus("gpu:h200:8(S:0-1),gpu:a100:2") == (10, "")
    assert gpus("cpu=1,gres/gpu=4,gres/gpu:h200=4") == (4, "h200")
    assert [gpus(text)[0] for text in ("", "gpu", "gres:gpu:2", "gres/gpu:3", "license:5", "(null)")] == [
        0,
        1,
        2,
        3,
        0,
        0,
    ]
    with pytest.raises(ValueError, match="not a number of GPUs"):
        gpus("gpu:h200:half")


def test_lists_of_nodes() -> None:
    assert expand("g[1-3,07],login,a[1-2]b[8-9]") == ("g1", "g2", "g3", "g07", "login", "a1b8", "a1b9", "a2b8", "a2b9")
    assert expand("") == ()
    assert expand("n[098-101]") == ("n098", "n099", "n100", "n101")
    for wrong in ("g[1-", "g]1[", "g[a-b]", "g[]"):
        with pytest.raises(ValueError, match="is not a"):
            expand(wrong)


def test_any_json_is_read_or_refused() -> None:
    """Random values in place of fields raise nothing but UnknownJson."""
    rng = random.Random(1)
    junk: list[Any] = [
        None,
        "",
        "x",
        [],
        ["A"],
        {},
        {"set": True},
        {"number": 1},
        -1,
        3.5,
        True,
        "g[1-2",
        10**20,
        [[1]],
    ]
    refused = 0
    for _ in range(300):
        job = {**rng.choice(JOBS_22), rng.choice([*JOBS_22[0]]): rng.choice(junk)}
        node = {**rng.choice(NODES_22), rng.choice([*NODES_22[0]]): rng.choice(junk)}
        try:
            observation_of([job], [node], rng.choice([None, "main"]))
        except UnknownJson:
            refused += 1
    assert 30 < refused < 270


def test_settings_of_slurm() -> None:
    made = SlurmCluster.from_settings({"partition": "main", "api": "unix:/run/rest", "version": "v0.0.38"})
    assert (made.partition, made.rest is not None) == ("main", True)
    for settings, message in (
        ({"partitoin": "main"}, "partitoin: is unknown"),
        ({"partition": 3}, "partition: must be a text"),
        ({"api": "ftp://x"}, "api: must be"),
        ({"api": "http://x:6820"}, "version: is needed with REST"),
        ({"actions": "rest"}, "actions: must be"),
        ({"actions": "rest", "api": "http://x:6820", "version": "v0.0.40"}, "actions: by REST are known for v0.0.38"),
        ({"timeout": -1}, "timeout: must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            SlurmCluster.from_settings(settings)


def test_commands_that_fail(tmp_path: Any) -> None:
    """Without an answer of the controller it is unknown what happened; a refusal is one."""

    def command(name: str, text: str) -> None:
        (tmp_path / name).write_text("#!/bin/sh\n" + text)
        (tmp_path / name).chmod(0o755)

    cluster = SlurmCluster(commands=Commands(str(tmp_path), timeout=5.0))
    with pytest.raises(ClusterUnavailable, match="there is no command `sinfo`"):
        cluster.observe()
    command("sinfo", "echo 'no json'")
    with pytest.raises(ClusterUnavailable, match="printed no JSON"):
        cluster.observe()
    command("sinfo", """echo '{"nodes": [], "errors": [{"error": "Unable to contact slurm controller"}]}'""")
    with pytest.raises(ClusterUnavailable, match="Slurm reports: Unable to contact"):
        cluster.observe()
    start = Action(ActionKind.START, "7", {"g1": 2}, "gsdsl step 1")
    command("scontrol", "echo 'Invalid node name specified for job 7' >&2; exit 1")
    with pytest.raises(ActionRefused, match="Invalid node name"):
        cluster.act(start)
    command("scontrol", "echo 'slurm_update error: Unable to contact slurm controller (connect failure)' >&2; exit 1")
    with pytest.raises(ClusterUnavailable, match="connect failure"):
        cluster.act(start)
    command("scontrol", f'echo "$*" >> {tmp_path}/log')
    cluster.act(start)
    assert (tmp_path / "log").read_text().splitlines() == [
        "update JobId=7 ReqNodeList=g1 AdminComment=gsdsl step 1", "update JobId=7 StartTime=now", "release 7",
    ]  # fmt: skip
