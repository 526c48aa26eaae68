"""Bootstrap intervals of means of a few draws."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Floats

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 20_000
SEED: Final = 0  # of the resamples, so that equal data have equal intervals
LEAST_DRAWS: Final = 6  # with fewer, all differences have one sign in more than 5 % of the cases: 2 / 2^5 = 6.25 %
CHUNK: Final = 1 << 20  # numbers that are resampled at once


class Interval(NamedTuple):
    low: float
    high: float

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high


def mean_interval(
    draws: Floats, *, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval | None:
    """Return a confidence interval of the mean of independent draws; None for fewer than `LEAST_DRAWS`.

    `draws` has finite numbers, the interval has their unit. It is the expanded percentile interval of Hesterberg (What
    Teachers Should Know About the Bootstrap, The American Statistician 69, 2015, section 4.3): quantiles of resampled
    means at levels that undo the bias of the percentile interval for small samples, whose coverage at 6 draws is 87 %
    in place of 95 %. For draws of a normal distribution it agrees with the t interval; it never leaves the range of the
    draws.
    """
    count = len(draws)
    if count < LEAST_DRAWS:
        return None
    tail = expanded_tail(count, confidence)
    low, high = np.quantile(resampled_means(draws, resamples, seed), [tail, 1.0 - tail])
    return Interval(float(low), float(high))


def ratio_interval(numerators: Floats, denominators: Floats) -> Interval | None:
    """Return a confidence interval of the ratio of the means of paired draws; None for fewer than `LEAST_DRAWS`.

    Both are resampled together, so that pairs of one ratio have an interval of no width, however much the sizes of the
    instances differ. A resample without anything in both means has the ratio 1. Both arrays have finite numbers.
    """
    count = len(numerators)
    if count < LEAST_DRAWS:
        return None
    over, under = (resampled_means(draws, RESAMPLES, SEED) for draws in (numerators, denominators))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.sort(np.where((over == 0.0) & (under == 0.0), 1.0, over / under))
    cut = int(expanded_tail(count, CONFIDENCE) * (len(ratios) - 1))  # outwards: an infinite ratio is not interpolated
    return Interval(float(ratios[cut]), float(ratios[-1 - cut]))


def expanded_tail(count: int, confidence: float) -> float:
    """Return the level of the lower quantile: Phi(-sqrt(n / (n - 1)) t), with t of n - 1 degrees of freedom."""
    from scipy import special

    t = special.stdtrit(count - 1, (1.0 + confidence) / 2.0)
    return float(special.ndtr(-np.sqrt(count / (count - 1)) * t))


def resampled_means(draws: Floats, resamples: int, seed: int) -> Floats:
    """Return the mean of each of `resamples` samples with replacement."""
    count = len(draws)
    rng = np.random.default_rng(seed)
    means = np.empty(resamples)
    step = max(1, CHUNK // count)
    for first in range(0, resamples, step):
        size = min(step, resamples - first)
        means[first : first + size] = draws[rng.integers(0, count, (size, count))].mean(axis=1)
    return means
