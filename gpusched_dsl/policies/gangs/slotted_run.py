"""Runs a policy on gangs in slots: each takes all slots of a block on its nodes, and all of its workers, or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import PlanValues, VariableValues
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.tolerances import CHOSEN, FEASIBILITY, ROUNDING
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.policies.gangs.blocks import BlockFinder, GangBlock
from gpusched_dsl.policies.gangs.slotted_reader import SlottedGangs, read_slotted_gangs
from gpusched_dsl.policies.kernels.compiled import ready_seconds
from gpusched_dsl.policies.kernels.gang_blocks import seat_block
from gpusched_dsl.policies.kernels.row_guard import (
    GuardArrays,
    RowGuard,
    arrays_of,
    begin_turn,
    commit,
    mark,
    note_refusal,
    restart,
    undo,
)
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.policies.rows.asking import RowsAsked
from gpusched_dsl.policies.rows.guard import Running
from gpusched_dsl.policies.search import never
from gpusched_dsl.policies.slotted.planning import Placing
from gpusched_dsl.policies.workload import NONE, Instructions

Stop = Callable[[], bool]


def run_slotted_gangs(
    policy: CheckedPolicy,
    store: ValueStore,
    limits: MemoryLimits,
    running: PlanValues | None = None,
    stop: Stop | None = None,
) -> Plan:
    """Return the plan of a policy with `occupies` for gangs, which obeys the rows of the model.

    Of `running`, the gangs in the first slot stay on their nodes until they end if the policy has `keep running`.
    Raises DiagnosticError as `read_slotted_gangs` and `ground` do.
    """
    ready = ready_seconds()
    gangs = read_slotted_gangs(policy, store, limits)
    kept = running if any(rule.name == "running" for rule in policy.keep) else None
    start = _kept(gangs, (kept or {}).get(gangs.cluster.placement.variable))
    stopped = [False]

    def plan(guard: RowGuard | None, lines: Instructions, _: bool) -> GangBlocks:
        found = _Run(gangs, Placing.of(policy.place), start, guard, stop or never).plan(lines.order)
        stopped[0] |= found.stopped
        return found

    asked = RowsAsked(policy.model, gangs.cluster, store, limits, gangs.most_of_jobs, start.running())
    outcome = asked.first_that_obeys(plan, GangBlocks.running, gangs.lines)
    statistics = {
        "compile_seconds": ready_seconds() - ready,
        "jobs_not_started": float(len(set(gangs.lines.order.tolist()) - outcome.jobs)),
        "jobs_beyond_the_last_slot": float(outcome.beyond),
        **asked.statistics(),
    }
    values = asked.values_of(outcome.running())
    return Plan(values, statistics=statistics, stopped=stopped[0], obeys_rows=asked.checked)


@dataclass(eq=False)
class GangBlocks:
    """The gangs that are placed, by the rows of their workers; `beyond` of them end behind the last slot."""

    jobs: set[int] = field(default_factory=set)
    rows: list[Running] = field(default_factory=list)
    beyond: int = 0
    stopped: bool = False

    def running(self) -> Running:
        """Return the jobs that run, with a row for each of their nodes and slots."""
        if not self.rows:
            nothing = np.zeros(0, dtype=np.int64)
            return Running(nothing, nothing, nothing, np.zeros(0))
        return Running(*(np.concatenate(columns) for columns in zip(*self.rows, strict=True)))


class _Room:
    """What is free on nodes in slots."""

    def __init__(self, gangs: SlottedGangs) -> None:
        self.gangs, self.free = gangs, gangs.capacity.copy()

    def rows_of(self, job: int, block: GangBlock) -> Running:
        """Return the rows of a block: for each node and slot, or each node where a way is a start."""
        way = self.gangs.gang(job).way[block.nodes, block.start : block.start + self._columns(block)]
        used = np.broadcast_to(block.counts[:, None] > 0, way.shape)
        node = np.broadcast_to(block.nodes[:, None], way.shape)[used]
        workers = np.broadcast_to(block.counts[:, None], way.shape)[used]
        return Running(np.full(len(node), job), node, way[used], workers.astype(np.float64))

    def hold(self, job: int, block: GangBlock) -> None:
        slots = slice(block.start, block.start + block.slots)
        self.free[:, block.nodes, slots] -= self._needs(job, block)

    def fits(self, job: int, block: GangBlock) -> bool:
        """Whether a block has its ways, and room."""
        slots = slice(block.start, block.start + block.slots)
        if (self.gangs.gang(job).way[block.nodes, block.start : block.start + self._columns(block)] == NONE).any():
            return False
        left = self.free[:, block.nodes, slots] - self._needs(job, block)
        return bool((left >= -FEASIBILITY).all())

    def _needs(self, job: int, block: GangBlock) -> Floats:
        needs = self.gangs.gang(job).needs
        if self.gangs.starts:
            needs = np.broadcast_to(needs.max(axis=2, keepdims=True), needs.shape)
        return needs[:, block.nodes, block.start : block.start + block.slots] * block.counts[:, None]

    def _columns(self, block: GangBlock) -> int:
        """The number of slots with columns, from the first one on: behind the last slot there are none."""
        return 1 if self.gangs.starts else block.slots


class _Run:
    """One pass over a queue."""

    def __init__(
        self, gangs: SlottedGangs, placing: Placing, start: GangBlocks, guard: RowGuard | None, stop: Stop
    ) -> None:
        self.gangs, self.placing, self.guard, self.stop = gangs, placing, guard, stop
        self.room = _Room(gangs)
        self.found = GangBlocks(set(start.jobs), list(start.rows))
        for rows in start.rows:
            self._hold_rows(rows)
        self.arrays: GuardArrays | None = None
        if guard is not None:
            self.arrays = arrays_of(guard)
            self.arrays.refused[:] = NONE
            restart(guard)

    def _hold_rows(self, rows: Running) -> None:
        """Give a gang that runs its nodes."""
        job = int(rows.job[0])
        self.room.hold(job, _block_of_rows(self.gangs, job, rows))

    def plan(self, queue: Ints) -> GangBlocks:
        jobs = [j for j in queue.tolist() if j not in self.found.jobs and self.gangs.number[j] != NONE]
        if self.placing.rule == "cheapest_block":
            for job in jobs:
                if self._is_stopped():
                    break
                self._place(job, None)
            return self.found
        for slot in range(self.gangs.slots):
            if self._is_stopped():
                break
            for job in [j for j in jobs if j not in self.found.jobs]:
                gang = self.gangs.gang(job)
                may_start = gang.listed[:, slot] & (gang.slots > 0)
                if may_start.any() and not self._place(job, slot) and self.placing.blocking:
                    break
        return self.found

    def _is_stopped(self) -> bool:
        self.found.stopped = self.found.stopped or self.stop()
        return self.found.stopped

    def _place(self, job: int, start: int | None) -> bool:
        """Place a job in its first block that no row refuses; whether there is one."""
        gangs = self.gangs
        finder = BlockFinder(gangs.gang(job), gangs.work.rack, self.room.free, gangs.starts, start)
        if self.guard is not None:
            begin_turn(self.guard, job)
        for block in finder.blocks():
            placed = self._admitted(job, block)
            if placed is not None:
                self.room.hold(job, placed)
                self.found.jobs.add(job)
                self.found.rows.append(self.room.rows_of(job, placed))
                self.found.beyond += placed.start + placed.slots > self.gangs.slots
                return True
        if self.guard is not None:
            note_refusal(self.guard, job)
        return False

    def _admitted(self, job: int, block: GangBlock) -> GangBlock | None:
        """Return a block with its workers as rows admit them, None if they refuse it."""
        guard, arrays = self.guard, self.arrays
        if guard is None or arrays is None:
            return block
        at = mark(guard)
        columns = 1 if self.gangs.starts else block.slots
        way = self.gangs.gang(job).way[block.nodes, block.start : block.start + columns]
        counts = np.zeros(len(block.nodes), dtype=np.int64)
        workers = self.gangs.gang(job).workers
        own = self._columns(job)
        column = self._column_of(way, block.nodes[:, None])
        if not seat_block(guard, column, block.most, workers, own, counts):
            return None
        if slots_of(self.gangs, job, block.nodes[counts > 0]) != block.slots:  # rows left it on fewer nodes
            undo(guard, at)
            return None
        commit(guard)
        return block._replace(counts=counts)

    def _column_of(self, way: Ints, node: Ints) -> Ints:
        """Return the columns of ways on nodes, NONE where the model has none."""
        assert self.arrays is not None
        found = self.arrays.column[self.arrays.first[np.maximum(way, 0)] + self.arrays.place[node]]
        return np.where(way == NONE, NONE, found)

    def _columns(self, job: int) -> Ints:
        """Return all columns of a job."""
        work = self.gangs.work
        ways = np.arange(work.first_way[job], work.first_way[job + 1])
        return self._column_of(ways, work.kind[ways])


def slots_of(gangs: SlottedGangs, job: int, nodes: Ints) -> int:
    """Return the slots of a gang on some nodes, also those behind the last one."""
    gang, racks = gangs.gang(job), gangs.work.rack[nodes]
    factor = 1.0
    if len(nodes) > 1:
        factor = gang.across_nodes if (racks == racks[0]).all() else gang.across_racks
    return max(1, int(np.ceil(gang.slots[nodes].max() * factor - ROUNDING)))


def _block_of_rows(gangs: SlottedGangs, job: int, rows: Running) -> GangBlock:
    """Return the block of a gang that is placed in the first slot."""
    first = gangs.slot[rows.way] == 0
    nodes, counts = rows.node[first], np.rint(rows.value[first]).astype(np.int64)
    return GangBlock(0, min(slots_of(gangs, job, nodes), gangs.slots), nodes, counts, counts)


def _kept(gangs: SlottedGangs, given: VariableValues | None) -> GangBlocks:
    """Return the gangs that a plan has in the first slot, with all their workers, from there to their end.

    A gang whose job is not in the queue, or whose nodes have no way or no room for it any more, is not kept.
    """
    found, room = GangBlocks(), _Room(gangs)
    if given is None:
        return found
    chosen = given.values > CHOSEN
    codes, workers = [c[chosen] for c in given.codes], np.rint(given.values[chosen])
    job, node, way = gangs.cluster.places_of(codes)
    here = np.flatnonzero(way >= 0)
    here = here[gangs.slot[way[here]] == 0]
    for j in np.unique(job[here]).tolist():
        own = here[job[here] == j]
        if gangs.number[j] == NONE or workers[own].sum() != gangs.gang(j).workers:
            continue
        if (gangs.gang(j).slots[node[own]] <= 0).any():
            continue
        block = _block_of_rows(gangs, j, Running(job[own], node[own], way[own], workers[own]))
        if room.fits(j, block):
            room.hold(j, block)
            found.jobs.add(j)
            found.rows.append(room.rows_of(j, block))
    return found
