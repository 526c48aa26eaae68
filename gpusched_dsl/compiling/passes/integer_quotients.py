"""Integer quotients and remainders as rows.

Takes `q == a div k` and `r == a mod k`, a an integer expression and k a positive integer:

    0 <= a - k q <= k - 1             q is an integer column
    a - k q - r == 0                  with a new integer column q, and 0 <= r <= k - 1

Proof. The rows say q <= a / k < q + 1 for integers. A quotient needs no bounds of a. The remainder of an unbounded
argument is refused (GSM3202): a search among its quotients may never end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.missing_bounds import missing_bounds
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.rows import RowBuilder
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, PassResult, Target, not_taken
from gpusched_dsl.ir.definitions import IntegerQuotient
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


class IntegerQuotients:
    """Integer quotients -> rows."""

    name: ClassVar[str] = "integer quotients"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return target.takes(INTEGERS) and bool(not_taken(analysis, target, IntegerQuotient))

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        for definition in not_taken(analysis, target, IntegerQuotient):
            _reformulate(builder, analysis, definition)
        return builder.step()


def _refuse_endless(analysis: Analysis, definition: IntegerQuotient) -> None:
    ends = analysis.bounds.of(definition.arguments)
    endless = np.flatnonzero(~np.isfinite(ends[0])), np.flatnonzero(~np.isfinite(ends[1]))
    if any(map(len, endless)):
        problem, bounds = analysis.problem, analysis.bounds
        missing = missing_bounds(problem, bounds, definition.arguments, endless, definition.name, definition.span)
        raise DiagnosticError(missing)


def _reformulate(builder: ProblemBuilder, analysis: Analysis, definition: IntegerQuotient) -> None:
    every = np.arange(definition.size, dtype=np.int64)
    divisors, span = definition.divisors, definition.span
    columns = builder.columns
    rows = RowBuilder(definition.size).add_affines(every, definition.arguments, 1.0)
    index, family = builder.index_of(definition), builder.problem.column_family(int(definition.results[0])).name
    if definition.remainder:
        _refuse_endless(analysis, definition)
        times = replace(definition, remainder=False)
        ends = times.image(*analysis.bounds.of(definition.arguments))
        quotients = builder.add_columns(f"{family}.times", index, *ends, True, times.values, span, doc=definition.name)
        rows.add(every, quotients, -divisors).add(every, definition.results, -1.0)
        builder.bound(definition.results, 0.0, divisors - 1)
        builder.add_rows(f"{family}.remainder", index, rows.matrix(), rows.side, rows.side, span)
    else:
        rows.add(every, definition.results, -divisors)
        builder.add_rows(f"{family}.quotient", index, rows.matrix(), rows.side, rows.side + divisors - 1, span)
    builder.remove(definition)
    effect = "an integer quotient, whose remainder is below the divisor"
    builder.notes.append(
        Note(
            IntegerQuotients.name, definition.name, effect, definition.size, definition.size,
            builder.columns - columns, span=span,
        )
    )  # fmt: skip
