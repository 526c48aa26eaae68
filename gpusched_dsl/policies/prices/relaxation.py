"""The linear relaxation of a model, for one element of every class of interchangeable ones.

Let the elements of a class be exchanged in all ways: the mean of the images of a feasible point of the relaxation is
feasible, costs the same, and is equal on all elements of the class. So the quotient (`interchangeable/quotient.py`)
without integrality has the optimum of the complete relaxation. A row of a representative stands there for a row of each
of its n elements: its dual value, divided by n, is one of each of these rows, and together they are optimal.

The cost of a decision plus the sum of its coefficients times the prices of all rows is its reduced cost, 0 for
everything that the relaxation uses. Rows of one job alone (it has one place at most) are left out in `place_costs`:
then it is the rise of the objective with the decision, negative for what is worth more than all that it takes from
others.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from msgspec import structs
from scipy import sparse

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.interchangeable.equivalence_classes import classes_of
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.quotient import Quotient, candidates, quotient
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.checked import CheckedModel, CheckedPlacement, Element
from gpusched_dsl.policies.node_kinds import position_of
from gpusched_dsl.policies.workload import NONE


@dataclass(frozen=True, eq=False)
class LinearRelaxation:
    """`problem` is the quotient, or the complete problem if no elements are interchangeable; integrality is ignored."""

    problem: Problem
    quotient: Quotient | None

    @property
    def copies(self) -> Floats:
        """For each row, how many rows of the complete problem it stands for."""
        if self.quotient is None:
            return np.ones(self.problem.rows)
        return self._sizes(self.quotient.row_class)

    @property
    def column_copies(self) -> Floats:
        """For each column, how many columns of the complete problem it stands for."""
        if self.quotient is None:
            return np.ones(self.problem.columns)
        return self._sizes(self.quotient.column_class)

    def _sizes(self, kinds: Codes) -> Floats:
        assert self.quotient is not None
        return np.where(kinds >= 0, self.quotient.classes.sizes[np.maximum(kinds, 0)], 1).astype(np.float64)


def relaxation_of(model: CheckedModel, store: ValueStore, limits: MemoryLimits) -> LinearRelaxation:
    """Ground the relaxation of a model. Raises DiagnosticError as `ground` does."""
    for declared in candidates(model):
        try:
            classes = classes_of(model, store, declared.name)
            if classes.count < len(store.universes[declared.name].labels):
                small = quotient(model, store, declared.name, classes, limits)
                return LinearRelaxation(small.problem, small)
        except Obstacle:
            continue  # `explain` shows the reason
    return LinearRelaxation(ground(model, structs.replace(store, variables={}), limits), None)


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
