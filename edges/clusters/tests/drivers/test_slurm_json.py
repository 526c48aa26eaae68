"""Jobs and nodes in the JSON of several releases of Slurm."""

from __future__ import annotations

from typing import Any

import pytest

from gsdsl_clusters.drivers.protocol import Action, ActionKind, ActionRefused, ClusterUnavailable, JobState
from gsdsl_clusters.drivers.slurm.cluster import SlurmCluster
from gsdsl_clusters.drivers.slurm.commands import Commands
from gsdsl_clusters.drivers.slurm.gres import read_gpus
from gsdsl_clusters.drivers.slurm.hostlist import expand
from gsdsl_clusters.drivers.slurm.observe import observation_of

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
    assert (found.nodes["g2"].reason, found.nodes["g2"].drains) == ("broken fan", True)
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
        ({"job_state": "DREAMING"}, "its state is unknown: DREAMING"),
        ({"job_state": []}, "its state is unknown: none"),
        ({"job_state": {"current": 3}}, "which is not a list of names"),
        ({"submit_time": "yesterday"}, "`submit_time` is 'yesterday', which is not a number of Slurm"),
        ({"submit_time": {"number": None, "infinite": False, "set": True}, "restart_cnt": "x"}, "`restart_cnt` is 'x'"),
        ({"priority": float("inf")}, "`priority` is inf, which is not a number of Slurm"),
        ({"node_count": float("nan")}, "`node_count` is nan, which is not a number of Slurm"),
        (
            {"node_count": {"set": True, "infinite": True, "number": 0}},
            "`node_count` is {'set': True, 'infinite': True",
        ),
        ({"nodes": "g[1-"}, "is not a list of nodes"),
        ({"job_id": None}, "a job has no `job_id`"),
    ],
)
def test_a_job_that_is_not_understood_is_left_out_by_itself(change: dict[str, Any], message: str) -> None:
    """It occupies the GPUs of its nodes, where these can be read, and the other job is read as before."""
    found = observation_of([{**JOBS_22[0], **change}, JOBS_22[1]], NODES_22, None)
    alone = observation_of([JOBS_22[1]], NODES_22, None)
    assert found.jobs["2"] == alone.jobs["2"]
    [job] = [job for name, job in found.jobs.items() if name != "2"]
    assert (job.unread, message in job.unsupported) == (True, True)
    assert job.allocation == ({} if "nodes" in change else {"g1": 8, "g2": 8})
    [told] = found.unread
    assert told.startswith(f"job `{job.name}` is left out: ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state": "dreaming"}, "its state is unknown: DREAMING"),
        ({"state_flags": ["RESUMING"]}, "its state is unknown: RESUMING"),
        ({"state": None}, "its state is unknown: none"),
        ({"gres": "gpu:h200:half"}, "`gpu:h200:half` is not a number of GPUs"),
        ({"gres": {"count": 3}}, "`gres` is {'count': 3}, which is not a text of Slurm"),
    ],
)
def test_a_node_that_is_not_understood_starts_no_jobs(change: dict[str, Any], message: str) -> None:
    found = observation_of(JOBS_22, [{**NODES_22[0], **change}, NODES_22[1]], None)
    assert (found.nodes["g1"].up, found.nodes["g1"].drains, found.nodes["g1"].reason) == (False, True, message)
    assert found.unread == (f"node `g1` is left out: {message}",)
    assert found.jobs["1"].allocation == {"g1": 2, "g2": 2}


def test_records_that_are_no_objects() -> None:
    found = observation_of([None, *JOBS_22, "7"], [["g3"], *NODES_22], "main")
    assert (found.jobs, found.nodes) == (lambda o: (o.jobs, o.nodes))(observation_of(JOBS_22, NODES_22, "main"))
    assert found.unread == (
        "a record of a node is left out: it is no object", "a record of a job is left out: it is no object",
    )  # fmt: skip


def test_a_job_of_another_partition_on_our_nodes() -> None:
    """It occupies their GPUs, and cannot be managed; one that waits is not there at all."""
    others = [{**job, "job_id": 10 + job["job_id"], "partition": "night"} for job in JOBS_22]
    found = observation_of([*JOBS_22, *others], NODES_22, "main")
    assert set(found.jobs) == {"1", "2", "11"}
    assert (found.jobs["11"].unsupported, found.jobs["11"].allocation) == (
        "it is in another partition",
        {"g1": 2, "g2": 2},
    )


@pytest.mark.parametrize(
    "stated", [{"shared": "none"}, {"shared": ["none"]}, {"exclusive": ["true"]}, {"shared": "user"}]
)
def test_whole_nodes(stated: dict[str, Any]) -> None:
    """A job that shares its nodes with nobody occupies all their GPUs, and is planned where it requests all."""
    running, held = observation_of([{**job, **stated} for job in JOBS_22], NODES_22, "main").jobs.values()
    assert running.allocation == {"g1": 8, "g2": 8}
    assert held.misfits["g2"] == "it takes whole nodes, with 4 GPUs of each"
    whole = {**JOBS_22[1], "tres_per_node": "gres:gpu:h200:8", **stated}
    assert observation_of([whole], NODES_22, "main").jobs["2"].misfits == {"g1": "it asks for g2"}


def test_states_of_nodes_in_which_jobs_go_on() -> None:
    for flag in ("REBOOT_ISSUED", "POWER_DRAIN", "DRAIN", "MAINTENANCE"):
        node = observation_of([], [{**NODES_22[0], "state_flags": [flag]}], None).nodes["g1"]
        assert (node.up, node.drains, node.gpus) == (False, True, 8)
    node = observation_of([], [{**NODES_22[0], "state": "down", "state_flags": ["DRAIN"]}], None).nodes["g1"]
    assert (node.up, node.drains) == (False, False)
    job = observation_of([{**JOBS_22[1], "job_state": ["PENDING", "RESV_DEL_HOLD"]}], NODES_22, None).jobs["2"]
    assert job.state is JobState.BLOCKED


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"tres_per_node": "", "tres_per_socket": "gres:gpu:1"}, "it requests GPUs per socket"),
        ({"tres_per_node": ""}, "it requests no GPU"),
    ],
)
def test_jobs_that_cannot_be_managed(change: dict[str, Any], reason: str) -> None:
    assert observation_of([{**JOBS_22[1], **change}], NODES_22, None).jobs["2"].unsupported == reason


def test_a_component_of_a_het_job_is_left_out_and_occupies_its_gpus() -> None:
    """It has the name that squeue shows; an array has no components, and a job that is none has a `het_job_id` of 0."""
    components = [{**job, "het_job_id": 1, "het_job_offset": at} for at, job in enumerate(JOBS_22[:2])]
    del components[1]["het_job_offset"]
    components[0] |= {"gres_detail": [], "tres_per_node": "gres:gpu:3"}
    found = observation_of([*components, {**JOBS_22[1], "job_id": 3, "het_job_id": 0}], NODES_22, None).jobs
    assert list(found) == ["1+0", "1+1", "3"]
    reason = "it is a component of a het job, and its components start together"
    assert [job.unsupported for job in found.values()] == [reason, reason, ""]
    assert [dict(job.allocation) for job in found.values()] == [{"g1": 3, "g2": 3}, {}, {}]


def test_a_job_that_was_put_back_is_not_released() -> None:
    """Slurm delays it; only a new start lets it run at once."""
    job = {**JOBS_22[0], "job_state": "PENDING", "eligible_time": 1795466000, "state_reason": "None"}
    assert observation_of([job], NODES_22, None, now=1795465900.0).jobs["1"].held
    assert not observation_of([job], NODES_22, None, now=1795466001.0).jobs["1"].held
    first = observation_of([{**job, "restart_cnt": 0}], NODES_22, None, now=1795465900.0).jobs["1"]
    assert first.state is JobState.BLOCKED


@pytest.mark.parametrize(
    ("text", "count", "kind", "slices"),
    [
        ("gpu:h200:8(S:0-1),gpu:a100:2", 10, "", 0),
        ("cpu=1,gres/gpu=4,gres/gpu:h200=4", 4, "h200", 0),
        ("", 0, "", 0), ("gpu", 1, "", 0), ("gres:gpu:2", 2, "", 0), ("gres/gpu:3", 3, "", 0), ("gpu:1k", 1024, "", 0),
        ("license:5", 0, "", 0), ("(null)", 0, "", 0), ("N/A", 0, "", 0), ("shard:4,mps:100", 0, "", 0),
        ("gpu:3090:8", 8, "3090", 0), ("gpu:2080ti", 1, "2080ti", 0), ("gpu:2080ti:4(S:0-1)", 4, "2080ti", 0),
        ("gres/gpu:3090=8,gres/gpu=8", 8, "3090", 0), ("gpu:a100:no_consume:4", 4, "a100", 0),
        ("gpu:no_consume:4", 4, "", 0), ("gpu:1g.10gb:7", 0, "", 7), ("gpu:nvidia_a100_3g.20gb:2", 0, "", 2),
        ("gres/gpu=9,gres/gpu:a100=4,gres/gpu:1g.5gb=5", 4, "a100", 5), ("gpu:1c.3g.40gb:2", 0, "", 2),
        ("gpu:gb200:4", 4, "gb200", 0),
    ],
)  # fmt: skip
def test_gpus(text: str, count: int, kind: str, slices: int) -> None:
    found = read_gpus(text)
    assert (found.count, found.kind, found.slices) == (count, kind, slices)


@pytest.mark.parametrize("text", ["gpu:h200:half", "gpu:a:b:3", "gpu:-3", "gpu:h200:1e3"])
def test_gpus_of_an_unknown_form(text: str) -> None:
    with pytest.raises(ValueError, match="not a number of GPUs"):
        read_gpus(text)


def test_lists_of_nodes() -> None:
    assert expand("g[1-3,07],login,a[1-2]b[8-9]") == ("g1", "g2", "g3", "g07", "login", "a1b8", "a1b9", "a2b8", "a2b9")
    assert expand("") == ()
    assert expand("n[098-101]") == ("n098", "n099", "n100", "n101")
    for wrong in ("g[1-", "g]1[", "g[a-b]", "g[]"):
        with pytest.raises(ValueError, match="is not a"):
            expand(wrong)


JUNK: tuple[Any, ...] = (
    None, "", "x", [], ["A"], {}, {"set": True}, {"number": 41}, {"number": None}, {"number": "7", "set": True}, -1,
    3.5, True, "g[1-2", "g[1-99999999]", 10**20, float("inf"), float("-inf"), float("nan"), [[1]],
    {"number": float("nan")}, {"set": True, "infinite": True, "number": 0}, {"list": 3}, 10**400, "7", "gpu:1g.10gb:7",
)  # fmt: skip


def mutants(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The record with each field replaced by each wrong value, and without each field."""
    changed = [{**record, name: value} for name in record for value in JUNK]
    return changed + [{key: value for key, value in record.items() if key != name} for name in record]


DEMANDS = {
    "dependency": "", "excluded_nodes": "", "features": "", "licenses": "", "resv_name": "", "shared": None,
    "exclusive": [], "admin_comment": "", "eligible_time": 0, "array_job_id": 0, "array_task_id": None,
    "array_max_tasks": 0,
}  # fmt: skip


@pytest.mark.quick(1)
@pytest.mark.parametrize("release", [24, 22])
def test_every_field_may_be_wrong(release: int) -> None:
    """Whatever stands in one field of one record, everything else is read as before, and the driver goes on."""
    jobs = [{**job, **DEMANDS} if release == 22 else as_24({**job, **DEMANDS}) for job in JOBS_22]
    nodes = [{**node, "features": "a,b", "active_features": "a,b"} for node in NODES_22]
    whole = observation_of(jobs, nodes, "main", now=1795465700.0)
    unread = 0
    for at, record in enumerate(jobs):
        other = str(2 - at)
        for changed in mutants(record):
            found = observation_of([*jobs[:at], changed, *jobs[at + 1 :]], nodes, "main", now=1795465700.0)
            assert found.nodes == whole.nodes
            assert other not in found.jobs or found.jobs[other] == whole.jobs[other]
            assert bool(found.unread) is any(job.unread for job in found.jobs.values())
            assert all(sum(job.allocation.values()) <= 16 for job in found.jobs.values())
            unread += bool(found.unread)
    assert unread > 200
    for at, record in enumerate(nodes):
        for changed in mutants(record):
            found = observation_of(jobs, [*nodes[:at], changed, *nodes[at + 1 :]], "main", now=1795465700.0)
            assert found.nodes[nodes[1 - at]["name"]] == whole.nodes[nodes[1 - at]["name"]]
            assert all(0 <= node.gpus <= 8 for node in found.nodes.values())


def test_settings_of_slurm() -> None:
    made = SlurmCluster.from_settings({"partition": "main", "api": "unix:/run/rest", "version": "v0.0.38"})
    assert (made.partition, made.rest is not None) == ("main", True)
    for settings, message in (
        ({"partitoin": "main"}, "partitoin: is unknown"),
        ({"partition": 3}, "partition: must be a text"),
        ({"api": "ftp://x"}, "api: must be"),
        ({"api": "http://x:6820"}, "version: is needed with REST"),
        ({"actions": "rest"}, "actions: must be"),
        ({"actions": "rest", "api": "http://x:6820", "version": "v0.0.39"}, "actions: by REST are known for v0.0.38"),
        ({"timeout": -1}, "timeout: must be positive"),
        ({"timeout": 1e300}, "timeout: must be at most"),
        ({"partition": ""}, "partition: must not be empty"),
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
    command("sinfo", """echo '{"nodes": [{"name": "g1", "name": "g2"}]}'""")
    with pytest.raises(ClusterUnavailable, match="printed no JSON: an object has the key `name` twice"):
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
