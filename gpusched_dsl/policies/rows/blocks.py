"""The slots that a policy may give to a job, for the solver: a block from its start to its end, or single slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.slotted_cluster import SlottedCluster
from gpusched_dsl.policies.rows.completion import OpenPlaces, PolicyRows
from gpusched_dsl.policies.workload import NONE

if TYPE_CHECKING:
    from gpusched_dsl.policies.slotted.planning import Placing


@dataclass(frozen=True, eq=False)
class SlotBlocks:
    """B blocks of jobs on nodes, each with some columns and slots of its node.

    A block takes all of its columns; with `singly` it is a job on a node, which takes `size` of the columns there.
    """

    job: Ints  # (B,)
    size: Ints  # (B,) how many columns a job takes
    block: Ints  # (E,) that each entry of columns is of
    column: Ints  # (E,)
    slot_block: Ints  # (S,) that each slot is of; the entry of columns with `singly`
    slot: Ints  # (S,) the slot of a node, as one number
    singly: bool

    def places(self) -> OpenPlaces:
        """Return the columns of the blocks."""
        return OpenPlaces(self.column, self.job[self.block], self.size[self.block].astype(np.float64))

    def rows(self, columns: int) -> PolicyRows:
        """Return rows with a binary for each block, behind so many columns.

        A job has one block, and a slot of a node has one job.
        """
        jobs, of_job = np.unique(self.job, return_inverse=True)
        slots, of_slot = np.unique(self.slot, return_inverse=True)
        used, of_column = np.unique(self.column, return_inverse=True)
        own, count = columns + np.arange(len(self.job)), len(jobs) + len(slots)
        taken = self.column[self.slot_block] if self.singly else own[self.slot_block]
        parts: list[tuple[Ints, Ints, Ints]] = [(of_job, own, np.ones_like(own))]
        parts.append((of_slot + len(jobs), taken, np.ones_like(taken)))
        if self.singly:  # columns of a block == size * binary
            parts.append((self.block + count, self.column, np.ones_like(self.column)))
            parts.append((np.arange(len(own)) + count, own, -self.size))
        else:  # column == binaries of the blocks with it
            parts.append((np.arange(len(used)) + count, used, np.ones_like(used)))
            parts.append((of_column + count, own[self.block], -np.ones_like(self.block)))
        links = len(own) if self.singly else len(used)
        lower = np.concatenate((np.full(count, -np.inf), np.zeros(links)))
        upper = np.concatenate((np.ones(count), np.zeros(links)))
        entries: list[tuple[Ints, Ints, Floats]] = [(r, c, value.astype(np.float64)) for r, c, value in parts]
        return PolicyRows(entries, lower, upper, len(own))


def blocks_of(cluster: SlottedCluster, column: Ints, placing: Placing, *, starts: bool) -> SlotBlocks:
    """Return the blocks that a policy may give to jobs; `column` is that of each job on each node in each slot.

    With `starts` a block has the column of its start alone.
    """
    allowed, length = cluster.allowed[:, cluster.class_of], cluster.length[:, cluster.class_of]
    slots = allowed.shape[2]
    columns = column.reshape(allowed.shape)
    if placing.singly:
        inside = allowed & (columns != NONE)
        job, node = np.nonzero((length > 0) & (inside.sum(axis=2) >= length))
        block, slot = np.nonzero(inside[job, node])
        entries = columns[job[block], node[block], slot]
        return SlotBlocks(
            job, length[job, node], block, entries, np.arange(len(entries)), node[block] * slots + slot, singly=True
        )
    job, node, begin = np.nonzero(allowed & (length > 0)[:, :, None])
    end = begin + length[job, node]
    if placing.rule == "cheapest_block":  # other rules ask the policy about the start alone
        before = np.zeros((*allowed.shape[:2], slots + 1), dtype=np.int64)
        np.cumsum(allowed, axis=2, out=before[:, :, 1:])
        last = np.minimum(end, slots)
        kept = (end <= slots) & (before[job, node, last] - before[job, node, begin] == end - begin)
        job, node, begin, end = job[kept], node[kept], begin[kept], end[kept]
    length_of = np.minimum(end, slots) - begin
    for_block = np.repeat(np.arange(len(job)), length_of)
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(length_of)))[:-1]
    slot = begin[for_block] + np.arange(len(for_block)) - first[for_block]
    block, at = (np.arange(len(job)), begin) if starts else (for_block, slot)
    entries = columns[job[block], node[block], at]
    exists = np.ones(len(job), dtype=np.bool_)
    exists[block[entries == NONE]] = False
    number = np.cumsum(exists) - 1
    own, covered = exists[block], exists[for_block]
    return SlotBlocks(
        job[exists], np.ones(int(exists.sum()), dtype=np.int64) if starts else length_of[exists], number[block[own]],
        entries[own], number[for_block[covered]], (node[for_block] * slots + slot)[covered], singly=False,
    )  # fmt: skip
