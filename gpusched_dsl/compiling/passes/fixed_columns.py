"""Columns with one possible value become constants.

    lower[j] == upper[j] == v    ->  no column; v times its coefficients moves into sides, costs and constants

A reduction, run only when it is asked for. Families keep the index tuples of the columns that stay. A condition on a
fixed column is decided: its row holds always, or goes. Results of definitions stay, for their definitions name them.
The way back puts the constants in their places again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.compiling.passes.rewriting import with_conditions, without_rows
from gpusched_dsl.compiling.passes.steps import Analysis, Note, Step, Target
from gpusched_dsl.ir.definitions import Affines, Conditions
from gpusched_dsl.ir.domains import Codes, Tuples
from gpusched_dsl.ir.matrix import Floats, Matrix
from gpusched_dsl.ir.problem import Family, Problem, Term

Flags = NDArray[np.bool_]


class FixedColumns:
    """Fixed columns -> constants."""

    name: ClassVar[str] = "fixed_columns"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return bool(_fixed(analysis.problem).any())

    def apply(self, analysis: Analysis, target: Target) -> Step:
        problem = analysis.problem
        fixed = _fixed(problem)
        value = np.where(fixed, problem.lower, 0.0)
        decided, numbers = _decided(problem, fixed, value)
        kept = np.flatnonzero(~fixed)
        notes = tuple(
            Note(self.name, f.name, "have one value", count, columns=-count, span=f.span)
            for f in problem.column_families
            if (count := int(fixed[f.slice].sum()))
        )

        def recover(point: Floats) -> Floats:
            full = value.copy()
            full[kept] = point
            return full

        return Step(_without(decided, fixed, value), notes, recover, lambda point: point[kept], numbers)


def _fixed(problem: Problem) -> Flags:
    fixed = (problem.lower == problem.upper) & (~problem.integer | (problem.lower == np.rint(problem.lower)))
    for definition in problem.definitions:
        fixed[definition.results] = False
    return np.asarray(fixed)


def _decided(problem: Problem, fixed: Flags, value: Floats) -> tuple[Problem, Codes | None]:
    """The problem without conditions on fixed columns, and the numbers of rows if some went."""
    conditions = problem.conditions
    known = fixed[conditions.columns]
    if not known.any():
        return problem, None
    idle = known & ((value[conditions.columns] > 0.5) != conditions.values)
    gone = np.zeros(problem.rows, dtype=np.bool_)
    gone[conditions.rows[idle]] = True
    return without_rows(with_conditions(problem, ~known | idle), gone)


def _without(problem: Problem, fixed: Flags, value: Floats) -> Problem:
    names = (np.cumsum(~fixed) - 1).astype(np.int32)
    rows, moved = _split(problem.matrix, fixed, value, names)
    conditions = problem.conditions
    definitions = []
    for definition in problem.definitions:
        matrix, constants = _split(definition.arguments.matrix, fixed, value, names)
        arguments = Affines(matrix, definition.arguments.constants + constants)
        definitions.append(replace(definition, results=names[definition.results], arguments=arguments))
    variables = _families(problem.variables, fixed, 0)
    return replace(
        problem,
        variables=variables,
        auxiliary=_families(problem.auxiliary, fixed, sum(f.size for f in variables)),
        lower=problem.lower[~fixed],
        upper=problem.upper[~fixed],
        integer=problem.integer[~fixed],
        matrix=rows,
        row_lower=problem.row_lower - moved,
        row_upper=problem.row_upper - moved,
        objectives=tuple(
            replace(o, terms=tuple(_term(t, fixed, value, names) for t in o.terms)) for o in problem.objectives
        ),
        definitions=tuple(definitions),
        conditions=Conditions(conditions.rows, names[conditions.columns], conditions.values),
    )


def _split(matrix: Matrix, fixed: Flags, value: Floats, names: NDArray[np.int32]) -> tuple[Matrix, Floats]:
    """The entries in columns that stay, by their new numbers, and what the others add up to in each row."""
    out = fixed[matrix.columns]
    amounts = np.bincount(
        matrix.row_of[out], weights=matrix.values[out] * value[matrix.columns[out]], minlength=matrix.rows
    )
    starts = np.concatenate(([0], np.cumsum(np.bincount(matrix.row_of[~out], minlength=matrix.rows))))
    kept = Matrix(starts.astype(np.int64), names[matrix.columns[~out]], matrix.values[~out])
    return kept, amounts.astype(np.float64, copy=False)


def _term(term: Term, fixed: Flags, value: Floats, names: NDArray[np.int32]) -> Term:
    out = fixed[term.columns]
    constant = term.constant + float(term.coefficients[out] @ value[term.columns[out]])
    return replace(term, columns=names[term.columns[~out]], coefficients=term.coefficients[~out], constant=constant)


def _families(families: tuple[Family, ...], fixed: Flags, first: int) -> tuple[Family, ...]:
    kept: list[Family] = []
    for family in families:
        inside = np.flatnonzero(~fixed[family.slice])
        if len(inside) == family.size:
            kept.append(replace(family, first=first))
        elif len(inside):
            codes = tuple(c[inside] for c in family.domain.columns())
            kept.append(replace(family, first=first, domain=Tuples(family.domain.components, codes)))
        first += len(inside)
    return tuple(kept)
