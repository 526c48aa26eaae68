"""Common divisors of numbers that are known within rounding."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.tolerances import ROUNDING

# Common divisors of multiples of this are exact; of other numbers (thirds) they are found within rounding.
FINEST = 1e-6
# Values closer than this, relative to the largest coefficient, cannot be told apart by solvers.
TELLABLE = 1e-4


def common_divisors(sizes: Floats, starts: Codes) -> Floats:
    """Return the largest common divisor of the sizes of each group; 0 if unknown, infinite for zeros only.

    Groups are not empty; group i begins at `starts[i]`. A size that is not known is NaN, one of any multiples infinite.
    """
    sizes = np.where(np.isinf(sizes), 0.0, sizes)
    smallest = np.minimum.reduceat(np.where(sizes > 0, sizes, np.inf), starts)
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(sizes))))
    with np.errstate(all="ignore"):
        ticks = sizes / FINEST
        ratio = sizes / smallest[group]
        even = (np.abs(ticks - np.rint(ticks)) <= ROUNDING * ticks) & (ticks < 2.0**52)
        multiple = np.abs(ratio - np.rint(ratio)) <= ROUNDING * ratio
    common = np.gcd.reduceat(np.where(even, np.rint(ticks), 1).astype(np.int64), starts) * FINEST
    all_even = np.logical_and.reduceat(even, starts)
    divides = np.logical_and.reduceat(multiple, starts)
    found = np.where(all_even, common, np.where(divides, smallest, 0.0))
    found = np.where(all_even & np.isinf(smallest), np.inf, found)
    others = np.flatnonzero(~all_even & ~divides & (smallest >= TELLABLE * np.maximum.reduceat(sizes, starts)))
    if len(others):
        chosen = np.isin(group, others)
        found[others] = _divisors_within_rounding(sizes[chosen], np.searchsorted(group[chosen], others))
    return found


def _divisors_within_rounding(sizes: Floats, starts: Codes) -> Floats:
    """As `common_divisors`, by Euclid's algorithm on all groups together; sizes are finite.

    Numbers below `ROUNDING` times the largest size of a group are 0; divisors below `TELLABLE` times it are none.
    """
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(sizes))))
    largest = np.maximum.reduceat(sizes, starts)
    nothing, rest = ROUNDING * largest[group], sizes
    while True:
        divisors = np.minimum.reduceat(np.where(rest > nothing, rest, np.inf), starts)
        by = divisors[group]
        remainders = np.abs(rest - by * np.rint(rest / by))
        done = (np.maximum.reduceat(remainders - nothing, starts) <= 0) | (divisors < TELLABLE * largest)
        if done.all():
            break
        rest = np.where(done[group] | (rest == by), rest, remainders)  # at most half of the divisor, which stays
    divisors = largest / np.rint(largest / divisors)  # without the errors that have added up
    by = divisors[group]
    multiple = np.abs(sizes - by * np.rint(sizes / by)) <= nothing
    return np.where(np.logical_and.reduceat(multiple, starts) & (divisors >= TELLABLE * largest), divisors, 0.0)
