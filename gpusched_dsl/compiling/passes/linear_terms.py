"""Sums of columns and affine expressions, entry by entry, and rows that fix a result to one of them."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.rows import RowBuilder
from gpusched_dsl.ir.arrays import Bools, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.language.source import Span

# A column for each entry or an expression for each, and what it is multiplied by.
Part = tuple[Int32s | Affines, Floats | float]


def sum_of(*parts: Part) -> Affines:
    """The sum of the parts for every entry; columns that meet are added."""
    first = parts[0][0]
    rows = RowBuilder(first.count if isinstance(first, Affines) else len(first))
    every = np.arange(rows.count, dtype=np.int64)
    for term, scale in parts:
        if isinstance(term, Affines):
            rows.add_affines(every, term, scale)
        else:
            rows.add(every, term, scale)
    return Affines(rows.matrix(), rows.constants)


def hold_to(
    builder: ProblemBuilder,
    name: str,
    index: Domain,
    results: Int32s,
    by: Affines,
    down: Bools,
    up: Bools,
    span: Span | None,
) -> int:
    """Rows `result >= expression` where `down`, `result <= expression` where `up`. The number of rows."""
    body = sum_of((results, 1.0), (by, -1.0))
    lower, upper = np.where(down, 0.0 - body.constants, -np.inf), np.where(up, 0.0 - body.constants, np.inf)
    builder.add_rows(name, index, body.matrix, lower, upper, span)
    return len(results)
