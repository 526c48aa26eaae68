"""Removes columns of a problem and inserts constants for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines, Conditions
from gpusched_dsl.ir.families import kept_families
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem, Term


def without_columns(problem: Problem, fixed: Bools, value: Floats) -> Problem:
    """Return the problem with `value[j]` for each fixed column j, and the other columns renumbered.

    No definition may give a fixed column, and no condition may read one.
    """
    names = (np.cumsum(~fixed) - 1).astype(np.int32)
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


def _split(matrix: Matrix, fixed: Bools, value: Floats, names: Int32s) -> tuple[Matrix, Floats]:
    """Return the entries in kept columns, renumbered, and the sum of the others in each row."""
    out = fixed[matrix.columns]
    if not out.any():
        return Matrix(matrix.starts, names[matrix.columns], matrix.values), np.zeros(matrix.rows)
    amounts = np.bincount(
        matrix.row_of[out], weights=matrix.values[out] * value[matrix.columns[out]], minlength=matrix.rows
    )
    starts = np.concatenate(([0], np.cumsum(np.bincount(matrix.row_of[~out], minlength=matrix.rows))))
    kept = Matrix(starts.astype(np.int64), names[matrix.columns[~out]], matrix.values[~out])
    return kept, amounts.astype(np.float64, copy=False)


def _term(term: Term, fixed: Bools, value: Floats, names: Int32s) -> Term:
    out = fixed[term.columns]
    constant = term.constant + float(term.coefficients[out] @ value[term.columns[out]])
    return replace(term, columns=names[term.columns[~out]], coefficients=term.coefficients[~out], constant=constant)
