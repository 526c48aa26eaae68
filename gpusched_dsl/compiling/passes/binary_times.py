"""Products of 0/1 expressions and one bounded expression as rows (McCormick's, exact for binaries).

Takes `w == b_1 ... b_k e` with literals b that can only be 0 or 1 and any affine e, `L <= e <= U` by propagated bounds.
The rows are those of `product_rows`; for one binary b and L = 0 they are

    w <= e, w <= U b                    where a larger w gains
    w >= e - U (1 - b)                  where a smaller one does (w >= 0 is a bound of the column)

Leaves products with two factors or more that are not 0/1. Where e has no bound and the target takes rows under a
condition, a single binary column b gives `w == 0 if b = 0` and `w == e if b = 1`; else GSM3202 names the variable
without a bound. A target that takes products gets those with a bound of more than `LARGE`, or with none, as they are.

Source: G. P. McCormick, Computability of global solutions to factorable nonconvex programs, Mathematical Programming
10 (1976).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.linear_terms import sum_of
from gpusched_dsl.compiling.passes.missing_bounds import missing_bounds
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder, index_of_columns
from gpusched_dsl.compiling.passes.product_factors import GuardedFactors, literals_of, times_of
from gpusched_dsl.compiling.passes.product_rows import add_products
from gpusched_dsl.compiling.passes.steps import INDICATOR, Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.definitions import Affines, Product
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

# The solver's tolerance times this is no longer small.
LARGE = 1e4


class BinaryTimes:
    """binary * bounded expression -> linear rows."""

    name: ClassVar[str] = "binary_times"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return any(isinstance(d, Product) and d.size for d in analysis.problem.definitions)

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        for definition in analysis.problem.definitions:
            if isinstance(definition, Product) and definition.size:
                _reformulate(builder, analysis, definition, target)
        return builder.step() if builder.notes else PassResult(analysis.problem)


def _reformulate(builder: ProblemBuilder, analysis: Analysis, definition: Product, target: Target) -> None:
    literal = literals_of(analysis, definition)
    others = np.bincount(definition.entry_of, weights=~literal, minlength=definition.size)
    chosen = (others == 1) & (np.diff(definition.starts) > 1)
    if not chosen.any():
        return
    times = times_of(analysis, definition, literal, np.flatnonzero(chosen))
    rows = builder.rows
    size = np.maximum(np.abs(times.low), np.abs(times.high))
    unbounded = (times.down | times.up) & ~np.isfinite(size)
    if target.takes("product"):
        taken = (times.down | times.up) & (size > LARGE)
        chosen[np.flatnonzero(chosen)[taken]] = False
        times, unbounded = times.take(np.flatnonzero(~taken)), unbounded[~taken]
        if not chosen.any():
            return
    if unbounded.any():
        _add_conditional(builder, analysis, times, unbounded, target)
    bounded = times.take(np.flatnonzero(~unbounded))
    add_products(builder, bounded)
    builder.remove(definition, chosen)
    read = bounded.down | bounded.up
    sizes = np.abs(np.concatenate((bounded.low[read], bounded.high[read])))
    big_m = (float(sizes[sizes > 0].min()), float(sizes.max())) if sizes.any() else None
    effect, count, added = "0/1 value times a bounded expression as rows", int(chosen.sum()), builder.rows - rows
    builder.notes.append(Note(BinaryTimes.name, definition.name, effect, count, added, 0, big_m, span=definition.span))


def _add_conditional(
    builder: ProblemBuilder, analysis: Analysis, times: GuardedFactors, unbounded: Bools, target: Target
) -> None:
    """`w == e if b = 1` and `w == 0 if b = 0`, the halves that are needed."""
    entries = np.flatnonzero(unbounded)
    some = times.take(entries)
    counts = np.bincount(some.owner, minlength=some.count)
    if not target.takes(INDICATOR) or (counts > 1).any() or (some.literals.single < 0).any():
        raise DiagnosticError(_refusals(analysis, times, unbounded))
    lower, upper = np.where(some.down, 0.0, -np.inf), np.where(some.up, 0.0, np.inf)
    index = index_of_columns(builder.problem, some.results)
    bodies = (
        ("off", False, Affines.of_columns(some.results)),
        ("on", True, sum_of((some.results, 1.0), (some.factor, -1.0))),
    )
    for name, value, body in bodies:
        condition = some.literals.single, np.full(some.count, value)
        builder.add_rows(
            f"{some.family}.{name}", index, body.matrix, lower - body.constants, upper - body.constants, some.span,
            condition,
        )  # fmt: skip


def _refusals(analysis: Analysis, times: GuardedFactors, unbounded: Bools) -> list[Diagnostic]:
    low, high = (np.flatnonzero(unbounded & np.isinf(end)) for end in (times.low, times.high))
    return missing_bounds(analysis.problem, analysis.bounds, times.factor, (low, high), times.name, times.span)
