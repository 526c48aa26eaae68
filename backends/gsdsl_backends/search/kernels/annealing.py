"""Simulated annealing over chains of moves from points that violate nothing, and aspiration to better ones.

A *chain* begins with a move of one column; others of the rows that this violates follow, until none is violated. A row,
such as a node, is emptied at times, and what was set in it is placed elsewhere. `search` alternates between jumps
(`jumps`) while rows are violated, chains, and aspiration: a row that only a better point than the best satisfies.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled_at_once, compiled_in_place
from gsdsl_backends.search.kernels.jumps import (
    ASPIRES,
    ATTEMPTS,
    BEST,
    CHAIN,
    DRAWS,
    ENTRIES_LOOKED_AT,
    HAS_BEST,
    LEAST_WEIGHT,
    NOTHING,
    PAUSE,
    PHASE,
    SIZE,
    STEPS,
    TEMPERATURE,
    TRAIL,
    UNTIL,
    VIOLATED,
    WEIGHT,
    WORK,
    SearchModel,
    SearchState,
    cheap_member,
    cheaper_step,
    follow,
    go_back,
    judge,
    jump,
    keep_best,
    move,
    note,
    partner,
    repair,
    scanned,
    whole_choice,
)

PLACES = 16  # of a choice that are tried, to place it
EMPTIED = 16  # choices of a row at most
FILLED = 1_000  # choices at most, for the first point
EMPTY_SHARE = 0.03  # of the steps
LEAST_BEST = 0.01  # where the best is near 0; costs are 1 at most
ASPIRATION = 1e-4  # by how much of the objective a point must at least be better than the best
WARM, COLD, COOLING = 0.3, 0.001, 0.99997


@compiled_in_place
def moved(model: SearchModel, state: SearchState, j: int, step: float) -> None:
    """Move a column as a part of an attempt, which can be undone; it moves only once in it."""
    at = state.counts[TRAIL]
    if at == len(state.trail):
        return
    state.trail[at] = j
    state.trail_step[at] = step
    state.counts[TRAIL] += 1
    state.tried[j] = state.counts[ATTEMPTS]
    move(model, state, j, step)


@compiled_in_place
def undo(model: SearchModel, state: SearchState, begin: int) -> None:
    """Undo the moves from a place of the trail on."""
    while state.counts[TRAIL] > begin:
        state.counts[TRAIL] -= 1
        at = state.counts[TRAIL]
        move(model, state, state.trail[at], -state.trail_step[at])


@compiled_in_place
def leave(model: SearchModel, state: SearchState, j: int) -> None:
    """After a column was cleared: lower the columns that it needed and that cost something, such as its node."""
    for at in range(model.column_starts[j], model.column_starts[j + 1]):
        r = model.rows[at]
        if r == len(state.activity) - 1:
            continue
        first, last = model.starts[r], model.starts[r + 1]
        length = last - first
        looked = min(length, ENTRIES_LOOKED_AT)
        for k in range(looked):
            other = model.columns[last - 1 - k]  # columns that rows share are declared behind
            if state.tried[other] == state.counts[ATTEMPTS] or model.costs[other] == 0.0:
                continue
            if model.choice[other] != NOTHING and state.point[other] < 0.5:
                continue
            step = cheaper_step(model, state, other)
            if step != 0.0:
                moved(model, state, other, step)


@compiled_in_place
def enter(model: SearchModel, state: SearchState, j: int, step: float) -> None:
    """Move a column as a part of an attempt, with its partner."""
    other = partner(model, state, j, step)
    if other != NOTHING:
        moved(model, state, other, -1.0)
    moved(model, state, j, step)
    if other != NOTHING:
        leave(model, state, other)
    elif step < 0:
        leave(model, state, j)


@compiled_in_place
def attempt(model: SearchModel, state: SearchState, j: int, step: float, draw: int) -> float:
    """Move a column from a point that violates nothing, and others of the rows that this violates, until none is.

    Returns the rise of the objective; infinite where rows stay violated. The moves are added to the trail, for `undo`.
    `draw` is a random number, which decides where long rows are looked at: the same again gives the same moves.
    """
    before = state.activity[-1]
    state.counts[ATTEMPTS] += 1
    enter(model, state, j, step)
    for _ in range(CHAIN):
        count = state.counts[VIOLATED]
        if count == 0:
            return float(state.activity[-1] - before)
        if count > CHAIN:
            return np.inf
        r = state.violated[count - 1]
        found, by, best = NOTHING, 0.0, np.inf
        first, last = model.starts[r], model.starts[r + 1]
        length = last - first
        offset = draw % length if length > ENTRIES_LOOKED_AT else 0
        g = whole_choice(model, r) if length > ENTRIES_LOOKED_AT else NOTHING
        looked = 0
        for k in range(scanned(length)):
            if looked == ENTRIES_LOOKED_AT:
                break
            at = first + (offset + k) % length
            c = model.columns[at]
            way = jump(model, state, r, at)
            if g != NOTHING and way > 0.0:  # cheap ones more often
                share = (draw ^ (k * 40503)) % 65536 / 65536.0
                c = model.members[model.members_from[g] + int(share**3 * length)]
                way = min(1.0, model.upper[c]) - state.point[c]
            if way == 0.0 or state.tried[c] == state.counts[ATTEMPTS]:
                continue
            looked += 1
            other = partner(model, state, c, way)
            if other != NOTHING and state.tried[other] == state.counts[ATTEMPTS]:
                continue
            worse = judge(model, state, c, way)
            if worse < best:
                found, by, best = int(c), way, worse
        if found == NOTHING:
            return np.inf
        enter(model, state, found, by)
    return float(state.activity[-1] - before) if state.counts[VIOLATED] == 0 else np.inf


@compiled_in_place
def wander(model: SearchModel, state: SearchState, rng: np.random.Generator) -> None:
    """One step of simulated annealing from a point that violates nothing, by an attempt at a random column."""
    j = model.movable[int(rng.random() * len(model.movable))]
    if len(model.must) and rng.random() < 0.5:
        j = cheap_member(model, int(rng.random() * len(model.must)), rng)
    g = model.choice[j]
    if g != NOTHING:
        if state.point[j] > 0.5:
            if model.must[g]:
                return
            step = -1.0
        elif model.upper[j] < 0.5:
            return
        else:
            step = 1.0
    else:
        room_up, room_down = model.upper[j] - state.point[j], state.point[j] - model.lower[j]
        up = room_down <= 0.0 or (room_up > 0.0 and rng.random() < 0.5)
        room = room_up if up else room_down
        if room <= 0.0:
            return
        step = 1.0 if model.integer[j] else min(room, 1.0 + abs(state.point[j])) * rng.random()
        step = min(step, room) * (1.0 if up else -1.0)
    state.counts[TRAIL] = 0
    decide(state, model, attempt(model, state, j, step, int(rng.random() * DRAWS)), rng)


@compiled_in_place
def decide(state: SearchState, model: SearchModel, gain: float, rng: np.random.Generator) -> None:
    """Keep the moves of the trail, or undo them, by simulated annealing; the size of gains is learned on the way."""
    if 0.0 < abs(gain) < np.inf:
        size_of_gains = max(state.numbers[SIZE], 1e-12)
        state.numbers[SIZE] = size_of_gains * (1.01 if abs(gain) > size_of_gains else 0.99)
    temperature = state.numbers[TEMPERATURE] * state.numbers[SIZE]
    if gain <= 0.0 or (np.isfinite(gain) and rng.random() < np.exp(-gain / max(temperature, 1e-12))):
        state.counts[TRAIL] = 0
    else:
        undo(model, state, 0)


@compiled_in_place
def in_row(model: SearchModel, j: int, r: int) -> bool:
    """Whether a column is in a row."""
    for at in range(model.column_starts[j], model.column_starts[j + 1]):  # noqa: SIM110
        if model.rows[at] == r:
            return True
    return False


@compiled_in_place
def place(model: SearchModel, state: SearchState, g: int, r: int, rng: np.random.Generator) -> float:
    """Set the best of some columns of a choice, none in row r; return the rise of the objective, infinite: none fits.

    The moves are added to the trail.
    """
    begin, last = model.members_from[g], model.members_from[g + 1]
    mark = state.counts[TRAIL]
    found, draw, best = NOTHING, 0, np.inf
    if mark + 4 * CHAIN > len(state.trail):
        return np.inf
    for k in range(PLACES + 1):  # the best is tried again at the end: one call, since the compiler copies it
        j, this = model.members[begin + int(rng.random() * (last - begin))], int(rng.random() * DRAWS)
        if k % 2 == 1 and last - begin > ENTRIES_LOOKED_AT:
            j = cheap_member(model, g, rng)
        if k == PLACES:
            if found == NOTHING:
                break
            j, this = found, draw
        elif model.upper[j] < 0.5 or j == state.chosen[g] or (r != NOTHING and in_row(model, j, r)):
            continue
        gain = attempt(model, state, j, 1.0, this)
        if k == PLACES:
            break
        undo(model, state, mark)
        if gain < best:
            found, draw, best = j, this, gain
    return float(best)


@compiled_in_place
def empty(model: SearchModel, state: SearchState, r: int, rng: np.random.Generator) -> None:
    """Move all choices that are set in a row, such as a node, elsewhere; accepted as one move by annealing."""
    before = state.activity[-1]
    state.counts[TRAIL] = 0
    emptied = 0
    for at in range(model.starts[r], model.starts[r + 1]):
        j = model.columns[at]
        g = model.choice[j]
        if g == NOTHING or state.chosen[g] != j:
            continue
        if place(model, state, g, r, rng) == np.inf:
            undo(model, state, 0)
            return
        emptied += 1
        if emptied == EMPTIED:
            break
    if emptied:
        decide(state, model, state.activity[-1] - before, rng)


@compiled_in_place
def fill(model: SearchModel, state: SearchState, rng: np.random.Generator) -> None:
    """Set choices that have no column at 1, where that lowers the objective, in one pass that ends soon."""
    size = len(state.chosen)
    begin = int(rng.random() * size)
    for at in range(min(size, FILLED)):
        g = (begin + at) % size
        if state.chosen[g] == NOTHING:
            state.counts[TRAIL] = 0
            if place(model, state, g, NOTHING, rng) >= 0.0:
                undo(model, state, 0)


@compiled_in_place
def aspire(model: SearchModel, state: SearchState) -> None:
    """Ask for a point that is better than the best: a row that is violated now, so that others are for a while."""
    if not state.counts[ASPIRES]:
        for r in range(len(state.weight)):
            state.weight[r] = 1.0
    best = state.numbers[BEST]
    model.row_upper[-1] = best - max(model.unit, ASPIRATION * max(abs(best), LEAST_BEST))
    state.counts[ASPIRES] = 1
    state.counts[UNTIL] = state.counts[WORK] + PHASE
    state.numbers[WEIGHT] = LEAST_WEIGHT
    note(model, state, len(state.activity) - 1)


@compiled_in_place
def give_up(model: SearchModel, state: SearchState) -> None:
    """Ask for no better point any more, and return to the best one."""
    state.counts[ASPIRES] = 0
    state.counts[UNTIL] = state.counts[WORK] + PHASE
    model.row_upper[-1] = np.inf
    go_back(model, state)
    note(model, state, len(state.activity) - 1)


@compiled_at_once
def search(model: SearchModel, state: SearchState, steps: int, rng: np.random.Generator) -> None:
    """Make so many steps from where the state is, fewer where the work reaches the pause."""
    if state.counts[STEPS] == 0 and steps > 0:
        follow(model, state)
    for _ in range(steps):
        if state.counts[WORK] >= state.counts[PAUSE]:
            return
        state.counts[STEPS] += 1
        if state.counts[VIOLATED] > 0:
            if state.counts[ASPIRES] and state.counts[WORK] > state.counts[UNTIL]:
                give_up(model, state)
            else:
                repair(model, state, rng)
        elif state.counts[ASPIRES]:
            aspire(model, state)
        else:
            state.numbers[WEIGHT] = 1.0
            if not state.counts[HAS_BEST]:
                fill(model, state, rng)
            if len(model.crowded) and rng.random() < EMPTY_SHARE:
                empty(model, state, model.crowded[int(rng.random() * len(model.crowded))], rng)
            else:
                wander(model, state, rng)
            state.numbers[TEMPERATURE] *= COOLING
            if state.numbers[TEMPERATURE] < COLD:
                state.numbers[TEMPERATURE] = WARM
                if rng.random() < 0.5:
                    go_back(model, state)
            if state.counts[HAS_BEST] and state.counts[WORK] > state.counts[UNTIL]:
                aspire(model, state)
        keep_best(model, state)
