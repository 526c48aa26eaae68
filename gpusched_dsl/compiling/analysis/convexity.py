"""Where definitions are convex and concave in their arguments, over the ranges of the arguments."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.analysis.monotonicity import Flags
from gpusched_dsl.compiling.passes.piecewise_pieces import pieces_of
from gpusched_dsl.ir.definitions import Definition, MinMax, PartialExpectation, Piecewise, Power, Product, Unary
from gpusched_dsl.ir.domains import Codes
from gpusched_dsl.ir.problem import Floats

Shapes = tuple[Flags, Flags]


def shapes_of(definition: Definition, low: Floats, high: Floats) -> Shapes:
    """For each entry, where its arguments lie within `low .. high`: is the function convex, and is it concave?

    With arguments affine in columns, `result >= f` is convex where f is, and `result <= f` where f is concave.
    """
    moving = _moving(definition, low, high)
    still = moving == 0
    convex, concave = _shapes(definition, low, high, moving)
    return convex | still, concave | still


def _moving(definition: Definition, low: Floats, high: Floats) -> Codes:
    """How many arguments of each entry are not fixed."""
    return np.bincount(definition.entry_of[low < high], minlength=definition.size)


def _shapes(definition: Definition, low: Floats, high: Floats, moving: Codes) -> Shapes:
    yes, no = np.ones(definition.size, dtype=np.bool_), np.zeros(definition.size, dtype=np.bool_)
    match definition:
        case Product():
            return (moving == 1) | _squares(definition), moving == 1
        case MinMax(largest=True):
            return yes, moving_alone(definition)
        case MinMax():
            return moving_alone(definition), yes
        case Unary(function="exp"):
            return yes, no
        case Unary(function="log"):
            return no, yes
        case Unary(function="abs"):
            return yes, (low >= 0) | (high <= 0)
        case Power():
            return _of_power(definition.exponents, low, high)
        case Piecewise():
            low, high = np.minimum(low, high), np.maximum(low, high)
            bent = [pieces_of(definition, low, high, half, other).runs for half, other in ((yes, no), (no, yes))]
            return bent[0] <= 1, bent[1] <= 1
        case PartialExpectation():
            return no, yes
    return no, no


def moving_alone(definition: Definition) -> Flags:
    """Which entries have one argument only."""
    alone: Flags = np.diff(definition.starts) == 1
    return alone


def _squares(definition: Product) -> Flags:
    """Which entries are a column times itself."""
    two = np.diff(definition.starts) == 2
    single = np.append(definition.arguments.single, (-1, -1))
    first = definition.starts[:-1]
    same: Flags = two & (single[first] >= 0) & (single[first] == single[first + 1])
    return same


def _of_power(p: Floats, low: Floats, high: Floats) -> Shapes:
    """x^p for x > 0 bends up where p > 1 or p < 0; below 0 whole powers do, odd ones the other way round."""
    whole = p == np.rint(p)
    even = whole & (p % 2 == 0)
    straight = (p == 0) | (p == 1)
    bends_up = (p > 1) | (p < 0)
    # A power with a fractional exponent has values on the right only, one with a negative exponent on one side of 0.
    right, left = (low >= 0) | ~whole, (high <= 0) & whole
    convex = straight | (bends_up & (right | (even & (left | (p > 0)))))
    concave = straight | (~bends_up & right) | (bends_up & left & ~even)
    return convex, concave
