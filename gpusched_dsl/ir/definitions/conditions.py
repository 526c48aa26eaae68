"""Rows with a condition."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s


class Conditions(Struct, frozen=True, eq=False):
    """Rows that apply only if a binary column has a value: row `rows[i]` if `point[columns[i]] == values[i]`.

    `rows` are increasing: a row has one condition at most.
    """

    rows: Codes
    columns: Int32s
    values: Bools

    def active(self, rows: int, point: Floats) -> Bools:
        """Return which of all `rows` rows apply at a point."""
        required = np.ones(rows, dtype=np.bool_)
        required[self.rows] = (point[self.columns] > 0.5) == self.values
        return required

    @staticmethod
    def none() -> Conditions:
        return Conditions(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.bool_))
