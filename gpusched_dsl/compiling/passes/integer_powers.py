"""Powers of bounded integers as products, for targets that take products of integers but no powers.

    r == a^k,   k = 2, 3, ..., a an integer expression      ->      r == a a ... a

Leaves other exponents, and arguments that move in other steps or have no bounds.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.native_products import native_products
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.steps import INTEGER_PRODUCT, Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.definitions import Power, Product

MOST_FACTORS = 52  # of a product of numbers that are not 0, 1 or -1: more are beyond what 64 bits hold


class IntegerPowers:
    """integer ^ k -> integer * ... * integer."""

    name: ClassVar[str] = "integer_powers"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return (
            target.takes(INTEGER_PRODUCT)
            and not target.takes(Power.op)
            and any(isinstance(d, Power) and d.size for d in analysis.problem.definitions)
        )

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        for definition in analysis.problem.definitions:
            if not isinstance(definition, Power):
                continue
            exponents = definition.exponents
            entries = np.flatnonzero((exponents == np.rint(exponents)) & (exponents >= 2) & (exponents <= MOST_FACTORS))
            if not len(entries):
                continue
            products = _product(definition, entries)
            taken = native_products(analysis, target, products)
            if taken.any():
                chosen = np.zeros(definition.size, dtype=np.bool_)
                chosen[entries[taken]] = True
                builder.replace(definition, chosen, (products.take(np.flatnonzero(taken)),))
                effect = "powers of integers are products"
                builder.notes.append(Note(self.name, definition.name, effect, int(taken.sum()), span=definition.span))
        return builder.step() if builder.notes else PassResult(analysis.problem)


def _product(definition: Power, entries: Codes) -> Product:
    """The powers as products of equal factors."""
    counts = definition.exponents[entries].astype(np.int64)
    arguments = definition.arguments.take(np.repeat(entries, counts))
    starts = np.concatenate(([0], np.cumsum(counts)))
    return Product(definition.results[entries], starts, arguments, definition.span, definition.name)
