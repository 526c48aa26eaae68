"""Definitions near a point: values and first derivatives, with the choices that the point makes.

Of `t == f(a_1, ..., a_n)` remains `dt == sum_k f_k da_k`. A choice is kept as rows: the largest argument of a maximum
stays the largest, the argument of an absolute value keeps its sign, a comparison that is true stays true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.ir.definitions import (
    Definition,
    MinMax,
    PartialExpectation,
    Piecewise,
    Power,
    Product,
    Reified,
    Unary,
)
from gpusched_dsl.ir.domains import Codes
from gpusched_dsl.ir.matrix import Floats, Int32s, Matrix, stacked

# Arguments of functions with a pole or a root at 0 are kept at least this far on their side.
AWAY = 1e-12
STEP = 1e-6  # of difference quotients, relative


@dataclass(frozen=True, eq=False)
class Linearised:
    """`point` with all results computed; moves `d` of it keep to `lower <= matrix @ d <= upper` in first order."""

    point: Floats
    matrix: Matrix
    lower: Floats
    upper: Floats


def linearised(definitions: tuple[Definition, ...], point: Floats) -> Linearised:
    """The definitions near a point, whose results of comparisons (0 or 1) are taken as they are."""
    point = point.copy()
    rows: list[tuple[Matrix, Floats, Floats]] = [(Matrix.empty(), np.zeros(0), np.zeros(0))]
    for definition in definitions:
        if definition.size:
            with np.errstate(all="ignore"):
                rows += _near(definition, point)
    return Linearised(
        point,
        stacked([m for m, _, _ in rows]),
        np.concatenate([low for _, low, _ in rows]),
        np.concatenate([high for _, _, high in rows]),
    )


def sensitivities(definitions: tuple[Definition, ...], costs: Floats, point: Floats) -> Floats:
    """How much an error in one column changes a sum with these costs: its own, or what one term makes of it.

    Results of comparisons count only with their own cost.
    """
    sizes = np.abs(costs)
    for definition in reversed(definitions):
        used = np.flatnonzero(sizes[definition.results])
        if not len(used) or isinstance(definition, Reified):
            continue
        part = definition.take(used)
        with np.errstate(all="ignore"):
            inside = _inside(part, part.arguments.values(point))
            slopes = _slopes(part, inside, part.evaluate(inside))
        row = part.arguments.matrix.row_of
        moved = np.abs(slopes[row] * part.arguments.matrix.values) * sizes[part.results][part.entry_of[row]]
        np.maximum.at(sizes, part.arguments.matrix.columns, np.where(np.isfinite(moved), moved, 0.0))
    return sizes


def _near(definition: Definition, point: Floats) -> list[tuple[Matrix, Floats, Floats]]:
    """The rows of one block; its results are written into `point`."""
    a = definition.arguments.values(point)
    infinite = np.full(len(a), np.inf)
    if isinstance(definition, Reified):
        true = np.flatnonzero(point[definition.results] > 0.5)
        point[definition.results] = np.where(point[definition.results] > 0.5, 1.0, 0.0)
        nothing = Matrix(np.arange(definition.size + 1, dtype=np.int64), definition.results, np.ones(definition.size))
        kept = definition.arguments.matrix.take(true)
        zero = np.zeros(definition.size)
        return [(nothing, zero, zero), (kept, definition.lower[true] - a[true], definition.upper[true] - a[true])]
    inside = _inside(definition, a)
    values = definition.evaluate(inside)
    values = np.where(np.isfinite(values), values, 0.0)
    slopes = _slopes(definition, inside, values)
    point[definition.results] = values
    zero = np.zeros(definition.size)
    made = [(_differences(definition, np.where(np.isfinite(slopes), slopes, 0.0)), zero, zero)]
    if isinstance(definition, MinMax):
        sign = 1.0 if definition.largest else -1.0
        own = Matrix(np.arange(definition.size + 1, dtype=np.int64), definition.results, np.ones(definition.size))
        gaps = sign * (values[definition.entry_of] - a)
        made.append((_minus(own.take(definition.entry_of), definition.arguments.matrix, sign), -gaps, infinite))
    elif isinstance(definition, Unary) and definition.function == "abs":
        side = np.where(a < 0, -1.0, 1.0)
        made.append((_scaled(definition.arguments.matrix, side), -side * a, infinite))
    elif (definition.op == "power" or getattr(definition, "function", "") == "log") and (inside != a).any():
        outside = np.flatnonzero(inside != a)
        made.append((definition.arguments.matrix.take(outside), (inside - a)[outside], infinite[outside]))
    return made


def _inside(definition: Definition, a: Floats) -> Floats:
    """The arguments moved into the domain."""
    if isinstance(definition, Power):
        root = definition.exponents != np.rint(definition.exponents)
        return np.where(root, np.maximum(a, AWAY), a)
    if isinstance(definition, Unary) and definition.function == "log":
        return np.maximum(a, AWAY)
    return a


def _slopes(definition: Definition, a: Floats, values: Floats) -> Floats:
    """The derivative of each entry in each of its arguments."""
    match definition:
        case Product():
            return _of_product(definition, a)
        case MinMax():
            chosen = a == values[definition.entry_of]
            numbers = np.where(chosen, np.arange(len(a)), len(a))
            first = np.minimum.reduceat(numbers, definition.starts[:-1])
            result = np.zeros(len(a))
            result[first[first < len(a)]] = 1.0
            return result
        case Power():
            return np.asarray(definition.exponents * np.power(a, definition.exponents - 1.0))
        case Unary(function="exp"):
            return values
        case Unary(function="log"):
            return 1.0 / a
        case Unary(function="abs"):
            return np.where(a < 0, -1.0, 1.0)
        case PartialExpectation() | Piecewise():
            step = STEP * np.maximum(1.0, np.abs(a))
            return (definition.evaluate(a + step) - definition.evaluate(a - step)) / (2 * step)
    raise AssertionError(definition.op)


def _of_product(definition: Product, a: Floats) -> Floats:
    """The product of the other factors."""
    result = np.ones(len(a))
    counts = np.diff(definition.starts)
    for place in range(int(counts.max(initial=0))):  # over the factors of one product, not over products
        more = np.flatnonzero(counts > place)
        at = definition.starts[:-1][more] + place
        factor = np.ones(definition.size)
        factor[more] = a[at]
        others = np.ones(len(a), dtype=np.bool_)
        others[at] = False
        result *= np.where(others, factor[definition.entry_of], 1.0)
    return result


def _differences(definition: Definition, slopes: Floats) -> Matrix:
    """`dt - sum_k slopes[k] da_k`, a row for each entry."""
    matrix = definition.arguments.matrix
    entry = definition.entry_of[matrix.row_of]
    return _assembled(
        definition.size,
        np.concatenate((np.arange(definition.size, dtype=np.int64), entry)),
        np.concatenate((definition.results, matrix.columns)),
        np.concatenate((np.ones(definition.size), -slopes[matrix.row_of] * matrix.values)),
    )


def _minus(one: Matrix, other: Matrix, sign: float) -> Matrix:
    return _assembled(
        one.rows,
        np.concatenate((one.row_of, other.row_of)).astype(np.int64),
        np.concatenate((one.columns, other.columns)),
        sign * np.concatenate((one.values, -other.values)),
    )


def _scaled(matrix: Matrix, by: Floats) -> Matrix:
    return Matrix(matrix.starts, matrix.columns, matrix.values * by[matrix.row_of])


def _assembled(rows: int, row: Codes, columns: Int32s, values: Floats) -> Matrix:
    """A matrix from entries in any order; entries at the same place are added."""
    order = np.lexsort((columns, row))
    row, columns, values = row[order], columns[order], values[order]
    new: NDArray[np.bool_] = np.ones(len(row), dtype=np.bool_)
    new[1:] = (row[1:] != row[:-1]) | (columns[1:] != columns[:-1])
    first = np.flatnonzero(new)
    added = np.add.reduceat(values, first) if len(first) else values
    starts = np.searchsorted(row[first], np.arange(rows + 1)).astype(np.int64)
    return Matrix(starts, columns[first].astype(np.int32), added)
