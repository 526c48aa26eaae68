"""Arrays on a simulated Slurm: every task is a job of its own, and no plan runs more of them than their limit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from simulated_slurm import EPOCH, Job, Node, SimulatedSlurm
from test_slurm_demands import act, two_nodes
from test_slurm_json import JOBS_22, NODES_22

from gsdsl_clusters.drivers import drive as driving
from gsdsl_clusters.drivers.drive import HISTORY
from gsdsl_clusters.drivers.observed_jobs import read_history
from gsdsl_clusters.drivers.protocol import JobState
from gsdsl_clusters.drivers.reconcile import Difference, WantedState, difference
from gsdsl_clusters.drivers.records import read_records
from gsdsl_clusters.drivers.slurm import arrays
from gsdsl_clusters.drivers.slurm.observe import observation_of

HELD: dict[str, Any] = {**JOBS_22[1], "required_nodes": "", "array_job_id": 2, "array_task_id": None}


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The jobs that run in each plan that is compared with the cluster."""
    found: list[tuple[str, ...]] = []

    def watched(plan: WantedState, *rest: Any, **options: Any) -> Difference:
        found.append(tuple(plan.allocations))
        return difference(plan, *rest, **options)

    monkeypatch.setattr(driving, "difference", watched)
    return found


def most_at_once(jobs: Sequence[Job]) -> int:
    return max(sum(one.started <= job.started < one.ended for one in jobs) for job in jobs)


@pytest.mark.parametrize(
    ("stated", "tasks"),
    [
        ("5-10%2", [5, 6, 7, 8, 9, 10]),
        ("1-9:4,12", [1, 5, 9, 12]),
        ("0", [0]),
        ("3,1%5", [3, 1]),
    ],
)
@pytest.mark.parametrize("release", [22, 24])
def test_tasks_that_wait_in_one_record(stated: str, tasks: list[int], release: int) -> None:
    limit = int(stated.partition("%")[2] or 0)
    record = {**HELD, "array_task_string": stated, "array_max_tasks": limit}
    if release == 24:
        record |= {name: {"set": True, "infinite": False, "number": record[name]} for name in ("array_job_id",)}
        record["array_task_id"] = {"set": False, "infinite": False, "number": 0}
        record["array_max_tasks"] = {"set": True, "infinite": False, "number": limit}
    seen = observation_of([record], NODES_22, None)
    assert list(seen.jobs) == [f"2_{task}" for task in tasks]
    assert [job.fields["array_task"] for job in seen.jobs.values()] == tasks
    assert {job.fields["array_job"] for job in seen.jobs.values()} == {"2"}
    assert {job.unsupported for job in seen.jobs.values()} == {""}
    free = sorted(tasks)[: limit or None]
    assert [job.name for job in seen.jobs.values() if job.state is JobState.PENDING] == [
        f"2_{t}" for t in tasks if t in free
    ]


def test_a_task_keeps_its_name() -> None:
    """Also the last one, whose record has the id of the array."""
    for id in (2, 17):
        record = {**JOBS_22[0], "job_id": id, "array_job_id": 2, "array_task_id": 6, "array_task_string": ""}
        assert list(observation_of([record], NODES_22, None).jobs) == ["2_6"]
    plain = {**JOBS_22[0], "array_job_id": {"set": True, "number": 0}, "array_task_id": {"set": False, "number": 0}}
    assert list(observation_of([plain], NODES_22, None).jobs) == ["1"]


@pytest.mark.parametrize("stated", ["1,3-4,6...%7", "1,x", "1-", "1-5:0", "0x3F"])
def test_lists_of_tasks_that_are_not_understood(stated: str) -> None:
    seen = observation_of([{**HELD, "array_task_string": stated}, JOBS_22[0]], NODES_22, None)
    assert (seen.jobs["2"].unread, seen.jobs["1"].unread) == (True, False)
    assert ("SLURM_BITSTR_LEN=0" in seen.unread[0]) is ("..." in stated)


def test_a_very_large_array_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "MOST_TASKS", 5)
    seen = observation_of([{**HELD, "array_task_string": "1-3,10-4000000"}], NODES_22, None)
    assert list(seen.jobs) == ["2_1", "2_2", "2_3", "2_10", "2_11"]
    assert seen.unread == ("array `2` has 3,999,994 waiting tasks: 5 of them are read at a time",)


@pytest.mark.parametrize("held", ["JobHeldUser", ""])
def test_no_plan_runs_more_tasks_than_the_limit(held: str, tmp_path: Path, plans: list[tuple[str, ...]]) -> None:
    """There is room for eight tasks, and a job behind the array takes what the array may not."""
    slurm = two_nodes()
    tasks = slurm.submit_array(range(5, 11), at_once=2, gpus=1, seconds=20, held=held)
    other = slurm.submit(gpus=4, seconds=20)
    summary, told = act(tmp_path, slurm, 30)
    assert {job.state for job in slurm.jobs.values()} == {"COMPLETED"}, told
    assert most_at_once(tasks) == 2
    assert max(sum(name.startswith("1_") for name in plan) for plan in plans) == 2
    assert other.started < tasks[2].started
    if held:
        assert [job.task for job in sorted(tasks, key=lambda job: (job.started, job.task))] == list(range(5, 11))
        assert (summary.left_out, {job.begun for job in tasks}) == ({}, {1})


def test_random_arrays_end_within_their_limits(tmp_path: Path, plans: list[tuple[str, ...]]) -> None:
    for number in range(6):
        draw, folder = random.Random(number), tmp_path / str(number)
        folder.mkdir()
        slurm = SimulatedSlurm([Node("g1", 4), Node("g2", draw.choice((2, 4)))])
        of_array: dict[str, tuple[int, list[Job]]] = {}
        for _ in range(3):
            limit, held = draw.choice((0, 1, 2, 3)), draw.choice(("JobHeldUser", ""))
            tasks = slurm.submit_array(
                sorted(draw.sample(range(40), draw.randint(1, 6))), limit, gpus=draw.randint(1, 2),
                seconds=draw.choice((7, 20)), held=held, submitted=EPOCH + draw.choice((0, 12)),
            )  # fmt: skip
            of_array[str(tasks[0].array)] = (limit, tasks)
        plans.clear()
        _, told = act(folder, slurm, 80)
        assert {job.state for job in slurm.jobs.values()} == {"COMPLETED"}, (number, told)
        for array, (limit, tasks) in of_array.items():
            planned = max(sum(name.startswith(f"{array}_") for name in plan) for plan in plans)
            assert not limit or (most_at_once(tasks) <= limit and planned <= limit), number


def test_shadow_plans_obey_the_limit_and_tasks_arrive_when_it_lets_them(
    tmp_path: Path, plans: list[tuple[str, ...]]
) -> None:
    """In the report, no method may start a task before the limit let it start in the cluster."""
    slurm = two_nodes()
    tasks = slurm.submit_array(range(1, 6), at_once=2, gpus=1, seconds=20, held="")
    act(tmp_path, slurm, 20, acts=False)
    assert max(sum(name.startswith("1_") for name in plan) for plan in plans) == 2
    jobs = read_history(read_records(tmp_path / "shadow" / HISTORY)).jobs
    assert set(jobs) == {f"1_{task}" for task in range(1, 6)}
    first_end = int(min(job.ended for job in tasks))  # dates of Slurm have whole seconds
    assert [jobs[f"1_{task}"].arrived >= first_end for task in range(1, 6)] == [False, False, True, True, True]
    assert all(jobs[f"1_{job.task}"].arrived <= job.started for job in tasks)


def test_a_planned_task_leaves_at_once_when_another_one_has_started(
    tmp_path: Path, plans: list[tuple[str, ...]]
) -> None:
    slurm = two_nodes()
    slurm.submit_array(range(1, 4), at_once=1, gpus=1, seconds=40)
    slurm.at.append((EPOCH + 7, lambda: slurm.change(["release", "1_2"])))
    act(tmp_path, slurm, 8, acts=False)
    assert {("1_1",), ("1_2",)} <= set(plans)
    assert max(map(len, plans)) == 1


def test_tasks_keep_the_nodes_that_their_user_asks_for(tmp_path: Path) -> None:
    slurm = two_nodes()
    tasks = slurm.submit_array(range(3), gpus=3, seconds=10, asked=("g2",))
    act(tmp_path, slurm, 20)
    assert {(job.state, job.node) for job in tasks} == {("COMPLETED", "g2")}
    assert all(job.admin_comment.endswith("[asked for g2]") for job in tasks)
