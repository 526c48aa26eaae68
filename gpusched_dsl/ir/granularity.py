"""The step between the values of expressions of columns that move in steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.tolerances import ON_STEP, ROUNDING

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Affines, Definition


def steps_of(affines: Affines, units: Bools | Floats) -> Floats:
    """For each expression a step such that all its values are its constant plus multiples of the step; 0: no step.

    The greatest common divisor of the coefficients where all columns are integer; 1 for a constant. `units`: for each
    column whether it is integer, or a number that divides its values (0: unknown).
    """
    from gpusched_dsl.ir.divisors import TELLABLE, common_divisors

    matrix = affines.matrix
    steps = np.ones(affines.count)
    filled = np.flatnonzero(np.diff(matrix.starts))
    if not len(filled):
        return steps
    sizes, starts = _sizes(matrix, units), matrix.starts[filled]
    largest = np.maximum.reduceat(sizes, starts)
    found = common_divisors(sizes, starts)
    with np.errstate(invalid="ignore"):
        steps[filled] = np.where(np.isinf(found), 1.0, found * (found >= TELLABLE * np.maximum(1.0, largest)))
    return steps


def next_above(sides: Floats, steps: Floats) -> Floats:
    """The smallest multiple of a step above each side; a multiple within rounding of the side is not above it."""
    return (np.floor(sides / steps + _rounding(sides / steps)) + 1) * steps


def next_below(sides: Floats, steps: Floats) -> Floats:
    """The largest multiple of a step below each side."""
    return -next_above(-sides, steps)


def _rounding(multiples: Floats) -> Floats:
    finite = np.where(np.isfinite(multiples), np.abs(multiples), 0.0)
    return np.minimum(ROUNDING * np.maximum(1.0, finite), ON_STEP)


def with_steps(definitions: Iterable[Definition], integer: Bools) -> tuple[Definition, ...]:
    """The definitions of a problem, comparisons among them with the steps of their arguments."""
    definitions = tuple(definitions)
    if not definitions:
        return ()
    from gpusched_dsl.ir.definitions import Reified

    return tuple(
        replace(d, steps=steps_of(d.arguments, integer)) if isinstance(d, Reified) and d.size else d
        for d in definitions
    )


def _sizes(matrix: Matrix, units: Bools | Floats) -> Floats:
    """Return a number that divides each coefficient times its column; NaN if unknown."""
    per = np.asarray(units, dtype=np.float64)[matrix.columns]
    return np.where(per > 0, np.abs(matrix.values) * per, np.nan)


def multiples_of(arguments: Affines, steps: Floats) -> Floats:
    """Return for each expression a number that divides its values; 0: unknown, infinite: it is 0."""
    from gpusched_dsl.ir.divisors import common_divisors

    matrix = arguments.matrix
    sizes = np.insert(_sizes(matrix, steps), matrix.starts[:-1], np.abs(arguments.constants))
    return common_divisors(sizes, matrix.starts[:-1] + np.arange(arguments.count))
