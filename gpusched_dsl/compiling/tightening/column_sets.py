"""Many sets of columns at once, and which of them contain which."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.compiling.work_budget import WorkBudget
from gpusched_dsl.ir.arrays import Codes, Int32s

# Of the sets that could contain another one, so many are looked at: the first ones.
MOST = 8
LOOKUP = 20  # entries that one search in an ordered array counts for


class ColumnSets(Struct, frozen=True, eq=False, dict=True):
    """Set i has `columns[starts[i]:starts[i + 1]]`, no column twice."""

    starts: Codes
    columns: Int32s

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def sizes(self) -> Codes:
        return np.diff(self.starts)

    @cached_property
    def set_of(self) -> Int32s:
        """The set of each entry."""
        return np.repeat(np.arange(self.count, dtype=np.int32), self.sizes)

    @cached_property
    def keys(self) -> tuple[Codes, Codes | None]:
        """`set * 2^32 + column` of the entries in order, and the entry of each (None: in the same order)."""
        keys = key_of(self.set_of, self.columns)
        if (keys[1:] > keys[:-1]).all():
            return keys, None
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def take(self, sets: Codes) -> ColumnSets:
        counts = self.sizes[sets]
        starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
        return ColumnSets(starts, self.columns[np.repeat(self.starts[:-1][sets], counts) + ranges(counts)])

    def find(self, sets: Codes | Int32s, columns: Int32s) -> Codes:
        """The entry of a column in a set, -1 where it is not in it."""
        keys, order = self.keys
        wanted = key_of(sets, columns)
        if not len(keys):
            return np.full(len(wanted), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = keys[at] == wanted
        if order is not None:
            at = order[at]
        return np.where(found, at, -1)

    def holders(self, columns: Int32s, counts: Codes, most: int = MOST) -> tuple[Codes, Codes]:
        """Return the entries with each of some columns, as pairs (position in `columns`, entry); `most` per column at
        most.

        `counts` has for every column of the problem the number of its entries.
        """
        held = np.zeros(len(counts), dtype=np.bool_)
        held[columns] = True
        entries = np.flatnonzero(held[self.columns])
        entries = entries[np.argsort(self.columns[entries], kind="stable")]
        first = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(np.where(held, counts, 0))))
        few = np.minimum(counts[columns], most)
        return np.repeat(np.arange(len(columns)), few), entries[np.repeat(first[columns], few) + ranges(few)]


def key_of(first: Codes | Int32s, second: Codes | Int32s) -> Codes:
    """One number for a pair of numbers below 2^31, in the order of the pairs."""
    return (first.astype(np.int64) << 32) | second


class Containments(Struct, frozen=True, eq=False):
    """Set `inner[p]` lies in set `outer[p]`; `at` is the entry of the outer set for each entry of each inner set.

    Those of pair p are `at[starts[p]:starts[p + 1]]`, in the order of the inner set.
    """

    inner: Codes
    outer: Codes
    starts: Codes
    at: Codes


def containments(
    inner: ColumnSets, outer: ColumnSets, columns: int, most: int = MOST, work: WorkBudget | None = None
) -> Containments:
    """Pairs of a set and a set that contains it, both from given lists; empty inner sets are left out.

    A set is looked for in those that hold its rarest column, `most` at most (the first of `outer`): of the pairs that
    there are, some may be missing. All entries of all pairs looked at are looked up at once, so the time is that of
    the entries of `inner`, times `most` at worst, times a logarithm. Raises TooMuchWork where they are more than `work`
    allows.
    """
    filled = np.flatnonzero(inner.sizes)
    if not len(filled) or not len(outer.columns):
        return _no_pairs()
    holders = np.bincount(outer.columns, minlength=columns)
    which, places = outer.holders(inner.columns[_rarest_entries(inner, filled, holders)], holders, most)
    which, sets = filled[which], outer.set_of[places]
    large = outer.sizes[sets] >= inner.sizes[which]
    if work is not None:
        work.spend(LOOKUP * int(inner.sizes[which[large]].sum()))
    return _contained_pairs(inner, outer, which[large], sets[large])


def _contained_pairs(inner: ColumnSets, outer: ColumnSets, which: Codes, sets: Int32s) -> Containments:
    """Those of some pairs in which the first set lies in the second."""
    counts = inner.sizes[which]
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    at = outer.find(np.repeat(sets, counts), inner.columns[np.repeat(inner.starts[which], counts) + ranges(counts)])
    if not len(which):
        return _no_pairs()
    inside = np.flatnonzero(np.minimum.reduceat(at, starts[:-1]) >= 0)
    few = counts[inside]
    kept = at[np.repeat(starts[inside], few) + ranges(few)]
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(few)))
    return Containments(which[inside], sets[inside].astype(np.int64), starts, kept)


def _rarest_entries(sets: ColumnSets, filled: Codes, holders: Codes) -> Codes:
    """Return the entry of each nonempty set with the least frequent column."""
    counts = holders[sets.columns]
    starts = sets.starts[filled]
    least = np.minimum.reduceat(counts, starts)
    meets = np.flatnonzero(counts == np.repeat(least, sets.sizes[filled]))
    return meets[np.searchsorted(meets, starts)]


def _no_pairs() -> Containments:
    none = np.zeros(0, dtype=np.int64)
    return Containments(none, none, np.zeros(1, dtype=np.int64), none)
