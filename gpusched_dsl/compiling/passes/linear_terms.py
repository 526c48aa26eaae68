"""Sums of columns and affine expressions, entry by entry, and rows that hold a result to one of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.compiling.affine import merge_repeats
from gpusched_dsl.compiling.passes.growth import Growth
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.ir.problem import Floats, Int32s, Matrix
from gpusched_dsl.language.source import Span

Flags = NDArray[np.bool_]
# A column for each entry or an expression for each, and what it is multiplied by.
Part = tuple[Int32s | Affines, Floats | float]


def sum_of(*parts: Part) -> Affines:
    """The sum of the parts for every entry; columns that meet are added."""
    first = parts[0][0]
    count = first.count if isinstance(first, Affines) else len(first)
    rows, columns, values, constants = [], [], [], np.zeros(count)
    every = np.arange(count, dtype=np.int32)
    for term, scale in parts:
        scale = np.broadcast_to(np.asarray(scale, dtype=np.float64), (count,))
        if isinstance(term, Affines):
            rows.append(term.matrix.row_of)
            columns.append(term.matrix.columns)
            values.append(term.matrix.values * scale[term.matrix.row_of])
            constants = constants + scale * term.constants
        else:
            rows.append(every)
            columns.append(term.astype(np.int32))
            values.append(scale)
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=count)))).astype(np.int64)
    merged = merge_repeats(count, starts, np.concatenate(columns)[order], np.concatenate(values)[order])
    return Affines(Matrix(*merged), constants)


def add_upper(growth: Growth, name: str, index: Domain, body: Affines, span: Span | None) -> int:
    """Rows `body <= 0`; those that hold for any values (an infinite constant) must not be given. The number of rows."""
    growth.add_rows(name, index, body.matrix, -np.inf, 0.0 - body.constants, span)
    return body.count


def hold_to(
    growth: Growth, name: str, index: Domain, results: Int32s, by: Affines, down: Flags, up: Flags, span: Span | None
) -> int:
    """Rows `result >= expression` where `down`, `result <= expression` where `up`. The number of rows."""
    body = sum_of((results, 1.0), (by, -1.0))
    lower, upper = np.where(down, 0.0 - body.constants, -np.inf), np.where(up, 0.0 - body.constants, np.inf)
    growth.add_rows(name, index, body.matrix, lower, upper, span)
    return len(results)
