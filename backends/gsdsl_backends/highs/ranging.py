"""Ranges of costs and sides of a solved linear program."""

from __future__ import annotations

from typing import Any, TypeAlias

import highspy
import numpy as np

from gpusched_dsl.ir.arrays import Floats

FourRanges: TypeAlias = tuple[Floats, Floats, Floats, Floats]


def ranging_of(highs: Any, columns: int, rows: int) -> FourRanges | None:
    """Return the least and largest cost of each column and side of each row; None where HiGHS has none.

    Those of rows with slack mean something else and are not to be used.
    """
    status, found = highs.getRanging()
    if status != highspy.HighsStatus.kOk or not found.valid:
        return None
    cost_lower, cost_upper = (np.array(r.value_)[:columns] for r in (found.col_cost_dn, found.col_cost_up))
    side_lower, side_upper = (np.array(r.value_)[:rows] for r in (found.row_bound_dn, found.row_bound_up))
    return cost_lower, cost_upper, side_lower, side_upper
