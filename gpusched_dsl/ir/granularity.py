"""The step between the values of expressions of columns that move in steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.ir.definitions import Affines, Definition, Reified
from gpusched_dsl.ir.domains import Codes
from gpusched_dsl.ir.matrix import Floats, Matrix
from gpusched_dsl.ir.tolerances import ROUNDING

Flags = NDArray[np.bool_]

# Common divisors of multiples of this are exact; of other numbers (thirds) they are found within rounding.
FINEST = 1e-6
# Values closer than this, relative to the largest coefficient, cannot be told apart by solvers.
TELLABLE = 1e-4


def steps_of(affines: Affines, units: Flags | Floats) -> Floats:
    """For each expression a step such that all its values are its constant plus multiples of the step; 0: no step.

    The greatest common divisor of the coefficients where all columns are whole; 1 for a constant. `units`: for each
    column whether it is whole, or a number of which its values are multiples (0: none is known).
    """
    matrix = affines.matrix
    steps = np.ones(affines.count)
    filled = np.flatnonzero(np.diff(matrix.starts))
    if not len(filled):
        return steps
    sizes, starts = _sizes(matrix, units), matrix.starts[filled]
    largest = np.maximum.reduceat(sizes, starts)
    found = common_divisors(sizes, starts)
    with np.errstate(invalid="ignore"):
        steps[filled] = np.where(np.isinf(found), 1.0, found * (found >= TELLABLE * np.maximum(1.0, largest)))
    return steps


def with_steps(definitions: Iterable[Definition], whole: Flags) -> tuple[Definition, ...]:
    """The definitions of a problem, comparisons among them with the steps of their arguments."""
    return tuple(
        replace(d, steps=steps_of(d.arguments, whole)) if isinstance(d, Reified) and d.size else d for d in definitions
    )


def common_divisors(sizes: Floats, starts: Codes) -> Floats:
    """The largest number of which all sizes of a group are multiples; 0 where none is known, infinite of zeros only.

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


def _sizes(matrix: Matrix, units: Flags | Floats) -> Floats:
    """Of which number each coefficient times its column is a multiple; NaN where none is known."""
    per = np.asarray(units, dtype=np.float64)[matrix.columns]
    return np.where(per > 0, np.abs(matrix.values) * per, np.nan)


def multiples_of(arguments: Affines, steps: Floats) -> Floats:
    """For each expression a number of which its values are multiples; 0: none is known, infinite: it is 0."""
    matrix = arguments.matrix
    sizes = np.insert(_sizes(matrix, steps), matrix.starts[:-1], np.abs(arguments.constants))
    return common_divisors(sizes, matrix.starts[:-1] + np.arange(arguments.count))
