"""Verifies runs of entries, independently of the engine: what ran where and when, and that the future was unknown."""

from __future__ import annotations

import numpy as np
import polars as pl

from benchmarks.leaderboard.entries import Entry
from benchmarks.leaderboard.foresight import find_foresight
from benchmarks.leaderboard.tracks import Track
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.policies.placement_reader import cluster_of
from gpusched_dsl.policies.workload import NONE
from gpusched_dsl.reporting.runs.result import RunResult

CODE = "GSM7012"
NEAR = 1e-6  # relative, of times and of GPUs
Sizes = dict[str, float]  # GPUs by node, and by type of node where plans choose the types


def fault_of(result: RunResult) -> Diagnostic | None:
    """Return what is impossible in the schedule of a run, None if nothing is."""
    sizes = None if result.outcome.online.window is not None else sizes_of(result)
    message = fault(result.jobs, result.schedule, sizes)
    return None if message is None else Diagnostic(CODE, f"the schedule is impossible: {message}")


def sizes_of(result: RunResult) -> Sizes:
    """Return the GPUs of nodes by their names, of types by theirs."""
    base, model = result.outcome.base, result.outcome.online.base
    cluster = cluster_of(model, base.store, base.limits)
    units = cluster.work.units / cluster.work.parts

    def labels(at: int) -> tuple[str | int, ...]:
        component = base.store.component(cluster.placement.indices[at].type)
        assert component is not None
        return component.labels

    if cluster.type_at is not None:
        names = labels(cluster.type_at)
        return {str(names[code]): float(units[kind]) for kind, code in enumerate(cluster.kinds.tolist())}
    names = labels(cluster.node_at)
    kinds = cluster.work.node_kind
    return {
        str(names[c]): float(units[k]) for c, k in zip(cluster.nodes.tolist(), kinds.tolist(), strict=True) if k != NONE
    }


def fault(jobs: pl.DataFrame, schedule: pl.DataFrame, sizes: Sizes | None) -> str | None:
    """Return a message about the first impossible stretch of a schedule.

    Jobs run from their arrival on, at one place at a time. With `sizes`, the jobs of a node never use more GPUs than it
    has, and all have its type.
    """
    rows = schedule.join(jobs.select("job", "arrival"), on="job", how="left")
    early = rows.filter(pl.col("arrival").is_null() | (pl.col("start") < pl.col("arrival") - NEAR))
    if len(early):
        return f"`{early['job'][0]}` runs from {early['start'][0]:g} on, before its arrival"
    ordered = rows.sort("job", "start").with_columns(before=pl.col("end").shift(1).over("job"))
    twice = ordered.filter(pl.col("before") > pl.col("start") + NEAR * pl.col("start").abs().clip(1.0))
    if len(twice):
        return f"`{twice['job'][0]}` runs at two places at {twice['start'][0]:g}"
    if sizes is None:
        return None
    for (node,), here in rows.group_by("node", maintain_order=True):
        message = _overload(str(node), here, sizes)
        if message is not None:
            return message
    return None


def _overload(node: str, here: pl.DataFrame, sizes: Sizes) -> str | None:
    start, end, gpus = (here[name].to_numpy() for name in ("start", "end", "gpus"))
    kind = here["node_type"].to_list()
    size = np.array([sizes[node] if node in sizes else sizes[str(name)] for name in kind])
    code = np.unique(np.array([str(name) for name in kind]), return_inverse=True)[1].reshape(-1)
    near = NEAR * np.maximum(1.0, np.abs(end))
    time = np.concatenate((start, end - near))
    for at in range(code.max(initial=0) + 1):
        same = code == at
        order = np.argsort(time[np.tile(same, 2)], kind="stable")
        used = np.cumsum(np.concatenate((gpus[same], -gpus[same]))[order])
        most = float(used.max(initial=0.0))
        if most > size[same][0] * (1 + NEAR):
            when = time[np.tile(same, 2)][order][int(np.argmax(used))]
            return f"jobs use {most:g} GPUs of the node `{node}` at {when:g}, which has {size[same][0]:g}"
    if len(np.unique(code)) > 1:
        order = np.argsort(start, kind="stable")
        reached = np.maximum.accumulate((end - near)[order])
        changes = np.flatnonzero((code[order][1:] != code[order][:-1]) & (start[order][1:] < reached[:-1]))
        if len(changes):
            return f"the node `{node}` has two types at {start[order][1:][changes[0]]:g}"
    return None


def foresight_of(track: Track, seed: int, entry: Entry, times: int = 3) -> Diagnostic | None:
    """Return a diagnostic (GSM7014) if an entry reads the future of a track."""
    return find_foresight(
        track.workspace(seed, entry.blocks), track.config(seed, entry.command, gap=entry.gap), times=times
    )
