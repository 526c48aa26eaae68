"""The future of nodes as lists of segments, each with what is free in it; jobs and reservations occupy intervals.

From its start on, a segment has so many units free, so much of the further capacities, and the rest of each shared GPU,
until the next segment starts. A node whose type is chosen has in each segment the type that its jobs there give it,
and none while it is empty; the stock of a type that not all nodes can have is a list of segments like that of a node.

The earliest start of a job is sought in one pass over the segments of a node: where a start fails because of a segment,
all starts before the end of that segment fail too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.workload import NONE

SLACK = 1e-9  # of a capacity, and of a time
NEVER = np.inf
_FITS = -1.0


class Future(NamedTuple):
    """The segments of all nodes: those of node n from `head[n]` on, each with its `following` one or NONE."""

    head: Ints  # (N + kinds with a limited stock,)
    following: Ints  # (S,)
    start: Floats  # (S,) time from now
    kind: Ints  # (S,) of the node, NONE: empty, and any type can be rented
    free: Ints  # (S,) units that no job has and that belong to no shared GPU; nodes left in the stock of a type
    left: Floats  # (S, R)
    spare: Ints  # (S, G) units left of each shared GPU, NONE where it is not shared
    units: Ints  # (K,) of an empty node
    room: Floats  # (K, R) of an empty node
    stock: Ints  # (K,) the list of segments of the stock of a kind, NONE: there are as many as nodes
    taken: Ints  # (1,) segments in use


@compiled
def make_future(units: Ints, room: Floats, stock: Ints, node_kind: Ints, gpus: int, jobs: int) -> Future:
    """The future of empty nodes, with space for the stays of so many jobs."""
    nodes, kinds = len(node_kind), len(units)
    rented, existing = 0, np.zeros(kinds, np.int64)
    for n in range(nodes):
        if node_kind[n] == NONE:
            rented += 1
        else:
            existing[node_kind[n]] += 1
    lists, stock_of = nodes, np.full(kinds, NONE)
    for k in range(kinds):
        if stock[k] - existing[k] < rented:
            stock_of[k] = lists
            lists += 1
    size = lists + 2 * jobs * (1 + lists - nodes)
    future = Future(
        np.arange(lists), np.full(size, NONE), np.zeros(size), np.full(size, NONE), np.zeros(size, np.int64),
        np.zeros((size, room.shape[1])), np.full((size, gpus), NONE), units, room, stock_of, np.full(1, lists),
    )  # fmt: skip
    for n in range(nodes):
        if node_kind[n] != NONE:
            _open(future, n, node_kind[n])
    for k in range(kinds):
        if stock_of[k] != NONE:
            future.free[stock_of[k]] = max(stock[k] - existing[k], 0)
    return future


@compiled_in_place
def _open(future: Future, segment: int, k: int) -> None:
    """Make the node one of a kind in a segment in which it has no kind."""
    future.kind[segment], future.free[segment] = k, future.units[k]
    for r in range(future.left.shape[1]):
        future.left[segment, r] = future.room[k, r]


@compiled_in_place
def split(future: Future, segment: int, at: float) -> int:
    """Begin a segment at a time within another one; return it."""
    new = future.taken[0]
    future.taken[0] += 1
    future.following[new], future.following[segment] = future.following[segment], new
    future.start[new], future.free[new], future.kind[new] = at, future.free[segment], future.kind[segment]
    for r in range(future.left.shape[1]):
        future.left[new, r] = future.left[segment, r]
    for g in range(future.spare.shape[1]):
        future.spare[new, g] = future.spare[segment, g]
    return int(new)


@compiled_in_place
def has_ended(start: float, end: float) -> bool:
    """Whether a job is over where a segment starts."""
    return end < NEVER and start >= end - SLACK * max(1.0, end)


@compiled_in_place
def end_at(start: float, time: float) -> float:
    """The end of a job, so long after its start that it is not over there."""
    return start + max(time, 4.0 * SLACK * max(1.0, start))


@compiled_in_place
def end_of(future: Future, segment: int) -> float:
    """When the next segment starts, infinite for the last one."""
    after = future.following[segment]
    return NEVER if after == NONE else float(future.start[after])


@compiled_in_place
def segment_at(future: Future, segment: int, time: float) -> int:
    """The segment that has a time in it, from an earlier one of its list on."""
    while end_of(future, segment) <= time:
        segment = future.following[segment]
    return int(segment)


@compiled_in_place
def occupy(
    future: Future, n: int, start: float, time: float, k: int, size: int, parts: int, needs: Floats, w: int, gpu: int,
    workers: int,
) -> None:  # fmt: skip
    """Give a job its units, capacities and GPU of a node from `start` on for so long; `k` is the kind of its way.

    Each of its workers there takes the capacities, and all together `size` units.
    """
    end = end_at(start, time)
    segment = segment_at(future, future.head[n], start)
    if future.start[segment] < start:
        segment = split(future, segment, start)
    while segment != NONE and not has_ended(future.start[segment], end):
        if end < NEVER and end_of(future, segment) > end + SLACK * max(1.0, end):
            split(future, segment, end)
        if future.kind[segment] == NONE:
            _open(future, segment, k)
            if future.stock[k] != NONE:
                _take_from_stock(future, future.stock[k], future.start[segment], end_of(future, segment))
        for r in range(needs.shape[1]):
            future.left[segment, r] -= workers * needs[w, r]
        if size >= parts:
            future.free[segment] -= size
        else:
            if future.spare[segment, gpu] == NONE:
                future.spare[segment, gpu] = parts
                future.free[segment] -= parts
            future.spare[segment, gpu] -= size
        segment = future.following[segment]


@compiled_in_place
def _take_from_stock(future: Future, stock: int, start: float, end: float) -> None:
    """Rent one more node of a kind during an interval."""
    segment = segment_at(future, future.head[stock], start)
    if future.start[segment] < start:
        segment = split(future, segment, start)
    while segment != NONE and future.start[segment] < end:
        if end_of(future, segment) > end:
            split(future, segment, end)
        future.free[segment] -= 1
        segment = future.following[segment]


@compiled_in_place
def _out_of_stock_until(future: Future, stock: int, start: float, end: float) -> float:
    """When the first interval in which no node of a kind is left to rent ends; negative: there is always one."""
    segment = segment_at(future, future.head[stock], start)
    while segment != NONE and future.start[segment] < end:
        if future.free[segment] <= 0:
            return end_of(future, segment)
        segment = future.following[segment]
    return _FITS


@compiled_in_place
def _first_fit(
    future: Future, segment: int, start: float, before: float, time: float, k: int, size: int, parts: int,
    needs: Floats, w: int, gpu: int,
) -> float:  # fmt: skip
    """The first start, from one in this segment on and before a time, from which there is room for so long.

    A way on a node of a kind, with a part on this GPU. Infinite if there is none. One loop without calls: it takes most
    of the time of backfilling.
    """
    following, begins, kind, free, left = future.following, future.start, future.kind, future.free, future.left
    room, stock, spare, empty, capacities = future.room, future.stock[k], future.spare, future.units[k], needs.shape[1]
    whole = size >= parts
    while start < before:
        end = start + max(time, 4.0 * SLACK * max(1.0, start))  # `_end`
        over = end - SLACK * max(1.0, end) if end < NEVER else NEVER
        at, again, next_one = segment, _FITS, segment
        while at != NONE and begins[at] < over:
            after = following[at]
            opens = kind[at] == NONE
            if opens:
                fits = empty >= (size if whole else parts)
            elif kind[at] != k:
                fits = False
            elif whole:
                fits = free[at] >= size
            else:
                fits = free[at] >= parts if spare[at, gpu] == NONE else spare[at, gpu] >= size
            for r in range(capacities):
                if needs[w, r] > (room[k, r] if opens else left[at, r]) + SLACK * abs(room[k, r]):
                    fits = False
            if not fits:
                again, next_one = NEVER if after == NONE else begins[after], after
                break
            if opens and stock != NONE:
                until = NEVER if after == NONE else begins[after]
                again = _out_of_stock_until(future, stock, max(start, begins[at]), min(end, until))
                if again >= 0.0:
                    break
            at = after
        if again < 0.0:
            return start
        if again == NEVER:
            return NEVER
        start, segment = again, next_one
        while following[segment] != NONE and begins[following[segment]] <= start:
            segment = following[segment]
    return NEVER


@compiled_in_place
def gpu_for(
    future: Future, segment: int, start: float, time: float, k: int, size: int, parts: int, needs: Floats, w: int
) -> int:
    """The GPU for a part of one: of those that are shared then the one with the least left, else the first other.

    NONE if there is no room from a start, in this segment, for so long; for whole GPUs 0.
    """
    only = np.nextafter(start, NEVER)
    if size >= parts:
        return 0 if _first_fit(future, segment, start, only, time, k, size, parts, needs, w, 0) < NEVER else NONE
    found, least = NONE, parts
    for g in range(future.units[k] // parts):
        rest = future.spare[segment, g]
        if rest == NONE:
            rest = parts
        if (found == NONE or rest < least) and (
            _first_fit(future, segment, start, only, time, k, size, parts, needs, w, g) < NEVER
        ):
            found, least = g, rest
    return int(found)


@compiled_in_place
def earliest_start(
    future: Future, segment: int, time: float, k: int, size: int, parts: int, needs: Floats, w: int, after: float,
    before: float,
) -> float:  # fmt: skip
    """The earliest start of a way on a node of a kind, from this segment on and not earlier than `after`, if it is
    before a time, else infinite."""
    best, start = before, max(future.start[segment], after)
    for g in range(1 if size >= parts else future.units[k] // parts):
        best = min(best, _first_fit(future, segment, start, best, time, k, size, parts, needs, w, g))
        if best == start:
            break
    return float(best) if best < before else NEVER
