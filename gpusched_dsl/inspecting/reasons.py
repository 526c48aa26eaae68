"""Why each job waits, in words of GPUs, nodes and jobs; jobs of one shape and with the same demands have one reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from gpusched_dsl.explaining.free_room import ClusterRoom, PlaceOptions
from gpusched_dsl.explaining.job_reason import NEVER, ROOM, JobAhead, JobReason, Resource, names_text
from gpusched_dsl.inspecting.load import TOTAL
from gpusched_dsl.inspecting.queue_simulation import counted_by, demands
from gpusched_dsl.inspecting.snapshot import ClusterSnapshot, SnapshotState
from gpusched_dsl.inspecting.starts import QueueOrder
from gpusched_dsl.ir.arrays import Bools, Floats, Ints

MOST_AHEAD = 50  # jobs that a reason lists

# Reasons of Slurm and Kubernetes for jobs that no free GPU would start, in words.
_BLOCKED = {
    "Dependency": "waits for another job",
    "DependencyNeverSatisfied": "waits for a job that did not end well: it never starts",
    "JobHeldUser": "its user holds it",
    "JobHeldAdmin": "an operator holds it",
    "BeginTime": "is to begin later",
    "JobArrayTaskLimit": "enough tasks of its array run",
    "JobHoldMaxRequeue": "was put back too often",
    "Reservation": "waits for its reservation",
}


@dataclass(frozen=True, eq=False)
class InspectedJob:
    """A job that waits or is blocked. Blocked ones, and those that wait for nodes that are down, have no `reason`, only
    `notes`, which are further sentences. Jobs of one `shape` (-1 for blocked ones) have the same reason, besides the
    jobs `ahead`.
    """

    job: str
    reason: JobReason | None
    notes: tuple[str, ...] = ()
    shape: int = -1


def waiting_reasons(snapshot: ClusterSnapshot, order: QueueOrder) -> list[InspectedJob]:
    """The reason of each waiting job, in the order of the queue, then the blocked ones."""
    jobs = _in_order(snapshot.jobs_in(SnapshotState.WAITING), order)
    blocked = snapshot.jobs_in(SnapshotState.BLOCKED)
    found = [InspectedJob(row["job"], None, _blocked_notes(row)) for row in blocked.iter_rows(named=True)]
    if not jobs.height:
        return found
    kind, suited = demands(snapshot, jobs)
    up = snapshot.nodes["up"].to_numpy()
    suits = suited & up
    room, repaired = cluster_room(snapshot, up), cluster_room(snapshot, np.ones_like(up))
    shapes, shape = np.unique(
        np.column_stack([kind, jobs["gpus"].to_numpy(), jobs["nodes"].to_numpy()]), axis=0, return_inverse=True
    )
    reasons = [_reason(snapshot, room, suits[k], g, n) for k, g, n in shapes.tolist()]
    down = [
        reason.kind == NEVER and _reason(snapshot, repaired, suited[k], g, n).kind != NEVER
        for reason, (k, g, n) in zip(reasons, shapes.tolist(), strict=True)
    ]
    related = (suits.astype(np.int64) @ suits.T.astype(np.int64)) > 0
    names, limits = jobs["job"].to_list(), _limit_notes(snapshot, jobs)
    ahead = _ahead(kind, related)
    closed = [snapshot.nodes["node"].is_in(names).to_numpy() for names in snapshot.reservations["nodes"].to_list()]
    waiting = []
    for at, row in enumerate(jobs.iter_rows(named=True)):
        own = int(shape.reshape(-1)[at])
        reason = reasons[own]
        before = tuple(JobAhead(names[other], "waits") for other in ahead[at])
        notes = (*limits[at], *_closed_note(snapshot, closed, suits[kind[at]], row["limit"]))
        if reason.kind == ROOM and not notes and row["reason"]:
            notes = (f"the cluster says: {row['reason']}",)
        if down[own]:
            names_down = snapshot.nodes["node"].filter(pl.Series(suited[kind[at]] & ~up)).to_list()
            text = f"there is room for it only with nodes that are down: {names_text(names_down)}"
            waiting.append(InspectedJob(row["job"], None, (text, *notes), own))
        else:
            waiting.append(InspectedJob(row["job"], replace(reason, ahead=before), notes, own))
    return waiting + found


def _reason(snapshot: ClusterSnapshot, room: ClusterRoom, suits: Bools, gpus: int, nodes: int) -> JobReason:
    """The reason of a job; without a number of nodes it takes one node, unless several have room for it sooner."""
    alone = room.waiting_reason(options_of(snapshot, suits, gpus, max(nodes, 1)))
    if nodes > 0 or gpus == 1 or alone.kind == ROOM:
        return alone
    spread = room.waiting_reason(options_of(snapshot, suits, gpus, 0))
    sooner = spread.room_at is not None and (alone.room_at is None or spread.room_at < alone.room_at)
    return spread if alone.kind == NEVER or spread.kind == ROOM or sooner else alone


def _closed_note(
    snapshot: ClusterSnapshot, closed: Sequence[Bools], suits: Bools, limit: float | None
) -> tuple[str, ...]:
    """A sentence about reservations that begin before the job would end, on nodes that suit it."""
    until = np.inf if limit is None else snapshot.now + limit
    count, names = np.zeros(len(suits), dtype=np.bool_), []
    for row, nodes in zip(snapshot.reservations.iter_rows(named=True), closed, strict=True):
        if row["end"] > snapshot.now and row["start"] < until and (suits & nodes).any():
            count |= suits & nodes
            names.append(row["reservation"])
    if not names:
        return ()
    which = f"{int(count.sum()):,} of the {int(suits.sum()):,} nodes that suit it"
    return (f"reserved before its limit would end: {which}, by {names_text(names)}",)


def _in_order(jobs: pl.DataFrame, order: QueueOrder) -> pl.DataFrame:
    keys = [-pl.col("priority").fill_null(0.0)] if order.by_priority else []
    return jobs.sort(*keys, pl.col("submitted"), maintain_order=True)


def _ahead(kind: Ints, related: Bools) -> list[list[int]]:
    """The first jobs before each in the queue that want some of the same nodes, by the kinds of their demands."""
    lists: list[list[int]] = [[] for _ in range(len(related))]
    found = []
    for at, own in enumerate(kind.tolist()):
        found.append(list(lists[own]))
        for other in np.flatnonzero(related[own]).tolist():
            if len(lists[other]) < MOST_AHEAD:
                lists[other].append(at)
    return found


def cluster_room(snapshot: ClusterSnapshot, up: Bools) -> ClusterRoom:
    """The GPUs of the nodes that are `up` and what running jobs use until the end of their limits."""
    nodes = snapshot.nodes
    running = snapshot.jobs_in(SnapshotState.RUNNING)
    parts = running.select(
        pl.int_range(pl.len()).alias("job"), "on_nodes", "on_gpus", (pl.col("started") + pl.col("limit")).alias("end")
    ).explode("on_nodes", "on_gpus", empty_as_null=True, keep_nulls=True)
    where = nodes.select(pl.int_range(pl.len()).alias("place"), pl.col("node").alias("on_nodes"))
    parts = parts.join(where, on="on_nodes", how="inner", maintain_order="left")
    capacity = np.where(up, nodes["gpus"].to_numpy(), 0).astype(np.float64)
    types = nodes["gpu_type"].to_list()
    end = parts["end"].fill_null(np.inf).to_numpy()
    return ClusterRoom(
        (Resource("GPU"),), nodes["node"].to_list(), types, capacity[:, None], running["job"].to_list(),
        parts["job"].to_numpy().astype(np.int64), parts["place"].to_numpy().astype(np.int64),
        parts["on_gpus"].to_numpy().astype(np.float64)[:, None], np.where(end < snapshot.now, np.nan, end),
        tuple(dict.fromkeys(name for name in types if name)),
    )  # fmt: skip


def options_of(snapshot: ClusterSnapshot, suits: Bools, gpus: int, nodes: int) -> PlaceOptions:
    """The nodes on which a job may run, with the GPUs of each worker; without a number of nodes, workers of one GPU."""
    place = np.flatnonzero(suits)
    workers = nodes if nodes > 0 else gpus
    amount = float(gpus if nodes > 0 else 1)
    largest = int(snapshot.nodes["gpus"].max() or 0)  # type: ignore[arg-type]
    most = 1.0 if nodes > 0 else float(largest)
    count = len(place)
    amounts: Floats = np.full((count, 1), amount)
    return PlaceOptions(
        place.astype(np.int64), amounts, np.zeros(count, dtype=np.int64) if workers > 1 else np.arange(count),
        np.full(count, workers, dtype=np.int64), np.full(count, most if workers > 1 else 1.0),
    )  # fmt: skip


def _limit_notes(snapshot: ClusterSnapshot, jobs: pl.DataFrame) -> list[tuple[str, ...]]:
    """For each job a sentence for each limit that it would exceed now."""
    notes: list[list[str]] = [[] for _ in range(len(jobs))]
    running = snapshot.jobs_in(SnapshotState.RUNNING)
    for limit in snapshot.limits.iter_rows(named=True):
        most, kind = limit["gpus"], f" of type {limit['gpu_type']}" if limit["gpu_type"] else ""
        for name, counted in counted_by(limit, jobs):
            used = int(running.filter(counted.fill_null(False)).select(TOTAL.sum()).item() or 0)
            over = jobs.select(counted & (TOTAL + used > most)).to_series().fill_null(False)
            within = [f" in {_WORDS[each]} {limit[each]}" for each in ("team", "qos", "partition") if limit[each]]
            for at in np.flatnonzero(over.to_numpy()).tolist():
                what = f"{_WORDS[limit['scope']]} {name}{''.join(within)}"
                notes[at].append(f"{what} uses {used} of at most {most} GPUs{kind}")
    return [tuple(found) for found in notes]


def reached_limits(snapshot: ClusterSnapshot) -> list[int]:
    """The numbers of the limits that a waiting job would exceed now."""
    waiting = snapshot.jobs_in(SnapshotState.WAITING)
    limits = snapshot.limits
    return [at for at in range(limits.height) if any(_limit_notes(replace(snapshot, limits=limits[at]), waiting))]


_WORDS = {"user": "user", "team": "team", "qos": "QOS", "partition": "partition"}


def _blocked_notes(row: dict[str, object]) -> tuple[str, ...]:
    after = row["after"]
    if isinstance(after, list) and after:
        return (f"waits for the end of {', '.join(map(str, after[:5]))}",)
    reason = str(row["reason"])
    return (_BLOCKED.get(reason, reason) or "must not start yet",)
