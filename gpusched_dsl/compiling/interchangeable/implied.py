"""Rows of an element that rows over all elements imply: they go before elements are aggregated.

    a x - b z <= u   with a, b > 0, u >= 0     goes when there is a row    sum_k p_k x_k - q z <= 0 (or == 0)
    with all other x_k >= 0, p_k >= 0, x among the x_k, and  q / p <= b / a

Proof: p x <= sum_k p_k x_k <= q z, so a x <= a q / p z <= b z, as z >= 0 (0 <= p x <= q z).
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.interchangeable.quotient import Quotient
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.matrix import Matrix


def implied_links(quotient: Quotient, rows: Codes) -> Bools:
    """Which of some rows of elements link one column of the element to a shared one and are implied."""
    problem = quotient.problem
    matrix = problem.matrix
    counts = np.diff(matrix.starts)[rows]
    found = np.zeros(len(rows), dtype=np.bool_)
    pairs = np.flatnonzero(counts == 2)
    if not len(pairs):
        return found
    at = matrix.starts[rows[pairs]]
    columns = np.stack((matrix.columns[at], matrix.columns[at + 1]), axis=1).astype(np.int64)
    values = np.stack((matrix.values[at], matrix.values[at + 1]), axis=1)
    shared = quotient.column_class[columns] < 0
    one_each = shared.sum(axis=1) == 1
    flip = shared[:, 0]
    columns[flip], values[flip] = columns[flip][:, ::-1], values[flip][:, ::-1]  # the element's column first
    low, high = problem.row_lower[rows[pairs]], problem.row_upper[rows[pairs]]
    below = np.isneginf(low) & (high >= 0)
    above = np.isposinf(high) & (low <= 0)
    values[above] *= -1
    fits = one_each & (below | above) & (values[:, 0] > 0) & (values[:, 1] < 0)
    fits &= problem.lower[columns[:, 0]] >= 0
    pairs, columns, values = pairs[fits], columns[fits], values[fits]
    if len(pairs):
        links = _Links(quotient)
        ratio = links.ratio(columns[:, 0], columns[:, 1])
        found[pairs[ratio <= -values[:, 1] / values[:, 0] * (1 + 1e-12)]] = True
    return found


class _Links:
    """Rows `sum p x - q z <= 0` over all elements, by their z."""

    def __init__(self, quotient: Quotient) -> None:
        problem = quotient.problem
        shared_rows = np.flatnonzero(quotient.row_class < 0)
        sub: Matrix = problem.matrix.take(shared_rows)
        low, high = problem.row_lower[shared_rows], problem.row_upper[shared_rows]
        sign = np.where(high == 0, 1.0, np.where(low == 0, -1.0, 0.0))
        self._add_pairs(quotient, sub, sign)
        sign = np.where((low == 0) & (high == 0), -1.0, 0.0)
        self._add_pairs(quotient, sub, sign)

    keys: Codes = np.zeros(0, dtype=np.int64)
    ratios: Floats = np.zeros(0)

    def _add_pairs(self, quotient: Quotient, sub: Matrix, sign: Floats) -> None:
        """Add the pairs (x, z) of rows in which, times `sign`, only z is negative."""
        problem = quotient.problem
        row, column = sub.row_of, sub.columns.astype(np.int64)
        value = sub.values * sign[row]
        negative = np.bincount(row, weights=value < 0, minlength=sub.rows)
        free = np.bincount(row, weights=(value > 0) & (problem.lower[column] < 0), minlength=sub.rows)
        usable = (sign != 0) & (negative == 1) & (free == 0)
        z = np.full(sub.rows, -1, dtype=np.int64)
        q = np.zeros(sub.rows)
        ends = (value < 0) & usable[row]
        z[row[ends]], q[row[ends]] = column[ends], -value[ends]
        usable[row[ends]] &= quotient.column_class[column[ends]] < 0
        entries = np.flatnonzero((value > 0) & usable[row] & (quotient.column_class[column] >= 0))
        sizes = quotient.classes.sizes[quotient.column_class[column[entries]]]
        p = value[entries] / sizes  # of one element
        keys = column[entries] * problem.columns + z[row[entries]]
        keys, ratios = np.concatenate((self.keys, keys)), np.concatenate((self.ratios, q[row[entries]] / p))
        order = np.lexsort((ratios, keys))
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        self.keys, self.ratios = keys[order][first], ratios[order][first]
        self.width = problem.columns

    def ratio(self, x: Codes, z: Codes) -> Floats:
        """Return the least q / p with p x <= q z, infinite if no row implies one."""
        if not len(self.keys):
            return np.full(len(x), np.inf)
        wanted = x * self.width + z
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, self.ratios[place], np.inf)
