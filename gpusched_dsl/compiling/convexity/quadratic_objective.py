"""An objective with quadratic forms as linear costs and a matrix, for backends that take these."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Objective, Problem, Term

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from gpusched_dsl.ir.definitions import Definition, QuadraticForm


class QuadraticObjective(Struct, frozen=True, eq=False, dict=True):
    """The objective of `stated`: that of `linear`, and beside it `x' matrix x / 2`, of one sign.

    `linear` has the same columns and rows; the columns of these quadratic forms are fixed at 0 and cost nothing, and
    it has all other definitions.
    """

    stated: Problem
    linear: Problem
    matrix: csr_array

    @staticmethod
    def of(problem: Problem) -> QuadraticObjective | None:
        """The parts of the only objective; None if it reads no quadratic form that nothing else reads."""
        results = _forms_of_objective(problem)
        if not results.any():
            return None
        from scipy.sparse import csr_array  # here, as linear problems do without

        from gpusched_dsl.ir.definitions import QuadraticForm

        objective = problem.objectives[0]
        costs, offset = objective.costs(problem.columns), objective.offset
        matrix = csr_array((problem.columns, problem.columns))
        kept: list[Definition] = []
        for definition in problem.definitions:
            own = results[definition.results]
            if not own.all():
                kept.append(definition.take(np.flatnonzero(~own)))
            if own.any():
                assert isinstance(definition, QuadraticForm)
                forms = definition.take(np.flatnonzero(own))
                pairs, columns = _matrices(forms, costs[forms.results], problem.columns)
                constants = forms.arguments.constants
                matrix = csr_array(matrix + columns.T @ pairs @ columns)
                costs = costs + columns.T @ (pairs @ constants)
                offset += float(constants @ (pairs @ constants)) / 2
        costs[results] = 0.0
        used = np.flatnonzero(costs).astype(np.int32)
        linear = replace(
            problem,
            lower=np.where(results, 0.0, problem.lower),
            upper=np.where(results, 0.0, problem.upper),
            objectives=(structs.replace(objective, terms=(Term(None, used, costs[used], offset),)),),
            definitions=tuple(kept),
        )
        return QuadraticObjective(problem, linear, matrix)

    @property
    def objective(self) -> Objective:
        return self.linear.objectives[0]

    @cached_property
    def sign(self) -> float:
        return -1.0 if self.objective.sense == "maximize" else 1.0

    def value(self, point: Floats) -> float:
        return self.objective.value(point) + float(point @ (self.matrix @ point)) / 2

    def gradient(self, point: Floats) -> Floats:
        return np.asarray(self.objective.costs(self.linear.columns) + self.matrix @ point)

    def full(self, point: Floats) -> Floats:
        """The point with the columns of the quadratic forms."""
        from gpusched_dsl.ir.definitions import QuadraticForm

        point = point.copy()
        for definition in self.stated.definitions:
            if isinstance(definition, QuadraticForm):
                point[definition.results] = definition.values(point)
        return point

    def square_roots(self) -> Matrix:
        """Linear forms in the columns whose squares add up to the quadratic part, whatever its sign."""
        from scipy.sparse import triu

        from gpusched_dsl.compiling.convexity.polynomials import Polynomials
        from gpusched_dsl.compiling.convexity.semidefinite import square_roots

        half = triu(self.matrix).tocoo()
        row, column = half.coords[0].astype(np.int64), half.coords[1].astype(np.int64)
        values = self.sign * np.where(row == column, 0.5, 1.0) * half.data
        _, roots = square_roots(Polynomials.of(1, np.zeros(len(row), dtype=np.int64), row, column, values))
        return Matrix(roots.starts, roots.second.astype(np.int32), roots.values)


def _forms_of_objective(problem: Problem) -> Bools:
    """The columns of quadratic forms that only the objective reads, on the side that they are convex for."""
    result = np.zeros(problem.columns, dtype=np.bool_)
    if not problem.definitions:
        return result
    from gpusched_dsl.ir.definitions import QuadraticForm

    forms = [d.results for d in problem.definitions if isinstance(d, QuadraticForm)]
    if not forms or len(problem.objectives) != 1:
        return result
    costs = problem.objectives[0].costs(problem.columns)
    result[np.concatenate(forms)] = True
    result &= (costs < 0) if problem.objectives[0].sense == "maximize" else (costs > 0)
    result[problem.matrix.columns] = False
    for definition in problem.definitions:
        result[definition.arguments.matrix.columns] = False
    return result


def _matrices(forms: QuadraticForm, costs: Floats, columns: int) -> tuple[csr_array, csr_array]:
    """`M` with `a' M a / 2` the sum of the forms times their costs at arguments a, and a as rows over the columns."""
    from scipy.sparse import csr_array

    one, other = forms.pair_places
    values = forms.pairs.coefficients * costs[forms.pair_entry]
    arguments = forms.arguments.matrix
    size = arguments.rows
    half = csr_array((values, (one, other)), shape=(size, size))
    rows = csr_array((arguments.values, arguments.columns, arguments.starts), shape=(size, columns))
    return csr_array(half + half.T), rows
