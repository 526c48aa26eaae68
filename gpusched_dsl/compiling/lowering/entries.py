"""The entries of all rows of a problem, each written once at its final place."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Int32s

_Array = TypeVar("_Array", Int32s, Floats)


class Entries:
    """Columns and values of rows that are made one part after another.

    The arrays have room for the expected number of entries and are doubled when they are full. Room that is never
    written takes no memory.
    """

    def __init__(self, expected: int = 0) -> None:
        self.count = 0
        self._columns, self._values = np.empty(expected, dtype=np.int32), np.empty(expected)

    def room(self, count: int) -> tuple[Int32s, Floats]:
        """Return arrays for the next entries; they count when they are added."""
        end = self.count + count
        if end > len(self._columns):
            size = max(end, 2 * self.count)
            self._columns, self._values = self._grown(self._columns, size), self._grown(self._values, size)
        return self._columns[self.count : end], self._values[self.count : end]

    def add(self, columns: Int32s, values: Floats) -> None:
        """Add entries, which are copied unless they are already where `room` placed them."""
        placed, numbers = self.room(len(columns))
        if not np.may_share_memory(placed, columns):
            placed[:], numbers[:] = columns, values
        self.count += len(columns)

    def arrays(self) -> tuple[Int32s, Floats]:
        """Return the columns and the values of all entries."""
        return self._columns[: self.count], self._values[: self.count]

    def _grown(self, array: _Array, size: int) -> _Array:
        grown: _Array = np.empty(size, dtype=array.dtype)
        grown[: self.count] = array[: self.count]
        return grown
