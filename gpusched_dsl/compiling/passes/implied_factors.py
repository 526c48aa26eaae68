"""Products with a binary factor that rows make superfluous.

    y == 0 forces l == 0  (`l <= U y`, `sum l <= U y`, l >= 0)    ->  y * l == l
    y == 1 forces l == 0  (`x + y <= 1`)                          ->  y * l == 0
    the same binary twice                                         ->  x * x == x

Takes products of two columns, one of them binary, y; l may be anything, also binary: `s * x == x` where `x <= s`.
`Implications` finds what the rows force. The result is read as l (times its factor) wherever it stands, which also
settles products of products: `s * y * l` becomes `y * l`, and that l. Leaves all others.

Proof. Where y == 1 both sides are l; where y == 0 the row forces l == 0, and both sides are 0. The row stays.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.analysis.rows import Upper
from gpusched_dsl.compiling.passes.linear_terms import hold_to, sum_of
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder, renumber_columns
from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.compiling.work_budget import TooMuchWork, WorkBudget
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Product
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import ROUNDING

# What is left of a row counts as nothing below this, relative to its side.
NOTHING = ROUNDING


class ImpliedFactors:
    """binary * column -> the column, or 0, if rows imply it."""

    name: ClassVar[str] = "implied_factors"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return any(isinstance(d, Product) and d.size for d in analysis.problem.definitions)

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem, builder = analysis.problem, ProblemBuilder(analysis.problem)
        implications = Implications(problem, _factors(problem))
        names = np.arange(problem.columns, dtype=np.int32)
        try:
            for definition in problem.definitions:
                if isinstance(definition, Product) and definition.size:
                    _drop(builder, analysis, implications, definition, names)
        except TooMuchWork:
            products = [d for d in problem.definitions if isinstance(d, Product) and d.size]
            effect, entries = "not searched in rows: too much work", sum(d.size for d in products)
            note = Note(self.name, products[0].name, effect, entries, span=products[0].span, abandoned=True)
            return PassResult(problem, (note,))
        return builder.step() if builder.notes else PassResult(problem)


def _factors(problem: Problem) -> Bools:
    """Return the columns that are factors of products."""
    is_factor = np.zeros(problem.columns, dtype=np.bool_)
    for definition in problem.definitions:
        if isinstance(definition, Product):
            is_factor[definition.arguments.matrix.columns] = True
    return is_factor


def _drop(
    builder: ProblemBuilder, analysis: Analysis, implications: Implications, definition: Product, names: Int32s
) -> None:
    """Look at the pairs of a definition, their factors read by their new `names`, which grow."""
    problem = builder.problem
    matrix = renumber_columns(definition.arguments.matrix, names)
    width = np.diff(matrix.starts)
    plain = (width == 1) & (definition.arguments.constants == 0)
    pair = np.flatnonzero((np.diff(definition.starts) == 2) & np.logical_and.reduceat(plain, definition.starts[:-1]))
    if not len(pair):
        return
    places = matrix.starts[:-1][definition.starts[:-1][pair][:, None] + np.array([0, 1])]
    columns, scales = matrix.columns[places], matrix.values[places]
    binary = (problem.integer & (problem.lower == 0) & (problem.upper == 1))[columns]
    zero = np.zeros(len(pair), dtype=np.bool_)
    kept = np.full(len(pair), -1)  # the factor that is the product, but for the scales of both
    same = columns[:, 0] == columns[:, 1]
    kept[same & binary[:, 0]] = 0
    for y, other in ((0, 1), (1, 0)):
        open_pairs = np.flatnonzero(binary[:, y] & ~same & (kept < 0) & ~zero)
        zero[open_pairs] = implications.forces(columns[open_pairs, y], columns[open_pairs, other], 1, analysis.work)
        open_pairs = open_pairs[~zero[open_pairs]]
        forced = implications.forces(columns[open_pairs, y], columns[open_pairs, other], 0, analysis.work)
        kept[open_pairs[forced]] = other

    gone = np.zeros(definition.size, dtype=np.bool_)
    gone[pair[zero | (kept >= 0)]] = True
    if not gone.any():
        return
    builder.bound(definition.results[pair[zero]], 0.0, 0.0)
    effects = [("are 0 because rows exclude one factor by the other", int(zero.sum()), 0)]
    at = np.flatnonzero(kept >= 0)
    by, scale, results = columns[at, kept[at]], scales[at].prod(axis=1), definition.results[pair[at]]
    same = scale == 1.0
    builder.substitute(results[same], by[same])
    names[results[same]] = by[same]
    rows = _hold_scaled(builder, analysis, definition, results[~same], by[~same], scale[~same])
    effects.append(("equal one factor because rows imply the other", len(at), rows))
    builder.remove(definition, gone)
    for text, entries, added in effects:
        if entries:
            builder.notes.append(Note(ImpliedFactors.name, definition.name, text, entries, added, span=definition.span))


def _hold_scaled(
    builder: ProblemBuilder, analysis: Analysis, definition: Product, results: Int32s, by: Int32s, scale: Floats
) -> int:
    """Add rows that fix results to factors times a number."""
    down, up = analysis.directions.down[results], analysis.directions.up[results]
    read = down | up
    if not read.any():
        return 0
    name = f"{builder.problem.column_family(int(definition.results[0])).name}.value"
    places = np.flatnonzero(np.isin(definition.results, results[read]))
    index = builder.index_of(definition, places)
    value = sum_of((by[read], scale[read]))
    return hold_to(builder, name, index, results[read], value, down[read], up[read], definition.span)


class _Table(Struct, frozen=True, eq=False):
    """Facts of the form (column, row), sorted by column and then row, each with an amount."""

    columns: Codes
    keys: Codes
    amounts: Floats
    rows: int

    @staticmethod
    def of(columns: Codes, rows: Codes, amounts: Floats, count: int) -> _Table:
        keys = columns.astype(np.int64) * count + rows
        order = np.argsort(keys, kind="stable")
        return _Table(columns[order].astype(np.int64), keys[order], amounts[order], count)

    def occurrences(self, columns: Codes) -> tuple[Codes, Codes]:
        """For some columns: which of them, and where in the table, for every fact about it."""
        first = np.searchsorted(self.columns, columns, side="left")
        counts = np.searchsorted(self.columns, columns, side="right") - first
        which = np.repeat(np.arange(len(columns)), counts)
        shift = np.repeat(first - (np.cumsum(counts) - counts), counts)
        return which, np.arange(len(which)) + shift

    def count(self, columns: Codes) -> int:
        left, right = (np.searchsorted(self.columns, columns, side=side) for side in ("left", "right"))
        return int((right - left).sum())

    def row(self, places: Codes) -> Codes:
        return self.keys[places] - self.columns[places] * self.rows

    def find(self, columns: Codes, rows: Codes) -> Codes:
        """The place of each fact, -1 where there is none."""
        if not len(self.keys):
            return np.full(len(columns), -1, dtype=np.int64)
        wanted = columns.astype(np.int64) * self.rows + rows
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[at] == wanted, at, -1)


LOOKUP = 20  # entries that one search in an ordered array counts for


class Implications:
    """Columns that rows force to 0 if a binary column has a value, for requested pairs of `columns_of_interest`.

    A row `a y + sum_j a_j x_j <= b` in which the terms at their smallest, with y == v, use up all of b leaves every
    other term at its smallest; for a term that is smallest at x_j == 0 that forces x_j == 0. So does a slack below
    |a_j| where x_j is integer. Typical: `sum_j x_j <= U y` with x >= 0 (y == 0 forces x_j == 0), `x + y <= 1` (y == 1
    forces x == 0), and rows under a condition on y. Bounds are those of the columns.
    """

    def __init__(self, problem: Problem, columns_of_interest: Bools) -> None:
        rows = Upper.of(problem.matrix, problem.row_lower, problem.row_upper)
        origin = np.concatenate((np.flatnonzero(np.isfinite(problem.row_upper)),
                                 np.flatnonzero(np.isfinite(problem.row_lower))))  # fmt: skip
        matrix, count = rows.matrix, rows.matrix.rows
        values, columns, row_of = matrix.values, matrix.columns, matrix.row_of
        low, high = problem.lower[columns], problem.upper[columns]
        least = values * np.where(values > 0, low, high)
        slack = rows.limits - np.bincount(row_of, weights=least, minlength=count)  # infinite: nothing follows
        forced = columns_of_interest[columns] & (least == 0)
        # The amount of a term at 0: the least by which it can leave it, 0 if it is not integer.
        steps = np.where(problem.integer[columns], rows.sizes, 0.0)
        self._forced = _Table.of(columns[forced], row_of[forced], steps[forced], count)
        largest = np.zeros(count)
        np.maximum.at(largest, row_of[forced], steps[forced])
        enough = np.maximum(largest, NOTHING * np.maximum(1.0, np.abs(rows.limits)))
        self._nothing = NOTHING * np.maximum(1.0, np.abs(rows.limits))

        condition = np.full(problem.rows, -1, dtype=np.int64)
        condition[problem.conditions.rows] = problem.conditions.columns
        binary = columns_of_interest & problem.integer & (problem.lower == 0) & (problem.upper == 1)
        entries = np.flatnonzero(binary[columns] & (condition[origin] < 0)[row_of] & np.isfinite(slack)[row_of])
        self._forcing = []
        for value in (0.0, 1.0):
            left = slack[row_of[entries]] + least[entries] - values[entries] * value
            fine = left <= enough[row_of[entries]]
            at = entries[fine]
            under = np.flatnonzero(condition[origin] >= 0)
            wanted = np.zeros(problem.rows, dtype=np.bool_)
            wanted[problem.conditions.rows[problem.conditions.values == bool(value)]] = True
            under = under[wanted[origin[under]] & (slack[under] <= enough[under])]
            self._forcing.append(
                _Table.of(
                    np.concatenate((columns[at], condition[origin[under]])),
                    np.concatenate((row_of[at], under)),
                    np.concatenate((left[fine], slack[under])),
                    count,
                )
            )

    def forces(self, binary: Codes, column: Codes, value: int, work: WorkBudget) -> Bools:
        """For each pair: does `binary == value` force `column == 0`?

        Raises TooMuchWork where the rows of the columns, taken for each pair, are more than `work` allows.
        """
        forcing, forced = self._forcing[value], self._forced
        by_binary, by_column = forcing.count(binary), forced.count(column)
        work.spend(LOOKUP * (len(binary) + min(by_binary, by_column)))
        if by_binary <= by_column:
            which, one = forcing.occurrences(binary)
            other = forced.find(column[which], forcing.row(one))
            hit = other >= 0
            slack, step, row = forcing.amounts[one[hit]], forced.amounts[other[hit]], forcing.row(one[hit])
        else:
            which, other = forced.occurrences(column)
            one = forcing.find(binary[which], forced.row(other))
            hit = one >= 0
            slack, step, row = forcing.amounts[one[hit]], forced.amounts[other[hit]], forcing.row(one[hit])
        nothing = self._nothing[row]
        follows = (slack <= nothing) | (slack + nothing < step)
        result = np.zeros(len(binary), dtype=np.bool_)
        result[which[hit][follows]] = True
        return result
