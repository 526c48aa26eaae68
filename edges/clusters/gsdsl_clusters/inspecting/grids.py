"""The tables of an inspection, for the terminal and for pages. Columns that say nothing are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gpusched_dsl.explaining.job_reason import names_text
from gpusched_dsl.language.text.numbers import percent_text
from gpusched_dsl.reporting.grid import Grid, GridColumn
from gsdsl_clusters.inspecting.inspection import ClusterInspection
from gsdsl_clusters.inspecting.other_queues import QueueOutcome
from gsdsl_clusters.inspecting.times import length_text


def type_grid(found: ClusterInspection) -> Grid:
    """The nodes and GPUs by type."""
    table = found.by_type
    columns = [
        GridColumn("GPU type", [kind or "unknown" for kind in table["gpu_type"].to_list()], wraps=True),
        _numbers("nodes", table["nodes"].to_list()),
        *_unless_zero("down", table["down"].to_list()),
        _numbers("GPUs", table["gpus"].to_list()),
    ]
    if found.has_present:
        columns += [_numbers("in use", table["used"].to_list()), _numbers("free", table["free"].to_list())]
        columns += _unless_zero("waited for", table["wanted"].to_list())
    if table["used_share"].null_count() < len(table):
        columns.append(GridColumn("used so far", list(map(percent_text, table["used_share"].to_list())), right=True))
    return Grid(tuple(columns))


def team_grid(found: ClusterInspection) -> Grid:
    """The jobs and GPUs by team, those with the most GPU-hours first."""
    table = found.by_team
    columns = [GridColumn("team", [name or "none" for name in table["team"].to_list()], wraps=True)]
    for head, name, optional in (
        ("running", "running", 2), ("GPUs", "gpus", 0), ("waiting", "waiting", 0), ("blocked", "blocked", 3),
        ("GPUs wanted", "wanted", 1),
    ):  # fmt: skip
        columns += _unless_zero(head, table[name].to_list(), optional)
    columns.append(_numbers("GPU-hours", table["gpu_hours"].to_list()))
    if found.snapshot.has_starts:
        columns.append(GridColumn("mean wait", list(map(length_text, table["mean_wait"].to_list())), right=True))
    return Grid(tuple(columns))


def blocking_grid(found: ClusterInspection) -> Grid:
    """The running jobs that block most."""
    table = found.blocking
    ends = [np.inf if end is None else end for end in table["end"].to_list()]
    return Grid(
        (
            GridColumn("job", table["job"].to_list(), wraps=True),
            GridColumn("user", table["user"].to_list(), wraps=True, optional=2),
            _numbers("GPUs", table["gpus"].to_list()),
            GridColumn("on", list(map(names_text, table["on_nodes"].to_list())), wraps=True, optional=1),
            GridColumn("ends by", [_end_text(found, end) for end in ends], wraps=True),
            _numbers("jobs with room without it", table["blocks"].to_list()),
        )
    )


def _end_text(found: ClusterInspection, end: float) -> str:
    if not np.isfinite(end):
        return "no limit"
    return found.time_text(end) if end >= found.snapshot.now else "past limit"


def start_grid(found: ClusterInspection) -> Grid:
    """Quantiles of the starts of the jobs that wait."""
    table, now = found.starts.table, found.snapshot.now
    times = [
        GridColumn(
            head,
            [found.time_text(now + wait) if np.isfinite(wait) else "later" for wait in table[name].to_list()],
            right=True,
        )
        for head, name in (("10 %", "q10"), ("50 %", "q50"), ("90 %", "q90"))
    ]
    return Grid((GridColumn("job", table["job"].to_list(), wraps=True), *times))


def queue_grid(found: ClusterInspection) -> Grid:
    """Waits of the past jobs by the cluster, by its queue in the simulation, and by other queues."""
    assert found.queues is not None
    rows = [*([found.queues.real] if found.queues.real else []), found.queues.own, *found.queues.others]
    return Grid(
        (
            GridColumn("queue", [each.name for each in rows], wraps=True),
            *(
                GridColumn(head, [length_text(value(each)) for each in rows], right=True, optional=optional)
                for head, value, optional in _QUEUE_COLUMNS
            ),
            GridColumn("GPUs used", [percent_text(each.used) for each in rows], right=True, optional=1),
        )
    )


_QUEUE_COLUMNS: tuple[tuple[str, Callable[[QueueOutcome], float], int], ...] = (
    ("mean wait", lambda outcome: outcome.mean_wait, 0),
    ("by GPU-hours", lambda outcome: outcome.weighted_wait, 2),
    ("95 % within", lambda outcome: outcome.wait_95, 3),
)


def change_grid(found: ClusterInspection) -> Grid:
    """What more nodes and other limits would change."""
    columns = [
        GridColumn("change", [change.text for change in found.changes], wraps=True),
    ]
    if found.queues is not None and found.queues.jobs:
        waits = ["" if c.mean_wait is None else length_text(c.mean_wait) for c in found.changes]
        columns.append(GridColumn("mean wait", waits, right=True))
    if found.waits:
        columns.append(_numbers("start now", [c.starts_now for c in found.changes]))
    return Grid(tuple(columns))


def _numbers(head: str, values: Sequence[float], optional: int = 0) -> GridColumn:
    return GridColumn(head, [f"{round(value):,}" for value in values], right=True, optional=optional)


def _unless_zero(head: str, values: Sequence[float], optional: int = 0) -> list[GridColumn]:
    """A column of numbers, or none if all are 0."""
    return [_numbers(head, values, optional)] if any(values) else []
