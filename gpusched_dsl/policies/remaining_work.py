"""The remaining work of many jobs: their distributions given the finished work, up to a limit."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.distributions.base import LawFamily
from gpusched_dsl.ir.distributions.tables import Tables
from gpusched_dsl.policies.distributions import Laws
from gpusched_dsl.policies.kernels.price_brackets import SurvivalTables


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
