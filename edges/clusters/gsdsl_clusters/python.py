"""`gpusched_dsl.inspect`: a look at a cluster without a model, from Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.data.sources.files import FileLimits, Unreadable
from gpusched_dsl.language.calendar import DateError, check_zone
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.option_checks import check_values

if TYPE_CHECKING:
    from gsdsl_clusters.inspecting.inspection import ClusterInspection


def inspect(
    source: str | Path,
    *,
    format: str | None = None,
    timezone: str = "UTC",
    nodes: str | Path | None = None,
    price: float | None = None,
    seed: int = 0,
    memory: int | None = None,
) -> ClusterInspection:
    """Look at a cluster or a history of jobs, as `gsdsl inspect` does.

    `source` is a file or folder, or `"slurm"`; `format` is the name of its format, by default recognised. `timezone` is
    the zone of times without an offset, `nodes` states the nodes of a source that has only jobs (`"20x8"`), `price`
    is that of a GPU-hour, and a `seed` gives the same estimates again. Reading takes at most `memory` bytes (8 GiB).

    The report has polars tables: `.by_type`, `.by_team`, `.starts.table`, `.blocking`, `.snapshot.jobs` and
    `.snapshot.nodes`; `print` writes the text, `.to_html` the page, `.to_json` the document.

    Raises DiagnosticError: GSM4011 for a value of the wrong type, and what `gsdsl inspect` reports for the source.
    """
    given = locals()
    from gsdsl_clusters.inspecting.inspection import inspect as look
    from gsdsl_clusters.inspecting.reading import read_snapshot

    values = check_values("inspect", given)
    try:
        check_zone(timezone)
    except DateError as error:
        raise DiagnosticError([Diagnostic("GSM4011", str(error), help=error.help)]) from None
    usual = FileLimits(allow_outside=True)
    limits = usual if memory is None else FileLimits.within(values["memory"], allow_outside=True)
    try:
        stated = None if nodes is None else str(nodes)
        snapshot = read_snapshot(str(source), limits, form=format, zone=timezone, nodes=stated)
    except Unreadable as error:
        found = [Diagnostic(f.code, f.message, f.cell, notes=f.notes, help=f.help) for f in error.faults]
        raise DiagnosticError(found) from None
    return look(snapshot, seed=values["seed"], price=values["price"])
