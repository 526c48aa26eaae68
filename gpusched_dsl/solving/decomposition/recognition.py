"""Recognises, on the matrix, blocks that choose one alternative and the slots of a window to be active in.

The shape of a block, for each of its alternatives g with slots h in a row (rows may be scaled by any factor):

    sum_g z_g == 1                                    one alternative; 0 <= z_g <= 1
    sum_h x_h == N z_g   or   >= N z_g                the work; x_h binary
    x_h <= z_g                                        may be missing where the work is exact and z_g is whole
    u_h >= x_h - x_(h-1)                              a start; of the first slot u >= x - x0 with x0 = 0 or 1, or none
    u_h >= 0 and costs at least nothing, in no other row

Any x and z may have costs and stand in linking rows. With x binary, z is 0 or 1 by itself: where 0 < z_g < 1 the rows
x_h <= z_g leave x = 0, against N z_g > 0. So a block is a choice of the cheapest lane (runs.py). Names play no part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.solving.decomposition.blocks import BlockStructure
from gpusched_dsl.solving.decomposition.lanes import Lanes

WHOLE = 1e-9  # how far the work may be from a whole number: rounding errors of data


@dataclass(frozen=True, eq=False)
class Choices:
    """Blocks of the shape: `known` says which. All columns are places among the own columns of `BlockStructure`.

    Lanes are sorted by block; `home` is the column z of each lane, `slot` and `start` the columns x and u of each slot
    of the lanes (start -1: there is none, starting costs nothing), `usable` whether the slot may be used at all.
    """

    known: Bools
    lanes: Lanes
    block: Codes
    home: Codes
    slot: Codes
    start: Codes
    usable: Bools


@dataclass(frozen=True, eq=False)
class _Entries:
    """The entries of the rows inside blocks, and what their columns can be."""

    row: Codes
    column: Codes
    value: Floats
    lower: Floats
    upper: Floats
    block: Codes  # of each row

    @property
    def rows(self) -> int:
        return len(self.block)

    def count(self, which: Bools) -> Codes:
        """How many of these entries each row has."""
        return np.bincount(self.row[which], minlength=self.rows)

    def spread(self, which: Bools) -> tuple[Floats, Floats]:
        """The least and the largest coefficient among these entries of each row."""
        low, high = np.full(self.rows, np.inf), np.full(self.rows, -np.inf)
        np.minimum.at(low, self.row[which], self.value[which])
        np.maximum.at(high, self.row[which], self.value[which])
        return low, high

    def only(self, which: Bools) -> tuple[Codes, Floats]:
        """The column and the coefficient of the one such entry of each row (-1 and 0 where there is none)."""
        column, value = np.full(self.rows, -1, dtype=np.int64), np.zeros(self.rows)
        column[self.row[which]] = self.column[which]
        value[self.row[which]] = self.value[which]
        return column, value


def recognise_blocks(parts: BlockStructure) -> Choices:
    """The blocks of the shape; others are left to be solved as problems of their own."""
    problem, own = parts.problem, parts.own
    entries = _entries(parts)
    lower, upper = problem.lower[own], problem.upper[own]
    is_slot = problem.integer[own] & (lower == 0) & ((upper == 0) | (upper == 1))
    bad = np.zeros(parts.blocks.count, dtype=np.bool_)

    of_slot = is_slot[entries.column]
    slots = entries.count(of_slot)
    low, high = entries.spread(~of_slot)
    choice = (slots == 0) & (low == high) & (entries.lower == low) & (entries.upper == low)
    is_home = np.zeros(len(own), dtype=np.bool_)
    is_home[entries.column[choice[entries.row]]] = True
    of_home = is_home[entries.column]
    homes, others = entries.count(of_home), entries.count(~of_slot & ~of_home)

    works = (slots >= 1) & (homes == 1) & (others == 0)
    starting = ((slots == 1) | (slots == 2)) & (homes == 0) & (others == 1)
    bad[entries.block[~(choice | works | starting)]] = True
    bad[np.bincount(entries.block[choice], minlength=len(bad)) != 1] = True

    # Work and what keeps slots to their alternative.
    low, high = entries.spread(of_slot)
    home, coefficient = entries.only(of_home)
    with np.errstate(divide="ignore", invalid="ignore"):
        side_low = np.where(low > 0, entries.lower, entries.upper) / low
        side_high = np.where(low > 0, entries.upper, entries.lower) / low
        amount = -coefficient / low
    even = works & (low == high)
    keeps = even & (slots == 1) & (amount == 1) & (side_low == -np.inf) & (side_high == 0)
    exact = even & (side_low == 0) & (side_high == 0) & (np.abs(amount - np.rint(amount)) <= WHOLE)
    least = even & (side_low == 0) & (side_high == np.inf)
    finishes = (exact | least) & (amount >= WHOLE)
    bad[entries.block[works & ~keeps & ~finishes]] = True

    # Starts: the slot has the sign against that of the start, the slot before it the same sign.
    start, of_start = entries.only(~of_slot & ~of_home)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = entries.value / of_start[entries.row]
        start_low = np.where(of_start > 0, entries.lower, entries.upper) / of_start
        start_high = np.where(of_start > 0, entries.upper, entries.lower) / of_start
    in_start = of_slot & starting[entries.row]
    slot, _ = entries.only(in_start & (scaled == -1))
    before, _ = entries.only(in_start & (scaled == 1))
    first = slots == 1
    right = (slot >= 0) & (first | ((before >= 0) & (start_low == 0))) & (start_high == np.inf)
    right &= ~first | (start_low == 0) | (start_low == -1)
    bad[entries.block[starting & ~right]] = True

    # Each column in its rows, once.
    size = len(own)
    finish_rows, start_rows = np.flatnonzero(finishes), np.flatnonzero(starting & right)
    in_finish = of_slot & finishes[entries.row]
    lane_of = np.full(size, -1, dtype=np.int64)
    lane_number = np.full(entries.rows, -1, dtype=np.int64)
    lane_number[finish_rows] = np.arange(len(finish_rows))
    lane_of[entries.column[in_finish]] = lane_number[entries.row[in_finish]]
    lane_home = home[finish_rows]
    kept = np.bincount(entries.column[of_slot & keeps[entries.row]], minlength=size)
    keeper = np.full(size, -1, dtype=np.int64)
    keep_entries = of_slot & keeps[entries.row]
    keeper[entries.column[keep_entries]] = home[entries.row[keep_entries]]
    is_start = np.zeros(size, dtype=np.bool_)
    is_start[start[start_rows]] = True
    linking = np.diff(parts.use.tocsc().indptr) > 0

    times = {
        "finish": np.bincount(entries.column[in_finish], minlength=size),
        "home": np.bincount(lane_home, minlength=size),
        "slot": np.bincount(slot[start_rows], minlength=size),
        "start": np.bincount(start[start_rows], minlength=size),
        "before": np.bincount(before[start_rows][before[start_rows] >= 0], minlength=size),
        "choice": np.bincount(entries.column[of_home & choice[entries.row]], minlength=size),
    }
    own_home = np.where(lane_of >= 0, lane_home[lane_of] if len(lane_home) else -1, -1)
    needs_keeper = np.zeros(size, dtype=np.bool_)
    if len(lane_home):
        loose = least[finish_rows] | ~problem.integer[own[lane_home]]
        needs_keeper = (lane_of >= 0) & loose[lane_of]
    slot_wrong = is_slot & (
        (times["finish"] != 1)
        | (times["slot"] > 1)
        | (times["before"] > 1)
        | ((kept > 0) & (keeper != own_home))
        | (needs_keeper & (kept == 0))
    )
    home_wrong = is_home & ((times["home"] != 1) | (times["choice"] != 1) | (lower != 0) | (upper < 1))
    start_wrong = is_start & (
        (times["start"] != 1) | linking | (parts.own_cost < 0) | (lower != 0) | (upper < 1) | problem.integer[own]
    )
    unplaced = ~(is_slot | is_home | is_start)
    bad[parts.block[slot_wrong | home_wrong | start_wrong | unplaced]] = True

    previous, start_of = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    previous[slot[start_rows]] = before[start_rows]
    start_of[slot[start_rows]] = start[start_rows]
    running = np.zeros(len(finish_rows), dtype=np.bool_)
    roots = np.zeros(len(finish_rows), dtype=np.int64)
    np.add.at(roots, lane_of[is_slot & (previous < 0) & (lane_of >= 0)], 1)
    begins = start_rows[first[start_rows] & (lane_of[slot[start_rows]] >= 0)]
    running[lane_of[slot[begins]]] = start_low[begins] == -1
    rank, lost = _ranks(previous)
    astray = is_slot & (previous >= 0) & (lane_of != lane_of[previous])
    bad[parts.block[astray | (is_slot & lost)]] = True
    bad[parts.block[lane_home[roots != 1]]] = True

    known = ~bad
    chosen = np.flatnonzero(known[parts.block[lane_home]])
    chosen = chosen[np.argsort(parts.block[lane_home[chosen]], kind="stable")]
    place = np.full(len(finish_rows), -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    mine = np.flatnonzero(is_slot & known[parts.block])
    mine = mine[np.lexsort((rank[mine], place[lane_of[mine]]))]
    counts = np.bincount(place[lane_of[mine]], minlength=len(chosen))
    work = np.ceil(amount[finish_rows[chosen]] - WHOLE).astype(np.int64)
    return Choices(
        known,
        Lanes(np.concatenate(([0], np.cumsum(counts))), work, exact[finish_rows[chosen]], running[chosen]),
        parts.block[lane_home[chosen]],
        lane_home[chosen],
        mine,
        start_of[mine],
        upper[mine] > 0,
    )


def _entries(parts: BlockStructure) -> _Entries:
    """The entries of the rows inside blocks, with columns as places among the own columns."""
    problem = parts.problem
    rows = np.flatnonzero(parts.blocks.row >= 0)
    place = np.full(problem.columns, -1, dtype=np.int64)
    place[parts.own] = np.arange(len(parts.own))
    matrix = problem.matrix.take(rows)
    counted = matrix.values != 0
    return _Entries(
        matrix.row_of[counted].astype(np.int64),
        place[matrix.columns[counted]],
        matrix.values[counted],
        problem.row_lower[rows],
        problem.row_upper[rows],
        parts.blocks.row[rows].astype(np.int64),
    )


def _ranks(previous: Codes) -> tuple[Codes, Bools]:
    """How many steps lie before each column in its chain, by doubling; and which chains never begin (cycles)."""
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
