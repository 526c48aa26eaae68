"""What each decision of a placement costs with the prices of the rows that it shares with other jobs.

The cost of a decision plus the sum of its coefficients times the prices of all rows is its reduced cost, 0 for
everything that the relaxation uses. Rows of one job alone (it has one place at most) are left out here: then it is the
rise of the objective with the decision, negative for what is worth more than all that it takes from others.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.language.checked import CheckedPlacement, Element
from gpusched_dsl.policies.node_kinds import position_of
from gpusched_dsl.policies.prices.relaxation import LinearRelaxation
from gpusched_dsl.policies.workload import NONE


def place_costs(relaxation: LinearRelaxation, placement: CheckedPlacement, prices: Floats) -> Floats:
    """Return the rise of the first objective with each column of the relaxation, for one element of its class.

    `prices`: for each row of the relaxation, the loss per unit on its left side.
    """
    problem, matrix = relaxation.problem, relaxation.problem.matrix
    objective = problem.objectives[0]
    loss = objective.costs(problem.columns) * (1.0 if objective.sense == "minimize" else -1.0)
    row = matrix.row_of
    shared = ~_of_one_job(relaxation, placement)[row]
    weights = matrix.values[shared] * prices[row[shared]]
    loss = loss + np.bincount(matrix.columns[shared], weights=weights, minlength=problem.columns)
    return np.asarray(loss / relaxation.column_copies)


def _of_one_job(relaxation: LinearRelaxation, placement: CheckedPlacement) -> Bools:
    """Return which rows have decisions of one job alone."""
    problem, matrix = relaxation.problem, relaxation.problem.matrix
    family = problem.variable(placement.variable)
    at = position_of(placement, "job")
    owner = np.full(problem.columns, NONE)
    owner[family.slice] = family.domain.columns()[at]
    row, job = matrix.row_of, owner[matrix.columns]
    least, most = np.full(problem.rows, np.iinfo(np.int64).max), np.full(problem.rows, NONE)
    np.minimum.at(least, row, job)
    np.maximum.at(most, row, job)
    alone: Bools = (least == most) & (least != NONE)
    quotient, of_job = relaxation.quotient, placement.indices[at].type
    if quotient is not None and isinstance(of_job, Element) and of_job.root == quotient.root:
        alone &= quotient.row_class >= 0  # other rows are shared by all jobs of a class
    return alone
