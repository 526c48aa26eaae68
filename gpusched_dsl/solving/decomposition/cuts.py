"""Rounding cuts of covering rows: the cost of serving with complete nodes, for the linear master.

For integer n >= 0 and `sum a_j n_j >= b` with a >= 0 and b > 0, division by any d > 0 and mixed-integer rounding give

    sum_j (floor(a_j / d) + min(1, frac(a_j / d) / frac(b / d))) n_j >= ceil(b / d)

where frac(b / d) > 0 (Nemhauser and Wolsey, Integer and Combinatorial Optimization, II.1.7). With d = a_k the
coefficient of n_k is 1: where n_k alone serves, ceil(b / a_k) of them are needed. One cut for each distinct a_k of each
row.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from gpusched_dsl.solving.decomposition.blocks import BlockStructure

# Fractions this near to 0 or 1 count as 0 or 1: such a cut would be weak and its coefficients uncertain.
LEAST_FRACTION = 1e-4
MOST_ENTRIES = 30  # of a row: cuts of longer rows are weak and many
INTEGRALITY = 1e-9


def with_rounding_cuts(parts: BlockStructure) -> BlockStructure:
    """Return the parts with the rounding cuts of all rows with only integer nonnegative shared columns."""
    a = parts.a
    counts = np.diff(a.indptr)
    lower = parts.problem.lower[parts.shared]
    good = parts.integer & (lower >= 0)
    fits = (counts >= 1) & (counts <= MOST_ENTRIES) & (parts.use_of < 0)
    bad_entry = ~good[a.indices]
    row_of = np.repeat(np.arange(parts.rows), counts)
    fits[row_of[bad_entry]] = False
    pieces = [_cuts(a, np.where(sign > 0, parts.lower, -parts.upper), fits, sign, row_of) for sign in (1.0, -1.0)]
    for rows, sides in pieces:
        if len(sides):
            parts = parts.with_rows(rows, sides)
    return parts


def _cuts(
    a: sp.csr_array, side: np.ndarray, fits: np.ndarray, sign: float, row_of: np.ndarray
) -> tuple[sp.csr_array, np.ndarray]:
    """The cuts of the rows `sign * a x >= side` among those that fit."""
    least = np.full(len(side), np.inf)
    np.minimum.at(least, row_of, sign * a.data)
    chosen = fits & np.isfinite(side) & (side > 0) & (least > 0)
    # One cut per entry (k) of a chosen row: each with all entries (j) of that row.
    entries = np.flatnonzero(chosen[row_of])
    owner = row_of[entries]
    divisor = sign * a.data[entries]
    divided = side[owner] / divisor
    fraction = divided - np.floor(divided)
    kept = (fraction > LEAST_FRACTION) & (fraction < 1 - LEAST_FRACTION)
    distinct = np.ones(len(entries), dtype=np.bool_)
    order = np.lexsort((divisor, owner))
    distinct[order[1:]] = (np.diff(owner[order]) != 0) | (np.diff(divisor[order]) != 0)
    number = np.flatnonzero(kept & distinct)
    owner, divisor, fraction, divided = owner[number], divisor[number], fraction[number], divided[number]
    lengths = np.diff(a.indptr)[owner]
    starts = np.concatenate(([0], np.cumsum(lengths)))
    at = np.repeat(a.indptr[owner] - starts[:-1], lengths) + np.arange(starts[-1])
    ratio = sign * a.data[at] / np.repeat(divisor, lengths)
    integral_part = np.floor(ratio + INTEGRALITY)
    rest = np.maximum(ratio - integral_part, 0.0)
    # Rounding up a coefficient keeps the cut valid: n >= 0.
    values = integral_part + np.minimum(1.0, (rest + INTEGRALITY * (rest > 0)) / np.repeat(fraction, lengths))
    values = np.where(rest > 0, values, integral_part)
    rows = sp.csr_array((values, a.indices[at], starts), shape=(len(number), a.shape[1]))
    return rows, np.ceil(divided)
