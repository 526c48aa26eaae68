"""Intervals of real numbers: pairs of arrays, lower ends and upper ends. 0 times an infinite end is 0."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats

Interval = tuple[Floats, Floats]

# `exp`, `log`, powers and expectations are not rounded correctly; they are this far off at most, relatively.
LIBRARY = 1e-12


def loosen(low: Floats, high: Floats) -> Interval:
    """Return values of library functions with slack for their rounding; NaN bounds nothing."""
    low = np.where(np.isfinite(low), low - LIBRARY * np.abs(low), low)
    high = np.where(np.isfinite(high), high + LIBRARY * np.abs(high), high)
    # Beyond a pole or the domain there is no value, so any bound will do: none is the safest.
    return np.where(low < np.inf, low, -np.inf), np.where(high > -np.inf, high, np.inf)


def loosen_arguments(low: Floats, high: Floats) -> Interval:
    """Arguments that library functions gave, with slack for their rounding; infinite or no number: no bound."""
    low = np.where(np.isfinite(low), low - LIBRARY * np.maximum(1.0, np.abs(low)), -np.inf)
    high = np.where(np.isfinite(high), high + LIBRARY * np.maximum(1.0, np.abs(high)), np.inf)
    return low, high


def times(a: Floats, b: Floats) -> Floats:
    """Products of ends of intervals: 0 times anything is 0."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def product_of(a: Interval, b: Interval) -> Interval:
    """All products of a number of one interval and one of the other."""
    if (a[0] >= 0).all() and (b[0] >= 0).all():
        return times(a[0], b[0]), times(a[1], b[1])
    corners = np.stack([times(x, y) for x in a for y in b])
    return corners.min(axis=0), corners.max(axis=0)
