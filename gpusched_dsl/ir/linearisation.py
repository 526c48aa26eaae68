"""Definitions near a point: values and first derivatives, with the choices of the point.

Of `t == f(a_1, ..., a_n)` remains `dt == sum_k f_k da_k`. A choice is kept as rows: the largest argument of a maximum
stays the largest, the argument of an absolute value keeps its sign, a comparison that is true stays true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.matrix import Matrix, stack

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Definition
    from gpusched_dsl.ir.definitions.base import Choices


class Linearised(Struct, frozen=True, eq=False):
    """`point` with all results computed; moves `d` of it keep to `lower <= matrix @ d <= upper` in first order."""

    point: Floats
    matrix: Matrix
    lower: Floats
    upper: Floats


def linearise(definitions: tuple[Definition, ...], point: Floats) -> Linearised:
    """Linearise the definitions near a point, with the given results of comparisons (0 or 1)."""
    point = point.copy()
    rows: list[tuple[Matrix, Floats, Floats]] = [(Matrix.empty(), np.zeros(0), np.zeros(0))]
    for definition in definitions:
        if definition.size:
            with np.errstate(all="ignore"):
                rows += _linearise_block(definition, point)
    return Linearised(
        point,
        stack([m for m, _, _ in rows]),
        np.concatenate([low for _, low, _ in rows]),
        np.concatenate([high for _, _, high in rows]),
    )


def sensitivities(definitions: tuple[Definition, ...], costs: Floats, point: Floats) -> Floats:
    """Return the change of a sum with these costs by an error in one column: directly, or through one term.

    Results of comparisons count only with their own cost.
    """
    sizes = np.abs(costs)
    for definition in reversed(definitions):
        used = np.flatnonzero(sizes[definition.results])
        if not len(used):
            continue
        part = definition.take(used)
        with np.errstate(all="ignore"):
            inside = part.move_into_domain(part.arguments.values(point))
            slopes = part.derivatives(inside, part.evaluate(inside))
        row = part.arguments.matrix.row_of
        moved = np.abs(slopes[row] * part.arguments.matrix.values) * sizes[part.results][part.entry_of[row]]
        np.maximum.at(sizes, part.arguments.matrix.columns, np.where(np.isfinite(moved), moved, 0.0))
    return sizes


def _linearise_block(definition: Definition, point: Floats) -> list[tuple[Matrix, Floats, Floats]]:
    """The rows of one block; its results are written into `point`."""
    arguments = definition.arguments.values(point)
    inside = definition.move_into_domain(arguments)
    values = definition.values_near(point, inside)
    slopes = definition.derivatives(inside, values)
    point[definition.results] = values
    zero = np.zeros(definition.size)
    chosen = definition.choices(arguments, inside, values)
    return [
        (_differences(definition, np.where(np.isfinite(slopes), slopes, 0.0)), zero, zero),
        (_choice_rows(definition, chosen), chosen.lower, chosen.upper),
    ]


def _choice_rows(definition: Definition, choices: Choices) -> Matrix:
    """`of_result * dt + of_argument * da`, a row for each argument of a choice."""
    matrix = definition.arguments.matrix.take(choices.arguments)
    kept = np.flatnonzero(choices.of_result)
    return _assemble(
        len(choices.arguments),
        np.concatenate((kept, matrix.row_of)).astype(np.int64),
        np.concatenate((definition.results[definition.entry_of[choices.arguments[kept]]], matrix.columns)),
        np.concatenate((choices.of_result[kept], choices.of_argument[matrix.row_of] * matrix.values)),
    )


def _differences(definition: Definition, slopes: Floats) -> Matrix:
    """`dt - sum_k slopes[k] da_k`, a row for each entry."""
    matrix = definition.arguments.matrix
    entry = definition.entry_of[matrix.row_of]
    return _assemble(
        definition.size,
        np.concatenate((np.arange(definition.size, dtype=np.int64), entry)),
        np.concatenate((definition.results, matrix.columns)),
        np.concatenate((np.ones(definition.size), -slopes[matrix.row_of] * matrix.values)),
    )


def _assemble(rows: int, row: Codes, columns: Int32s, values: Floats) -> Matrix:
    """A matrix from entries in any order; entries at the same place are added."""
    order = np.lexsort((columns, row))
    row, columns, values = row[order], columns[order], values[order]
    new: Bools = np.ones(len(row), dtype=np.bool_)
    new[1:] = (row[1:] != row[:-1]) | (columns[1:] != columns[:-1])
    first = np.flatnonzero(new)
    added = np.add.reduceat(values, first) if len(first) else values
    starts = np.searchsorted(row[first], np.arange(rows + 1)).astype(np.int64)
    return Matrix(starts, columns[first].astype(np.int32), added)
