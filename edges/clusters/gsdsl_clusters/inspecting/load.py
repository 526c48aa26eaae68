"""The cluster and its load: GPUs in use and wanted, by type of GPU, team, user or partition."""

from __future__ import annotations

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats, Ints
from gsdsl_clusters.inspecting.queue_simulation import demands, ready_at
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot, SnapshotState
from gsdsl_clusters.inspecting.together import WHOLE_JOB

TOTAL = pl.col("gpus") * pl.col("nodes").clip(1)  # GPUs of a job


def load_by_type(snapshot: ClusterSnapshot) -> pl.DataFrame:
    """A row for each type of GPU: `nodes`, `down` nodes, `gpus` of nodes that are up, `used` and `free` GPUs, `wanted`
    by waiting jobs that only this type suits, and `used_share` of the past (null without starts). GPUs on nodes in a
    reservation or in maintenance are not free.
    """
    used = gpus_in_use(snapshot)
    nodes = snapshot.nodes.with_columns(pl.Series("used", used))
    up, closed = pl.col("up"), pl.col("node").is_in(closed_nodes(snapshot).implode())
    table = nodes.group_by("gpu_type", maintain_order=True).agg(
        pl.len().alias("nodes"),
        (~up).sum().alias("down"),
        pl.col("gpus").filter(up).sum(),
        pl.col("used").sum(),
        (pl.col("gpus") - pl.col("used")).clip(0).filter(up & ~closed).sum().alias("free"),
    )
    wanted = _wanted(snapshot)
    past = past_use(snapshot)
    return table.with_columns(
        pl.col("gpu_type").replace_strict(wanted, default=0, return_dtype=pl.Int64).alias("wanted"),
        pl.col("gpu_type").replace_strict(past, default=None, return_dtype=pl.Float64).alias("used_share"),
    ).sort("gpus", "gpu_type", descending=[True, False])


def closed_nodes(snapshot: ClusterSnapshot) -> pl.Series:
    """The names of nodes that are in a reservation or in maintenance now."""
    now = snapshot.reservations.filter((pl.col("start") <= snapshot.now) & (pl.col("end") > snapshot.now))
    return now["nodes"].explode(empty_as_null=False, keep_nulls=False).unique()


def running_parts(snapshot: ClusterSnapshot) -> tuple[Ints, Ints, Floats]:
    """The parts of running jobs on known nodes: numbers of the job (among those that run) and the node, and GPUs."""
    running = snapshot.jobs_in(SnapshotState.RUNNING).select(pl.int_range(pl.len()).alias("job"), "on_nodes", "on_gpus")
    parts = running.explode("on_nodes", "on_gpus", empty_as_null=True, keep_nulls=True)
    where = snapshot.nodes.select(pl.int_range(pl.len()).alias("place"), pl.col("node").alias("on_nodes"))
    parts = parts.join(where, on="on_nodes", how="inner", maintain_order="left")
    return (
        parts["job"].to_numpy().astype(np.int64),
        parts["place"].to_numpy().astype(np.int64),
        parts["on_gpus"].to_numpy().astype(np.float64),
    )


def gpus_in_use(snapshot: ClusterSnapshot) -> Ints:
    """GPUs that running jobs occupy on each node."""
    _, place, gpus = running_parts(snapshot)
    return np.bincount(place, gpus, minlength=snapshot.nodes.height).astype(np.int64)


def _wanted(snapshot: ClusterSnapshot) -> dict[str, int]:
    """GPUs of the waiting jobs that nodes of one type alone suit, by the type."""
    waiting = snapshot.jobs_in(SnapshotState.WAITING)
    if not (waiting.height and snapshot.nodes.height):
        return {}
    kind, suits = demands(snapshot, waiting)
    types = snapshot.nodes["gpu_type"].to_numpy()
    names = sorted(set(types.tolist()))
    of_type = np.stack([(suits & (types == name)).any(axis=1) for name in names], axis=1)  # (D, types)
    only = np.where(of_type.sum(axis=1) == 1, of_type.argmax(axis=1), -1)[kind]
    total = waiting.select(TOTAL).to_series().to_numpy()
    return {name: int(total[only == at].sum()) for at, name in enumerate(names)}


def past_use(snapshot: ClusterSnapshot) -> dict[str, float]:
    """The share of the GPUs of each type that jobs have used, from the first start that is known until now."""
    if not snapshot.has_starts:
        return {}
    ran = snapshot.jobs.filter(pl.col("started").is_not_null() & (pl.col("on_nodes").list.len() > 0))
    first = ran["started"].min()
    if not isinstance(first, float) or first >= snapshot.now:
        return {}
    end = pl.col("ended").fill_null(snapshot.now).clip(upper_bound=snapshot.now)
    places = ran.select("on_nodes", "on_gpus", (end - pl.col("started")).clip(0).alias("time")).explode(
        "on_nodes", "on_gpus", empty_as_null=True, keep_nulls=True
    )
    joined = places.join(snapshot.nodes.select("node", "gpu_type"), left_on="on_nodes", right_on="node")
    work = joined.group_by("gpu_type").agg((pl.col("on_gpus") * pl.col("time")).sum().alias("work"))
    capacity = snapshot.nodes.group_by("gpu_type").agg(pl.col("gpus").sum())
    span = snapshot.now - first
    rows = work.join(capacity, on="gpu_type").filter(pl.col("gpus") > 0)
    return {kind: float(done / (gpus * span)) for kind, done, gpus in rows.iter_rows()}


def load_by(snapshot: ClusterSnapshot, column: str = "team") -> pl.DataFrame:
    """A row for each team, user, QOS or name in `column`: `running` jobs and their `gpus`, `waiting` and `blocked` jobs
    and the GPUs `wanted` by them, GPU-hours of the past (`gpu_hours`), and the `mean_wait` of those that started (s).
    A het job is one job, which runs as long as one of its components.
    """
    state = pl.col("state")
    runs, waits = state == SnapshotState.RUNNING.value, state == SnapshotState.WAITING.value
    hours = TOTAL * pl.col("duration").fill_null(0.0) / 3600.0
    wait = (pl.col("started") - ready_at()).clip(0.0)
    return (
        snapshot.jobs.group_by(column, maintain_order=True)
        .agg(
            WHOLE_JOB.filter(runs).n_unique().alias("running"),
            TOTAL.filter(runs).sum().alias("gpus"),
            WHOLE_JOB.filter(waits).n_unique().alias("waiting"),
            WHOLE_JOB.filter(state == SnapshotState.BLOCKED.value).n_unique().alias("blocked"),
            TOTAL.filter(waits).sum().alias("wanted"),
            hours.filter(~waits).sum().alias("gpu_hours"),
            wait.filter(WHOLE_JOB.is_first_distinct()).mean().alias("mean_wait"),
        )
        .sort("gpu_hours", column, descending=[True, False])
    )
