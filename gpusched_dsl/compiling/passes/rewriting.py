"""Changes rows of a problem in place, removes their conditions, or removes them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions import Conditions
from gpusched_dsl.ir.domains import Domain, ScalarDomain, TupleDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Problem


def with_rows(problem: Problem, rows: Codes, matrix: Matrix, lower: Floats, upper: Floats) -> Problem:
    """The problem with other contents of some rows; their families, numbers and conditions stay."""
    order = np.arange(problem.rows, dtype=np.int64)
    order[rows] = problem.rows + np.arange(len(rows))
    row_lower, row_upper = problem.row_lower.copy(), problem.row_upper.copy()
    row_lower[rows], row_upper[rows] = lower, upper
    new_matrix = problem.matrix.with_rows_below(matrix).take(order)
    return replace(problem, matrix=new_matrix, row_lower=row_lower, row_upper=row_upper)


def with_conditions(problem: Problem, kept: Bools) -> Problem:
    """Return the problem with some of its conditions; the rows of the others become unconditional."""
    conditions = problem.conditions
    some = Conditions(conditions.rows[kept], conditions.columns[kept], conditions.values[kept])
    return replace(problem, conditions=some)


def without_rows(problem: Problem, gone: Bools) -> tuple[Problem, Codes]:
    """The problem without some rows, and for every old row its new number or -1."""
    from gpusched_dsl.ir.families import kept_families

    kept = np.flatnonzero(~gone)
    numbers = np.full(problem.rows, -1, dtype=np.int64)
    numbers[kept] = np.arange(len(kept))
    conditions = problem.conditions
    at = np.flatnonzero(~gone[conditions.rows])
    smaller = replace(
        problem,
        constraints=kept_families(problem.constraints, ~gone),
        matrix=_without(problem.matrix, gone),
        row_lower=problem.row_lower[kept],
        row_upper=problem.row_upper[kept],
        conditions=Conditions(numbers[conditions.rows[at]], conditions.columns[at], conditions.values[at]),
    )
    return smaller, numbers


def index_of_rows(family: Family, rows: Codes, numbers: Codes | None = None) -> Domain:
    """Return the index tuples of rows of a family, with a number appended if a row occurs several times."""
    codes = tuple(c[rows - family.first] for c in family.domain.columns())
    if numbers is None:
        return TupleDomain(family.domain.components, codes) if codes else ScalarDomain()
    return TupleDomain((*family.domain.components, None), (*codes, numbers))


def add_beside(
    builder: ProblemBuilder, family: Family, rows: Codes, name: str, matrix: Matrix, lower: Floats, upper: Floats
) -> None:
    """Adds a row for each of some rows of a family, under the same condition if that has one."""
    conditions = builder.problem.conditions
    at = np.searchsorted(conditions.rows, rows)
    known = at < len(conditions.rows)
    known[known] = conditions.rows[at[known]] == rows[known]
    for some in (np.flatnonzero(known), np.flatnonzero(~known)):
        if len(some):
            which = at[some]
            when = (conditions.columns[which], conditions.values[which]) if known[some[0]] else None
            index = index_of_rows(family, rows[some])
            builder.add_rows(name, index, matrix.take(some), lower[some], upper[some], family.span, when)


def _without(matrix: Matrix, gone: Bools) -> Matrix:
    """As `take` of the kept rows, faster if most are kept."""
    counts = np.diff(matrix.starts)
    kept = np.repeat(~gone, counts)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts[~gone])))
    return Matrix(starts, matrix.columns[kept], matrix.values[kept])
