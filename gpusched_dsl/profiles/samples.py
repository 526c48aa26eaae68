"""Computes burst, idle and peak of a resource from its samples, for profiles.

The samples of a pair are parted in two, `burst` the mean of the upper part and `idle` that of the lower one: by
two-means (the parting of the least sum of squares, found exactly among all cuts of the sorted samples) or at the
median. `peak` is the mean of the samples above 90 % of the most there can be (100 %, the capacity of memory), and 0
when there is none.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints

TWO_MEANS, MEDIAN = "two-means", "median"
PEAK: Final = 0.9


def parts_of(group: Ints, values: Floats, groups: int, split: str) -> tuple[Floats, Floats]:
    """Burst and idle of every group of samples, each with at least one; equal where all samples are."""
    order = np.lexsort((values, group))
    group, values = group[order], values[order]
    size = np.bincount(group, minlength=groups)
    start = np.concatenate(([0], np.cumsum(size)[:-1]))
    at = np.arange(len(values)) - start[group]  # place in the group
    if split == MEDIAN:
        middle = (values[start + (size - 1) // 2] + values[start + size // 2]) / 2
        upper = values > middle[group]
    else:
        upper = at > _last_of_lower_part(group, values, size, start, at)[group]
    total, count = np.bincount(group, values, groups), np.bincount(group, upper, groups)
    above = np.bincount(group, np.where(upper, values, 0.0), groups)
    all_equal = count == 0
    burst = np.where(all_equal, total / size, above / np.maximum(count, 1))
    return burst, (total - above) / (size - count)


def _last_of_lower_part(group: Ints, values: Floats, size: Ints, start: Ints, at: Ints) -> Ints:
    """The last place of the lower part: among equally good cuts the lowest; the last sample when all are equal."""
    centred = values - (np.bincount(group, values) / size)[group]  # keeps digits
    running = np.cumsum(centred)
    before = np.concatenate(([0.0], running))[start]
    low = running - before[group]  # sum of the lower part; that of the upper one is its opposite
    n, left = size[group], at + 1
    gain = np.where(left < n, low**2 / left + low**2 / np.maximum(n - left, 1), -1.0)
    gain = np.where(np.arange(len(values)) == start[group] + n - 1, 0.0, gain)
    splits = np.concatenate((values[1:] != values[:-1], [False]))  # equal samples are not parted
    gain = np.where(splits | (left == n), gain, -1.0)
    best = np.maximum.reduceat(gain, start)
    first = np.where(gain >= best[group], at, len(values))
    return np.minimum.reduceat(first, start)


def peak_of(group: Ints, values: Floats, most: Floats) -> Floats:
    """The mean of samples above 90 % of `most`, one number for each group; NaN of `most`: not known, and no peak."""
    with np.errstate(invalid="ignore"):
        high = values > PEAK * most[group]
    count = np.bincount(group, high, len(most))
    total = np.bincount(group, np.where(high, values, 0.0), len(most))
    return np.where(np.isnan(most), np.nan, np.where(count > 0, total / np.maximum(count, 1), 0.0))
