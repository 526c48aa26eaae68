"""All sums that read columns (rows, objectives, arguments of terms), and other columns in their place.

A sum gains from a smaller value, from a larger one, or from both: `smaller`, `larger`. A function that is convex may
take the place of a part of a sum that gains from smaller values only, and its opposite that of one that gains from
larger values.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.passes.rewriting import with_rows
from gpusched_dsl.compiling.passes.rows import RowBuilder
from gpusched_dsl.compiling.passes.steps import Analysis
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines, Definition
from gpusched_dsl.ir.matrix import Matrix, stack
from gpusched_dsl.ir.problem import Objective, Problem, Term
from gpusched_dsl.language.source import Span


class Readers(Struct, frozen=True, eq=False):
    """Row i of `matrix` is the sum of reader i: rows of the problem, then objectives, then arguments of definitions.

    `owner[i]` is the family, objective or definition of reader i, numbered in this order.
    """

    problem: Problem
    matrix: Matrix
    smaller: Bools
    larger: Bools
    owner: Codes

    @staticmethod
    def of(analysis: Analysis) -> Readers:
        problem = analysis.problem
        rows = [f.size for f in problem.constraints]
        matrices = [problem.matrix]
        smaller, larger = [np.isfinite(problem.row_upper)], [np.isfinite(problem.row_lower)]
        for objective in problem.objectives:
            matrices.append(_costs(objective, problem.columns))
            smaller.append(np.array([objective.sense == "minimize"]))
            larger.append(~smaller[-1])
        for definition in problem.definitions:
            matrices.append(definition.arguments.matrix)
            less, more = _helpful_directions(analysis, definition)
            smaller.append(less)
            larger.append(more)
        counts = [*rows, *([1] * len(problem.objectives)), *(d.arguments.count for d in problem.definitions)]
        owner = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
        return Readers(problem, stack(matrices), np.concatenate(smaller), np.concatenate(larger), owner)

    @property
    def count(self) -> int:
        return self.matrix.rows

    @property
    def first_objective(self) -> int:
        return len(self.problem.constraints)

    @property
    def first_definition(self) -> int:
        return self.first_objective + len(self.problem.objectives)

    @property
    def signs(self) -> Floats:
        """1 where only smaller values help, -1 where only larger ones do, else 0."""
        return np.where(self.smaller == self.larger, 0.0, np.where(self.smaller, 1.0, -1.0))

    def source(self, owner: int) -> tuple[str, Span | None]:
        """The name of a family, objective or definition for columns that it reads, and its place."""
        if owner < self.first_objective:
            family = self.problem.constraints[owner]
            return family.name, family.span
        if owner < self.first_definition:
            objective = self.problem.objectives[owner - self.first_objective]
            return objective.name or "objective", objective.span
        definition = self.problem.definitions[owner - self.first_definition]
        return self.problem.column_family(int(definition.results[0])).name, definition.span


def _costs(objective: Objective, columns: int) -> Matrix:
    costs = objective.costs(columns)
    used = np.flatnonzero(costs)
    return Matrix(np.array([0, len(used)], dtype=np.int64), used.astype(np.int32), costs[used])


def _helpful_directions(analysis: Analysis, definition: Definition) -> tuple[Bools, Bools]:
    """Whether smaller and larger values of each argument help those who read the results."""
    if not definition.size:
        none = np.zeros(definition.arguments.count, dtype=np.bool_)
        return none, none
    rising, falling = definition.slopes(*analysis.bounds.of(definition.arguments))
    results = definition.results[definition.entry_of]
    less, more = analysis.directions.down[results], analysis.directions.up[results]
    return (less & rising) | (more & falling), (more & rising) | (less & falling)


class Rewriting:
    """Changes of readers: entries that go, entries and constants that come."""

    def __init__(self, readers: Readers) -> None:
        self.readers = readers
        self.gone: Bools = np.zeros(readers.matrix.nonzeros, dtype=np.bool_)
        self._added = RowBuilder(readers.count)

    def drop(self, entries: Codes) -> None:
        """Take entries out; each once."""
        assert not self.gone[entries].any()
        self.gone[entries] = True

    def add(self, readers: Codes, columns: Int32s, values: Floats) -> None:
        self._added.add(readers, columns, values)

    def add_affines(self, readers: Codes, affines: Affines) -> None:
        self._added.add_affines(readers, affines, 1.0)

    def apply_to(self, problem: Problem) -> Problem:
        """The problem, which may have more columns by now, with the sums as they are after the changes."""
        readers = self.readers
        changed = np.zeros(readers.count, dtype=np.bool_)
        changed[readers.matrix.row_of[self.gone]] = True
        kept = np.flatnonzero(changed[readers.matrix.row_of] & ~self.gone)
        old = readers.matrix
        new = self._added.add(old.row_of[kept], old.columns[kept], old.values[kept]).matrix()
        constants = self._added.constants
        rows = np.flatnonzero(changed[: problem.rows])
        low, high = problem.row_lower[rows] - constants[rows], problem.row_upper[rows] - constants[rows]
        at, objectives, definitions = problem.rows, [], []
        for objective in problem.objectives:
            objectives.append(_objective(objective, new, constants, at) if changed[at] else objective)
            at += 1
        for definition in problem.definitions:
            inside = at + np.arange(definition.arguments.count)
            definitions.append(_definition(definition, new, constants, inside, changed[inside]))
            at += len(inside)
        return replace(
            with_rows(problem, rows, new.take(rows), low, high) if len(rows) else problem,
            objectives=tuple(objectives),
            definitions=tuple(definitions),
        )


def _definition(definition: Definition, matrix: Matrix, constants: Floats, rows: Codes, changed: Bools) -> Definition:
    """The definition with its changed arguments."""
    if not changed.any():
        return definition
    arguments, at = definition.arguments, np.flatnonzero(changed)
    order = np.arange(arguments.count, dtype=np.int64)
    order[at] = arguments.count + np.arange(len(at))
    whole = stack([arguments.matrix, matrix.take(rows[at])]).take(order)
    return replace(definition, arguments=Affines(whole, arguments.constants + np.where(changed, constants[rows], 0.0)))


def _objective(objective: Objective, matrix: Matrix, constants: Floats, row: int) -> Objective:
    """The objective as one term: what replaces parts of several terms belongs to none of them."""
    inside = slice(matrix.starts[row], matrix.starts[row + 1])
    offset = objective.offset + float(constants[row])
    return structs.replace(objective, terms=(Term(None, matrix.columns[inside], matrix.values[inside], offset),))
