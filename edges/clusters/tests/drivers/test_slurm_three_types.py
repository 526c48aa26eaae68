"""Our Slurm with three types of GPU: every command of docs/slurm.md, from a clean folder to a report that is checked.

The facts are those of `scontrol`, read here by a few lines of plain Python, and the references are loops over jobs.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from plain_schedule import Facts, broken, fifo, runs_of
from slurm_service import NEEDS_SLURM, SlurmService, slurm_service

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), NEEDS_SLURM]
PAGE = (Path(__file__).resolve().parents[4] / "docs" / "slurm.md").read_text(encoding="utf-8")
COMMANDS = [block.split() for block in re.findall(r"^```sh\ngsdsl (.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)]
TYPES = ["a100"] * 4 + ["h200"] * 2 + ["v100"] * 2
KIND = {f"g{number}": kind for number, kind in enumerate(TYPES, 1)}
GPUS = dict.fromkeys(KIND, 4)
A100, H200, V100 = (frozenset(n for n in KIND if KIND[n] == kind) for kind in ("a100", "h200", "v100"))


@dataclass
class Site:
    """A cluster, and the folder in which the commands of the page run."""

    slurm: SlurmService
    folder: Path

    @property
    def ours(self) -> Path:
        return self.folder / "ours"

    def gsdsl(self, words: list[str], cwd: Path | None = None) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "gpusched_dsl", *words], cwd=cwd or self.ours, env=self.slurm.environment, text=True,
            capture_output=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    @contextmanager
    def running(self, words: list[str], folder: str) -> Iterator[Path]:
        """A command that runs during the block, from its first observation on; gives its output."""
        log = self.folder / f"{folder}.log"
        with log.open("w") as file:
            started = subprocess.Popen(
                [sys.executable, "-m", "gpusched_dsl", *words], cwd=self.ours, env=self.slurm.environment, stdout=file,
                stderr=file,
            )  # fmt: skip
        try:
            wait_for((self.ours / folder / "cluster.jsonl").exists, log)
            yield log
        finally:
            started.send_signal(signal.SIGTERM)
            assert started.wait(120) == 0, log.read_text()

    def submit(self, seconds: int, *options: str) -> str:
        words = ("sbatch", "--parsable", "-t", "2", "--mem=10", "--output=/dev/null", *options)
        name: str = self.slurm.run(*words, "--wrap", f"sleep {seconds}")
        return name

    def facts(self) -> dict[str, dict[str, str]]:
        """The words of `scontrol show job` by job, tasks as `19_3`."""
        found = {}
        for line in self.slurm.run("scontrol", "-o", "show", "job").splitlines():
            words = dict(word.split("=", 1) for word in line.split() if "=" in word)
            task = words.get("ArrayTaskId", "")
            found[f"{words['ArrayJobId']}_{task}" if task else words["JobId"]] = words
        return found


def wait_for(condition: Callable[[], bool], log: Path, seconds: float = 240.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.5)


def seconds_of(date: str) -> float:
    return datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()


def nodes_of(words: Mapping[str, str], slurm: SlurmService) -> list[str]:
    names: list[str] = slurm.run("scontrol", "show", "hostnames", words["NodeList"]).split()
    return names


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as short,
        slurm_service(Path(short), gpus=4, cpus=32, types=TYPES) as slurm,
    ):
        yield Site(slurm, tmp_path)


def session(site: Site) -> list[Facts]:
    """Submit jobs of all kinds; what each demands, with its arrival still open."""
    jobs: list[Facts] = []

    def add(gpus: int, nodes: int, allowed: frozenset[str], length: int, *options: str, **more: Any) -> str:
        name = site.submit(length, *(f"-N{nodes}", f"-n{nodes}") if nodes > 1 else ("-n1",), *options)
        tasks = [f"{name}_{n}" for n in range(1, 7)] if more.get("limit") else [name]
        jobs.extend(Facts(task, gpus, nodes, allowed, 0.0, length, array=name, **more) for task in tasks)
        return name

    every = frozenset(KIND) - {"g8"}  # its service begins within the time limits of all jobs
    first = add(4, 2, A100, 8, "--gres=gpu:a100:4")
    add(4, 4, A100, 6, "--gres=gpu:a100:4")
    add(2, 1, every, 6, "--gres=gpu:2")
    add(4, 1, H200, 7, "--gres=gpu:h200:4")
    add(4, 1, H200, 5, "--gres=gpu:h200:4")
    add(3, 1, H200, 6, "--gres=gpu:h200:3")
    add(1, 1, V100 & every, 4, "--array=1-6%2", "--gres=gpu:v100:1", limit=2)
    add(1, 1, every, 4, "-d", f"afterok:{first}", "--gres=gpu:1", after=(first,))
    add(2, 3, every, 5, "--gres=gpu:2")
    add(4, 1, every, 4, "--gres=gpu:4")
    add(4, 1, V100 & every, 4, "--gres=gpu:v100:4")
    return jobs


def test_from_a_clean_folder_to_a_believed_report(site: Site) -> None:
    slurm, (inspect, init, check, watch, report, estimate, act) = site.slurm, COMMANDS
    blocker = site.submit(100, "-n1", "--gres=gpu:h200:2")
    held = site.submit(1, "--hold", "-N4", "-n4", "--gres=gpu:a100:4")
    wait_for(lambda: site.facts()[blocker]["JobState"] == "RUNNING", site.folder)
    look = site.gsdsl(inspect, site.folder)
    assert look.startswith("2 of 32 GPUs are in use (6.25 %), 1 job runs, none waits, 1 is blocked"), look
    site.gsdsl(init, site.folder)
    site.gsdsl([*inspect, "--write", "again"], site.folder)
    for name in ("nodes.csv", "cluster.toml"):
        assert (site.ours / name).read_text() == (site.folder / "again" / name).read_text()
    rows = [line.split(",") for line in (site.ours / "nodes.csv").read_text().splitlines()[1:]]
    assert {row[0]: row[2] for row in rows} == KIND
    checked = site.gsdsl(check)
    assert "nodes: 8, 8 of them up with 32 GPUs" in checked
    gang = next(line for line in checked.splitlines() if line.startswith(held))
    assert re.search(r"needs = 16,.* workers = 4, gpu_type = a100", gang), checked
    toml = (site.ours / "cluster.toml").read_text()
    (site.ours / "cluster.toml").write_text(toml.replace("interval = 10 ", "interval = 1 "))

    with site.running(watch, "shadow") as log:
        history = site.ours / "shadow" / "cluster.jsonl"
        first = site.submit(1, "-N2", "-n2", "--gres=gpu:1")  # the first plan compiles; later ones see each second
        wait_for(lambda: f'"job":"{first}","state":"done"' in history.read_text(), log)
        slurm.run("scontrol", "create", "reservation", "reservationname=service", "starttime=now+90", "duration=1",
                  "nodes=g8", "users=root", "flags=maint")  # fmt: skip
        demands = [Facts(first, 1, 2, frozenset(KIND), 0.0, 1.0, array=first), *session(site)]
        ended = {blocker, *(job.name for job in demands)}
        wait_for(lambda: all(site.facts().get(n, {}).get("JobState") == "COMPLETED" for n in ended), log)
        wait_for(lambda: history.read_text().count('"state":"done"') > len(demands), log)
    facts = site.facts()
    slurm.run("scontrol", "delete", "reservationname=service")

    shown = site.gsdsl([*report, "--json", "report.json"])
    assert f"compared: {len(demands) + 1} jobs" in shown, shown
    assert (site.ours / "report.html").stat().st_size > 100_000
    document = json.loads((site.ours / "report.json").read_text())
    results = {row["method"]: row["result"] for row in document["rows"]}
    assert list(results) == ["cluster", "EASY", "FIFO", "SlurmFairShare"]
    zero = datetime.fromisoformat(results["cluster"]["calendar"]["start"]).timestamp()
    check_against_slurm(site, facts, results["cluster"], demands, zero)
    jobs = with_arrivals(facts, results["cluster"], demands, blocker, zero)
    check_against_plain_loops(jobs, results)

    assert f"{held} at " in site.gsdsl([held if word == "17" else word for word in estimate])
    start_a_gang(site, held, act)


def check_against_slurm(
    site: Site, facts: dict[str, dict[str, str]], row: dict[str, Any], demands: list[Facts], zero: float
) -> None:
    """The row of the cluster is what `scontrol` says: nodes, starts and ends, and so the mean wait."""
    shown = {job["job"]: job for job in row["jobs"]}
    for job in demands:
        words, found = facts[job.name], shown[job.name]
        assert found["node"].split(", ") == nodes_of(words, site.slurm), job
        assert found["start"] * 3600 + zero == pytest.approx(seconds_of(words["StartTime"]), abs=0.01), job
        assert found["end"] * 3600 + zero == pytest.approx(seconds_of(words["EndTime"]), abs=0.01), job
        assert found["gpus"] == job.gpus * job.nodes
        assert found["arrival"] * 3600 + zero >= seconds_of(words["SubmitTime"]) - 0.01
        if not (job.after or job.limit):
            assert found["arrival"] * 3600 + zero == pytest.approx(seconds_of(words["SubmitTime"]), abs=0.01)
    waits = [job["start"] - job["arrival"] for job in shown.values()]
    assert row["metrics"]["queueing_mean"] == pytest.approx(sum(waits) / len(waits))


def with_arrivals(
    facts: dict[str, dict[str, str]], row: dict[str, Any], demands: list[Facts], blocker: str, zero: float
) -> list[Facts]:
    """The demands with arrivals, and lengths as Slurm has measured them. A job that waits for others arrives after
    they have ended in the cluster, so no row starts it earlier.
    """
    found: list[tuple[float, Facts]] = []
    arrivals = {job["job"]: job["arrival"] * 3600 for job in row["jobs"]}
    first = Facts(blocker, 2, 1, H200, 0.0, 10.0, array=blocker)
    for job in [first, *demands]:
        words = facts[job.name]
        start, end = seconds_of(words["StartTime"]) - zero, seconds_of(words["EndTime"]) - zero
        submitted = max(0.0, seconds_of(words["SubmitTime"]) - zero)
        arrival = submitted if not (job.after or job.limit) else max(submitted, arrivals[job.name])
        length = end - max(start, 0.0)
        found.append((submitted, replace(job, arrival=arrival, length=length)))
    found.sort(key=lambda pair: (pair[0], pair[1].arrival))  # and by number
    return [job for _, job in found]


def check_against_plain_loops(jobs: list[Facts], results: dict[str, Any]) -> None:
    """The cluster could have done what each row does, so each saving can be saved; figures are of its schedule."""
    means: dict[str, float] = {}
    for method, result in results.items():
        assert result["ended"] == "finished", method
        runs = runs_of(result["schedule"])
        assert list(broken(jobs, runs, GPUS)) == [], method
        means[method] = sum(runs[job.name].end - job.arrival for job in jobs) / len(jobs)
        assert result["metrics"]["jct_mean"] * 3600 == pytest.approx(means[method], abs=0.01), method
        assert means[method] >= least_mean(jobs) - 0.01, method
    starts = [runs_of(results["FIFO"]["schedule"])[job.name].start for job in jobs if not (job.after or job.limit)]
    assert starts == sorted(starts)  # no job overtakes
    plain = fifo(jobs, GPUS)
    assert list(broken(jobs, plain, GPUS)) == []
    mean = sum(plain[job.name].end - job.arrival for job in jobs) / len(jobs)
    assert means["FIFO"] == pytest.approx(mean, rel=0.1)  # of nodes that suit equally, another one may be chosen


def least_mean(jobs: list[Facts]) -> float:
    """No job ends before it has arrived and run."""
    return sum(job.length for job in jobs) / len(jobs)


def start_a_gang(site: Site, held: str, act: list[str]) -> None:
    """The gang with 16 GPUs of one type starts on the four nodes of its type, beside a job without a type."""
    text = (site.ours / "cluster.toml").read_text()
    (site.ours / "cluster.toml").write_text(text.replace("interval = 1 ", 'folder = "acting"\ninterval = 1 '))
    untyped = site.submit(20, "--hold", "-n1", "--gres=gpu:2")
    with site.running(act, "acting") as log:
        ran = ("RUNNING", "COMPLETED", "COMPLETING")
        wait_for(lambda: all(site.facts()[job]["JobState"] in ran for job in (held, untyped)), log)
    assert set(nodes_of(site.facts()[held], site.slurm)) == A100, log.read_text()
    assert f"start job {held} on g1, g2, g3, g4" in log.read_text()
    assert site.facts()[held]["AdminComment"].startswith("gsdsl")
