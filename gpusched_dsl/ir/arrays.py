"""The types of arrays, and their distinct values."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int64]  # elements of a set, see domains.py
Int32s = NDArray[np.int32]
Bools = NDArray[np.bool_]
Values = NDArray[Any]  # numbers, codes of elements, or texts as objects
_T = TypeVar("_T", bound=np.generic)


def spread(values: Values, size: int) -> Values:
    """Return `size` values, those of each row or the single one for all; not to be written to."""
    return values if values.shape == (size,) else np.broadcast_to(values, (size,))


def unique(values: NDArray[_T]) -> NDArray[_T]:
    """Return the distinct values in ascending order; no value is NaN.

    By sorting: `np.unique` of NumPy 2.3 and later hashes, which takes 6 to 17 times as long for many distinct values.
    """
    ordered = np.sort(values, axis=None)
    is_new = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new]


def numbered_by_first(keys: NDArray[Any]) -> tuple[Ints, Ints]:
    """Number distinct values, or rows of a table, in the order of their first occurrence.

    Returns where each first occurs, in ascending order, and the number of each value.
    """
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return first[order], rank[which.reshape(-1)]


def is_counting(values: Ints) -> bool:
    """Return whether the values are 0, 1, 2, ..."""
    return bool((values == np.arange(len(values))).all())


def first_places(groups: Ints, count: int) -> Ints:
    """Return where each of the groups 0 to `count` - 1 first occurs; -1 for those that do not."""
    found = np.full(count, -1, dtype=np.int64)
    found[groups[::-1]] = np.arange(len(groups) - 1, -1, -1)  # of repeated places the last value stays
    return found
