"""Jumps over the columns of a linear problem, and moves of what a choice is set to, towards satisfied rows.

A *jump* gives one column the value that satisfies one more row, or as much of it as bounds permit. A *choice* is a row
`sum x_j <= 1` or `= 1` of binaries, such as the places of a job: its move sets one binary and clears the one that was
set. Rows have weights that grow while they are violated, so that the search leaves points where every change makes
something worse; the objective has one too, which grows at points that violate nothing. Activities of rows change with
the entries of the columns that move, so a step costs what it touches, whatever the size of the problem.

Sources: B. Luteberget, G. Sartor, Feasibility Jump: an LP-free Lagrangian MIP heuristic (2023), the jump and the
weights; P. Lin et al., Local-MIP (2024), moves that satisfy a row exactly and sampling; the moves of choices are ours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Int32s, Ints
from gpusched_dsl.policies.kernels.compiled import compiled_in_place, compiled_inline

ROWS_LOOKED_AT = 3  # violated rows from which candidates of a step are taken
ENTRIES_LOOKED_AT = 24  # of each
LONG, ENTRIES_SCANNED = 512, 4_096  # entries from which on a row is scanned for some that can move; of it at most
HELD = 3  # steps for which a column keeps its value, and as many more at random
TOLERANCE = 1e-9
NOTHING = -1


class SearchModel(NamedTuple):
    """A problem to minimise: `row_lower <= A x <= row_upper` by rows and by columns, with scaled rows and costs.

    `choice[j]` is the choice of a column, NOTHING without one; the columns of choice g are
    `members[members_from[g]:members_from[g + 1]]`, in the order in which they are worth a try. The last row is the
    objective; it has an upper side only where the search aspires to a better point.
    """

    lower: Floats
    upper: Floats
    integer: Bools
    costs: Floats
    row_lower: Floats
    row_upper: Floats
    starts: Ints
    columns: Int32s
    values: Floats
    column_starts: Ints
    rows: Int32s
    column_values: Floats
    choice: Int32s
    members_from: Ints
    members: Int32s
    movable: Int32s
    must: Bools  # of choices: one column is 1
    crowded: Int32s  # rows with columns of several choices
    unit: float  # objectives differ by multiples of it; 0: unknown


class SearchState(NamedTuple):
    """A point with what is known of it; `best` is the best point that violates nothing;
    `changed` lists the columns that moved since then.

    `violated` lists the violated rows, `place[r]` is where (NOTHING: satisfied). `numbers`: objective of `best`, weight
    of the objective, temperature, size of gains. `counts`: violated rows, steps, steps at the last improvement, whether
    `best` is a point, and others of the same names; the search pauses where WORK, the changes of rows that were judged,
    reaches PAUSE. `chosen[g]` is the column of choice g that is 1. `tried[j]` is the last attempt that moved a column.
    """

    point: Floats
    activity: Floats
    weight: Floats
    violated: Int32s
    place: Int32s
    held: Ints
    chosen: Int32s
    best: Floats
    numbers: Floats
    counts: Ints
    trail: Int32s
    trail_step: Floats
    tried: Ints
    changed: Int32s
    is_changed: Bools


BEST, WEIGHT, TEMPERATURE, SIZE = 0, 1, 2, 3
VIOLATED, STEPS, IMPROVED, HAS_BEST, TRAIL, CHANGED, ATTEMPTS, ASPIRES, WORK, UNTIL, PAUSE = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
)
CHAIN = 8  # moves in a row, for one that is accepted or not
DRAWS = 1 << 30
LEAST_WEIGHT = 1e-6  # of the objective, while rows are violated
PHASE = 10_000_000  # changes of rows judged without a better point, after which the other kind of steps is tried


@compiled_inline
def excess(activity: float, lower: float, upper: float) -> float:
    """By how much an activity misses the sides of its row."""
    if activity > upper + TOLERANCE:
        return activity - upper
    if activity < lower - TOLERANCE:
        return lower - activity
    return 0.0


@compiled_in_place
def rise(model: SearchModel, state: SearchState, j: int, step: float) -> float:
    """By how much the weighted violation rises where a column moves by `step`; negative: it falls."""
    total = 0.0
    state.counts[WORK] += model.column_starts[j + 1] - model.column_starts[j]
    for at in range(model.column_starts[j], model.column_starts[j + 1]):
        r = model.rows[at]
        before = state.activity[r]
        low, high = model.row_lower[r], model.row_upper[r]
        total += state.weight[r] * (
            excess(before + model.column_values[at] * step, low, high) - excess(before, low, high)
        )
    return total


@compiled_inline
def note(model: SearchModel, state: SearchState, r: int) -> None:
    """Enter a row in the list of violated rows, or take it off, as its activity and its sides are."""
    wrong = excess(state.activity[r], model.row_lower[r], model.row_upper[r]) > 0.0
    place = state.place[r]
    if wrong and place == NOTHING:
        state.place[r] = state.counts[VIOLATED]
        state.violated[state.counts[VIOLATED]] = r
        state.counts[VIOLATED] += 1
    elif not wrong and place != NOTHING:
        state.counts[VIOLATED] -= 1
        last = state.violated[state.counts[VIOLATED]]
        state.violated[place] = last
        state.place[last] = place
        state.place[r] = NOTHING


@compiled_in_place
def move(model: SearchModel, state: SearchState, j: int, step: float) -> None:
    """Move a column, with the activities of its rows and the list of violated rows."""
    for at in range(model.column_starts[j], model.column_starts[j + 1]):
        r = model.rows[at]
        state.activity[r] += model.column_values[at] * step
        note(model, state, r)
    state.point[j] += step
    if not state.is_changed[j]:
        state.is_changed[j] = True
        state.changed[state.counts[CHANGED]] = j
        state.counts[CHANGED] += 1
    g = model.choice[j]
    if g != NOTHING:
        if state.point[j] > 0.5:
            state.chosen[g] = j
        elif state.chosen[g] == j:
            state.chosen[g] = NOTHING


@compiled_in_place
def partner(model: SearchModel, state: SearchState, j: int, step: float) -> int:
    """The column that is cleared where column j is set; NOTHING where there is none."""
    g = model.choice[j]
    if g == NOTHING or step < 0.5:
        return NOTHING
    other = state.chosen[g]
    return NOTHING if other == j else int(other)


@compiled_in_place
def judge(model: SearchModel, state: SearchState, j: int, step: float) -> float:
    """The rise of the weighted violation and the weighted objective of a move, with its partner's."""
    other = partner(model, state, j, step)
    cost = model.costs[j] * step
    if other == NOTHING:
        return float(rise(model, state, j, step) + state.numbers[WEIGHT] * cost)
    # The rows that both are in see both changes: the partner is moved for the moment.
    cost -= model.costs[other]
    first = rise(model, state, other, -1.0)
    shift(model, state, other, -1.0)
    second = rise(model, state, j, step)
    shift(model, state, other, 1.0)
    return float(first + second + state.numbers[WEIGHT] * cost)


@compiled_in_place
def shift(model: SearchModel, state: SearchState, j: int, step: float) -> None:
    """Change the activities of the rows of a column, and nothing else."""
    for at in range(model.column_starts[j], model.column_starts[j + 1]):
        state.activity[model.rows[at]] += model.column_values[at] * step


@compiled_in_place
def jump(model: SearchModel, state: SearchState, r: int, at: int) -> float:
    """The step of a column that satisfies row r, as far as its bounds permit; `at` is its entry in the row."""
    j, value = model.columns[at], model.values[at]
    if value == 0.0:
        return 0.0
    activity = state.activity[r]
    target = model.row_upper[r] if activity > model.row_upper[r] else model.row_lower[r]
    step = (target - activity) / value
    if model.integer[j]:
        step = np.ceil(step - 1e-7) if step > 0 else np.floor(step + 1e-7)
    return float(min(max(step, model.lower[j] - state.point[j]), model.upper[j] - state.point[j]))


@compiled_in_place
def cheaper_step(model: SearchModel, state: SearchState, j: int) -> float:
    """The longest step of a column that lowers the objective within the sides of its rows."""
    cost = model.costs[j]
    step = model.upper[j] - state.point[j] if cost < 0 else state.point[j] - model.lower[j]
    sign = 1.0 if cost < 0 else -1.0
    for at in range(model.column_starts[j], model.column_starts[j + 1]):
        r, value = model.rows[at], model.column_values[at] * sign
        if value > 0:
            step = min(step, (model.row_upper[r] - state.activity[r]) / value)
        elif value < 0:
            step = min(step, (model.row_lower[r] - state.activity[r]) / value)
    if model.integer[j]:
        step = np.floor(step + 1e-7)
    return float(step * sign) if 0.0 < step < 1e15 else 0.0


@compiled_in_place
def take(model: SearchModel, state: SearchState, j: int, step: float, rng: np.random.Generator) -> None:
    """Carry out a move with its partner; both keep their values for a while."""
    other = partner(model, state, j, step)
    now = state.counts[STEPS]
    if other != NOTHING:
        move(model, state, other, -1.0)
        state.held[other] = now + HELD + int(rng.random() * HELD)
    move(model, state, j, step)
    state.held[j] = now + HELD + int(rng.random() * HELD)


@compiled_in_place
def keep_best(model: SearchModel, state: SearchState) -> None:
    """Keep the point if it violates nothing and is better than the best one."""
    if state.counts[VIOLATED] > 0:
        return
    objective = state.activity[-1]
    if state.counts[HAS_BEST] and objective >= state.numbers[BEST] - TOLERANCE * max(1.0, abs(objective)):
        return
    for at in range(state.counts[CHANGED]):
        j = state.changed[at]
        state.best[j] = state.point[j]
        state.is_changed[j] = False
    state.counts[CHANGED] = 0
    state.numbers[BEST] = objective
    state.counts[HAS_BEST] = 1
    state.counts[IMPROVED] = state.counts[STEPS]
    state.counts[UNTIL] = state.counts[WORK] + PHASE


@compiled_in_place
def cheap_member(model: SearchModel, g: int, rng: np.random.Generator) -> int:
    """A random column of a choice, the cheaper the more often."""
    begin = model.members_from[g]
    return int(model.members[begin + int(rng.random() ** 3 * (model.members_from[g + 1] - begin))])


@compiled_inline
def scanned(length: int) -> int:
    """The entries of a row that are looked at: of a long one more, since most columns there cannot move."""
    return min(length, ENTRIES_SCANNED if length > LONG else ENTRIES_LOOKED_AT)


@compiled_in_place
def whole_choice(model: SearchModel, r: int) -> int:
    """The choice that a row consists of; NOTHING where it has other columns."""
    g = model.choice[model.columns[model.starts[r]]]
    if g == NOTHING or model.members_from[g + 1] - model.members_from[g] != model.starts[r + 1] - model.starts[r]:
        return NOTHING
    return int(g) if model.choice[model.columns[model.starts[r + 1] - 1]] == g else NOTHING


@compiled_in_place
def go_back(model: SearchModel, state: SearchState) -> None:
    """Return to the best point."""
    for at in range(state.counts[CHANGED]):
        j = state.changed[at]
        if state.point[j] != state.best[j]:
            move(model, state, j, state.best[j] - state.point[j])
        state.is_changed[j] = False
    state.counts[CHANGED] = 0


@compiled_in_place
def repair(model: SearchModel, state: SearchState, rng: np.random.Generator) -> None:
    """Take the best of some jumps of violated rows; where none helps, the rows become heavier."""
    found, by, best = NOTHING, 0.0, np.inf
    count = state.counts[VIOLATED]
    for _ in range(min(ROWS_LOOKED_AT, count)):
        r = state.violated[int(rng.random() * count)]
        first, last = model.starts[r], model.starts[r + 1]
        length = last - first
        offset = int(rng.random() * length) if length > ENTRIES_LOOKED_AT else 0
        looked = 0
        for k in range(scanned(length)):
            if looked == ENTRIES_LOOKED_AT:
                break
            at = first + (offset + k) % length
            j = model.columns[at]
            if state.held[j] > state.counts[STEPS]:
                continue
            step = jump(model, state, r, at)
            if step == 0.0:
                continue
            looked += 1
            worse = judge(model, state, j, step)
            if worse < best:
                found, by, best = int(j), step, worse
        # A column of a choice that is 1: set another one of the same choice.
        looked = 0
        for k in range(scanned(length)):
            if looked == ENTRIES_LOOKED_AT:
                break
            one = model.columns[first + (offset + k) % length]
            g = model.choice[one]
            if g == NOTHING or state.chosen[g] != one:
                continue
            looked += 1
            begin, size = model.members_from[g], model.members_from[g + 1] - model.members_from[g]
            draw = int(rng.random() * size)
            cleared = rise(model, state, one, -1.0) - state.numbers[WEIGHT] * model.costs[one]
            shift(model, state, one, -1.0)
            for m in range(min(size, ENTRIES_LOOKED_AT)):
                j = model.members[begin + (draw + m) % size]
                if m % 2 == 1 and size > ENTRIES_LOOKED_AT:
                    j = cheap_member(model, g, rng)
                if j == one or state.held[j] > state.counts[STEPS] or model.upper[j] < 0.5:
                    continue
                worse = cleared + rise(model, state, j, 1.0) + state.numbers[WEIGHT] * model.costs[j]
                if worse < best:
                    found, by, best = int(j), 1.0, worse
            shift(model, state, one, 1.0)
    if best >= 0.0:
        for at in range(count):
            state.weight[state.violated[at]] += 1.0
        if state.numbers[WEIGHT] > LEAST_WEIGHT and count > 0 and rng.random() < 0.5:
            state.numbers[WEIGHT] *= 0.9
    if found != NOTHING:
        take(model, state, found, by, rng)


@compiled_in_place
def follow(model: SearchModel, state: SearchState) -> None:
    """Let columns of no choice satisfy what the choices violate, such as nodes that are on: once for each row."""
    for at in range(state.counts[VIOLATED] - 1, -1, -1):
        if at >= state.counts[VIOLATED]:
            continue
        r = state.violated[at]
        for k in range(model.starts[r], model.starts[r + 1]):
            j = model.columns[k]
            if model.choice[j] == NOTHING:
                step = jump(model, state, r, k)
                if step != 0.0 and rise(model, state, j, step) < 0.0:
                    move(model, state, j, step)
                    if state.place[r] == NOTHING:
                        break
