"""The possible elements of a conflict: rows, lower bounds, upper bounds and integrality, numbered consecutively.

Nonlinear terms are no elements: a part has the definitions of the columns that its rows read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines, Definition
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.problem import Family, Problem

KINDS = ("row", "lower", "upper", "integer")


@dataclass(frozen=True, eq=False)
class Elements:
    """Numbers every row, then the lower bound, the upper bound and the integrality of every column.

    A set of elements is a mask over these numbers. `problem` has no rows under a condition.
    """

    problem: Problem

    @property
    def count(self) -> int:
        return self.problem.rows + 3 * self.problem.columns

    def first(self, kind: str) -> int:
        """The number of the first element of a kind (`row`, `lower`, `upper`, `integer`)."""
        at = KINDS.index(kind)
        return 0 if at == 0 else self.problem.rows + (at - 1) * self.problem.columns

    def of(self, kind: str, mask: Bools) -> Bools:
        """The part of a mask for one kind, a view: one value per row or per column."""
        first = self.first(kind)
        return mask[first : first + (self.problem.rows if kind == "row" else self.problem.columns)]

    def kind_of(self, element: int) -> tuple[str, int]:
        """The kind of an element, and its row or column."""
        if element < self.problem.rows:
            return "row", element
        at, column = divmod(element - self.problem.rows, self.problem.columns)
        return KINDS[1 + at], column

    def none(self) -> Bools:
        return np.zeros(self.count, dtype=np.bool_)

    @cached_property
    def present(self) -> Bools:
        """Return the elements with an effect: finite sides and bounds, integer columns."""
        problem = self.problem
        return np.concatenate(
            (
                np.isfinite(problem.row_lower) | np.isfinite(problem.row_upper) | self._impossible_rows,
                problem.lower > -np.inf,
                problem.upper < np.inf,
                problem.integer,
            )
        )

    @cached_property
    def _impossible_rows(self) -> Bools:
        """A side of `>= inf` or `<= -inf`."""
        return np.isposinf(self.problem.row_lower) | np.isneginf(self.problem.row_upper)

    def part(self, kept: Bools) -> Subproblem:
        """The problem that only the elements of a mask state."""
        problem = self.problem
        rows = np.flatnonzero(self.of("row", kept))
        matrix = problem.matrix.take(rows)
        read, definitions = self.read(rows)
        columns = np.flatnonzero(read).astype(np.int32)
        numbers = np.zeros(problem.columns, dtype=np.int32)
        numbers[columns] = np.arange(len(columns), dtype=np.int32)
        lower = np.where(self.of("lower", kept), problem.lower, -np.inf)[columns]
        upper = np.where(self.of("upper", kept), problem.upper, np.inf)[columns]
        subproblem = Problem(
            name=problem.name,
            variables=(Family("column", 0, IntervalDomain(0, len(columns) - 1)),),
            lower=lower,
            upper=upper,
            integer=self.of("integer", kept)[columns],
            constraints=(Family("row", 0, IntervalDomain(0, len(rows) - 1)),),
            matrix=type(matrix)(matrix.starts, numbers[matrix.columns], matrix.values),
            row_lower=problem.row_lower[rows],
            row_upper=problem.row_upper[rows],
            definitions=tuple(_renumber(d, numbers) for d in definitions),
        )
        return Subproblem(self, subproblem, rows, columns)

    def read(self, rows: Codes) -> tuple[Bools, list[Definition]]:
        """The columns that some rows read, also by the definitions of others, and these definitions."""
        problem, read = self.problem, np.zeros(self.problem.columns, dtype=np.bool_)
        matrix = problem.matrix.take(rows)
        read[matrix.columns] = True
        definitions: list[Definition] = []
        for definition in reversed(problem.definitions):
            wanted = np.flatnonzero(read[definition.results])
            if len(wanted):
                definitions.append(definition.take(wanted))
                read[definitions[-1].arguments.matrix.columns] = True
        return read, definitions[::-1]

    def satisfied_elements(self, point: Floats, tolerance: float = 1e-9) -> Bools:
        """Which elements a point satisfies, within a small multiple of their size."""
        problem = self.problem
        activity = problem.matrix.activity(point)
        size = np.maximum(1.0, np.abs(activity))
        room = tolerance * np.maximum(1.0, np.abs(point))
        return np.concatenate(
            (
                (activity >= problem.row_lower - tolerance * size) & (activity <= problem.row_upper + tolerance * size),
                point >= problem.lower - room,
                point <= problem.upper + room,
                ~problem.integer | (point == np.rint(point)),
            )
        )

    def point_nearest_zero(self) -> Floats:
        """Every column at the value nearest to 0 that its own bounds and integrality allow."""
        problem = self.problem
        lower = np.where(problem.integer, np.ceil(problem.lower), problem.lower)
        upper = np.where(problem.integer, np.floor(problem.upper), problem.upper)
        return np.clip(np.zeros(problem.columns), lower, np.maximum(lower, upper))


@dataclass(frozen=True, eq=False)
class Subproblem:
    """A part of a problem; `rows` and `columns` are the numbers of its rows and columns in the complete problem."""

    elements: Elements
    problem: Problem
    rows: Codes
    columns: Int32s

    def complete_point(self, point: Floats) -> Floats:
        """A point of all columns: those of the part from `point`, the others at rest."""
        complete = self.elements.point_nearest_zero()
        complete[self.columns] = point
        with np.errstate(all="ignore"):  # terms of other parts may have no value there
            for definition in self.elements.problem.definitions:
                complete[definition.results] = definition.values(complete)
        return complete


def _renumber(definition: Definition, numbers: Int32s) -> Definition:
    matrix, constants = definition.arguments.matrix, definition.arguments.constants
    arguments = Affines(type(matrix)(matrix.starts, numbers[matrix.columns], matrix.values), constants)
    return replace(definition, results=numbers[definition.results], arguments=arguments)
