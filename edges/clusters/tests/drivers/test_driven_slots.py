"""Drivers and blocks with a window: the page's jobs start at the borders of cheap slots, on a simulated cluster and on
a real Slurm.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from drive_files import run_driver, wait_for_actions, write_files
from found_codes import message_values
from gang_hours import MODEL
from simulated_cluster import EPOCH, SimulatedCluster
from slurm_service import NEEDS_SLURM, PATH, slurm_service

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.online.journal.journal import Journal
from gsdsl_clusters.drivers.drive import JOURNAL, ORIGIN
from gsdsl_clusters.drivers.protocol import ActionKind, JobState
from gsdsl_clusters.drivers.slurm.cluster import SlurmCluster

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "reference" / "slurm_prices.md").read_text(encoding="utf-8")
BERLIN = ZoneInfo("Europe/Berlin")
SECTIONS = {"CheapHours": "# On a Slurm cluster when", "PriceAwareLive": "## The price-aware model on Slurm"}
PRICE = {"CheapHours": "price", "PriceAwareLive": "tariff"}
SLOT = 60.0


def block(language: str, name: str = "CheapHours") -> str:
    section = PAGE[PAGE.index(SECTIONS[name]) :]
    found = re.search(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found.group(1)


def page_files(
    folder: Path, slot: float = SLOT, driver: str = "simulated", interval: int = 5, name: str = "CheapHours"
) -> Path:
    model = block("gsm", name).replace("slot = 15[min];", f"slot = {slot}[s];")
    if name == "PriceAwareLive":  # the calendar begins with the run
        begin = datetime.fromtimestamp(EPOCH if driver != "slurm" else time.time(), BERLIN)
        model = model.replace("  mode = soft;", f"  slot = {slot}[s];  mode = soft;")
        model = re.sub('calendar from "[^"]*"', f'calendar from "{begin:%Y-%m-%d %H:%M:%S}"', model)
    cluster = block("toml", name).replace("interval = 5", f"interval = {interval}")
    cluster = re.sub('model = "[a-z]*.gsm"', 'model = "cluster.gsm"', cluster)
    if driver != "slurm":
        cluster = cluster.replace('"slurm"', f'"{driver}"').replace('[slurm]\npartition = "main"\n', "")
    return write_files(folder, model, cluster + "\n[guard]\nchanges_per_hour = 5000\n")


def three_jobs() -> SimulatedCluster:
    """Slots 4 to 6 are cheap; the third job is due before them."""
    cluster = SimulatedCluster({"g1": 4, "g2": 4})
    cluster.submit("1", 4, 100, at=0, comment="length=100 due=600")
    cluster.submit("2", 2, 170, at=10, comment="length=180 due=500")
    cluster.submit("3", 4, 110, at=70, comment="length=120 due=150")
    return cluster


def starts(cluster: SimulatedCluster) -> dict[str, float]:
    """The slot in which each job started, with the part of the slot that had passed."""
    return {name: (job.started - EPOCH) / SLOT for name, job in cluster.jobs.items() if job.started is not None}


def values(name: str, param: str = "price", **prices: float) -> str:
    given = {param: {slot.removeprefix("s"): price for slot, price in prices.items()}}
    return json.dumps({"version": 1, "id": name, "kind": "value", "values": given}) + "\n"


@pytest.mark.parametrize("name", SECTIONS)
def test_jobs_start_at_the_borders_of_cheap_slots(tmp_path: Path, name: str) -> None:
    """Slots 4 to 6 are cheap: in `PriceAwareLive`, where each job has a node, the first job may begin in 4 or in 5."""
    cluster, told = three_jobs(), list[Diagnostic]()
    path = page_files(tmp_path, name=name)
    (tmp_path / "prices.jsonl").touch()
    summary = run_driver(path, cluster, 130, told=told)
    assert all(job.state is JobState.DONE and job.starts == 1 for job in cluster.jobs.values())
    found = starts(cluster)
    slots = {job: int(at) for job, at in found.items()}
    assert slots in [{"1": 5, "2": 4, "3": 2}, *([{"1": 4, "2": 4, "3": 2}] if name == "PriceAwareLive" else [])]
    assert all(at - int(at) < 0.1 for at in found.values()), "they wait for the beginning of their slot"
    assert [a.kind for a in cluster.actions] == [ActionKind.START] * 3
    assert (summary.plans, summary.changes) == (11, 3)
    assert {d.code for d in told} == {"GSM7051"}
    if name == "PriceAwareLive":
        with Journal.read(tmp_path / "shadow" / JOURNAL) as journal:
            assert len(journal) == 11
        start = datetime.fromisoformat(json.loads((tmp_path / "shadow" / ORIGIN).read_text())["start"])
        assert start == datetime.fromtimestamp(EPOCH, BERLIN)


def test_prices_from_a_file_move_the_starts(tmp_path: Path) -> None:
    """Slots 4 to 7 become dear, and slots 8 to 10 cheap, while the run is under way: a job that may wait does."""
    cluster, told = three_jobs(), list[Diagnostic]()
    path = page_files(tmp_path)
    prices = tmp_path / "prices.jsonl"
    prices.write_text("no event\n" + json.dumps({"version": 1, "id": "t", "kind": "tick"}) + "\n")
    new = values("later", s4=0.9, s5=0.9, s6=0.9, s7=0.9, s8=0.05, s9=0.05, s10=0.05, s11=0.9)
    wrong = values("wrong", s3=0.1).replace('"price"', '"prize"')

    def add() -> None:
        prices.write_text(prices.read_text() + new[:40])  # half a line is not read

    def add_rest() -> None:
        prices.write_text(prices.read_text() + new[40:] + wrong + new)  # what comes again changes nothing

    cluster.at += [(EPOCH + 95, add), (EPOCH + 130, add_rest)]
    run_driver(path, cluster, 150, told=told)
    assert all(job.state is JobState.DONE for job in cluster.jobs.values())
    assert {name: int(at) for name, at in starts(cluster).items()} == {"1": 8, "2": 3, "3": 2}
    messages = [d.message for d in told if d.code != "GSM7051"]
    assert messages[0].startswith("line 1 of `prices.jsonl`: the line is not a JSON object")
    assert message_values(messages[1]) == ("2", "prices.jsonl", "value")
    assert messages[2].startswith("the event `file wrong` was refused: `prize` is not a parameter")
    assert len(messages) == 3


@pytest.mark.parametrize("stops", [(3, 9, 20, 31, 50, 62), (24, 48, 72)])
def test_a_run_that_is_stopped_and_continued_does_the_same(tmp_path: Path, stops: tuple[int, ...]) -> None:
    cluster = three_jobs()
    path = page_files(tmp_path)
    (tmp_path / "prices.jsonl").write_text(values("p", s8=0.5, s9=0.5))
    for rounds in (*(b - a for a, b in zip((0, *stops), stops, strict=False)), 130 - stops[-1]):
        run_driver(path, cluster, rounds)
    assert {name: int(at) for name, at in starts(cluster).items()} == {"1": 5, "2": 4, "3": 2}
    assert all(job.state is JobState.DONE and job.starts == 1 for job in cluster.jobs.values())
    with Journal.read(tmp_path / "shadow" / JOURNAL) as journal:
        times = [journal.step(k + 1).time for k in range(len(journal))]
    slots = [int(at * 3600 / SLOT + 1e-6) for at in times]
    assert slots == list(range(11)), "one plan for each slot, and none twice"


def test_slots_in_which_the_cluster_does_not_answer(tmp_path: Path) -> None:
    """The plan of 8 slots goes on without observations; then slots pass without a plan, with a warning."""
    cluster, told = three_jobs(), list[Diagnostic]()
    path = page_files(tmp_path)
    (tmp_path / "prices.jsonl").touch()
    cluster.at += [
        (EPOCH + 130, lambda: setattr(cluster, "down", True)),
        (EPOCH + 730, lambda: setattr(cluster, "down", False)),
    ]
    run_driver(path, cluster, 220, told=told)
    assert all(job.state is JobState.DONE and job.starts == 1 for job in cluster.jobs.values())
    assert {name: int(at) for name, at in starts(cluster).items() if name != "3"} == {"1": 12, "2": 12}
    with Journal.read(tmp_path / "shadow" / JOURNAL) as journal:
        plans = [journal.step(k + 1) for k in range(len(journal))]
    again = next(plan for plan in plans if plan.time * 3600 > 700).decision["plan"]["values"]["train"][0]
    assert (again.count("1"), again.count("2")) == (2, 3), "jobs that waited have done nothing"
    [gap] = [d.message for d in told if d.code == "GSM7050"]
    assert gap == "2 slots passed without a plan, the first is 10: jobs continued"


def test_a_job_that_takes_longer_runs_to_its_end(tmp_path: Path) -> None:
    cluster = SimulatedCluster({"g1": 4})
    cluster.submit("long", 4, 250, at=0, comment="length=50 due=600")
    cluster.submit("next", 4, 50, at=0, comment="length=50 due=900")
    path = page_files(tmp_path)
    path.parent.joinpath("cluster.gsm").write_text(
        path.parent.joinpath("cluster.gsm").read_text().replace("{ g1, g2 }", "{ g1 }")
    )
    (tmp_path / "prices.jsonl").touch()
    run_driver(path, cluster, 150)
    assert all(job.state is JobState.DONE and job.starts == 1 for job in cluster.jobs.values())


@pytest.mark.slow
@pytest.mark.timeout(600)
@NEEDS_SLURM
@pytest.mark.parametrize("name", SECTIONS)
def test_the_page_drives_a_real_slurm(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots of ten seconds with simulated prices; the driver is killed once, and continued."""
    slot = 10.0
    path, dear, cheap_price = page_files(tmp_path, slot, "slurm", 1, name), 0.6, 0.02
    if name == "PriceAwareLive":  # in $/MWh
        dear, cheap_price = 600.0, 20.0
    prices = tmp_path / "prices.jsonl"
    prices.touch()
    folder = tmp_path / "slurm"
    folder.mkdir()
    with slurm_service(folder, nodes=2, gpus=4, cpus=32) as service:
        monkeypatch.setenv("SLURM_CONF", service.environment["SLURM_CONF"])
        monkeypatch.setenv("PATH", PATH)

        def submit(gpus: int, seconds: float, due: float) -> str:
            comment = f"length={seconds} due={due}"
            words = ["sbatch", "--parsable", "-H", f"--gres=gpu:{gpus}", "-n1", "--mem=10", "--output=/dev/null"]
            return service.run(*words, f"--comment={comment}", "--wrap", f"sleep {seconds}")

        def drive() -> subprocess.Popen[str]:
            log = (tmp_path / "drive.log").open("a")
            command = [sys.executable, "-m", "gpusched_dsl", "drive", str(path), "--act"]
            return subprocess.Popen(
                command, stdout=log, stderr=log, text=True, env=service.environment, start_new_session=True
            )

        running = drive()
        until = time.monotonic() + 120
        origin = tmp_path / "shadow" / ORIGIN
        while not origin.exists():
            assert time.monotonic() < until, (tmp_path / "drive.log").read_text()
            time.sleep(0.2)
        patient, urgent = submit(4, 15, 150), submit(2, 8, 15)
        time.sleep(12)
        running.send_signal(signal.SIGKILL)
        running.wait(10)
        cheap = dict.fromkeys(("s8", "s9", "s10"), cheap_price)
        cheap |= {f"s{k}": dear for k in (4, 5, 6, 7, 11, 12, 13)}
        prices.write_text(values("night", PRICE[name], **cheap))
        running = drive()
        wait_for_actions(path, 2)
        until, seen = time.monotonic() + 180, SlurmCluster("main").observe()
        while not all(seen.jobs[name].state.has_ended for name in (patient, urgent)):
            assert time.monotonic() < until, (tmp_path / "drive.log").read_text()[-3000:]
            time.sleep(1)
            seen = SlurmCluster("main").observe()
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    start = datetime.fromisoformat(json.loads(origin.read_text())["start"]).timestamp()
    found: dict[str, Any] = {name: (seen.jobs[name].started or 0.0) - start for name in (patient, urgent)}
    assert found[urgent] < 8 * slot - 1
    assert 8 * slot - 1 <= found[patient] <= 9 * slot + 5, found
    assert {seen.jobs[name].state for name in (patient, urgent)} == {JobState.DONE}


GANGS = """driver = "simulated"
model = "cluster.gsm"
online = "Hours"
method = "highs"
interval = 5
values = "prices.jsonl"

[jobs]
workers = "gpus"
hours = { field = "comment", match = "length=([0-9.]+)", unit = "s" }

[guard]
changes_per_hour = 5000
"""


CHEAPEST = """policy Cheapest for GangHours {
  order j in Jobs by workers[j] * hours[j] descending;
  choose n in Nodes, h in Slots by price[h];
  occupies hours[j] / slot;
  place cheapest_block;
  keep running;
}
"""


@pytest.mark.parametrize("method", ["highs", "Cheapest"])
def test_a_gang_of_two_nodes_waits_for_a_cheap_slot(tmp_path: Path, method: str) -> None:
    """Four workers need both nodes of a rack, at 1.25 of the time; slots 3 and 4 are cheap."""
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
    path = write_files(tmp_path, model + CHEAPEST + scenario, GANGS.replace('"highs"', f'"{method}"'))
    (tmp_path / "prices.jsonl").touch()
    cluster = SimulatedCluster({"g1": 2, "g2": 2})
    cluster.submit("wide", 4, 90, at=0, comment="length=80")
    cluster.submit("small", 1, 20, at=20, comment="length=20")
    run_driver(path, cluster, 90)
    jobs = cluster.jobs
    assert {name: job.state for name, job in jobs.items()} == dict.fromkeys(jobs, JobState.DONE)
    assert jobs["wide"].ran_on == {"g1": 2, "g2": 2}
    assert (int(starts(cluster)["wide"]), jobs["wide"].starts) == (3, 1)
