"""The position of every job in a queue that is sorted once for a complete run.

A policy's queue takes two values of a key as equal if they differ by at most 1e-9 of the larger one, from the smallest
value on (`policies/kernels/ranking.py`). Where such groups do not hang together by chains, every selection of jobs is
sorted as all of them are; else there is no order of the run, but one for each set of jobs that wait.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints

TOLERANCE: Final = 1e-9  # that of the policies' queues


class NoOneOrder(Exception):
    """Keys are so near one another that their order depends on which jobs wait."""


def queue_order(keys: Floats, exact: bool = False) -> Ints:
    """Return the rows of `keys` (J, C), smallest first, ties by the next key, then in their order. Raises NoOneOrder.

    `exact`: other jobs, with keys that are not known, stand among them. So a group can begin anywhere, and only keys
    that are the same number are surely in one.
    """
    rows = len(keys)
    label = np.zeros(rows, dtype=np.int64)
    if not rows:
        return label
    for column in range(keys.shape[1]):
        values = np.where(np.isnan(keys[:, column]), np.inf, keys[:, column])
        order = np.lexsort((values, label))
        ordered, of = values[order], label[order]
        starts = np.ones(rows, dtype=np.bool_)
        starts[1:] = (of[1:] != of[:-1]) | ~_same(ordered[:-1], ordered[1:])
        first = np.flatnonzero(starts)
        low, high = ordered[first], ordered[np.append(first[1:], rows) - 1]
        if not (low == high if exact else _surely_same(low, high)).all():
            raise NoOneOrder
        label[order] = np.cumsum(starts)
    return np.argsort(label, kind="stable").astype(np.int64)


def _same(a: Floats, b: Floats) -> Bools:
    with np.errstate(invalid="ignore"):
        difference = np.abs(a - b)
    near = (difference <= TOLERANCE * np.maximum(np.abs(a), np.abs(b))) & (difference < np.inf)
    return np.asarray((a == b) | near)


def _surely_same(low: Floats, high: Floats) -> Bools:
    """Whether all values between two count as equal to one another."""
    with np.errstate(invalid="ignore"):
        difference = high - low
    return np.asarray((low == high) | (difference <= TOLERANCE * np.minimum(np.abs(low), np.abs(high))))
