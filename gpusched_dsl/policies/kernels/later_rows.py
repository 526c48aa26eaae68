"""What rows of a model have left at later times, for reservations: rows that limit a sum over the jobs that run.

Such a row, `sum a x <= b` with `a >= 0` over places of jobs, has at each time `b` less the sum over the jobs that run
or are reserved then. Each row is a list of segments, as a node is in `future.py`. Before the first reservation no row
has less left than now, so nothing is kept until then. Rows that read other variables, or demand something, are not
asked at later times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.future import NEVER, SLACK, end_at, has_ended
from gpusched_dsl.policies.kernels.row_guard import (
    COLUMN_COUNT,
    COLUMN_ROWS,
    COLUMN_STARTS,
    COLUMN_VALUES,
    FIRST_ROOM,
    ROW_COUNT,
    SIDES,
    RowGuard,
    column_of,
)
from gpusched_dsl.policies.workload import NONE


class LaterRows(NamedTuple):
    """The segments of all rows: row r begins with segment r."""

    following: Ints  # (S,)
    start: Floats  # (S,) time from now
    left: Floats  # (S,) infinite: the row is not asked
    taken: Ints  # (1,) segments in use, 0 before the first reservation


@compiled
def no_later_rows(guard: RowGuard | None, jobs: int) -> LaterRows:
    """The rows before the first reservation, with space for the stays of so many jobs."""
    size = 0
    if guard is not None:
        ints, most = guard.ints, 0
        for c in range(ints[COLUMN_COUNT]):
            rows = 0
            for at in range(ints[ints[COLUMN_STARTS] + c], ints[ints[COLUMN_STARTS] + c + 1]):
                rows += guard.floats[ints[FIRST_ROOM] + ints[ints[COLUMN_ROWS] + at]] < NEVER
            most = max(most, rows)
        size = ints[ROW_COUNT] + 2 * jobs * most
    return LaterRows(np.full(size, NONE), np.zeros(size), np.zeros(size), np.zeros(1, np.int64))


@compiled_in_place
def begin_later_rows(later: LaterRows, guard: RowGuard, node: Ints, way: Ints, time: Floats) -> None:
    """Enter the jobs that run now, each until its end; `time` is that of each way."""
    for r in range(guard.ints[ROW_COUNT]):
        later.left[r] = guard.floats[guard.ints[FIRST_ROOM] + r]
    later.taken[0] = guard.ints[ROW_COUNT]
    for j in range(len(node)):
        if node[j] != NONE:
            stay(later, guard, column_of(guard, way[j], node[j]), 0.0, time[way[j]])


@compiled_in_place
def stay(later: LaterRows, guard: RowGuard, c: int, start: float, time: float) -> None:
    """Take from the rows of a column what its job needs, from a start for so long."""
    ints = guard.ints
    if c == NONE:
        return
    for at in range(ints[ints[COLUMN_STARTS] + c], ints[ints[COLUMN_STARTS] + c + 1]):
        r, a = ints[ints[COLUMN_ROWS] + at], abs(guard.floats[ints[COLUMN_VALUES] + at])
        if later.left[r] < NEVER and a > 0.0:
            _take(later, r, a, start, end_at(start, time))


@compiled_in_place
def _take(later: LaterRows, r: int, a: float, start: float, end: float) -> None:
    segment = _segment_at(later, r, start)
    if later.start[segment] < start:
        segment = _split(later, segment, start)
    while segment != NONE and not has_ended(later.start[segment], end):
        after = later.following[segment]
        until = NEVER if after == NONE else float(later.start[after])
        if end < NEVER and until > end + SLACK * max(1.0, end):
            _split(later, segment, end)
        later.left[segment] -= a
        segment = later.following[segment]


@compiled_in_place
def _segment_at(later: LaterRows, segment: int, time: float) -> int:
    """The segment that has a time in it, from an earlier one of its row on."""
    while later.following[segment] != NONE and later.start[later.following[segment]] <= time:
        segment = later.following[segment]
    return int(segment)


@compiled_in_place
def _split(later: LaterRows, segment: int, at: float) -> int:
    """Begin a segment at a time within another one; return it."""
    new = later.taken[0]
    later.taken[0] += 1
    later.following[new], later.following[segment] = later.following[segment], new
    later.start[new], later.left[new] = at, later.left[segment]
    return int(new)


@compiled_in_place
def leave_room(later: LaterRows, guard: RowGuard, c: int, time: float) -> bool:
    """Whether a job that starts now and runs for so long leaves all reservations what they need of rows."""
    return later.taken[0] == 0 or first_start(later, guard, c, 0.0, time, np.nextafter(0.0, 1.0)) == 0.0


@compiled_in_place
def first_start(later: LaterRows, guard: RowGuard, c: int, start: float, time: float, before: float) -> float:
    """The first start, not earlier than one and before a time, from which the rows of a column have room for so long.

    Infinite if there is none.
    """
    ints, floats = guard.ints, guard.floats
    if c == NONE:
        return NEVER
    again = True
    while again and start < before:
        again = False
        for at in range(ints[ints[COLUMN_STARTS] + c], ints[ints[COLUMN_STARTS] + c + 1]):
            r, a = ints[ints[COLUMN_ROWS] + at], abs(floats[ints[COLUMN_VALUES] + at])
            if later.left[r] == NEVER or a == 0.0:
                continue
            possible = _first_start_of_row(later, r, a - floats[ints[SIDES] + 4 * r + 2], start, time)
            if possible > start:
                start, again = possible, True
                if start >= before:
                    break
    return float(start) if start < before else NEVER


@compiled_in_place
def _first_start_of_row(later: LaterRows, r: int, a: float, start: float, time: float) -> float:
    """The first start, not earlier than one, from which a row has so much left for so long; infinite if there is none.

    If a segment has less, all starts before its end fail.
    """
    segment = _segment_at(later, r, start)
    at, end = segment, end_at(start, time)
    while at != NONE and not has_ended(later.start[at], end):
        after = later.following[at]
        if later.left[at] < a:
            if after == NONE:
                return NEVER
            start = float(later.start[after])
            end = end_at(start, time)
        at = after
    return float(start)
