"""The price of time at which the cheapest profile just meets the due date, for many jobs at once.

At price p of time the best profile leaves rung k where F falls to y = p / time_price[k]. The time it takes, T(p),
does not increase with p; wanted is the p with T(p) = d. Where F is flat T jumps, and every time within the jump is
reached at that price. F is the survival function of the remaining work of a job, given the finished work, up to a
limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.distributions.base import LawFamily
from gpusched_dsl.ir.distributions.tables import Tables
from gpusched_dsl.policies.distributions import Laws
from gpusched_dsl.policies.kernels.compiled import machine_code_or
from gpusched_dsl.policies.kernels.price_brackets import (
    FIRST_SHARE,
    GAP,
    LEAST_SHARE,
    MOST_STEPS,
    SAME_PRICE,
    BindingProblems,
    SurvivalTables,
    price_brackets,
)
from gpusched_dsl.policies.speed_levels import Ladders


class RemainingWork:
    """Of problem p: F(x) = P(W > x given W > done[p]) for done[p] <= x < limit[p], and 0 from the limit on.

    `laws` has one law per problem, those of one family behind one another (`laws.family` does not decrease).
    """

    def __init__(self, laws: Laws, done: Floats, limit: Floats) -> None:
        self.laws, self.done, self.limit = laws, done, limit
        # Up to `start` F is 1, from `end` on it is 0.
        self.start = np.clip(np.maximum(done, laws.low), done, limit)
        self.end = np.maximum(np.minimum(limit, np.minimum(laws.cut, laws.high)), self.start)
        above, self.rest = self._each("survival", np.stack((self.start, laws.high), axis=1)).T
        self.span = above - self.rest

    def take(self, rows: Codes) -> RemainingWork:
        """Some of the problems; nothing is computed again."""
        some = object.__new__(RemainingWork)
        some.laws = self.laws.take(rows)
        for name in ("done", "limit", "start", "end", "rest", "span"):
            setattr(some, name, getattr(self, name)[rows])
        return some

    @property
    def possible(self) -> Bools:
        """Whether anything can be left: the limit is not reached and W > done has a probability."""
        return np.asarray((self.limit > self.done) & (self.span > 0))

    @cached_property
    def has_table(self) -> Bools:
        """Whether the flat parts are known (`flats_around`)."""
        return np.array([isinstance(family, Tables) for family in self.laws.families])[self.laws.family]

    @property
    def tables(self) -> SurvivalTables | None:
        """The tables of all laws, None where some law has none."""
        families = [family for family, _ in self._parts()]
        if len(families) != 1 or not isinstance(families[0], Tables):
            return None
        tables = families[0]
        return SurvivalTables(tables.starts, tables.knots, tables.left, tables.right, tables.density, *tables.flats)

    def inverses(self, y: Floats) -> tuple[Floats, Floats]:
        """inf{x : F(x) <= y} and sup{x : F(x-) >= y} (`done` if there is none), both in [done, limit].

        `y >= 0` has the shape (problems, n).
        """
        level = self.rest[:, None] + np.minimum(y, 1.0) * self.span[:, None]
        lower, upper = np.empty_like(level), np.empty_like(level)
        for family, rows in self._parts():
            lower[rows], upper[rows] = family.inverses(level[rows], self.laws.row[rows])
        done, start, end = self.done[:, None], self.start[:, None], self.end[:, None]
        for found in (lower, upper):
            np.maximum(found, start, out=found)
            np.minimum(found, end, out=found)
        np.copyto(lower, done, where=y >= 1.0)
        np.copyto(upper, done, where=y > 1.0)
        np.copyto(upper, self.limit[:, None], where=y <= 0.0)
        return lower, upper

    def work(self, x: Floats) -> Floats:
        """The integral of F from `done` to x, for x in [done, limit] of shape (problems, n): expected work below x."""
        start, end = self.start[:, None], self.end[:, None]
        top = np.clip(x, start, end)
        beyond = self._each("beyond", np.concatenate((start, top), axis=1))
        inside = (beyond[:, :1] - beyond[:, 1:] - self.rest[:, None] * (top - start)) / self.span[:, None]
        return np.asarray(np.minimum(x, start) - self.done[:, None] + inside)

    def flats_around(self, y: Floats) -> tuple[Floats, Floats]:
        """The levels of the flat parts of F next above and next below each y (inf, 0: none), where `has_table`."""
        level = self.rest[:, None] + y * self.span[:, None]
        over, under = np.full_like(y, np.inf), np.zeros_like(y)
        for family, rows in self._parts():
            if isinstance(family, Tables):
                over[rows], under[rows] = family.flats_around(level[rows], self.laws.row[rows])
        rest, span = self.rest[:, None], self.span[:, None]
        return (over - rest) / span, np.maximum((under - rest) / span, 0.0)

    def _parts(self) -> list[tuple[LawFamily, slice]]:
        """The problems of each family."""
        ends = np.searchsorted(self.laws.family, np.arange(len(self.laws.families) + 1)).tolist()
        parts = zip(self.laws.families, map(slice, ends, ends[1:]), strict=True)
        return [(family, part) for family, part in parts if part.start < part.stop]

    def _each(self, method: str, x: Floats) -> Floats:
        """A function of the base laws, for values of shape (problems, n)."""
        found = np.empty_like(x)
        for family, rows in self._parts():
            found[rows] = getattr(family, method)(x[rows], self.laws.row[rows])
        return found


@dataclass(frozen=True, eq=False)
class PriceBracket:
    """For each problem the price lies between `low` and `high`; they are equal where T jumps over d."""

    low: Floats
    high: Floats


class PriceSearch:
    """Problems with a binding due date: feasible, but not on the slowest rung alone. `target` is d, the time left."""

    def __init__(self, ladders: Ladders, work: RemainingWork, target: Floats) -> None:
        self.ladders, self.work, self.target = ladders, work, target
        self.fastest = (work.limit - work.done) * ladders.pace[:, -1]
        # The energy is at least this: what a gap is compared with.
        self.scale = ladders.cost[:, 0] * work.work(work.limit[:, None])[:, 0]

    def switches(self, price: Floats, rows: Codes | None = None) -> tuple[Floats, Floats]:
        """The earliest and latest work at which a best profile leaves each rung but the last, (problems, rungs - 1)."""
        prices, work = self.ladders.time_price, self.work
        if rows is not None:
            prices, work = prices[rows], work.take(rows)
        return work.inverses(price[:, None] / prices)

    def times(self, price: Floats, rows: Codes) -> tuple[Floats, Floats]:
        """T - d just above and just below a price: the shortest and the longest time of a best profile, less d."""
        gain, done = self.ladders.pace_gain[rows], self.work.done[rows, None]
        early, late = self.switches(price, rows)
        fixed = self.fastest[rows] - self.target[rows]
        return fixed + _row_sums(gain * (early - done)), fixed + _row_sums(gain * (late - done))

    # --- the search --------------------------------------------------------------------------------------------------

    def run(self) -> PriceBracket:
        """Return the prices: by machine code where all survival functions are tables and there is some."""
        tables = self.work.tables
        if tables is None:
            return PriceBracket(*self.search_together())
        work, ladders = self.work, self.ladders
        problems = BindingProblems(
            ladders.time_price, ladders.pace_gain, ladders.counts - 1, self.fastest, self.target, self.scale,
            work.done, work.limit, work.start, work.end, work.rest, work.span, work.laws.row,
        )  # fmt: skip
        return PriceBracket(*machine_code_or(self.search_together, price_brackets, problems, tables))

    def search_together(self) -> tuple[Floats, Floats]:
        """The lower and the upper ends of the prices, computed for all problems at once."""
        low, high, time_low, time_high = self._first_rung()
        open_rows = np.flatnonzero(low < high)
        if len(open_rows):
            self._narrow(open_rows, low, high, time_low, time_high)
        return low, high

    def _first_rung(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Dichotomy over the prices at which rungs fall out: the printed Algorithm 1 with its update put right."""
        price = self.ladders.time_price
        count = len(self.target)
        every = np.arange(count)
        first, last = np.zeros(count, dtype=np.int64), self.ladders.counts - 1
        low, high = np.zeros(count), np.zeros(count)
        several = np.flatnonzero(last > 0)  # one rung leaves nothing to weigh
        high[several] = price[several, last[several] - 1]
        time_high = self.fastest - self.target
        # A law may end before the limit: work that never comes is done at the top rung, for nothing.
        time_low, _ = self.times(low, every)
        free = time_low <= 0
        high[free], first[free] = 0.0, last[free]
        while len(rows := np.flatnonzero(first < last)):
            middle = (first[rows] + last[rows]) // 2
            at = price[rows, middle]
            short, long = self.times(at, rows)
            above, below = short > 0, long < 0
            up, down, met = rows[above], rows[below], rows[~above & ~below]
            low[up], time_low[up], first[up] = at[above], short[above], middle[above] + 1
            high[down], time_high[down], last[down] = at[below], long[below], middle[below]
            low[met] = high[met] = at[~above & ~below]
            first[met] = last[met]
        return low, high, time_low, time_high

    def _narrow(self, rows: Codes, low: Floats, high: Floats, time_low: Floats, time_high: Floats) -> None:
        """Chandrupatla's method (1997) between the prices, which it narrows in place.

        It takes a step of inverse quadratic interpolation where three points allow it, else one of bisection. Where
        the flat parts of F are known the next jump of T is tried instead of a price beside it.
        """
        new, old = high[rows], low[rows]
        f_new, f_old = time_high[rows], time_low[rows]
        with np.errstate(invalid="ignore"):
            share = np.clip(f_new / (f_new - f_old), FIRST_SHARE, 1 - FIRST_SHARE)  # a secant first
        share = np.where(np.isfinite(share), share, 0.5)
        for _ in range(MOST_STEPS):
            price = self._at_a_jump(rows, new + share * (old - new), np.minimum(new, old), np.maximum(new, old))
            short, long = self.times(price, rows)
            f_price, met = np.where(short > 0, short, long), (short <= 0) & (long >= 0)
            same = (f_price > 0) == (f_new > 0)
            third, f_third = np.where(same, new, old), np.where(same, f_new, f_old)
            old, f_old = np.where(same, old, new), np.where(same, f_old, f_new)
            new, f_new = price, f_price
            low[rows], high[rows] = np.minimum(new, old), np.maximum(new, old)
            low[rows[met]] = high[rows[met]] = price[met]
            width = np.abs(old - new)
            gap = width * np.minimum(np.abs(f_new), np.abs(f_old))
            goes_on = ~met & (gap > GAP * self.scale[rows]) & (width > SAME_PRICE * np.maximum(new, old))
            if not goes_on.any():
                return
            rows, new, old, third = rows[goes_on], new[goes_on], old[goes_on], third[goes_on]
            f_new, f_old, f_third = f_new[goes_on], f_old[goes_on], f_third[goes_on]
            share = _share(new, old, third, f_new, f_old, f_third)

    def _at_a_jump(self, rows: Codes, price: Floats, low: Floats, high: Floats) -> Floats:
        """The price, or the jump of T nearest to it between `low` and `high` where jumps are known and there is one."""
        known = np.flatnonzero(self.work.has_table[rows])
        if not len(known):
            return price
        chosen = rows[known]
        prices = self.ladders.time_price[chosen]
        over, under = self.work.take(chosen).flats_around(price[known, None] / prices)
        finite = np.isfinite(prices)
        next_up = np.where(over <= 1.0, over * prices, np.inf).min(axis=1)
        next_down = (under * np.where(finite, prices, 0.0)).max(axis=1)
        raised = (next_up < high[known]) & (next_up > low[known])
        lowered = (next_down > low[known]) & (next_down < high[known])
        nearer = ~lowered | (raised & (next_up - price[known] < price[known] - next_down))
        moved = price.copy()
        moved[known] = np.where(raised & nearer, next_up, np.where(lowered, next_down, price[known]))
        return moved


def _share(new: Floats, old: Floats, third: Floats, f_new: Floats, f_old: Floats, f_third: Floats) -> Floats:
    """Where to go between `new` and `old`, as a share of the way from `new`."""
    with np.errstate(all="ignore"):
        xi, phi = (new - old) / (third - old), (f_new - f_old) / (f_third - f_old)
        smooth = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        step = f_new / (f_old - f_new) * f_third / (f_old - f_third)
        step += (third - new) / (old - new) * f_new / (f_third - f_new) * f_old / (f_third - f_old)
    return np.where(smooth & np.isfinite(step), np.clip(step, LEAST_SHARE, 1 - LEAST_SHARE), 0.5)


def _row_sums(table: Floats) -> Floats:
    """The sums of the rows, added from left to right."""
    found = np.zeros(len(table))
    for column in table.T:
        found = found + column
    return found
