"""The rows of a model that roles do not explain, asked by kernels: may a job run in this way on this node?

A kernel takes a `RowGuard`, or None where roles explain all rows. It uses the guard in this way:

    restart(guard)                               # before a pass: the state with the jobs that run already
    if guard is not None and not admits(guard, way, node): ...   # the next candidate
    enter(guard, way, node)                      # behind `put`: from now on the job is there
    at = mark(guard); ...; undo(guard, at)       # several columns of one job: all of them or none
    take(guard, c, k); largest_value(guard, c, k); at_most(guard, c, k)  # columns with values, such as workers
    holds(guard, node, way)                      # a plan as a whole, for changes of several jobs; it is entered then

Of every row the least and the largest value within the bounds of columns are kept up to date: the sum of the finite
terms and the number of infinite ones. A column is tested by the rows that it is in, and where one of these reads other
variables, or demands something, its consequences are followed: a row `sum a_j x_j <= b` gives
`a_k (x_k - nearest bound) <= b - least value`. Such rows are `loud`. A row that only limits columns of the placement
needs no following: what it excludes is found when it is asked. Steps and tolerances are those of
`solving/primal/propagation.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.tolerances import INTEGRALITY, LARGEST_BOUND, MEETING, STEP_WORTH
from gpusched_dsl.policies.kernels.compiled import compiled_in_place
from gpusched_dsl.policies.workload import NONE

# Places in `RowGuard.counts`: the length of the two trails; the last row that refused a column; the first of the rows
# that let a job run in one place at most; whether `holds` wants that what rows demand is there.
COLUMNS, ROWS, REFUSING, LIMITS, CLOSES = 0, 1, 2, 3, 4
_MOST_VISITS = 10_000  # of rows in one step: steps on continuous columns may go on for ever; a cut is sound
_LEAST, _MOST = 0, 1


class RowGuard(NamedTuple):
    """C columns, M rows, E entries, W ways, N nodes, J jobs. The state is changed in place.

    The column of way w on node n is `column[first[w] + place[n]]`, NONE where the model has none.
    """

    first: Ints  # (W,)
    place: Ints  # (N,)
    column: Ints
    # --- rows
    row_starts: Ints  # (M + 1,)
    row_columns: Ints  # (E,)
    row_values: Floats  # (E,)
    column_starts: Ints  # (C + 1,)
    column_rows: Ints  # (E,)
    column_values: Floats  # (E,)
    sides: Floats  # (M, 4) lower, upper, tolerance, and the most that a column may change the value by
    loud: Bools  # (M,) its consequences are followed
    deep: Bools  # (C,) in a loud row
    integer: Bools  # (C,)
    # --- state at the start of a pass, and now
    start_bounds: Floats  # (C, 2) lower, upper
    start_sums: Floats  # (M, 2) least and largest value: the finite terms
    start_infinite: Ints  # (M, 2) the number of infinite terms
    bounds: Floats
    sums: Floats
    infinite: Ints
    refusing: Ints  # (J,) the row that refused a job last, NONE: none did
    limited: Ints  # (rows from `counts[LIMITS]` on,) the jobs that these let run in one place at most
    kept: Ints  # (J, 2) node and way of jobs while another place of theirs is tried
    # --- trails of what is tried, and the rows to follow
    trail_column: Ints
    trail_bounds: Floats  # (T, 2)
    trail_row: Ints
    trail_sums: Floats  # (U, 2)
    trail_infinite: Ints  # (U, 2)
    queue: Ints  # (M,)
    queued: Bools  # (M,)
    counts: Ints


@compiled_in_place
def restart(guard: RowGuard) -> None:
    """Return to the state at the start of a pass."""
    for c in range(len(guard.bounds)):
        guard.bounds[c, 0], guard.bounds[c, 1] = guard.start_bounds[c, 0], guard.start_bounds[c, 1]
    for r in range(len(guard.sums)):
        for side in range(2):
            guard.sums[r, side] = guard.start_sums[r, side]
            guard.infinite[r, side] = guard.start_infinite[r, side]
    commit(guard)


@compiled_in_place
def column_of(guard: RowGuard, w: int, n: int) -> int:
    """The column of a way on a node, NONE where the model has none."""
    return int(guard.column[guard.first[w] + guard.place[n]])


@compiled_in_place
def admits(guard: RowGuard, w: int, n: int) -> bool:
    """Whether a job may run in a way on a node, beside all that was entered."""
    c = guard.column[guard.first[w] + guard.place[n]]
    if c == NONE or not admits_value(guard, c, 1.0):
        return False
    if not guard.deep[c]:
        return True
    at = mark(guard)
    fits = take(guard, c, 1.0)
    undo(guard, at)
    return fits


@compiled_in_place
def admits_value(guard: RowGuard, c: int, value: float) -> bool:
    """Whether the bounds of a column and its rows, one by one, allow a value."""
    if value > guard.bounds[c, 1] + INTEGRALITY or value < guard.bounds[c, 0] - INTEGRALITY:
        guard.counts[REFUSING] = _first_full(guard, c)
        return False
    for at in range(guard.column_starts[c], guard.column_starts[c + 1]):
        r, a = guard.column_rows[at], guard.column_values[at]
        near, far = (guard.bounds[c, 0], guard.bounds[c, 1]) if a > 0 else (guard.bounds[c, 1], guard.bounds[c, 0])
        least_open, most_open = guard.infinite[r, _LEAST], guard.infinite[r, _MOST]
        least, most = guard.sums[r, _LEAST] + a * value, guard.sums[r, _MOST] + a * value
        if np.isinf(near):
            least_open -= 1
        else:
            least -= a * near
        if np.isinf(far):
            most_open -= 1
        else:
            most -= a * far
        if (least_open == 0 and least > guard.sides[r, 1] + guard.sides[r, 2]) or (
            most_open == 0 and most < guard.sides[r, 0] - guard.sides[r, 2]
        ):
            guard.counts[REFUSING] = r
            return False
    return True


@compiled_in_place
def largest_value(guard: RowGuard, c: int, limit: int) -> int:
    """The largest value of an integer column, up to a limit, that rows admit beside all that was entered; 0 if none."""
    value = int(min(limit, np.floor(guard.bounds[c, 1] + INTEGRALITY)))
    if value <= 0:
        guard.counts[REFUSING] = _first_full(guard, c)
        return 0
    for at in range(guard.column_starts[c], guard.column_starts[c + 1]):
        r, a = guard.column_rows[at], guard.column_values[at]
        room = guard.sides[r, 1] - guard.sums[r, _LEAST] if a > 0 else guard.sums[r, _MOST] - guard.sides[r, 0]
        if a != 0 and room < np.inf and guard.infinite[r, _LEAST if a > 0 else _MOST] == 0:
            admitted = np.floor(guard.bounds[c, 0] + (room + guard.sides[r, 2]) / abs(a))
            if admitted < value:
                value = int(max(admitted, 0.0))
                guard.counts[REFUSING] = r
    while value > 0:
        at = mark(guard)
        if admits_value(guard, c, float(value)) and (not guard.deep[c] or take(guard, c, float(value))):
            undo(guard, at)
            return value
        undo(guard, at)
        value -= 1
    return 0


@compiled_in_place
def _first_full(guard: RowGuard, c: int) -> int:
    """The row of a column with the least room above its least value: it has most likely excluded the column."""
    found, least = NONE, np.inf
    for at in range(guard.column_starts[c], guard.column_starts[c + 1]):
        r, a = guard.column_rows[at], guard.column_values[at]
        room = guard.sides[r, 1] - guard.sums[r, _LEAST] if a > 0 else guard.sums[r, _MOST] - guard.sides[r, 0]
        if room - abs(a) < least:
            found, least = r, room - abs(a)
    return int(found)


@compiled_in_place
def enter(guard: RowGuard, w: int, n: int) -> bool:
    """Let a job run in a way on a node; whether no row is known to be broken by that. It cannot be taken back."""
    fits = take(guard, guard.column[guard.first[w] + guard.place[n]], 1.0)
    commit(guard)
    return fits


@compiled_in_place
def holds(guard: RowGuard, node: Ints, way: Ints) -> bool:
    """Whether a plan breaks no row, as far as propagation finds out. It is entered then, else in part."""
    restart(guard)
    for j in range(len(node)):
        if node[j] == NONE:
            continue
        c = guard.column[guard.first[way[j]] + guard.place[node[j]]]
        if c == NONE or not take(guard, c, 1.0):
            return False
        commit(guard)
    return guard.counts[CLOSES] == 0 or close(guard, node, way)


@compiled_in_place
def close(guard: RowGuard, node: Ints, way: Ints) -> bool:
    """Let no other job run of those that rows demand; whether no row is broken by that."""
    for at in range(len(guard.limited)):
        j, own, r = guard.limited[at], NONE, guard.counts[LIMITS] + at
        if node[j] != NONE:
            own = guard.column[guard.first[way[j]] + guard.place[node[j]]]
        for entry in range(guard.row_starts[r], guard.row_starts[r + 1]):
            c = guard.row_columns[entry]
            if c != own and not _close_column(guard, c):
                return False
    return True


@compiled_in_place
def _close_column(guard: RowGuard, c: int) -> bool:
    """Let a job not run in a way on a node; whether no row is broken by that."""
    if guard.bounds[c, 1] == 0.0:
        return True
    if guard.bounds[c, 0] > 0.0:  # the rows have no other choice left
        guard.counts[REFUSING] = _row_that_needs(guard, c)
        return False
    fits = take(guard, c, 0.0)
    commit(guard)
    return fits


@compiled_in_place
def holds_values(guard: RowGuard, column: Ints, point: Floats) -> bool:
    """Whether a plan breaks no row once no other job runs, as far as propagation finds out.

    `column`: those of the plan; `point`: the values of all columns of the placement.
    """
    restart(guard)
    for c in column:
        if c == NONE or not take(guard, c, point[c]):
            return False
        commit(guard)
    for r in range(guard.counts[LIMITS], guard.counts[LIMITS] + len(guard.limited)):
        for entry in range(guard.row_starts[r], guard.row_starts[r + 1]):
            c = guard.row_columns[entry]
            if point[c] == 0.0 and not _close_column(guard, c):
                return False
    return True


@compiled_in_place
def refused_if_closed(guard: RowGuard, column: Ints, point: Floats, refused: Bools) -> None:
    """Set which columns of a plan, one after the other, break a row once it is known that no other job runs."""
    restart(guard)
    for r in range(guard.counts[LIMITS], guard.counts[LIMITS] + len(guard.limited)):
        for entry in range(guard.row_starts[r], guard.row_starts[r + 1]):
            c = guard.row_columns[entry]
            if point[c] == 0.0 and guard.bounds[c, 0] <= 0.0:
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
    for at in range(guard.column_starts[c], guard.column_starts[c + 1]):
        r, a = guard.column_rows[at], guard.column_values[at]
        low, high, slack = guard.sides[r, 0], guard.sides[r, 1], guard.sides[r, 2]
        own = a * guard.bounds[c, 1]
        if (a > 0 and guard.sums[r, _MOST] - own < low - slack) or (
            a < 0 and guard.sums[r, _LEAST] - own > high + slack
        ):
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
def mark(guard: RowGuard) -> int:
    """The place of the trails now, for `undo`: that of the columns times 2 ** 31, plus that of the rows."""
    return int(guard.counts[COLUMNS] * 2147483648 + guard.counts[ROWS])


@compiled_in_place
def commit(guard: RowGuard) -> None:
    """Forget the trails: all that was taken stays."""
    guard.counts[COLUMNS] = 0
    guard.counts[ROWS] = 0


@compiled_in_place
def undo(guard: RowGuard, at: int) -> None:
    """Take all back since a mark, exactly."""
    columns, rows = at // 2147483648, at % 2147483648
    for place in range(guard.counts[COLUMNS] - 1, columns - 1, -1):
        c = guard.trail_column[place]
        guard.bounds[c, 0], guard.bounds[c, 1] = guard.trail_bounds[place, 0], guard.trail_bounds[place, 1]
    for place in range(guard.counts[ROWS] - 1, rows - 1, -1):
        r = guard.trail_row[place]
        for side in range(2):
            guard.sums[r, side] = guard.trail_sums[place, side]
            guard.infinite[r, side] = guard.trail_infinite[place, side]
    guard.counts[COLUMNS], guard.counts[ROWS] = columns, rows


@compiled_in_place
def take(guard: RowGuard, c: int, value: float) -> bool:
    """Give a column a value and follow its consequences; whether no row is broken. Else the caller takes it back."""
    if value > guard.bounds[c, 1] + INTEGRALITY or value < guard.bounds[c, 0] - INTEGRALITY:
        guard.counts[REFUSING] = _first_full(guard, c)
        return False
    if guard.bounds[c, 0] == value and guard.bounds[c, 1] == value:
        return True
    size = len(guard.queue)
    pending = _set_bounds(guard, c, value, value, 0, 0)
    if pending == NONE:
        return False
    for at in range(guard.column_starts[c], guard.column_starts[c + 1]):
        r = guard.column_rows[at]
        if not guard.loud[r] and is_broken(guard, r):
            guard.counts[REFUSING] = r
            _empty_queue(guard, 0, pending, size)
            return False
    return _follow(guard, pending)


@compiled_in_place
def at_most(guard: RowGuard, c: int, high: float) -> bool:
    """Give a column an upper bound and follow its consequences; whether no row is broken. Else as with `take`."""
    low = guard.bounds[c, 0]
    if high >= guard.bounds[c, 1]:
        return True
    pending = NONE if high < low else _set_bounds(guard, c, low, high, 0, 0)
    return pending != NONE and _follow(guard, pending)


@compiled_in_place
def settle(guard: RowGuard) -> bool:
    """Follow the consequences of all rows; whether none is broken."""
    for r in range(len(guard.queue)):
        guard.queue[r] = r
        guard.queued[r] = True
    return _follow(guard, len(guard.queue))


@compiled_in_place
def is_broken(guard: RowGuard, r: int) -> bool:
    """Whether no values within the bounds satisfy a row."""
    tolerance = guard.sides[r, 2]
    return bool(
        (guard.infinite[r, _LEAST] == 0 and guard.sums[r, _LEAST] > guard.sides[r, 1] + tolerance)
        or (guard.infinite[r, _MOST] == 0 and guard.sums[r, _MOST] < guard.sides[r, 0] - tolerance)
    )


@compiled_in_place
def _set_bounds(guard: RowGuard, c: int, low: float, high: float, head: int, pending: int) -> int:
    """Change the bounds of a column and the sums of its rows; loud ones are queued. The length of the queue then.

    NONE where the trails have no place left: nothing is changed then.
    """
    starts, rows, values = guard.column_starts, guard.column_rows, guard.column_values
    at, row_at = guard.counts[COLUMNS], guard.counts[ROWS]
    if at == len(guard.trail_column) or row_at + starts[c + 1] - starts[c] > len(guard.trail_row):
        return NONE
    guard.trail_column[at] = c
    guard.trail_bounds[at, 0], guard.trail_bounds[at, 1] = guard.bounds[c, 0], guard.bounds[c, 1]
    guard.counts[COLUMNS] = at + 1
    size = len(guard.queue)
    for entry in range(starts[c], starts[c + 1]):
        r, a = rows[entry], values[entry]
        guard.trail_row[row_at] = r
        for side in range(2):
            guard.trail_sums[row_at, side] = guard.sums[r, side]
            guard.trail_infinite[row_at, side] = guard.infinite[r, side]
        row_at += 1
        for bound in range(2):
            old, new = guard.bounds[c, bound], low if bound == 0 else high
            if old == new:
                continue
            side = _LEAST if (bound == 0) == (a > 0) else _MOST
            if np.isinf(old):
                guard.infinite[r, side] -= 1
                guard.sums[r, side] += a * new
            else:
                guard.sums[r, side] += a * (new - old)
        if guard.loud[r] and not guard.queued[r]:
            guard.queued[r] = True
            guard.queue[(head + pending) % size] = r
            pending += 1
    guard.counts[ROWS] = row_at
    guard.bounds[c, 0], guard.bounds[c, 1] = low, high
    return pending


@compiled_in_place
def _empty_queue(guard: RowGuard, head: int, pending: int, size: int) -> None:
    for at in range(head, head + pending):
        guard.queued[guard.queue[at % size]] = False


@compiled_in_place
def _follow(guard: RowGuard, pending: int) -> bool:
    """Follow the rows in the queue; whether none is broken. `counts[REFUSING]` is the one that is."""
    head, visits, size = 0, 0, len(guard.queue)
    while pending > 0:
        visits += 1
        if visits > _MOST_VISITS + size:
            _empty_queue(guard, head, pending, size)
            return True
        r = guard.queue[head]
        head, pending = (head + 1) % size, pending - 1
        guard.queued[r] = False
        if is_broken(guard, r):
            guard.counts[REFUSING] = r
            _empty_queue(guard, head, pending, size)
            return False
        room, excess = guard.sides[r, 1] - guard.sums[r, _LEAST], guard.sides[r, 0] - guard.sums[r, _MOST]
        least_open, most_open, reach = guard.infinite[r, _LEAST], guard.infinite[r, _MOST], guard.sides[r, 3]
        above = (least_open == 0 and room < reach) or (least_open == 1 and room < np.inf)
        below = (most_open == 0 and -excess < reach) or (most_open == 1 and excess > -np.inf)
        room, excess = max(room, 0.0), min(excess, 0.0)
        if not above and not below:
            continue
        for entry in range(guard.row_starts[r], guard.row_starts[r + 1]):
            c, a = guard.row_columns[entry], guard.row_values[entry]
            low, high = guard.bounds[c, 0], guard.bounds[c, 1]
            if low >= high:
                continue
            new_low, new_high = low, high
            if above:
                new_low, new_high = _implied(guard, c, a, room, least_open, True, new_low, new_high)
            if below:
                new_low, new_high = _implied(guard, c, a, excess, most_open, False, new_low, new_high)
            if new_low == low and new_high == high:
                continue
            measure = max(1.0, abs(new_low if np.isfinite(new_low) else new_high))
            if new_low - new_high > (0.5 if guard.integer[c] else INTEGRALITY * measure):
                guard.counts[REFUSING] = r
                _empty_queue(guard, head, pending, size)
                return False
            if new_low > new_high - MEETING * measure:
                new_low = min(max(new_low, low), new_high)
                new_high = new_low
            more = _set_bounds(guard, c, new_low, new_high, head, pending)
            if more == NONE:  # no place to remember it: what is known without it is sound
                _empty_queue(guard, head, pending, size)
                return True
            pending = more
    return True


@compiled_in_place
def _implied(
    guard: RowGuard, c: int, a: float, room: float, infinite: int, at_most: bool, low: float, high: float
) -> tuple[float, float]:
    """The bounds of a column by one side of a row that has `room` left."""
    lower, upper = guard.bounds[c, 0], guard.bounds[c, 1]
    near = lower if (a > 0) == at_most else upper
    alone = np.isinf(near)
    if a == 0 or (infinite == 1) != alone:
        return low, high
    bound = (0.0 if alone else near) + room / a
    is_upper, integer = (a > 0) == at_most, guard.integer[c]
    if integer:
        slack = INTEGRALITY * max(1.0, abs(bound))
        bound = np.floor(bound + slack) if is_upper else np.ceil(bound - slack)
    width = upper - lower
    worth = 0.5 if integer else (STEP_WORTH * width + MEETING if np.isfinite(width) else 0.0)
    gain = upper - bound if is_upper else bound - lower
    if not gain > worth or abs(bound) >= LARGEST_BOUND:
        return low, high
    return (low, min(high, bound)) if is_upper else (max(low, bound), high)
