"""Recognises, on the matrix, blocks that choose one alternative and the slots of a window to be active in.

The shape of a block, for each of its alternatives g with slots h in a row (rows may be scaled by any factor):

    sum_g z_g == 1                                    one alternative; 0 <= z_g <= 1
    sum_h x_h == N z_g   or   >= N z_g                the work; x_h binary
    x_h <= z_g                                        may be missing where the work is exact and z_g is integer
    u_h >= x_h - x_(h-1)                              a start; of the first slot u >= x - x0 with x0 = 0 or 1, or none
    u_h >= 0 and costs at least nothing, in no other row

Any x and z may have costs and stand in linking rows. With x binary, z is 0 or 1 by itself: where 0 < z_g < 1 the rows
x_h <= z_g leave x = 0, against N z_g > 0. So a block is a choice of the cheapest lane (runs.py). Names play no part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.solving.decomposition.blocks import BlockStructure
from gpusched_dsl.solving.decomposition.lanes import Lanes
from gpusched_dsl.solving.decomposition.row_kinds import (
    INTEGRALITY,
    RowEntries,
    RowKinds,
    StartRows,
    WorkRows,
    row_entries,
    row_kinds,
    start_rows,
    work_rows,
)


@dataclass(frozen=True, eq=False)
class RecognisedBlocks:
    """Blocks of the recognised shape: `recognised` marks them. All columns are positions among the own columns of
    `BlockStructure`.

    Lanes are sorted by block; `home` is the column z of each lane, `slot` and `start` the columns x and u of each slot
    of the lanes (start -1: there is none, starting costs nothing), `usable` whether the slot may be used at all.
    """

    recognised: Bools
    lanes: Lanes
    block: Codes
    home: Codes
    slot: Codes
    start: Codes
    usable: Bools


@dataclass(frozen=True, eq=False)
class _LaneColumns:
    """The lanes of rows of work: the row and the alternative of each, and the lane of each column (-1: none)."""

    rows: Codes
    home: Codes
    of: Codes


@dataclass(frozen=True, eq=False)
class _Chains:
    """Slots of a lane in a row: the start and the place of each; blocks in which they are none are `broken`."""

    start: Codes
    rank: Codes
    running: Bools  # of each lane
    broken: Codes


def recognise_blocks(parts: BlockStructure) -> RecognisedBlocks:
    """The blocks of the shape; others are left to be solved as problems of their own."""
    entries = row_entries(parts)
    kinds = row_kinds(parts, entries)
    work = work_rows(entries, kinds)
    starts = start_rows(entries, kinds)
    lanes = _lane_columns(entries, kinds, work, len(parts.own))
    chains = _chains(parts, kinds, starts, lanes)

    bad = np.zeros(parts.blocks.count, dtype=np.bool_)
    bad[np.bincount(entries.block[kinds.choice], minlength=len(bad)) != 1] = True
    bad[entries.block[~(kinds.choice | kinds.works | kinds.starting)]] = True
    bad[entries.block[kinds.works & ~work.keeps & ~work.finishes]] = True
    bad[entries.block[starts.wrong]] = True
    bad[parts.block[_misplaced_columns(parts, entries, kinds, work, starts, lanes)]] = True
    bad[chains.broken] = True
    return _choices(parts, kinds, work, lanes, chains, ~bad)


def _lane_columns(entries: RowEntries, kinds: RowKinds, work: WorkRows, size: int) -> _LaneColumns:
    rows = np.flatnonzero(work.finishes)
    number = np.full(entries.rows, -1, dtype=np.int64)
    number[rows] = np.arange(len(rows))
    in_finish = kinds.of_slot & work.finishes[entries.row]
    lane = np.full(size, -1, dtype=np.int64)
    lane[entries.column[in_finish]] = number[entries.row[in_finish]]
    return _LaneColumns(rows, work.home[rows], lane)


def _misplaced_columns(
    parts: BlockStructure, entries: RowEntries, kinds: RowKinds, work: WorkRows, starts: StartRows, lanes: _LaneColumns
) -> Bools:
    """The own columns that are not in the rows that they must be in, once each."""
    problem, own = parts.problem, parts.own
    lower, upper = problem.lower[own], problem.upper[own]
    is_start = np.zeros(len(own), dtype=np.bool_)
    is_start[starts.start] = True

    def times(columns: Codes) -> Codes:
        return np.bincount(columns, minlength=len(own))

    chosen = times(entries.column[kinds.of_home & kinds.choice[entries.row]])
    home_wrong = kinds.is_home & ((times(lanes.home) != 1) | (chosen != 1) | (lower != 0) | (upper < 1))
    finished = times(entries.column[kinds.of_slot & work.finishes[entries.row]])
    repeated = (times(starts.slot) > 1) | (times(starts.before[starts.before >= 0]) > 1)
    slot_wrong = kinds.is_slot & ((finished != 1) | repeated | _unkept_slots(parts, entries, kinds, work, lanes))
    linking = np.diff(parts.use.tocsc().indptr) > 0
    start_wrong = is_start & (
        (times(starts.start) != 1) | linking | (parts.own_cost < 0) | (lower != 0) | (upper < 1) | problem.integer[own]
    )
    wrong: Bools = slot_wrong | home_wrong | start_wrong | ~(kinds.is_slot | kinds.is_home | is_start)
    return wrong


def _unkept_slots(
    parts: BlockStructure, entries: RowEntries, kinds: RowKinds, work: WorkRows, lanes: _LaneColumns
) -> Bools:
    """The columns of slots that another alternative keeps, or that none keeps although the work does not."""
    size = len(parts.own)
    keeping = kinds.of_slot & work.keeps[entries.row]
    kept = np.bincount(entries.column[keeping], minlength=size)
    keeper = np.full(size, -1, dtype=np.int64)
    keeper[entries.column[keeping]] = work.home[entries.row[keeping]]
    own_home, needs_keeper = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.bool_)
    if len(lanes.home):
        own_home = np.where(lanes.of >= 0, lanes.home[lanes.of], -1)
        loose = work.least[lanes.rows] | ~parts.problem.integer[parts.own[lanes.home]]
        needs_keeper = (lanes.of >= 0) & loose[lanes.of]
    wrong: Bools = ((kept > 0) & (keeper != own_home)) | (needs_keeper & (kept == 0))
    return wrong


def _chains(parts: BlockStructure, kinds: RowKinds, starts: StartRows, lanes: _LaneColumns) -> _Chains:
    size, lane = len(parts.own), lanes.of
    previous, start = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    previous[starts.slot] = starts.before
    start[starts.slot] = starts.start
    running = np.zeros(len(lanes.rows), dtype=np.bool_)
    begins = starts.first & (lane[starts.slot] >= 0)
    running[lane[starts.slot[begins]]] = starts.running[begins]
    roots = np.zeros(len(lanes.rows), dtype=np.int64)
    np.add.at(roots, lane[kinds.is_slot & (previous < 0) & (lane >= 0)], 1)
    rank, lost = _ranks(previous)
    astray = kinds.is_slot & (previous >= 0) & (lane != lane[previous])
    broken = parts.block[astray | (kinds.is_slot & lost)], parts.block[lanes.home[roots != 1]]
    return _Chains(start, rank, running, np.concatenate(broken))


def _choices(
    parts: BlockStructure, kinds: RowKinds, work: WorkRows, lanes: _LaneColumns, chains: _Chains, recognised: Bools
) -> RecognisedBlocks:
    """The lanes of the recognised blocks, sorted by block."""
    chosen = np.flatnonzero(recognised[parts.block[lanes.home]])
    chosen = chosen[np.argsort(parts.block[lanes.home[chosen]], kind="stable")]
    place = np.full(len(lanes.rows), -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    mine = np.flatnonzero(kinds.is_slot & recognised[parts.block])
    mine = mine[np.lexsort((chains.rank[mine], place[lanes.of[mine]]))]
    counts = np.bincount(place[lanes.of[mine]], minlength=len(chosen))
    rows, home = lanes.rows[chosen], lanes.home[chosen]
    amount = np.ceil(work.amount[rows] - INTEGRALITY).astype(np.int64)
    return RecognisedBlocks(
        recognised,
        Lanes(np.concatenate(([0], np.cumsum(counts))), amount, work.exact[rows], chains.running[chosen]),
        parts.block[home],
        home,
        mine,
        chains.start[mine],
        parts.problem.upper[parts.own][mine] > 0,
    )


def _ranks(previous: Codes) -> tuple[Codes, Bools]:
    """Count the steps before each column in its chain, by doubling; also return which chains have no
    beginning (cycles).
    """
    jump = previous.copy()
    rank = (previous >= 0).astype(np.int64)
    for _ in range(max(1, int(np.ceil(np.log2(max(len(previous), 2)))) + 1)):
        going = np.flatnonzero(jump >= 0)
        if not len(going):
            break
        to = jump[going]
        rank[going] += rank[to]
        jump[going] = jump[to]
    return rank, jump >= 0
