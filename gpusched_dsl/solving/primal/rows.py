"""The rows of a problem for propagation: by row and by column, with the largest possible implications of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gpusched_dsl.ir.arrays import Bools, Floats, Int32s, Ints, unique
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import ROW_SLACK


@dataclass(frozen=True, eq=False)
class PropagationRows:
    """`lower <= matrix @ point <= upper`, the matrix in both orders.

    `starts`, `columns`, `values` by row; `column_starts`, `rows`, `column_values` by column. `reach[i]` is the largest
    `|coefficient| * (upper - lower)` of row i in the bounds of the problem: where a row has more room than that, it
    says nothing about any column.
    """

    starts: Ints
    columns: Int32s
    values: Floats
    column_starts: Ints
    rows: Int32s
    column_values: Floats
    lower: Floats
    upper: Floats
    reach: Floats
    integer: Bools
    tolerance: Floats

    @property
    def count(self) -> int:
        return len(self.lower)


def rows_of(problem: Problem) -> PropagationRows:
    """The rows of a linear problem."""
    matrix = problem.matrix
    by_row = csr_array(
        (matrix.values, matrix.columns, matrix.starts), shape=(matrix.rows, problem.columns), dtype=np.float64
    )
    by_column = by_row.tocsc()
    width = problem.upper - problem.lower
    with np.errstate(invalid="ignore"):
        spans = np.abs(matrix.values) * width[matrix.columns]
    spans[np.isnan(spans)] = 0.0
    reach = np.zeros(matrix.rows)
    filled = np.flatnonzero(np.diff(matrix.starts))
    if len(filled):
        reach[filled] = np.maximum.reduceat(spans, matrix.starts[filled])
    lower, upper = problem.row_lower, problem.row_upper
    sizes = np.maximum(np.where(np.isfinite(lower), np.abs(lower), 0), np.where(np.isfinite(upper), np.abs(upper), 0))
    return PropagationRows(
        matrix.starts.astype(np.int64, copy=False), matrix.columns, matrix.values,
        by_column.indptr.astype(np.int64), by_column.indices.astype(np.int32), by_column.data,
        lower, upper, reach, problem.integer, ROW_SLACK * np.maximum(1.0, sizes),
    )  # fmt: skip


def entries(starts: Ints, of: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """The places of the entries of some rows (or columns), and how many each has."""
    first = starts[of]
    counts = starts[of + 1] - first
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) + np.repeat(first - (ends - counts), counts), counts


def distinct_numbers(numbers: NDArray[np.integer], size: int) -> Int32s:
    """The distinct numbers below `size`, rising; few are sorted, many are marked."""
    if len(numbers) * 16 < size:
        return unique(numbers).astype(np.int32, copy=False)
    seen = np.zeros(size, dtype=np.bool_)
    seen[numbers] = True
    return np.flatnonzero(seen).astype(np.int32)
