"""From a snapshot to the arrays of the queue, and the starts of its jobs by a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from gpusched_dsl.explaining.joint_room import place_together, placing_order
from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gsdsl_clusters.inspecting.queue_kernel import EASY, SKIP, STRICT, QueueJobs, QueueNodes, QueueRun, run_queue
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot
from gsdsl_clusters.inspecting.together import rows_together

DEPTH = 1000  # jobs that one event tries
MOST_RANGES = 24  # of estimates, each with a queue of its own for each shape
FOREVER = 1e18  # s, the estimate of a job without a limit


class QueueRule(StrEnum):
    """What follows from a job that finds no place."""

    STRICT = "strict"  # nothing overtakes it on nodes that suit it
    SKIP = "skip"  # all others are tried
    EASY = "easy"  # it has a reservation, which others must not delay


_RULES = {QueueRule.STRICT: STRICT, QueueRule.SKIP: SKIP, QueueRule.EASY: EASY}


@dataclass(frozen=True, eq=False)
class QueueData:
    """The nodes and jobs of a snapshot as arrays. `table` has the J jobs, in the order of the arrays.

    `hopeless` are the jobs for which the nodes that suit them are too small or too few; they never start. Each
    component of a het job is a job here; one of those that have not started waits for all of them, and is their head.
    """

    nodes: QueueNodes
    jobs: QueueJobs
    table: pl.DataFrame
    node_names: Sequence[str]
    hopeless: Bools
    run_parts: Ints
    run_node: Ints
    run_gpus: Ints

    @cached_property
    def total(self) -> Ints:
        """The GPUs of each job."""
        gpus, nodes = self.jobs.shape_gpus, self.jobs.shape_nodes
        found: Ints = (gpus * np.maximum(nodes, 1))[self.jobs.shape]
        return found

    @cached_property
    def heads(self) -> Bools:
        """The jobs without the further components of het jobs: one for each whole job."""
        found = np.ones(len(self.table), dtype=np.bool_)
        found[self.jobs.member] = False
        return found

    def sums(self, values: Floats) -> Floats:
        """The sum of values over the components that start together, for each head; other jobs keep their values."""
        found = values.copy()
        np.add.at(found, _head_of(self.jobs), values[self.jobs.member])
        return found

    def with_times(self, length: Floats, estimate: Floats | None = None) -> QueueData:
        """The same jobs with other lengths from their start, and estimates of them (by default the same)."""
        return replace(self, jobs=self.jobs._replace(length=length, estimate=length if estimate is None else estimate))

    def in_order(self, *keys: Floats) -> QueueData:
        """The same jobs in the order of keys, the smallest first, the first key before the others.

        Components that start together have the place of the first of them.
        """
        order = np.lexsort(keys[::-1])
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        np.minimum.at(rank, _head_of(self.jobs), rank[self.jobs.member])
        return replace(self, jobs=self.jobs._replace(rank=rank))


@dataclass(frozen=True, eq=False)
class SimulatedQueue:
    """Starts and ends of the jobs (NaN: never), and where each has run."""

    data: QueueData
    start: Floats
    part_node: Ints
    part_gpus: Ints
    parts: Ints
    events: int

    @property
    def end(self) -> Floats:
        return self.start + self.data.jobs.length

    def nodes_of(self, job: int) -> dict[str, int]:
        """The GPUs of a job by the name of the node."""
        first = self.data.jobs.first_part[job]
        at = slice(first, first + self.parts[job])
        return {self.data.node_names[n]: int(g) for n, g in zip(self.part_node[at], self.part_gpus[at], strict=True)}


def simulate(
    data: QueueData,
    rule: QueueRule = QueueRule.EASY,
    *,
    depth: int = DEPTH,
    waiting: Ints | None = None,
    until: float = np.inf,
) -> SimulatedQueue:
    """Run the queue to its end, up to a time, or until the jobs `waiting` (their numbers) have started."""
    count = len(data.jobs.submitted)
    awaited = np.ones(count, dtype=np.bool_)
    if waiting is not None:
        awaited[:] = False
        awaited[waiting] = True
    jobs = _with_queues(data.jobs)
    run = QueueRun(np.full(count, np.nan), data.run_node.copy(), data.run_gpus.copy(), data.run_parts.copy())
    events = run_queue(QueueNodes(*map(_plain, data.nodes)), jobs, _RULES[rule], depth, until, awaited, run)
    parts = np.where(np.isnan(run.start), 0, run.parts)
    return SimulatedQueue(data, run.start, run.part_node, run.part_gpus, parts, events)


def _head_of(jobs: QueueJobs) -> Ints:
    """The head of each of the `members`."""
    return np.repeat(np.arange(len(jobs.shape)), np.diff(jobs.first_member))


def spans(jobs: QueueJobs) -> Floats:
    """The largest estimate of the components that start together, for each head; other jobs keep theirs."""
    found = jobs.estimate.astype(np.float64)
    np.maximum.at(found, _head_of(jobs), jobs.estimate[jobs.member])
    return found


def _with_queues(jobs: QueueJobs) -> QueueJobs:
    """The same jobs with a queue for each shape and range of estimates."""
    span = spans(jobs)
    known = np.unique(span)
    if len(known) > MOST_RANGES:
        known = known[np.linspace(0, len(known) - 1, MOST_RANGES).astype(np.int64)]
    range_of = np.searchsorted(known, span, side="right") - 1
    found, queue = np.unique(jobs.shape * (len(known) + 1) + range_of, return_inverse=True)
    queue = queue.reshape(-1).astype(np.int64)
    least = np.full(len(found), np.inf)
    np.minimum.at(least, queue, span)
    jobs = jobs._replace(span=span, queue=queue, queue_shape=found // (len(known) + 1), queue_least=least)
    return QueueJobs(*map(_plain, jobs))


def _plain(values: np.ndarray) -> np.ndarray:
    """The same array, writeable and contiguous: the kernel is compiled once for each kind of array."""
    return np.require(values, requirements=["C", "W"])


def ready_at() -> pl.Expr:
    """The time from which a job could start: its submission, or when it became eligible."""
    return pl.max_horizontal("submitted", "eligible")


def present_state(snapshot: ClusterSnapshot) -> QueueData:
    """The jobs that run, wait or are blocked now. Lengths and estimates are the limits.

    Blocked jobs wait for the jobs after which they come, or until they are eligible; those that wait for anything else,
    such as a job without GPUs, never start. Times are in seconds since the snapshot; a running job that has passed its
    limit ends in a second.
    """
    jobs = snapshot.jobs.filter(pl.col("state").is_in(["running", "waiting", "blocked"]))
    now = snapshot.now
    limit = jobs["limit"].fill_null(FOREVER).to_numpy()
    started = (jobs["started"] - now).set(jobs["state"] != "running", None).fill_null(np.nan).to_numpy()
    runs = ~np.isnan(started)
    length = np.where(runs, np.maximum(limit, 1.0 - started), limit)
    pairs = dependencies(jobs)
    wanted = jobs["after"].list.len().to_numpy()
    follows = (wanted > 0) & (np.bincount(pairs[:, 1], minlength=len(jobs)) == wanted)
    stuck = (jobs["state"] == "blocked").to_numpy() & ~follows
    ready = (jobs.select(ready_at()).to_series() - now).fill_null(0.0).to_numpy()
    submitted = np.where(stuck & (ready <= 0.0), np.inf, np.maximum(ready, 0.0))
    data = _arrays(snapshot, jobs, pairs, submitted, started, length)
    return data.in_order(-jobs["priority"].fill_null(0.0).to_numpy(), jobs["submitted"].fill_null(0.0).to_numpy())


def past(snapshot: ClusterSnapshot) -> QueueData:
    """All jobs that have run, or run now, from their submissions on, on an empty cluster.

    Lengths are those that the jobs have had until now, estimates their limits.
    """
    jobs = snapshot.jobs.filter(pl.col("state").is_in(["ended", "running"]) & (pl.col("duration") > 0))
    if snapshot.has_starts:
        jobs = jobs.filter(pl.col("started").is_not_null())
    jobs = jobs.sort("submitted", maintain_order=True)
    submitted = jobs.select(ready_at()).to_series().to_numpy()
    length = jobs["duration"].to_numpy()
    limit = jobs["limit"].fill_null(FOREVER).to_numpy()
    data = _arrays(snapshot, jobs, np.zeros((0, 2), dtype=np.int64), submitted, np.full(len(jobs), np.nan), length)
    return data.with_times(length, np.maximum(limit, length)).in_order(submitted)


def _arrays(
    snapshot: ClusterSnapshot, jobs: pl.DataFrame, pairs: Ints, submitted: Floats, started: Floats,
    length: Floats,
) -> QueueData:  # fmt: skip
    demand, suits = demands(snapshot, jobs)
    nodes, order = _nodes(snapshot, suits)
    names, suits = snapshot.nodes["node"][order].to_list(), suits[:, order]
    gpus, wanted = jobs["gpus"].to_numpy().astype(np.int64), jobs["nodes"].to_numpy().astype(np.int64)
    shapes, shape = np.unique(np.column_stack([demand, gpus, wanted]), axis=0, return_inverse=True)
    waits = np.isnan(started)
    hopeless = _hopeless(demand, suits, nodes.gpus, gpus, wanted) & waits
    not_started = pl.when(pl.Series(waits)).then("het_job").otherwise(pl.lit(""))
    groups = [
        rows[placing_order(suits[demand[rows]], gpus[rows], wanted[rows])]
        for rows in rows_together(jobs.with_columns(het_job=not_started))
    ]
    for rows in groups:
        own = suits[demand[rows]], gpus[rows], wanted[rows]
        hopeless[rows] = hopeless[rows].any() or place_together(nodes.gpus, *own) is None
    submitted = np.where(hopeless, np.inf, submitted).astype(np.float64)
    shape, shape_of, shape_head = _shapes_with_members(shape.reshape(-1).astype(np.int64), groups)
    first_member, member = _members(groups, len(jobs))
    for rows in groups:
        submitted[rows[0]] = submitted[rows].max()
    head = np.arange(len(jobs))
    for rows in groups:
        head[rows] = rows[0]
    pairs = np.unique(np.column_stack([pairs[:, 0], head[pairs[:, 1]]]), axis=0)
    first_part, run_parts, run_node, run_gpus = _parts(jobs, names, gpus, wanted, started)
    owners, amounts, most, first_limit = _limits(snapshot, jobs, gpus * np.maximum(wanted, 1))
    before, first_after, followers = _followers(pairs, len(jobs))
    arrays = QueueJobs(
        submitted, np.arange(len(jobs)), shape, shape, length, length, length, started,
        before, first_after, followers, first_limit, owners, amounts, first_part, first_member, member, shape_head,
        shapes[shape_of, 0], shapes[shape_of, 1], shapes[shape_of, 2], np.arange(len(shape_of)),
        np.zeros(len(shape_of)), most,
    )  # fmt: skip
    return QueueData(nodes, arrays, jobs, names, hopeless, run_parts, run_node, run_gpus)


def _members(groups: Sequence[Ints], count: int) -> tuple[Ints, Ints]:
    """The jobs that start with each: those of its group behind the first one."""
    number = np.zeros(count, dtype=np.int64)
    for rows in groups:
        number[rows[0]] = len(rows) - 1
    by_head = sorted(groups, key=lambda rows: int(rows[0]))
    return np.concatenate([[0], np.cumsum(number)]), np.concatenate(
        [np.zeros(0, dtype=np.int64), *(rows[1:] for rows in by_head)]
    )


def _shapes_with_members(shape: Ints, groups: Sequence[Ints]) -> tuple[Ints, Ints, Ints]:
    """Shapes that tell the first jobs of groups apart by the shapes of all: the shape of each job, the old number of
    each new shape, and one of its heads (-1 without members).
    """
    known: dict[bytes, int] = {}
    kind = np.zeros(len(shape), dtype=np.int64)
    for rows in groups:
        kind[rows[0]] = known.setdefault(shape[rows].tobytes(), len(known) + 1)
    pairs, first, number = np.unique(np.column_stack([shape, kind]), axis=0, return_index=True, return_inverse=True)
    return number.reshape(-1).astype(np.int64), pairs[:, 0].copy(), np.where(pairs[:, 1] > 0, first, -1)


def demands(snapshot: ClusterSnapshot, jobs: pl.DataFrame) -> tuple[Ints, Bools]:
    """The kinds of demands of jobs on nodes: the number of each job's kind, and which of the nodes suit a kind (D, N).

    A node suits if it is in one of the partitions of the job, has one of its types and all of its features, and is
    allowed and not excluded by name. Where the source does not know types or features (nodes are inferred, or no node
    has any), a node without them suits each demand.
    """
    columns = ("gpu_types", "features", "allowed_nodes", "excluded_nodes", "partitions")
    keys = jobs.select(pl.concat_str([pl.col(c).list.join("\x1f") for c in columns], separator="\x1e")).to_series()
    kinds = keys.unique(maintain_order=True)
    number = keys.replace_strict(kinds, pl.int_range(len(kinds), eager=True), return_dtype=pl.Int64)
    nodes = snapshot.nodes
    types = nodes["gpu_type"]
    any_type = (types == "") & (bool(snapshot.inferred) or bool((types == "").all()))
    featureless = nodes["features"].list.len() == 0
    any_feature = featureless & (bool(snapshot.inferred) or bool(featureless.all()))
    suits = np.ones((len(kinds), len(nodes)), dtype=np.bool_)
    for row, key in enumerate(kinds.to_list()):
        wanted, features, allowed, excluded, partitions = (
            [word for word in part.split("\x1f") if word] for part in key.split("\x1e")
        )
        found = pl.Series(np.ones(len(nodes), dtype=np.bool_))
        if wanted:
            found &= types.is_in(wanted) | any_type
        if partitions:
            found &= (nodes["partitions"].list.len() == 0) | nodes.select(
                pl.col("partitions").list.set_intersection(partitions).list.len() > 0
            ).to_series()
        for feature in features:
            found &= nodes["features"].list.contains(feature) | any_feature
        if allowed:
            found &= nodes["node"].is_in(allowed)
        if excluded:
            found &= ~nodes["node"].is_in(excluded)
        suits[row] = found.to_numpy()
    return number.to_numpy().astype(np.int64), suits


def _nodes(snapshot: ClusterSnapshot, suits: Bools) -> tuple[QueueNodes, Ints]:
    """The nodes by class, and their order: nodes that suit the same demands and are closed together are one class."""
    table = snapshot.nodes
    reserved = snapshot.reservations.filter(pl.col("end") > snapshot.now)
    closed = np.zeros((reserved.height, table.height), dtype=np.bool_)
    for row, members in enumerate(reserved["nodes"].to_list()):
        closed[row] = table["node"].is_in(members).to_numpy()
    every = np.ones((1, table.height), dtype=np.bool_)  # also without jobs there is a class
    kinds, kind = np.unique(np.vstack([suits, closed, every]), axis=1, return_inverse=True)
    order = np.argsort(kind.reshape(-1), kind="stable")
    node_class = kind.reshape(-1)[order].astype(np.int64)
    first_node = np.searchsorted(node_class, np.arange(kinds.shape[1] + 1)).astype(np.int64)
    windows = [np.flatnonzero(column[len(suits) : -1]) for column in kinds.T]
    first = np.concatenate([[0], np.cumsum([len(found) for found in windows])]).astype(np.int64)
    at = np.concatenate([np.zeros(0, dtype=np.int64), *windows])
    starts, ends = ((reserved[name] - snapshot.now).to_numpy()[at] for name in ("start", "end"))
    gpus = np.where(table["up"].to_numpy(), table["gpus"].to_numpy(), 0).astype(np.int64)[order]
    fits = np.ascontiguousarray(kinds[: len(suits)])
    return QueueNodes(node_class, first_node, gpus, fits, first, starts, ends), order


def _hopeless(demand: Ints, suits: Bools, node_gpus: Ints, gpus: Ints, wanted: Ints) -> Bools:
    """The jobs that would not fit on an empty cluster."""
    if not len(gpus):
        return np.zeros(0, dtype=np.bool_)
    sizes, size = np.unique(gpus, return_inverse=True)
    enough = np.stack([(suits & (node_gpus >= each)).sum(axis=1) for each in sizes])
    number, total = enough[size.reshape(-1), demand], (suits * node_gpus).sum(axis=1)
    found: Bools = (number < np.maximum(wanted, 1)) & ((wanted > 0) | (total[demand] < gpus))
    return found


def _parts(
    jobs: pl.DataFrame, names: Sequence[str], gpus: Ints, wanted: Ints, started: Floats
) -> tuple[Ints, Ints, Ints, Ints]:
    """Room for the nodes of each job, with those of running jobs filled."""
    here = jobs.select(pl.int_range(pl.len()).alias("job"), "on_nodes", "on_gpus").filter(pl.Series(~np.isnan(started)))
    here = here.explode("on_nodes", "on_gpus", empty_as_null=True, keep_nulls=True).filter(
        pl.col("on_nodes").is_in(names)
    )
    owner = here["job"].to_numpy()
    parts = np.bincount(owner, minlength=len(jobs)).astype(np.int64)
    room = np.maximum(parts, np.where(wanted > 0, wanted, np.minimum(gpus, max(len(names), 1))))
    first = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
    node, used = np.zeros(first[-1], dtype=np.int64), np.zeros(first[-1], dtype=np.int64)
    offset = np.arange(len(owner)) - (np.cumsum(parts) - parts)[owner]
    number = here["on_nodes"].replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    node[first[owner] + offset] = number.to_numpy()
    used[first[owner] + offset] = here["on_gpus"].to_numpy()
    return first, parts, node, used


def _limits(snapshot: ClusterSnapshot, jobs: pl.DataFrame, total: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """The limits that count each job, with their amounts: GPUs of users, teams, QOS and partitions, tasks of arrays."""
    found: list[tuple[Ints, Ints, int]] = []  # jobs, amounts, most
    for limit in snapshot.limits.iter_rows(named=True):
        for _, counted in counted_by(limit, jobs):
            at = np.flatnonzero(jobs.select(counted.fill_null(False)).to_series().to_numpy())
            found.append((at, total[at], limit["gpus"]))
    limited = jobs.select(pl.int_range(pl.len()).alias("at"), "array", "array_limit").drop_nulls("array_limit")
    for (_,), rows in limited.group_by("array", maintain_order=True):
        at = np.flatnonzero((jobs["array"] == rows["array"][0]).to_numpy())
        found.append((at, np.ones(len(at), dtype=np.int64), int(rows["array_limit"].min())))  # type: ignore[arg-type]
    owner_of = np.concatenate([at for at, _, _ in found]) if found else np.zeros(0, dtype=np.int64)
    amounts = np.concatenate([amount for _, amount, _ in found]) if found else np.zeros(0, dtype=np.int64)
    number = np.repeat(np.arange(len(found)), [len(at) for at, _, _ in found]).astype(np.int64)
    order = np.argsort(owner_of, kind="stable")
    first = np.searchsorted(owner_of[order], np.arange(len(jobs) + 1)).astype(np.int64)
    most = np.array([limit for _, _, limit in found], dtype=np.int64)
    return number[order], amounts[order].astype(np.int64), most, first


def counted_by(limit: Mapping[str, Any], jobs: pl.DataFrame) -> Iterator[tuple[str, pl.Expr]]:
    """The owners of a limit among jobs, with which jobs count: one owner, or each user or team."""
    counts = [pl.col(name) == limit[name] for name in ("team", "qos") if limit[name]]
    if limit["partition"]:
        counts.append(pl.col("partitions").list.contains(limit["partition"]))
    if limit["gpu_type"]:  # of a job for any type the type is not known before
        counts.append(pl.col("gpu_types").list.eval(pl.element() != limit["gpu_type"]).list.any().not_())
        counts.append(pl.col("gpu_types").list.len() > 0)
    scope, owner = limit["scope"], limit["owner"]
    each = scope in ("user", "team") and not owner
    for name in jobs[scope].unique().sort().to_list() if each else [owner]:
        own = pl.col("partitions").list.contains(name) if scope == "partition" else pl.col(scope) == name
        yield name, pl.all_horizontal(own, *counts)


def dependencies(jobs: pl.DataFrame) -> Ints:
    """Pairs of numbers of jobs (P, 2) in the table: the second waits for the end of the first."""
    rows = jobs.select(pl.int_range(pl.len()).alias("at"), "job", "after")
    wanted = rows.select("at", "after").explode("after", empty_as_null=True, keep_nulls=True).drop_nulls("after")
    found = wanted.join(rows.select(pl.col("at").alias("first"), "job"), left_on="after", right_on="job")
    pairs: Ints = found.sort("at", "first").select("first", "at").to_numpy().astype(np.int64)
    return pairs


def _followers(pairs: Ints, count: int) -> tuple[Ints, Ints, Ints]:
    """How many jobs each waits for, and the jobs that wait for each."""
    before = np.bincount(pairs[:, 1], minlength=count).astype(np.int64)
    order = np.argsort(pairs[:, 0], kind="stable")
    first = np.searchsorted(pairs[order, 0], np.arange(count + 1)).astype(np.int64)
    return before, first, pairs[order, 1].copy()
