"""Slurm: workers of Dask in jobs of the cluster, started by dask-jobqueue."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from gpusched_dsl.engines.dask import SETTINGS, DaskEngine, import_package
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

WORKERS = 4
# What may follow `slurm:`, as in `slurm:queue=main,walltime=02:00:00`; other settings come from the files of Dask.
OPTIONS = ("queue", "account", "walltime", "memory", "cores", "interface", "log_directory", "local_directory", "python")


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
            cluster.scale(jobs=workers or WORKERS)
        except (OSError, ValueError, TypeError, RuntimeError) as failure:
            message = f"Slurm cannot be used: {failure}"
            raise DiagnosticError(
                [Diagnostic("GSM5309", message, help=f"options are {', '.join(OPTIONS)}")]
            ) from failure
    engine = DaskEngine(cluster=cluster, memory=memory)
    engine.name = "slurm"
    return engine


def _options(text: str) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for part in filter(None, text.partition(":")[2].split(",")):
        name, equals, value = part.partition("=")
        if name not in OPTIONS or not equals or not value:
            help = did_you_mean(name, OPTIONS) or f"write `slurm:queue=main,walltime=02:00:00`; {', '.join(OPTIONS)}"
            raise DiagnosticError([Diagnostic("GSM5309", f"unknown option `{part}` of Slurm", help=help)])
        found[name] = int(value) if name == "cores" and value.isdigit() else value
    return found
