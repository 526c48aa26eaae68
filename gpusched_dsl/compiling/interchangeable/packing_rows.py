"""The rows of an element within one slot by kind: exclusions, rows of linked columns, rows with shared columns.

sum_i x_i <= s  or  <= 1      exclusions: 0/1 columns exclude each other on a carrier s, or on the element itself
a w <= b y                    tied: continuous columns w, and one 0/1 column y that they belong to; no constant
a x + b v <= c                one 0/1 column x, of which the rest of the problem allows one element in all, and shared v
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.local import Local
from gpusched_dsl.compiling.interchangeable.quotient import Quotient
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, unique
from gpusched_dsl.ir.graph import connected_components
from gpusched_dsl.ir.tolerances import ROUNDING


@dataclass(frozen=True, eq=False)
class Kinds:
    """Rows (positions in the component) by kind, and columns by their role in the rows.

    `exclusions` have a carrier `on[i]` (-1: the element itself) and `exact[i]` if they must hold as equations.
    `host[c]` is the column to which c is tied, -1 for tied to none, -2 for not tied. `largest[c]`: what the rest of the
    problem allows the sum of column c to be.
    """

    exclusions: Codes
    on: Codes
    exact: Bools
    tied: Codes
    with_shared: Codes
    carrier: Bools
    host: Codes
    largest: Floats


def kinds_of(local: Local, within: Bools, state: Bools, path: Codes) -> Kinds:
    """The kinds of the rows in `within`; raises Obstacle naming the family of a row that is of none.

    `path[c]` numbers what column c follows or is followed by, -1 where it changes freely.
    """
    return _Kinds(local, within, state, path).run()


class _Kinds:
    def __init__(self, local: Local, within: Bools, state: Bools, path: Codes) -> None:
        self.local, self.state, self.path = local, state, path
        self.columns = local.own.shape[1]
        self.integer_state = state & local.integer
        self.rows = np.flatnonzero(within)
        self.own = local.own[self.rows]
        self.lower, self.upper = local.lower[self.rows], local.upper[self.rows]
        self.row = np.repeat(np.arange(len(self.rows)), np.diff(self.own.indptr))
        self.place, self.value = self.own.indices.astype(np.int64), self.own.data
        self.counts = np.diff(self.own.indptr)

    def run(self) -> Kinds:
        reads_shared = np.diff(self.local.shared[self.rows].indptr) > 0
        largest = sum_bounds(self.local.quotient, self.local.component.columns)
        self._check_shared(reads_shared, largest)
        packs, on, exact = self._exclusions()
        packs &= ~reads_shared
        carrier = self._carriers(on[packs & (on >= 0)])
        host, tied = self._linked_columns(~packs & ~reads_shared, carrier)
        return Kinds(
            self.rows[packs],
            on[packs],
            exact[packs],
            self.rows[tied],
            self.rows[reads_shared],
            carrier,
            host,
            largest,
        )

    def _obstacle(self, row: int, why: str) -> Obstacle:
        family = self.local.row_family(int(self.rows[row]))
        return Obstacle(f"`{family.name}` {why}", family.span)

    def _check_shared(self, reads_shared: Bools, largest: Floats) -> None:
        at = np.flatnonzero(reads_shared[self.row])
        bad = at[~self.integer_state[self.place[at]] | (largest[self.place[at]] > 1 + ROUNDING)]
        if len(bad):
            name = self.local.column_family(int(self.place[bad[0]])).name
            why = f"contains columns of no element, and no row limits `{name}` to one element"
            raise self._obstacle(int(self.row[bad[0]]), why)

    # --- exclusions --------------------------------------------------------------------------------------------------

    def _exclusions(self) -> tuple[Bools, Codes, Bools]:
        """Which rows are exclusions, on which carrier, and which are equations."""
        count = len(self.rows)
        exact = self.lower == self.upper
        sign = np.where(np.isfinite(self.upper), 1.0, -1.0)
        one_sided = np.isfinite(self.lower) != np.isfinite(self.upper)
        value = self.value * sign[self.row]
        minus = np.bincount(self.row, weights=value < 0, minlength=count)
        sign[exact & (minus > 1)] = -1.0  # an equation may be turned over
        value = self.value * sign[self.row]
        side = np.where(sign > 0, self.upper, -self.lower)
        minus = np.bincount(self.row, weights=value < 0, minlength=count)
        size = np.zeros(count)
        np.maximum.at(size, self.row, np.abs(value))
        alike = np.bincount(self.row, weights=np.abs(value) != size[self.row], minlength=count) == 0
        of_states = np.bincount(self.row, weights=~self.state[self.place], minlength=count) == 0
        parts = np.bincount(self.row, weights=(value > 0) & ~self.integer_state[self.place], minlength=count) == 0
        fits = np.where(minus == 1, side == 0, (minus == 0) & (side == size))
        found = (one_sided | exact) & alike & of_states & parts & fits & (self.counts > minus)
        on = np.full(count, -1, dtype=np.int64)
        at = np.flatnonzero(value < 0)
        on[self.row[at]] = self.place[at]
        on[~found] = -1
        return found, on, exact

    def _carriers(self, on: Codes) -> Bools:
        """Return the carriers and all columns before or after them; fractional columns can have no other role."""
        carrier = np.zeros(self.columns, dtype=np.bool_)
        carrier[on] = True
        carrier[self.state & ~self.integer_state & (self.path >= 0)] = True
        paths = unique(self.path[carrier])
        carrier |= np.isin(self.path, paths[paths >= 0])
        return carrier

    # --- what is tied ------------------------------------------------------------------------------------------------

    def _linked_columns(self, rows: Bools, carrier: Bools) -> tuple[Codes, Bools]:
        """Return the column to which each column is linked, and the linking rows."""
        local = self.local
        loose = ~local.integer & ~carrier
        loose[self._effects()] = False
        entry = rows[self.row]
        stray = np.flatnonzero(entry & ~loose[self.place] & ~self.integer_state[self.place])
        if len(stray):
            raise self._obstacle(int(self.row[stray[0]]), self._refusal_reason(int(self.place[stray[0]])))
        loose_entries = np.flatnonzero(entry & loose[self.place])
        if (np.bincount(self.row[loose_entries], minlength=len(self.rows))[rows] == 0).any():
            without = rows & (np.bincount(self.row[loose_entries], minlength=len(self.rows)) == 0)
            why = "is not an exclusion: of its integer columns at most one may be 1 (on a carrier that is 1)"
            raise self._obstacle(int(np.flatnonzero(without)[0]), why)
        group = connected_components(
            self.columns + len(self.rows), self.place[loose_entries], self.columns + self.row[loose_entries]
        )
        host_of = np.full(self.columns + len(self.rows), -1, dtype=np.int64)
        hosts = np.flatnonzero(entry & ~loose[self.place])
        host_of[group[self.columns + self.row[hosts]]] = self.place[hosts]
        clash = hosts[host_of[group[self.columns + self.row[hosts]]] != self.place[hosts]]
        if len(clash):
            raise self._obstacle(int(self.row[clash[0]]), "links continuous columns to several integer columns")
        host = np.full(self.columns, -2, dtype=np.int64)
        host[loose] = host_of[group[: self.columns][loose]]
        sides = np.isin(self.lower, (0.0, -np.inf)) & np.isin(self.upper, (0.0, np.inf))
        owned = host_of[group[self.columns :]] >= 0
        if (rows & owned & ~sides).any():
            why = "links continuous columns to an integer column with a constant, which is not valid for sums"
            raise self._obstacle(int(np.flatnonzero(rows & owned & ~sides)[0]), why)
        self._check_bounds(host, rows)
        return host, rows

    def _effects(self) -> Codes:
        """Columns of the component that no row within a slot reads, and that have other rows."""
        inside = np.zeros(self.columns, dtype=np.bool_)
        inside[self.place] = True
        anywhere = np.diff(self.local.own.tocsc().indptr) > 0
        return np.flatnonzero(anywhere & ~inside)

    def _refusal_reason(self, place: int) -> str:
        name = self.local.column_family(place).name
        if not self.local.integer[place]:
            return f"contains `{name}`, which carries other columns but is not integer; declare it binary"
        return f"contains `{name}`, which is not binary"

    def _check_bounds(self, host: Codes, rows: Bools) -> None:
        """A bound of a tied column, other than 0, must follow from one row of it and its host."""
        local = self.local
        tied = np.flatnonzero(host >= 0)
        low, high = local.lowest_values, local.highest_values
        implied_low, implied_high = np.full(self.columns, -np.inf), np.full(self.columns, np.inf)
        pairs = np.flatnonzero(rows & (self.counts == 2))
        start = self.own.indptr[pairs]
        for w, y in ((0, 1), (1, 0)):
            column, other = self.place[start + w], self.place[start + y]
            at = np.flatnonzero((host[column] == other) & (host[column] >= 0))
            ratio = -self.value[start + y][at] / self.value[start + w][at]  # w <= ratio y, or w >= ratio y
            rising = self.value[start + w][at] > 0
            above, below = np.isfinite(self.upper[pairs][at]), np.isfinite(self.lower[pairs][at])
            for chosen in (rising & above, ~rising & below):
                np.minimum.at(implied_high, column[at][chosen], ratio[chosen])
            for chosen in (rising & below, ~rising & above):
                np.maximum.at(implied_low, column[at][chosen], ratio[chosen])
        slack = 1e-12 * np.maximum(1.0, np.where(np.isfinite(high), np.abs(high), 1.0))
        bad = (low > 0) | (high < 0) | ((low < 0) & (implied_low < low - slack) & np.isfinite(low))
        bad |= (high > 0) & np.isfinite(high) & (implied_high > high + slack)
        bad = bad[tied]
        if bad.any():
            family = local.column_family(int(tied[np.flatnonzero(bad)[0]]))
            what = f"`{family.name}` has a bound besides the rows that link it to an integer column"
            raise Obstacle(what, family.span)


def sum_bounds(quotient: Quotient, columns: Codes) -> Floats:
    """The largest sums over their class of some columns (numbers in the quotient's problem, ascending).

    Infinite where no row bounds them. Uses bounds of columns and one row at a time, of those that no element indexes:

        sum_k a_k x_k <= u     gives     x <= (u - smallest value of the others) / a     where a > 0
    """
    problem = quotient.problem
    rows = np.flatnonzero(quotient.row_class < 0)
    matrix = problem.matrix.take(rows)
    row, column, value = matrix.row_of, matrix.columns, matrix.values
    found = np.full(len(columns), np.inf)
    place = np.minimum(np.searchsorted(columns, column), max(len(columns) - 1, 0))
    matching = columns[place] == column if len(columns) else np.zeros(len(column), dtype=np.bool_)
    sizes = quotient.classes.sizes[np.maximum(quotient.column_class[column], 0)]
    for sign, side in ((1.0, problem.row_upper[rows]), (-1.0, -problem.row_lower[rows])):
        signed = value * sign
        with np.errstate(invalid="ignore"):
            least = np.where(signed > 0, signed * problem.lower[column], signed * problem.upper[column])
        least[signed == 0] = 0.0
        endless = np.isneginf(least)
        total = np.bincount(row, weights=np.where(endless, 0.0, least), minlength=len(rows))
        many = np.bincount(row, weights=endless, minlength=len(rows))
        at = np.flatnonzero(matching & (signed > 0) & np.isfinite(side)[row] & (many[row] == 0))
        of_others = total[row[at]] - least[at]
        bound = (side[row[at]] - of_others) / signed[at] * sizes[at]
        np.minimum.at(found, place[at], bound)
    return found
