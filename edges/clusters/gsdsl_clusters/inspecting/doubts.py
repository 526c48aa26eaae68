"""What in a snapshot contradicts its nodes: jobs on unknown nodes, more GPUs in use than there are, jobs too large."""

from __future__ import annotations

import polars as pl

from gpusched_dsl.explaining.job_reason import names_text
from gpusched_dsl.language.text.numbers import count_text
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot, SnapshotState

_MORE_NODES = "state the nodes by `--nodes`"


def doubts_of(snapshot: ClusterSnapshot) -> list[str]:
    """Sentences on what the nodes do not explain, one for each kind."""
    found = [*_unknown_nodes(snapshot), *_too_many(snapshot), *_too_large(snapshot)]
    if not snapshot.has_starts:
        found.append("no starts are known: all waits are those of a simulation, not of the cluster")
    return found


def _places(snapshot: ClusterSnapshot) -> pl.DataFrame:
    """The parts of running jobs: `job`, `node`, `gpus`."""
    running = snapshot.jobs_in(SnapshotState.RUNNING)
    return running.select("job", node="on_nodes", gpus="on_gpus").explode(
        "node", "gpus", empty_as_null=True, keep_nulls=True
    )


def _unknown_nodes(snapshot: ClusterSnapshot) -> list[str]:
    """Running jobs without a known node: their GPUs are not counted as used."""
    lost = _places(snapshot).join(snapshot.nodes.select("node"), on="node", how="anti", maintain_order="left")
    found = []
    named = lost.filter(pl.col("node").is_not_null())
    if named.height:
        names = names_text(named["node"].unique(maintain_order=True).to_list())
        jobs, gpus = count_text(named["job"].n_unique(), "running job"), int(named["gpus"].sum())
        found.append(f"{jobs} on unknown nodes ({names}): {count_text(gpus, 'GPU')} not counted")
    nowhere = lost.filter(pl.col("node").is_null())
    if nowhere.height:
        text = f"{count_text(nowhere.height, 'running job')} without nodes in the source: the GPUs are not counted"
        found.append(text)
    return found


def _too_many(snapshot: ClusterSnapshot) -> list[str]:
    """Nodes on which jobs use more GPUs than the nodes have."""
    used = _places(snapshot).drop_nulls("node").group_by("node", maintain_order=True).agg(pl.col("gpus").sum())
    over = used.join(snapshot.nodes.select("node", has="gpus"), on="node", maintain_order="left").filter(
        pl.col("gpus") > pl.col("has")
    )
    if not over.height:
        return []
    name, gpus, has = over.select("node", "gpus", "has").row(0)
    more = f", and {count_text(over.height - 1, 'more node')}" if over.height > 1 else ""
    return [f"jobs use {gpus} of the {count_text(has, 'GPU')} of node {name}{more}: nodes are larger than known"]


def _too_large(snapshot: ClusterSnapshot) -> list[str]:
    """Jobs that request more GPUs of one node than any node is known to have."""
    largest = int(snapshot.nodes["gpus"].max() or 0)  # type: ignore[arg-type]
    present = snapshot.jobs.filter(pl.col("state") != SnapshotState.ENDED.value)
    large = present.filter((pl.col("nodes") > 0) & (pl.col("gpus") > largest)).sort("gpus", descending=True)
    if not large.height:
        return []
    text = f"{count_text(large.height, 'job')} ({names_text(large['job'].to_list())}) for up to {large['gpus'][0]} GPUs"
    text += f" of a node: the largest known node has {largest}"
    return [f"{text}; {_MORE_NODES}" if snapshot.inferred else text]
