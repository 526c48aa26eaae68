"""Sets of 0/1 columns with at most one equal to 1, as stated by single rows.

A side `sum a_j x_j <= b` bounds those of its 0/1 columns with positive coefficients by

    sum_{i in P} a_i x_i <= s = b - (the least value of all other terms)

Two of them that exceed s together are never both 1, so

    F = { i in P : 2 a_i > s }     has at most one column at 1.

`sum x <= 1` and `== 1` are the plain case, `sum x - z <= 0` and `== 0` with a 0/1 column z another one (s = 1).

Read off besides:

    tight   a_i >= s for all i in F: then sum_F x_i <= sum_F (a_i / s) x_i <= 1 holds for fractional points of the row
            too (where s <= 0, all x_i are 0 there)
    head    the only other column is a 0/1 column z with coefficient -c, and a_i > b for all i in F: with z = 0 no x_i
            can be 1, so x_i <= z
    exact   F are all columns of the row but the head, and its other side excludes that all are 0: exactly one is 1
            (where there is a head: exactly when the head is)

Rows under a condition say nothing. Sets of one column are left out.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.tightening.column_sets import ColumnSets
from gpusched_dsl.compiling.tightening.row_sides import (
    MARGIN,
    ROUNDING,
    Sides,
    counts,
    least,
    lower_sides,
    plain_rows,
    totals,
    upper_sides,
    zero_one,
)
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.problem import Problem

NONE = -1


class AtMostOne(Struct, frozen=True, eq=False, dict=True):
    """`sets` of 0/1 columns with their rows, heads (-1: none), and flags for exact and tight sets."""

    sets: ColumnSets
    rows: Codes
    heads: Int32s
    exact: Bools
    tight: Bools

    @cached_property
    def count(self) -> int:
        return len(self.rows)

    def take(self, families: Codes) -> AtMostOne:
        return AtMostOne(
            self.sets.take(families), self.rows[families], self.heads[families], self.exact[families],
            self.tight[families],
        )  # fmt: skip

    def largest_of(self, columns: int) -> Int32s:
        """A large family of each column, -1 for those in none: the largest of the tight ones, else of the others."""
        found = np.full(columns, NONE, dtype=np.int32)
        order = np.lexsort((self.sets.sizes, self.tight))
        sorted_sets = self.sets.take(order)
        found[sorted_sets.columns] = order[sorted_sets.set_of]  # of repeated columns, the last one stays
        return found


def at_most_one(problem: Problem, smallest: int = 2) -> AtMostOne:
    """The families of at least `smallest` columns (two or more) that the rows of a problem state."""
    binary = zero_one(problem)
    usable = plain_rows(problem) & (np.diff(problem.matrix.starts) >= smallest)
    found = []
    for finite, sides_of in (
        (np.isfinite(problem.row_upper), upper_sides),
        (np.isfinite(problem.row_lower), lower_sides),
    ):
        sides = sides_of(problem, np.flatnonzero(usable & finite))
        enough = counts(sides.matrix, (sides.matrix.values > 0) & binary[sides.matrix.columns]) >= smallest
        if not enough.all():
            sides = sides.take(np.flatnonzero(enough))
        found.append(_families(problem, sides, binary, smallest))
    first, second = found
    return AtMostOne(
        ColumnSets(
            np.concatenate((first.sets.starts, first.sets.starts[-1] + second.sets.starts[1:])),
            np.concatenate((first.sets.columns, second.sets.columns)),
        ),
        np.concatenate((first.rows, second.rows)),
        np.concatenate((first.heads, second.heads)),
        np.concatenate((first.exact, second.exact)),
        np.concatenate((first.tight, second.tight)),
    )


def _families(problem: Problem, sides: Sides, zero_one: Bools, smallest_size: int) -> AtMostOne:
    matrix, values, columns = sides.matrix, sides.matrix.values, sides.matrix.columns
    binary = zero_one[columns]
    chosen = binary & (values > 0)
    with np.errstate(invalid="ignore"):
        low = np.where(values > 0, values * problem.lower[columns], values * problem.upper[columns])
    low[chosen | (values == 0)] = 0.0
    room = sides.limits - totals(matrix, low)
    bar = room + MARGIN * np.maximum(1.0, np.abs(room))
    members = chosen & (2.0 * values > bar[matrix.row_of])
    sizes = counts(matrix, members)
    rows = np.flatnonzero(sizes >= smallest_size)
    smallest = least(matrix, np.where(members, values, np.inf))[rows]
    heads, alone = _heads(sides, rows, members, sizes, binary, smallest)
    headed = heads >= 0
    rest = np.where(headed, totals(matrix, np.where(members, 0.0, values))[rows], 0.0)
    # At all members 0 the row is at most 0, with a head at 1 at most its coefficient.
    exact = alone & (sides.opposite[rows] > rest + MARGIN)
    room = room[rows]
    tight = smallest >= room * (1.0 - ROUNDING)
    kept = members if len(rows) == sides.matrix.rows else members & _flags(rows, matrix.rows)[matrix.row_of]
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes[rows])))
    return AtMostOne(ColumnSets(starts, columns[kept]), sides.rows[rows], heads, exact, tight)


def _heads(
    sides: Sides, rows: Codes, members: Bools, sizes: Codes, binary: Bools, smallest: Floats
) -> tuple[Int32s, Bools]:
    """Return the family head of each of some rows, and whether the row has only the members and the head."""
    others = (sides.sizes - sizes)[rows]
    heads = np.full(len(rows), NONE, dtype=np.int32)
    single = np.flatnonzero(others == 1)
    if len(single):
        place = np.full(sides.matrix.rows, -1, dtype=np.int64)
        outside = np.flatnonzero(~members & _flags(rows[single], sides.matrix.rows)[sides.matrix.row_of])
        place[sides.matrix.row_of[outside]] = outside
        at = place[rows[single]]
        limit = sides.limits[rows[single]]
        below = binary[at] & (sides.matrix.values[at] < 0)
        below &= smallest[single] > limit + MARGIN * np.maximum(1.0, np.abs(limit))
        heads[single[below]] = sides.matrix.columns[at[below]]
    return heads, (others == 0) | (heads >= 0)


def _flags(rows: Codes, count: int) -> Bools:
    flags = np.zeros(count, dtype=np.bool_)
    flags[rows] = True
    return flags
