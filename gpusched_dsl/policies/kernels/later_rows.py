"""What rows of a model have left at later times, for reservations: rows that limit a sum over the jobs that run.

Such a row, `sum a x <= b` with `a >= 0` over places of jobs, has at each time `b` less the sum over the jobs that run
or are reserved then. Each row is a list of segments, as a node is in `future.py`. Before the first reservation no row
has less left than now, so nothing is kept until then.

Rows that read other variables (`run[j, n] <= serves[user[j], n]`) are asked by a guard without any job: the jobs of a
time are entered, those that such rows link to a place, and then it tells whether it admits one more. The jobs of a
time become more only where a reservation starts. Rows that demand something are not asked at later times.
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
    mark,
    take,
    undo,
)
from gpusched_dsl.policies.workload import NONE


class LaterRows(NamedTuple):
    """The segments of all rows: row r begins with segment r."""

    following: Ints  # (S,)
    start: Floats  # (S,) time from now
    left: Floats  # (S,) infinite: the row is not asked
    taken: Ints  # (1,) segments in use, 0 before the first reservation
    # --- stays of jobs in places that rows with other variables link: a list for each part of linked columns
    head: Ints  # (P,) the last stay of a part, NONE
    previous: Ints  # (J,)
    column: Ints  # (J,)
    begin: Floats  # (J,)
    end: Floats  # (J,)
    stays: Ints  # (1,)


class LinkedRows(NamedTuple):
    """The rows that read other variables: a guard without any job, with no column if there are none."""

    guard: RowGuard
    part: Ints  # (C,) the columns that rows link have the same number, NONE: the column is in none


@compiled
def no_linked_rows() -> LinkedRows:
    """No rows that read other variables."""
    return LinkedRows(RowGuard(np.zeros(0, np.int64), np.zeros(0)), np.zeros(0, np.int64))


@compiled
def no_later_rows(guard: RowGuard | None, linked: LinkedRows, jobs: int) -> LaterRows:
    """The rows before the first reservation, with space for the stays of so many jobs."""
    size, parts = 0, 0
    for part in linked.part:
        parts = max(parts, part + 1)
    if guard is not None:
        ints, most = guard.ints, 0
        for c in range(ints[COLUMN_COUNT]):
            rows = 0
            for at in range(ints[ints[COLUMN_STARTS] + c], ints[ints[COLUMN_STARTS] + c + 1]):
                rows += guard.floats[ints[FIRST_ROOM] + ints[ints[COLUMN_ROWS] + at]] < NEVER
            most = max(most, rows)
        size = ints[ROW_COUNT] + 2 * jobs * most
    known = jobs if parts > 0 else 0
    return LaterRows(
        np.full(size, NONE), np.zeros(size), np.zeros(size), np.zeros(1, np.int64), np.full(parts, NONE),
        np.full(known, NONE), np.zeros(known, np.int64), np.zeros(known), np.zeros(known), np.zeros(1, np.int64),
    )  # fmt: skip


@compiled_in_place
def begin_later_rows(
    later: LaterRows, guard: RowGuard, linked: LinkedRows, node: Ints, way: Ints, time: Floats
) -> None:
    """Enter the jobs that run now, each until its end; `time` is that of each way."""
    for r in range(guard.ints[ROW_COUNT]):
        later.left[r] = guard.floats[guard.ints[FIRST_ROOM] + r]
    later.taken[0] = guard.ints[ROW_COUNT]
    for j in range(len(node)):
        if node[j] != NONE:
            stay(later, guard, linked, column_of(guard, way[j], node[j]), 0.0, time[way[j]])


@compiled_in_place
def stay(later: LaterRows, guard: RowGuard, linked: LinkedRows, c: int, start: float, time: float) -> None:
    """Take from the rows of a column what its job needs, from a start for so long."""
    ints = guard.ints
    if c == NONE:
        return
    for at in range(ints[ints[COLUMN_STARTS] + c], ints[ints[COLUMN_STARTS] + c + 1]):
        r, a = ints[ints[COLUMN_ROWS] + at], abs(guard.floats[ints[COLUMN_VALUES] + at])
        if later.left[r] < NEVER and a > 0.0:
            _take(later, r, a, start, end_at(start, time))
    if len(linked.part) > 0 and linked.part[c] != NONE:
        new, part = later.stays[0], linked.part[c]
        later.stays[0] += 1
        later.column[new], later.begin[new], later.end[new] = c, start, end_at(start, time)
        later.previous[new], later.head[part] = later.head[part], new


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
def leave_room(later: LaterRows, guard: RowGuard, linked: LinkedRows, c: int, time: float) -> bool:
    """Whether a job that starts now and runs for so long leaves all reservations what they need of rows."""
    if later.taken[0] == 0:
        return True
    if _first_start_of_sums(later, guard, c, 0.0, time, np.nextafter(0.0, 1.0)) > 0.0:
        return False
    return len(linked.part) == 0 or linked.part[c] == NONE or _links_admit(later, linked, c, 0.0, time, False)


@compiled_in_place
def first_start(
    later: LaterRows, guard: RowGuard, linked: LinkedRows, c: int, start: float, time: float, before: float
) -> float:
    """The first start, not earlier than one and before a time, from which rows let a column have its job for so long.

    Infinite if there is none.
    """
    while True:
        start = _first_start_of_sums(later, guard, c, start, time, before)
        if start == NEVER or len(linked.part) == 0 or linked.part[c] == NONE:
            return float(start)
        if _links_admit(later, linked, c, start, time, True):
            return float(start)
        start = _next_end(later, linked.part[c], start)


@compiled_in_place
def _links_admit(later: LaterRows, linked: LinkedRows, c: int, start: float, time: float, at_start: bool) -> bool:
    """Whether linked rows admit a stay wherever a reservation starts during it, and perhaps at its own start."""
    part, end = linked.part[c], end_at(start, time)
    if at_start and not _links_admit_at(later, linked, c, start):
        return False
    other = later.head[part]
    while other != NONE:
        begin = later.begin[other]
        if begin > start and not has_ended(begin, end) and not _links_admit_at(later, linked, c, begin):
            return False
        other = later.previous[other]
    return True


@compiled_in_place
def _links_admit_at(later: LaterRows, linked: LinkedRows, c: int, time: float) -> bool:
    """Whether linked rows admit a column beside the jobs of a time; those that break rows already are left out."""
    guard = linked.guard
    undo(guard, 0)
    other = later.head[linked.part[c]]
    while other != NONE:
        if later.begin[other] <= time and not has_ended(time, later.end[other]):
            at = mark(guard)
            if not take(guard, later.column[other], 1.0):
                undo(guard, at)
        other = later.previous[other]
    fits = take(guard, c, 1.0)
    undo(guard, 0)
    return fits


@compiled_in_place
def _next_end(later: LaterRows, part: int, time: float) -> float:
    """The next end of a stay after a time, infinite if there is none."""
    found, other = NEVER, later.head[part]
    while other != NONE:
        if later.end[other] < found and not has_ended(time, later.end[other]):
            found = later.end[other]
        other = later.previous[other]
    return float(found)


@compiled_in_place
def _first_start_of_sums(later: LaterRows, guard: RowGuard, c: int, start: float, time: float, before: float) -> float:
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
