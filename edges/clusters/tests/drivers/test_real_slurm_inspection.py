"""The inspection of a real Slurm: what it reads equals what `squeue` and `scontrol` show, live and saved."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from slurm_service import NEEDS_SLURM, PATH, SlurmService, slurm_service

from gpusched_dsl.data.sources.files import FileLimits
from gsdsl_clusters.inspecting.inspection import inspect
from gsdsl_clusters.inspecting.readers.slurm_documents import script
from gsdsl_clusters.inspecting.reading import read_snapshot
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), NEEDS_SLURM]
LIMITS = FileLimits(allow_outside=True)


@pytest.fixture(scope="module")
def service() -> Iterator[SlurmService]:
    """Four nodes of four GPUs with a gang, a limited array, dependencies, and maintenance to come."""
    with (
        tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder,
        slurm_service(Path(folder), nodes=4, gpus=4, cpus=32) as started,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("SLURM_CONF", started.environment["SLURM_CONF"])
        patch.setenv("PATH", PATH)
        gang = submit(started, "--gres=gpu:h200:4", "-N2", "-n2", "-t60")
        array = submit(started, "--gres=gpu:2", "-n1", "-t30", "--array=1-100%2")
        submit(started, "--gres=gpu:1", "-n1", "-t30", f"--dependency=afterok:{gang}:{array}")
        submit(started, "-H", "--gpus=3", "-n1", "-t30")
        submit(started, "--gres=gpu:4", "-N4", "-n4", "-t120")
        started.run(
            "scontrol", "create", "reservation", "reservationname=maint", "starttime=now+5400", "duration=60",
            "nodes=g[3-4]", "users=root", "flags=maint",
        )  # fmt: skip
        time.sleep(3)
        yield started


def submit(service: SlurmService, *options: str) -> str:
    words = ("sbatch", "--parsable", "--mem=10", "--output=/dev/null", *options, "--wrap", "sleep 600")
    return service.run(*words)


def test_jobs_equal_what_squeue_shows(service: SlurmService) -> None:
    found = read_snapshot("slurm", LIMITS)
    shown = dict(line.split("|") for line in service.run("squeue", "-r", "-h", "-o", "%i|%T").splitlines())
    states = dict(found.jobs.select("job", "state").iter_rows())
    assert set(states) == set(shown)
    assert len(shown) == 104
    for job, state in states.items():
        assert (state == "running") is (shown[job] == "RUNNING")
    where = {job: nodes for job, nodes in found.jobs.select("job", "on_nodes").iter_rows() if nodes}
    by_node = {node: sum(node in nodes for nodes in where.values()) for node in found.nodes["node"].to_list()}
    assert by_node == {n: len(service.run("squeue", "-h", "-w", n).splitlines()) for n in by_node}
    assert found.nodes.select("gpus", "gpu_type", "up").unique().rows() == [(4, "h200", True)]
    blocked = found.jobs.filter(found.jobs["state"] == "blocked")
    assert sorted(blocked["after"].list.len().to_list()) == [0, 101]  # held; after the gang and the array
    [reservation] = found.reservations.to_dicts()
    assert (reservation["nodes"], reservation["start"] - found.now) == (["g3", "g4"], pytest.approx(5400, abs=60))
    assert any("accounting" in text for text in found.unread)  # there is no slurmdbd


def test_the_gang_waits_behind_the_maintenance(service: SlurmService) -> None:
    """It needs all nodes for two hours, and two are closed in 90 minutes for one hour."""
    found = inspect(read_snapshot("slurm", LIMITS))
    starts = {row["job"]: row for row in found.starts.table.iter_rows(named=True)}
    gang = found.snapshot.jobs.filter(found.snapshot.jobs["nodes"] == 4)["job"].item()
    assert starts[gang]["q10"] >= 9000 - 60


def same(one: ClusterSnapshot, other: ClusterSnapshot) -> None:
    """The same but for what changes with time, and details that Slurm only prints in one of the forms."""
    changing = ("duration", "memory", "priority", "on_gpus")
    jobs, others = (
        each.jobs.sort("job").drop(changing).with_columns(pl.col("reason").str.extract(r"^(\w*)"))
        for each in (one, other)
    )
    assert jobs.equals(others)
    assert one.nodes.equals(other.nodes)
    assert one.reservations.equals(other.reservations)


def test_saved_outputs_say_the_same(service: SlurmService, tmp_path: Path) -> None:
    subprocess.run(["sh", "-c", script()], cwd=tmp_path, env=service.environment, check=False, capture_output=True)
    live, saved = read_snapshot("slurm", LIMITS), read_snapshot(str(tmp_path), LIMITS)
    assert abs(live.now - saved.now) < 30
    same(live, saved)


def test_text_says_the_same_as_json(service: SlurmService, tmp_path: Path) -> None:
    """As of a Slurm that was built without JSON."""
    text_only = "\n".join(line for line in script().splitlines() if "--json" not in line)
    subprocess.run(["sh", "-c", text_only], cwd=tmp_path, env=service.environment, check=False, capture_output=True)
    assert (tmp_path / "jobs.txt").stat().st_size
    assert (tmp_path / "nodes.txt").stat().st_size
    same(read_snapshot("slurm", LIMITS), read_snapshot(str(tmp_path), LIMITS))
