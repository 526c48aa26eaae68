"""Columns of an element that depend on its changes: starting, being switched on, moving.

An *effect* e is a column that rows of the element only push up, all of them by the same one or two other columns:

    alpha e >= beta x - gamma             e follows the state x
    alpha e >= beta (x - y)               e follows the change from the state y to the state x (or from x to y)

with alpha > 0, so that e needs to be no more than f(x) or f(x - y), a maximum of these lines and of its lower bound.
States are columns that are 0 or 1, or between and in no row of the rest of the problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.local import Local
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s, unique


@dataclass(frozen=True, eq=False)
class EffectColumns:
    """`column[i]` follows `state[i]` and, where it is not -1, `before[i]` (places in the component, state > before).

    With d = state - before, or the state alone, effect i must be at least `none[i]` for d = 0, `up[i]` for d = 1 and
    `down[i]` for d = -1. `rows` are the rows that say so (places among the rows of the component).
    """

    column: Codes
    state: Codes
    before: Codes
    none: Floats
    up: Floats
    down: Floats
    rows: Codes

    @property
    def changes(self) -> Bools:
        return self.before >= 0


def effects_of(local: Local, free: Bools) -> EffectColumns:
    """The effects of an element; `free[c]`: column c is in no row of the rest of the problem.

    Raises Obstacle where the lines of an effect do not add up over elements.
    """
    return _Search(local, free).run()


def is_state(local: Local, free: Bools) -> Bools:
    """Which columns are 0 or 1, or may be rounded to it."""
    low, high = local.lowest_values, local.highest_values
    return np.isin(low, (0.0, 1.0)) & np.isin(high, (0.0, 1.0)) & (local.integer | free)


class _Search:
    def __init__(self, local: Local, free: Bools) -> None:
        self.local = local
        self.state = is_state(local, free)
        own = local.own
        counts = np.diff(own.indptr)
        one_sided = np.isfinite(local.lower) != np.isfinite(local.upper)
        fits = one_sided & (counts >= 2) & (counts <= 3) & (np.diff(local.shared.indptr) == 0)
        sign = np.where(np.isfinite(local.lower), 1.0, -1.0)  # every row as `>=`
        self.side = np.where(sign > 0, local.lower, -local.upper)
        self.row = np.repeat(np.arange(own.shape[0]), counts)
        self.place = own.indices.astype(np.int64)
        self.value = own.data * sign[self.row]
        self.able, self.first, self.second = self._effect_entries(own.indptr, counts, fits)

    def _effect_entries(self, starts: Int32s, counts: Codes, fits: Bools) -> tuple[Bools, Codes, Codes]:
        """Whether each entry may be that of an effect, and the others of its row (the first one lower, -1: none)."""
        size = len(self.row)
        first, second = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
        able = np.zeros(size, dtype=np.bool_)
        one, two = (np.flatnonzero(fits & (counts == c)) for c in (2, 3))
        for own, other in ((0, 1), (1, 0)):
            at = starts[one] + own
            first[at] = self.place[starts[one] + other]
            able[at] = self.value[at] > 0
        for own, x, y in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
            at = starts[two] + own
            first[at], second[at] = self.place[starts[two] + x], self.place[starts[two] + y]
            opposite = self.value[starts[two] + x] == -self.value[starts[two] + y]
            able[at] = (self.value[at] > 0) & opposite & (self.side[two] == 0)
        swap = second >= 0
        swap &= second < first
        first[swap], second[swap] = second[swap], first[swap]
        able &= self.state[first] & (self.state[second] | (second < 0))
        low = self.local.lowest_values[self.place]
        able &= np.isneginf(low) | (low == 0) | (second < 0)
        integer = self.local.integer
        able &= ~integer[self.place] | (integer[first] & (integer[second] | (second < 0)))
        return able, first, second

    def run(self) -> EffectColumns:
        columns = self.local.own.shape[1]
        total = np.bincount(self.place, minlength=columns)
        good = np.bincount(self.place, weights=self.able, minlength=columns)
        key = self.first * (columns + 1) + self.second + 1
        low, high = np.full(columns, np.iinfo(np.int64).max), np.full(columns, -1)
        np.minimum.at(low, self.place, key)
        np.maximum.at(high, self.place, key)
        able = (total > 0) & (good == total) & (low == high)
        chosen = self._choose_effects(able)
        entries = np.flatnonzero(chosen[self.place])
        column, first = np.unique(self.place[entries], return_index=True)
        lesser, greater = self.first[entries[first]], self.second[entries[first]]
        changes = greater >= 0
        state, before = np.where(changes, greater, lesser), np.where(changes, lesser, -1)
        none, up, down = self._needs(column, state, entries)
        return EffectColumns(column, state, before, none, up, down, unique(self.row[entries]))

    def _choose_effects(self, able: Bools) -> Bools:
        """Return the effects among columns that could depend on each other: unbounded, fractional, later ones first."""
        local = self.local
        columns = len(able)
        rank = np.lexsort((-np.arange(columns), np.isfinite(local.highest_values), local.integer))
        order = np.empty(columns, dtype=np.int64)
        order[rank] = np.arange(columns)
        chosen = np.zeros(columns, dtype=np.bool_)
        rows = local.own.shape[0]
        while able.any():
            best = np.full(rows, columns)
            at = np.flatnonzero(able[self.place])
            np.minimum.at(best, self.row[at], order[self.place[at]])
            dominated = np.zeros(columns, dtype=np.bool_)
            dominated[self.place[at[order[self.place[at]] > best[self.row[at]]]]] = True
            new = able & ~dominated
            chosen |= new
            taken = np.zeros(rows, dtype=np.bool_)
            taken[self.row[new[self.place]]] = True
            able = able & ~new
            able[self.place[taken[self.row]]] = False
        return chosen

    def _needs(self, column: Codes, state: Codes, entries: Codes) -> tuple[Floats, Floats, Floats]:
        """Return the smallest value of each effect for a difference of 0, 1 and -1; refuse effects that do
        not add up.
        """
        local = self.local
        rows = self.row[entries]
        which = np.searchsorted(column, self.place[entries])
        alpha = self.value[entries]
        matrix = sparse.csr_matrix((self.value, (self.row, self.place)), shape=local.own.shape)
        beta = -np.asarray(matrix[rows, state[which]]).ravel()
        gamma = self.side[rows]
        least = local.lowest_values[column]
        single = self.second[entries] < 0
        needs = []
        for d in (0.0, 1.0, -1.0):
            need = least.copy()
            np.maximum.at(need, which, (beta * d + gamma) / alpha)
            needs.append(need)
        none, up, down = needs
        alone = np.zeros(len(column), dtype=np.bool_)
        alone[which[single]] = True
        self._refuse_bent(column, alone, none, up, which, (gamma / alpha, (beta + gamma) / alpha))
        down[alone] = none[alone]
        highest = np.maximum(np.maximum(none, up), down)
        self._refuse(column, highest > local.highest_values[column], "has a tighter bound than its rows may require")
        fraction = local.integer[column] & ((up % 1 != 0) | (down % 1 != 0) | (none % 1 != 0))
        self._refuse(column, fraction, "is integer, but its rows may require a fraction")
        return none, up, down

    def _refuse_bent(
        self, column: Codes, alone: Bools, none: Floats, up: Floats, which: Codes, ends: tuple[Floats, Floats]
    ) -> None:
        """Check that the maximum of a single state is linear between 0 and 1: else the maximum of sums is lower."""
        low = self.local.lowest_values[column]
        straight = (low == none) & (low == up)
        line = (ends[0] == none[which]) & (ends[1] == up[which])
        straight[which[line]] = True
        self._refuse(column, alone & ~straight, "depends on a state by a function that is not linear")

    def _refuse(self, column: Codes, wrong: Bools, why: str) -> None:
        if wrong.any():
            family = self.local.column_family(int(column[np.flatnonzero(wrong)[0]]))
            raise Obstacle(f"`{family.name}` {why}", family.span)
