"""What one more node of each type would change, with the jobs of the past and for those that wait now."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats
from gsdsl_clusters.inspecting.other_queues import recent
from gsdsl_clusters.inspecting.queue_simulation import present_state, ready_at, simulate
from gsdsl_clusters.inspecting.reasons import reached_limits
from gsdsl_clusters.inspecting.snapshot import NODE_COLUMNS, ClusterSnapshot, complete
from gsdsl_clusters.inspecting.starts import QueueOrder, in_queue_order


@dataclass(frozen=True)
class ClusterChange:
    """The mean wait of the past jobs (None if none starts), and how many of the jobs that wait now would start at once,
    after a change.
    """

    text: str
    mean_wait: float | None
    starts_now: int


def what_if(snapshot: ClusterSnapshot, order: QueueOrder) -> list[ClusterChange]:
    """The state as it is, with one more node of each type, and each limit doubled that waiting jobs meet (0 has no
    double); by the own queue in simulation. The mean waits are those of the jobs that start in all of them.
    """
    changed = [("as it is", snapshot)]
    for kind in snapshot.nodes["gpu_type"].unique().sort().to_list():
        one = snapshot.nodes.filter((pl.col("gpu_type") == kind) & (pl.col("gpus") > 0))
        if one.height:
            changed.append((f"one more node of {_kind(kind)}", _with_node(snapshot, one)))
    for at in reached_limits(snapshot):
        row = snapshot.limits.row(at, named=True)
        if row["gpus"] == 0:
            continue
        doubled = snapshot.limits.with_columns(
            pl.when(pl.int_range(pl.len()) == at).then(pl.col("gpus") * 2).otherwise("gpus").alias("gpus")
        )
        within = "".join(f" in {row[each]}" for each in ("team", "qos", "partition") if row[each])
        name = f"limit of {row['scope']} {row['owner'] or '(each)'}{within}"
        changed.append((f"{name} {row['gpus']} -> {2 * row['gpus']} GPUs", replace(snapshot, limits=doubled)))
    each = [_waits(one, order) for _, one in changed]
    least = min(map(len, each))  # of very large clusters, fewer jobs for a larger one: the last ones
    waits = np.array([one[len(one) - least :] for one in each])  # (changes, jobs)
    known = waits[:, ~np.isnan(waits).any(axis=0)]
    means = known.mean(axis=1).tolist() if known.size else [None] * len(changed)
    return [
        ClusterChange(text, mean, _starts_now(one, order)) for (text, one), mean in zip(changed, means, strict=True)
    ]


def _kind(kind: str) -> str:
    return f"type {kind}" if kind else "the same type"


def _with_node(snapshot: ClusterSnapshot, alike: pl.DataFrame) -> ClusterSnapshot:
    """The snapshot with a copy of the most frequent kind of node."""
    usual = alike.group_by("gpus", "partitions", "features", maintain_order=True).agg(pl.len(), pl.first("node"))
    name = usual.sort("len", descending=True, maintain_order=True)["node"][0]
    copy = alike.filter(pl.col("node") == name).with_columns(
        pl.lit(f"{name} again").alias("node"), pl.lit(True).alias("up")
    )
    return replace(snapshot, nodes=complete(pl.concat([snapshot.nodes, copy]), NODE_COLUMNS))


def _waits(snapshot: ClusterSnapshot, order: QueueOrder) -> Floats:
    """The waits of the past jobs; NaN for one that does not start."""
    data = recent(snapshot)
    ready = data.table.select(ready_at()).to_series().to_numpy()
    start = simulate(in_queue_order(data, order, ready), order.rule).start
    waits: Floats = np.maximum(start - ready, 0.0)[data.heads]
    return waits


def _starts_now(snapshot: ClusterSnapshot, order: QueueOrder) -> int:
    """How many of the waiting jobs start at once."""
    present = present_state(snapshot)
    ordered = in_queue_order(present, order, present.table["submitted"].to_numpy())
    now = simulate(ordered, order.rule, until=0.0).start
    waiting = (present.table["state"] == "waiting").to_numpy() & present.heads
    return int((now[waiting] <= 0.0).sum())
