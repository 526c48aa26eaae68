"""The shadow report of a cluster file: the recorded history, compared with methods."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.live.messages import Value, event_of
from gpusched_dsl.workflows.live import with_start
from gsdsl_clusters.drivers.comparison import ShadowComparison, compare_with_cluster
from gsdsl_clusters.drivers.drive import HISTORY, JOURNAL, config_of, has_zone, parts_of, start_of_run
from gsdsl_clusters.drivers.events import CAPACITY
from gsdsl_clusters.drivers.observed_jobs import read_history
from gsdsl_clusters.drivers.records import read_records
from gsdsl_clusters.drivers.settings import DriveSettings
from gsdsl_clusters.drivers.slot_comparison import TimedValues


def shadow_comparison(workspace: Workspace, settings: DriveSettings, methods: Sequence[str]) -> ShadowComparison:
    """Compare everything that was recorded so far, also while a run continues. Raises DiagnosticError."""
    history = read_history(read_records(settings.folder / HISTORY))
    start = start_of_run(workspace, settings, time.time, create=False)
    config = with_start(workspace, config_of(settings), start.isoformat(), has_zone=has_zone(settings))
    return compare_with_cluster(
        workspace, config.allowing(*methods), history, start.timestamp(), methods, values=_values_of(settings)
    )


def _values_of(settings: DriveSettings) -> list[TimedValues]:
    """Return the values that the run was told, such as prices, without the GPUs of nodes that others left."""
    path = settings.folder / JOURNAL
    if not path.exists():
        return []
    with Journal.read(path) as journal:
        told = [
            (external.time, event_of(external.content))
            for external in journal.external()
            if not external.id.startswith(CAPACITY)
        ]
    return [TimedValues(time, event.values) for time, event in told if isinstance(event, Value)]


def check_report_methods(workspace: Workspace, settings: DriveSettings) -> None:
    """Raise DiagnosticError for a method of [report] that no run can use, before the first day ends."""
    start = start_of_run(workspace, settings, time.time, create=False)
    for method in settings.report.methods:
        if method != settings.method:
            parts_of(workspace, settings, start, method)
