"""Removes columns of a problem and inserts constants for them; removes definitions that nothing reads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.passes.steps import PassResult
from gpusched_dsl.ir.arrays import Bools, Floats, Int32s
from gpusched_dsl.ir.definitions import Conditions
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem, Term

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Definition


def without_columns(problem: Problem, fixed: Bools, value: Floats) -> Problem:
    """Return the problem with `value[j]` for each fixed column j, and the other columns renumbered.

    No definition may give a fixed column, and no condition may read one.
    """
    from gpusched_dsl.ir.definitions import Affines
    from gpusched_dsl.ir.families import kept_families

    names = (np.cumsum(~fixed) - 1).astype(np.int32)
    kept = np.flatnonzero(~fixed)
    rows, moved = _split(problem.matrix, fixed, value, names)
    conditions = problem.conditions
    definitions = []
    for definition in problem.definitions:
        matrix, constants = _split(definition.arguments.matrix, fixed, value, names)
        arguments = Affines(matrix, definition.arguments.constants + constants)
        definitions.append(replace(definition, results=names[definition.results], arguments=arguments))
    variables = kept_families(problem.variables, ~fixed)
    return replace(
        problem,
        variables=variables,
        auxiliary=kept_families(problem.auxiliary, ~fixed, sum(f.size for f in variables)),
        lower=problem.lower[kept],
        upper=problem.upper[kept],
        integer=problem.integer[kept],
        matrix=rows,
        row_lower=problem.row_lower - moved,
        row_upper=problem.row_upper - moved,
        objectives=tuple(
            structs.replace(o, terms=tuple(_term(t, fixed, value, names) for t in o.terms)) for o in problem.objectives
        ),
        definitions=tuple(definitions),
        conditions=Conditions(conditions.rows, names[conditions.columns], conditions.values),
    )


def without_unread(step: PassResult, kinds: tuple[type[Definition], ...] | None = None) -> PassResult:
    """Return the step without definitions of these kinds (of all) that nothing reads; their columns are fixed at 0."""
    problem = step.problem
    read = np.zeros(problem.columns, dtype=np.bool_)
    read[problem.matrix.columns] = read[problem.conditions.columns] = True
    for term in (t for o in problem.objectives for t in o.terms):
        read[term.columns] = True
    kept: list[Definition] = []
    gone = np.zeros(problem.columns, dtype=np.bool_)
    for definition in reversed(problem.definitions):
        wanted = read[definition.results] | (kinds is not None and not isinstance(definition, kinds))
        gone[definition.results[~wanted]] = True
        if wanted.any():
            kept.append(definition.take(np.flatnonzero(wanted)))
            read[kept[-1].arguments.matrix.columns] = True
    lower, upper = np.where(gone, 0.0, problem.lower), np.where(gone, 0.0, problem.upper)
    smaller = replace(
        problem, lower=lower, upper=upper, integer=problem.integer & ~gone, definitions=tuple(reversed(kept))
    )
    return structs.replace(step, problem=smaller, map_start=lambda point: np.where(gone, 0.0, step.map_start(point)))


def _split(matrix: Matrix, fixed: Bools, value: Floats, names: Int32s) -> tuple[Matrix, Floats]:
    """Return the entries in kept columns, renumbered, and the sum of the others in each row."""
    out = fixed[matrix.columns]
    if not out.any():
        return Matrix(matrix.starts, names[matrix.columns], matrix.values), np.zeros(matrix.rows)
    gone, kept = np.flatnonzero(out), np.flatnonzero(~out)
    weights = matrix.values[gone] * value[matrix.columns[gone]]
    amounts = np.bincount(matrix.row_of[gone], weights=weights, minlength=matrix.rows)
    starts = np.concatenate(([0], np.cumsum(np.bincount(matrix.row_of[kept], minlength=matrix.rows))))
    rows = Matrix(starts.astype(np.int64), names[matrix.columns[kept]], matrix.values[kept])
    return rows, amounts.astype(np.float64, copy=False)


def _term(term: Term, fixed: Bools, value: Floats, names: Int32s) -> Term:
    out = fixed[term.columns]
    gone, kept = np.flatnonzero(out), np.flatnonzero(~out)
    constant = term.constant + float(term.coefficients[gone] @ value[term.columns[gone]])
    return structs.replace(
        term, columns=names[term.columns[kept]], coefficients=term.coefficients[kept], constant=constant
    )
