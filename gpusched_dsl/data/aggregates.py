"""Aggregates over the rows of one key, for complete columns."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Floats, Values


def aggregate(
    function: str, positions: Codes, rows: Codes, values: Values, weights: Floats | None = None
) -> tuple[Codes, Codes, Values]:
    """One row for each position: the position, the first of its rows (of `last`: the last), the aggregated value.

    `function` is `mean sum min max count first last`; the rows of a position stand in the order of the file. A mean is
    weighted by positive `weights` of the rows, if there are any; around its first value, so that equal values stay.
    """
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    if not len(starts):
        return positions, rows, values
    ends = np.append(starts[1:], len(ordered))
    taken = values[order]
    at = ends - 1 if function == "last" else starts
    result: Values
    if function in ("first", "last"):
        result = taken[at]
    elif function == "min":
        result = np.minimum.reduceat(taken, starts)
    elif function == "max":
        result = np.maximum.reduceat(taken, starts)
    elif function in ("sum", "mean", "count"):
        if function == "mean" and weights is not None:
            base = np.repeat(taken[starts], ends - starts)
            heavy = weights[order]
            shifts = np.add.reduceat(heavy * (taken - base), starts) / np.add.reduceat(heavy, starts)
            return ordered[starts], rows[order[at]], taken[starts] + shifts
        result = np.add.reduceat(taken, starts)
        if function == "mean":
            result = result / (ends - starts)
    else:
        raise ValueError(f"no aggregate {function}")
    return ordered[starts], rows[order[at]], result
