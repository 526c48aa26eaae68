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
from gpusched_dsl.ir.arrays import Bools
from gsdsl_clusters.inspecting.load import TOTAL, running_parts
from gsdsl_clusters.inspecting.queue_simulation import counted_by, demands
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot, SnapshotState
from gsdsl_clusters.inspecting.starts import QueueOrder
from gsdsl_clusters.inspecting.together import WHOLE_JOB, whole_jobs

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
    blocked = whole_jobs(snapshot.jobs_in(SnapshotState.BLOCKED))
    members = snapshot.jobs.filter(pl.col("het_job") != "")
    whole = dict(members.select("job", "het_job").iter_rows())
    found = [InspectedJob(row["job"], None, _blocked_notes(row, whole)) for row in blocked.iter_rows(named=True)]
    if not jobs.height:
        return found
    kind, suited = demands(snapshot, jobs)
    up = snapshot.nodes["up"].to_numpy()
    suits = suited & up
    now = DemandReasons(_room(snapshot, up), suits)
    repaired = DemandReasons(_room(snapshot, np.ones_like(up)), suited)
    wanted = list(map(GpuDemand, kind.tolist(), jobs["gpus"].to_list(), jobs["nodes"].to_list()))
    grouped = jobs.select(pl.int_range(pl.len()).alias("at"), WHOLE_JOB.alias("whole"))
    grouped = grouped.group_by("whole", maintain_order=True).agg("at")
    names, rows_of = grouped["whole"].to_list(), grouped["at"].to_list()
    shapes: dict[tuple[GpuDemand, ...], int] = {}
    shape = [shapes.setdefault(tuple(wanted[at] for at in rows), len(shapes)) for rows in rows_of]
    reasons = [now.of_parts(parts) for parts in shapes]
    down = [
        reason.kind == NEVER and repaired.of_parts(parts).kind != NEVER
        for parts, reason in zip(shapes, reasons, strict=True)
    ]
    related = (suits.astype(np.int64) @ suits.T.astype(np.int64)) > 0
    kinds = [list(dict.fromkeys(kind[rows].tolist())) for rows in rows_of]
    rows, limits, ahead = list(jobs.iter_rows(named=True)), _limit_notes(snapshot, jobs), _ahead(kinds, related)
    closed = [snapshot.nodes["node"].is_in(names).to_numpy() for names in snapshot.reservations["nodes"].to_list()]
    waiting = []
    for at, name in enumerate(names):
        own, parts = shape[at], [rows[part] for part in rows_of[at]]
        reason = reasons[own]
        before = tuple(JobAhead(names[other], "waits") for other in ahead[at])
        longest = [part["limit"] for part in parts]
        notes = tuple(dict.fromkeys((
            *(note for part, row in zip(rows_of[at], parts, strict=True)
              for note in _no_node_note(snapshot, suited[kind[part]], row)),
            *(note for part in rows_of[at] for note in limits[part]),
            *_closed_note(snapshot, closed, suits[kinds[at]].any(axis=0), None if None in longest else max(longest)),
        )))  # fmt: skip
        said = next((row["reason"] for row in parts if row["reason"]), "")
        if reason.kind == ROOM and not notes and said:
            notes = (f"the cluster says: {said}",)
        if down[own]:
            names_down = snapshot.nodes["node"].filter(pl.Series(suited[kinds[at]].any(axis=0) & ~up)).to_list()
            text = f"there is room for it only with nodes that are down: {names_text(names_down)}"
            waiting.append(InspectedJob(name, None, (text, *notes), own))
        else:
            waiting.append(InspectedJob(name, replace(reason, ahead=before), notes, own))
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


def _ahead(kinds: Sequence[Sequence[int]], related: Bools) -> list[list[int]]:
    """The first jobs before each in the queue that want some of the same nodes, by the kinds of their demands."""
    lists: list[list[int]] = [[] for _ in range(len(related))]
    found = []
    for at, own in enumerate(kinds):
        found.append(sorted({job for kind in own for job in lists[kind]})[:MOST_AHEAD])
        for other in np.flatnonzero(related[list(own)].any(axis=0)).tolist():
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
            counts = counted.fill_null(False)
            total = pl.when(counts).then(TOTAL).otherwise(0).sum().over(WHOLE_JOB)
            over = jobs.select(counts & (total + used > most)).to_series()
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


def _blocked_notes(row: Mapping[str, Any], whole: Mapping[str, str]) -> tuple[str, ...]:
    """Why a job must not start yet; `whole` has the het job of each component."""
    if after := list(dict.fromkeys(whole.get(name, name.partition("+")[0]) for name in row["after"])):
        return (f"waits for the end of {', '.join(after[:5])}",)
    reason = str(row["reason"])
    return (_BLOCKED.get(reason, reason) or "must not start yet",)
