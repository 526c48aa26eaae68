"""What the bounds of a result say about the arguments of its definition: a row for every argument that is limited."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.analysis.forward import LIBRARY, Interval
from gpusched_dsl.ir.definitions import Definition, MinMax, Power, Product, Reified, Unary
from gpusched_dsl.ir.problem import Floats


def arguments_within(definition: Definition, low: Floats, high: Floats, result: Interval) -> Interval | None:
    """Where each argument must lie, given its interval now and that of the results; None: nothing follows.

    `low`, `high` have a value per argument, `result` a value per entry.
    """
    small, large = result[0][definition.entry_of], result[1][definition.entry_of]
    free = np.full(len(low), np.inf)
    with np.errstate(all="ignore"):
        match definition:
            case MinMax():
                return (-free, large) if definition.largest else (small, free)
            case Unary(function="abs"):
                return -large, large
            case Unary(function="exp"):
                return _loose(np.log(np.maximum(small, 0.0)), np.log(np.maximum(large, 0.0)))
            case Unary(function="log"):
                return _loose(np.exp(small), np.exp(large))
            case Power():
                return _of_power(definition, low, small, large)
            case Product():
                return _of_product(definition, low, high, small, large)
            case Reified():
                return _of_holds(definition, small)
    return None


def _loose(low: Floats, high: Floats) -> Interval:
    low = np.where(np.isfinite(low), low - LIBRARY * np.maximum(1.0, np.abs(low)), -np.inf)
    high = np.where(np.isfinite(high), high + LIBRARY * np.maximum(1.0, np.abs(high)), np.inf)
    return low, high


def _of_power(definition: Power, low: Floats, small: Floats, large: Floats) -> Interval:
    """On arguments >= 0 a power is monotone, and so is its inverse; an even power bounds the argument on both sides."""
    exponents = definition.exponents
    inverse = np.where(exponents == 0, 1.0, 1.0 / exponents)
    at_small, at_large = np.power(np.maximum(small, 0.0), inverse), np.power(np.maximum(large, 0.0), inverse)
    falls = exponents < 0
    begin, end = _loose(np.where(falls, at_large, at_small), np.where(falls, at_small, at_large))
    usable = (low >= 0) & (exponents != 0)
    even = (exponents > 0) & (exponents % 2 == 0)
    return (
        np.where(usable, begin, np.where(even, -end, -np.inf)),
        np.where(usable | even, end, np.inf),
    )


def _of_product(definition: Product, low: Floats, high: Floats, small: Floats, large: Floats) -> Interval:
    """`a * b` within an interval and b away from 0: a lies within the quotient."""
    pair = np.diff(definition.starts)[definition.entry_of] == 2
    place = np.arange(len(low))
    first = definition.starts[:-1][definition.entry_of]
    other = np.where(pair, first + 1 - (place - first), place)
    b_low, b_high = low[other], high[other]
    usable = pair & ((b_low > 0) | (b_high < 0))
    corners = np.stack([np.where(r == 0, 0.0, r / b) for r in (small, large) for b in (b_low, b_high)])
    begin, end = _loose(corners.min(axis=0), corners.max(axis=0))  # inf / inf is no number, and no bound
    return np.where(usable, begin, -np.inf), np.where(usable, end, np.inf)


def _of_holds(definition: Reified, small: Floats) -> Interval:
    """A comparison that must hold is a row."""
    must = small > 0.5
    return np.where(must, definition.lower, -np.inf), np.where(must, definition.upper, np.inf)
