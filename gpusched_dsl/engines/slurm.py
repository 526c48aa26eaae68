"""Slurm: workers of Dask in jobs of the cluster, started by dask-jobqueue."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from gpusched_dsl.engines.dask import POLL_SECONDS, SETTINGS, DaskEngine, import_package
from gpusched_dsl.engines.protocol import Stop
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

WORKERS = 4
ANSWER_SECONDS = 60.0  # until a command of Slurm has answered
LOOK_SECONDS = 5.0  # between two looks at the queue
# What may follow `slurm:`, as in `slurm:queue=main,walltime=02:00:00`; other settings come from the files of Dask.
OPTIONS = ("queue", "account", "walltime", "memory", "cores", "interface", "log_directory", "local_directory", "python")


class SlurmEngine(DaskEngine):
    """Workers of Dask in jobs of Slurm. Jobs may wait in the queue as long as they must."""

    name = "slurm"

    def close(self) -> None:
        with suppress(AssertionError):  # of dask, for a job that was never submitted
            super().close()

    def _wait_for_workers(self, stop: Stop) -> None:
        """Wait for the first worker; raise DiagnosticError (GSM5309) if all jobs have ended without one."""
        looked = time.monotonic()
        while not self.workers and not stop():
            time.sleep(POLL_SECONDS)
            if time.monotonic() - looked > LOOK_SECONDS:
                looked = time.monotonic()
                self._check_jobs()

    def _check_jobs(self) -> None:
        jobs = [str(job.job_id) for job in self._cluster.workers.values() if job.job_id is not None]
        if not jobs:
            return  # not submitted yet
        done = _command("squeue", "-h", "-o", "%i", "-j", ",".join(jobs))
        unknown = done.returncode != 0 and "Invalid job id" in done.stderr
        if (unknown or (done.returncode == 0 and not done.stdout.strip())) and not self.workers:
            help = "see the output of the jobs: `--engine slurm:log_directory=DIR` writes it to a folder"
            message = f"jobs {', '.join(jobs)} of Slurm have ended, and none of them has started a worker"
            raise DiagnosticError([Diagnostic("GSM5309", message, help=help)])


def slurm_engine(text: str, workers: int | None, memory: int | None) -> DaskEngine:
    """Return the engine of `slurm` or `slurm:queue=main,walltime=02:00:00`; raises DiagnosticError (GSM5309)."""
    jobqueue = import_package("dask_jobqueue", "slurm")
    if shutil.which("sbatch") is None:
        help = "run the campaign where jobs can be submitted, or use `--engine local`"
        raise DiagnosticError([Diagnostic("GSM5309", "Slurm is not there: no command `sbatch`", help=help)])
    import dask

    options: dict[str, Any] = {"cores": 1, "memory": "4GB", **_options(text)}
    with dask.config.set({**SETTINGS, "jobqueue.slurm.job-extra-directives": ["--requeue"]}):
        try:
            cluster = jobqueue.SLURMCluster(processes=1, scheduler_options={"dashboard_address": None}, **options)
        except (OSError, ValueError, TypeError, RuntimeError) as failure:
            raise DiagnosticError([_unusable(str(failure), f"options are {', '.join(OPTIONS)}")]) from failure
        try:
            _check_submission(cluster.job_script())
            cluster.scale(jobs=workers or WORKERS)
            return SlurmEngine(cluster=cluster, memory=memory)
        except DiagnosticError:
            with suppress(AssertionError):
                cluster.close()
            raise


def _check_submission(script: str) -> None:
    """Raise DiagnosticError (GSM5309) if Slurm does not answer or would refuse a job with this script."""
    done = _command("sbatch", "--test-only", script=script)
    if done.returncode:
        reasons = [line.removeprefix("sbatch: ").partition("error: ")[2] for line in done.stderr.splitlines()]
        reason = "; ".join(filter(None, reasons)) or done.stderr.strip() or f"exit code {done.returncode}"
        help = "try `sinfo`; the queue, account, time and memory of the jobs are options: `slurm:queue=main,memory=2GB`"
        raise DiagnosticError([_unusable(f"`sbatch` refuses the jobs of the workers: {reason}", help)])


def _command(*words: str, script: str = "") -> subprocess.CompletedProcess[str]:
    """Call a command of Slurm, and give it a script; a command that is not there or does not answer fails."""
    try:
        return subprocess.run(
            words,
            input=script,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        return subprocess.CompletedProcess(words, 1, "", str(failure))


def _unusable(reason: str, help: str) -> Diagnostic:
    return Diagnostic("GSM5309", f"Slurm cannot be used: {reason}", help=help)


def _options(text: str) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for part in filter(None, text.partition(":")[2].split(",")):
        name, equals, value = part.partition("=")
        if name not in OPTIONS or not equals or not value:
            help = did_you_mean(name, OPTIONS) or f"write `slurm:queue=main,walltime=02:00:00`; {', '.join(OPTIONS)}"
            raise DiagnosticError([Diagnostic("GSM5309", f"unknown option `{part}` of Slurm", help=help)])
        found[name] = int(value) if name == "cores" and value.isdigit() else value
    return found
