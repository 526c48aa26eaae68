"""Het jobs of a real Slurm: what `inspect` and `drive` say of them, beside what Slurm does."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from slurm_service import NEEDS_SLURM, PATH, SlurmService, slurm_service

from gpusched_dsl.data.sources.files import FileLimits
from gpusched_dsl.explaining.job_reason import NO_ROOM
from gsdsl_clusters.drivers.protocol import JobState
from gsdsl_clusters.drivers.slurm.cluster import SlurmCluster
from gsdsl_clusters.inspecting.inspection import inspect
from gsdsl_clusters.inspecting.reading import read_snapshot

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), NEEDS_SLURM]
LIMITS = FileLimits(allow_outside=True)
BACKFILL = 60.0  # s, by which Slurm rounds the starts that it plans


@pytest.fixture
def service() -> Iterator[SlurmService]:
    """Two nodes of each of two types, with four GPUs each."""
    with (
        tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder,
        slurm_service(Path(folder), gpus=4, cpus=32, types=["a100", "a100", "v100", "v100"]) as started,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("SLURM_CONF", started.environment["SLURM_CONF"])
        patch.setenv("PATH", PATH)
        yield started


def submit(service: SlurmService, *components: str) -> str:
    words = ["sbatch", "--parsable", "--output=/dev/null"]
    for at, options in enumerate(components):
        words += [*([":"] if at else []), "--mem=10", *options.split()]
    return service.run(*words, "--wrap", "sleep 600")


def shown(service: SlurmService, field: str) -> dict[str, str]:
    return dict(line.split("|") for line in service.run("squeue", "-h", "-o", f"%i|{field}").splitlines())


def test_inspect_and_drive_beside_slurm(service: SlurmService, tmp_path: Path) -> None:
    first = submit(service, "--gres=gpu:a100:4 -N1 -n1 -t60", "--gres=gpu:2 -N2 -n2 -t30")
    service.wait_until("the het job", lambda: shown(service, "%T")[f"{first}+1"] == "RUNNING")
    second = submit(service, "--gres=gpu:v100:4 -N1 -n1 -t60", "--gres=gpu:3 -N2 -n2 -t30")
    alone = submit(service, "--gres=gpu:2 -N1 -n1 -t600")  # would delay the second one on each node with room
    last = f"{second}+1"
    service.wait_until("the planning of Slurm", lambda: shown(service, "%S")[last] != "N/A", 90)

    snapshot = read_snapshot("slurm", LIMITS)
    states = {job: state.upper() for job, state in snapshot.jobs.select("job", "state").iter_rows()}
    assert {job: state.replace("WAITING", "PENDING") for job, state in states.items()} == shown(service, "%T")
    running = snapshot.jobs.filter(pl.col("het_job") == first)
    assert running["started"].n_unique() == 1
    found = inspect(snapshot)
    assert found.headline().startswith("8 of 16 GPUs are in use (50 %), 1 job runs, 2 wait for 12 GPUs")
    reasons = {job.job: job.reason for job in found.waiting}
    assert list(reasons) == [second, alone]
    reason = reasons[second]
    assert reason is not None
    assert reason.kind == NO_ROOM
    assert reason.next_end is not None
    assert (reason.next_end.job, reason.next_end.enough) == (f"{first}+1", True)

    # Slurm plans each component by itself; the job starts with the last one.
    planned = [datetime.fromisoformat(shown(service, "%S")[f"{second}+{at}"]).replace(tzinfo=UTC) for at in range(2)]
    starts = {row["job"]: row["q50"] + snapshot.now for row in found.starts.table.iter_rows(named=True)}
    assert starts[second] == pytest.approx(max(planned).timestamp(), abs=2 * BACKFILL)
    assert starts[alone] > starts[second] - BACKFILL

    # The driver leaves all components out by name, and those that run occupy their GPUs.
    observed = SlurmCluster("main").observe()
    why = "it is a component of a het job, and its components start together"
    assert {name for name, job in observed.jobs.items() if job.unsupported == why} == {
        f"{job}+{at}" for job in (first, second) for at in range(2)
    }
    occupied = {name: dict(job.allocation) for name, job in observed.jobs.items() if job.state is JobState.RUNNING}
    rows = running.select("job", "on_nodes", "on_gpus").iter_rows()
    assert occupied == {job: dict(zip(nodes, gpus, strict=True)) for job, nodes, gpus in rows}
    folder = tmp_path / "written"
    command(service, "inspect", "slurm", "--write", str(folder))
    checked = command(service, "drive", str(folder / "cluster.toml"), "--check")
    assert why in checked
    assert f"{second}+0" in checked

    # All components start together when there is room for all.
    service.run("scancel", first)
    service.wait_until("the second het job", lambda: shown(service, "%T")[last] == "RUNNING", 90)
    after = read_snapshot("slurm", LIMITS).jobs.filter(pl.col("het_job") == second)
    assert after["state"].to_list() == ["running", "running"]
    assert after["started"].n_unique() == 1
    placed = inspect(read_snapshot("slurm", LIMITS))
    assert placed.by_team["running"].sum() in (1, 2)  # the other job may have found room beside it


def command(service: SlurmService, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "gpusched_dsl", *words], env=service.environment, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
