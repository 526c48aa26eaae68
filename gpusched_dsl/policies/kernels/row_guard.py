"""The rows of a model that roles do not explain, asked by kernels: may a job run in this way on this node?

A kernel takes a `RowGuard`, or None where roles explain all rows. It uses the guard in this way:

    restart(guard)                               # before a pass: the state with the jobs that run already
    if guard is not None and not admits(guard, way, node): ...   # the next candidate
    enter(guard, way, node)                      # behind `put`: from now on the job is there
    at = mark(guard); ...; undo(guard, at)       # several columns of one job: all of them or none
    take(guard, c, k); largest_value(guard, c, k); at_most(guard, c, k)  # columns with values, such as workers
    holds(guard, node, way)                      # a plan as a whole, for changes of several jobs; it is entered then

Of every row the least and the largest value within the bounds of columns are kept up to date, the least one where the
row has an upper side, the largest one where it has a lower side: the sum of the finite terms and the number of infinite
ones. A column is tested by the rows that it is in, and where one of these reads other
variables, or demands something, its consequences are followed: a row `sum a_j x_j <= b` gives
`a_k (x_k - nearest bound) <= b - least value`. Such rows are `loud`. A row that only limits columns of the placement
needs no following: what it excludes is found when it is asked. Steps and tolerances are those of
`solving/primal/propagation.py`.

All arrays lie in two: each array that a compiled function takes costs the compiler a part of a second, for each
function. `GuardArrays` has them by name.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.tolerances import INTEGRALITY, LARGEST_BOUND, MEETING, STEP_WORTH
from gpusched_dsl.policies.kernels.compiled import compiled_in_place
from gpusched_dsl.policies.workload import NONE

# The head of `RowGuard.ints`: the lengths of the two trails; the last row that refused a column; the first of the rows
# that let a job run in one place at most; whether `holds` wants that what rows demand is there.
COLUMNS, ROWS, REFUSING, LIMITS, CLOSES = 0, 1, 2, 3, 4
# The numbers of rows, columns and jobs, of jobs with a row that limits them to one place, and the sizes of the trails.
ROW_COUNT, COLUMN_COUNT, JOB_COUNT, LIMITED_COUNT, COLUMN_TRAIL, ROW_TRAIL = 5, 6, 7, 8, 9, 10
# Where each array begins, in `ints` ...
FIRST, PLACE, COLUMN, ROW_STARTS, ROW_COLUMNS, COLUMN_STARTS, COLUMN_ROWS = 11, 12, 13, 14, 15, 16, 17
LOUD, DEEP, INTEGER, INFINITE, START_INFINITE, REFUSED, LIMITED, KEPT = 18, 19, 20, 21, 22, 23, 24, 25
TRAIL_COLUMN, TRAIL_ROW, TRAIL_INFINITE, QUEUE, QUEUED = 26, 27, 28, 29, 30
# ... and in `floats`.
ROW_VALUES, COLUMN_VALUES, SIDES, BOUNDS, START_BOUNDS, SUMS, START_SUMS, TRAIL_BOUNDS, TRAIL_SUMS, FIRST_ROOM = (
    31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
)  # fmt: skip
HEAD: Final = 41
_MOST_VISITS = 10_000  # of rows in one step: steps on continuous columns may go on for ever; a cut is sound
_LEAST, _MOST = 0, 1


class RowGuard(NamedTuple):
    """The arrays of `GuardArrays`, one after the other. The state is changed in place."""

    ints: Ints
    floats: Floats


class GuardArrays(NamedTuple):
    """C columns, M rows, E entries, W ways, N nodes, J jobs.

    The column of way w on node n is `column[first[w] + place[n]]`, NONE where the model has none.
    """

    first: Ints  # (W,)
    place: Ints  # (N,)
    column: Ints
    # --- rows
    row_starts: Ints  # (M + 1,)
    row_columns: Ints  # (E,)
    column_starts: Ints  # (C + 1,)
    column_rows: Ints  # (E,)
    loud: Ints  # (M,) 1: its consequences are followed
    deep: Ints  # (C,) 1: in a loud row
    integer: Ints  # (C,)
    # --- infinite terms of the least and the largest value, now and at the start of a pass
    infinite: Ints  # (M, 2)
    start_infinite: Ints  # (M, 2)
    # --- jobs
    refused: Ints  # (J,) the row that refused a job last, NONE: none did
    limited: Ints  # (rows from `LIMITS` on,) the jobs that these let run in one place at most
    kept: Ints  # (J, 2) node and way of jobs while another place of theirs is tried
    # --- trails of what is tried, and the rows to follow
    trail_column: Ints  # (T,)
    trail_row: Ints  # (U,)
    trail_infinite: Ints  # (U, 2)
    queue: Ints  # (M,)
    queued: Ints  # (M,)
    # --- numbers
    row_values: Floats  # (E,)
    column_values: Floats  # (E,)
    sides: Floats  # (M, 4) lower, upper, tolerance, and the most that a column may change the value by
    bounds: Floats  # (C, 2) lower, upper
    start_bounds: Floats  # (C, 2)
    sums: Floats  # (M, 2) least and largest value: the finite terms
    start_sums: Floats  # (M, 2)
    trail_bounds: Floats  # (T, 2)
    trail_sums: Floats  # (U, 2)
    first_room: Floats  # (M,) of a row that limits a sum over jobs: what it has left without any; infinite for others


_INTS: Final = 20  # arrays of integers; the others are of numbers


def guard_with(arrays: GuardArrays, limits: int) -> RowGuard:
    """Return a guard with copies of arrays; rows from `limits` on let a job run in one place at most."""
    sizes = [array.size for array in arrays]
    ends = [HEAD + int(end) for end in np.cumsum(sizes[:_INTS])]
    number_ends = np.cumsum(sizes[_INTS:]).tolist()
    ints, floats = np.zeros(ends[-1], dtype=np.int64), np.zeros(number_ends[-1])
    ints[REFUSING], ints[LIMITS] = NONE, limits
    ints[ROW_COUNT], ints[COLUMN_COUNT], ints[JOB_COUNT] = len(arrays.loud), len(arrays.deep), len(arrays.refused)
    ints[LIMITED_COUNT], ints[COLUMN_TRAIL] = len(arrays.limited), len(arrays.trail_column)
    ints[ROW_TRAIL] = len(arrays.trail_row)
    ints[FIRST : QUEUED + 1] = [HEAD, *ends[:-1]]
    ints[ROW_VALUES : FIRST_ROOM + 1] = [0, *number_ends[:-1]]
    guard = RowGuard(ints, floats)
    for view, array in zip(_views(guard, [array.shape for array in arrays]), arrays, strict=True):
        view[...] = array
    return guard


def arrays_of(guard: RowGuard) -> GuardArrays:
    """Return the arrays of a guard, as views."""
    ints = guard.ints
    rows, columns, jobs = int(ints[ROW_COUNT]), int(ints[COLUMN_COUNT]), int(ints[JOB_COUNT])
    trail, row_trail = int(ints[COLUMN_TRAIL]), int(ints[ROW_TRAIL])
    ways, nodes = int(ints[PLACE] - ints[FIRST]), int(ints[COLUMN] - ints[PLACE])
    entries, places = int(ints[COLUMN_STARTS] - ints[ROW_COLUMNS]), int(ints[ROW_STARTS] - ints[COLUMN])
    shapes: list[tuple[int, ...]] = [
        (ways,), (nodes,), (places,), (rows + 1,), (entries,), (columns + 1,), (entries,), (rows,), (columns,),
        (columns,), (rows, 2), (rows, 2), (jobs,), (int(ints[LIMITED_COUNT]),), (jobs, 2), (trail,), (row_trail,),
        (row_trail, 2), (rows,), (rows,), (entries,), (entries,), (rows, 4), (columns, 2), (columns, 2), (rows, 2),
        (rows, 2), (trail, 2), (row_trail, 2), (rows,),
    ]  # fmt: skip
    return GuardArrays._make(_views(guard, shapes))


def _views(guard: RowGuard, shapes: list[tuple[int, ...]]) -> list[Ints | Floats]:
    starts = [*guard.ints[FIRST : QUEUED + 1].tolist(), *guard.ints[ROW_VALUES : FIRST_ROOM + 1].tolist()]
    found: list[Ints | Floats] = []
    for at, (start, shape) in enumerate(zip(starts, shapes, strict=True)):
        source = guard.ints if at < _INTS else guard.floats
        found.append(source[start : start + int(np.prod(shape))].reshape(shape))
    return found


@compiled_in_place
def restart(guard: RowGuard) -> None:
    """Return to the state at the start of a pass."""
    ints, floats = guard.ints, guard.floats
    now, then = ints[BOUNDS], ints[START_BOUNDS]
    for at in range(2 * ints[COLUMN_COUNT]):
        floats[now + at] = floats[then + at]
    now, then = ints[SUMS], ints[START_SUMS]
    open_now, open_then = ints[INFINITE], ints[START_INFINITE]
    for at in range(2 * ints[ROW_COUNT]):
        floats[now + at] = floats[then + at]
        ints[open_now + at] = ints[open_then + at]
    ints[COLUMNS], ints[ROWS] = 0, 0


@compiled_in_place
def column_of(guard: RowGuard, w: int, n: int) -> int:
    """The column of a way on a node, NONE where the model has none."""
    ints = guard.ints
    return int(ints[ints[COLUMN] + ints[ints[FIRST] + w] + ints[ints[PLACE] + n]])


@compiled_in_place
def begin_turn(guard: RowGuard, j: int) -> None:
    """No row has refused a job yet."""
    guard.ints[REFUSING] = NONE
    guard.ints[guard.ints[REFUSED] + j] = NONE


@compiled_in_place
def note_refusal(guard: RowGuard, j: int) -> None:
    """Remember the row that refused a job last."""
    guard.ints[guard.ints[REFUSED] + j] = guard.ints[REFUSING]


@compiled_in_place
def last_refusal(guard: RowGuard, j: int) -> int:
    """The row that refused a job last, NONE if none did."""
    return int(guard.ints[guard.ints[REFUSED] + j])


@compiled_in_place
def admits(guard: RowGuard, w: int, n: int) -> bool:
    """Whether a job may run in a way on a node, beside all that was entered."""
    ints = guard.ints
    c = column_of(guard, w, n)
    if c == NONE or not admits_value(guard, c, 1.0):
        return False
    if ints[ints[DEEP] + c] == 0:
        return True
    at = mark(guard)
    fits = take(guard, c, 1.0)
    undo(guard, at)
    return fits


@compiled_in_place
def admits_value(guard: RowGuard, c: int, value: float) -> bool:
    """Whether the bounds of a column and its rows, one by one, allow a value."""
    ints, floats = guard.ints, guard.floats
    low, high = floats[ints[BOUNDS] + 2 * c], floats[ints[BOUNDS] + 2 * c + 1]
    if value > high + INTEGRALITY or value < low - INTEGRALITY:
        ints[REFUSING] = _first_full(guard, c)
        return False
    rows, values, sides = ints[COLUMN_ROWS], ints[COLUMN_VALUES], ints[SIDES]
    for at in range(ints[ints[COLUMN_STARTS] + c], ints[ints[COLUMN_STARTS] + c + 1]):
        r, a = ints[rows + at], floats[values + at]
        near, far = (low, high) if a > 0 else (high, low)
        least_open, most_open = ints[ints[INFINITE] + 2 * r], ints[ints[INFINITE] + 2 * r + 1]
        least, most = floats[ints[SUMS] + 2 * r] + a * value, floats[ints[SUMS] + 2 * r + 1] + a * value
        if np.isinf(near):
            least_open -= 1
        else:
            least -= a * near
        if np.isinf(far):
            most_open -= 1
        else:
            most -= a * far
        slack = floats[sides + 4 * r + 2]
        if (least_open == 0 and least > floats[sides + 4 * r + 1] + slack) or (
            most_open == 0 and most < floats[sides + 4 * r] - slack
        ):
            ints[REFUSING] = r
            return False
    return True


@compiled_in_place
def largest_value(guard: RowGuard, c: int, limit: int) -> int:
    """The largest value of an integer column, up to a limit, that rows admit beside all that was entered; 0 if none."""
    ints, floats = guard.ints, guard.floats
    value = int(min(limit, np.floor(floats[ints[BOUNDS] + 2 * c + 1] + INTEGRALITY)))
    if value <= 0:
        ints[REFUSING] = _first_full(guard, c)
        return 0
    for at in range(ints[ints[COLUMN_STARTS] + c], ints[ints[COLUMN_STARTS] + c + 1]):
        r, a = ints[ints[COLUMN_ROWS] + at], floats[ints[COLUMN_VALUES] + at]
        if (
            a != 0
            and ints[ints[INFINITE] + 2 * r + (_LEAST if a > 0 else _MOST)] == 0
            and room_of(guard, r, a) < np.inf
        ):
            room = room_of(guard, r, a) + floats[ints[SIDES] + 4 * r + 2]
            admitted = np.floor(floats[ints[BOUNDS] + 2 * c] + room / abs(a))
            if admitted < value:
                value = int(max(admitted, 0.0))
                ints[REFUSING] = r
    while value > 0:
        at = mark(guard)
        if admits_value(guard, c, float(value)) and (ints[ints[DEEP] + c] == 0 or take(guard, c, float(value))):
            undo(guard, at)
            return value
        undo(guard, at)
        value -= 1
    return 0


@compiled_in_place
def room_of(guard: RowGuard, r: int, a: float) -> float:
    """What a row has left for a term with a coefficient of this sign."""
    sides, sums = guard.ints[SIDES] + 4 * r, guard.ints[SUMS] + 2 * r
    if a > 0:
        return float(guard.floats[sides + 1] - guard.floats[sums])
    return float(guard.floats[sums + 1] - guard.floats[sides])


@compiled_in_place
def lower_of(guard: RowGuard, c: int) -> float:
    """The lower bound of a column."""
    return float(guard.floats[guard.ints[BOUNDS] + 2 * c])


@compiled_in_place
def upper_of(guard: RowGuard, c: int) -> float:
    """The upper bound of a column."""
    return float(guard.floats[guard.ints[BOUNDS] + 2 * c + 1])


@compiled_in_place
def _first_full(guard: RowGuard, c: int) -> int:
    """The row of a column with the least room above its least value: it has most likely excluded the column."""
    ints, floats = guard.ints, guard.floats
    found, least = NONE, np.inf
    for at in range(ints[ints[COLUMN_STARTS] + c], ints[ints[COLUMN_STARTS] + c + 1]):
        r, a = ints[ints[COLUMN_ROWS] + at], floats[ints[COLUMN_VALUES] + at]
        room = room_of(guard, r, a)
        if room - abs(a) < least:
            found, least = r, room - abs(a)
    return int(found)


@compiled_in_place
def enter(guard: RowGuard, w: int, n: int) -> bool:
    """Let a job run in a way on a node; whether no row is known to be broken by that. It cannot be taken back."""
    fits = take(guard, column_of(guard, w, n), 1.0)
    commit(guard)
    return fits


@compiled_in_place
def holds(guard: RowGuard, node: Ints, way: Ints) -> bool:
    """Whether a plan breaks no row, as far as propagation finds out. It is entered then, else in part."""
    restart(guard)
    for j in range(len(node)):
        if node[j] == NONE:
            continue
        c = column_of(guard, way[j], node[j])
        if c == NONE or not take(guard, c, 1.0):
            return False
        commit(guard)
    return guard.ints[CLOSES] == 0 or close(guard, node, way)


@compiled_in_place
def close(guard: RowGuard, node: Ints, way: Ints) -> bool:
    """Let no other job run of those that rows demand; whether no row is broken by that."""
    ints = guard.ints
    for at in range(ints[LIMITED_COUNT]):
        j, own, r = ints[ints[LIMITED] + at], NONE, ints[LIMITS] + at
        if node[j] != NONE:
            own = column_of(guard, way[j], node[j])
        for entry in range(ints[ints[ROW_STARTS] + r], ints[ints[ROW_STARTS] + r + 1]):
            c = ints[ints[ROW_COLUMNS] + entry]
            if c != own and not _close_column(guard, c):
                return False
    return True


@compiled_in_place
def _close_column(guard: RowGuard, c: int) -> bool:
    """Let a job not run in a way on a node; whether no row is broken by that."""
    if upper_of(guard, c) == 0.0:
        return True
    if lower_of(guard, c) > 0.0:  # the rows have no other choice left
        guard.ints[REFUSING] = _row_that_needs(guard, c)
        return False
    fits = take(guard, c, 0.0)
    commit(guard)
    return fits


@compiled_in_place
def holds_values(guard: RowGuard, column: Ints, point: Floats) -> bool:
    """Whether a plan breaks no row once no other job runs, as far as propagation finds out.

    `column`: those of the plan; `point`: the values of all columns of the placement.
    """
    ints = guard.ints
    restart(guard)
    for c in column:
        if c == NONE or not take(guard, c, point[c]):
            return False
        commit(guard)
    for r in range(ints[LIMITS], ints[LIMITS] + ints[LIMITED_COUNT]):
        for entry in range(ints[ints[ROW_STARTS] + r], ints[ints[ROW_STARTS] + r + 1]):
            c = ints[ints[ROW_COLUMNS] + entry]
            if point[c] == 0.0 and not _close_column(guard, c):
                return False
    return True


@compiled_in_place
def refused_if_closed(guard: RowGuard, column: Ints, point: Floats, refused: Bools) -> None:
    """Set which columns of a plan, one after the other, break a row once it is known that no other job runs."""
    ints = guard.ints
    restart(guard)
    for r in range(ints[LIMITS], ints[LIMITS] + ints[LIMITED_COUNT]):
        for entry in range(ints[ints[ROW_STARTS] + r], ints[ints[ROW_STARTS] + r + 1]):
            c = ints[ints[ROW_COLUMNS] + entry]
            if point[c] == 0.0 and lower_of(guard, c) <= 0.0:
                if not take(guard, c, 0.0):
                    undo(guard, 0)
                commit(guard)
    for at in range(len(column)):
        refused[at] = column[at] == NONE or not take(guard, column[at], point[column[at]])
        if refused[at]:
            undo(guard, 0)
        commit(guard)


@compiled_in_place
def _row_that_needs(guard: RowGuard, c: int) -> int:
    """A row that is broken without a column."""
    ints, floats = guard.ints, guard.floats
    for at in range(ints[ints[COLUMN_STARTS] + c], ints[ints[COLUMN_STARTS] + c + 1]):
        r, a = ints[ints[COLUMN_ROWS] + at], floats[ints[COLUMN_VALUES] + at]
        slack, own = floats[ints[SIDES] + 4 * r + 2], abs(a) * upper_of(guard, c)
        if a != 0 and room_of(guard, r, -a) < own - slack:
            return int(r)
    return NONE


@compiled_in_place
def holds_with(guard: RowGuard | None, node: Ints, way: Ints, j: int, w: int) -> bool:
    """Whether a plan breaks no row once a job runs in another way on its node."""
    if guard is None:
        return True
    old = way[j]
    way[j] = w
    fits = holds(guard, node, way)
    way[j] = old
    return fits


@compiled_in_place
def keep_place(guard: RowGuard, j: int, n: int, w: int) -> None:
    """Note the place of a job while another one is tried."""
    guard.ints[guard.ints[KEPT] + 2 * j] = n
    guard.ints[guard.ints[KEPT] + 2 * j + 1] = w


@compiled_in_place
def kept_node(guard: RowGuard, j: int) -> int:
    """The node that was noted for a job."""
    return int(guard.ints[guard.ints[KEPT] + 2 * j])


@compiled_in_place
def kept_way(guard: RowGuard, j: int) -> int:
    """The way that was noted for a job."""
    return int(guard.ints[guard.ints[KEPT] + 2 * j + 1])


@compiled_in_place
def mark(guard: RowGuard) -> int:
    """The place of the trails now, for `undo`: that of the columns times 2 ** 31, plus that of the rows."""
    return int(guard.ints[COLUMNS] * 2147483648 + guard.ints[ROWS])


@compiled_in_place
def commit(guard: RowGuard) -> None:
    """Forget the trails: all that was taken stays."""
    guard.ints[COLUMNS] = 0
    guard.ints[ROWS] = 0


@compiled_in_place
def undo(guard: RowGuard, at: int) -> None:
    """Take all back since a mark, exactly."""
    ints, floats = guard.ints, guard.floats
    columns, rows = at // 2147483648, at % 2147483648
    for place in range(ints[COLUMNS] - 1, columns - 1, -1):
        c = ints[ints[TRAIL_COLUMN] + place]
        for bound in range(2):
            floats[ints[BOUNDS] + 2 * c + bound] = floats[ints[TRAIL_BOUNDS] + 2 * place + bound]
    for place in range(ints[ROWS] - 1, rows - 1, -1):
        r = ints[ints[TRAIL_ROW] + place]
        for side in range(2):
            floats[ints[SUMS] + 2 * r + side] = floats[ints[TRAIL_SUMS] + 2 * place + side]
            ints[ints[INFINITE] + 2 * r + side] = ints[ints[TRAIL_INFINITE] + 2 * place + side]
    ints[COLUMNS], ints[ROWS] = columns, rows


@compiled_in_place
def take(guard: RowGuard, c: int, value: float) -> bool:
    """Give a column a value and follow its consequences; whether no row is broken. Else the caller takes it back."""
    ints, floats = guard.ints, guard.floats
    low, high = floats[ints[BOUNDS] + 2 * c], floats[ints[BOUNDS] + 2 * c + 1]
    if value > high + INTEGRALITY or value < low - INTEGRALITY:
        ints[REFUSING] = _first_full(guard, c)
        return False
    if low == value and high == value:
        return True
    pending = _set_bounds(guard, c, value, value, 0, 0)
    if pending == NONE:
        return False
    for at in range(ints[ints[COLUMN_STARTS] + c], ints[ints[COLUMN_STARTS] + c + 1]):
        r = ints[ints[COLUMN_ROWS] + at]
        if ints[ints[LOUD] + r] == 0 and is_broken(guard, r):
            ints[REFUSING] = r
            _empty_queue(guard, 0, pending)
            return False
    return _follow(guard, pending)


@compiled_in_place
def at_most(guard: RowGuard, c: int, high: float) -> bool:
    """Give a column an upper bound and follow its consequences; whether no row is broken. Else as with `take`."""
    low = lower_of(guard, c)
    if high >= upper_of(guard, c):
        return True
    pending = NONE if high < low else _set_bounds(guard, c, low, high, 0, 0)
    return pending != NONE and _follow(guard, pending)


@compiled_in_place
def settle(guard: RowGuard) -> bool:
    """Follow the consequences of all rows; whether none is broken."""
    ints = guard.ints
    for r in range(ints[ROW_COUNT]):
        ints[ints[QUEUE] + r] = r
        ints[ints[QUEUED] + r] = 1
    return _follow(guard, ints[ROW_COUNT])


@compiled_in_place
def is_broken(guard: RowGuard, r: int) -> bool:
    """Whether no values within the bounds satisfy a row."""
    ints, floats = guard.ints, guard.floats
    side, sums, infinite = ints[SIDES] + 4 * r, ints[SUMS] + 2 * r, ints[INFINITE] + 2 * r
    slack = floats[side + 2]
    return bool(
        (ints[infinite] == 0 and floats[sums] > floats[side + 1] + slack)
        or (ints[infinite + 1] == 0 and floats[sums + 1] < floats[side] - slack)
    )


@compiled_in_place
def _set_bounds(guard: RowGuard, c: int, low: float, high: float, head: int, pending: int) -> int:
    """Change the bounds of a column and the sums of its rows; loud ones are queued. The length of the queue then.

    NONE where the trails have no place left: nothing is changed then.
    """
    ints, floats = guard.ints, guard.floats
    at, row_at, size = ints[COLUMNS], ints[ROWS], ints[ROW_COUNT]
    first, last = ints[ints[COLUMN_STARTS] + c], ints[ints[COLUMN_STARTS] + c + 1]
    if at == ints[COLUMN_TRAIL] or row_at + last - first > ints[ROW_TRAIL]:
        return NONE
    bounds, kept = ints[BOUNDS] + 2 * c, ints[TRAIL_BOUNDS] + 2 * at
    old_low, old_high = floats[bounds], floats[bounds + 1]
    rises, falls = low != old_low, high != old_high
    ints[ints[TRAIL_COLUMN] + at] = c
    floats[kept], floats[kept + 1] = old_low, old_high
    ints[COLUMNS] = at + 1
    for entry in range(first, last):
        r, a = ints[ints[COLUMN_ROWS] + entry], floats[ints[COLUMN_VALUES] + entry]
        sides = ints[SIDES] + 4 * r
        # Only a least value below a finite upper side is read, and a largest one above a finite lower side. To close a
        # column changes nothing in a row that only limits it.
        if not ((rises if a > 0 else falls) and floats[sides + 1] < np.inf) and not (
            (falls if a > 0 else rises) and floats[sides] > -np.inf
        ):
            continue
        sums, infinite = ints[SUMS] + 2 * r, ints[INFINITE] + 2 * r
        ints[ints[TRAIL_ROW] + row_at] = r
        for side in range(2):
            floats[ints[TRAIL_SUMS] + 2 * row_at + side] = floats[sums + side]
            ints[ints[TRAIL_INFINITE] + 2 * row_at + side] = ints[infinite + side]
        row_at += 1
        for bound in range(2):
            old, new = (old_low, low) if bound == 0 else (old_high, high)
            if old == new:
                continue
            side = _LEAST if (bound == 0) == (a > 0) else _MOST
            if np.isinf(old):
                ints[infinite + side] -= 1
                floats[sums + side] += a * new
            else:
                floats[sums + side] += a * (new - old)
        if ints[ints[LOUD] + r] == 1 and ints[ints[QUEUED] + r] == 0:
            ints[ints[QUEUED] + r] = 1
            ints[ints[QUEUE] + (head + pending) % size] = r
            pending += 1
    ints[ROWS] = row_at
    floats[bounds], floats[bounds + 1] = low, high
    return pending


@compiled_in_place
def _empty_queue(guard: RowGuard, head: int, pending: int) -> None:
    ints = guard.ints
    for at in range(head, head + pending):
        ints[ints[QUEUED] + ints[ints[QUEUE] + at % ints[ROW_COUNT]]] = 0


@compiled_in_place
def _follow(guard: RowGuard, pending: int) -> bool:
    """Follow the rows in the queue; whether none is broken. `REFUSING` is the one that is."""
    ints, floats = guard.ints, guard.floats
    head, visits, size = 0, 0, ints[ROW_COUNT]
    while pending > 0:
        visits += 1
        if visits > _MOST_VISITS + size:
            _empty_queue(guard, head, pending)
            return True
        r = ints[ints[QUEUE] + head]
        head, pending = (head + 1) % size, pending - 1
        ints[ints[QUEUED] + r] = 0
        if is_broken(guard, r):
            ints[REFUSING] = r
            _empty_queue(guard, head, pending)
            return False
        sides = ints[SIDES] + 4 * r
        room = floats[sides + 1] - floats[ints[SUMS] + 2 * r]
        excess = floats[sides] - floats[ints[SUMS] + 2 * r + 1]
        least_open, most_open = ints[ints[INFINITE] + 2 * r], ints[ints[INFINITE] + 2 * r + 1]
        reach = floats[sides + 3]
        above = (least_open == 0 and room < reach) or (least_open == 1 and room < np.inf)
        below = (most_open == 0 and -excess < reach) or (most_open == 1 and excess > -np.inf)
        room, excess = max(room, 0.0), min(excess, 0.0)
        if not above and not below:
            continue
        for entry in range(ints[ints[ROW_STARTS] + r], ints[ints[ROW_STARTS] + r + 1]):
            c, a = ints[ints[ROW_COLUMNS] + entry], floats[ints[ROW_VALUES] + entry]
            low, high = floats[ints[BOUNDS] + 2 * c], floats[ints[BOUNDS] + 2 * c + 1]
            if low >= high:
                continue
            integer = ints[ints[INTEGER] + c] == 1
            new_low, new_high = low, high
            if above:
                new_low, new_high = _implied(low, high, integer, a, room, least_open, True, new_low, new_high)
            if below:
                new_low, new_high = _implied(low, high, integer, a, excess, most_open, False, new_low, new_high)
            if new_low == low and new_high == high:
                continue
            measure = max(1.0, abs(new_low if np.isfinite(new_low) else new_high))
            if new_low - new_high > (0.5 if integer else INTEGRALITY * measure):
                ints[REFUSING] = r
                _empty_queue(guard, head, pending)
                return False
            if new_low > new_high - MEETING * measure:
                new_low = min(max(new_low, low), new_high)
                new_high = new_low
            more = _set_bounds(guard, c, new_low, new_high, head, pending)
            if more == NONE:  # no place to remember it: what is known without it is sound
                _empty_queue(guard, head, pending)
                return True
            pending = more
    return True


@compiled_in_place
def _implied(
    lower: float, upper: float, integer: bool, a: float, room: float, infinite: int, at_most: bool, low: float,
    high: float,
) -> tuple[float, float]:  # fmt: skip
    """The bounds of a column by one side of a row that has `room` left."""
    near = lower if (a > 0) == at_most else upper
    alone = np.isinf(near)
    if a == 0 or (infinite == 1) != alone:
        return low, high
    bound = (0.0 if alone else near) + room / a
    is_upper = (a > 0) == at_most
    if integer:
        slack = INTEGRALITY * max(1.0, abs(bound))
        bound = np.floor(bound + slack) if is_upper else np.ceil(bound - slack)
    width = upper - lower
    worth = 0.5 if integer else (STEP_WORTH * width + MEETING if np.isfinite(width) else 0.0)
    gain = upper - bound if is_upper else bound - lower
    if not gain > worth or abs(bound) >= LARGEST_BOUND:
        return low, high
    return (low, min(high, bound)) if is_upper else (max(low, bound), high)
