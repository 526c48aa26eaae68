"""The step between the values of expressions of whole columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.ir.definitions import Affines, Definition, Holds
from gpusched_dsl.ir.matrix import Floats
from gpusched_dsl.ir.tolerances import ROUNDING

Flags = NDArray[np.bool_]

# Steps are looked for among multiples of this; coefficients that are none of them (thirds) must divide each other.
FINEST = 1e-6
# Values closer than this, relative to the largest coefficient, cannot be told apart by solvers.
TELLABLE = 1e-4


def steps_of(affines: Affines, whole: Flags) -> Floats:
    """For each expression a step such that all its values are its constant plus multiples of the step; 0: no step.

    The greatest common divisor of the coefficients where all columns are whole; 1 for a constant.
    """
    matrix = affines.matrix
    steps = np.ones(affines.count)
    filled = np.flatnonzero(np.diff(matrix.starts))
    if not len(filled):
        return steps
    sizes, starts = np.abs(matrix.values), matrix.starts[filled]
    row = matrix.row_of
    smallest, largest = np.zeros(affines.count), np.zeros(affines.count)
    smallest[filled], largest[filled] = np.minimum.reduceat(sizes, starts), np.maximum.reduceat(sizes, starts)
    with np.errstate(all="ignore"):
        ticks = sizes / FINEST
        ratio = sizes / smallest[row]
    even = (np.abs(ticks - np.rint(ticks)) <= ROUNDING * ticks) & (ticks < 2.0**52)
    common = np.gcd.reduceat(np.where(even, np.rint(ticks), 1).astype(np.int64), starts) * FINEST
    steps[filled] = np.where(_all(even, row, filled, affines.count), common, 0.0)
    multiple = np.abs(ratio - np.rint(ratio)) <= ROUNDING * ratio
    others = (steps == 0) & _all(multiple, row, None, affines.count)
    steps[others] = smallest[others]
    usable = _all(whole[matrix.columns], row, None, affines.count)
    steps[filled] *= usable[filled] & (steps[filled] >= TELLABLE * np.maximum(1.0, largest[filled]))
    return steps


def with_steps(definitions: Iterable[Definition], whole: Flags) -> tuple[Definition, ...]:
    """The definitions of a problem, comparisons among them with the steps of their arguments."""
    return tuple(
        replace(d, steps=steps_of(d.arguments, whole)) if isinstance(d, Holds) and d.size else d for d in definitions
    )


def _all(flags: Flags, row: NDArray[np.int32], rows: NDArray[np.int64] | None, count: int) -> Flags:
    """Whether all flags of each row are set, for some rows."""
    every: Flags = np.bincount(row[~flags], minlength=count) == 0
    return every if rows is None else every[rows]
