"""Products of a factor that moves in steps and a bounded expression, by the binary digits of the number of steps.

Takes `w == f e`, f with values N, N + s, ..., N + R s (R at most LARGEST_RANGE), `L <= e <= U`: integers (s = 1),
sums such as `n / 2 + 3 m / 4`, and terms such as `E(min(W, n))` (`result_steps`). Of two such factors the one with the
smaller R is f. With digits d_k, k = 0 .. floor(log2 R), shared by all products of one column f:

    f == N + s sum_k 2^k d_k,    p_k == d_k e,    w == N e + s sum_k 2^k p_k

where the rows of p_k are those of `product_rows` and the last equation holds in the half that is needed. Leaves
products of more than two factors and those without a stepwise factor, and products of bounded integers to targets that
take these. GSM3202 where such a factor or e has no bound.

Proof. Every number of steps up to R has digits, and with them f e is the sum on the right.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.analysis.integrality import integer_affines
from gpusched_dsl.compiling.passes.argument_values import BEYOND
from gpusched_dsl.compiling.passes.expectation_forms import scale
from gpusched_dsl.compiling.passes.missing_bounds import missing_bounds
from gpusched_dsl.compiling.passes.native_products import native_products
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder, index_of_columns
from gpusched_dsl.compiling.passes.product_factors import GuardedFactors
from gpusched_dsl.compiling.passes.product_rows import add_products
from gpusched_dsl.compiling.passes.rows import RowBuilder, number_index
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s, unique
from gpusched_dsl.ir.definitions import Affines, Product
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span

LARGEST_RANGE = 4095


class IntegerProducts:
    """bounded stepwise factor * bounded expression -> binaries and linear rows."""

    name: ClassVar[str] = "integer_products"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return (
            target.takes(INTEGERS)
            and not target.takes("product")
            and any(isinstance(d, Product) and d.size for d in analysis.problem.definitions)
        )

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        digits = Digits(builder)
        products = [d for d in analysis.problem.definitions if isinstance(d, Product) and d.size]
        left = [native_products(analysis, target, d) for d in products]
        factors = [_Factors.of(analysis, d, analysis.problem.integer, n) for d, n in zip(products, left, strict=True)]
        if not all(f.taken.all() for f in factors):
            factors = [_Factors.of(analysis, d, analysis.units, n) for d, n in zip(products, left, strict=True)]
        for definition, its in zip(products, factors, strict=True):
            _reformulate(builder, analysis, definition, digits, its, not target.continuous)
        return builder.step() if builder.notes else PassResult(analysis.problem)


class _Factors(Struct, frozen=True, eq=False):
    """The factors of the products of two: of product `pair[i]` argument `n[i]` is for digits, `e[i]` is the other.

    `low`, `high` and `step` are those of the values of all arguments, step 0 where none is known; `taken` are the pairs
    with few enough steps, or with a bound missing.
    """

    pair: Codes
    n: Codes
    e: Codes
    low: Floats
    high: Floats
    step: Floats
    taken: Bools

    @staticmethod
    def of(analysis: Analysis, definition: Product, units: Bools | Floats, left: Bools) -> _Factors:
        """`left`: the entries that the target takes."""
        low, high, step = _lattice(analysis, definition.arguments, units)
        spread = np.where(step > 0, high - low, np.inf) / np.where(step > 0, step, 1.0)
        pair = np.flatnonzero((np.diff(definition.starts) == 2) & ~left)
        first, second = definition.starts[:-1][pair], definition.starts[:-1][pair] + 1
        n = np.where(spread[first] <= spread[second], first, second)
        taken = (step[n] > 0) & ((spread[n] <= LARGEST_RANGE) | np.isinf(spread[n]))
        return _Factors(pair, n, first + second - n, low, high, step, taken)


def _reformulate(
    builder: ProblemBuilder,
    analysis: Analysis,
    definition: Product,
    digits: Digits,
    factors: _Factors,
    keep_integers: bool,
) -> None:
    """`keep_integers`: parts of integers are integer columns."""
    arguments, low, high = definition.arguments, factors.low, factors.high
    pair, n, e = factors.pair[factors.taken], factors.n[factors.taken], factors.e[factors.taken]
    if not len(pair):
        return
    results = definition.results[pair]
    down, up = analysis.directions.down[results], analysis.directions.up[results]
    _check(analysis, definition, low, high, np.concatenate((n, e[down | up])))
    columns, rows = builder.columns, builder.rows
    read = np.flatnonzero(down | up)
    if len(read):
        s = factors.step[n[read]]
        times = GuardedFactors(
            results[read], scale(arguments.take(n[read]), 1 / s), np.arange(len(read)), arguments.take(e[read]),
            low[e[read]], high[e[read]], down[read], up[read],
            analysis.problem.column_family(int(results[0])).name, definition.name, definition.span,
        )  # fmt: skip
        _add(builder, digits, times, low[n[read]], high[n[read]], s, keep_integers)
    chosen = np.zeros(definition.size, dtype=np.bool_)
    chosen[pair] = True
    builder.remove(definition, chosen)
    kind = "integer" if (factors.step[n] == 1).all() else "stepwise factor"
    effect, added = f"{kind} times a bounded expression by binary digits", builder.rows - rows
    sizes = np.abs(np.concatenate((low[e[read]], high[e[read]])))
    big_m = (float(sizes[sizes > 0].min()), float(sizes.max())) if sizes.any() else None
    builder.notes.append(
        Note(
            IntegerProducts.name, definition.name, effect, len(pair), added, builder.columns - columns, big_m,
            span=definition.span,
        )
    )  # fmt: skip


def _lattice(analysis: Analysis, factors: Affines, units: Bools | Floats) -> tuple[Floats, Floats, Floats]:
    """The smallest and the largest value of each factor, and the step between its values (0: none is known)."""
    low, high = analysis.bounds.of(factors)
    step = np.where(integer_affines(factors, analysis.problem.integer), 1.0, steps_of(factors, units))
    by = np.where(step > 0, step, 1.0)
    first = factors.constants + by * np.ceil((low - factors.constants) / by - BEYOND)
    last = factors.constants + by * np.floor((high - factors.constants) / by + BEYOND)
    return np.where(step > 0, first, low), np.where(step > 0, np.maximum(first, last), high), step


def _check(analysis: Analysis, definition: Product, low: Floats, high: Floats, needed: Codes) -> None:
    """Raises DiagnosticError (GSM3202) where an end of a range is missing."""
    ends = (unique(needed[np.isinf(end[needed])]) for end in (low, high))
    below, above = ends
    if len(below) or len(above):
        found = missing_bounds(
            analysis.problem, analysis.bounds, definition.arguments, (below, above), definition.name, definition.span,
            definition.operation,
        )  # fmt: skip
        raise DiagnosticError(found)


def _add(
    builder: ProblemBuilder,
    digits: Digits,
    pairs: GuardedFactors,
    low: Floats,
    high: Floats,
    step: Floats,
    keep_integers: bool,
) -> None:
    """Rows for `results == step * literals * factor`; `step * literals` lies in `low .. high`, a step apart."""
    first, last = low / step, high / step
    sizes = np.diff(pairs.factor.matrix.starts) + 3
    builder.expect(
        int(((np.floor(np.log2(np.maximum(last - first, 1.0))) + 1.0) * sizes).sum()), pairs.name, pairs.span
    )
    owner, place, digit = digits.of(pairs.literals, first, last, pairs.family, pairs.results, pairs.span)
    factor = pairs.factor.take(owner)
    e_low, e_high = pairs.low[owner], pairs.high[owner]
    index = number_index(builder.problem, pairs.results[owner], place)
    shown = Affines.of_columns(digit)
    integer = keep_integers & integer_affines(factor, builder.integer)
    parts = builder.add_columns(
        f"{pairs.family}.parts", index, np.minimum(e_low, 0.0), np.maximum(e_high, 0.0), integer,
        lambda point: shown.values(point) * factor.values(point), pairs.span,
    )  # fmt: skip
    down, up = pairs.down[owner], pairs.up[owner]
    every = np.arange(len(owner))
    add_products(
        builder,
        GuardedFactors(
            parts, shown, every, factor, e_low, e_high, down, up, f"{pairs.family}.parts", pairs.name, pairs.span
        ),
    )
    entries = np.arange(pairs.count)
    rows = RowBuilder(pairs.count).add(entries, pairs.results, 1.0).add(owner, parts, -np.exp2(place) * step[owner])
    rows.add_affines(entries, pairs.factor, -low)
    lower, upper = np.where(pairs.down, rows.side, -np.inf), np.where(pairs.up, rows.side, np.inf)
    sums = index_of_columns(builder.problem, pairs.results)
    builder.add_rows(f"{pairs.family}.sum", sums, rows.matrix(), lower, upper, pairs.span)


class Digits:
    """The digits that a pass has given to integers; a column that is requested again keeps its digits."""

    def __init__(self, builder: ProblemBuilder) -> None:
        self.builder = builder
        self._first = np.full(builder.problem.columns, -1, dtype=np.int32)  # the lowest digit of a column

    def of(
        self, numbers: Affines, low: Floats, high: Floats, family: str, results: Int32s, span: Span | None
    ) -> tuple[Codes, Codes, Int32s]:
        """Return the digits of some integers in `low .. high` (`low < high`), as (number, place, column) of each digit.

        `numbers[i] == low[i] + sum_k 2^k digit_k`; the families of new digits are named after `family` and indexed as
        `results`, the first result with a number standing for all with the same column.
        """
        counts = np.floor(np.log2(np.maximum(high - low, 1.0))).astype(np.int64) + 1
        single = numbers.single
        known = np.where(single >= 0, self._first[single], -1)
        # Of the numbers without digits, one per column, and every expression of its own.
        keys = np.where(single >= 0, single, len(self._first) + np.arange(len(single)))
        new = np.flatnonzero(known < 0)
        _, chosen = np.unique(keys[new], return_index=True)
        new = new[np.sort(chosen)]
        first = known.astype(np.int32)
        if len(new):
            new_columns = self._add(numbers.take(new), low[new], counts[new], family, results[new], span)
            plain = single[new] >= 0
            self._first[single[new][plain]] = new_columns[plain]
            first[new] = new_columns
            first = np.where((first < 0) & (single >= 0), self._first[single], first).astype(np.int32)
        owner = np.repeat(np.arange(len(single)), counts)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        return owner, place, (first[owner] + place).astype(np.int32)

    def _add(
        self, numbers: Affines, low: Floats, counts: Codes, family: str, results: Int32s, span: Span | None
    ) -> Int32s:
        """New digits with their rows; the first column of each number."""
        builder = self.builder
        owner = np.repeat(np.arange(numbers.count), counts)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)

        def values(point: Floats) -> Floats:
            rest = np.rint(numbers.values(point) - low).astype(np.int64)[owner]
            return ((rest >> place) & 1).astype(np.float64)

        index = number_index(builder.problem, results[owner], place)
        digits = builder.add_columns(f"{family}.digits", index, 0.0, 1.0, True, values, span)
        every = np.arange(numbers.count)
        rows = RowBuilder(numbers.count).add_affines(every, numbers, 1.0).add(owner, digits, -np.exp2(place))
        side = low + rows.side
        builder.add_rows(f"{family}.number", IntervalDomain(1, numbers.count), rows.matrix(), side, side, span)
        first: Int32s = digits[np.cumsum(counts) - counts]
        return first
