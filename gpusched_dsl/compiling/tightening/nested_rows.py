"""Nested rows: rows of a set of columns that can be subtracted from larger rows, so that columns have fewer entries.

    entries of P among those of R, times 1 or -1     ->    R - s P, with one column more that stands for P

`network_integrality.py` says why that keeps what it needs. Every P goes into one R at most, the smallest that has it
and takes it; rows that go into one R share no column. That is a choice, not a search: of two families of nested rows
some may stay.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.problem import Problem

MOST_TURNS = 3  # of the rows that could take one, so many are tried
MOST_ROUNDS = 20  # in which rows that want the same entries are told apart


class Nonzeros(Struct, frozen=True, eq=False):
    """Entries of the matrix that are not zero: `values[k]` in row `rows[k]` and column `columns[k]`."""

    rows: Int32s
    columns: Int32s
    values: Floats

    def where(self, kept: Bools) -> Nonzeros:
        return Nonzeros(self.rows[kept], self.columns[kept], self.values[kept])


class Nesting(Struct, frozen=True, eq=False):
    """Row `inner[k]`, times `signs[k]`, is subtracted from row `outer[k]`; `keys` are the removed entries.

    A key is row times the number of columns plus column.
    """

    inner: Codes
    outer: Codes
    signs: Floats
    keys: Codes
    columns: int

    @property
    def covered_columns(self) -> Codes:
        """Return the column of each removed entry."""
        return self.keys % self.columns

    def without_covered(self, entries: Nonzeros) -> Nonzeros:
        if not len(self.keys):
            return entries
        keys = entries.rows.astype(np.int64) * self.columns + entries.columns
        return entries.where(~np.isin(keys, self.keys))


class _Meetings(Struct, frozen=True, eq=False):
    """Two entries of one column, by position: the row of `inner` may go into the row of `outer`."""

    inner: Codes
    outer: Codes

    def where(self, kept: Bools | Codes) -> _Meetings:
        return _Meetings(self.inner[kept], self.outer[kept])


def nest(problem: Problem, entries: Nonzeros) -> Nesting:
    """Choose the subtractions among rows with columns of more than two entries.

    `entries` are those of the columns looked at, 1 or -1 each.
    """
    none = np.zeros(0, dtype=np.int64)
    nothing = Nesting(none, none, np.zeros(0), none, problem.columns)
    count = np.bincount(entries.columns, minlength=problem.columns)
    if not (count > 2).any():
        return nothing
    order = np.argsort(entries.columns, kind="stable")
    row, column, value = entries.rows[order].astype(np.int64), entries.columns[order], entries.values[order]
    size = np.bincount(row, minlength=problem.rows)
    meetings = _contained_meetings(row, column, value, size, int(count.max()))
    with_crowded_columns = np.zeros(problem.rows, dtype=np.bool_)
    with_crowded_columns[row[count[column] > 2]] = True
    meetings = meetings.where(with_crowded_columns[row[meetings.inner]])
    if not len(meetings.inner):
        return nothing
    meetings = _disjoint_meetings(problem, row, *_sort_meetings(row, size, meetings))
    if not len(meetings.inner):
        return nothing
    inner, at = np.unique(row[meetings.inner], return_index=True)
    first = meetings.where(at)
    keys = row[meetings.outer] * problem.columns + column[meetings.outer]
    return Nesting(inner, row[first.outer], value[first.inner] * value[first.outer], keys, problem.columns)


def _contained_meetings(row: Codes, column: Int32s, value: Floats, size: Codes, most: int) -> _Meetings:
    """Return the pairs of rows in which one has all its entries in the other, with one sign throughout."""
    firsts, seconds = [], []
    for apart in range(1, most):
        at = np.flatnonzero(column[apart:] == column[:-apart])
        firsts.append(at)
        seconds.append(at + apart)
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    a, b = row[first], row[second]
    small = (size[a] < size[b]) | ((size[a] == size[b]) & (a < b))
    inner, outer = np.where(small, first, second), np.where(small, second, first)
    a, b = row[inner], row[outer]
    _, pair, times = np.unique(a * len(size) + b, return_inverse=True, return_counts=True)
    balance = np.bincount(pair, weights=value[inner] * value[outer])
    complete = (times[pair] == size[a]) & (np.abs(balance[pair]) == times[pair])
    return _Meetings(inner[complete], outer[complete])


def _sort_meetings(row: Codes, size: Codes, meetings: _Meetings) -> tuple[_Meetings, Codes]:
    """Return the pairs in the order of their inner rows, and for each the number of smaller rows with its inner row."""
    order = np.lexsort((row[meetings.outer], size[row[meetings.outer]], row[meetings.inner]))
    meetings = meetings.where(order)
    inner, outer = row[meetings.inner], row[meetings.outer]
    another = np.concatenate(([True], (inner[1:] != inner[:-1]) | (outer[1:] != outer[:-1])))
    number = np.cumsum(another) - 1
    return meetings, number - number[np.searchsorted(inner, inner)]


def _disjoint_meetings(problem: Problem, row: Codes, meetings: _Meetings, turn: Codes) -> _Meetings:
    """Those of rows that share no column within the row they go into.

    Where two rows want the same entry, the one of the constraint that could take most entries comes first, then the one
    with the lower number. Everyone who is first in all its entries gets them, and the others go on without those that
    lost an entry: that is taking one after the other, many at once.
    """
    stops = np.array([f.stop for f in problem.constraints], dtype=np.int64)
    inner = row[meetings.inner]
    family = np.searchsorted(stops, inner, side="right")
    reach = np.bincount(family, minlength=len(stops))
    order = np.lexsort((inner, family, -reach[family]))
    place = np.empty(problem.rows, dtype=np.int64)
    place[inner[order[::-1]]] = np.arange(len(order))[::-1]
    covered = np.zeros(len(row), dtype=np.bool_)
    kept = np.zeros(len(inner), dtype=np.bool_)
    placed = np.zeros(problem.rows, dtype=np.bool_)
    for number in range(min(MOST_TURNS, int(turn.max(initial=-1)) + 1)):
        waiting = np.flatnonzero((turn == number) & ~placed[inner])
        for _ in range(MOST_ROUNDS):
            waiting = waiting[~_some_of(inner[waiting], covered[meetings.outer[waiting]], problem.rows)]
            if not len(waiting):
                break
            wanted, wants = meetings.outer[waiting], place[inner[waiting]]
            first = np.full(len(row), problem.rows + len(order), dtype=np.int64)
            np.minimum.at(first, wanted, wants)
            wins = waiting[~_some_of(inner[waiting], first[wanted] != wants, problem.rows)]
            covered[meetings.outer[wins]] = True
            placed[inner[wins]] = True
            kept[wins] = True
    return meetings.where(kept)


def _some_of(rows: Codes, flags: Bools, count: int) -> Bools:
    """For each entry whether any entry of the same row is flagged."""
    some = np.zeros(count, dtype=np.bool_)
    some[rows[flags]] = True
    return some[rows]
