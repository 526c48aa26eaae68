"""Drivers and inspections of Slurm read the same state, GPUs on nodes, name and time limit in a job's record."""

from __future__ import annotations

from typing import Any

import pytest

from gsdsl_clusters.drivers.protocol import JobState
from gsdsl_clusters.drivers.slurm.observe import observation_of
from gsdsl_clusters.inspecting.readers.slurm_jobs import SlurmRecords
from gsdsl_clusters.inspecting.snapshot import SnapshotState

NODES = [{"name": name, "gres": "gpu:a100:4", "state": "IDLE", "partitions": ["gpu"]} for name in ("n1", "n2", "n3")]
JOB = {
    "job_id": 5, "job_state": "RUNNING", "nodes": "n[1-2]", "node_count": 2, "tres_per_job": "gres:gpu:3",
    "partition": "gpu", "time_limit": 60, "start_time": 900, "submit_time": 800, "priority": 1,
}  # fmt: skip
UNSET = {"set": False, "infinite": False, "number": 0}


def read(**fields: Any) -> tuple[Any, dict[str, Any]]:
    """The job as it is observed, and its row as it is inspected."""
    record = {**JOB, **fields}
    observed = observation_of([record], NODES, None, 1000.0)
    records = SlurmRecords(1000.0, {})
    for node in NODES:
        records.add_node(node)
    records.add_job(record)
    (job,), (row,) = observed.jobs.values(), records.jobs
    assert not observed.unread
    assert not records.unread.found
    return job, row


@pytest.mark.parametrize(
    ("stated", "observed", "inspected"),
    [
        (["PENDING"], JobState.PENDING, SnapshotState.WAITING),
        ("REQUEUED", JobState.PENDING, SnapshotState.WAITING),
        (["PENDING", "REQUEUED"], JobState.PENDING, SnapshotState.WAITING),
        (["RESV_DEL_HOLD", "PENDING"], JobState.BLOCKED, SnapshotState.BLOCKED),
        (["RUNNING", "POWER_UP_NODE"], JobState.RUNNING, SnapshotState.RUNNING),
        ("CONFIGURING", JobState.RUNNING, SnapshotState.RUNNING),
        (["COMPLETED"], JobState.DONE, SnapshotState.ENDED),
        (["TIMEOUT"], JobState.FAILED, SnapshotState.ENDED),
        ("CANCELLED", JobState.CANCELLED, SnapshotState.ENDED),
    ],
)
def test_states(stated: Any, observed: JobState, inspected: SnapshotState) -> None:
    job, row = read(job_state=stated)
    assert (job.state, row["state"]) == (observed, inspected.value)


def test_a_job_that_completes_occupies_its_nodes() -> None:
    job, row = read(job_state=["FAILED", "COMPLETING"])
    assert (job.state, row["state"]) == (JobState.FAILED, "running")
    assert job.allocation == dict(zip(row["on_nodes"], row["on_gpus"], strict=True)) == {"n1": 2, "n2": 1}


@pytest.mark.parametrize(
    ("fields", "gpus"),
    [
        ({}, {"n1": 2, "n2": 1}),
        ({"gres_detail": ["gpu:a100:1(IDX:0)", "gpu:a100:2(IDX:0-1)"]}, {"n1": 1, "n2": 2}),
        ({"gres_detail": []}, {"n1": 2, "n2": 1}),
        ({"nodes": "n3", "node_count": 1}, {"n3": 3}),
        ({"exclusive": ["true"]}, {"n1": 4, "n2": 4}),
    ],
)
def test_gpus_on_nodes(fields: dict[str, Any], gpus: dict[str, int]) -> None:
    job, row = read(**fields)
    assert job.allocation == dict(zip(row["on_nodes"], row["on_gpus"], strict=True)) == gpus


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [
        (30, 1800.0), ({"set": True, "infinite": False, "number": 30}, 1800.0), (4294967295, None), (UNSET, None),
        ({"set": True, "infinite": True, "number": 0}, None),
    ],
)  # fmt: skip
def test_time_limits(stated: Any, seconds: float | None) -> None:
    job, row = read(time_limit=stated)
    assert job.fields.get("time_limit") == row["limit"] == seconds


@pytest.mark.parametrize(
    ("fields", "name"),
    [({}, "5"), ({"array_job_id": 7, "array_task_id": 0}, "7_0"), ({"array_job_id": 0, "array_task_id": UNSET}, "5")],
)
def test_names(fields: dict[str, Any], name: str) -> None:
    job, row = read(**fields)
    assert job.name == row["job"] == name


@pytest.mark.parametrize("stated", [["LOST"], [], 3])
def test_unknown_states_are_left_out_by_name(stated: Any) -> None:
    record = {**JOB, "job_state": stated}
    observed = observation_of([record], NODES, None, 1000.0)
    records = SlurmRecords(1000.0, {})
    records.add_job(record)
    assert observed.jobs["5"].unread
    ((_, why),) = records.unread.found
    assert observed.unread == (f"job `5` is left out: {why}",)
