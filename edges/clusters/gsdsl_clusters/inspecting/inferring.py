"""The nodes of a cluster whose source has only jobs: those on which jobs ran, with the GPUs that were in use."""

from __future__ import annotations

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats, Ints
from gsdsl_clusters.inspecting.snapshot import NODE_COLUMNS, complete

_NAMED = "nodes are those on which jobs ran, each with the most GPUs that were in use at once"
_UNNAMED = "the records have no names of nodes: as many GPUs of each kind as were in use at once, on nodes of {} GPUs"


def infer_nodes(jobs: pl.DataFrame, types: pl.Series | None = None) -> tuple[pl.DataFrame, str]:
    """Return the table of nodes, and how they were found in words. `types` are those of the GPUs on which jobs ran, by
    default the requested ones, with `|` between several.

    With names of nodes, a node has the largest number of GPUs that jobs used at once, and the type and partitions that
    its jobs had. Without names, each partition (or without partitions each type) has the peak of the GPUs in use, on
    nodes as large as the largest job on one node.
    """
    jobs = jobs.with_columns(jobs["gpu_types"].list.join("|").alias("types") if types is None else types.alias("types"))
    named = jobs.filter(pl.col("on_nodes").list.len() > 0)
    return (_named(named), _NAMED) if named.height else _unnamed(jobs)


def _named(jobs: pl.DataFrame) -> pl.DataFrame:
    table = jobs.select("started", "ended", "partitions", "types", node="on_nodes", gpus="on_gpus").explode(
        "node", "gpus", empty_as_null=True, keep_nulls=True
    )
    names = table["node"].unique().sort()
    owner = table["node"].replace_strict(names, pl.int_range(len(names), eager=True), return_dtype=pl.Int64).to_numpy()
    peak = peak_use(owner, *_times(table), table["gpus"].to_numpy().astype(np.float64), len(names))
    grouped = table.group_by("node").agg(
        pl.col("partitions").explode(empty_as_null=True, keep_nulls=True).drop_nulls().unique().sort(),
        pl.col("types")
        .filter((pl.col("types") != "") & ~pl.col("types").str.contains("|", literal=True))
        .mode()
        .sort()
        .first()
        .alias("gpu_type"),
    )
    found = pl.DataFrame({"node": names, "gpus": np.rint(peak).astype(np.int64)}).join(grouped, on="node", how="left")
    return complete(found, NODE_COLUMNS)


def _unnamed(jobs: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    by_partition = bool((jobs["partitions"].list.len() > 0).any())
    kind = jobs["partitions"].list.join("|") if by_partition else jobs["types"]
    kinds = kind.unique().sort()
    owner = kind.replace_strict(kinds, pl.int_range(len(kinds), eager=True), return_dtype=pl.Int64).to_numpy()
    total = (jobs["gpus"] * jobs["nodes"].clip(1)).to_numpy().astype(np.float64)
    peak = np.rint(peak_use(owner, *_times(jobs), total, len(kinds))).astype(np.int64)
    alone = jobs.filter(pl.col("nodes") <= 1)
    single = alone["gpus"].max() if alone.height else jobs["gpus"].max()
    most = int(single) if isinstance(single, int) and single > 0 else 1
    size = max(most if most <= 16 else 8, int(jobs.filter(pl.col("nodes") > 1)["gpus"].max() or 1))  # type: ignore[arg-type]
    rows = []
    for at, name in enumerate(kinds.to_list()):
        full, rest = divmod(int(peak[at]), size)
        for number, gpus in enumerate([size] * full + [rest] * (rest > 0)):
            parts = {"partitions": name.split("|")} if by_partition and name else {}
            typed = {"gpu_type": name} if not by_partition and "|" not in name else {}
            rows.append({"node": f"{name or 'node'}-{number + 1}", "gpus": gpus, **parts, **typed})
    table = complete(pl.DataFrame(rows) if rows else pl.DataFrame({"node": [], "gpus": []}), NODE_COLUMNS)
    return table, _UNNAMED.format(size)


def _times(table: pl.DataFrame) -> tuple[Floats, Floats]:
    """Starts and ends; NaN for what never ran, infinity for what still runs."""
    start = table["started"].fill_null(np.nan).to_numpy()
    end = table["ended"].fill_null(np.inf).to_numpy()
    return start, end


def peak_use(owner: Ints, start: Floats, end: Floats, gpus: Floats, owners: int) -> Floats:
    """The largest sum of GPUs at one time for each owner; what ends at a time is gone before what starts then.

    A job of no length has used its GPUs too.
    """
    at_once = np.isfinite(start) & (end == start)
    peak = np.zeros(owners)
    np.maximum.at(peak, owner[at_once], gpus[at_once])
    ran = np.isfinite(start) & (end > start)
    owner, start, end, gpus = owner[ran], start[ran], end[ran], gpus[ran]
    time = np.concatenate([start, end])
    change, whose = np.concatenate([gpus, -gpus]), np.concatenate([owner, owner])
    order = np.lexsort((change, time, whose))
    whose, running = whose[order], np.cumsum(change[order])
    if len(whose):
        first = np.flatnonzero(np.diff(whose, prepend=-1))
        before = np.concatenate([[0.0], running])[first]
        found = np.maximum.reduceat(running, first) - before
        np.maximum.at(peak, whose[first], found)
    return peak
