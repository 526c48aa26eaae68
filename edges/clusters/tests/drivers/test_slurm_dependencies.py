"""Dependencies on a simulated Slurm: a job that waits for others is planned behind them, and never started before."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from drive_files import write_files
from simulated_slurm import EPOCH, SimulatedSlurm
from test_driven_slots import block
from test_slurm_demands import two_nodes
from test_slurm_json import JOBS_22, NODES_22

from gpusched_dsl.cli import main
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gsdsl_clusters.drivers.drive import DriveOptions, DriveSummary, drive
from gsdsl_clusters.drivers.settings import read_settings
from gsdsl_clusters.drivers.slurm.observe import observation_of

BEHIND = "  constraint behind[(j, k) in After]: sum[n in Nodes] run[j, n] <= 0;\n"
MODEL = f"""model Chains {{
  set Jobs;
  set Nodes;
  set After "job j starts after the end of job k" within Jobs cross Jobs;
  param submitted[Jobs] in h default 0[h];
  param gpus[Nodes] integer;
  param needs[Jobs] integer;
  param length[Jobs] in h > 0;
  param left[Jobs] default 1;
  param runs_on[Jobs, Nodes] binary default 0;
  var run[Jobs, Nodes] binary;
  maximize started: sum[j in Jobs, n in Nodes] (1 + 5 * runs_on[j, n]) * run[j, n];
  constraint one[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint capacity[n in Nodes]: sum[j in Jobs] needs[j] * run[j, n] <= gpus[n];
{BEHIND}  placement run[j, n] {{ job j; node n; uses needs[j] of gpus[n]; lasts left[j] * length[j]; }}
}}
scenario Cluster for Chains {{
  Nodes = {{ g1, g2 }};
  gpus[n in Nodes] = 4;
  Jobs = {{ }};
  After = {{ }};
}}
online Live for Chains {{
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, failure, recovery;
  carry left[j] = remaining[j];
  carry runs_on[j, n] = run[j, n];
}}
"""
CLUSTER = """driver = "slurm"
model = "cluster.gsm"
online = "Live"
method = "highs"
interval = 5

[slurm]
partition = "main"

[jobs]
submitted = "submitted"
needs = "gpus"
length = { field = "comment", match = "length=([0-9.]+)", unit = "s" }
After = "after"

[guard]
changes_per_hour = 1000000
patience = 3
"""


def act(
    folder: Path, slurm: SimulatedSlurm, rounds: int, model: str = MODEL, **options: Any
) -> tuple[DriveSummary, list[str]]:
    settings, cluster = read_settings(write_files(folder, model, CLUSTER), slurm.cluster())
    diagnostics = Diagnostics()
    workspace = load_workspace(settings.model, diagnostics)
    diagnostics.raise_if_errors()
    told: list[Diagnostic] = []
    given = DriveOptions(True, rounds, now=slurm.now, wait=slurm.sleep)
    return drive(workspace, settings, cluster, given, report=told.append, **options), [d.message for d in told]


def record(id: int, dependency: str = "", **more: Any) -> dict[str, Any]:
    return {**JOBS_22[1], "job_id": id, "required_nodes": "", "dependency": dependency, **more}


@pytest.mark.parametrize(
    ("stated", "after"),
    [
        ("afterok:11(unfulfilled)", ["11"]),
        ("afterok:11(unfulfilled),afterany:12(unfulfilled)", ["11", "12"]),
        ("afterok:11(fulfilled),afterany:12(unfulfilled)", ["12"]),
        ("afterany:10_*(unfulfilled)", ["10_1", "10_2"]),
        ("afterok:10_2(unfulfilled)", ["10_2"]),
        ("singleton(unfulfilled)", ["11", "12"]),
        ("afterok:11(unfulfilled)?afterok:12(unfulfilled)", []),
        ("afterok:11(failed)", []),
        ("afterok:13(unfulfilled)", []),
        ("afterok:99(unfulfilled)", []),
        ("afternotok:11(unfulfilled)", []),
        ("after:11+5(unfulfilled)", []),
        ("afterok:11(unfulfilled),afternotok:12(unfulfilled)", []),
        ("", []),
    ],
)
def test_jobs_that_must_end_before(stated: str, after: Sequence[str]) -> None:
    array = record(10, array_job_id=10, array_task_id=None, array_task_string="1-2", name="array")
    ended = {**JOBS_22[0], "job_id": 13, "job_state": "FAILED"}
    seen = observation_of([array, record(11), record(12), ended, record(20, stated), record(21)], NODES_22, None)
    assert list(seen.jobs["20"].after) == list(after)


def test_the_tasks_of_two_arrays_one_by_one() -> None:
    first = record(10, array_job_id=10, array_task_id=None, array_task_string="1-3")
    second = record(20, "aftercorr:10_*(unfulfilled)", array_job_id=20, array_task_id=None, array_task_string="1-3")
    seen = observation_of([first, second], NODES_22, None)
    assert {name: job.after for name, job in seen.jobs.items() if job.after} == {
        f"20_{task}": (f"10_{task}",) for task in (1, 2, 3)
    }


@pytest.mark.parametrize(
    "more", [{"state_reason": "JobHeldAdmin"}, {"resv_name": "later"}, {"state_reason": "DependencyNeverSatisfied"}]
)
def test_a_job_that_waits_for_something_else_too(more: dict[str, Any]) -> None:
    seen = observation_of([record(11), record(20, "afterok:11(unfulfilled)", **more)], NODES_22, None)
    assert seen.jobs["20"].after == ()


def chain(slurm: SimulatedSlurm) -> None:
    slurm.submit(gpus=4, seconds=20)
    slurm.submit(gpus=4, seconds=20, after=(1,))
    slurm.submit(gpus=4, seconds=20, after=(1, 2))
    slurm.submit(gpus=2, seconds=60)


def test_a_chain_is_in_the_plan_and_runs_in_its_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slurm, plans = two_nodes(), list[Any]()
    chain(slurm)
    _, told = act(tmp_path, slurm, 24, on_record=plans.append)
    jobs = slurm.jobs
    assert {job.state for job in jobs.values()} == {"COMPLETED"}, told
    assert jobs[1].ended <= jobs[2].started
    assert jobs[2].ended <= jobs[3].started
    assert jobs[3].started <= jobs[2].ended + 10
    assert "arrive 1 and 3" in [getattr(known, "id", "") for known in plans]  # all are planned from the beginning
    assert told == []
    assert {job.begun for job in jobs.values()} == {1}
    assert main(["drive", str(tmp_path / "cluster.toml"), "--report"]) == 0
    assert "compared: 4 jobs" in capsys.readouterr().out


def test_a_model_that_lets_a_job_run_too_early_does_not_block_others(tmp_path: Path) -> None:
    """It leaves the queue until Slurm shows no dependency any more, once and with a message."""
    slurm = two_nodes()
    slurm.submit(gpus=4, seconds=60)
    slurm.submit(gpus=4, seconds=20, after=(1,))
    slurm.submit(gpus=4, seconds=20, submitted=EPOCH + 6)
    _, told = act(tmp_path, slurm, 30, MODEL.replace(BEHIND, ""))
    jobs = slurm.jobs
    assert {job.state for job in jobs.values()} == {"COMPLETED"}, told
    assert jobs[1].ended <= jobs[2].started
    assert jobs[3].started < jobs[1].ended
    assert len([message for message in told if "job `2` leaves the queue for now" in message]) == 1


def test_a_chain_in_slots_is_planned_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first plan has a slot for every job, each behind the one before it; none starts earlier."""
    behind = """  constraint behind[(j, k) in After, h in Slots]: sum[n in Nodes] slots[k] * train[j, n, h]
    <= sum[n in Nodes, q in Slots where q < h] train[k, n, q];
  placement train"""
    model = block("gsm").replace("slot = 15[min]", "slot = 60[s]").replace("  placement train", behind)
    model = model.replace("  set Slots ordered", "  set After within Jobs cross Jobs;\n  set Slots ordered")
    model = model.replace("  Nodes = { g1, g2 };", "  Nodes = { g1, g2 };\n  After = { };")
    file = block("toml").replace("[jobs]\n", '[jobs]\nAfter = "after"\n').replace('values = "prices.jsonl"\n', "")
    monkeypatch.setitem(globals(), "CLUSTER", file.replace("cheap.gsm", "cluster.gsm"))
    told_of = SimulatedSlurm._job
    monkeypatch.setattr(
        SimulatedSlurm, "_job", lambda slurm, job: told_of(slurm, job) | {"comment": f"length={job.seconds} due=200"}
    )
    slurm = two_nodes()
    for number in range(3):
        slurm.submit(gpus=4, seconds=50, after=(number,) if number else ())
    records: list[Any] = []
    _, told = act(tmp_path, slurm, 150, model, on_record=records.append)
    jobs = list(slurm.jobs.values())
    assert {job.state for job in jobs} == {"COMPLETED"}, told
    assert "arrive 1 and 2" in [getattr(known, "id", "") for known in records]
    assert not any("leaves the queue" in message for message in told)
    assert all(before.ended <= job.started for before, job in pairwise(jobs))
    assert {job.begun for job in jobs} == {1}


def test_without_the_mapping_such_a_job_is_no_part_of_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "CLUSTER", CLUSTER.replace('After = "after"\n', ""))
    slurm = two_nodes()
    chain(slurm)
    _, told = act(tmp_path, slurm, 24, MODEL.replace(BEHIND, ""))
    assert {job.state for job in slurm.jobs.values()} == {"COMPLETED"}, told
    assert slurm.jobs[1].ended <= slurm.jobs[2].started
