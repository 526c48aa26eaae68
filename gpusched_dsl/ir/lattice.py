"""The step between the values of expressions of whole columns, and of terms of such expressions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.ir.definitions import Affines, Definition, Extreme, Holds, Power, Product, Unary
from gpusched_dsl.ir.domains import Codes
from gpusched_dsl.ir.matrix import Floats, Matrix
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import ROUNDING

Flags = NDArray[np.bool_]

# Steps are looked for among multiples of this; coefficients that are none of them (thirds) must divide each other.
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
        replace(d, steps=steps_of(d.arguments, whole)) if isinstance(d, Holds) and d.size else d for d in definitions
    )


def column_steps(problem: Problem) -> Floats:
    """For each column a number of which its values at feasible points are multiples; 0 where none is known.

    1 for whole columns. Results take theirs from their arguments: `min(x / 2, y / 4)` moves in quarters.
    """
    steps = problem.integer.astype(np.float64)
    for definition in problem.definitions:
        if definition.size:
            found = _result_steps(definition, steps)
            results = definition.results
            steps[results] = np.where(steps[results] > 0, steps[results], found)
    return steps


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
    return np.where(all_even & np.isinf(smallest), np.inf, found)


def _sizes(matrix: Matrix, units: Flags | Floats) -> Floats:
    """Of which number each coefficient times its column is a multiple; NaN where none is known."""
    per = np.asarray(units, dtype=np.float64)[matrix.columns]
    return np.where(per > 0, np.abs(matrix.values) * per, np.nan)


def _result_steps(definition: Definition, steps: Floats) -> Floats:
    if isinstance(definition, Holds):
        return np.ones(definition.size)
    extreme = isinstance(definition, Extreme) or (isinstance(definition, Unary) and definition.function == "abs")
    if not extreme and not isinstance(definition, (Product, Power)):
        return np.zeros(definition.size)
    found = _argument_steps(definition.arguments, steps)
    first = definition.starts[:-1]
    if isinstance(definition, Power):
        p = definition.exponents
        usable = (p >= 1) & (p == np.rint(p))
        found = np.where(usable, found ** np.where(usable, p, 1.0), 0.0)
    elif isinstance(definition, Product):
        found = np.multiply.reduceat(np.where(np.isinf(found), 1.0, found), first)
    else:
        found = common_divisors(np.where(found > 0, found, np.nan), first)
    found = np.where(np.isinf(found), 1.0, found)
    return np.where(found >= TELLABLE, found, 0.0)


def _argument_steps(arguments: Affines, steps: Floats) -> Floats:
    """For each expression a number of which its values are multiples; 0: none is known, infinite: it is 0."""
    matrix = arguments.matrix
    sizes = np.insert(_sizes(matrix, steps), matrix.starts[:-1], np.abs(arguments.constants))
    return common_divisors(sizes, matrix.starts[:-1] + np.arange(arguments.count))
