"""Where a definition can rise or fall with each of its arguments, over the ranges of the arguments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.compiling.passes.piecewise_pieces import pieces_of
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
from gpusched_dsl.ir.problem import Floats

Flags = NDArray[np.bool_]
Slopes = tuple[Flags, Flags]


def slopes_of(definition: Definition, low: Floats, high: Floats) -> Slopes:
    """For each argument, within `low .. high`: can the function rise with it, and can it fall?

    Both also where the function has no value on a part of the range (`1/d` at 0, `log` below 0): nothing may then be
    concluded from moving the argument.
    """
    match definition:
        case Product():
            return _of_product(definition, low, high)
        case Power():
            return _of_power(definition.exponents, low, high)
        case Unary(function="abs"):
            return high > 0, low < 0
        case Unary(function="log"):
            return np.ones_like(low, dtype=np.bool_), low <= 0
        case MinMax() | PartialExpectation() | Unary(function="exp"):
            return np.ones_like(low, dtype=np.bool_), np.zeros_like(low, dtype=np.bool_)
        case Piecewise():
            return _of_piecewise(definition, low, high)
        case Reified():
            return definition.lower > low, definition.upper < high
    return np.ones_like(low, dtype=np.bool_), np.ones_like(low, dtype=np.bool_)


def _of_product(definition: Product, low: Floats, high: Floats) -> Slopes:
    """The slope in one factor is the product of the others."""
    entry, entries = definition.entry_of, definition.size
    mixed, negative, zero = (low < 0) & (high > 0), (high <= 0) & (low < 0), (low == 0) & (high == 0)

    def others(flags: Flags) -> NDArray[np.int64]:
        return np.bincount(entry, weights=flags, minlength=entries).astype(np.int64)[entry] - flags

    odd, unknown, flat = others(negative) % 2 == 1, others(mixed) > 0, others(zero) > 0
    return (unknown | ~odd) & ~flat, (unknown | odd) & ~flat


def _of_power(exponents: Floats, low: Floats, high: Floats) -> Slopes:
    whole = exponents == np.rint(exponents)
    even = whole & (exponents % 2 == 0)
    shrinks = exponents < 0
    # On the positive side the slope has the sign of the exponent, on the negative side also that of x^(p-1).
    right, left = high > 0, low < 0
    rising = (right & ~shrinks) | (left & np.where(even, shrinks, ~shrinks))
    falling = (right & shrinks) | (left & np.where(even, ~shrinks, shrinks))
    changes = exponents != 0
    undefined = (shrinks & (low <= 0) & (high >= 0)) | (~whole & left)
    return (rising & changes) | undefined, (falling & changes) | undefined


def _of_piecewise(definition: Piecewise, low: Floats, high: Floats) -> Slopes:
    everywhere = np.ones(definition.size, dtype=np.bool_)
    pieces = pieces_of(definition, np.minimum(low, high), np.maximum(low, high), everywhere, everywhere)
    rising, falling = np.zeros(definition.size, dtype=np.bool_), np.zeros(definition.size, dtype=np.bool_)
    rising[pieces.entry[pieces.slope > 0]] = True
    falling[pieces.entry[pieces.slope < 0]] = True
    return rising, falling
