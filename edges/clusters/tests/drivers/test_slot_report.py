"""The shadow report of a block with a window: what plans by slots would have done, and the cluster in slots."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from drive_files import run_driver, write_files
from gang_hours import MODEL
from simulated_cluster import SimulatedCluster
from test_driven_slots import GANGS, SLOT, page_files, values
from test_shadow_report import as_simulator

from gpusched_dsl.cli import main
from gsdsl_clusters.drivers.protocol import JobState

PRICES = [0.40, 0.40, 0.35, 0.30, 0.10, 0.10, 0.10, 0.30]  # of the page, in $/kWh


def energy(gpus: int, first: int, slots: int, prices: list[float] = PRICES) -> float:
    return 0.7 * gpus * SLOT / 3600 * sum(prices[first : first + slots])


def report(
    folder: Path, cluster: SimulatedCluster, monkeypatch: pytest.MonkeyPatch, prices: str = "", rounds: int = 130
) -> dict[str, dict[str, float]]:
    """The costs of each row after a run that only watches; jobs start on their own."""
    path = page_files(folder)
    (folder / "prices.jsonl").write_text(prices)
    run_driver(path, cluster, rounds, acts=False)
    as_simulator({"it": cluster}, monkeypatch)
    page, document = folder / "report.html", folder / "report.json"
    command = ["drive", str(path), "--report", "--methods", "highs", "--html", str(page), "--json", str(document)]
    assert main(command) == 0
    assert page.read_text().startswith("<!DOCTYPE html>")
    rows = {row["method"]: row["result"] for row in json.loads(document.read_text())["rows"]}
    assert all(row is not None for row in rows.values()), document.read_text()[:3000]
    return {
        name: {"total": row["total"], "completion": row["metrics"]["jct_mean"], **row["costs"]}
        for name, row in rows.items()
    }


def busy_cluster() -> SimulatedCluster:
    cluster = SimulatedCluster({"g1": 4, "g2": 4}, starts_by_itself=True)
    cluster.submit("1", 4, 100, at=0, held=False, comment="length=100 due=600")
    cluster.submit("2", 2, 170, at=10, held=False, comment="length=180 due=500")
    cluster.submit("3", 4, 110, at=70, held=False, comment="length=120 due=150")
    return cluster


def test_the_report_has_the_costs_of_the_cluster_and_of_plans_by_slots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cluster runs at the dear prices of the first slots; by slots only the urgent job does."""
    cluster = busy_cluster()
    rows = report(tmp_path, cluster, monkeypatch)
    assert all(job.state is JobState.DONE for job in cluster.jobs.values())
    urgent = energy(4, 2, 2)
    assert rows["cluster"]["total"] == pytest.approx(energy(4, 0, 2) + energy(2, 1, 3) + urgent)
    assert rows["highs"]["total"] == pytest.approx(energy(4, 4, 2) + energy(2, 4, 3) + urgent)
    shown = capsys.readouterr().out
    saved = rows["cluster"]["total"] - rows["highs"]["total"]
    assert f"highs would have saved {saved:.6g} $" in shown
    assert "compared: 3 jobs" in shown
    assert "no bound: plans by slots are compared without one" in shown


def test_prices_count_from_the_time_at_which_they_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the same in all rows: slots 1 to 3 are dearer than was known, slots 4 and 5 cheaper."""
    told = [0.40, 0.50, 0.50, 0.50, 0.05, 0.05, 0.60, 0.60]
    rows = report(tmp_path, busy_cluster(), monkeypatch, values("p", **{f"s{k}": told[k] for k in range(1, 8)}))
    urgent = energy(4, 2, 2, told)
    assert rows["cluster"]["total"] == pytest.approx(energy(4, 0, 2, told) + energy(2, 1, 3, told) + urgent)
    assert rows["highs"]["total"] == pytest.approx(energy(4, 4, 2, told) + energy(2, 3, 3, told) + urgent)


def test_left_out_work_keeps_its_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A job without a length has a part of g1 until slot 7, so one of two jobs gets the cheap slots of g2."""
    cluster = SimulatedCluster({"g1": 4, "g2": 4}, starts_by_itself=True)
    cluster.submit("other", 1, 410, at=0, held=False, comment="")
    cluster.submit("a", 4, 170, at=0, held=False, comment="length=180 due=2000")
    cluster.submit("b", 4, 60, at=0, held=False, comment="length=60 due=540")
    rows = report(tmp_path, cluster, monkeypatch)
    assert rows["highs"]["total"] == pytest.approx(energy(4, 4, 3) + energy(4, 3, 1))
    assert "left-out work has used 0.114 GPU hours" in capsys.readouterr().out


@pytest.mark.parametrize("left_out", [True, False])
def test_left_out_work_halts_jobs(
    left_out: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It begins within slot 4, in which the plan has begun the job, on both nodes: the job begins again after it."""
    cluster = SimulatedCluster({"g1": 4, "g2": 4}, starts_by_itself=True)
    cluster.submit("a", 4, 170, at=0, held=False, comment="length=180 due=2000")
    for name in ("x", "y"):
        cluster.submit(name, 4, 50, at=265, held=False, comment="" if left_out else "length=60 due=3000")
    rows = report(tmp_path, cluster, monkeypatch)
    shown = capsys.readouterr().out
    if left_out:
        begun = rows["highs"]["completion"] * 3600 - 170
        assert begun == pytest.approx(round(begun / SLOT) * SLOT), "all of its work is done again"
        assert begun > 300
    assert ("left-out work takes the GPUs of jobs of highs 1 time" in shown) == left_out


def test_jobs_that_demand_nodes_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The job starts at once on a GPU of another type than that of g2: plans by slots could not be kept from g2."""
    cluster = SimulatedCluster({"g1": 4, "g2": 4}, starts_by_itself=True)
    cluster.nodes = {name: replace(node, gpu_type=name) for name, node in cluster.nodes.items()}
    cluster.submit("1", 4, 100, at=0, held=False, comment="length=100 due=600")
    path = page_files(tmp_path)
    (tmp_path / "prices.jsonl").touch()
    run_driver(path, cluster, 40, acts=False)
    as_simulator({"it": cluster}, monkeypatch)
    assert main(["drive", str(path), "--report", "--methods", "highs"]) == 1
    assert "all demand certain nodes or wait for others, unknown to plans by slots" in capsys.readouterr().err


def test_gangs_are_compared_by_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that acts has planned as the method of the report does: both rows have the same costs."""
    model = (
        MODEL.replace("LOOKAHEAD", "6").replace("COMMIT", "1").replace("max(0[h], hours[j]", "max(0.001[h], hours[j]")
    )
    scenario = """scenario S for GangHours {
  slot = 60[s];
  Racks = { a };
  table Nodes: rack gpus = g1 a 2  g2 a 2;
  table Jobs: workers hours[h] =;
  table Slots: price[$/h] = 0 8  1 8  2 8  3 1  4 1  5 8;
}
"""
    path = write_files(tmp_path, model + scenario, GANGS)
    (tmp_path / "prices.jsonl").touch()
    cluster = SimulatedCluster({"g1": 2, "g2": 2})
    cluster.submit("wide", 4, 90, at=0, comment="length=80")
    run_driver(path, cluster, 90)
    as_simulator({"it": cluster}, monkeypatch)
    document = tmp_path / "report.json"
    assert main(["drive", str(path), "--report", "--methods", "highs", "--json", str(document)]) == 0
    rows = {row["method"]: row["result"] for row in json.loads(document.read_text())["rows"]}
    assert rows["cluster"]["metrics"]["jct_mean"] == pytest.approx((3 * SLOT + 90) / 3600, abs=1 / 3600)
    assert rows["highs"]["metrics"]["jct_mean"] == pytest.approx(rows["cluster"]["metrics"]["jct_mean"], abs=1 / 3600)
    assert rows["highs"]["total"] == pytest.approx(rows["cluster"]["total"])
