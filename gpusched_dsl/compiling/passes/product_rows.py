"""The rows of `w == b_1 ... b_k e` with 0/1 literals b and `L <= e <= U`: the convex hull for k = 1, exact for any k.

With `s = k - sum b` (0 where all literals are 1, at least 1 elsewhere), w <= b_1 ... b_k e says

    all ones:   w <= e - L s              L <= 0        else      w <= e - L (1 - b_j)   for all j
    otherwise:  w <= U b_j  for all j     U > 0         U < 0:    w <= U (1 - s)

and w >= the same for -w, -e. Where U <= 0, that w <= 0 is a bound of the column already.

Proof. At s = 0 the first line is `w <= e` and the second `w <= U`; at s >= 1 the second gives w <= 0 (with the bound),
and the first `w <= e - L s` with e - L >= 0 and -L (s - 1) >= 0, or `w <= e - L`: it allows 0.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.analysis.bounds import Bounds
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.product_factors import GuardedFactors
from gpusched_dsl.compiling.passes.rows import RowBuilder, numbers_within, with_numbers
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.matrix import Matrix


def add_products(builder: ProblemBuilder, times: GuardedFactors) -> None:
    """The rows of the halves that are needed; the ranges must be finite where one is."""
    add_half(builder, times.take(np.flatnonzero(times.up)), 1.0)
    add_half(builder, times.take(np.flatnonzero(times.down)), -1.0)


def add_half(builder: ProblemBuilder, times: GuardedFactors, sign: float) -> None:
    """`sign * w <= sign * b_1 ... b_k e`."""
    low, high = (times.low, times.high) if sign > 0 else (-times.high, -times.low)
    side = "upper" if sign > 0 else "lower"
    each_on, each_off = low > 0, high > 0
    _per_entry(builder, times, sign, ~each_on, f"{times.family}.{side}_on", 1.0, low, 0.0)
    _per_literal(builder, times, sign, each_on, f"{times.family}.{side}_on", 1.0, low)
    _per_literal(builder, times, sign, each_off, f"{times.family}.{side}_off", 0.0, high)
    _per_entry(builder, times, sign, high < 0, f"{times.family}.{side}_off", 0.0, high, -1.0)


def _per_entry(
    builder: ProblemBuilder,
    times: GuardedFactors,
    sign: float,
    chosen: Bools,
    name: str,
    factor: float,
    bound: Floats,
    shift: float,
) -> None:
    """One row per entry: `sign (w - factor e) + bound (s + shift) <= 0`."""
    entries = np.flatnonzero(chosen)
    if not len(entries):
        return
    some, bound = times.take(entries), bound[entries]
    every = np.arange(len(entries))
    rows = RowBuilder(len(entries)).add(every, some.results, sign)
    if factor:
        rows.add_affines(every, some.factor, -sign * factor)
    rows.add_affines(some.owner, some.literals, -bound[some.owner])
    rows.constants += bound * (np.bincount(some.owner, minlength=len(entries)) + shift)
    kept, matrix = _that_bind(builder, rows)
    if len(kept):
        index = builder.index(some.results[kept])
        builder.add_rows(name, index, matrix.take(kept), -np.inf, rows.side[kept], some.span)


def _per_literal(
    builder: ProblemBuilder, times: GuardedFactors, sign: float, chosen: Bools, name: str, factor: float, bound: Floats
) -> None:
    """One row per literal b: `sign (w - e) + bound (1 - b) <= 0` (factor 1) or `sign w - bound b <= 0` (factor 0)."""
    entries = np.flatnonzero(chosen)
    if not len(entries):
        return
    some, bound = times.take(entries), bound[entries]
    owner: Codes = some.owner
    of_factor = np.diff(some.factor.matrix.starts)[owner] if factor else 0
    builder.expect(int((np.diff(some.literals.matrix.starts) + of_factor + 1).sum()), some.name, some.span)
    every = np.arange(len(owner))
    rows = RowBuilder(len(owner)).add(every, some.results[owner], sign)
    rows.add_affines(every, some.literals, -bound[owner])
    if factor:
        rows.add_affines(every, some.factor.take(owner), -sign)
        rows.constants += bound[owner]
    kept, matrix = _that_bind(builder, rows)
    if not len(kept):
        return
    index = builder.index(some.results[owner[kept]])
    if len(owner) > len(entries):
        index = with_numbers(index, numbers_within(owner)[kept])
    builder.add_rows(name, index, matrix.take(kept), -np.inf, rows.side[kept], some.span)


def _that_bind(builder: ProblemBuilder, rows: RowBuilder) -> tuple[Codes, Matrix]:
    """The rows that some point within the bounds breaks: of a product that must be 0, one row is left of three."""
    matrix = rows.matrix()
    _, most = Bounds(*builder.bounds).of(Affines(matrix, rows.constants))
    return np.flatnonzero(~(most <= 0.0)), matrix
