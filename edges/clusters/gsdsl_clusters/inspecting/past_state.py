"""The snapshot of an earlier time, with what was known then: the basis of every check against the own history."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats
from gsdsl_clusters.inspecting.queue_simulation import ready_at
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot, SnapshotState


def state_at(snapshot: ClusterSnapshot, time: float) -> ClusterSnapshot:
    """The jobs as they were at `time` (seconds, as in the snapshot): later ones are gone, later events unknown.

    A job that was not eligible yet is blocked, one that was cancelled later waits. A node that is down now was up until
    the last start of a job there: records of nodes are not read. Needs the starts of the jobs.
    """
    known = snapshot.jobs.filter(pl.col("submitted") <= time)
    ended = pl.col("ended").is_not_null() & (pl.col("ended") <= time)
    runs = pl.col("started").is_not_null() & (pl.col("started") <= time) & ~ended
    later = pl.col("eligible").fill_null(0.0) > time
    held = (pl.col("state") == SnapshotState.BLOCKED.value) & pl.col("eligible").is_null()
    state = (
        pl.when(ended).then(pl.lit(SnapshotState.ENDED.value))
        .when(runs).then(pl.lit(SnapshotState.RUNNING.value))
        .when(later | held).then(pl.lit(SnapshotState.BLOCKED.value))
        .otherwise(pl.lit(SnapshotState.WAITING.value))
    )  # fmt: skip
    before = known.with_columns(
        state.alias("state"),
        pl.when(ended).then("outcome").otherwise(pl.lit("")).alias("outcome"),
        pl.when(ended).then("ended").alias("ended"),
        pl.when(ended | runs).then("started").alias("started"),
        pl.when(ended).then("duration").when(runs).then(time - pl.col("started")).alias("duration"),
        pl.when(ended | runs).then("on_nodes").otherwise(pl.lit([], pl.List(pl.String))).alias("on_nodes"),
        pl.when(ended | runs).then("on_gpus").otherwise(pl.lit([], pl.List(pl.Int32))).alias("on_gpus"),
        pl.lit("").alias("reason"),
    )
    return replace(snapshot, now=time, jobs=before, nodes=_nodes_at(snapshot, time))


def _nodes_at(snapshot: ClusterSnapshot, time: float) -> pl.DataFrame:
    """The nodes, with those up on which jobs started after `time`."""
    if bool(snapshot.nodes["up"].all()):
        return snapshot.nodes
    later = snapshot.jobs.filter(pl.col("started") > time)["on_nodes"].explode(empty_as_null=False, keep_nulls=False)
    up = pl.col("up") | pl.col("node").is_in(later.unique().implode())
    return snapshot.nodes.with_columns(up.alias("up"), pl.when(up).then(pl.lit("")).otherwise("reason").alias("reason"))


def real_future(snapshot: ClusterSnapshot, time: float, span: float) -> ClusterSnapshot:
    """The state at `time` with the jobs that came within `span` seconds after it, as jobs that wait until they come.

    Jobs that never started are left out: they were withdrawn.
    """
    then = state_at(snapshot, time)
    came = snapshot.jobs.filter((pl.col("submitted") > time) & (pl.col("submitted") <= time + span))
    nothing = [pl.lit(None, pl.Float64).alias(name) for name in ("started", "ended")]
    later = came.filter(pl.col("started").is_not_null()).with_columns(
        pl.lit(SnapshotState.WAITING.value).alias("state"), *nothing
    )
    withdrawn = snapshot.jobs.filter(pl.col("started").is_null() & pl.col("ended").is_not_null())["job"]
    jobs = pl.concat([then.jobs.filter(~pl.col("job").is_in(withdrawn.implode())), later])
    return replace(then, jobs=jobs)


def times_to_ask(snapshot: ClusterSnapshot, count: int, share: float = 1 / 3) -> Floats:
    """Times of the last `share` of the starts at which jobs waited that have started since, spread over these jobs.

    A time is soon after a job came, or for one that was there before, in the middle of what was left of its wait.
    Empty if the records have no starts, or nobody waited for more than a minute.
    """
    ran = snapshot.jobs["started"].drop_nulls()
    waited = snapshot.jobs.filter(pl.col("started") - ready_at() > 60.0)
    if not waited.height or len(ran) < 3:
        return np.zeros(0)
    since = float(ran.quantile(1 - share) or 0.0)
    later = waited.filter(pl.col("started") > since + 60.0)
    moment = pl.when(ready_at() > since).then(ready_at() + 30.0).otherwise((since + pl.col("started")) / 2)
    moments = later.select(moment).to_series().sort().to_numpy()
    if not len(moments):
        return np.zeros(0)
    at = np.unique(np.linspace(0, len(moments) - 1, min(count, len(moments))).astype(np.int64))
    found: Floats = np.unique(moments[at])
    return found
