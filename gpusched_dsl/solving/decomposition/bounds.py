"""A bound that is valid for any duals: the minimum of the Lagrangian over bounds and blocks.

For multipliers v of the rows `lower <= A x + B y <= upper`, signed so that each picks a finite side,

    bound = constant + sum_i side_i(v_i) + sum_j min over bounds of (c - A^T v)_j x_j + sum_k least_k(v),

where `side_i` is lower for v > 0, upper for v < 0, and `least_k` bounds block k from below at the costs d - B^T v. A
column without the bound that its reduced cost asks for would make it minus infinity. Duals of a solver are off by its
tolerance, so such columns are first set right by the multiplier of one of their rows, which is exact arithmetic on our
side and not an assumption: the bound is computed with the multipliers as they are then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.solving.decomposition.blocks import BlockStructure

# What rounding in the sums of a bound can amount to, relative to the sum of the sizes of its parts.
ROUNDING = 1e-12
ZERO = 1e-14


@dataclass(frozen=True, eq=False)
class SharedBound:
    """The shared part of the bound, constant included, and the sum of the sizes of its terms."""

    value: float
    size: float


def clean_duals(parts: BlockStructure, duals: Floats, rounds: int = 3) -> Floats:
    """Multipliers near `duals` with the signs that the sides allow, and set right for columns without bounds."""
    lower, upper = parts.lower, parts.upper
    finite_low, finite_high = np.isfinite(lower), np.isfinite(upper)
    duals = _clip_signs(duals, finite_low, finite_high)
    by_column = parts.a.tocsc()
    low = np.isfinite(parts.problem.lower[parts.shared])
    high = np.isfinite(parts.problem.upper[parts.shared])
    lengths = np.diff(by_column.indptr)
    for _ in range(rounds):
        reduced = reduced_costs(parts, duals)
        wrong = ((reduced < 0) & ~high) | ((reduced > 0) & ~low)
        wrong &= lengths > 0
        if not wrong.any():
            break
        columns = np.flatnonzero(wrong)
        entry = _best_entries(by_column.indptr, by_column.indices, columns, parts.use_of)
        row, value = by_column.indices[entry], by_column.data[entry]
        change = reduced[columns] / value
        # Two columns may ask for the same row: the larger change serves both when they agree in direction.
        order = np.argsort(np.abs(change), kind="stable")
        moved = duals.copy()
        moved[row[order]] = duals[row[order]] + change[order]
        duals = _clip_signs(moved, finite_low, finite_high)
    return duals


def reduced_costs(parts: BlockStructure, duals: Floats) -> Floats:
    """`c - A^T v` of the shared columns; 0 where it is not larger than the rounding errors it was computed with."""
    reduced = parts.shared_cost - parts.a.T @ duals
    size = np.abs(parts.shared_cost) + abs(parts.a).T @ np.abs(duals)
    return np.asarray(np.where(np.abs(reduced) <= ZERO * size, 0.0, reduced))


def shared_bound(parts: BlockStructure, duals: Floats) -> SharedBound:
    """Return the part of the bound that does not come from blocks; minus infinity if a column without
    bounds prevents it.
    """
    lower, upper = parts.lower, parts.upper
    with np.errstate(invalid="ignore"):
        rows = np.where(duals > 0, duals * lower, np.where(duals < 0, duals * upper, 0.0))
        reduced = reduced_costs(parts, duals)
        low, high = parts.problem.lower[parts.shared], parts.problem.upper[parts.shared]
        columns = np.where(reduced > 0, reduced * low, np.where(reduced < 0, reduced * high, 0.0))
    value = parts.constant + float(rows.sum()) + float(columns.sum())
    size = abs(parts.constant) + float(np.abs(rows).sum()) + float(np.abs(columns).sum())
    return SharedBound(value if np.isfinite(value) else -np.inf, size)


def lagrangian_bound(shared: SharedBound, least: Floats) -> float:
    """Return the complete bound; `least` per block. Possible rounding errors are subtracted."""
    value = shared.value + float(least.sum())
    size = shared.size + float(np.abs(least).sum())
    return value - ROUNDING * size if np.isfinite(value) else -np.inf


def _clip_signs(duals: Floats, finite_low: np.ndarray, finite_high: np.ndarray) -> Floats:
    duals = np.where(finite_low, duals, np.minimum(duals, 0.0))
    return np.asarray(np.where(finite_high, duals, np.maximum(duals, 0.0)))


def _best_entries(indptr: np.ndarray, indices: np.ndarray, columns: np.ndarray, use_of: np.ndarray) -> Codes:
    """One entry of each column: in a row that no block uses where there is one, else its first."""
    starts: Codes = indptr[columns].astype(np.int64)
    counts = np.diff(indptr)[columns]
    at = np.repeat(starts, counts) + np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    free = np.flatnonzero(use_of[indices[at]] < 0)
    owner = np.repeat(np.arange(len(columns)), counts)
    chosen = starts.copy()
    chosen[owner[free][::-1]] = at[free][::-1]
    return chosen
