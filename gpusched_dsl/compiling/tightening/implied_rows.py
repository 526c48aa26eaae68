"""Short rows that a longer row and the bounds of the columns imply go.

A side `a x <= b` follows from another one, `A x <= B`, and the bounds where for some m > 0

    max { (a - m A) x : within the bounds }  <=  b - m B

for then a x = m A x + (a - m A) x <= m B + b - m B. The left side less the right one is convex and piecewise linear in
m with its corners at m = a_j / A_j, so these are all that need to be tried. Examples, all columns being >= 0:

    x_i <= z    by  sum_k b_k x_k - z == 0 (or <= 0)  where b_i >= 1:  m = 1, (1 - b_i) x_i - sum_{k != i} b_k x_k <= 0
    x_i <= y    by  sum_{k in G} x_k <= y  for any G that holds i

A row goes when both of its sides follow, each from one row. Looked at are rows of two or three columns and the longer
rows that hold all of them (of the rows that hold the rarest of the columns, the first eight).

Proof that nothing gets lost: a row that goes is implied by a longer one, which stays or is implied by a still longer
one itself; implied by bounds and rows that stay is what all rows are in the end. The relaxation has the same points.

Left alone: rows under a condition, rows with columns that definitions and conditions know.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.compiling.tightening.column_sets import LOOKUP, ColumnSets
from gpusched_dsl.compiling.tightening.column_sets import MOST as MOST_HOLDERS
from gpusched_dsl.compiling.tightening.row_sides import ROUNDING, counts, plain_columns, plain_rows, totals
from gpusched_dsl.compiling.work_budget import WorkBudget
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem

LEAST, MOST = 2, 3
SWEEPS = 15
A_PAIR = LOOKUP + 4 * 20  # a column of a pair is looked up, and looked at for each of four pairs of sides


class ImpliedRows:
    """Rows -> fewer rows with the same relaxation."""

    name: ClassVar[str] = "implied_rows"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        sizes = np.diff(analysis.problem.matrix.starts)
        return bool(((sizes >= LEAST) & (sizes <= MOST)).any() and (sizes > LEAST).any())

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem = analysis.problem
        analysis.sweep(SWEEPS)
        gone = _implied_rows(problem, analysis.work)
        if not gone.any():
            return PassResult(problem)
        from gpusched_dsl.compiling.passes.rewriting import without_rows

        smaller, numbers = without_rows(problem, gone)
        notes = tuple(
            Note(self.name, f.name, "follow from other rows", count, rows=-count, span=f.span)
            for f in problem.constraints
            if (count := int(gone[f.slice].sum()))
        )
        return PassResult(smaller, notes, rows=numbers)


def _implied_rows(problem: Problem, work: WorkBudget) -> Bools:
    matrix = problem.matrix
    sizes = np.diff(matrix.starts)
    usable = plain_rows(problem)
    if not problem.is_linear:
        usable &= counts(matrix, ~plain_columns(problem)[matrix.columns]) == 0
    gone = np.zeros(problem.rows, dtype=np.bool_)
    for size in range(LEAST, MOST + 1):
        short = np.flatnonzero(usable & (sizes == size))
        long = np.flatnonzero(usable & (sizes > size))
        if len(short) and len(long):
            gone[short[_implied_by_long(problem, short, long, work)]] = True
    return gone


def _implied_by_long(problem: Problem, short: Codes, long: Codes, work: WorkBudget) -> Bools:
    """Which of the short rows follow from long ones; the short ones have one size."""
    pairs = _Pairs.of(problem, short, problem.matrix.take(long), work)
    follow = np.full(len(short), len(pairs.inner) > 0)
    if not follow.any():
        return follow
    for sign, sides in ((1.0, problem.row_upper), (-1.0, -problem.row_lower)):
        side = sides[short]
        is_implied = np.isposinf(side)
        for other, others in ((1.0, problem.row_upper), (-1.0, -problem.row_lower)):
            limits = others[long]
            # Only where it is not known yet, and nothing is missing so far.
            candidates = np.flatnonzero(
                follow[pairs.inner] & ~is_implied[pairs.inner] & np.isfinite(limits[pairs.outer])
            )
            if len(candidates):
                holds = pairs.holds(candidates, sign, side, other, limits)
                is_implied[pairs.inner[candidates[holds]]] = True
        follow &= is_implied
    return follow


class _Pairs(Struct, frozen=True, eq=False):
    """Short rows `inner` and longer rows `outer` with all of their columns, in pairs.

    `columns`, `short` and `long` have a line for each place in a short row: its column and the coefficients in both.
    `low` and `high` are the bounds of all columns; `ends[s]` is the finite part of the largest value of `-s * A x`
    within them for each long row A and s = 1 and -1, and `open_ends[s]` is the number of its infinite terms.
    """

    inner: Codes
    outer: Int32s
    columns: Int32s
    short: Floats
    long: Floats
    low: Floats
    high: Floats
    ends: dict[float, Floats]
    open_ends: dict[float, Floats]

    @staticmethod
    def of(problem: Problem, short: Codes, many: Matrix, work: WorkBudget) -> _Pairs:
        few = problem.matrix.take(short)
        size = few.nonzeros // few.rows
        columns, values = few.columns.reshape(-1, size), few.values.reshape(-1, size)
        sets = ColumnSets(many.starts, many.columns)
        inner, places = _common(sets, columns, problem.columns, work)
        outer = sets.set_of[places[0]]
        ends, open_ends = {}, {}
        used = np.zeros(many.rows, dtype=np.bool_)
        used[outer] = True
        needed = np.flatnonzero(used)
        some = many.take(needed)
        for sign in (1.0, -1.0):
            most = _most(-sign * some.values, problem.lower[some.columns], problem.upper[some.columns])
            infinite = np.isinf(most)
            ends[sign], open_ends[sign] = np.zeros(many.rows), np.zeros(many.rows)
            ends[sign][needed] = totals(some, np.where(infinite, 0.0, most))
            if infinite.any():
                open_ends[sign][needed] = totals(some, infinite.astype(np.float64))
        long = np.stack([many.values[p] for p in places])
        return _Pairs(
            inner, outer, columns[inner].T, values[inner].T, long, problem.lower, problem.upper, ends, open_ends
        )

    def holds(self, pairs: Codes, sign: float, side: Floats, other: float, limits: Floats) -> Bools:
        """For which pairs `sign * short row <= side` follows from `other * long row <= limits`."""
        inner, outer = self.inner[pairs], self.outer[pairs]
        a, b = sign * self.short[:, pairs], other * self.long[:, pairs]
        low, high = self.low[self.columns[:, pairs]], self.high[self.columns[:, pairs]]
        own = _most(-b, low, high)
        infinite = np.isinf(own)
        rest = self.ends[other][outer] - _add_up(np.where(infinite, 0.0, own))
        closed = self.open_ends[other][outer] == _add_up(infinite.astype(np.float64))
        holds = np.zeros(len(pairs), dtype=np.bool_)
        for place in range(len(a)):
            with np.errstate(divide="ignore", invalid="ignore"):
                m = a[place] / b[place]
            at = np.flatnonzero(closed & ~holds & (m > 0) & np.isfinite(m))
            if not len(at):
                continue
            factor = m[at]
            left = a[:, at] - factor * b[:, at]
            left[place] = 0.0  # as m was chosen
            parts = _most(left, low[:, at], high[:, at])
            others, needed, given = factor * rest[at], factor * limits[outer[at]], side[inner[at]]
            slack = ROUNDING * (_add_up(np.abs(parts)) + np.abs(others) + np.abs(needed) + np.abs(given))
            excess = _add_up(parts) + others + needed - given
            holds[at] = np.isfinite(excess) & (excess <= slack)
        return holds


def _common(sets: ColumnSets, columns: Int32s, count: int, work: WorkBudget) -> tuple[Codes, list[Codes]]:
    """Return lines of `columns` and sets with all columns of the line: the line, and the entry of the set for each."""
    held = np.bincount(sets.columns, minlength=count)
    rarest = held[columns].argmin(axis=1)
    size = columns.shape[1]
    work.spend(A_PAIR * size * int(np.minimum(held[columns].min(axis=1), MOST_HOLDERS).sum()))
    inner, at = sets.holders(columns[np.arange(len(columns)), rarest], held)
    places = [at]
    for further in range(1, size):
        wanted = columns[inner, (rarest[inner] + further) % size]
        at = sets.find(sets.set_of[places[0]], wanted)
        kept = np.flatnonzero(at >= 0)
        inner, places = inner[kept], [*(p[kept] for p in places), at[kept]]
    # From the order in which they were looked for back to that of the line.
    stacked = np.stack(places)
    order = (np.arange(size)[:, None] - rarest[inner]) % size
    return inner, list(np.take_along_axis(stacked, order, axis=0))


def _add_up(terms: Floats) -> Floats:
    """The sum over the columns of a row."""
    total: Floats = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total


def _most(values: Floats, low: Floats, high: Floats) -> Floats:
    """The largest value of each term within the bounds."""
    with np.errstate(invalid="ignore"):
        most = values * np.where(values > 0, high, low)
    return np.where(values == 0.0, 0.0, most)
