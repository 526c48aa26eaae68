"""The nodes of one gang where rows of the model are asked: all of its workers are entered, or none.

The first combination of nodes is the one that `gang_nodes.py` finds by room alone. Where a row refuses a node, it gets
as many workers as rows allow beside those that are entered, down to none, and the others go where there still is room.
Where that ends without room for all, the last node gets fewer workers than it had, and so on: a tree of `x = k` or
`x <= k - 1`, depth first, of which so many leaves are looked at. Single nodes and racks are tried one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.policies.gangs.workload import GangWorkload
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.gang_nodes import ANYWHERE, ONE_NODE, fewest_racks
from gpusched_dsl.policies.kernels.row_guard import (
    COLUMN_ROWS,
    COLUMN_STARTS,
    COLUMN_VALUES,
    DEEP,
    INFINITE,
    REFUSING,
    ROW_COUNT,
    SIDES,
    RowGuard,
    at_most,
    column_of,
    largest_value,
    lower_of,
    mark,
    room_of,
    take,
    undo,
    upper_of,
)
from gpusched_dsl.policies.workload import NONE

MOST_LEAVES = 64  # combinations of one gang within one rack, and over all racks
NOWHERE, SEATED, EXCLUDED = 0, 1, 2
_UPPER, _LOWER = 0, 1


class GangSearch(NamedTuple):
    """The working arrays of a pass over gangs, without state after a gang; M rows of the guard."""

    rest: Ints  # (N,) GPUs that are free, to tell nodes apart
    most: Ints  # (N,) workers that a node has room for
    counts: Ints  # (N,) workers on each node
    way_on: Ints  # (K,) the way on each kind of node, NONE: none
    # --- where rows are asked
    allowed: Ints  # (N,) most workers on each node of the rack that is tried
    now: Ints  # (N,) the same beside those that are entered
    placed: Ints  # (N,) workers that are entered
    node: Ints  # (N,) nodes in the order of entering, with the place of the trails before each
    before: Ints  # (N,)
    within: Ints  # (M, 2) workers that count in a row, for both of its sides
    factor: Floats  # (M, 2) and the least that one of them changes its value by


@compiled
def make_search(work: GangWorkload, guard: RowGuard | None) -> GangSearch:
    """Arrays for a pass."""
    nodes, rows = len(work.node_kind), 0
    if guard is not None:
        rows = int(guard.ints[ROW_COUNT])
    numbers = np.zeros((8, nodes), np.int64)
    return GangSearch(
        numbers[0], numbers[1], numbers[2], np.full(len(work.units), np.int64(NONE)),
        numbers[3], numbers[4], numbers[5], numbers[6], numbers[7],
        np.zeros((rows, 2), np.int64), np.zeros((rows, 2)),
    )  # fmt: skip


@compiled
def seat(work: GangWorkload, used: Bools, j: int, workers: int, span: int, search: GangSearch, guard: RowGuard) -> int:
    """Enter the workers of a gang on nodes that have room for `search.most` each; `search.counts` are those on each.

    NOWHERE: nothing is entered. EXCLUDED: nor would it be if the nodes were farther apart.
    """
    most, counts, allowed, rack = search.most, search.counts, search.allowed, work.rack
    asked = False
    while fewest_racks(rack, most, used, search.rest, workers, span, counts):
        tried = 0
        while counts[tried] == 0:
            tried += 1
        for n in range(len(most)):
            here = span == ANYWHERE or (n == tried if span == ONE_NODE else rack[n] == rack[tried])
            allowed[n] = most[n] if here else 0
            search.now[n] = allowed[n]
        if _enter(work, used, j, workers, span, search, guard):
            return SEATED
        for n in range(len(most)):
            if allowed[n] > 0 and span != ANYWHERE:
                most[n] = 0
        if not asked:
            asked = True
            for n in range(len(most)):
                limit = allowed[n] if allowed[n] > 0 else most[n]
                search.now[n] = _workers_beside(work, n, limit, search, guard)
                most[n] = min(most[n], search.now[n])
            if not _rows_leave_room(work, search.now, workers, search, guard):
                return EXCLUDED
        if span == ANYWHERE:
            break
    return NOWHERE


@compiled
def _enter(
    work: GangWorkload, used: Bools, j: int, workers: int, span: int, search: GangSearch, guard: RowGuard
) -> bool:
    """Enter all workers on nodes that may have `search.allowed`, the combination `search.counts` first; or none."""
    counts, placed, node, before = search.counts, search.placed, search.node, search.before
    placed[:] = 0
    start, depth, left, leaves = mark(guard), 0, workers, 0
    while True:
        fails, stops = False, False
        for at_last in range(2):  # the node that is not filled comes last: with more workers there would be too many
            for n in range(len(counts)):
                if stops or counts[n] == 0 or (counts[n] < search.now[n]) != (at_last == 1):
                    continue
                at, c, k = mark(guard), column_of(guard, search.way_on[work.node_kind[n]], n), counts[n]
                entered = c != NONE and take(guard, c, float(k))
                if not entered:
                    stops = True
                    undo(guard, at)
                    if span == ONE_NODE or c == NONE:
                        undo(guard, start)
                        return False
                    k = largest_value(guard, c, k - 1)
                    entered = k > 0 and take(guard, c, float(k))
                if entered:
                    node[depth], before[depth], placed[n] = n, at, k
                    depth += 1
                    left -= k
                else:
                    undo(guard, at)
                    fails = not at_most(guard, c, 0.0)
        if left == 0:
            at = mark(guard)
            if _close(work, j, guard):
                counts[:] = placed
                return True
            undo(guard, at)
            fails = True
        while fails or not _combine(work, used, left, span, depth > 0, search, guard):
            leaves += 1
            fails = True
            while fails and depth > 0 and leaves < MOST_LEAVES:
                depth -= 1
                n = node[depth]
                undo(guard, before[depth])
                fails = not at_most(guard, column_of(guard, search.way_on[work.node_kind[n]], n), placed[n] - 1.0)
                left += placed[n]
                placed[n] = 0
            if fails:
                undo(guard, start)
                return False


@compiled
def _combine(
    work: GangWorkload, used: Bools, left: int, span: int, any_placed: bool, search: GangSearch, guard: RowGuard
) -> bool:
    """Set `search.counts` to a combination for so many workers beside those entered, first in the racks of these."""
    now, placed, rack = search.now, search.placed, work.rack
    for n in range(len(now)):
        now[n] = 0
        if placed[n] == 0 and search.allowed[n] > 0:
            now[n] = _workers_beside(work, n, min(search.allowed[n], left), search, guard)
    if not _rows_leave_room(work, now, left, search, guard):
        return False
    if span == ANYWHERE and any_placed:
        near = np.zeros_like(now)
        for at in range(len(placed)):
            if placed[at] > 0:
                for n in range(len(now)):
                    if rack[n] == rack[at]:
                        near[n] = now[n]
        if fewest_racks(rack, near, used, search.rest, left, span, search.counts):
            return True
    return fewest_racks(rack, now, used, search.rest, left, span, search.counts)


@compiled_in_place
def _workers_beside(work: GangWorkload, n: int, limit: int, search: GangSearch, guard: RowGuard) -> int:
    """The most workers on a node, up to a limit, that rows admit beside what is entered."""
    w = search.way_on[work.node_kind[n]]
    c = NONE if w == NONE or limit <= 0 else column_of(guard, w, n)
    return 0 if c == NONE else largest_value(guard, c, limit)


@compiled_in_place
def _rows_leave_room(work: GangWorkload, most: Ints, workers: int, search: GangSearch, guard: RowGuard) -> bool:
    """Whether each row by itself admits so many workers on nodes with `most` each.

    The row of a rack or a team is in no conflict with a single node, and would be found full only after trying all.
    """
    within, factor, ints, floats = search.within, search.factor, guard.ints, guard.floats
    total, fits = 0, True
    for step in range(3):  # add up, compare, and clear for the next time
        for n in range(len(most)):
            if most[n] <= 0:
                continue
            c = column_of(guard, search.way_on[work.node_kind[n]], n)
            more = most[n] - max(int(lower_of(guard, c)), 0)
            if step == 0:
                total += most[n]
            for entry in range(ints[ints[COLUMN_STARTS] + c], ints[ints[COLUMN_STARTS] + c + 1]):
                r, a = ints[ints[COLUMN_ROWS] + entry], floats[ints[COLUMN_VALUES] + entry]
                side = _UPPER if a > 0 else _LOWER
                if step == 0:
                    factor[r, side] = abs(a) if within[r, side] == 0 else min(factor[r, side], abs(a))
                    within[r, side] += more
                elif step == 1:
                    if ints[ints[INFINITE] + 2 * r + side] > 0 or within[r, side] == 0:
                        continue
                    room = room_of(guard, r, a)
                    if room < np.inf:
                        admitted = int(max(np.floor((room + floats[ints[SIDES] + 4 * r + 2]) / factor[r, side]), 0.0))
                        if total - within[r, side] + min(admitted, within[r, side]) < workers:
                            ints[REFUSING] = r
                            fits = False
                else:
                    within[r, side] = 0
        if step == 0 and total < workers:
            fits = False
    return fits


@compiled_in_place
def _close(work: GangWorkload, j: int, guard: RowGuard) -> bool:
    """Let no further workers of a gang run; whether no row is known to be broken by that."""
    for w in range(work.first_way[j], work.first_way[j + 1]):
        for n in range(len(work.node_kind)):
            if work.node_kind[n] != work.kind[w]:
                continue
            c = column_of(guard, w, n)
            if c == NONE or lower_of(guard, c) == upper_of(guard, c):
                continue
            if lower_of(guard, c) > 0 or (guard.ints[guard.ints[DEEP] + c] == 1 and not take(guard, c, 0.0)):
                return False
    return True
