"""Bounds of columns and of expressions, by interval arithmetic over rows, definitions and integrality."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.analysis.integrality import integer_columns
from gpusched_dsl.compiling.analysis.rows import CROSSING, MEETING, Upper, WorkingBounds, integers_below, sweep
from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.ir.problem import Problem

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Affines, Definition
    from gpusched_dsl.ir.definitions.intervals import Interval


# Rounds over all rows and definitions; most problems settle within three.
ROUNDS = 8


class Bounds(Struct, frozen=True, eq=False):
    """Valid bounds of every column: no feasible point lies outside. `lower <= upper` everywhere.

    `feasible` is false where bounds were found to cross: there is no feasible point, and what had been found until then
    is given.
    """

    lower: Floats
    upper: Floats
    feasible: bool = True

    def of(self, affines: Affines) -> tuple[Floats, Floats]:
        """The smallest and the largest value each expression can have within the bounds."""
        matrix = affines.matrix
        if affines.count and affines.single.min() >= 0:
            return self.lower[affines.single], self.upper[affines.single]
        positive, count = matrix.values > 0, matrix.rows
        low, high = self.lower[matrix.columns], self.upper[matrix.columns]
        with np.errstate(invalid="ignore"):
            small, large = matrix.values * np.where(positive, low, high), matrix.values * np.where(positive, high, low)
        zero = matrix.values == 0
        if zero.any():
            small[zero] = large[zero] = 0.0
        return (
            np.bincount(matrix.row_of, weights=small, minlength=count) + affines.constants,
            np.bincount(matrix.row_of, weights=large, minlength=count) + affines.constants,
        )


def propagate(problem: Problem) -> Bounds:
    """The bounds that follow from declared ones, rows and definitions."""
    box, images = _box(problem), [_all_reals(d) for d in problem.definitions]
    rows: Upper | None = None
    for _ in range(ROUNDS):
        checkpoint()
        changed, box.changed = box.changed, np.zeros(problem.columns, dtype=np.bool_)
        for at, definition in enumerate(problem.definitions):
            if rows is None or (changed | box.changed)[definition.arguments.matrix.columns].any():
                images[at] = _propagate_forwards(box, definition)
        if rows is None:
            rows = Upper.of(problem.matrix, problem.row_lower, problem.row_upper, _required_rows(problem, box))
            sweep(box, rows)
        else:
            sweep(box, rows.rows_with(changed | box.changed))
        checkpoint()
        for definition, image in zip(reversed(problem.definitions), reversed(images), strict=True):
            if box.feasible:
                _propagate_backwards(box, definition, image)
        if not box.feasible or not box.changed.any():
            break
    return Bounds(box.lower, box.upper, box.feasible)


def bounds_within(problem: Problem) -> Bounds:
    """Return the bounds of the columns, with results bounded by their definitions; rows are ignored."""
    box = _box(problem)
    for definition in problem.definitions:
        _propagate_forwards(box, definition)
    return Bounds(box.lower, box.upper, box.feasible)


def tighten(problem: Problem, bounds: Bounds) -> Problem:
    """The problem with `bounds` written to the columns that definitions give and those that nonlinear parts read.

    Passes drop or replace what holds anyway *within the bounds*. A bound may follow from the very definition that is
    dropped because of it (`max(x, z) <= 3` bounds x, which then lies below `z == 3`), so it must be stated first.
    Results that are always integer are marked as such: a later pass could not find that out any more.
    """
    read = np.zeros(problem.columns, dtype=np.bool_)
    for definition in problem.definitions:
        read[definition.results] = read[definition.arguments.matrix.columns] = True
    conditional = problem.matrix.take(problem.conditions.rows)
    read[conditional.columns] = read[problem.conditions.columns] = True
    # Declared bounds that cross stay: the problem has no solution then, and must not get one.
    read &= ~_cross(problem.lower, problem.upper)
    return replace(
        problem,
        lower=np.where(read, bounds.lower, problem.lower),
        upper=np.where(read, bounds.upper, problem.upper),
        integer=integer_columns(problem),
    )


def _box(problem: Problem) -> WorkingBounds:
    """Return the declared bounds, rounded for integer columns."""
    lower, upper, integer = problem.lower.copy(), problem.upper.copy(), problem.integer
    lower[integer], upper[integer] = -integers_below(-lower[integer]), integers_below(upper[integer])
    feasible = not _cross(lower, upper).any()
    crossed = lower > upper
    lower[crossed], upper[crossed] = (
        np.minimum(problem.lower, problem.upper)[crossed],
        np.maximum(problem.lower, problem.upper)[crossed],
    )
    return WorkingBounds(lower, upper, integer, np.zeros(len(lower), dtype=np.bool_), feasible)


def _cross(lower: Floats, upper: Floats) -> Bools:
    """Whether bounds cross by more than rounding: those of equal terms, each derived in its own way, may by less."""
    return np.asarray(lower > upper + MEETING * np.maximum(1.0, _size(upper)))


def _all_reals(definition: Definition) -> Interval:
    return np.full(definition.size, -np.inf), np.full(definition.size, np.inf)


def _size(values: Floats) -> Floats:
    return np.where(np.isfinite(values), np.abs(values), 0.0)


def _required_rows(problem: Problem, box: WorkingBounds) -> Bools:
    """Return the rows that apply at every feasible point: without a condition, or with a fixed one."""
    conditions = problem.conditions
    required = np.ones(problem.rows, dtype=np.bool_)
    value = conditions.values.astype(np.float64)
    fixed = (box.lower[conditions.columns] == value) & (box.upper[conditions.columns] == value)
    required[conditions.rows] = fixed
    return required


def _arguments(box: WorkingBounds, definition: Definition) -> tuple[Floats, Floats]:
    return Bounds(box.lower, box.upper).of(definition.arguments)


def _propagate_forwards(box: WorkingBounds, definition: Definition) -> Interval:
    """Results lie in the image of the arguments, which is returned."""
    from gpusched_dsl.compiling.analysis.ranges import image_of

    image = _all_reals(definition)
    if not definition.size:
        return image
    image = image_of(definition, *_arguments(box, definition))
    results = definition.results
    old_low, old_high = box.lower[results], box.upper[results]
    low, high = np.maximum(image[0], old_low), np.minimum(image[1], old_high)
    crossed = low > high + CROSSING * np.maximum(1.0, _size(high))
    if crossed.any():
        box.feasible = False
    kept = low > high
    low, high = np.where(kept, old_low, low), np.where(kept, old_high, high)
    box.lower[results], box.upper[results] = low, high
    box.changed[results[(low > old_low) | (high < old_high)]] = True
    return image


def _propagate_backwards(box: WorkingBounds, definition: Definition, image: Interval) -> None:
    """Arguments, from the results that something else keeps within a part of the image."""
    from gpusched_dsl.compiling.analysis.ranges import arguments_within

    results = definition.results
    bounded = (box.lower[results] > image[0]) | (box.upper[results] < image[1])
    if not bounded.any():
        return
    if not bounded.all():
        definition = definition.take(np.flatnonzero(bounded))
        results = definition.results
    low, high = _arguments(box, definition)
    within = arguments_within(definition, low, high, (box.lower[results], box.upper[results]))
    if within is None:
        return
    begin, end = within
    begin, end = np.where(begin > low, begin, -np.inf), np.where(end < high, end, np.inf)
    constants = definition.arguments.constants
    sweep(box, Upper.of(definition.arguments.matrix, begin - constants, end - constants))
