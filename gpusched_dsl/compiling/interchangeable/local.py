"""The rows of a single element: the data for sums over a class."""

from __future__ import annotations

from collections.abc import Iterator as Iterates
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.parts import Component, NewColumns, NewRows, Sparse, Spread
from gpusched_dsl.compiling.interchangeable.quotient import Quotient
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.domains import Domain, ScalarDomain, TupleDomain
from gpusched_dsl.ir.problem import Family
from gpusched_dsl.ir.tolerances import FEASIBILITY

CLOSE = FEASIBILITY  # how far a row of an element may be broken by a given plan
CELLS = 1 << 22  # of one block of values


@dataclass(frozen=True, eq=False)
class Local:
    """The columns and rows of a component: `lower <= own @ x + shared @ (all columns of the quotient) <= upper`.

    `own` has a column per column of the component, `size` elements (`elements`, codes) have such rows.
    """

    quotient: Quotient
    component: Component
    elements: Codes
    rows: Codes
    own: Sparse
    shared: Sparse
    lower: Floats
    upper: Floats

    @staticmethod
    def of(quotient: Quotient, component: Component, rows: Codes | None = None) -> Local:
        """Return all rows of the component, or some; raise Obstacle unless they are linear and unconditional."""
        _refuse_nonlinear(quotient, component)
        problem = quotient.problem
        chosen = component.rows if rows is None else rows
        matrix = problem.matrix.take(chosen)
        place = np.searchsorted(component.columns, matrix.columns)
        place = np.minimum(place, len(component.columns) - 1)
        in_component = component.columns[place] == matrix.columns
        row = matrix.row_of
        size = len(chosen)
        return Local(
            quotient,
            component,
            np.flatnonzero(quotient.classes.of == component.kind),
            chosen,
            sparse.csr_matrix(
                (matrix.values[in_component], (row[in_component], place[in_component])),
                shape=(size, len(component.columns)),
            ),
            sparse.csr_matrix(
                (matrix.values[~in_component], (row[~in_component], matrix.columns[~in_component])),
                (size, problem.columns),
            ),
            problem.row_lower[chosen],
            problem.row_upper[chosen],
        )

    @property
    def size(self) -> int:
        return len(self.elements)

    @property
    def integer(self) -> Bools:
        return self.quotient.problem.integer[self.component.columns]

    @property
    def lowest_values(self) -> Floats:
        """Return the lower bounds, integers for integer columns."""
        bounds = self.quotient.problem.lower[self.component.columns]
        return np.where(self.integer, np.ceil(bounds), bounds)

    @property
    def highest_values(self) -> Floats:
        bounds = self.quotient.problem.upper[self.component.columns]
        return np.where(self.integer, np.floor(bounds), bounds)

    def column_family(self, place: int) -> Family:
        return self.quotient.problem.column_family(int(self.component.columns[place]))

    def row_family(self, row: int) -> Family:
        return self.quotient.problem.row_family(int(self.rows[row]))

    def new_columns(self, lower: Floats, upper: Floats, integer: Bools) -> tuple[NewColumns, ...]:
        """Columns in the place of those of the component, in the same families."""
        doc = f"summed over {self.size} elements of `{self.quotient.root}`"
        return tuple(
            NewColumns(f.name, domain, lower[at], upper[at], integer[at], f.span, f.unit, doc)
            for f, at, domain in _families_of(self.quotient.problem.column_families, self.component.columns)
        )

    def summed_rows(self, rows: Codes, own: Sparse, shared: Sparse, lower: Floats, upper: Floats) -> list[NewRows]:
        """Rows in the place of some of these (which ascend), in the same families."""
        return [
            NewRows(f.name, domain, own[at], lower[at], upper[at], shared[at] if shared[at].nnz else None, f.span)
            for f, at, domain in _families_of(self.quotient.problem.constraints, self.rows[rows])
        ]

    def rows_implied_by_bounds(self) -> Bools:
        """Return which rows only repeat bounds of one column."""
        alone = np.flatnonzero((np.diff(self.own.indptr) == 1) & (np.diff(self.shared.indptr) == 0))
        at = self.own.indptr[alone]
        value, place = self.own.data[at], self.own.indices[at]
        ends = np.stack((value * self.lowest_values[place], value * self.highest_values[place]))
        found = np.zeros(len(self.rows), dtype=np.bool_)
        found[alone] = (ends.min(axis=0) >= self.lower[alone]) & (ends.max(axis=0) <= self.upper[alone])
        return found

    def totals(self, spread: Spread) -> Floats:
        """The sum over the elements of every column."""
        place = np.searchsorted(self.component.columns, spread.columns)
        found: Floats = np.bincount(place, spread.values, len(self.component.columns)).astype(np.float64)
        return found

    def is_feasible(self, spread: Spread) -> bool:
        """Whether the values of single elements keep their bounds and those rows that read no shared column."""
        plain = np.flatnonzero(np.diff(self.shared.indptr) == 0)
        own, lower, upper = self.own[plain], self.lower[plain], self.upper[plain]
        slack = CLOSE * np.maximum(1.0, abs(own).max(axis=1).toarray().ravel() if len(plain) else 1.0)
        place = np.searchsorted(self.component.columns, spread.columns)
        element = np.searchsorted(self.elements, spread.elements)
        order = np.argsort(element, kind="stable")
        width = max(1, CELLS // max(1, len(self.component.columns), len(plain)))
        for begin in range(0, self.size, width):
            first, last = np.searchsorted(element[order], (begin, begin + width))
            at = order[first:last]
            values = np.zeros((len(self.component.columns), min(width, self.size - begin)))
            values[place[at], element[at] - begin] = spread.values[at]
            outside = (values < self.lowest_values[:, None] - CLOSE) | (values > self.highest_values[:, None] + CLOSE)
            activity = own @ values
            broken = (activity < (lower - slack)[:, None]) | (activity > (upper + slack)[:, None])
            if outside.any() or broken.any():
                return False
        return True


def _families_of(families: tuple[Family, ...], numbers: Codes) -> Iterates[tuple[Family, slice, Domain]]:
    """The families of some columns or rows, which ascend: which of them, and their index tuples."""
    for family in families:
        begin, end = np.searchsorted(numbers, (family.first, family.stop))
        if begin < end:
            at = numbers[begin:end] - family.first
            codes = tuple(c[at] for c in family.domain.columns())
            yield (
                family,
                slice(int(begin), int(end)),
                TupleDomain(family.domain.components, codes) if codes else ScalarDomain(),
            )


def _refuse_nonlinear(quotient: Quotient, component: Component) -> None:
    problem = quotient.problem
    in_component = np.zeros(problem.columns, dtype=np.bool_)
    in_component[component.columns] = True
    for definition in problem.definitions:
        if in_component[definition.results].any() or in_component[definition.arguments.matrix.columns].any():
            what = f"`{definition.name or definition.op}` is not a linear function of the decisions of one element"
            raise Obstacle(what, definition.span)
    conditions = problem.conditions
    under = np.isin(conditions.rows, component.rows) | in_component[conditions.columns]
    if under.any():
        family = problem.row_family(int(conditions.rows[np.flatnonzero(under)[0]]))
        raise Obstacle(f"`{family.name}` has a condition", family.span)
