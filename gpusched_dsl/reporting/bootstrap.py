"""Bootstrap intervals of means of a few draws.

The percentile interval of 6 to 20 draws covers 76 to 92 % instead of 95 %, so it is expanded; the studentised one is
infinite where one seed differs from all others. Below six seeds there is none: five differences of one sign occur by
chance in 6 % of the cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 20_000
SEED: Final = 0  # of the resamples, so that equal data have equal intervals
LEAST_DRAWS: Final = 6  # with fewer, all differences have one sign in more than 5 % of the cases: 2 / 2^5 = 6.25 %
CHUNK: Final = 1 << 20  # numbers that are resampled at once
CellNumbers = Callable[[Floats], Floats]  # a number for each cell, from the means of its columns


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


def cells_mean(values: Floats, per_cell: CellNumbers) -> float:
    """Return the mean over cells of a number of each cell; see `cells_interval`."""
    return float(per_cell(_weighted_means(values, np.ones((1, len(values))))).mean())


def cells_interval(values: Floats, per_cell: CellNumbers) -> Interval | None:
    """Return a confidence interval of `cells_mean`, such as of a saving averaged over sizes; None for too few draws.

    `values` has the numbers of each seed, cell and column (such as ours and theirs), NaN where a cell lacks a seed;
    `per_cell` returns a number per cell from the means of its columns, an array with one more axis at its front. Cells
    are no sample, such as all sizes of a table, so seeds are resampled, with all cells of each: cells of one seed share
    its draws. At least `LEAST_DRAWS` seeds are needed, and in each cell two thirds of them. With one seed in all, the
    cells are the draws.
    """
    present = _present(values)
    if len(values) == 1:
        return mean_interval(per_cell(values)[0][present[0]])
    count = len(values)
    if count < LEAST_DRAWS or 3 * present.sum(axis=0).min() < 2 * count:
        return None
    drawn = np.random.default_rng(SEED).integers(0, count, (RESAMPLES, count))
    drawn += count * np.arange(RESAMPLES)[:, None]
    times = np.bincount(drawn.ravel(), minlength=RESAMPLES * count).reshape(RESAMPLES, count)
    weights = times[(times @ present > 0).all(axis=1)].astype(np.float64)
    found = np.sort(per_cell(_weighted_means(values, weights)).mean(axis=1))
    cut = int(expanded_tail(count, CONFIDENCE) * (len(found) - 1))  # outwards: infinite numbers are not interpolated
    return Interval(float(found[cut]), float(found[-1 - cut]))


def quotients(over: Floats, under: Floats) -> Floats:
    """Return `over / under`, and 1 where both are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where((over == 0.0) & (under == 0.0), 1.0, over / under))


def _present(values: Floats) -> Bools:
    """Return for each seed and cell whether it has all its numbers."""
    return np.logical_not(np.isnan(values).any(axis=2))


def _weighted_means(values: Floats, weights: Floats) -> Floats:
    """Return the means of each cell and column for each row of weights of the seeds, without those that are NaN."""
    present = _present(values)
    sums = np.tensordot(weights, np.where(present[..., None], values, 0.0), (1, 0))
    return np.asarray(sums / (weights @ present)[..., None])


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
