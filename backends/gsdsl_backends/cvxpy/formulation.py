"""A CVXPY problem with its numbers as parameters: costs, sides, bounds and coefficients change without a recompile.

The pattern of coefficients is fixed in sparse parameters, products of parameters and columns are disciplined (DPP).
Rows and columns are constraints of one side each, so that each has a dual value. What CVXPY compiles for cones grows
with columns times parameters (10,000 columns with 40,000 parameters: 37 s and 9 GB, against 0.1 s with plain numbers),
so beyond `MOST` the numbers are plain ones, and other numbers are compiled anew. The matrix of a quadratic objective is
no parameter either; solvers get it as it is, which is faster and more exact than a cone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from msgspec import structs

from gpusched_dsl.compiling.convexity.quadratic_objective import QuadraticObjective
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem
from gsdsl_backends.cvxpy.halves import Halves, needed_halves
from gsdsl_backends.cvxpy.terms import halves_constraints

# Columns times parameters up to which parameters are worth it: compiled in a fifth of a second, changed in hundredths.
MOST = 5_000_000

Read = Callable[[Problem], Floats]


class CvxpyFormulation:
    """The problem of CVXPY, always a minimisation; `load` loads the numbers of another problem."""

    def __init__(self, problem: Problem, halves: list[Halves]) -> None:
        self.stated, self.quadratic = halves, QuadraticObjective.of(problem)
        problem, halves = self._split(problem, halves)
        self._shape = _finite(problem)
        self.parametric = problem.columns * _count(problem) <= MOST
        self._numbers: list[tuple[Callable[[Floats], None], Read]] = []
        integers = np.flatnonzero(problem.integer)
        self.x = cp.Variable(problem.columns, integer=(integers,) if len(integers) else False)
        self._duals: list[tuple[cp.Constraint, Ints, bool, float]] = []
        constraints = [*self._rows(problem), *self._bounds(problem)]
        for number, half in enumerate(halves):
            if not problem.definitions[number].size:
                continue  # CVXPY takes no matrix without rows
            arguments = self._affine(problem, lambda one, k=number: one.definitions[k].arguments)  # type: ignore[misc]
            constraints += halves_constraints(half, self.x, arguments)
        costs = self._parameter(problem, lambda one: _sign(one) * _costs(one))
        goal = costs @ self.x
        if self.quadratic is not None:
            goal = goal + _squares(self.quadratic, self.x)
        self.problem = cp.Problem(cp.Minimize(goal), constraints)

    def _split(self, problem: Problem, halves: list[Halves]) -> tuple[Problem, list[Halves]]:
        """The problem without the quadratic forms of the objective, and what is needed of its other definitions."""
        if self.quadratic is None:
            return problem, halves
        return self.quadratic.linear, needed_halves(self.quadratic.linear)

    def full(self, point: Floats) -> Floats:
        """The point with the columns of quadratic forms of the objective."""
        return point if self.quadratic is None else self.quadratic.full(point)

    def load(self, problem: Problem, halves: list[Halves]) -> bool:
        """Load the numbers of a problem of the same structure; return False if that needs a recompile."""
        same_halves = len(halves) == len(self.stated) and all(map(Halves.same, halves, self.stated))
        if not self.parametric or not same_halves:
            return False
        quadratic = QuadraticObjective.of(problem)
        if (quadratic is None) != (self.quadratic is None):
            return False
        if quadratic is not None and self.quadratic is not None:
            if (quadratic.matrix != self.quadratic.matrix).nnz:
                return False
            problem = quadratic.linear
        if not _are_equal(self._shape, _finite(problem)):
            return False
        for write, read in self._numbers:
            write(read(problem))
        return True

    def duals(self, problem: Problem) -> tuple[Floats, Floats] | None:
        """Dual values of rows and reduced costs, as `d objective / d side`; None where the solver gave none."""
        rows, columns = np.zeros(problem.rows), np.zeros(problem.columns)
        for constraint, places, of_rows, sign in self._duals:
            if constraint.dual_value is None:
                return None
            target = rows if of_rows else columns
            target[places] += sign * _sign(problem) * np.asarray(constraint.dual_value, dtype=np.float64).reshape(-1)
        return rows + 0.0, columns + 0.0

    # --- parts -------------------------------------------------------------------------------------------------------

    def _rows(self, problem: Problem) -> list[cp.Constraint]:
        equal, lower, upper = _places_of_sides(problem.row_lower, problem.row_upper)
        constraints = []
        for places, sense, read in (
            (equal, "==", _of_rows("row_lower", equal)),
            (lower, ">=", _of_rows("row_lower", lower)),
            (upper, "<=", _of_rows("row_upper", upper)),
        ):
            if len(places):
                left = self._product(problem, lambda one, rows=places: one.matrix.take(rows))  # type: ignore[misc]
                constraints.append(self._constraint(left, sense, self._parameter(problem, read), places, True))
        return constraints

    def _bounds(self, problem: Problem) -> list[cp.Constraint]:
        """Bounds of results are left out: they follow from others, which would share their dual values with them."""
        declared = np.ones(problem.columns, dtype=np.bool_)
        for definition in problem.definitions:
            declared[definition.results] = False
        lower, upper = np.where(declared, problem.lower, -np.inf), np.where(declared, problem.upper, np.inf)
        equal, below, above = _places_of_sides(lower, upper)
        constraints = []
        for places, sense, read in (
            (equal, "==", _of_rows("lower", equal)),
            (below, ">=", _of_rows("lower", below)),
            (above, "<=", _of_rows("upper", above)),
        ):
            if len(places):
                constraints.append(
                    self._constraint(self.x[places], sense, self._parameter(problem, read), places, False)
                )
        return constraints

    def _constraint(
        self, left: Any, sense: str, side: cp.Parameter | Floats, places: Ints, of_rows: bool
    ) -> cp.Constraint:
        # CVXPY's Lagrangian adds the multiplier of `left - side` for `==` and `<=`, of `side - left` for `>=`.
        constraint = left == side if sense == "==" else left >= side if sense == ">=" else left <= side
        self._duals.append((constraint, places, of_rows, 1.0 if sense == ">=" else -1.0))
        return constraint

    def _affine(self, problem: Problem, read: Callable[[Problem], Affines]) -> cp.Expression:
        constants = self._parameter(problem, lambda one: read(one).constants)
        return self._product(problem, lambda one: read(one).matrix) + constants

    def _product(self, problem: Problem, read: Callable[[Problem], Matrix]) -> cp.Expression:
        """Rows times columns, the coefficients a parameter of fixed pattern."""
        matrix = read(problem)
        shape = (matrix.rows, problem.columns)
        places = (matrix.row_of.astype(np.int64), matrix.columns.astype(np.int64))
        if not matrix.nonzeros:  # CVXPY needs an entry
            places, matrix = (np.zeros(1, np.int64), np.zeros(1, np.int64)), structs.replace(matrix, values=np.zeros(1))
        if not self.parametric:
            return sp.csr_array((matrix.values, places), shape=shape) @ self.x
        parameter = cp.Parameter(shape, sparsity=places)

        def write(values: Floats) -> None:
            parameter.value_sparse = sp.coo_array((values if len(values) else np.zeros(1), places), shape=shape)

        self._add(problem, write, lambda one: read(one).values)
        return parameter @ self.x

    def _parameter(self, problem: Problem, read: Read) -> cp.Parameter | Floats:
        if not self.parametric:
            return read(problem)
        parameter = cp.Parameter(len(read(problem)))

        def write(values: Floats) -> None:
            parameter.value = values

        self._add(problem, write, read)
        return parameter

    def _add(self, problem: Problem, write: Callable[[Floats], None], read: Read) -> None:
        write(read(problem))
        self._numbers.append((write, read))


def _squares(quadratic: QuadraticObjective, x: cp.Variable) -> cp.Expression:
    """The quadratic part of a minimisation, which is known to be convex."""
    used = np.flatnonzero(np.diff(quadratic.matrix.indptr))
    matrix = (quadratic.sign * 0.5) * quadratic.matrix[used][:, used]
    return cp.quad_form(x[used], sp.csc_matrix(matrix), assume_PSD=True)


def _of_rows(name: str, places: Ints) -> Read:
    def read(problem: Problem) -> Floats:
        values: Floats = getattr(problem, name)[places]
        return values

    return read


def _places_of_sides(lower: Floats, upper: Floats) -> tuple[Ints, Ints, Ints]:
    """Where the sides are equal; elsewhere, where there is a lower one and where an upper one."""
    equal = lower == upper
    return (
        np.flatnonzero(equal),
        np.flatnonzero(~equal & np.isfinite(lower)),
        np.flatnonzero(~equal & np.isfinite(upper)),
    )


def _finite(problem: Problem) -> list[Ints]:
    return [*_places_of_sides(problem.row_lower, problem.row_upper), *_places_of_sides(problem.lower, problem.upper)]


def _are_equal(old: list[Ints], new: list[Ints]) -> bool:
    return all(map(np.array_equal, old, new))


def _count(problem: Problem) -> int:
    """Count the numbers of the problem."""
    arguments = sum(d.arguments.count + d.arguments.matrix.nonzeros for d in problem.definitions)
    return 3 * problem.columns + 2 * problem.rows + 2 * problem.matrix.nonzeros + arguments


def _costs(problem: Problem) -> Floats:
    return problem.objectives[0].costs(problem.columns) if problem.objectives else np.zeros(problem.columns)


def _sign(problem: Problem) -> float:
    return -1.0 if problem.objectives and problem.objectives[0].sense == "maximize" else 1.0
