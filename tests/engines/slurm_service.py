"""A real Slurm for tests: a controller and several nodes on the loopback interface of this machine.

With accounting, a database runs beside it: limits of accounts and QOS are enforced, and `sacct` has a history.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo", "squeue", "scontrol")
ACCOUNTING = ("slurmdbd", "mariadbd", "mariadb-install-db", "sacctmgr", "sacct")
PROGRAMS = {name: shutil.which(name, path=PATH) for name in (*NEEDED, *ACCOUNTING, "slurmrestd")}
ABSENT = [name for name in NEEDED if PROGRAMS[name] is None]
NEEDS_SLURM = pytest.mark.skipif(bool(ABSENT), reason=f"Slurm is not installed: no {', '.join(ABSENT)}")


NO_ACCOUNTING = [name for name in (*NEEDED, *ACCOUNTING) if PROGRAMS[name] is None]
NEEDS_ACCOUNTING = pytest.mark.skipif(bool(NO_ACCOUNTING), reason=f"not installed: {', '.join(NO_ACCOUNTING)}")


@dataclass
class SlurmService:
    """A running cluster in a folder; `gpus` of each node, 0 for none, and the type of the GPUs of each node."""

    folder: Path
    nodes: int
    gpus: int
    port: int
    cpus: int
    types: Sequence[str] = ()
    accounting: bool = False
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": PATH}

    def run(self, *command: str, check: bool = True) -> str:
        """Run a command of Slurm and return its output."""
        program = str(PROGRAMS.get(command[0]) or shutil.which(command[0], path=PATH))
        done = subprocess.run(
            [program, *command[1:]],
            capture_output=True,
            text=True,
            env=self.environment,
            check=False,
            timeout=60,
            cwd=self.folder,
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout.strip()

    def start(self, name: str, *command: str, user: str | None = None) -> None:
        """Start a process of the cluster under a name."""
        log = (self.folder / "log" / f"{name}.out").open("ab")
        program = str(PROGRAMS[command[0]])
        words = [program, *command[1:]] if user is None else ["runuser", "-u", user, "--", program, *command[1:]]
        self.running[name] = subprocess.Popen(
            words, stdout=log, stderr=log, env=self.environment, start_new_session=True
        )
        log.close()

    def start_controller(self, *, clear: bool = False) -> None:
        self.start("slurmctld", "slurmctld", "-D", *(["-c"] if clear else []))

    def kill(self, name: str) -> None:
        """Kill a process and wait for its end."""
        started = self.running.pop(name)
        os.killpg(started.pid, signal.SIGKILL)
        started.wait(10)

    def wait_for_nodes(self, seconds: float = 60.0) -> None:
        end, shown = time.monotonic() + seconds, ""
        while time.monotonic() < end:
            shown = self.run("sinfo", "-h", "-o", "%T", check=False)
            if shown == "idle":
                return
            time.sleep(0.5)
        logs = "\n".join(p.read_text(errors="replace")[-2000:] for p in (self.folder / "log").iterdir())
        pytest.fail(f"Slurm did not start: {shown}\n{logs}")

    def wait_until(self, what: str, done: Callable[[], bool], seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while not done():
            if time.monotonic() > end:
                pytest.fail(f"{what} did not start")
            time.sleep(0.3)

    def end(self) -> None:
        for started in self.running.values():
            started.terminate()
        for started in self.running.values():
            try:
                started.wait(10)
            except subprocess.TimeoutExpired:
                started.kill()


def free_ports(count: int) -> int:
    """The first of `count` consecutive free ports, below those that the kernel gives to clients.

    Each process starts its search elsewhere, so that clusters of tests that run side by side do not meet.
    """
    place = os.getpid()
    for attempt in range(600):
        first = 17_200 + 24 * ((place + attempt) % 600)
        if all(_is_free(port) for port in range(first, first + count)):
            return first
    pytest.fail(f"no {count} consecutive free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextlib.contextmanager
def slurm_service(
    folder: Path, *, nodes: int = 3, gpus: int = 0, cpus: int = 4, types: Sequence[str] = (), accounting: bool = False
) -> Iterator[SlurmService]:
    """A cluster that runs until the end of the block; with `types`, one for each node."""
    types = types or ["h200"] * nodes
    for name in ("state", "log", "run", "spool", "dev"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    for shared in (folder, folder / "run"):
        shared.chmod(0o711)
    service = SlurmService(folder, len(types), gpus, free_ports(len(types) + 3), cpus, types, accounting)
    (folder / "slurm.conf").write_text(_configuration(service), encoding="utf-8")
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n", encoding="utf-8")
    for number in range(gpus):
        (folder / "dev" / f"gpu{number}").touch()
    devices = f"File={folder}/dev/gpu[0-{gpus - 1}]"
    of_nodes = [f"NodeName=g{n} Name=gpu Type={kind} {devices}" for n, kind in enumerate(types, 1)] if gpus else []
    (folder / "gres.conf").write_text("\n".join(["AutoDetect=off", *of_nodes, ""]), encoding="utf-8")
    try:
        service.start(
            "munged", "munged", "--foreground", "--force", f"--socket={folder}/run/munge.sock", f"--key-file={key}",
            f"--pid-file={folder}/run/munged.pid", f"--log-file={folder}/log/munged.log",
            f"--seed-file={folder}/run/munged.seed", "--num-threads=2",
        )  # fmt: skip
        time.sleep(1.0)
        if accounting:
            _start_accounting(service)
        service.start_controller(clear=True)
        time.sleep(1.0)
        for number in range(1, len(types) + 1):
            service.start(f"slurmd-g{number}", "slurmd", "-D", "-N", f"g{number}")
        service.wait_for_nodes()
        yield service
    finally:
        service.end()


def _start_accounting(service: SlurmService) -> None:
    """Start the database and its daemon, and register the cluster."""
    folder, database, port = service.folder, service.port + service.nodes + 1, service.port + service.nodes + 2
    user = getpass.getuser()
    (folder / "slurmdbd.conf").write_text(
        f"""AuthType=auth/munge
AuthInfo=socket={folder}/run/munge.sock
DbdHost=localhost
DbdPort={port}
SlurmUser={user}
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=slurm
StoragePass=slurm
LogFile={folder}/log/slurmdbd.log
PidFile={folder}/run/slurmdbd.pid
"""
    )
    (folder / "slurmdbd.conf").chmod(0o600)
    (folder / "first.sql").write_text(
        "CREATE USER slurm@localhost IDENTIFIED BY 'slurm';\nGRANT ALL ON *.* TO slurm@localhost;\n"
    )
    data = (f"--datadir={folder}/database", f"--user={user}")
    service.run("mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", *data)
    service.start(
        "mariadbd", "mariadbd", "--no-defaults", *data, f"--socket={folder}/run/sql", f"--port={database}",
        "--bind-address=127.0.0.1", f"--init-file={folder}/first.sql", f"--pid-file={folder}/run/mariadbd.pid",
        "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M",
    )  # fmt: skip
    service.wait_until("the database", lambda: not _is_free(database))
    service.start("slurmdbd", "slurmdbd", "-D")
    service.wait_until(
        "slurmdbd", lambda: "test" in service.run("sacctmgr", "-i", "add", "cluster", "test", check=False)
    )


def _configuration(service: SlurmService) -> str:
    folder, port, nodes, cpus = service.folder, service.port, service.nodes, service.cpus
    user, host = getpass.getuser(), socket.gethostname().partition(".")[0]
    common = (
        f"NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={cpus} "
        "ThreadsPerCore=1 RealMemory=4000 State=UNKNOWN"
    )
    lines = "\n".join(
        f"NodeName=g{n} Port={port + n} {common}" + (f" Gres=gpu:{kind}:{service.gpus}" if service.gpus else "")
        for n, kind in enumerate(service.types, 1)
    )
    tracked = ",".join(["gres/gpu", *(f"gres/gpu:{kind}" for kind in dict.fromkeys(service.types))])
    accounting = (
        f"""AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePass={folder}/run/munge.sock
AccountingStoragePort={port + nodes + 2}
AccountingStorageTRES={tracked}
AccountingStorageEnforce=associations,limits,qos"""
        if service.accounting
        else "AccountingStorageType=accounting_storage/none"
    )
    return f"""
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
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
SchedulerParameters=batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
{"GresTypes=gpu" if service.gpus else ""}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
{accounting}
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
KillWait=2
MinJobAge=3600
JobRequeue=1
SlurmdParameters=config_overrides
{lines}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
