"""The values a definition can have while each argument stays within its interval: interval arithmetic, one kind a time.

Intervals are of real numbers, so 0 times an infinite end is 0. Rounding is monotone: a value that `evaluate` computes
from arguments within the intervals lies within the image; functions of the mathematical library get a little slack.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.definitions import (
    Definition,
    MinMax,
    PartialExpectation,
    Piecewise,
    Power,
    Product,
    Reified,
    Unary,
    within_steps,
)
from gpusched_dsl.ir.problem import Floats
from gpusched_dsl.ir.tolerances import FEASIBILITY

Interval = tuple[Floats, Floats]

# `exp`, `log`, powers and expectations are not rounded correctly; they are this far off at most, relatively.
LIBRARY = 1e-12


def image_of(definition: Definition, low: Floats, high: Floats) -> Interval:
    """The smallest and the largest value of each entry, from those of its arguments (`low <= high`)."""
    with np.errstate(all="ignore"):
        match definition:
            case Product():
                return _of_product(definition, low, high)
            case MinMax():
                extreme = np.maximum if definition.largest else np.minimum
                starts = definition.starts[:-1]
                return extreme.reduceat(low, starts), extreme.reduceat(high, starts)
            case Power():
                return _of_power(definition, low, high)
            case Unary():
                return _of_unary(definition, low, high)
            case Piecewise():
                return _of_piecewise(definition, low, high)
            case PartialExpectation():
                return _of_expectation(definition, low, high)
            case Reified():
                return _of_holds(definition, low, high)
    return np.full(definition.size, -np.inf), np.full(definition.size, np.inf)


def _loosened(low: Floats, high: Floats) -> Interval:
    """The interval with slack for the rounding of library functions; what is no number bounds nothing."""
    low = np.where(np.isfinite(low), low - LIBRARY * np.abs(low), low)
    high = np.where(np.isfinite(high), high + LIBRARY * np.abs(high), high)
    # Beyond a pole or the domain there is no value, so any bound will do: none is the safest.
    return np.where(low < np.inf, low, -np.inf), np.where(high > -np.inf, high, np.inf)


def times(a: Floats, b: Floats) -> Floats:
    """Products of ends of intervals: 0 times anything is 0."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def product_of(a: Interval, b: Interval) -> Interval:
    if (a[0] >= 0).all() and (b[0] >= 0).all():
        return times(a[0], b[0]), times(a[1], b[1])
    corners = np.stack([times(x, y) for x in a for y in b])
    return corners.min(axis=0), corners.max(axis=0)


def _of_product(definition: Product, low: Floats, high: Floats) -> Interval:
    starts, counts = definition.starts[:-1], np.diff(definition.starts)
    result = low[starts], high[starts]
    for place in range(1, int(counts.max(initial=1))):  # over the factors of one product, not over products
        more = np.flatnonzero(counts > place)
        at = starts[more] + place
        grown = product_of((result[0][more], result[1][more]), (low[at], high[at]))
        result[0][more], result[1][more] = grown
    single = definition.arguments.single
    square = np.flatnonzero(counts == 2)
    square = square[(single[starts[square]] >= 0) & (single[starts[square]] == single[starts[square] + 1])]
    result[0][square] = np.maximum(result[0][square], 0.0)
    return result


def _of_power(definition: Power, low: Floats, high: Floats) -> Interval:
    exponents = definition.exponents
    whole = exponents == np.rint(exponents)
    even = whole & (exponents % 2 == 0)
    low, high = np.where(whole, low, np.maximum(low, 0.0)), np.where(whole, high, np.maximum(high, 0.0))
    across = (low < 0) & (high > 0)
    # The ends of an interval on one side of 0: a pole lies on the side of the interval.
    at_low, at_high = np.power(low, exponents), np.power(high, exponents)
    pole = exponents < 0
    at_low = np.where(pole & (low == 0), np.inf, at_low)
    at_high = np.where(pole & (high == 0), np.where(even, np.inf, np.where(low < 0, -np.inf, np.inf)), at_high)
    small, large = np.minimum(at_low, at_high), np.maximum(at_low, at_high)
    small = np.where(across, np.where(even & ~pole, 0.0, np.where(pole & ~even, -np.inf, small)), small)
    large = np.where(across & pole, np.inf, large)
    constant = exponents == 0
    return _loosened(np.where(constant, 1.0, small), np.where(constant, 1.0, large))


def _of_unary(definition: Unary, low: Floats, high: Floats) -> Interval:
    if definition.function == "abs":
        inside = (low <= 0) & (high >= 0)
        a, b = np.abs(low), np.abs(high)
        return np.where(inside, 0.0, np.minimum(a, b)), np.maximum(a, b)
    if definition.function == "log":
        return _loosened(np.log(np.maximum(low, 0.0)), np.log(np.maximum(high, 0.0)))
    return _loosened(np.exp(low), np.exp(high))


def _of_piecewise(definition: Piecewise, low: Floats, high: Floats) -> Interval:
    """The ends of the interval and the points of the curve between them; beyond, curves go on straight."""
    curves, which = definition.curves, definition.which
    assert curves is not None
    counts = np.diff(curves.starts)[which]
    entry = np.repeat(np.arange(len(which)), counts)
    first = np.concatenate(([0], np.cumsum(counts)))[:-1]
    point = np.arange(len(entry)) + np.repeat(curves.starts[which] - first, counts)
    inside = (curves.x[point] >= low[entry]) & (curves.x[point] <= high[entry])
    y = curves.y[point]
    small = np.minimum.reduceat(np.where(inside, y, np.inf), first) if len(which) else np.zeros(0)
    large = np.maximum.reduceat(np.where(inside, y, -np.inf), first) if len(which) else np.zeros(0)
    for end, slopes in ((low, -curves.slope_before[which]), (high, curves.slope_after[which])):
        beyond = np.where(slopes > 0, np.inf, np.where(slopes < 0, -np.inf, np.nan))
        value = np.where(np.isinf(end), beyond, curves.values(which, np.where(np.isinf(end), 0.0, end)))
        small, large = np.fmin(small, value), np.fmax(large, value)
    return _loosened(small, large)


def _of_expectation(definition: PartialExpectation, low: Floats, high: Floats) -> Interval:
    """E[min(W, x)] does not fall with x, and tends to the mean."""
    means = np.array([law.mean for law in definition.laws])[definition.which]
    # Where an end is infinite any number will do: its value is not used.
    at_low = definition.evaluate(np.where(np.isfinite(low), low, 0.0))
    at_high = definition.evaluate(np.where(np.isfinite(high), high, 0.0))
    small = np.where(np.isfinite(low), at_low, np.where(low > 0, means, -np.inf))
    large = np.where(np.isfinite(high), at_high, np.where(high > 0, means, -np.inf))
    return _loosened(small, large)


def _of_holds(definition: Reified, low: Floats, high: Floats) -> Interval:
    always = (low >= definition.lower) & (high <= definition.upper)
    # Certain to fail only beyond what a point may break: a choice of the solver counts within that.
    room = within_steps(FEASIBILITY * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high))), definition.steps)
    never = (low > definition.upper + room) | (high < definition.lower - room)
    return always.astype(np.float64), (~never).astype(np.float64)
