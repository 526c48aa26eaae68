"""The examples of docs/slurm.md and slurm_reference.md are correct, and on a real Slurm each command of the first."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import pytest
from drive_files import mapping_for
from simulated_cluster import SimulatedCluster
from simulated_slurm import Node, SimulatedSlurm
from slurm_service import NEEDS_SLURM, PATH, slurm_service

from gpusched_dsl.cli import main
from gpusched_dsl.cli.arguments.commands import build_parser
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gsdsl_clusters.drivers.drive import HISTORY, ORIGIN, DriveOptions, drive
from gsdsl_clusters.drivers.protocol import JobState, ObservedJob
from gsdsl_clusters.drivers.records import read_records
from gsdsl_clusters.drivers.settings import GuardSettings, read_settings
from gsdsl_clusters.drivers.slurm.cluster import SlurmCluster
from gsdsl_clusters.drivers.slurm.observe import FIELDS
from gsdsl_clusters.drivers.value_source import COMMON_FIELDS

GSDSL = (sys.executable, "-m", "gpusched_dsl")
DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "slurm.md").read_text(encoding="utf-8")
REFERENCE = (DOCS / "reference" / "slurm_reference.md").read_text(encoding="utf-8")


def blocks(language: str, page: str = PAGE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


(OWN,) = blocks("toml")
DAILY, MAPPED, GANGS, REST = blocks("toml", REFERENCE)


def write_files(folder: Path) -> None:
    (folder / "cluster.gsm").write_text(blocks("gsm")[0], encoding="utf-8")
    (folder / "cluster.toml").write_text(OWN, encoding="utf-8")


def test_the_files_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    assert main(["fmt", "--check", "cluster.gsm"]) == 0
    assert main(["check", "cluster.gsm"]) == 0
    settings, cluster = read_settings(tmp_path / "cluster.toml")
    assert isinstance(cluster, SlurmCluster)
    mapped = sorted(settings.sources)
    assert (settings.method, mapped) == (
        "SJF",
        ["deadline", "exec_time", "needs", "submitted", "weight"],
    )
    mapping = mapping_for(tmp_path / "cluster.toml")
    fields_of_job = {"time_limit": 7200.0, "comment": "due=4h", "qos": "high"}
    job = ObservedJob("7", JobState.PENDING, 2, submitted=mapping.start, fields=fields_of_job)
    values = {"submitted": 0.0, "needs": 2, "exec_time": 2.0, "deadline": 4.0, "weight": 4}
    assert mapping.values(job) == pytest.approx(values)
    head = OWN.split("[jobs]")[0].replace('"slurm"', '"simulated"').replace("[slurm]\n", "[simulated]\n")
    (tmp_path / "speeds.csv").write_text("family,type,gpus,seconds\nbert,h200,1,2\n")
    (tmp_path / "mapped.toml").write_text(head + MAPPED)
    simulated = SimulatedCluster({})
    assert sorted(read_settings(tmp_path / "mapped.toml", simulated)[0].derived) == ["family", "steps"]
    (tmp_path / "daily.toml").write_text(OWN + DAILY)
    assert read_settings(tmp_path / "daily.toml")[0].report.daily
    rest = SlurmCluster.from_settings(tomllib.loads(REST)["slurm"])
    assert rest.rest is not None


def test_a_typed_gang_starts_by_the_files_of_the_page(tmp_path: Path) -> None:
    """Four GPUs on each of four nodes of one type, beside jobs without a type."""
    (tmp_path / "cluster.gsm").write_text(blocks("gsm", REFERENCE)[0], encoding="utf-8")
    assert main(["fmt", "--check", str(tmp_path / "cluster.gsm")]) == 0
    (tmp_path / "cluster.toml").write_text(GANGS, encoding="utf-8")
    slurm = SimulatedSlurm(
        [Node(name, 4, "h200" if name[0] == "h" else "a100") for name in ("h1", "h2", "a1", "a2", "a3", "a4")]
    )
    slurm.submit(gpus=1, seconds=30)
    gang = slurm.submit(gpus=4, nodes=4, kind="a100", seconds=30)
    slurm.submit(gpus=4, nodes=2, seconds=30)
    settings, cluster = read_settings(tmp_path / "cluster.toml", slurm.cluster())
    diagnostics = Diagnostics()
    workspace = load_workspace(settings.model, diagnostics)
    diagnostics.raise_if_errors()
    told: list[Diagnostic] = []
    options = DriveOptions(acts=True, rounds=24, now=slurm.now, wait=slurm.sleep)
    drive(workspace, settings, cluster, options, report=told.append)
    assert set(gang.node.split(",")) == {"a1", "a2", "a3", "a4"}, told
    assert {job.state for job in slurm.jobs.values()} == {"COMPLETED"}, told


def test_the_tables_are_complete() -> None:
    for guard in fields(GuardSettings):
        default = str(guard.default).lower()
        assert f"| `{guard.name} = {default}` |" in PAGE
    for name in FIELDS | COMMON_FIELDS:
        assert f"`{name}`" in REFERENCE


def test_the_page_is_read_in_ten_minutes() -> None:
    assert len(PAGE.split()) <= 2600


def test_every_option_is_on_the_page_of_commands() -> None:
    text = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    section = text[text.index("\n## drive\n") :].split("\n## ", 2)[1]
    own = {option for action in build_parser()[1]["drive"]._actions for option in action.option_strings}
    common = {"-h", "--help", "--diagnostics", "--color", "-q", "--quiet", "--profile", "--debug"}
    assert {option for option in own - common if option not in section} == set()


def wait_for(condition: Callable[[], bool], log: Path, seconds: float = 300.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.5)


@pytest.mark.slow
@NEEDS_SLURM
@pytest.mark.parametrize("model", ["written", "own"])
def test_every_command_runs_on_a_real_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """Look, write the model (or take that of the page), check, watch while jobs run, report, act in another folder."""
    ours = tmp_path / "ours"
    folder = tmp_path / "slurm"
    folder.mkdir()
    inspect, init, check, watch, report, estimate, act = (block.split()[1:] for block in blocks("sh"))
    with slurm_service(folder, nodes=8, gpus=4, cpus=32) as service:
        monkeypatch.setenv("SLURM_CONF", service.environment["SLURM_CONF"])
        monkeypatch.setenv("PATH", PATH)

        @contextmanager
        def running(words: list[str], folder: str) -> Iterator[None]:
            """A command that runs during the block, from when its run has begun, and is stopped by SIGTERM."""
            log = tmp_path / f"{folder}.log"
            with log.open("w") as file:
                started = subprocess.Popen(
                    [*GSDSL, *words], cwd=ours, env=service.environment, stdout=file, stderr=file
                )
            try:
                wait_for((ours / folder / ORIGIN).exists, log)
                yield
            finally:
                started.send_signal(signal.SIGTERM)
                assert started.wait(120) == 0, log.read_text()

        def gsdsl(words: list[str], cwd: Path = ours) -> str:
            done = subprocess.run(
                [*GSDSL, *words], cwd=cwd, env=service.environment, text=True, capture_output=True, timeout=300,
                check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            return done.stdout

        def submit(*options: str) -> str:
            words = ("sbatch", "--parsable", "--gres=gpu:4", "-n1", "--mem=10", "-t", "2", "--comment", "due=4h")
            return service.run(*words, "--output=/dev/null", *options, "--wrap", "sleep 3")

        def recorded(name: str) -> str:
            lines = read_records(ours / "shadow" / HISTORY)
            return next((line["state"] for line in reversed(list(lines)) if line.get("job") == name), "")

        waiting = submit("--begin=now+1hour")
        assert "0 of 32 GPUs are in use" in gsdsl(inspect, tmp_path)
        if model == "written":
            gsdsl(init, tmp_path)
        else:
            ours.mkdir()
            write_files(ours)
        assert "nodes: 8, 8 of them up with 32 GPUs" in gsdsl(check)
        with running(watch, "shadow"):
            jobs, unended = [submit() for _ in range(10)], submit("--hold")
            wait_for(lambda: all(recorded(name) == "done" for name in jobs), tmp_path / "shadow.log")
        shown = gsdsl(report)
        assert f"compared: {len(jobs)} jobs" in shown
        assert "would have" in shown
        assert (ours / "report.html").stat().st_size > 100_000
        asked = [unended if word == "17" else word for word in estimate]
        assert f"{unended} at " in gsdsl(asked)
        text = (ours / "cluster.toml").read_text()
        (ours / "cluster.toml").write_text(re.sub(r"interval = \d+ ", 'folder = "acting"\ninterval = 1 ', text))
        held = submit("--hold")
        ended = (JobState.RUNNING, JobState.DONE)
        with running(act, "acting"):
            wait_for(lambda: SlurmCluster("main").observe().jobs[held].state in ended, tmp_path / "acting.log")
        assert f"start job {held} on g" in (tmp_path / "acting.log").read_text()
        seen = SlurmCluster("main").observe()
        assert {seen.jobs[name].state for name in jobs} == {JobState.DONE}
        assert str(seen.jobs[held].fields["admin_comment"]).startswith("gsdsl step")
        assert seen.jobs[waiting].state in (JobState.PENDING, JobState.BLOCKED)
