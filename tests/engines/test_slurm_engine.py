"""The engine of Slurm on a real Slurm: a controller and three nodes on the loopback interface of this machine."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from campaign_files import plan_of, results_of, run_in, write_files
from slurm_service import NEEDS_SLURM, PATH, slurm_service

from gpusched_dsl.engines.choose import choose_engine
from gpusched_dsl.engines.dask import DaskEngine
from gpusched_dsl.engines.protocol import Work
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

pytest.importorskip("dask_jobqueue", reason="the package dask-jobqueue is not installed")
slow = [pytest.mark.slow, NEEDS_SLURM, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a cluster that runs until the end of the tests."""
    folder = tmp_path_factory.mktemp("slurm")
    with slurm_service(folder) as service, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", service.environment["SLURM_CONF"])
        patch.setenv("PATH", PATH)
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))  # Slurm hands it on to the workers
        yield folder


@pytest.fixture(scope="module")
def engine(slurm: Path) -> Iterator[DaskEngine]:
    options = f"queue=main,walltime=00:30:00,memory=500MB,interface=lo,log_directory={slurm}/log"
    found = choose_engine(f"slurm:{options},local_directory={slurm}/run", workers=3)
    assert isinstance(found, DaskEngine)
    with found:
        yield found


class TestSlurm:
    pytestmark = slow

    def test_a_killed_worker_loses_no_run(self, engine: DaskEngine) -> None:
        for _ in engine.run("engine_work:square", [Work("first", b"2")]):
            pass
        end = time.monotonic() + 60
        while engine.workers < 3 and time.monotonic() < end:
            time.sleep(0.2)
        assert (engine.name, engine.workers) == ("slurm", 3)
        victim = next(iter(engine._client.run(os.getpid).values()))
        threading.Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
        work = [Work(f"k{number}", str(number).encode()) for number in range(12)]
        found = {done.key: done.result for done in engine.run("engine_work:square_slowly", work)}
        assert found == {f"k{n}": str(n * n).encode() for n in range(12)}

    def test_the_results_are_those_of_one_process(self, engine: DaskEngine, tmp_path: Path) -> None:
        plan = plan_of(write_files(tmp_path))
        one, three = run_in(tmp_path / "one", plan), run_in(tmp_path / "three", plan, engine)
        assert list(results_of(one)) == list(results_of(three))
        assert not any(record.failed for record in three.records.values())

    def test_a_queue_that_does_not_exist(self, slurm: Path) -> None:
        with pytest.raises(DiagnosticError, match=r"`sbatch` refuses the jobs of the workers: .*invalid partition"):
            choose_engine("slurm:queue=other,interface=lo")

    def test_jobs_that_end_without_a_worker(self, slurm: Path) -> None:
        options = f"queue=main,interface=lo,memory=500MB,python=/bin/false,local_directory={slurm}/run"
        options += f",log_directory={slurm}/log"
        with choose_engine(f"slurm:{options}") as engine, pytest.raises(DiagnosticError, match="none of them"):
            list(engine.run("engine_work:square", [Work("first", b"2")]))


def test_a_slurm_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "sbatch").write_text(
        "#!/bin/sh\necho 'sbatch: error: Unable to contact slurm controller' >&2\nexit 1\n"
    )
    (tmp_path / "sbatch").chmod(0o755)
    with pytest.raises(DiagnosticError, match="refuses the jobs of the workers: Unable to contact slurm controller"):
        choose_engine("slurm:interface=lo")


def test_options_of_slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DiagnosticError, match="no command `sbatch`"):
        choose_engine("slurm")
    (tmp_path / "sbatch").write_text("")
    (tmp_path / "sbatch").chmod(0o755)
    with pytest.raises(DiagnosticError, match="did you mean `queue`"):
        choose_engine("slurm:quee=main")
