"""The problem of all elements as far as a point that is mostly zero concerns it: columns that are not zero, their rows.

The rows are the author's, one for each element, made from those of the representative. Of rows in which all columns of
their element are zero one of each kind is kept, for one of the elements: the others are equal to it. So the point
satisfies the rows of all elements exactly when it satisfies these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.compiling.aggregation.parts import Spread
from gpusched_dsl.compiling.symmetry.quotient import Quotient, place_of
from gpusched_dsl.ir.domains import Codes, Domain, Scalars, Tuples
from gpusched_dsl.ir.matrix import Floats, Matrix
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term


def support(quotient: Quotient, spread: Spread) -> tuple[Problem, Floats]:
    """The restricted problem and the point in it. Columns that may not be zero are kept also where they are."""
    whole = _with_needed(quotient, spread)
    order = np.lexsort((whole.elements, whole.columns))
    columns, elements, values = whole.columns[order], whole.elements[order], whole.values[order]
    problem = quotient.problem
    families = _families(quotient, problem.column_families, columns, elements)
    declared = len(problem.variables)
    matrix, rows, owners = _rows(quotient, columns, elements)
    small = replace(
        problem,
        variables=tuple(f for f, d in families if d < declared),
        auxiliary=tuple(f for f, d in families if d >= declared),
        lower=problem.lower[columns],
        upper=problem.upper[columns],
        integer=problem.integer[columns],
        constraints=tuple(f for f, _ in _families(quotient, problem.constraints, rows, owners)),
        matrix=matrix,
        row_lower=problem.row_lower[rows],
        row_upper=problem.row_upper[rows],
        objectives=tuple(_objective(quotient, o, columns) for o in problem.objectives),
    )
    return small, values


def _with_needed(quotient: Quotient, spread: Spread) -> Spread:
    """The spread with columns that cannot be 0, and with those without indices."""
    problem = quotient.problem
    must = (problem.lower > 0) | (problem.upper < 0)
    for family in problem.column_families:
        if not family.domain.arity:
            must[family.slice] = True
    needed = np.flatnonzero(must)
    if not len(needed):
        return spread
    kinds = quotient.column_class[needed]
    members, starts = quotient.classes.members()
    counts = np.where(kinds >= 0, quotient.classes.sizes[np.maximum(kinds, 0)], 1)
    column = np.repeat(needed, counts)
    rank = np.arange(len(column)) - np.repeat(np.cumsum(counts) - counts, counts)
    kind = np.repeat(kinds, counts)
    element = np.where(kind >= 0, members[np.minimum(starts[np.maximum(kind, 0)] + rank, len(members) - 1)], -1)
    width = len(quotient.classes.of) + 1
    known = set_of(spread.columns, spread.elements, width)
    new = ~np.isin(column * width + element + 1, known)
    return Spread(
        np.concatenate((spread.columns, column[new])),
        np.concatenate((spread.elements, element[new])),
        np.concatenate((spread.values, np.zeros(int(new.sum())))),
    )


def set_of(columns: Codes, elements: Codes, width: int) -> Codes:
    """One number for every pair of a column and an element (-1 for none)."""
    return columns * width + elements + 1


def _rows(quotient: Quotient, columns: Codes, elements: Codes) -> tuple[Matrix, Codes, Codes]:
    """The rows with their entries in the columns kept, the quotient's row of each, and its element (-1: of none)."""
    problem = quotient.problem
    matrix = problem.matrix
    local = quotient.row_class >= 0
    width = len(quotient.classes.of) + 1
    row_of, column_of, value_of = matrix.row_of.astype(np.int64), matrix.columns.astype(np.int64), matrix.values
    by_column = np.argsort(column_of, kind="stable")
    starts = np.searchsorted(column_of[by_column], columns)
    counts = np.searchsorted(column_of[by_column], columns, side="right") - starts
    at = np.repeat(starts, counts) + _ranges(counts)
    entry = by_column[at]
    number = np.repeat(np.arange(len(columns)), counts)  # column of the restricted problem
    row, element, value = row_of[entry], elements[number], value_of[entry].copy()

    own = local[row] & (element >= 0)
    shared_in_own = local[row] & (element < 0)
    of_class = ~local[row] & (element >= 0)
    value[of_class] /= quotient.classes.sizes[quotient.column_class[column_of[entry[of_class]]]]

    touched = np.unique(row[own] * width + element[own])
    rows, owners = touched // width, touched % width
    idle_rows, idle_owners = _idle(quotient, rows, owners)
    plain = np.flatnonzero(~local)
    rows = np.concatenate((rows, idle_rows, plain))
    owners = np.concatenate((owners, idle_owners, np.full(len(plain), -1)))
    order = np.lexsort((owners, rows))
    rows, owners = rows[order], owners[order]
    keys = rows * width + owners + 1

    direct = ~shared_in_own
    host = np.where(own[direct], element[direct], -1)
    target = np.searchsorted(keys, row[direct] * width + host + 1)
    lines, cells, numbers = [target], [number[direct]], [value[direct]]
    # Shared columns stand in the row of every element that was kept.
    first = np.searchsorted(rows, row[shared_in_own])
    copies = np.searchsorted(rows, row[shared_in_own], side="right") - first
    lines.append(np.repeat(first, copies) + _ranges(copies))
    cells.append(np.repeat(number[shared_in_own], copies))
    numbers.append(np.repeat(value[shared_in_own], copies))
    line, cell, amount = np.concatenate(lines), np.concatenate(cells), np.concatenate(numbers)
    sorting = np.lexsort((cell, line))
    counts = np.bincount(line, minlength=len(rows))
    begin = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    return Matrix(begin, cell[sorting].astype(np.int32), amount[sorting]), rows, owners


def _idle(quotient: Quotient, rows: Codes, owners: Codes) -> tuple[Codes, Codes]:
    """For every row of elements that some element has only zeros in, that row of one such element."""
    sizes = quotient.classes.sizes
    local = np.flatnonzero(quotient.row_class >= 0)
    count = np.bincount(rows, minlength=quotient.problem.rows)
    kinds = quotient.row_class[local]
    idle = local[count[local] < sizes[kinds]]
    members, starts = quotient.classes.members()
    place = np.empty(len(members), dtype=np.int64)
    place[members] = np.arange(len(members))
    rank = place[owners] - starts[quotient.row_class[rows]]
    order = np.lexsort((rank, rows))
    rows, rank = rows[order], rank[order]
    # The first rank that is missing among the ascending ranks of a row.
    begin = np.searchsorted(rows, rows)
    fits = rank == np.arange(len(rows)) - begin
    missing = np.bincount(rows[fits], minlength=quotient.problem.rows)[idle]
    return idle, members[starts[quotient.row_class[idle]] + missing]


def _ranges(counts: Codes) -> Codes:
    total = int(counts.sum())
    return np.arange(total, dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)


def _families(
    quotient: Quotient, families: Sequence[Family], numbers: Codes, elements: Codes
) -> list[tuple[Family, int]]:
    """The families of ascending columns or rows, with the index tuples of their elements; and which family it was."""
    found: list[tuple[Family, int]] = []
    first = 0
    for which, family in enumerate(families):
        begin, end = np.searchsorted(numbers, (family.first, family.stop)).tolist()
        codes = list(_taken(family.domain, numbers[begin:end] - family.first))
        at = place_of(family.domain, quotient.universe)
        if at is not None:
            codes[at] = elements[begin:end]
        if not codes and begin == end:
            continue
        domain: Domain = Tuples(family.domain.components, tuple(codes)) if codes else Scalars()
        found.append((replace(family, first=first, domain=domain), which))
        first += end - begin
    return found


def _taken(domain: Domain, positions: Codes) -> tuple[Codes, ...]:
    return tuple(c[positions] for c in domain.columns())


def _objective(quotient: Quotient, objective: Objective, columns: Codes) -> Objective:
    return replace(objective, terms=tuple(_term(quotient, t, columns) for t in objective.terms))


def _term(quotient: Quotient, term: Term, columns: Codes) -> Term:
    costs = np.zeros(quotient.problem.columns)
    kinds = quotient.column_class[term.columns]
    costs[term.columns] = term.coefficients / np.where(kinds >= 0, quotient.classes.sizes[np.maximum(kinds, 0)], 1)
    here = costs[columns]
    used: NDArray[np.int64] = np.flatnonzero(here)
    return replace(term, columns=used.astype(np.int32), coefficients=here[used])
