"""Capacities that are there only when something is switched on.

Takes a row over 0/1 columns with positive coefficients, and a 0/1 column y without which none of them can be 1:

    sum_i g_i x_i <= s  and  x_i <= y for all i    ->    sum_i g_i x_i <= s y

The links `x_i <= y` are read off rows with one negative coefficient, `sum_k a_k x_k <= c y` with all x_k >= 0 and the
a_k positive, whatever a_k and c are. Of several such y that with the fewest links is taken: it says most.

Proof. At a 0/1 point with y = 1 both rows are the same; with y = 0 all x_i are 0, and both hold. As s > 0 and y <= 1, a
fractional point of the new row is one of the old.

Left alone: rows with a second side, rows that hold anyway (sum_i g_i <= s: the links say more), rows under a condition,
columns that definitions and conditions know. Where the author names the set that blocks are made of, a row of a block
gets no column from outside.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.compiling.tightening.column_sets import ColumnSets, containments, key_of
from gpusched_dsl.compiling.tightening.row_sides import (
    ROUNDING,
    Sides,
    counts,
    lower_sides,
    plain_columns,
    plain_rows,
    totals,
    upper_sides,
    zero_one,
)
from gpusched_dsl.compiling.work_budget import WorkBudget
from gpusched_dsl.ir.arrays import Bools, Codes, Int32s
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem

NONE = -1
SWEEPS = 30


class LiftedCapacities:
    """sum g x <= s -> sum g x <= s y."""

    name: ClassVar[str] = "lifted_capacities"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return analysis.problem.rows > 1

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem = analysis.problem
        analysis.sweep(SWEEPS)
        usable = zero_one(problem) & plain_columns(problem)
        sides = [_capacities(problem, s, usable) for s in _sides(problem)]
        read = np.zeros(problem.columns, dtype=np.bool_)
        for some in sides:
            read[some.matrix.columns] = True
        if not read.any():
            return PassResult(problem)
        heads, below = _links(problem, usable, read)
        for sign, some in zip((1.0, -1.0), sides, strict=True):
            chosen = _switches(problem, some, heads, below, analysis.work)
            lifted = np.flatnonzero(chosen >= 0)
            if len(lifted):
                problem = _lift(problem, some.take(lifted), chosen[lifted], sign)
        if problem is analysis.problem:
            return PassResult(problem)
        return PassResult(problem, _notes(analysis.problem, problem))


def _sides(problem: Problem) -> tuple[Sides, Sides]:
    """All rows with one side only, as upper sides."""
    plain = plain_rows(problem)
    below, above = np.isfinite(problem.row_upper), np.isfinite(problem.row_lower)
    return (
        upper_sides(problem, np.flatnonzero(plain & below & ~above)),
        lower_sides(problem, np.flatnonzero(plain & above & ~below)),
    )


def _capacities(problem: Problem, sides: Sides, usable: Bools) -> Sides:
    """Those that limit two 0/1 columns or more, all with positive coefficients."""
    some = sides.take(np.flatnonzero((sides.limits > 0.0) & (sides.sizes > 1)))
    matrix = some.matrix
    right = counts(matrix, usable[matrix.columns] & (matrix.values > 0.0)) == some.sizes
    some = some.take(np.flatnonzero(right))
    return some.take(np.flatnonzero(totals(some.matrix, some.matrix.values) > some.limits * (1.0 + ROUNDING)))


def _links(problem: Problem, usable: Bools, read: Bools) -> tuple[Int32s, ColumnSets]:
    """Columns y, those with the fewest links first, and for each the columns x in `read` with x <= y."""
    plain = plain_rows(problem)
    keys = [np.zeros(0, dtype=np.int64)]
    stated = np.zeros(problem.columns, dtype=np.int64)
    for finite, sides_of, limits in (
        (np.isfinite(problem.row_upper), upper_sides, problem.row_upper),
        (np.isfinite(problem.row_lower), lower_sides, -problem.row_lower),
    ):
        sides = sides_of(problem, np.flatnonzero(plain & finite & (limits <= 0.0)))
        matrix = sides.matrix
        negative = matrix.values < 0.0
        outside = (matrix.values > 0.0) & (problem.lower[matrix.columns] < 0.0)
        heads = counts(matrix, negative & usable[matrix.columns])
        rows = (heads == 1) & (counts(matrix, negative | outside) == 1)
        inside = rows[matrix.row_of]
        head = np.full(matrix.rows, NONE, dtype=np.int32)
        at = np.flatnonzero(inside & negative)
        head[matrix.row_of[at]] = matrix.columns[at]
        at = np.flatnonzero(inside & (matrix.values > 0.0))
        stated += np.bincount(head[matrix.row_of[at]], minlength=problem.columns)
        at = at[read[matrix.columns[at]]]
        keys.append(key_of(head[matrix.row_of[at]], matrix.columns[at]))
    links = np.sort(np.concatenate(keys))  # much faster than `unique`, which puts many numbers into a table
    links = links[np.diff(links, prepend=NONE) != 0]
    above, below = (links >> 32).astype(np.int32), (links & 0xFFFFFFFF).astype(np.int32)
    begins = np.flatnonzero(np.diff(above, prepend=NONE))
    starts = np.append(begins, len(above)).astype(np.int64)
    order = np.argsort(stated[above[begins]], kind="stable")
    return above[begins][order], ColumnSets(starts, below).take(order)


def _switches(problem: Problem, sides: Sides, heads: Int32s, below: ColumnSets, work: WorkBudget) -> Int32s:
    """For each side the column without which all of its columns are 0; -1 where there is none."""
    chosen = np.full(len(sides.rows), NONE, dtype=np.int32)
    found = containments(ColumnSets(sides.matrix.starts, sides.matrix.columns), below, problem.columns, work=work)
    inner, outer = found.inner, found.outer
    inside = _in_blocks(problem, sides.rows[inner], heads[outer])
    inner, outer = inner[inside], outer[inside]
    order = np.lexsort((-outer, inner))  # of repeated rows the last one stays: that of the fewest links
    chosen[inner[order]] = heads[outer[order]]
    return chosen


def _in_blocks(problem: Problem, rows: Codes, columns: Int32s) -> Bools:
    """Where a column can be written to a row that may belong to a block, so that it still does."""
    if problem.decompose is None or not len(rows):
        return np.ones(len(rows), dtype=np.bool_)
    from gpusched_dsl.ir.blocks import NoBlocksError, blocks_of

    try:
        blocks = blocks_of(problem, problem.decompose)
    except NoBlocksError:
        return np.ones(len(rows), dtype=np.bool_)
    return np.asarray((blocks.row[rows] < 0) | (blocks.row[rows] == blocks.column[columns]))


def _lift(problem: Problem, sides: Sides, columns: Int32s, sign: float) -> Problem:
    """The problem with each of some sides, `sign` times its row, as a limit only where its column is 1."""
    matrix, rows = problem.matrix, sides.rows
    at = matrix.starts[rows + 1]
    more = np.zeros(problem.rows + 1, dtype=np.int64)
    more[rows + 1] = 1
    entries = Matrix(
        matrix.starts + np.cumsum(more),
        np.insert(matrix.columns, at, columns),
        np.insert(matrix.values, at, -sign * sides.limits),
    )
    lower, upper = problem.row_lower.copy(), problem.row_upper.copy()
    (upper if sign > 0 else lower)[rows] = 0.0
    return replace(problem, matrix=entries, row_lower=lower, row_upper=upper)


def _notes(before: Problem, after: Problem) -> tuple[Note, ...]:
    changed = np.diff(after.matrix.starts) != np.diff(before.matrix.starts)
    effect = "limits times the column that its columns need"
    return tuple(
        Note(LiftedCapacities.name, f.name, effect, count, span=f.span)
        for f in before.constraints
        if (count := int(changed[f.slice].sum()))
    )
