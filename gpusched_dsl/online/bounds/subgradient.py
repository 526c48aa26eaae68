"""The largest value of a concave function of prices that are not negative, by deflected subgradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.policies.decide import Stop

FIRST_GAIN, LEAST_GAIN = 0.05, 1e-6  # what is aimed at, relative to the value or the size
LESS = 0.35  # of the gain is aimed at, after so many steps that have not reached half of it
PATIENCE = 80
DEFLECTION = 1.5
MOST_STEPS = 4000


def largest_value(
    value_and_slope: Callable[[Floats], tuple[float, Floats]],
    scale: Floats,
    size: float,
    is_stopped: Stop,
    within: Callable[[Floats], Floats] | None = None,
) -> float:
    """Return the largest value that is found from prices 0 on; `size` is its order of magnitude.

    `within` returns prices >= 0 that satisfy what else is required, near the given ones.

    A step is as long as a linear function would need to get from the present value to the best one and a gain, which
    is less and less (M. Held, P. Wolfe, H. P. Crowder, Validation of Subgradient Optimization, Mathematical
    Programming 6, 1974). Where the slope points back, it is turned away from the last direction (P. M. Camerini,
    L. Fratta, F. Maffioli, On Improving Relaxation Methods by Modified Gradient Techniques, Mathematical Programming
    Study 3, 1975): other means of directions lose the way where the function is flat at prices 0. What would make
    prices negative is left out. Distances are in units of `scale`.
    """
    prices = np.zeros(scale.shape)
    value, slope = value_and_slope(prices)
    best = reached = value
    best_prices, best_slope = prices, slope
    gain, waited = FIRST_GAIN * max(abs(value), size), 0
    last = np.zeros(scale.shape)
    for _ in range(MOST_STEPS):
        direction = _inward(slope, prices)
        back = float(np.vdot(direction, last * scale))
        if back < 0:
            direction = _inward(direction - DEFLECTION * back / float(np.vdot(last, last * scale)) * last, prices)
        length = float(np.vdot(direction, direction * scale))
        if length <= 0 or gain <= LEAST_GAIN * max(abs(best), size) or is_stopped():
            break
        prices = np.maximum(prices + (best + gain - value) / length * (direction * scale), 0.0)
        if within is not None:
            prices = within(prices)
        value, slope = value_and_slope(prices)
        last, waited = direction, waited + 1
        if value > best:
            best, best_prices, best_slope = value, prices, slope
        if best > reached + gain / 2:
            reached, waited = best, 0
        elif waited >= PATIENCE:
            gain, reached, waited = LESS * gain, best, 0
            prices, value, slope, last = best_prices, best, best_slope, np.zeros(scale.shape)
    return best


def _inward(direction: Floats, prices: Floats) -> Floats:
    return np.where((prices > 0) | (direction > 0), direction, 0.0)
