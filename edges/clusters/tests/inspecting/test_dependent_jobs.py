"""What jobs of Slurm wait for: the end of other jobs, of all components of a het job, or of jobs that are not shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gpusched_dsl.data.sources.files import FileLimits
from gsdsl_clusters.inspecting.inspection import inspect
from gsdsl_clusters.inspecting.reading import read_snapshot
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot
from gsdsl_clusters.inspecting.starts import estimate_starts
from gsdsl_clusters.inspecting.written_model import model_folder

NOW, HALF_AN_HOUR = 1_796_000_000, 1800.0
LIMITS = FileLimits(allow_outside=True)


def job(id: int, gpus: int = 0, minutes: int = 60, nodes: str = "", **fields: Any) -> dict[str, Any]:
    """A record of Slurm in JSON; with nodes it has just started."""
    state = {"job_state": "RUNNING", "start_time": NOW} if nodes else {"job_state": "PENDING"}
    demand = {"tres_per_node": f"gres:gpu:{gpus}"} if gpus else {}
    named = {"user_name": "u", "name": f"job {id}", "partition": "main", "submit_time": NOW - 60, "priority": 1000 - id}
    return {"job_id": id, "node_count": 1, "time_limit": minutes, "nodes": nodes, **named, **state, **demand} | fields


def part(het: int, offset: int, *given: Any, **fields: Any) -> dict[str, Any]:
    return job(het + offset, *given, het_job_id=het, het_job_offset=offset, **fields)


def read(folder: Path, jobs: Sequence[Mapping[str, Any]]) -> ClusterSnapshot:
    """Of two nodes with four GPUs."""
    nodes = [{"name": n, "state": "IDLE", "gres": "gpu:a100:4", "partitions": ["main"]} for n in ("n1", "n2")]
    (folder / "date.txt").write_text(f"{NOW} +0000\n")
    (folder / "jobs.json").write_text(json.dumps({"jobs": jobs}))
    (folder / "nodes.json").write_text(json.dumps({"nodes": nodes}))
    return read_snapshot(str(folder), LIMITS)


# Job 1 runs for an hour on a node, with a component without GPUs that runs for ten hours; job 3 has no GPUs, job 4 runs
# for half an hour on the other node, and a component of job 20 for an hour, as its component without GPUs. Job 5 has a
# dependency and three GPUs of a node for an hour; job 9 behind it wants both nodes.
RUNNING = (
    part(1, 0, 0, 600, "n1"),
    part(1, 1, 4, 60, "n1"),
    job(3, 0, 600, "n2"),
    job(4, 3, 30, "n2"),
    part(20, 0, 1, 60, "n2"),
    part(20, 1, 0, 60, "n2"),
)
BOTH = job(9, 4, node_count=2, state_reason="Resources")
DEPENDENCIES = {
    "the end of a job": ("afterok:4(unfulfilled)", ["4"], "waits for the end of 4", 3),
    "a component": ("afterok:2(unfulfilled)", ["1+1"], "waits for the end of 1", 4),
    "a het job with a component without GPUs": ("afterany:1(unfulfilled)", ["1+1", "1+0"], "waits for the end of 1", 2),
    "a het job whose component without GPUs ends first": (
        "afterany:20(unfulfilled)",
        ["20+0"],
        "waits for the end of 20",
        4,
    ),
    "a job without GPUs": ("afterok:3(unfulfilled)", ["3"], "waits for the end of 3", 2),
    "another one besides": ("afterok:4:3(unfulfilled)", ["4", "3"], "waits for the end of 4, 3", 2),
    "one that has ended well": ("afterok:4(unfulfilled),afterok:3(fulfilled)", ["4"], "waits for the end of 4", 3),
    "alternatives": ("afterok:4(unfulfilled)?afterok:3(unfulfilled)", [], "waits for another job", 2),
    "a start besides": ("afterok:4(unfulfilled),after:3(unfulfilled)", [], "waits for another job", 2),
    "singleton, of the name of job 4": ("singleton(unfulfilled)", ["4"], "waits for the end of 4", 3),
}


@pytest.mark.parametrize(("stated", "after", "text", "halves"), DEPENDENCIES.values(), ids=DEPENDENCIES.keys())
@pytest.mark.parametrize("parts", [1, 2])
def test_jobs_wait_for_all_that_is_stated(
    stated: str, after: list[str], text: str, halves: int, parts: int, tmp_path: Path
) -> None:
    """Job 9 starts after as many halves of an hour: a dependency that does not end in sight delays nobody."""
    demand: dict[str, Any] = {"dependency": stated, "state_reason": "Dependency", "name": "job 4"}
    waits = [job(5, 3, **demand)] if parts == 1 else [part(5, at, 1 + at, **demand) for at in range(2)]
    found = read(tmp_path, [*RUNNING, *waits, BOTH])
    assert [row["after"] for row in found.jobs.iter_rows(named=True) if row["state"] == "blocked"] == [after] * parts
    inspected = inspect(found)
    assert {job.job: job.notes for job in inspected.waiting}["5"] == (text,)
    starts = dict(estimate_starts(found).table.select("job", "q50").iter_rows())
    assert starts == {"9": pytest.approx(halves * HALF_AN_HOUR)}
    named = [line for line in found.unread if line.startswith(("1 job (5", "2 jobs (5"))]
    assert bool(named) == (not after)


@pytest.mark.parametrize("reason", ["DependencyNeverSatisfied", "JobHeldUser", "Reservation"])
def test_jobs_that_wait_for_something_else_do_not_start_at_an_end(reason: str, tmp_path: Path) -> None:
    """One component of a het job has failed and the other still runs, or the job is held, or in a reservation."""
    fields: dict[str, Any] = {"resv_name": "r"} if reason == "Reservation" else {}
    stated: dict[str, Any] = {"dependency": "afterok:4(failed)", "state_reason": reason}
    found = read(tmp_path, [*RUNNING, job(5, 3, **stated, **fields), BOTH])
    starts = dict(estimate_starts(found).table.select("job", "q50").iter_rows())
    assert starts == {"9": pytest.approx(2 * HALF_AN_HOUR)}


def test_singleton_obeys_the_order_of_submission_and_sees_jobs_without_gpus(tmp_path: Path) -> None:
    single: dict[str, Any] = {"dependency": "singleton(unfulfilled)", "state_reason": "Dependency", "name": "job 3"}
    found = read(tmp_path, [*RUNNING, part(12, 0, 1, **single), part(12, 1, 1, **single), job(5, 1, **single)])
    after = dict(found.jobs.filter(found.jobs["state"] == "blocked").select("job", "after").iter_rows())
    assert after == {"5": ["3"], "12+0": ["5"], "12+1": ["5"]}


@pytest.mark.parametrize("slices", [0, 1])
def test_a_het_job_of_which_a_component_cannot_be_read_is_left_out(slices: int, tmp_path: Path) -> None:
    parts = [part(7, at, 1) for at in range(2)]
    parts[slices]["tres_per_node"] = "gres:gpu:1g.10gb:1"
    found = inspect(read(tmp_path, [*RUNNING, *parts]))
    assert "3 jobs run, none waits" in found.headline()
    assert f"1 job (7+{slices}): it requests slices of GPUs" in found.snapshot.unread
    assert f"1 job (7+{1 - slices}): another component of its het job cannot be read" in found.snapshot.unread


def test_slurm_without_a_reason_says_nothing(tmp_path: Path) -> None:
    """JSON has the word `None`."""
    found = inspect(read(tmp_path, [job(7, 1, state_reason="None"), job(8, 1, state_reason="Priority")]))
    assert {job.job: job.notes for job in found.waiting} == {"7": (), "8": ("the cluster says: Priority",)}


def test_a_written_model_names_the_het_jobs_that_it_leaves_out(tmp_path: Path) -> None:
    """Also one with a single component that has GPUs: `gsdsl drive` leaves it out as well."""
    parts = [part(5, 0, 1), part(5, 1), part(7, 0, 1), part(7, 1, 1), part(10, 0, 1, priority=0), part(10, 1)]
    folder = model_folder(read(tmp_path, [*RUNNING, *parts, job(12, 1)]))
    assert list(folder.left_out) == [
        "1 job (10) that must not start yet",
        "2 het jobs (5, 7), whose components start together",
    ]
    assert sorted(line.partition(",")[0] for line in folder.files["jobs.csv"].splitlines()[1:]) == [
        "1+1",
        "12",
        "20+0",
        "4",
    ]
    assert "2 het jobs (5, 7)" in folder.files["README.md"]
