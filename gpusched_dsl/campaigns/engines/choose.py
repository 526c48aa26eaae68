"""The engine of a text such as `local`, `dask`, `dask://host:port` or `slurm`."""

from __future__ import annotations

from gpusched_dsl.campaigns.engines.inline import InlineEngine
from gpusched_dsl.campaigns.engines.local import LocalEngine
from gpusched_dsl.campaigns.engines.protocol import Engine
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

ENGINES = ("local", "inline")


def choose_engine(text: str = "local", workers: int | None = None, memory: int | None = None) -> Engine:
    """Return the engine of a text; `memory` in bytes for each of `workers`. Raises DiagnosticError (GSM5309)."""
    if text == "local":
        return LocalEngine(workers, memory)
    if text == "inline":
        return InlineEngine()
    message = f"unknown engine `{text}`"
    raise DiagnosticError([Diagnostic("GSM5309", message, help=f"the engines are {', '.join(ENGINES)}")])
