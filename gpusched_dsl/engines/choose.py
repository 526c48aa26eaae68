"""The engine of a text such as `local`, `dask`, `dask://host:port` or `slurm:queue=main`."""

from __future__ import annotations

from gpusched_dsl.engines.inline import InlineEngine
from gpusched_dsl.engines.local import LocalEngine
from gpusched_dsl.engines.protocol import Engine
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

ENGINES = ("local", "inline", "dask", "dask://HOST:PORT", "slurm", "slurm:OPTION=VALUE,...")


def choose_engine(text: str = "local", workers: int | None = None, memory: int | None = None) -> Engine:
    """Return the engine of a text; `memory` in bytes for each of `workers`. Raises DiagnosticError (GSM5309)."""
    if text == "local":
        return LocalEngine(workers, memory)
    if text == "inline":
        return InlineEngine()
    if text == "dask" or (text.startswith("dask://") and text != "dask://"):  # an empty address is not this machine
        from gpusched_dsl.engines.dask import DaskEngine

        address = text.removeprefix("dask").removeprefix("://")
        return DaskEngine(f"tcp://{address}" if address else None, workers, memory)
    if text.partition(":")[0] == "slurm":
        from gpusched_dsl.engines.slurm import slurm_engine

        return slurm_engine(text, workers, memory)
    message = f"unknown engine `{text}`"
    raise DiagnosticError([Diagnostic("GSM5309", message, help=f"the engines are {', '.join(ENGINES)}")])
