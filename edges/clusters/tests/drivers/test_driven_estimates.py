"""Estimates of the jobs of a driven cluster, from its records."""

from __future__ import annotations

from pathlib import Path

import pytest
from drive_files import CLUSTER, run_driver, settings_of, write_files
from found_codes import raises_code, shows
from simulated_cluster import SimulatedCluster

from gpusched_dsl.cli import main
from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.steps import RecordedSteps
from gpusched_dsl.online.live.messages import event_of
from gpusched_dsl.online.planners.verification import PlanCheck
from gpusched_dsl.policies.broken_rows import BrokenRows
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.workflows.estimate import estimate_live
from gsdsl_clusters.drivers.drive import JOURNAL, parts_of, start_of_run
from gsdsl_clusters.drivers.live_estimate import estimate_driven, explain_driven, restore_loop


def test_the_start_of_a_waiting_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two nodes run jobs of 60 s; the third job starts when the first one ends, and the cluster agrees."""
    cluster, path = SimulatedCluster({"g1": 4, "g2": 4}), write_files(tmp_path)
    for number, length in ((1, 60), (2, 90), (3, 30)):
        cluster.submit(str(number), 4, length, comment=f"length={length}")
    run_driver(path, cluster, 3)
    settings = settings_of(path, cluster)
    workspace = load_workspace(settings.model, Diagnostics())
    found = estimate_driven(workspace, settings, "3", now=cluster.now)
    assert (found.state, found.unit) == ("waiting", "h")
    expected = found.quantile("start", 0.5)
    run_driver(path, cluster, 18)
    origin = 1_800_000_000.0
    started = cluster.jobs["3"].started
    assert started is not None
    assert expected is not None
    assert abs((started - origin) / 3600 - expected) <= 6 / 3600  # an observation every 5 s
    with raises_code("GSM6021", "9"):
        estimate_driven(workspace, settings, "9", now=cluster.now)
    assert main(["estimate", str(path), "--job", "3", "--at", "2"]) == 2
    assert shows(capsys.readouterr().err, "GSM6002", "--at")


def test_why_a_job_of_a_driven_cluster_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last recorded plan is explained, on the command line as well, where a cluster file has no `--at`."""
    cluster, path = SimulatedCluster({"g1": 4, "g2": 4}), write_files(tmp_path)
    for number in (1, 2, 3):
        cluster.submit(str(number), 4, 60, comment="length=60")
    run_driver(path, cluster, 3)
    settings = settings_of(path, cluster)
    workspace = load_workspace(settings.model, Diagnostics())
    found = explain_driven(workspace, settings, "3", now=cluster.now)
    assert (found.runs, found.method) == (False, "FIFO")
    assert found.reason is not None
    assert explain_driven(workspace, settings, "1", now=cluster.now).runs
    assert main(["why", str(path), "--job", "3", "--at", "2"]) == 2
    assert shows(capsys.readouterr().err, "GSM6002", "--at")
    assert main(["why", str(settings.model), "--job", "3"]) == 2
    assert "`--at` is missing" in capsys.readouterr().err


def test_recorded_plans_are_not_verified_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate is that of a loop which verifies each recorded plan, and needs no verification for it."""
    cluster, path = (
        SimulatedCluster({"g1": 4, "g2": 4}),
        write_files(tmp_path, cluster=CLUSTER + "obeys_model = false\n"),
    )
    for number in range(1, 7):
        cluster.submit(str(number), 1 + number % 4, 20 * number, comment=f"length={20 * number}")
    run_driver(path, cluster, 12)
    settings = settings_of(path, cluster)
    workspace = load_workspace(settings.model, Diagnostics())
    parts = parts_of(workspace, settings, start_of_run(workspace, settings, cluster.now, create=False))
    with Journal.read(settings.folder / JOURNAL) as journal:
        verified = parts.make_loop(RecordedSteps(journal))
        for one in journal.external():
            verified.apply(verified.check(event_of(one.content)), one.time)
            verified.decide()
            verified.decisions()
        calls: list[int] = []
        inner = PlanCheck.__call__

        def count(self: PlanCheck, instance: Instance, plan: Plan, number: int) -> BrokenRows | None:
            calls.append(number)
            return inner(self, instance, plan, number)

        monkeypatch.setattr(PlanCheck, "__call__", count)
        restored = restore_loop(parts, journal)
        assert (restored.step_count, calls) == (len(journal), [])
    assert restored.examine is not None, "later plans are verified"
    waiting = next(
        label for label in "654321" if cluster.jobs[label].started is None or cluster.jobs[label].ended is None
    )
    expected = estimate_live(verified, waiting, arrivals=True, samples=5)
    assert estimate_live(restored, waiting, arrivals=True, samples=5).to_dict() == expected.to_dict()
