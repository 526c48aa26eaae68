"""The blocks of a gang in slots: a first slot, the slots that it takes from there, and its workers on nodes.

A block is on one node, in one rack, or in several. It takes as many slots as the slowest of its nodes, times the factor
for its nodes and racks, rounded up. Its workers go to the nodes of least key first, or to those with most room first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.tolerances import FEASIBILITY, ROUNDING
from gpusched_dsl.policies.gangs.slotted_reader import SlottedGang
from gpusched_dsl.policies.kernels.gang_nodes import ANYWHERE, ONE_NODE, ONE_RACK
from gpusched_dsl.policies.slotted.cheapest import ranks_of
from gpusched_dsl.policies.workload import NONE

CHEAPEST_FIRST, LARGEST_FIRST = 0, 1
_Table = TypeVar("_Table", Ints, Floats, Bools)


class GangBlock(NamedTuple):
    """Workers go on `nodes` in this order, on each at most `most`; `counts` are theirs where all of them have room."""

    start: int
    slots: int
    nodes: Ints
    most: Ints
    counts: Ints


class _Family(NamedTuple):
    """The blocks on some nodes, of one length and one order of nodes; n nodes, S first slots."""

    slots: int
    nodes: Ints  # (n,)
    order: Ints  # (n, S) places in `nodes`
    most: Ints  # (n, S)
    counts: Ints  # (n, S)


@dataclass(frozen=True, eq=False)
class BlockFinder:
    """Finds the blocks of one gang beside those that are placed.

    `start` is the only first slot that is asked for; a block may then end behind the last slot, and `choose` has to
    list its first slot alone. If it is None, a block has all of its slots in the horizon, and all are listed.
    """

    gang: SlottedGang
    rack: Ints  # (N,)
    free: Floats  # (R, N, H)
    starts: bool  # a way is a start, not an occupied slot
    start: int | None = None

    def blocks(self) -> Iterator[GangBlock]:
        """Yield the blocks: least sum of keys first; then on one node, in one rack; then the earliest; then on the
        fewest nodes, on one node of those with the least room; then in the order of the data.
        """
        families: list[_Family] = []
        tables: list[tuple[Floats, Ints, Ints, Ints, Floats, Ints, Ints, Ints]] = []
        workers = self.gang.workers
        for span, slots, nodes, slowest, most, cost, free in self._spreads():
            for variant in (CHEAPEST_FIRST,) if span == ONE_NODE else (CHEAPEST_FIRST, LARGEST_FIRST):
                family = _filled(slots, nodes, most, cost, workers, variant)
                which = len(families)
                families.append(family)
                if span == ONE_NODE:  # each node is a block by itself
                    n, at = np.nonzero((most >= workers) & slowest[:, None])
                    total, used, room = workers * cost[n, at], np.ones(len(n), dtype=np.int64), free[n, at]
                else:
                    chosen = family.counts > 0
                    fits = (family.counts.sum(axis=0) == workers) & (chosen & slowest[:, None]).any(axis=0)
                    used = chosen.sum(axis=0)
                    fits &= (used > 1) if span == ONE_RACK else (_racks_of(self.rack[nodes], chosen) > 1)
                    at = np.flatnonzero(fits)
                    n, total, used = np.full(len(at), NONE), (family.counts * cost).sum(axis=0)[at], used[at]
                    room = np.zeros(len(at))
                kind = np.broadcast_to(np.array([[span], [variant], [which]]), (3, len(at)))
                tables.append((total, kind[0], at, used, room, kind[1], kind[2], n))
        if not tables:
            return
        total, spans, start, used, room, variants, which_of, node = (
            np.concatenate(columns) for columns in zip(*tables, strict=True)
        )
        for i in np.lexsort((node, which_of, variants, room, used, start, spans, ranks_of(total))).tolist():
            family, s = families[int(which_of[i])], int(start[i])
            order = family.order[:, s] if node[i] == NONE else node[i : i + 1]
            order = order[family.most[order, s] > 0]
            counts = family.counts[order, s] if node[i] == NONE else np.array([workers])
            first = s if self.start is None else self.start
            yield GangBlock(first, family.slots, family.nodes[order], family.most[order, s], counts)

    def _spreads(self) -> Iterator[tuple[int, int, Ints, Bools, Ints, Floats, Floats]]:
        """Yield spread, slots, nodes, which of them are as slow as that, and by first slot the most workers, keys, and
        what is free of the first capacity.
        """
        gang, every = self.gang, np.arange(len(self.rack))
        room = self._room()
        speeds = np.unique(gang.slots[(gang.way >= 0).any(axis=1) & (gang.slots > 0)])
        for span in (ONE_NODE, ONE_RACK, ANYWHERE):
            if span == ONE_NODE:
                groups, factor = [every], 1.0
            elif span == ONE_RACK:
                groups, factor = [every[self.rack == r] for r in np.unique(self.rack)], gang.across_nodes
                groups = [group for group in groups if len(group) > 1]
            else:
                several = len(np.unique(self.rack)) > 1
                groups, factor = [every] if several else [], gang.across_racks
            for slowest in speeds.tolist() if groups else ():
                slots = max(1, int(np.ceil(slowest * factor - ROUNDING)))
                if self.start is None and slots > gang.way.shape[1]:
                    continue
                most, cost, free = self._of_length(slots, room, (gang.slots > 0) & (gang.slots <= slowest))
                for nodes in groups:
                    if most[nodes].any():
                        yield span, slots, nodes, gang.slots[nodes] == slowest, most[nodes], cost[nodes], free[nodes]

    def _room(self) -> Ints:
        """The workers that each node has room for in each slot."""
        gang = self.gang
        needs = gang.needs.max(axis=2, keepdims=True) if self.starts else gang.needs  # a start needs them in all slots
        needs = np.broadcast_to(needs, self.free.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            fits = np.where(needs > 0, np.floor(self.free / needs + FEASIBILITY), np.inf).min(axis=0)
        most = np.full(fits.shape, gang.workers) if self.starts else np.where(gang.way >= 0, gang.most, 0)
        room: Ints = np.clip(np.minimum(fits, most), 0, gang.workers).astype(np.int64)
        return room

    def _of_length(self, slots: int, room: Ints, is_fast: Bools) -> tuple[Ints, Floats, Floats]:
        """From each first slot on: the most workers on each node, the sum of the key for one of them, and the least of
        what is free of the first capacity.
        """
        gang = self.gang
        first = slice(0, gang.way.shape[1] - slots + 1) if self.start is None else slice(self.start, self.start + 1)

        def over(table: _Table) -> _Table:
            """The values in the slots of each block: nodes, first slots, slots."""
            if self.start is not None:
                return table[:, None, self.start : self.start + slots]
            return np.lib.stride_tricks.sliding_window_view(table, slots, axis=1)

        listed = over(gang.listed).all(axis=2) if self.start is None else gang.listed[:, first]
        most = np.asarray(over(room).min(axis=2))
        if self.starts:
            most = np.where(gang.way[:, first] >= 0, np.minimum(most, gang.most[:, first]), 0)
        found = np.where(listed & is_fast[:, None], most, 0)
        return found, np.where(found > 0, over(gang.key).sum(axis=2), 0.0), over(self.free[0]).min(axis=2)


def _filled(slots: int, nodes: Ints, most: Ints, cost: Floats, workers: int, variant: int) -> _Family:
    """Fill nodes with workers, from each first slot on, in one of two orders; ties are in the order of the data."""
    ranks = ranks_of(cost)
    order = np.lexsort((-most, ranks) if variant == CHEAPEST_FIRST else (ranks, -most), axis=0)
    by_order = np.take_along_axis(most, order, axis=0)
    before = np.cumsum(by_order, axis=0) - by_order
    counts = np.zeros_like(most)
    np.put_along_axis(counts, order, np.clip(workers - before, 0, by_order), axis=0)
    return _Family(slots, nodes, order, most, counts)


def _racks_of(rack: Ints, chosen: Bools) -> Ints:
    """The number of racks of the chosen nodes, for each column."""
    racks = np.unique(rack)
    return np.asarray((chosen[None, :, :] & (rack[None, :] == racks[:, None])[:, :, None]).any(axis=1).sum(axis=0))
