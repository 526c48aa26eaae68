"""`gsdsl drive --metrics`: what a scrape shows of the cluster, the plan, waits, changes and savings."""

from __future__ import annotations

import json
import socket
import urllib.request
from pathlib import Path

import pytest
from drive_files import settings_of, write_files
from simulated_cluster import SimulatedCluster

from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.options.reading import listening_address
from gsdsl_clusters.drivers.drive import DriveOptions, drive
from gsdsl_clusters.drivers.metrics import DriveMetrics
from gsdsl_clusters.drivers.protocol import JobState, Observation, ObservedJob, ObservedNode
from gsdsl_clusters.drivers.reconcile import WantedState
from gsdsl_clusters.drivers.report import shadow_comparison
from gsdsl_clusters.drivers.report_figures import FIGURES, write_figures


def scraped(text: str) -> dict[str, float]:
    """The samples by name and labels."""
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def samples(metrics: DriveMetrics) -> dict[str, float]:
    return scraped(metrics.text().decode())


def test_a_run_is_counted_and_served(tmp_path: Path) -> None:
    """Two nodes of 4 GPUs and three jobs of 4: one waits for 40 s. Then the report gives the savings."""
    path = write_files(tmp_path)
    cluster = SimulatedCluster({"g1": 4, "g2": 4})
    for name in "abc":
        cluster.submit(name, 4, 40, comment="length=40")
    settings, diagnostics = settings_of(path, cluster), Diagnostics()
    workspace = load_workspace(settings.model, diagnostics)
    metrics = DriveMetrics("Live", settings.folder, acts=True)
    seen: list[dict[str, float]] = []

    def note(observation: Observation, plan: WantedState, now: float) -> None:
        metrics.observe(observation, plan, now)
        seen.append(samples(metrics))

    options = DriveOptions(
        True, 30, now=cluster.now, wait=cluster.sleep, on_action=lambda action: metrics.count_action(action, acts=True),
        on_state=note,
    )  # fmt: skip
    drive(workspace, settings, cluster, options, report=lambda d: None, on_record=metrics.count_record)
    assert cluster.jobs["c"].state is JobState.DONE
    early, late = seen[2], seen[-1]
    assert early['gsdsl_jobs{state="running"}'] == 2
    assert early['gsdsl_waiting_jobs{reason="no room"}'] == 1
    assert (early['gsdsl_gpus{type="",what="up"}'], early['gsdsl_gpus{type="",what="used"}']) == (8, 8)
    assert early['gsdsl_gpus{type="",what="planned"}'] == 8
    assert early["gsdsl_longest_wait_seconds"] >= 10
    assert 'gsdsl_waiting_jobs{reason="no room"}' not in late
    assert late["gsdsl_longest_wait_seconds"] == 0
    assert late["gsdsl_wait_seconds_count"] == 3
    assert late["gsdsl_wait_seconds_sum"] >= 40
    assert late['gsdsl_actions_total{action="start",made="yes"}'] == 3
    assert late['gsdsl_events_total{result="acknowledged",session="Live"}'] >= 4
    assert late["gsdsl_last_observation_timestamp_seconds"] == pytest.approx(cluster.now(), abs=10)
    found = shadow_comparison(workspace, settings, ("FIFO", "SJF")).measures()
    write_figures(settings.folder / FIGURES, found)
    with metrics.serve("127.0.0.1", 0) as port:
        metrics.observe(Observation({}, {}), WantedState({}, ()), cluster.now())
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            shown = scraped(answer.read().decode())
        with pytest.raises(DiagnosticError, match="GSM5501"), metrics.serve("127.0.0.1", port):
            pass
    with pytest.raises(OSError), socket.create_connection(("127.0.0.1", port), timeout=2):  # noqa: PT011
        pass
    assert found["cost"].keys() == {"cluster", "FIFO", "SJF"}
    for method, saved in found["saved"].items():
        assert shown[f'gsdsl_report_saved{{method="{method}"}}'] == pytest.approx(saved)
        assert saved <= shown["gsdsl_report_saved_at_most"] + 1e-6
    assert found["saved"].keys() == {"FIFO", "SJF"}
    assert shown['gsdsl_report_cost{method="cluster"}'] == pytest.approx(found["cost"]["cluster"])


def test_starts_of_a_plan_that_is_carried_out_do_not_wait(tmp_path: Path) -> None:
    job = ObservedJob("a", JobState.PENDING, 2, submitted=0.0)
    seen = Observation({"a": job}, {"g1": ObservedNode("g1", 4, gpu_type="H200"), "g2": ObservedNode("g2", 4, False)})
    plan = WantedState({"a": {"g1": 2}}, ("a",))
    for acts, waiting in ((True, 0), (False, 1)):
        metrics = DriveMetrics("Live", tmp_path, acts=acts)
        metrics.observe(seen, plan, 60.0)
        found = samples(metrics)
        assert sum(value for name, value in found.items() if name.startswith("gsdsl_waiting_jobs")) == waiting
        assert found["gsdsl_longest_wait_seconds"] == 60 * waiting
        assert (found['gsdsl_nodes{state="up"}'], found['gsdsl_nodes{state="down"}']) == (1, 1)
        assert found['gsdsl_gpus{type="H200",what="planned"}'] == 2
    (tmp_path / FIGURES).write_text("{")
    metrics.observe(seen, plan, 61.0)  # a damaged file of figures changes nothing
    (tmp_path / FIGURES).write_text(json.dumps({"cost": {"cluster": 3.0}, "saved": {}}))
    metrics.observe(seen, plan, 62.0)
    assert samples(metrics)['gsdsl_report_cost{method="cluster"}'] == 3


def test_addresses() -> None:
    assert listening_address("9464") == ("127.0.0.1", 9464)
    assert listening_address("0.0.0.0:9464") == ("0.0.0.0", 9464)
    for wrong in ("", "x", "localhost", "1:70000"):
        with pytest.raises(ValueError, match="`"):
            listening_address(wrong)
