"""Why each job waits, in words of GPUs, nodes and jobs; jobs of one shape and with the same demands have one reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from gpusched_dsl.explaining.free_room import ClusterRoom
from gpusched_dsl.explaining.gpu_demands import DemandReasons, GpuDemand, gpu_room
from gpusched_dsl.explaining.job_reason import NEVER, ROOM, JobAhead, JobReason, names_text
from gpusched_dsl.inspecting.load import TOTAL, running_parts
from gpusched_dsl.inspecting.queue_simulation import counted_by, demands
from gpusched_dsl.inspecting.snapshot import ClusterSnapshot, SnapshotState
from gpusched_dsl.inspecting.starts import QueueOrder
from gpusched_dsl.ir.arrays import Bools, Ints

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
    now = DemandReasons(_room(snapshot, up), suits)
    repaired = DemandReasons(_room(snapshot, np.ones_like(up)), suited)
    wanted = zip(kind.tolist(), jobs["gpus"].to_list(), jobs["nodes"].to_list(), strict=True)
    shapes: dict[GpuDemand, int] = {}
    shape = [shapes.setdefault(GpuDemand(*demand), len(shapes)) for demand in wanted]
    reasons = [now.of(demand) for demand in shapes]
    down = [
        reason.kind == NEVER and repaired.of(demand).kind != NEVER
        for demand, reason in zip(shapes, reasons, strict=True)
    ]
    related = (suits.astype(np.int64) @ suits.T.astype(np.int64)) > 0
    names, limits = jobs["job"].to_list(), _limit_notes(snapshot, jobs)
    ahead = _ahead(kind, related)
    closed = [snapshot.nodes["node"].is_in(names).to_numpy() for names in snapshot.reservations["nodes"].to_list()]
    waiting = []
    for at, row in enumerate(jobs.iter_rows(named=True)):
        own = shape[at]
        reason = reasons[own]
        before = tuple(JobAhead(names[other], "waits") for other in ahead[at])
        notes = (
            *_no_node_note(snapshot, suited[kind[at]], row),
            *limits[at],
            *_closed_note(snapshot, closed, suits[kind[at]], row["limit"]),
        )
        if reason.kind == ROOM and not notes and row["reason"]:
            notes = (f"the cluster says: {row['reason']}",)
        if down[own]:
            names_down = snapshot.nodes["node"].filter(pl.Series(suited[kind[at]] & ~up)).to_list()
            text = f"there is room for it only with nodes that are down: {names_text(names_down)}"
            waiting.append(InspectedJob(row["job"], None, (text, *notes), own))
        else:
            waiting.append(InspectedJob(row["job"], replace(reason, ahead=before), notes, own))
    return waiting + found


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


def _no_node_note(snapshot: ClusterSnapshot, suits: Bools, row: Mapping[str, Any]) -> tuple[str, ...]:
    """The type or partition of a job that no node suits, if no node has it."""
    if suits.any():
        return ()
    types, partitions = row["gpu_types"] or [], row["partitions"] or []
    of_nodes = snapshot.nodes["partitions"].explode(empty_as_null=False, keep_nulls=False)
    if types and not snapshot.nodes["gpu_type"].is_in(types).any():
        return (f"no node has GPUs of type {' or '.join(types)}",)
    if partitions and not of_nodes.is_in(partitions).any():
        return (f"no node with GPUs is in partition {' or '.join(partitions)}",)
    return ()


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


def _room(snapshot: ClusterSnapshot, up: Bools) -> ClusterRoom:
    """The GPUs of the nodes that are `up` and what running jobs use until the end of their limits."""
    nodes, running = snapshot.nodes, snapshot.jobs_in(SnapshotState.RUNNING)
    job, place, gpus = running_parts(snapshot)
    end = running.select(pl.col("started") + pl.col("limit")).to_series().fill_null(np.inf).to_numpy()
    capacity = np.where(up, nodes["gpus"].to_numpy(), 0).astype(np.float64)
    return gpu_room(
        nodes["node"].to_list(), nodes["gpu_type"].to_list(), capacity, running["job"].to_list(), job, place, gpus,
        np.where(end < snapshot.now, np.nan, end)[job],
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
