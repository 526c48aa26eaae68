"""Columns that one row defines as a sum of others are put in by that sum.

    z == c + sum w_i x_i  (w_i > 0),  lower <= z <= upper     ->   c + sum w_i x_i  wherever z stands, in rows and costs
                                                                   the row becomes  lower - c <= sum w x <= upper - c

A side of that row that the bounds of the x_i imply is left out; without sides it goes. So `sum of all choices of a
job == run` becomes `sum of all choices <= 1`, and the costs of `run` those of the choices. It is the same problem in
other columns: also its linear relaxation is.

Takes z that is continuous, or that is integer wherever the x_i are: these are integer, and so are w_i and c. It must
be in so few other rows (`MOST_ROWS`) that the matrix gets no more entries. Sums that only the other way round would
define a column (`x + z == 1`) stay: nothing would be smaller. Left alone: columns that definitions or conditions
know, and those in rows under a condition; coefficients that differ by more than `SPREAD`. The way back computes z
from the row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.compiling.lowering.affine import merge_repeats
from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.compiling.tightening.column_sets import LOOKUP
from gpusched_dsl.compiling.tightening.row_sides import ROUNDING, plain_rows
from gpusched_dsl.compiling.tightening.unused_columns import removable_columns
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, unique
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Objective, Problem

MOST_ROWS = 2  # beside the one that defines it
SPREAD = 1e3
SWEEPS = 15


class DefinedSums:
    """Columns that equal a sum -> the sum."""

    name: ClassVar[str] = "defined_sums"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return analysis.problem.rows > 0

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem = analysis.problem
        analysis.sweep(SWEEPS)
        sums = _find_sums(problem)
        analysis.work.spend(LOOKUP * sums.entries_after_substitution(problem))
        if not sums.count:
            return PassResult(problem)
        gone = np.zeros(problem.columns, dtype=np.bool_)
        gone[sums.columns] = True
        kept = np.flatnonzero(~gone)
        changed, idle = _substitute(problem, sums)
        from gpusched_dsl.compiling.passes.rewriting import without_rows

        fewer, numbers = without_rows(changed, idle)
        from gpusched_dsl.compiling.passes.removing import without_columns

        smaller = without_columns(fewer, gone, np.zeros(problem.columns))

        def recover(point: Floats) -> Floats:
            full = np.zeros(len(gone))
            full[kept] = point
            full[sums.columns] = sums.matrix.activity(full) + sums.constants
            return full

        is_removed = np.zeros(problem.columns, dtype=np.bool_)
        is_removed[sums.columns[idle[sums.rows]]] = True
        notes = tuple(
            Note(
                self.name, f.name, "replaced by the sums that define them", count,
                -int(is_removed[f.slice].sum()), -count, span=f.span,
            )
            for f in problem.column_families
            if (count := int(gone[f.slice].sum()))
        )  # fmt: skip
        return PassResult(smaller, notes, recover, lambda point: point[kept], numbers)


class _Sums(Struct, frozen=True, eq=False):
    """`columns[k] == matrix row k @ point + constants[k]`, stated by row `rows[k]` of the problem.

    `scale` is the coefficient of the column in that row; `lower` and `upper` are its bounds, infinite where the sum
    keeps them anyway.
    """

    columns: Codes
    rows: Codes
    matrix: Matrix
    constants: Floats
    scale: Floats
    lower: Floats
    upper: Floats

    @property
    def count(self) -> int:
        return len(self.columns)

    @property
    def idle_rows(self) -> Bools:
        """Return those with a row that states nothing else."""
        return np.asarray(np.isinf(self.lower) & np.isinf(self.upper))

    def take(self, some: Codes) -> _Sums:
        return _Sums(
            self.columns[some], self.rows[some], self.matrix.take(some), self.constants[some], self.scale[some],
            self.lower[some], self.upper[some],
        )  # fmt: skip

    def entries_after_substitution(self, problem: Problem) -> int:
        """Count the entries of rows and objectives after the substitution of sums."""
        uses = np.bincount(problem.matrix.columns, minlength=problem.columns)
        for term in (term for objective in problem.objectives for term in objective.terms):
            uses[term.columns] += 1
        return int((uses[self.columns] * np.diff(self.matrix.starts)).sum())

    def substitute_into(self, matrix: Matrix, columns: int) -> tuple[Matrix, Floats]:
        """Rows with the sums in place of the columns, and the constant that each gets."""
        which = np.full(columns, -1, dtype=np.int64)
        which[self.columns] = np.arange(self.count)
        number = which[matrix.columns]
        inside = number >= 0
        number, owner, factor = number[inside], matrix.row_of[inside], matrix.values[inside]
        counts = np.diff(self.matrix.starts)[number]
        at = np.repeat(self.matrix.starts[:-1][number], counts) + ranges(counts)
        rows = np.concatenate((matrix.row_of[~inside], np.repeat(owner, counts)))
        names = np.concatenate((matrix.columns[~inside], self.matrix.columns[at]))
        values = np.concatenate((matrix.values[~inside], np.repeat(factor, counts) * self.matrix.values[at]))
        order = np.argsort(rows, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=matrix.rows)))).astype(np.int64)
        constants = np.bincount(owner, weights=factor * self.constants[number], minlength=matrix.rows)
        return Matrix(*merge_repeats(matrix.rows, starts, names[order], values[order])), constants.astype(np.float64)


def _substitute(problem: Problem, sums: _Sums) -> tuple[Problem, Bools]:
    """Return the problem without the columns of the sums, and its rows without further content."""
    idle = np.zeros(problem.rows, dtype=np.bool_)
    idle[sums.rows[sums.idle_rows]] = True
    terms = [_with_sums(o, sums, problem.columns) for o in problem.objectives]
    lower, upper = sums.lower - sums.constants, sums.upper - sums.constants
    # In the size the row was stated in: a x == c - b z.
    factor = -sums.scale
    matrix = Matrix(sums.matrix.starts, sums.matrix.columns, sums.matrix.values * factor[sums.matrix.row_of])
    ends = np.where(factor > 0, factor * lower, factor * upper), np.where(factor > 0, factor * upper, factor * lower)
    from gpusched_dsl.compiling.passes.rewriting import with_rows

    changed = with_rows(replace(problem, objectives=tuple(terms)), sums.rows, matrix, *ends)
    defined = np.zeros(problem.columns, dtype=np.bool_)
    defined[sums.columns] = True
    reading = unique(changed.matrix.row_of[defined[changed.matrix.columns]]).astype(np.int64)
    if len(reading):
        matrix, constants = sums.substitute_into(changed.matrix.take(reading), problem.columns)
        sides = changed.row_lower[reading] - constants, changed.row_upper[reading] - constants
        changed = with_rows(changed, reading, matrix, *sides)
    return changed, idle


def _with_sums(objective: Objective, sums: _Sums, columns: int) -> Objective:
    terms = []
    for term in objective.terms:
        row = Matrix(np.array([0, len(term.columns)], dtype=np.int64), term.columns, term.coefficients)
        put, constant = sums.substitute_into(row, columns)
        terms.append(
            structs.replace(
                term, columns=put.columns, coefficients=put.values, constant=term.constant + float(constant[0])
            )
        )
    return structs.replace(objective, terms=tuple(terms))


# --- which columns ---------------------------------------------------------------------------------------------------


def _find_sums(problem: Problem) -> _Sums:
    """Return sums that do not contain the column of another sum."""
    uses = np.bincount(problem.matrix.columns, minlength=problem.columns)
    equal = plain_rows(problem) & (problem.row_lower == problem.row_upper) & (np.diff(problem.matrix.starts) >= 2)
    rows = np.flatnonzero(equal)
    entries = _lone_entries(problem, rows, removable_columns(problem) & (uses <= MOST_ROWS + 1))
    sums = _worthwhile_sums(_integrality_preserving(problem, _sums(problem, entries)), problem, uses)
    # One column a row and one row a column; then nobody's sum may hold another's column.
    sums = sums.take(np.unique(sums.rows, return_index=True)[1])
    sums = sums.take(np.unique(sums.columns, return_index=True)[1])
    read = np.zeros(problem.columns, dtype=np.bool_)
    read[sums.matrix.columns] = True
    return sums.take(np.flatnonzero(~read[sums.columns]))


def _lone_entries(problem: Problem, rows: Codes, possible: Bools) -> Codes:
    """Return the entries of some rows in possible columns that are the only ones of their sign in the row."""
    matrix = problem.matrix
    inside = np.zeros(problem.rows, dtype=np.bool_)
    inside[rows] = True
    found = []
    here = np.flatnonzero(inside[matrix.row_of])
    owner, values = matrix.row_of[here], matrix.values[here]
    broken = np.zeros(problem.rows, dtype=np.bool_)
    broken[owner[values == 0]] = True
    for sign in (values < 0, values > 0):
        once = (np.bincount(owner[sign], minlength=problem.rows) == 1) & ~broken
        found.append(here[sign & once[owner] & possible[matrix.columns[here]]])
    return np.concatenate(found)


def _sums(problem: Problem, entries: Codes) -> _Sums:
    """Return the sums that the rows of the entries define for their columns."""
    matrix = problem.matrix
    rows, columns = matrix.row_of[entries].astype(np.int64), matrix.columns[entries].astype(np.int64)
    scale = matrix.values[entries]
    whole_rows = matrix.take(rows)
    others = whole_rows.columns != columns[whole_rows.row_of]
    starts = whole_rows.starts - np.arange(len(rows) + 1)
    weights = -whole_rows.values[others] / np.repeat(scale, np.diff(starts))
    sums = Matrix(starts, whole_rows.columns[others], weights)
    constants = problem.row_upper[rows] / scale
    least, most = sums.activity(_finite(problem.lower)), sums.activity(_finite(problem.upper))
    low, high = problem.lower[columns], problem.upper[columns]
    size = ROUNDING * (
        sums.activity(np.abs(_finite(problem.lower)) + np.abs(_finite(problem.upper))) + np.abs(constants)
    )
    with np.errstate(invalid="ignore"):
        least_known = ~_any(sums, np.isinf(problem.lower)) & (least + constants >= low - size)
        most_known = ~_any(sums, np.isinf(problem.upper)) & (most + constants <= high + size)
    return _Sums(
        columns, rows, sums, constants, scale, np.where(least_known, -np.inf, low), np.where(most_known, np.inf, high)
    )


def _integrality_preserving(problem: Problem, sums: _Sums) -> _Sums:
    """Return those that are integer if their column is, with coefficients of similar size."""
    matrix = sums.matrix
    fraction = ~problem.integer[matrix.columns] | (matrix.values != np.rint(matrix.values))
    broken = np.bincount(matrix.row_of[fraction], minlength=sums.count) > 0
    broken |= sums.constants != np.rint(sums.constants)
    good = ~problem.integer[sums.columns] | ~broken
    wide = (matrix.values > SPREAD) | (matrix.values < 1.0 / SPREAD)
    good &= np.bincount(matrix.row_of[wide], minlength=sums.count) == 0
    return sums.take(np.flatnonzero(good))


def _worthwhile_sums(sums: _Sums, problem: Problem, uses: Codes) -> _Sums:
    """Those that give the matrix no more entries."""
    terms, others = np.diff(sums.matrix.starts), uses[sums.columns] - 1
    before = terms + 1 + others
    after = np.where(sums.idle_rows, 0, terms) + others * terms
    return sums.take(np.flatnonzero(after <= before))


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, 0.0)


def _any(matrix: Matrix, flags: Bools) -> Bools:
    return np.asarray(np.bincount(matrix.row_of[flags[matrix.columns]], minlength=matrix.rows) > 0)
