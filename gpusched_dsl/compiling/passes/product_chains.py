"""Products of products of 0/1 values as one product, where nothing else reads the inner one.

    v == x y, w == v z, v read by w only, x and y 0/1      ->      w == x y z

The rows of the longer product are as tight as those of the two together, with one column and two rows less. Leaves
inner products that several terms share: there one column serves them all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.product_factors import literals_of
from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Codes, unique
from gpusched_dsl.ir.definitions import Affines, Product
from gpusched_dsl.ir.matrix import stack
from gpusched_dsl.ir.problem import Problem


class ProductChains:
    """(binary * binary) * anything -> binary * binary * anything."""

    name: ClassVar[str] = "product_chains"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return not target.takes("product") and any(
            isinstance(d, Product) and d.size for d in analysis.problem.definitions
        )

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem, builder = analysis.problem, ProblemBuilder(analysis.problem)
        products = [d for d in problem.definitions if isinstance(d, Product) and d.size]
        once = _readers(problem) == 1
        block, entry = (np.full(problem.columns, -1, dtype=np.int64) for _ in range(2))
        current: list[Product] = []
        merged = [np.zeros(d.size, dtype=np.bool_) for d in products]
        for number, product in enumerate(products):
            single = product.arguments.single
            inner = np.flatnonzero((single >= 0) & (np.where(single >= 0, block[single], -1) >= 0))
            current.append(_expand(product, inner, block, entry, current))
            column = single[inner]
            for k in unique(block[column]):
                merged[k][entry[column[block[column] == k]]] = True
            binary = np.logical_and.reduceat(literals_of(analysis, product), product.starts[:-1])
            fit = np.flatnonzero(binary & once[product.results])
            block[product.results[fit]], entry[product.results[fit]] = number, fit
        for old, new, gone in zip(products, current, merged, strict=True):
            if new is old and not gone.any():
                continue
            builder.replace(old, None, (new.take(np.flatnonzero(~gone)),) if not gone.all() else ())
            if gone.any():
                builder.forget(old.results[gone])
                effect = "are factors of one longer product"
                builder.notes.append(
                    Note(self.name, old.name, effect, int(gone.sum()), columns=-int(gone.sum()), span=old.span)
                )
        return builder.step() if builder.notes else PassResult(problem)


def _readers(problem: Problem) -> Codes:
    """How often each column is read."""
    read = [problem.matrix.columns, problem.conditions.columns]
    read += [d.arguments.matrix.columns for d in problem.definitions]
    read += [t.columns for o in problem.objectives for t in o.terms]
    return np.bincount(np.concatenate(read), minlength=problem.columns)


def _expand(product: Product, inner: Codes, block: Codes, entry: Codes, known: list[Product]) -> Product:
    """The product with the factors of its inner products in their place."""
    if not len(inner):
        return product
    pool = [product, *known]
    offsets = np.concatenate(([0], np.cumsum([p.arguments.count for p in pool])))
    matrix = stack([p.arguments.matrix for p in pool])
    constants = np.concatenate([p.arguments.constants for p in pool])
    first, length = np.arange(product.arguments.count), np.ones(product.arguments.count, dtype=np.int64)
    column = product.arguments.single[inner]
    for k in unique(block[column]):
        at, of = inner[block[column] == k], entry[column[block[column] == k]]
        first[at] = offsets[k + 1] + known[k].starts[of]
        length[at] = known[k].starts[of + 1] - known[k].starts[of]
    place = np.arange(length.sum()) + np.repeat(first - (np.cumsum(length) - length), length)
    totals = np.add.reduceat(length, product.starts[:-1])
    starts = np.concatenate(([0], np.cumsum(totals)))
    return replace(product, starts=starts, arguments=Affines(matrix, constants).take(place))
