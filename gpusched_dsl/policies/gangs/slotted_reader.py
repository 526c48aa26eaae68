"""Reads gangs in slots: the workers of a job on a node in a slot are a way of the reader of placements.

The lines of the policy (where and when a job may run, the key, the slots of a job) are read as for jobs in slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.gangs.reader import gang_cluster
from gpusched_dsl.policies.gangs.workload import GangWorkload
from gpusched_dsl.policies.node_kinds import position_of
from gpusched_dsl.policies.placement_reader import cluster_of, keys_of_ways
from gpusched_dsl.policies.slotted.instance_reader import SlottedInstance, read_instance
from gpusched_dsl.policies.slotted.meaning import slot_is_start
from gpusched_dsl.policies.workload import NONE, Instructions


class SlottedGang(NamedTuple):
    """One job on N nodes in H slots; `key`, `most` and `needs` are of one worker, 0 where there is no way."""

    way: Ints  # (N, H) NONE: none
    listed: Bools  # (N, H) by `choose`
    key: Floats  # (N, H)
    slots: Floats  # (N,) slots on this node alone, 0: may not run there
    most: Ints  # (N, H) most workers by the bounds of the variable
    needs: Floats  # (R, N, H)
    workers: int
    across_nodes: float
    across_racks: float


@dataclass(frozen=True, eq=False)
class SlottedGangs:
    """A decision on gangs in slots. `starts`: a way is a start, else an occupied slot.

    `capacity` (R, N, H): that of the first `uses`, then of the others. `number` (J,): the place of a job of the cluster
    among those that `order` lists, NONE for others. `slot` (W,): the place of the slot of each way.
    """

    cluster: Cluster
    work: GangWorkload
    lines: Instructions
    instance: SlottedInstance
    starts: bool
    capacity: Floats
    needs: Floats  # (R, W)
    number: Ints
    slot: Ints

    @property
    def nodes(self) -> int:
        return int(self.capacity.shape[1])

    @property
    def slots(self) -> int:
        return int(self.capacity.shape[2])

    @cached_property
    def _gangs(self) -> dict[int, SlottedGang]:
        return {}

    def gang(self, job: int) -> SlottedGang:
        """Return a job of the queue."""
        if job not in self._gangs:
            self._gangs[job] = self._read(job)
        return self._gangs[job]

    def _read(self, job: int) -> SlottedGang:
        work, lines, shape = self.work, self.instance.cluster, (self.nodes, self.slots)
        ways = np.arange(work.first_way[job], work.first_way[job + 1])
        node, slot = work.kind[ways], self.slot[ways]
        way, most = np.full(shape, NONE), np.zeros(shape, dtype=np.int64)
        way[node, slot], most[node, slot] = ways, work.most[ways]
        needs = np.zeros((len(self.needs), *shape))
        needs[:, node, slot] = self.needs[:, ways]
        at = int(self.number[job])
        key = np.broadcast_to(lines.key[at][lines.class_of], shape)
        return SlottedGang(
            way=way,
            listed=lines.allowed[at][lines.class_of],
            key=np.where(np.isfinite(key), key, 0.0),
            slots=self.instance.occupied[at][lines.class_of],
            most=most,
            needs=needs,
            workers=int(work.workers[ways].max(initial=1)),
            across_nodes=float(work.across_nodes[ways].max(initial=1.0)),
            across_racks=float(work.across_racks[ways].max(initial=1.0)),
        )

    @cached_property
    def most_of_jobs(self) -> Ints:
        """Return the most that the values of the columns of each job add up to."""
        most = self.work.most_of_jobs()
        if self.starts:
            return most
        jobs, slots = np.flatnonzero(self.number != NONE), np.ones(len(most))
        factor = np.ones(len(most))
        np.maximum.at(factor, self.work.job, np.maximum(self.work.across_nodes, self.work.across_racks))
        slots[jobs] = self.instance.occupied[self.number[jobs]].max(axis=1, initial=0.0)
        return most * np.clip(np.ceil(slots * factor), 1, self.slots).astype(np.int64)


def read_slotted_gangs(policy: CheckedPolicy, store: ValueStore, limits: MemoryLimits) -> SlottedGangs:
    """Return the gangs of a policy with `slots`.

    Raises DiagnosticError as `read_instance`, `cluster_of` and `gang_cluster` do, and GSM3020 for a job whose number of
    workers is not the same on all nodes and in all slots.
    """
    starts = slot_is_start(policy)
    instance = read_instance(policy, store, limits)
    keys = keys_of_ways(policy)
    # Every node is a kind of its own: what is free on it differs from slot to slot.
    cluster = cluster_of(policy.model, store, limits, nodes_differ=True, keys=keys, priced=False, tables=False)
    number = _places(instance.jobs, cluster.jobs)
    lines = _queue(
        _places(cluster.jobs, instance.jobs[instance.cluster.order]), len(cluster.jobs), len(cluster.ways[0])
    )
    work = gang_cluster(policy, cluster, lines, store, limits).work
    _refuse_changing_workers(policy, work)
    slot = _places(instance.slots, cluster.ways[position_of(cluster.placement, "slot")])
    capacity, needs = _capacities(policy, cluster, work, slot, len(instance.slots), store, limits)
    return SlottedGangs(cluster, work, lines, instance, starts, capacity, needs, number, slot)


def _queue(order: Ints, jobs: int, ways: int) -> Instructions:
    """Return the lines of a queue that knows all ways of its jobs: `choose` is read by slots."""
    none, zeros = np.zeros(0, dtype=np.int64), np.zeros(ways, dtype=np.int64)
    return Instructions(
        order=order[order != NONE],
        choose_rank=zeros,
        otherwise_rank=zeros,
        ranked=np.arange(ways),
        preferred=np.zeros(jobs, dtype=np.int64),
        place=none,
        finish=none,
        swap_chance=np.zeros(jobs),
        way_list=np.ones(jobs, dtype=np.int64),
        way_odds=np.ones(ways),
        node_list=1,
        node_odds=0,
    )


def _refuse_changing_workers(policy: CheckedPolicy, work: GangWorkload) -> None:
    if (work.workers == work.most_of_jobs()[work.job]).all():
        return
    placement = policy.model.placement
    item = None if placement is None else placement.item("workers")
    assert item is not None
    message = "`workers` of a job must be the same on all nodes and in all slots"
    help = "policies place gangs of one size; a solver can plan with several"
    raise DiagnosticError([Diagnostic("GSM3020", message, item.value.span, "differs", help=help)])


def _places(known: Ints, codes: Ints) -> Ints:
    """Return the place of each code among distinct ones in any order, NONE for others."""
    if not len(known):
        return np.full(len(codes), NONE)
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known[order], codes), len(known) - 1)
    return np.where(known[order][at] == codes, order[at], NONE)


def _capacities(
    policy: CheckedPolicy,
    cluster: Cluster,
    work: GangWorkload,
    slot: Ints,
    slots: int,
    store: ValueStore,
    limits: MemoryLimits,
) -> tuple[Floats, Floats]:
    """Return the capacities of nodes in slots, and what one worker of each way needs of them.

    Without `uses` a worker takes a whole node.
    """
    reader = PlacementEvaluator(policy.model, store, limits)
    uses, frame = reader.placement.all("uses"), reader.frame(cluster.ways)
    count = max(len(uses), 1)
    capacity = np.full((count, len(cluster.nodes), slots), np.inf if uses else 1.0)
    needs = np.ones((count, len(slot)))
    for at, item in enumerate(uses):
        needs[at] = reader.ev.number_column(item.value, frame)
        np.minimum.at(capacity[at], (work.kind, slot), reader.capacity(item, frame))
    return capacity, needs
