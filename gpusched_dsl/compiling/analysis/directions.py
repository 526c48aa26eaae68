"""Which half of each definition `result == f(arguments)` is needed: the one that the problem pushes against.

Objectives and rows say for the columns they read whether a smaller or a larger value helps. A definition whose result
is helped passes this on to its arguments, reversed where f falls with them. So, from the last definition to the first:

    who gains from a smaller result keeps `result >= f`, who gains from a larger one keeps `result <= f`.

Why that is enough: take a point of the problem with the halves only, and compute all results anew, in order. A result
with `down` only becomes smaller or stays, one with `up` only becomes larger or stays, one with both stays: f moves
that way because its arguments do. Nobody who reads a result loses from the way in which it moved.

f is monotone as far as the bounds reach, so the bounds of results that are used must be bounds of their columns, as
`Analysis` makes them. A bound of a result that f could leave counts as a row: what it was derived from may no longer be
seen as a reason for it (`[r <= 0] == 1` bounds r, and holds anyway where that bound is taken for granted).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.analysis.bounds import Bounds
from gpusched_dsl.compiling.analysis.ranges import image_of
from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.problem import Problem

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Definition
    from gpusched_dsl.ir.definitions.intervals import Interval


# Bounds that differ by less, relative to them, differ by rounding.
CLOSE = 1e-9


class Directions(Struct, frozen=True, eq=False):
    """For every column: whether some row or objective gains from a smaller (`down`) or larger (`up`) value.

    For the result of a definition f: with `down` only, `result >= f` suffices; with `up` only, `result <= f`; with
    neither it is unused.
    """

    down: Bools
    up: Bools


def directions_of(problem: Problem, bounds: Bounds) -> Directions:
    """The directions of all columns, from the objectives and rows inwards through the definitions."""
    down, up = np.zeros(problem.columns, dtype=np.bool_), np.zeros(problem.columns, dtype=np.bool_)
    for objective in problem.objectives:
        sign = 1.0 if objective.sense == "minimize" else -1.0
        costs = sign * objective.costs(problem.columns)  # what one named term gains another may lose
        down |= costs > 0
        up |= costs < 0
    _read_rows(problem, down, up)
    for definition in reversed(problem.definitions):
        arguments = definition.arguments
        low, high = bounds.of(arguments)
        _read_bounds(problem, definition, image_of(definition, low, high), down, up)
        rising, falling = definition.slopes(low, high)
        less, more = down[definition.results][definition.entry_of], up[definition.results][definition.entry_of]
        less, more = (less & rising) | (more & falling), (more & rising) | (less & falling)
        matrix = arguments.matrix
        adds, takes = matrix.values > 0, matrix.values < 0
        less, more = less[matrix.row_of], more[matrix.row_of]
        down[matrix.columns[(less & adds) | (more & takes)]] = True
        up[matrix.columns[(more & adds) | (less & takes)]] = True
    return Directions(down, up)


def _read_rows(problem: Problem, down: Bools, up: Bools) -> None:
    """Mark directions of rows: an upper side prefers smaller terms, a lower side larger ones.

    A condition gains from the value at which its row need not hold.
    """
    matrix = problem.matrix
    below, above = np.isfinite(problem.row_lower)[matrix.row_of], np.isfinite(problem.row_upper)[matrix.row_of]
    adds, takes = matrix.values > 0, matrix.values < 0
    down[matrix.columns[(above & adds) | (below & takes)]] = True
    up[matrix.columns[(above & takes) | (below & adds)]] = True
    conditions = problem.conditions
    down[conditions.columns[conditions.values]] = True
    up[conditions.columns[~conditions.values]] = True


def _read_bounds(problem: Problem, definition: Definition, image: Interval, down: Bools, up: Bools) -> None:
    """A bound of a result beyond which f could go gains like a row."""
    results = definition.results
    lower, upper = problem.lower[results], problem.upper[results]
    least, most = image
    with np.errstate(invalid="ignore"):  # infinite ends
        up[results[lower > least + CLOSE * np.maximum(1.0, np.abs(lower))]] = True
        down[results[upper < most - CLOSE * np.maximum(1.0, np.abs(upper))]] = True
