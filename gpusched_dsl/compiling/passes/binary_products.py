"""Products of 0/1 expressions, of any degree, as rows.

Takes `w == b_1 ... b_k` in which every factor can only be 0 or 1 (a binary column, `1 - x`, ...), and gives

    w <= b_j for all j                  where a larger w gains
    w >= b_1 + ... + b_k - (k - 1)      where a smaller one does (w >= 0 is a bound of the column)

No columns are added, and w need not be integer for the solver. Leaves products with another factor.

Also for targets that take products: the rows are exact, and what may be left is a linear problem.

Proof. At integer points the rows say w <= min b_j, which is the product, and w >= 1 where all are 1.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.product_factors import literals_of, times_of
from gpusched_dsl.compiling.passes.product_rows import add_products
from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.ir.definitions import Product


class BinaryProducts:
    """binary * ... * binary -> linear rows."""

    name: ClassVar[str] = "binary_products"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return any(isinstance(d, Product) and d.size for d in analysis.problem.definitions)

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        for definition in analysis.problem.definitions:
            if isinstance(definition, Product) and definition.size:
                _reformulate(builder, analysis, definition)
        return builder.step() if builder.notes else PassResult(analysis.problem)


def _reformulate(builder: ProblemBuilder, analysis: Analysis, definition: Product) -> None:
    literal = literals_of(analysis, definition)
    chosen = np.logical_and.reduceat(literal, definition.starts[:-1])
    if not chosen.any():
        return
    rows = builder.rows
    add_products(builder, times_of(analysis, definition, literal, np.flatnonzero(chosen)))
    builder.remove(definition, chosen)
    effect, count, added = "products of 0/1 values as rows", int(chosen.sum()), builder.rows - rows
    builder.notes.append(Note(BinaryProducts.name, definition.name, effect, count, added, span=definition.span))
