"""Costs of the form `max(L, a x - d)` on choices become costs of the choices.

Takes a continuous column t with L <= t <= U that has a cost and stands in one row only, where all other columns are a
set of 0/1 columns of which at most one is 1 (`at_most_one`; a single one is such a set), in the sense of rows and
bounds alone (`tight`). Given x, the row and the bounds keep t in an interval

    l(x) <= t <= h(x),    l(x) = max(L, (side - a x) / c),  h(x) = min(U, (other side - a x) / c)

and its cost moves it to one end, say l. Written l_i for x = e_i and l_0 for x = 0, which are all the points there are,

    t  ->  l_0 + sum_i (l_i - l_0) x_i       in every term of the objective;   no row, no column

for a tardiness `sum_k e_k x_k - t <= d`, L = 0 that is `sum_k max(0, e_k - d) x_k`. A choice i with l_i > h_i is not
possible: x_i is fixed at 0. The way back computes t = l(x) from the row.

Proof. At integer points the sum is l(x), the best value of t, and with l_i <= h_i there is one. For fractional x, l is
convex and h concave; x is the average of 0 and the e_i with weights 1 - sum x_i and x_i, so l(x) <= sum of the
weighted l_i: the relaxation is never weaker, and as this is <= sum of the weighted h_i <= h(x), no point gets lost.
Columns that a cost moves up are the same with l and h exchanged.

Left alone: more than one objective (the value of t for one is not that for the next), columns of definitions and
conditions, rows under a condition, an end that is infinite, and rows that do not hold with x = 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.compiling.tightening.column_sets import ColumnSets, containments
from gpusched_dsl.compiling.tightening.row_sides import MARGIN, counts, plain_columns, plain_rows, zero_one
from gpusched_dsl.compiling.work_budget import WorkBudget
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem, Term

SWEEPS = 30


class PositiveParts:
    """Continuous columns that a choice determines -> costs of the choice."""

    name: ClassVar[str] = "positive_parts"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        problem = analysis.problem
        return len(problem.objectives) == 1 and bool(_movable_columns(problem).any())

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem = analysis.problem
        analysis.sweep(SWEEPS)
        parts = _parts(problem, analysis.work)
        excluded, parts = parts.solve(problem)
        if not parts.count:
            return PassResult(problem)
        objective = problem.objectives[0]
        upper = problem.upper.copy()
        upper[excluded] = 0.0
        terms = tuple(_with_choices(t, parts, problem.columns) for t in objective.terms)
        changed = replace(problem, upper=upper, objectives=(structs.replace(objective, terms=terms),))
        gone = np.zeros(problem.rows, dtype=np.bool_)
        gone[parts.rows] = True
        from gpusched_dsl.compiling.passes.rewriting import without_rows

        fewer, numbers = without_rows(changed, gone)
        out = np.zeros(problem.columns, dtype=np.bool_)
        out[parts.columns] = True
        kept = np.flatnonzero(~out)

        def recover(point: Floats) -> Floats:
            full = np.zeros(len(out))
            full[kept] = point
            full[parts.columns] = parts.best(parts.matrix.activity(full))
            return full

        from gpusched_dsl.compiling.passes.removing import without_columns

        smaller = without_columns(fewer, out, np.zeros(problem.columns))
        return PassResult(smaller, _notes(problem, out), recover, lambda point: point[kept], numbers)


class _Parts(Struct, frozen=True, eq=False):
    """Columns t, each with its row: `lower <= matrix row @ x + scale * t <= upper`.

    `low` and `high` are the bounds of t, `up` says that its cost moves it up; `none` and `each` are its values where no
    x is 1, and where that of an entry of the matrix is.
    """

    columns: Codes
    rows: Codes
    matrix: Matrix
    scale: Floats
    lower: Floats
    upper: Floats
    low: Floats
    high: Floats
    up: Bools
    none: Floats
    each: Floats

    @property
    def count(self) -> int:
        return len(self.columns)

    def ends(self, activity: Floats, at: Int32s | slice = slice(None)) -> tuple[Floats, Floats]:
        """Between which values t must be, for values of the other columns' sum; `at` are the parts meant."""
        scale = self.scale[at]
        first, second = (self.lower[at] - activity) / scale, (self.upper[at] - activity) / scale
        positive = scale > 0
        return (
            np.maximum(self.low[at], np.where(positive, first, second)),
            np.minimum(self.high[at], np.where(positive, second, first)),
        )

    def best(self, activity: Floats, at: Int32s | slice = slice(None)) -> Floats:
        low, high = self.ends(activity, at)
        return np.where(self.up[at], high, low)

    def take(self, parts: Codes) -> _Parts:
        entries = np.zeros(self.count, dtype=np.bool_)
        entries[parts] = True
        return _Parts(
            self.columns[parts], self.rows[parts], self.matrix.take(parts), self.scale[parts], self.lower[parts],
            self.upper[parts], self.low[parts], self.high[parts], self.up[parts], self.none[parts],
            self.each[entries[self.matrix.row_of]],
        )  # fmt: skip

    def solve(self, problem: Problem) -> tuple[Codes, _Parts]:
        """Return the parts with known values for every choice, and the columns x that can only be 0."""
        owner, columns = self.matrix.row_of, self.matrix.columns
        low, high = self.ends(np.zeros(self.count))
        none = np.where(self.up, high, low)
        good = (low <= high) & np.isfinite(none)
        low, high = self.ends(self.matrix.values, owner)
        each = np.where(self.up[owner], high, low)
        free = problem.upper[columns] >= 1.0
        with np.errstate(invalid="ignore"):
            excluded = low > high + MARGIN * np.maximum(1.0, np.abs(high))
        bad = free & ~excluded & ((low > high) | ~np.isfinite(each))
        good[owner[bad]] = False
        each = np.where(free & ~excluded, each, none[owner])
        found = structs.replace(self, none=none, each=each).take(np.flatnonzero(good))
        return columns[free & excluded & good[owner]].astype(np.int64), found


def _movable_columns(problem: Problem) -> Bools:
    """Return the continuous columns with a cost and without definitions or conditions."""
    costs = problem.objectives[0].costs(problem.columns)
    return np.asarray((costs != 0.0) & ~problem.integer & plain_columns(problem))


def _parts(problem: Problem, work: WorkBudget) -> _Parts:
    """The columns and rows that have the form, their values not worked out yet."""
    matrix = problem.matrix
    moved = _movable_columns(problem)
    entries = np.flatnonzero(moved[matrix.columns])
    once = np.bincount(matrix.columns[entries], minlength=problem.columns) == 1
    entries = entries[once[matrix.columns[entries]] & (matrix.values[entries] != 0.0)]
    entries = entries[plain_rows(problem)[matrix.row_of[entries]]]
    binary = zero_one(problem)
    rows = matrix.row_of[entries].astype(np.int64)
    others = matrix.take(rows)
    right = counts(others, ~binary[others.columns]) == 1  # t alone is not 0/1
    entries, rows = entries[right], rows[right]
    others = others.take(np.flatnonzero(right))
    at = binary[others.columns]
    sizes = np.diff(others.starts) - 1
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    others = Matrix(starts, others.columns[at], others.values[at])
    columns = matrix.columns[entries].astype(np.int64)
    objective = problem.objectives[0]
    up = (objective.costs(problem.columns)[columns] > 0) == (objective.sense == "maximize")
    unknown = np.zeros(len(rows))
    parts = _Parts(
        columns, rows, others, matrix.values[entries], problem.row_lower[rows], problem.row_upper[rows],
        problem.lower[columns], problem.upper[columns], up, unknown, np.zeros(others.nonzeros),
    )  # fmt: skip
    return parts.take(_choices(problem, ColumnSets(starts, others.columns), rows, work))


def _choices(problem: Problem, sets: ColumnSets, going: Codes, work: WorkBudget) -> Codes:
    """Return the sets with at most one column equal to 1, also at fractional points: their sum is at most 1.

    Rows in `going` prove nothing, as they go with their t: what they say of the choice would be said no more.
    """
    from gpusched_dsl.compiling.tightening.at_most_one import at_most_one

    several = np.flatnonzero(sets.sizes > 1)
    found = sets.sizes <= 1
    if len(several):
        families = at_most_one(problem, int(sets.sizes[several].min()))
        tight = families.sets.take(np.flatnonzero(families.tight & ~np.isin(families.rows, going)))
        found[several[containments(sets.take(several), tight, problem.columns, work=work).inner]] = True
    return np.flatnonzero(found)


def _with_choices(term: Term, parts: _Parts, columns: int) -> Term:
    """The term with the values of the parts in place of their columns."""
    cost = np.zeros(columns)
    cost[term.columns] = term.coefficients
    paid = cost[parts.columns]
    if not paid.any():
        return term
    owner = parts.matrix.row_of
    steps = paid[owner] * (parts.each - parts.none[owner])
    cost[parts.columns] = 0.0
    is_kept = np.zeros(columns, dtype=np.bool_)
    is_kept[term.columns] = True
    is_kept[parts.columns] = False
    is_kept[parts.matrix.columns[steps != 0.0]] = True
    cost += np.bincount(parts.matrix.columns, weights=steps, minlength=columns)
    used = np.flatnonzero(is_kept).astype(np.int32)
    return structs.replace(
        term, columns=used, coefficients=cost[used], constant=term.constant + float(paid @ parts.none)
    )


def _notes(problem: Problem, out: Bools) -> tuple[Note, ...]:
    effect = "priced on the choices that determine it"
    return tuple(
        Note(PositiveParts.name, f.name, effect, count, rows=-count, columns=-count, span=f.span)
        for f in problem.column_families
        if (count := int(out[f.slice].sum()))
    )
