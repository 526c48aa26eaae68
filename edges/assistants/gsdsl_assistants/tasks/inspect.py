"""Looks at saved outputs of a cluster or a history of jobs, in the working folder, without a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpusched_dsl.data.sources.files import FileLimits, Unreadable
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.entry_points import load_own
from gsdsl_assistants.limits import CallLimits, CallRefused

CLUSTERS = "gpusched_dsl.clusters"  # the group of entry points: one edge imports no other


def inspect(
    limits: CallLimits,
    *,
    source: str,
    format: str | None = None,
    timezone: str = "UTC",
    nodes: str | None = None,
    price: float | None = None,
) -> dict[str, Any]:
    """Return the report of a file or folder below the working folder; live clusters are not read.

    Raises CallRefused for a source that is elsewhere, DiagnosticError for one that cannot be read.
    """
    _check_inside(source)
    if nodes is not None and ("/" in nodes or "\\" in nodes or Path(nodes).exists()):
        _check_inside(nodes)
    within = FileLimits.within(limits.memory, allow_outside=False)
    try:
        read_snapshot = load_own(CLUSTERS, "read_snapshot")
        snapshot = read_snapshot(source, within, form=format, zone=timezone, nodes=nodes, live=False)
    except Unreadable as error:
        told = [Diagnostic(f.code, f.message, f.cell, notes=f.notes, help=f.help) for f in error.faults]
        raise DiagnosticError(told) from None
    found = load_own(CLUSTERS, "inspect")(snapshot, price=price)
    return {"ok": True, "text": "\n".join(found.lines()), **found.to_dict()}


def _check_inside(name: str) -> None:
    """Refuse a name that leads out of the working folder, also by a link in the folder that it names."""
    root, path = Path.cwd().resolve(), Path(name)
    inside = [path, *(path.iterdir() if path.is_dir() else [])]
    if any(not each.resolve().is_relative_to(root) for each in inside):
        raise CallRefused(f"`{name}` is outside the folder of the server, or has links that lead out of it")
