"""The problem of all elements as far as a point that is mostly zero concerns it: columns that are not zero, their rows.

The rows are the author's, one for each element, made from those of the representative. Of rows that are equal at the
point, because the same columns of their elements are zero and the others have the same values, one is kept. So the
point satisfies the rows of all elements exactly when it satisfies these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.compiling.interchangeable.parts import Spread
from gpusched_dsl.compiling.interchangeable.quotient import Quotient, place_of
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints, unique
from gpusched_dsl.ir.domains import Domain, ScalarDomain, TupleDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term

HEAVY = 50


def support(quotient: Quotient, spread: Spread) -> tuple[Problem, Floats]:
    """The restricted problem and the point in it. Columns that may not be zero are kept also where they are."""
    complete = _with_required_columns(quotient, spread)
    order = np.lexsort((complete.elements, complete.columns))
    columns, elements, values = complete.columns[order], complete.elements[order], complete.values[order]
    problem = quotient.problem
    matrix, rows, owners = _rows(quotient, Spread(columns, elements, values))
    order = in_order(quotient, columns, elements)
    matrix = permute_columns(matrix, order)
    columns, elements, values = columns[order], elements[order], values[order]
    families = families_of(quotient, problem.column_families, columns, elements)
    declared = len(problem.variables)
    small = replace(
        problem,
        variables=tuple(f for f, d in families if d < declared),
        auxiliary=tuple(f for f, d in families if d >= declared),
        lower=problem.lower[columns],
        upper=problem.upper[columns],
        integer=problem.integer[columns],
        constraints=tuple(f for f, _ in families_of(quotient, problem.constraints, rows, owners)),
        matrix=matrix,
        row_lower=problem.row_lower[rows],
        row_upper=problem.row_upper[rows],
        objectives=tuple(objective_of(quotient, o, columns) for o in problem.objectives),
    )
    return small, values


def _with_required_columns(quotient: Quotient, spread: Spread) -> Spread:
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
    known = pair_keys(spread.columns, spread.elements, width)
    new = ~np.isin(column * width + element + 1, known)
    return Spread(
        np.concatenate((spread.columns, column[new])),
        np.concatenate((spread.elements, element[new])),
        np.concatenate((spread.values, np.zeros(int(new.sum())))),
    )


def pair_keys(columns: Codes, elements: Codes, width: int) -> Codes:
    """One number for every pair of a column and an element (-1 for none)."""
    return columns * width + elements + 1


def _rows(quotient: Quotient, spread: Spread) -> tuple[Matrix, Codes, Codes]:
    """The rows with their entries in the columns kept, the quotient's row of each, and its element (-1: of none)."""
    columns, elements = spread.columns, spread.elements
    matrix = quotient.problem.matrix
    local = quotient.row_class >= 0
    width = len(quotient.classes.of) + 1
    row_of, column_of = matrix.row_of.astype(np.int64), matrix.columns.astype(np.int64)
    by_column = np.argsort(column_of, kind="stable")
    heavy = _heavy_columns(quotient)

    kept = _Kept(quotient, spread, by_column, row_of, heavy)
    plain = np.flatnonzero(~local)
    rows = np.concatenate((kept.rows, plain))
    owners = np.concatenate((kept.owners, np.full(len(plain), -1)))
    keys, unique = np.unique(rows * width + owners + 1, return_index=True)
    rows, owners = rows[unique], owners[unique]

    starts = np.searchsorted(column_of[by_column], columns)
    counts = np.searchsorted(column_of[by_column], columns, side="right") - starts
    often = heavy[columns] & (elements >= 0)

    # A light column goes to the rows of its own element that were kept, and to the rows of no element ...
    some = np.flatnonzero(~often)
    entry = by_column[np.repeat(starts[some], counts[some]) + ranges(counts[some])]
    number = np.repeat(some, counts[some])  # column of the restricted problem
    row = row_of[entry]
    inner = local[row] & (elements[number] >= 0)
    wanted = row * width + np.where(inner, elements[number], -1) + 1
    line = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    fits = (keys[line] == wanted) & ~(local[row] & (elements[number] < 0))
    found = [(line[fits], number[fits], entry[fits])]
    # ... a shared one to the rows of all elements that were kept ...
    shared = np.flatnonzero(local[row] & (elements[number] < 0))
    first = np.searchsorted(rows, row[shared])
    copies = np.searchsorted(rows, row[shared], side="right") - first
    source = np.repeat(shared, copies)
    found.append((np.repeat(first, copies) + ranges(copies), number[source], entry[source]))
    # ... and a heavy one is looked up from the rows that were kept.
    of_heavy = np.flatnonzero(heavy[column_of])
    first = np.searchsorted(row_of[of_heavy], rows)
    copies = np.searchsorted(row_of[of_heavy], rows, side="right") - first
    line = np.repeat(np.arange(len(rows)), copies)
    entry = of_heavy[np.repeat(first, copies) + ranges(copies)]
    spread_keys = columns * width + elements + 1
    mine = owners[line] >= 0
    wanted = column_of[entry[mine]] * width + owners[line[mine]] + 1
    number = np.minimum(np.searchsorted(spread_keys, wanted), max(len(spread_keys) - 1, 0))
    fits = spread_keys[number] == wanted if len(spread_keys) else np.zeros(len(wanted), dtype=np.bool_)
    found.append((line[mine][fits], number[fits], entry[mine][fits]))
    line, entry = line[~mine], entry[~mine]  # rows of no element: all elements that have the column
    first = np.searchsorted(columns, column_of[entry])
    copies = np.searchsorted(columns, column_of[entry], side="right") - first
    found.append((np.repeat(line, copies), np.repeat(first, copies) + ranges(copies), np.repeat(entry, copies)))

    line, number, entry = (np.concatenate(parts) for parts in zip(*found, strict=True))
    value = matrix.values[entry]
    of_class = ~local[row_of[entry]] & (elements[number] >= 0)
    value = value / np.where(
        of_class, quotient.classes.sizes[np.maximum(quotient.column_class[column_of[entry]], 0)], 1
    )
    order = np.lexsort((number, line))
    ends = np.cumsum(np.bincount(line, minlength=len(rows)))
    begin = np.concatenate((np.zeros(1, dtype=np.int64), ends))
    return Matrix(begin, number[order].astype(np.int32), value[order]), rows, owners


def _heavy_columns(quotient: Quotient) -> Bools:
    """Return columns of elements with entries in many rows of their element."""
    matrix = quotient.problem.matrix
    inside = (quotient.row_class >= 0)[matrix.row_of]
    many = np.bincount(matrix.columns[inside], minlength=quotient.problem.columns) > HEAVY
    return np.asarray(many & (quotient.column_class >= 0))


class _Kept:
    """The kept rows of elements: `rows` and `owners`.

    A column that stands in many rows of its element (`hosts[n, v]` in a row for every job) is *heavy*. Elements with
    equal values of heavy columns form a group; their rows without a light column that is not zero are equal.
    """

    def __init__(self, quotient: Quotient, spread: Spread, by_column: Codes, row_of: Codes, many: Bools) -> None:
        self.quotient = quotient
        matrix = quotient.problem.matrix
        local = quotient.row_class >= 0
        mine = np.flatnonzero(spread.elements >= 0)
        column, element, value = spread.columns[mine], spread.elements[mine], spread.values[mine]
        sorted_columns = matrix.columns[by_column]

        heavy = many[column]
        used, place = np.unique(column[heavy], return_inverse=True)
        table = np.zeros((len(quotient.classes.of), len(used) + 1))
        table[element[heavy], place.reshape(-1)] = value[heavy]
        table[:, -1] = quotient.classes.of
        _, first, group = np.unique(table, axis=0, return_index=True, return_inverse=True)
        self.group = group.reshape(-1)
        self.sizes = np.bincount(self.group)
        order = np.argsort(self.group, kind="stable")
        self.members, self.starts = order, np.cumsum(self.sizes) - self.sizes
        self.rank = np.empty(len(order), dtype=np.int64)
        self.rank[order] = np.arange(len(order)) - np.repeat(self.starts, self.sizes)

        def rows_of(columns: Codes) -> tuple[Codes, Codes]:
            """Return the rows of elements with entries in some columns, and the column of each."""
            begin = np.searchsorted(sorted_columns, columns)
            counts = np.searchsorted(sorted_columns, columns, side="right") - begin
            rows = row_of[by_column[np.repeat(begin, counts) + ranges(counts)]]
            which = np.repeat(np.arange(len(columns)), counts)
            return rows[local[rows]], which[local[rows]]

        light = np.flatnonzero(~heavy)
        rows, which = rows_of(column[light])
        width = len(quotient.classes.of)
        pairs = unique(rows * width + element[light][which])
        self.light_rows, self.light_owners = pairs // width, pairs % width

        found_rows, found_owners = [self.light_rows], [self.light_owners]
        idle = np.flatnonzero(local)
        waiting = np.ones(quotient.problem.rows, dtype=np.bool_)
        for number in np.argsort(-self.sizes, kind="stable").tolist():
            leader = int(first[number])
            touched = unique(rows_of(used[table[leader, :-1] != 0])[0])
            own = idle[quotient.row_class[idle] == quotient.classes.of[leader]]
            quiet = own[waiting[own]]
            quiet = quiet[~np.isin(quiet, touched)]
            wanted = np.concatenate((touched, quiet))
            owners = self._first_free(number, wanted)
            free = owners >= 0
            found_rows.append(wanted[free])
            found_owners.append(owners[free])
            waiting[quiet[free[len(touched) :]]] = False
        self.rows, self.owners = np.concatenate(found_rows), np.concatenate(found_owners)

    def _first_free(self, group: int, rows: Codes) -> Codes:
        """For each row an element of the group in which no light column of the row is used, -1 where there is none."""
        mine = self.group[self.light_owners] == group
        taken, rank = self.light_rows[mine], self.rank[self.light_owners[mine]]
        order = np.lexsort((rank, taken))
        taken, rank = taken[order], rank[order]
        fits = rank == np.arange(len(taken)) - np.searchsorted(taken, taken)
        missing = np.bincount(taken[fits], minlength=self.quotient.problem.rows)[rows]
        inside = missing < self.sizes[group]
        return np.where(inside, self.members[self.starts[group] + np.where(inside, missing, 0)], -1)


def families_of(
    quotient: Quotient, families: Sequence[Family], numbers: Codes, elements: Codes
) -> list[tuple[Family, int]]:
    """The families of ascending columns or rows, with the index tuples of their elements; and which family it was."""
    found: list[tuple[Family, int]] = []
    first = 0
    for which, family in enumerate(families):
        begin, end = np.searchsorted(numbers, (family.first, family.stop)).tolist()
        codes = list(_codes_at(family.domain, numbers[begin:end] - family.first))
        at = place_of(family.domain, quotient.universe)
        if at is not None:
            codes[at] = elements[begin:end]
        if not codes and begin == end:
            continue
        domain: Domain = TupleDomain(family.domain.components, tuple(codes)) if codes else ScalarDomain()
        found.append((structs.replace(family, first=first, domain=domain), which))
        first += end - begin
    return found


def in_order(quotient: Quotient, columns: Codes, elements: Codes) -> Codes:
    """Sorted columns in the order of index tuples, where their families list these in that order.

    So a plan reads as if all elements had been grounded, not class by class.
    """
    found = np.arange(len(columns))
    for family in quotient.problem.column_families:
        begin, end = np.searchsorted(columns, (family.first, family.stop)).tolist()
        at = place_of(family.domain, quotient.universe)
        if at is None or (np.diff(np.lexsort(family.domain.columns()[::-1])) != 1).any():
            continue
        codes = list(_codes_at(family.domain, columns[begin:end] - family.first))
        codes[at] = elements[begin:end]
        found[begin:end] = begin + np.lexsort(codes[::-1])
    return found


def permute_columns(matrix: Matrix, order: Codes) -> Matrix:
    """The matrix with column `order[i]` as column i; columns of a row stay sorted."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    columns = place[matrix.columns]
    sorted_ = np.lexsort((columns, matrix.row_of))
    return Matrix(matrix.starts, columns[sorted_], matrix.values[sorted_])


def _codes_at(domain: Domain, positions: Codes) -> tuple[Codes, ...]:
    return tuple(c[positions] for c in domain.columns())


def objective_of(quotient: Quotient, objective: Objective, columns: Codes) -> Objective:
    return structs.replace(objective, terms=tuple(_term(quotient, t, columns) for t in objective.terms))


def _term(quotient: Quotient, term: Term, columns: Codes) -> Term:
    costs = np.zeros(quotient.problem.columns)
    kinds = quotient.column_class[term.columns]
    costs[term.columns] = term.coefficients / np.where(kinds >= 0, quotient.classes.sizes[np.maximum(kinds, 0)], 1)
    here = costs[columns]
    used: Ints = np.flatnonzero(here)
    return structs.replace(term, columns=used.astype(np.int32), coefficients=here[used])
