"""The engine of Slurm on a real Slurm: a controller and three nodes on the loopback interface of this machine."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from campaign_files import plan_of, results_of, run_in, write_files

from gpusched_dsl.engines.choose import choose_engine
from gpusched_dsl.engines.dask import DaskEngine
from gpusched_dsl.engines.protocol import Work
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

pytest.importorskip("dask_jobqueue", reason="the package dask-jobqueue is not installed")
PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
PROGRAMS = {name: shutil.which(name, path=PATH) for name in ("munged", "slurmctld", "slurmd", "sbatch", "sinfo")}
ABSENT = [name for name, path in PROGRAMS.items() if path is None]
NODES, PORT = 3, 17200

slow = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(ABSENT), reason=f"Slurm is not installed: no {', '.join(ABSENT)}"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The configuration of a cluster that runs until the end of the tests."""
    folder = tmp_path_factory.mktemp("slurm")
    for name in ("state", "log", "run", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    (folder / "run").chmod(0o711)
    config = folder / "slurm.conf"
    config.write_text(_configuration(folder), encoding="utf-8")
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n", encoding="utf-8")
    socket_path = folder / "run" / "munge.sock"
    commands = [
        [PROGRAMS["munged"], "--foreground", "--force", f"--socket={socket_path}", f"--key-file={key}",
         f"--pid-file={folder}/run/munged.pid", f"--log-file={folder}/log/munged.log",
         f"--seed-file={folder}/run/munged.seed", "--num-threads=2"],
        [PROGRAMS["slurmctld"], "-D", "-c"],
        *([PROGRAMS["slurmd"], "-D", "-N", f"g{number}"] for number in range(1, NODES + 1)),
    ]  # fmt: skip
    environment = {**os.environ, "SLURM_CONF": str(config), "PATH": PATH}
    with contextlib.ExitStack() as stack:
        for command in commands:
            log = stack.enter_context((folder / "log" / f"{Path(str(command[0])).name}.out").open("ab"))
            started = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)  # type: ignore[arg-type]
            stack.callback(_end, started)
            time.sleep(1.0)
        _wait_for_nodes(environment, folder)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SLURM_CONF", str(config))
            patch.setenv("PATH", PATH)
            patch.setenv("PYTHONPATH", str(Path(__file__).parent))  # Slurm hands it on to the workers
            yield folder


def _configuration(folder: Path) -> str:
    user, host = getpass.getuser(), socket.gethostname().partition(".")[0]
    return f"""
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={PORT}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/run/munge.sock
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool/%n
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
KillWait=2
SlurmdParameters=config_overrides
NodeName=g[1-{NODES}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{PORT + 1}-{PORT + NODES}] CPUs=4 Boards=1 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""  # noqa: E501


def _wait_for_nodes(environment: dict[str, str], folder: Path) -> None:
    end, shown = time.monotonic() + 60, ""
    while time.monotonic() < end:
        command = [str(PROGRAMS["sinfo"]), "-h", "-o", "%T"]
        shown = subprocess.run(command, capture_output=True, text=True, env=environment, check=False).stdout.strip()
        if shown == "idle":
            return
        time.sleep(0.5)
    logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in (folder / "log").iterdir())
    pytest.fail(f"Slurm did not start: {shown}\n{logs}")


def _end(started: subprocess.Popen[bytes]) -> None:
    started.terminate()
    try:
        started.wait(10)
    except subprocess.TimeoutExpired:
        started.kill()


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


def test_options_of_slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DiagnosticError, match="no command `sbatch`"):
        choose_engine("slurm")
    (tmp_path / "sbatch").write_text("")
    (tmp_path / "sbatch").chmod(0o755)
    with pytest.raises(DiagnosticError, match="did you mean `queue`"):
        choose_engine("slurm:quee=main")
