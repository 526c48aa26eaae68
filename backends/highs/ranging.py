"""Ranges of costs and sides of a solved linear program."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import highspy
import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem

if TYPE_CHECKING:
    from gpusched_dsl.backends.highs.backend import HighsSession

FourRanges: TypeAlias = tuple[Floats, Floats, Floats, Floats]


def solver_ranges(session: HighsSession, problem: Problem) -> FourRanges | None:
    """Return the least and largest cost of each column and side of each row; None where HiGHS has none.

    Those of rows with slack mean something else and are not to be used.
    """
    status, found = session.solver.getRanging()
    if status != highspy.HighsStatus.kOk or not found.valid:
        return None
    columns = [np.array(record.value_)[: problem.columns] for record in (found.col_cost_dn, found.col_cost_up)]
    rows = [np.array(record.value_)[: problem.rows] for record in (found.row_bound_dn, found.row_bound_up)]
    return columns[0], columns[1], rows[0], rows[1]
