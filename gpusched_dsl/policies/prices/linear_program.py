"""Dual values of the linear relaxation of a problem, by HiGHS."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from scipy import sparse

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem


class NoDuals(StrEnum):
    """Why a linear program has no dual values."""

    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    UNSOLVED = "not solved"


_STATUS = {2: NoDuals.INFEASIBLE, 3: NoDuals.UNBOUNDED}


def duals_of(problem: Problem) -> Floats | NoDuals:
    """Return the dual value of each row: `d objective / d side` of the first objective, whatever its sense.

    The problem is linear; its integrality is ignored.
    """
    from scipy.optimize import linprog

    matrix = problem.matrix
    rows = sparse.csr_matrix((matrix.values, matrix.columns, matrix.starts), shape=(problem.rows, problem.columns))
    objective = problem.objectives[0]
    sign = 1.0 if objective.sense == "minimize" else -1.0
    lower, upper = problem.row_lower, problem.row_upper
    equal = np.flatnonzero(lower == upper)
    above = np.flatnonzero((lower != upper) & np.isfinite(upper))
    below = np.flatnonzero((lower != upper) & np.isfinite(lower))
    solved = linprog(
        sign * objective.costs(problem.columns),
        A_ub=sparse.vstack((rows[above], -rows[below])).tocsr(),
        b_ub=np.concatenate((upper[above], -lower[below])),
        A_eq=rows[equal],
        b_eq=lower[equal],
        bounds=np.stack((problem.lower, problem.upper), axis=1),
        method="highs",
    )
    if solved.status != 0:
        return _STATUS.get(solved.status, NoDuals.UNSOLVED)
    duals = np.zeros(problem.rows)
    duals[equal] = solved.eqlin.marginals
    duals[above] += solved.ineqlin.marginals[: len(above)]
    duals[below] -= solved.ineqlin.marginals[len(above) :]
    return np.asarray(sign * duals)
