"""Columns that are integer at every feasible point: declared ones, and results of definitions of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.problem import Problem

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Affines


def integer_columns(problem: Problem) -> Bools:
    """Return declared integer columns, and the results of definitions that are always integer."""
    integer = problem.integer.copy()
    for definition in problem.definitions:
        if definition.size:
            integer[definition.results] |= definition.integer_entries(integer_affines(definition.arguments, integer))
    return integer


def integer_affines(affines: Affines, integer: Bools) -> Bools:
    """Return the integer expressions: integer coefficients of integer columns, and an integer constant."""
    matrix = affines.matrix
    fraction = ~integer[matrix.columns] | (matrix.values != np.rint(matrix.values))
    broken = np.bincount(matrix.row_of[fraction], minlength=affines.count) > 0
    return np.asarray(~broken & (affines.constants == np.rint(affines.constants)))
