"""Products with a binary factor that rows make superfluous.

    y == 0 forces l == 0  (`l <= U y`, `sum l <= U y`, l >= 0)    ->  y * l == l
    y == 1 forces l == 0  (`x + y <= 1`)                          ->  y * l == 0
    the same binary twice                                         ->  x * x == x

Takes products of two columns, one of them binary, y; l may be anything, also binary: `s * x == x` where `x <= s`.
`implications` finds what the rows force. The result is read as l (times its factor) wherever it stands, which also
settles products of products: `s * y * l` becomes `y * l`, and that l. Leaves all others.

Proof. Where y == 1 both sides are l; where y == 0 the row forces l == 0, and both sides are 0. The row stays.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.implications import Implications
from gpusched_dsl.compiling.passes.linear_terms import hold_to, sum_of
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder, renumber_columns
from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.compiling.work_budget import TooMuchWork
from gpusched_dsl.ir.arrays import Bools, Floats, Int32s
from gpusched_dsl.ir.definitions import Product
from gpusched_dsl.ir.problem import Problem


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
