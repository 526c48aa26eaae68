"""Products of a whole number and a bounded expression, by the binary digits of the whole number.

Takes `w == n e`, n whole with `N <= n <= N + R` (R at most LARGEST_RANGE), `L <= e <= U`; of two whole factors the one
with the smaller range is n. With digits d_k, k = 0 .. floor(log2 R), shared by all products of one column n:

    n == N + sum_k 2^k d_k,    p_k == d_k e,    w == N e + sum_k 2^k p_k

where the rows of p_k are those of `product_rows` and the last equation holds in the half that is needed. Leaves
products of more than two factors and those without a whole factor. GSM3202 where a whole factor or e has no bound.

Proof. Every whole n in the range has digits, and with them n e is the sum on the right.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.bounds_whole import whole_affines
from gpusched_dsl.compiling.passes.digits import Digits
from gpusched_dsl.compiling.passes.growth import Growth, index_of_columns
from gpusched_dsl.compiling.passes.missing import missing_bounds
from gpusched_dsl.compiling.passes.product_factors import Times
from gpusched_dsl.compiling.passes.product_rows import add_products
from gpusched_dsl.compiling.passes.rows import Rows, numbered_index
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, Step, Target
from gpusched_dsl.ir.definitions import Affines, Product
from gpusched_dsl.ir.domains import Codes
from gpusched_dsl.ir.problem import Floats
from gpusched_dsl.language.diagnostics import DiagnosticError

LARGEST_RANGE = 4095


class IntegerProducts:
    """bounded integer * bounded expression -> binaries and linear rows."""

    name: ClassVar[str] = "integer_products"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return (
            target.takes(INTEGERS)
            and not target.takes("product")
            and any(isinstance(d, Product) and d.size for d in analysis.problem.definitions)
        )

    def apply(self, analysis: Analysis, target: Target) -> Step:
        growth = Growth(analysis.problem)
        digits = Digits(growth)
        for definition in analysis.problem.definitions:
            if isinstance(definition, Product) and definition.size:
                _reformulate(growth, analysis, definition, digits)
        return growth.step() if growth.notes else Step(analysis.problem)


def _reformulate(growth: Growth, analysis: Analysis, definition: Product, digits: Digits) -> None:
    arguments = definition.arguments
    low, high = analysis.bounds.of(arguments)
    whole = whole_affines(arguments, analysis.problem.integer)
    spread = np.where(whole, high - low, np.inf)
    pair = np.flatnonzero(np.diff(definition.starts) == 2)
    first, second = definition.starts[:-1][pair], definition.starts[:-1][pair] + 1
    n = np.where(spread[first] <= spread[second], first, second)
    e = first + second - n
    mine = whole[n] & ((spread[n] <= LARGEST_RANGE) | np.isinf(spread[n]))
    pair, n, e = pair[mine], n[mine], e[mine]
    if not len(pair):
        return
    results = definition.results[pair]
    down, up = analysis.directions.down[results], analysis.directions.up[results]
    _check(analysis, definition, low, high, np.concatenate((n, e[down | up])))
    columns, rows = growth.columns, growth.rows
    read = np.flatnonzero(down | up)
    if len(read):
        times = Times(
            results[read], arguments.take(n[read]), np.arange(len(read)), arguments.take(e[read]),
            low[e[read]], high[e[read]], down[read], up[read],
            analysis.problem.column_family(int(results[0])).name, definition.name, definition.span,
        )  # fmt: skip
        _add(growth, digits, times, low[n[read]], high[n[read]])
    chosen = np.zeros(definition.size, dtype=np.bool_)
    chosen[pair] = True
    growth.remove(definition, chosen)
    did, added = "whole number times a bounded expression by binary digits", growth.rows - rows
    sizes = np.abs(np.concatenate((low[e[read]], high[e[read]])))
    big_m = (float(sizes[sizes > 0].min()), float(sizes.max())) if sizes.any() else None
    growth.notes.append(
        Note(
            IntegerProducts.name, definition.name, did, len(pair), added, growth.columns - columns, big_m,
            span=definition.span,
        )
    )  # fmt: skip


def _check(analysis: Analysis, definition: Product, low: Floats, high: Floats, needed: Codes) -> None:
    """Raises DiagnosticError (GSM3202) where an end of a range is missing."""
    ends = (np.unique(needed[np.isinf(end[needed])]) for end in (low, high))
    below, above = ends
    if len(below) or len(above):
        found = missing_bounds(
            analysis.problem, analysis.bounds, definition.arguments, (below, above), definition.name, definition.span
        )
        raise DiagnosticError(found)


def _add(growth: Growth, digits: Digits, pairs: Times, low: Floats, high: Floats) -> None:
    """Rows for `results == literals * factor`, where the "literals" are whole numbers in `low .. high`."""
    sizes = np.diff(pairs.factor.matrix.starts) + 3
    growth.expect(int(((np.floor(np.log2(np.maximum(high - low, 1.0))) + 1.0) * sizes).sum()), pairs.name, pairs.span)
    owner, place, digit = digits.of(pairs.literals, low, high, pairs.family, pairs.results, pairs.span)
    factor = pairs.factor.take(owner)
    e_low, e_high = pairs.low[owner], pairs.high[owner]
    index = numbered_index(growth.problem, pairs.results[owner], place)
    shown = Affines.of_columns(digit)
    parts = growth.add_columns(
        f"{pairs.family}.parts", index, np.minimum(e_low, 0.0), np.maximum(e_high, 0.0), False,
        lambda point: shown.values(point) * factor.values(point), pairs.span,
    )  # fmt: skip
    down, up = pairs.down[owner], pairs.up[owner]
    every = np.arange(len(owner))
    add_products(
        growth,
        Times(parts, shown, every, factor, e_low, e_high, down, up, f"{pairs.family}.parts", pairs.name, pairs.span),
    )
    entries = np.arange(pairs.count)
    rows = Rows(pairs.count).add(entries, pairs.results, 1.0).add(owner, parts, -np.exp2(place))
    rows.add_affines(entries, pairs.factor, -low)
    lower, upper = np.where(pairs.down, rows.side, -np.inf), np.where(pairs.up, rows.side, np.inf)
    sums = index_of_columns(growth.problem, pairs.results)
    growth.add_rows(f"{pairs.family}.sum", sums, rows.matrix(), lower, upper, pairs.span)
