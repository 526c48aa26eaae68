"""Rows that leave the other solutions: none of those found so far, and fewer equal ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.steps import PassResult
from gpusched_dsl.ir.arrays import Codes, Floats, Int32s, Ints
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.variants.same import Compared, Symmetry

# No author can write these names.
OTHER, ABOVE, BELOW, USED = "(another solution)", "(a larger value)", "(a smaller value)", "(used up to here)"
MOST_COLUMNS = 1_000_000  # that are added against equal solutions; beyond, these are found and dropped


def exclude_points(problem: Problem, compared: Compared, points: Sequence[Floats], symmetry: Symmetry) -> PassResult:
    """The problem without these points, whatever values their other columns have.

    A binary b with the value v differs by b or 1 - b. Another integer x in [l, u] with the value v gets binaries p and
    q: x - (v + 1 - l) p >= l, so x > v where p = 1, and x + (u - v + 1) q <= u; without bounds, rows under a condition.
    At least one of them must be 1.
    """
    builder = ProblemBuilder(problem)
    _order_elements(builder, problem, symmetry)
    columns = compared.columns
    lower, upper = problem.lower[columns], problem.upper[columns]
    binary = (lower >= 0) & (upper <= 1)
    for point in points:
        values = compared.values(point)
        ones = binary & (values == 1)
        others = np.flatnonzero(~binary)
        above = _difference_indicators(builder, ABOVE, columns[others], values[others], lower[others], upper[others], 1)
        below = _difference_indicators(
            builder, BELOW, columns[others], values[others], lower[others], upper[others], -1
        )
        entries = np.concatenate((columns[binary], above, below)).astype(np.int32)
        signs = np.concatenate((np.where(ones[binary], -1.0, 1.0), np.ones(len(above) + len(below))))
        order = np.argsort(entries)
        matrix = Matrix(np.array([0, len(entries)], dtype=np.int64), entries[order], signs[order])
        builder.add_rows(OTHER, IntervalDomain(1, 1), matrix, 1.0 - float(ones.sum()), np.inf)
    return builder.step()


def _difference_indicators(
    builder: ProblemBuilder, name: str, columns: Ints, values: Ints, lower: Floats, upper: Floats, side: int
) -> Int32s:
    """Binaries that are 1 only where an integer is above (`side` 1) or below (-1) a value."""
    possible = np.flatnonzero(values < upper if side > 0 else values > lower)
    if not len(possible):
        return np.zeros(0, dtype=np.int32)
    read, value = columns[possible], values[possible].astype(np.float64)
    domain = IntervalDomain(1, len(possible))

    def of_point(point: Floats) -> Floats:
        difference = side * (point[read] - value)
        return np.asarray(difference > 0.5, dtype=np.float64)

    made = builder.add_columns(name, domain, 0.0, 1.0, True, of_point)
    nearest = lower[possible] if side > 0 else upper[possible]
    finite = np.isfinite(nearest)
    for rows in (np.flatnonzero(finite), np.flatnonzero(~finite)):
        if not len(rows):
            continue
        chosen, target = read[rows], value[rows] + side
        if finite[rows[0]]:
            factors = nearest[rows] - target  # of the binary; where it is 0 the bound remains
            pairs = np.stack((chosen, made[rows]), axis=1).astype(np.int32)
            matrix = _pairs(pairs, np.stack((np.ones(len(rows)), factors), axis=1))
            sides, condition = nearest[rows], None
        else:
            matrix = Matrix(np.arange(len(rows) + 1, dtype=np.int64), chosen.astype(np.int32), np.ones(len(rows)))
            sides, condition = target, (made[rows], np.ones(len(rows), dtype=np.bool_))
        low, high = (sides, np.inf) if side > 0 else (-np.inf, sides)
        builder.add_rows(name, IntervalDomain(1, len(rows)), matrix, low, high, condition=condition)
    return made


def _order_elements(builder: ProblemBuilder, problem: Problem, symmetry: Symmetry) -> None:
    """Interchangeable elements in the order of their first use: of equal solutions one or few remain.

    The uses of an element are the values of its columns, in the order of their keys. s[k, e] is the number of uses of
    e up to key k: s[k, e] = s[k - 1, e] + x[k, e], and x[k, f] <= s[k, e] for f next after e in their class. Some
    renaming of each solution satisfies this: the elements sorted by their first use, unused ones last. For binaries.
    """
    for at, one in enumerate(symmetry.sets[:1]):  # orders of several sets could exclude each other
        element, columns = symmetry.element[at], symmetry.compared.columns
        is_binary = (problem.lower[columns] >= 0) & (problem.upper[columns] <= 1)
        if not symmetry.is_simple and symmetry.is_doubled(at):
            return
        for number in range(one.classes):
            members = np.flatnonzero(one.of == number)
            of_class = np.flatnonzero((element >= 0) & np.isin(element, members))
            if len(members) > 1 and len(of_class) and is_binary[of_class].all():
                table = _table(columns[of_class], symmetry.full_key(at)[of_class], element[of_class], members)
                if table is not None and table.size <= MOST_COLUMNS:
                    _order_class(builder, table)


def _table(columns: Ints, keys: Codes, elements: Codes, members: Codes) -> Ints | None:
    """The columns by key and member; None if some do not exist."""
    distinct, rows = np.unique(keys, return_inverse=True)
    table = np.full((len(distinct), len(members)), -1, dtype=np.int64)
    table[rows.reshape(-1), np.searchsorted(members, elements)] = columns
    return None if (table < 0).any() else table


def _order_class(builder: ProblemBuilder, table: Ints) -> None:
    keys, members = table.shape
    read = table[:, :-1]

    def of_point(point: Floats) -> Floats:
        return np.asarray(np.cumsum(point[read], axis=0).reshape(-1), dtype=np.float64)

    count = keys * (members - 1)
    made = builder.add_columns(USED, IntervalDomain(1, count), 0.0, float(keys), False, of_point).reshape(keys, -1)
    first = np.stack((made[0], read[0]), axis=1).astype(np.int32)
    builder.add_rows(
        USED, IntervalDomain(1, members - 1), _pairs(first, np.tile([1.0, -1.0], (members - 1, 1))), 0.0, 0.0
    )
    if keys > 1:
        later = np.stack((made[1:], made[:-1], read[1:]), axis=2).reshape(-1, 3).astype(np.int32)
        rows = _pairs(later, np.tile([1.0, -1.0, -1.0], (len(later), 1)))
        builder.add_rows(USED, IntervalDomain(1, len(later)), rows, 0.0, 0.0)
    order = np.stack((made, table[:, 1:]), axis=2).reshape(-1, 2).astype(np.int32)
    rows = _pairs(order, np.tile([1.0, -1.0], (count, 1)))
    builder.add_rows(USED, IntervalDomain(1, count), rows, 0.0, np.inf)


def _pairs(columns: Int32s, values: Floats) -> Matrix:
    """Rows with the same number of entries each, columns in ascending order."""
    order = np.argsort(columns, axis=1)
    sorted_columns = np.take_along_axis(columns, order, axis=1)
    sorted_values = np.take_along_axis(values, order, axis=1)
    rows, width = columns.shape
    starts = np.arange(0, rows * width + 1, width, dtype=np.int64)
    return Matrix(starts, sorted_columns.reshape(-1), sorted_values.reshape(-1).astype(np.float64))
