"""Builds the problem after a pass: appends columns and rows, and removes or replaces definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.limits import MemoryBudget, MemoryLimits
from gpusched_dsl.compiling.lowering.affine import merge_repeats
from gpusched_dsl.compiling.passes.steps import Note, PassResult
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Conditions
from gpusched_dsl.ir.domains import Domain, IntervalDomain, TupleDomain
from gpusched_dsl.ir.matrix import stack
from gpusched_dsl.ir.problem import Family, Matrix, Problem, Term
from gpusched_dsl.ir.tolerances import FEASIBILITY, ON_STEP
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Definition


LIMITS = MemoryLimits()  # of a problem with what a pass adds

Values = Callable[[Floats], Floats]


class ProblemBuilder:
    """Collects the additions and removals of a pass; `step` builds the new problem.

    Old columns and rows keep their numbers, so the way back is to forget the new columns.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.definitions: list[Definition] = list(problem.definitions)
        self.notes: list[Note] = []
        self.bound_error = 0.0
        self._families: list[Family] = []
        self._lower, self._upper, self._integer = [problem.lower.copy()], [problem.upper.copy()], [problem.integer]
        self._values: list[Values] = []
        self._row_families: list[Family] = []
        self._matrices: list[Matrix] = [problem.matrix]
        self._row_lower, self._row_upper = [problem.row_lower], [problem.row_upper]
        self._conditions: list[Conditions] = [problem.conditions]
        self._forgotten: list[Int32s] = []
        self._substituted: dict[int, tuple[Int32s, Int32s]] = {}
        self.columns, self.rows = problem.columns, problem.rows
        self._budget = MemoryBudget(LIMITS)
        self._names = {f.name for f in (*problem.column_families, *problem.constraints)}

    def expect(self, entries: int, term: str, span: Span | None) -> None:
        """Reserve a number of entries for a term before arrays are built; raise DiagnosticError (GSM3001) if too many.

        Only for what may be many times the size of the problem.
        """
        self._budget.term(entries, span, term)

    # --- columns and rows --------------------------------------------------------------------------------------------

    def add_columns(
        self,
        name: str,
        domain: Domain,
        lower: Floats | float,
        upper: Floats | float,
        integer: bool | Bools,
        values: Values,
        span: Span | None = None,
        doc: str | None = None,
    ) -> Int32s:
        """New columns and their numbers; `values` gives them for a point of all columns before them (for starts)."""
        size = domain.size
        self._families.append(Family(self._unique(name), self.columns, domain, span, doc=doc))
        self._lower.append(np.broadcast_to(np.asarray(lower, dtype=np.float64), (size,)))
        self._upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), (size,)))
        self._integer.append(np.broadcast_to(np.asarray(integer, dtype=np.bool_), (size,)))
        self._values.append(values)
        first, self.columns = self.columns, self.columns + size
        return np.arange(first, self.columns, dtype=np.int32)

    def add_rows(
        self,
        name: str,
        domain: Domain,
        matrix: Matrix,
        lower: Floats | float,
        upper: Floats | float,
        span: Span | None = None,
        condition: tuple[Int32s, Bools] | None = None,
    ) -> Codes:
        """Add rows and return their numbers; `condition` gives each a binary column and the value at which
        it applies.
        """
        size = matrix.rows
        assert domain.size == size
        self._row_families.append(Family(self._unique(name), self.rows, domain, span))
        self._matrices.append(matrix)
        self._row_lower.append(np.broadcast_to(np.asarray(lower, dtype=np.float64), (size,)))
        self._row_upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), (size,)))
        first, self.rows = self.rows, self.rows + size
        numbers = np.arange(first, self.rows, dtype=np.int64)
        if condition is not None:
            self._conditions.append(Conditions(numbers, condition[0].astype(np.int32), condition[1]))
        return numbers

    def bound(self, columns: Int32s, lower: Floats | float, upper: Floats | float) -> None:
        """Keep old columns within further bounds; `columns` are distinct.

        Old bounds that were computed with slack may miss the further ones by rounding, and are then replaced.
        """
        old = self._lower[0][columns]
        low, high = np.maximum(old, lower), np.minimum(self._upper[0][columns], upper)
        room = FEASIBILITY * np.maximum(1.0, np.abs(high))
        room = np.where(self.problem.integer[columns], np.minimum(room, ON_STEP), room)
        with np.errstate(invalid="ignore"):
            missed = (low > high) & (low <= high + room) & (np.asarray(lower) <= np.asarray(upper))
        nearest = np.clip(old, lower, upper)
        self._lower[0][columns] = np.where(missed, nearest, low)
        self._upper[0][columns] = np.where(missed, nearest, high)

    def forget(self, columns: Int32s) -> None:
        """Fix old columns that nothing reads any more at 0."""
        self._lower[0][columns] = self._upper[0][columns] = 0.0
        self._forgotten.append(columns)

    def loosen(self, columns: Int32s, by: Floats | float) -> None:
        """Widen implied bounds of old columns by the error of an approximation."""
        self._lower[0][columns] -= by
        self._upper[0][columns] += by

    def _unique(self, name: str) -> str:
        """A name that no family has yet: LP files need that."""
        free, number = name, 1
        while free in self._names:
            number += 1
            free = f"{name}.{number}"
        self._names.add(free)
        return free

    def index_of(self, definition: Definition, entries: Codes | None = None) -> Domain:
        """The index domain for rows or columns that belong to (some) entries of a definition."""
        columns = definition.results if entries is None else definition.results[entries]
        return index_of_columns(self.problem, columns)

    def index(self, columns: Int32s) -> Domain:
        """The index domain for rows or columns that belong to some columns, old or new."""
        return _index_in((*self.problem.column_families, *self._families), columns)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """The lower and the upper bounds of all columns so far."""
        return np.concatenate(self._lower), np.concatenate(self._upper)

    @property
    def integer(self) -> Bools:
        """Which columns so far are integer."""
        return np.concatenate(self._integer)

    def substitute(self, columns: Int32s, by: Int32s) -> None:
        """Replace `columns[i]` by `by[i]` everywhere (rows, objectives, definitions); `by` are kept columns."""
        self._substituted[len(self._substituted)] = (columns, by)

    # --- definitions -------------------------------------------------------------------------------------------------

    def remove(self, definition: Definition, entries: Bools | None = None) -> None:
        """Remove some entries of a definition, all by default."""
        self.replace(definition, entries, ())

    def replace(self, definition: Definition, entries: Bools | None, by: tuple[Definition, ...]) -> None:
        """Put other definitions in the place of some entries."""
        at = next(i for i, d in enumerate(self.definitions) if d is definition)
        kept: tuple[Definition, ...] = ()
        if entries is not None and not entries.all():
            kept = (definition.take(np.flatnonzero(~entries)),)
        self.definitions[at : at + 1] = [*by, *kept]

    # --- the new problem ---------------------------------------------------------------------------------------------

    def step(self) -> PassResult:
        old = self.problem
        matrix = stack(self._matrices)
        lower, upper = np.concatenate(self._lower), np.concatenate(self._upper)
        problem = replace(
            old,
            auxiliary=old.auxiliary + tuple(self._families),
            lower=lower,
            upper=upper,
            integer=np.concatenate(self._integer),
            constraints=old.constraints + tuple(self._row_families),
            matrix=matrix,
            row_lower=np.concatenate(self._row_lower),
            row_upper=np.concatenate(self._row_upper),
            definitions=tuple(self.definitions),
            conditions=_join(self._conditions),
        )
        if self._substituted:
            problem = _substitute(problem, list(self._substituted.values()))
        return PassResult(problem, tuple(self.notes), self._invert, self._map_start, None, self.bound_error)

    def _invert(self, point: Floats) -> Floats:
        """The old columns; those that others were read for have the values of these."""
        if not self._substituted:
            return point[: self.problem.columns]
        names = _names_after(len(point), list(self._substituted.values()))
        return point[names[: self.problem.columns]]

    def _map_start(self, point: Floats) -> Floats:
        for values in self._values:
            point = np.concatenate((point, values(point)))
        for columns in (*self._forgotten, *(gone for gone, _ in self._substituted.values())):
            point = point.copy()
            point[columns] = 0.0
        return point


def index_of_columns(problem: Problem, columns: Int32s) -> Domain:
    """The index tuples of columns of one family, as a domain; of several families, plain numbers."""
    return _index_in(problem.column_families, columns)


def _index_in(families: Sequence[Family], columns: Int32s) -> Domain:
    if len(columns):
        family = next(f for f in families if f.first <= int(columns[0]) < f.stop)
        inside = columns.min() >= family.first and columns.max() < family.stop
        if inside and len(columns) == family.size and np.array_equal(columns, np.arange(family.first, family.stop)):
            return family.domain
        if inside and family.domain.arity:
            at = columns.astype(np.int64) - family.first
            return TupleDomain(family.domain.components, tuple(c[at] for c in family.domain.columns()))
    return IntervalDomain(0, len(columns) - 1)


def _join(conditions: list[Conditions]) -> Conditions:
    if len(conditions) == 1:
        return conditions[0]
    return Conditions(
        np.concatenate([c.rows for c in conditions]),
        np.concatenate([c.columns for c in conditions]),
        np.concatenate([c.values for c in conditions]),
    )


def _substitute(problem: Problem, pairs: list[tuple[Int32s, Int32s]]) -> Problem:
    """Return the problem with some columns replaced; the replaced columns are fixed at 0 and unused."""
    from gpusched_dsl.ir.definitions import Affines

    names = _names_after(problem.columns, pairs)
    gone = np.concatenate([columns for columns, _ in pairs])
    lower, upper = problem.lower.copy(), problem.upper.copy()
    # The bounds of a column that goes still hold for the one that stands for it.
    np.maximum.at(lower, names[gone], problem.lower[gone])
    np.minimum.at(upper, names[gone], problem.upper[gone])
    lower[gone] = upper[gone] = 0.0
    integer = problem.integer.copy()
    integer[gone] = False
    objectives = tuple(
        structs.replace(o, terms=tuple(_renumber_term(t, names) for t in o.terms)) for o in problem.objectives
    )
    definitions = tuple(
        replace(d, arguments=Affines(renumber_columns(d.arguments.matrix, names), d.arguments.constants))
        for d in problem.definitions
    )
    conditions = structs.replace(problem.conditions, columns=names[problem.conditions.columns])
    return replace(
        problem, lower=lower, upper=upper, integer=integer, matrix=renumber_columns(problem.matrix, names),
        objectives=objectives, definitions=definitions, conditions=conditions,
    )  # fmt: skip


def _names_after(count: int, pairs: list[tuple[Int32s, Int32s]]) -> Int32s:
    """The column that is read in the place of each."""
    names = np.arange(count, dtype=np.int32)
    for columns, by in pairs:
        names[columns] = by
    while True:  # a chain: a -> b -> c
        further = names[names]
        if np.array_equal(further, names):
            return names
        names = further


def renumber_columns(matrix: Matrix, names: Int32s) -> Matrix:
    """The matrix with other column numbers; entries that meet in one column are added, zeros go."""
    columns = names[matrix.columns]
    if np.array_equal(columns, matrix.columns):
        return matrix
    return Matrix(*merge_repeats(matrix.rows, matrix.starts, columns, matrix.values))


def _renumber_term(term: Term, names: Int32s) -> Term:
    row = Matrix(np.array([0, len(term.columns)], dtype=np.int64), term.columns, term.coefficients)
    moved = renumber_columns(row, names)
    return structs.replace(term, columns=moved.columns, coefficients=moved.values)
