"""A run writes its report after each day, in a process of its own."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from pathlib import Path

import pytest
from drive_files import CLUSTER, run_driver, write_files
from simulated_cluster import SimulatedCluster

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_clusters.drivers.daily import REPORTS, DailyReports, report_command
from gsdsl_clusters.drivers.protocol import JobState
from gsdsl_clusters.drivers.settings import read_settings

DAILY = CLUSTER.replace('"simulated"', '"slurm"').replace("interval = 5", "interval = 600") + (
    '\n[report]\ndaily = true\nmethods = ["SJF", "FIFO"]\n'
)
NOON = datetime(2027, 1, 15, 12).timestamp()
DAY = 86_400.0


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.mark.slow
def test_a_run_over_midnight(tmp_path: Path) -> None:
    """Two jobs end before midnight and one after it. The page has the cluster, both methods and the bound."""
    path = write_files(tmp_path, cluster=DAILY)
    cluster = SimulatedCluster({"g1": 4, "g2": 4}, starts_by_itself=True)
    for number, hours in enumerate((10.0, 11.0, 20.0), 1):
        cluster.submit(str(number), 4, hours * 3600, held=False, comment=f"length={hours * 3600}")
    told: list[tuple[bool, str]] = []
    reports = DailyReports(
        tmp_path / "shadow" / REPORTS, report_command(path, outside=False), lambda *news: told.append(news)
    )
    run_driver(path, cluster, 200, acts=False, on_observation=reports.observed)
    assert {job.state for job in cluster.jobs.values()} == {JobState.DONE}
    reports.wait()
    page, text = (tmp_path / "shadow" / REPORTS / f"2027-01-15.{kind}" for kind in ("html", "txt"))
    assert told == [(True, f"the report of 2027-01-15 is {page}")]
    assert page.read_text().startswith("<!DOCTYPE html>")
    shown = text.read_text()
    assert all(f"\n  {row} " in shown for row in ("cluster", "SJF", "FIFO"))
    assert "completion at least" in shown


def words(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_one_report_for_each_day(tmp_path: Path) -> None:
    told: list[tuple[bool, str]] = []
    write = words("import sys, pathlib; pathlib.Path(sys.argv[2]).write_text('page')")
    reports = DailyReports(tmp_path, write, lambda *news: told.append(news))
    for now in (NOON, NOON + 5, NOON + DAY, NOON + DAY + 5):
        reports.observed(now)
        reports.wait()
    assert [path.name for path in sorted(tmp_path.glob("*.html"))] == ["2027-01-15.html"]
    later = DailyReports(tmp_path, write, lambda *news: told.append(news))
    later.observed(NOON + DAY + 10)
    assert later._running is None
    after_an_outage = DailyReports(tmp_path, write, lambda *news: told.append(news))
    after_an_outage.observed(NOON + 4 * DAY)
    after_an_outage.wait()
    assert [path.name for path in sorted(tmp_path.glob("*.html"))] == ["2027-01-15.html", "2027-01-18.html"]
    assert [written for written, _ in told] == [True, True]


def test_a_report_that_fails_or_is_ended(tmp_path: Path) -> None:
    told: list[tuple[bool, str]] = []
    failing = DailyReports(tmp_path, words("raise SystemExit('no job')"), lambda *news: told.append(news))
    for now in (NOON, NOON + DAY):
        failing.observed(now)
    failing.wait()
    assert told == [(False, f"there is no report of 2027-01-15: {tmp_path / '2027-01-15.txt'} has the reason")]
    assert (tmp_path / "2027-01-15.txt").read_text() == "no job\n"
    slow = DailyReports(tmp_path, words("import time; time.sleep(100)"), lambda *news: told.append(news))
    for now in (NOON, NOON + DAY, NOON + 2 * DAY):  # a second one does not start beside it
        slow.observed(now)
    slow.close()
    assert len(told) == 1


def test_the_section_of_the_file(tmp_path: Path) -> None:
    path = write_files(tmp_path, cluster=DAILY)
    assert read_settings(path)[0].report.methods == ("SJF", "FIFO")
    assert read_settings(write_files(tmp_path), SimulatedCluster({}))[0].report.methods == ("FIFO",)
    for wrong in ('methods = "SJF"', "methods = [1]", 'daily = "yes"', "dayly = true"):
        write_files(tmp_path, cluster=CLUSTER + f"\n[report]\n{wrong}\n")
        with pytest.raises(DiagnosticError) as raised:
            read_settings(path, SimulatedCluster({}))
        assert [diagnostic.code for diagnostic in raised.value.diagnostics] == ["GSM5402"], wrong
