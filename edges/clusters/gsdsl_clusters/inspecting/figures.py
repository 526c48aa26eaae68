"""The figures of an inspection: jobs on nodes, GPUs in use and waited for over time, and unused GPUs by hour."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.calendar import Calendar
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.reporting.figures.bars import BarsFigure
from gpusched_dsl.reporting.figures.curves_figure import Curve, CurvesFigure
from gpusched_dsl.reporting.figures.figure import Figure, TimeAxis, time_axis
from gpusched_dsl.reporting.figures.schedule_figure import ScheduledJobs, ScheduleFigure, Stays
from gsdsl_clusters.inspecting.inspection import ClusterInspection
from gsdsl_clusters.inspecting.load import TOTAL
from gsdsl_clusters.inspecting.queue_simulation import ready_at
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot, SnapshotState
from gsdsl_clusters.inspecting.unused import means_between

HOUR = 3600.0
SHOWN = 7 * 24 * HOUR  # of the past in the schedule
MOST_STAYS = 20_000
POINTS = 600  # of a curve


def inspection_figures(found: ClusterInspection) -> list[Figure]:
    """The figures for which the source has data."""
    figures: list[Figure] = []
    if found.snapshot.has_starts:
        figures += [figure for figure in (schedule(found.snapshot), load_over_time(found.snapshot)) if figure]
    if found.unused is not None:
        price = f", a GPU-hour costs {found.price:g} {found.currency}" if found.price is not None else ""
        hours = [f"{hour:02}" for hour in range(24)]
        nothing = np.full(24, np.nan)
        values = [np.array([value]) for value in found.unused.unused.tolist()]
        figures.append(
            BarsFigure(
                title="Unused GPUs by hour of the day", note=f"means of {found.unused.days:.0f} days{price}",
                unit="GPUs", methods=hours, values=values, low=nothing, high=nothing,
            )
        )  # fmt: skip
    return figures


def schedule(snapshot: ClusterSnapshot) -> ScheduleFigure | None:
    """The jobs of the last days on their nodes, which are in the order of types and racks; colours are those of teams,
    or of users if there is one team. Running jobs are drawn until the end of their limits.
    """
    now = snapshot.now
    ran = snapshot.jobs.filter(
        pl.col("started").is_not_null()
        & (pl.col("on_nodes").list.len() > 0)
        & (pl.col("ended").is_null() | (pl.col("ended") > now - SHOWN))
    ).sort("started")
    parts = ran.select(pl.int_range(pl.len()).alias("job"), "on_nodes", "on_gpus").explode(
        "on_nodes", "on_gpus", empty_as_null=True, keep_nulls=True
    )
    nodes = snapshot.nodes.sort("gpu_type", "rack", "node").with_row_index("row")
    parts = parts.join(nodes.select("row", on_nodes="node"), on="on_nodes", how="inner", maintain_order="left")
    left_out = max(parts.height - MOST_STAYS, 0)
    parts = parts.tail(MOST_STAYS)
    if not parts.height:
        return None
    latest = pl.when(pl.col("limit").is_not_null()).then(pl.col("started") + pl.col("limit")).otherwise(now + HOUR)
    runs = pl.col("state") == SnapshotState.RUNNING.value
    times = ran.select(
        "started", end=pl.when(runs).then(pl.max_horizontal(latest, now)).otherwise(pl.col("ended").fill_null(now)),
        come=ready_at(),
    )  # fmt: skip
    job, row = parts["job"].to_numpy().astype(np.int64), parts["row"].to_numpy().astype(np.int64)
    start, end = times["started"].to_numpy()[job], times["end"].to_numpy()[job]
    low = float(max(start.min(), now - SHOWN))
    axis, at = _axis(snapshot, low, float(end.max()))
    kinds = nodes["gpu_type"].unique(maintain_order=True)
    kind = nodes["gpu_type"].replace_strict(kinds, range(len(kinds)), return_dtype=pl.Int64).to_numpy()
    owner = "team" if ran["team"].n_unique() > 1 else "user"
    groups = ran[owner].unique().sort()
    group = ran[owner].replace_strict(groups, range(len(groups)), return_dtype=pl.Int64).to_numpy()
    names = [
        " ".join(word for word in (node, rack and f"({rack})") if word)
        for node, rack in nodes.select("node", "rack").iter_rows()
    ]
    notes = [f"colours are {owner}s; nodes are in the order of types and racks; running jobs end at their limits"]
    if left_out:
        notes.append(f"{count_text(left_out, 'earlier stretch', 'earlier stretches')} of jobs left out")
    return ScheduleFigure(
        title="Schedule", note="; ".join(notes), axis=axis,
        stays=Stays(
            row, job, at(np.maximum(start, low)), at(end), parts["on_gpus"].to_numpy().astype(np.float64), kind[row],
            np.zeros(len(job), dtype=np.bool_),
        ),
        jobs=ScheduledJobs(
            ran["job"].to_list(), at(times["come"].to_numpy()), np.full(ran.height, np.nan),
            at(times["end"].to_numpy()), group, groups.to_list(),
        ),
        nodes=names, capacity=nodes["gpus"].to_numpy().astype(np.float64),
        node_types=[name or "unknown" for name in kinds.to_list()],
    )  # fmt: skip


def load_over_time(snapshot: ClusterSnapshot) -> CurvesFigure | None:
    """GPUs in use and GPUs that jobs wait for, as means over equal spans of the history."""
    jobs = snapshot.jobs.filter(pl.col("state") != SnapshotState.BLOCKED.value)
    start, now = jobs["started"].to_numpy(writable=True), snapshot.now
    ready = jobs.select(ready_at()).to_series().fill_null(now).to_numpy()
    if not len(start) or not np.nanmin(ready) < now:
        return None
    low = float(ready.min())
    edges = np.linspace(low, now, POINTS + 1)
    gpus = jobs.select(TOTAL).to_series().to_numpy().astype(np.float64)
    end = jobs["ended"].fill_null(now).to_numpy()
    ran = ~np.isnan(start)
    used = means_between(start[ran], end[ran], gpus[ran], edges)
    begins = np.where(ran, start, end)
    waiting = means_between(ready, np.maximum(begins, ready), gpus, edges)
    axis, at = _axis(snapshot, low, now)
    total = float(snapshot.nodes["gpus"].sum())
    curves = [
        Curve("GPUs in use", at(edges[:-1]), used, steps=True),
        Curve("GPUs waited for", at(edges[:-1]), waiting, steps=True),
        Curve("all GPUs", at(edges[[0, -1]]), np.array([total, total])),
    ]
    note = f"means over {(now - low) / POINTS / 60:.3g} min"
    return CurvesFigure(title="GPUs in use and waited for", note=note, axis=axis, unit="GPUs", curves=curves)


def _axis(snapshot: ClusterSnapshot, low: float, high: float) -> tuple[TimeAxis, Callable[[Floats], Floats]]:
    """An axis in hours, with dates if there are, and times of the snapshot on it."""
    origin = low if snapshot.dated else 0.0
    clock = RunClock("h", Calendar(round(low * 1e6), snapshot.timezone)) if snapshot.dated else None

    def at(times: Floats) -> Floats:
        found: Floats = (times - origin) / HOUR
        return found

    return time_axis((low - origin) / HOUR, (high - origin) / HOUR, "h", clock=clock), at
