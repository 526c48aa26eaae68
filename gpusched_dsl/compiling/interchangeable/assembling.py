"""Assembles an aggregated problem from the rows and columns of no element and the components of elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs
from scipy import sparse

from gpusched_dsl.compiling.interchangeable.parts import AggregatedComponent, NewColumns, NewRows, Sparse, Spread
from gpusched_dsl.compiling.interchangeable.quotient import Quotient
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.families import kept_families
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term
from gpusched_dsl.ir.tolerances import ROUNDING


@dataclass(frozen=True, eq=False)
class AggregatedProblem:
    """`problem` has the same optimum as the problem of all elements.

    Its first columns are the columns `kept` of the quotient's problem, those of no element or of one that is alone in
    its class; behind them come the columns of the parts, in order. Its first rows are the quotient's `rows`, behind
    them come those of the parts.
    """

    quotient: Quotient
    parts: tuple[AggregatedComponent, ...]
    problem: Problem
    kept: Codes
    rows: Codes

    def disaggregate(self, point: Floats) -> Spread:
        """Return the values of every column of the full problem at a point with exact integers."""
        quotient = self.quotient
        shared = np.zeros(quotient.problem.columns)
        shared[self.kept] = point[: len(self.kept)]
        kinds = quotient.column_class[self.kept]
        own = np.where(kinds >= 0, quotient.classes.first[np.maximum(kinds, 0)], -1)
        used = np.flatnonzero(point[: len(self.kept)])
        spreads = [Spread(self.kept[used], own[used], point[used])]
        at = len(self.kept)
        for part in self.parts:
            spreads.append(part.disaggregate(point[at : at + part.size], shared))
            at += part.size
        return Spread(
            np.concatenate([s.columns for s in spreads]),
            np.concatenate([s.elements for s in spreads]),
            np.concatenate([s.values for s in spreads]),
        )

    def aggregate(self, spread: Spread) -> Floats | None:
        """Return the aggregated point for values of single elements; None if it violates the rows of an element."""
        point = np.zeros(self.problem.columns)
        column = np.full(self.quotient.problem.columns, -1, dtype=np.int64)
        column[self.kept] = np.arange(len(self.kept))
        place = column[spread.columns]
        point[place[place >= 0]] = spread.values[place >= 0]
        at = len(self.kept)
        for part in self.parts:
            in_component = np.zeros(self.quotient.problem.columns, dtype=np.bool_)
            in_component[part.component.columns] = True
            own = np.flatnonzero(in_component[spread.columns])
            values = part.aggregate(Spread(spread.columns[own], spread.elements[own], spread.values[own]))
            if values is None:
                return None
            point[at : at + part.size] = values
            at += part.size
        return point


def assemble(quotient: Quotient, parts: Sequence[AggregatedComponent]) -> AggregatedProblem:
    """Assemble the problem with each part in place of its component; the parts cover all columns of larger classes."""
    problem = quotient.problem
    replaced = np.zeros(problem.columns, dtype=np.bool_)
    for part in parts:
        replaced[part.component.columns] = True
    kept = np.flatnonzero(~replaced)
    reading = _reading_matrix(quotient, parts, kept)
    rows = _rows_to_keep(quotient, replaced)
    weights = _factors_to_sums(quotient, replaced)
    matrix = sparse.csr_matrix(
        (problem.matrix.values * weights[problem.matrix.columns], problem.matrix.columns, problem.matrix.starts),
        shape=(problem.rows, problem.columns),
    )
    blocks = [matrix[rows] @ reading]
    blocks += _part_rows(parts, kept, problem.columns)
    lower = np.concatenate((problem.row_lower[rows], *(r.lower for p in parts for r in p.rows)))
    upper = np.concatenate((problem.row_upper[rows], *(r.upper for p in parts for r in p.rows)))
    new_columns = [c for p in parts for c in p.columns]
    variables = kept_families(problem.variables, ~replaced)
    auxiliary = _column_families(new_columns, len(kept))
    constraints = [*kept_families(problem.constraints, _flags(rows, problem.rows))]
    constraints += _row_families([r for p in parts for r in p.rows], len(rows))
    aggregated: Problem = replace(
        problem,
        variables=variables,
        auxiliary=tuple(auxiliary),
        lower=np.concatenate((problem.lower[kept], *(c.lower for c in new_columns))),
        upper=np.concatenate((problem.upper[kept], *(c.upper for c in new_columns))),
        integer=np.concatenate((problem.integer[kept], *(c.integer for c in new_columns))),
        constraints=tuple(constraints),
        matrix=_matrix(sparse.vstack(blocks).tocsr()),
        row_lower=lower,
        row_upper=upper,
        objectives=tuple(_objective(o, reading, weights) for o in problem.objectives),
    )
    if all(part.pool is None for part in parts):  # else rows of the columns at hand say nothing of those to come
        aggregated = with_implied_counts(aggregated, len(kept))
    return AggregatedProblem(quotient, tuple(parts), aggregated, kept, rows)


def _factors_to_sums(quotient: Quotient, replaced: Bools) -> Floats:
    """Return the factors from coefficients of the mean over a class to those of the sum."""
    kinds = quotient.column_class
    return np.where(replaced, 1.0 / quotient.classes.sizes[np.maximum(kinds, 0)], 1.0)


def _reading_matrix(quotient: Quotient, parts: Sequence[AggregatedComponent], kept: Codes) -> Sparse:
    """Columns of the quotient x columns of the aggregated problem: kept ones as they are, sums of the others."""
    row, column, value = [kept], [np.arange(len(kept))], [np.ones(len(kept))]
    at = len(kept)
    for part in parts:
        sums = part.sums.tocoo()
        row.append(part.component.columns[sums.row])
        column.append(at + sums.col.astype(np.int64))
        value.append(sums.data)
        at += part.size
    entries = (np.concatenate(value), (np.concatenate(row), np.concatenate(column)))
    return sparse.csr_matrix(entries, shape=(quotient.problem.columns, at))


def _rows_to_keep(quotient: Quotient, replaced: Bools) -> Codes:
    """Return rows of no element, of single elements, and those of others that contain no column of the element."""
    matrix = quotient.problem.matrix
    reads = np.bincount(matrix.row_of, weights=replaced[matrix.columns], minlength=matrix.rows) > 0
    return np.flatnonzero((quotient.row_class < 0) | ~reads)


def _part_rows(parts: Sequence[AggregatedComponent], kept: Codes, columns: int) -> list[Sparse]:
    number = np.full(columns, -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    width = len(kept) + sum(p.size for p in parts)
    blocks = []
    at = len(kept)
    for part in parts:
        for rows in part.rows:
            own = rows.own.tocoo()
            row, column, value = own.row, at + own.col.astype(np.int64), own.data
            if rows.shared is not None:
                shared = rows.shared.tocoo()
                row = np.concatenate((shared.row, row))
                column = np.concatenate((number[shared.col], column))
                value = np.concatenate((shared.data, value))
            blocks.append(sparse.csr_matrix((value, (row, column)), shape=(rows.own.shape[0], width)))
        at += part.size
    return blocks


def _matrix(rows: Sparse) -> Matrix:
    rows.eliminate_zeros()
    rows.sort_indices()
    return Matrix(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.float64))


def _objective(objective: Objective, reading: Sparse, weights: Floats) -> Objective:
    return structs.replace(objective, terms=tuple(_term(t, reading, weights) for t in objective.terms))


def _term(term: Term, reading: Sparse, weights: Floats) -> Term:
    row = np.zeros(len(term.columns), dtype=np.int64)
    costs = sparse.csr_matrix(
        (term.coefficients * weights[term.columns], (row, term.columns)), shape=(1, reading.shape[0])
    )
    read = (costs @ reading).tocsr()
    read.eliminate_zeros()
    read.sort_indices()
    return structs.replace(term, columns=read.indices.astype(np.int32), coefficients=read.data.astype(np.float64))


# --- families --------------------------------------------------------------------------------------------------------


def _flags(numbers: Codes, count: int) -> Bools:
    flags = np.zeros(count, dtype=np.bool_)
    flags[numbers] = True
    return flags


def _column_families(new_columns: Sequence[NewColumns], first: int) -> list[Family]:
    families = []
    for columns in new_columns:
        families.append(Family(columns.name, first, columns.domain, columns.span, columns.unit, doc=columns.doc))
        first += columns.size
    return families


def _row_families(new_rows: Sequence[NewRows], first: int) -> list[Family]:
    families = []
    for rows in new_rows:
        families.append(Family(rows.name, first, rows.domain, rows.span))
        first += rows.domain.size
    return families


def with_implied_counts(problem: Problem, first: int) -> Problem:
    """The problem with upper bounds of integer columns from number `first` on as the rows imply them, one by one.

    A sum over n elements of a 0/1 column may be n as far as its own bounds go; `sum[k in Nodes] train[b, k, h] <=
    home[b]` says that it is 0 or 1. Solvers find that out themselves, but decomposition recognises problems by their
    bounds (`solving/decomposition`).
    """
    upper = problem.upper.copy()
    for sign, sides in ((1.0, problem.row_upper), (-1.0, -problem.row_lower)):
        bounds = _largest_counts(problem, sign, sides)
        upper[first:] = np.minimum(upper[first:], bounds[first:])
    return replace(problem, upper=np.where(problem.integer, np.maximum(upper, problem.lower), problem.upper))


def _largest_counts(problem: Problem, sign: float, sides: Floats) -> Floats:
    """Return the largest integer value of every column by rows `sign * matrix @ x <= sides`."""
    matrix = problem.matrix
    values = sign * matrix.values
    ends = np.where(values > 0, problem.lower[matrix.columns], problem.upper[matrix.columns])
    with np.errstate(invalid="ignore"):
        least = np.bincount(matrix.row_of, weights=values * ends, minlength=matrix.rows)
        room = sides - least
    at = np.flatnonzero((values > 0) & np.isfinite(room)[matrix.row_of])
    columns = matrix.columns[at]
    most = problem.lower[columns] + room[matrix.row_of[at]] / values[at]
    found = np.full(problem.columns, np.inf)
    np.minimum.at(found, columns, np.floor(most + ROUNDING * np.maximum(1.0, np.abs(most))))
    return found
