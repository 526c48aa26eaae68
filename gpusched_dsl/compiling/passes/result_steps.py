"""The step between the values of the results of definitions.

Minima, maxima, `abs`, products and powers take the steps of their results from those of their arguments. Every other
function of one argument is evaluated at all values of the argument: `E[min(W, n)]` with n in 0 .. 3 has four values,
and their common divisor is a step. The argument moves in steps within finite bounds and has few values
(`argument_values`).

A value that a pass approximates is not known: laws with a density, curves with an error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.compiling.analysis.bounds import Bounds
from gpusched_dsl.compiling.passes.argument_values import argument_values
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.divisors import TELLABLE, common_divisors
from gpusched_dsl.ir.granularity import multiples_of
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Definition


MOST_TOGETHER = 2_000_000  # values of the arguments of one definition; equal functions of equal values count once


def column_steps(problem: Problem, bounds: Bounds) -> Floats:
    """Return for each column a number that divides its values at feasible points; 0 if unknown.

    1 for integer columns, their value for fixed ones. Results take theirs from their arguments:
    `min(x / 2, y / 4)` moves in quarters, and `max(60 * x, 120 * y)`, an integer, in sixties.
    """
    only = _distinguishable_steps(np.where(problem.lower == 0.0, 1.0, np.abs(problem.lower)))
    steps = np.where(problem.integer, 1.0, np.where(problem.lower == problem.upper, only, 0.0))
    for definition in problem.definitions:
        if definition.size:
            found = _result_steps(definition, steps, bounds)
            results = definition.results
            steps[results] = np.maximum(steps[results], found)
    return steps


def _result_steps(definition: Definition, steps: Floats, bounds: Bounds) -> Floats:
    found = definition.multiples(multiples_of(definition.arguments, steps))
    found = _distinguishable_steps(found)
    rest = np.flatnonzero((found == 0) & definition.exact_entries)
    if len(rest):
        found[rest] = _distinguishable_steps(_steps_of_values(definition.take(rest), steps, bounds))
    return found


def _distinguishable_steps(steps: Floats) -> Floats:
    steps = np.where(np.isinf(steps), 1.0, steps)  # of zeros only
    return np.where(steps >= TELLABLE, steps, 0.0)


def _steps_of_values(definition: Definition, steps: Floats, bounds: Bounds) -> Floats:
    """The common divisors of the values that functions of one argument have at all values of the argument."""
    found = np.zeros(definition.size)
    values = argument_values(definition.arguments, *bounds.of(definition.arguments), steps)
    known = np.flatnonzero(values.counts)
    if not len(known):
        return found
    _, own = definition.function_keys({})
    keys = np.stack((*own, values.first, values.counts.astype(np.float64), values.step), axis=1)
    _, chosen, same = np.unique(keys[known], axis=0, return_index=True, return_inverse=True)
    chosen = known[chosen]
    taken = np.flatnonzero(np.cumsum(values.counts[chosen]) <= MOST_TOGETHER)
    distinct = np.zeros(len(chosen))
    if len(taken):
        distinct[taken] = _divisors(definition.take(chosen[taken]), *values.take(chosen[taken]).list_values())
    found[known] = distinct[same.reshape(-1)]
    return found


def _divisors(definition: Definition, starts: Codes, arguments: Floats) -> Floats:
    """For each entry the common divisor of its values at some arguments; 0 where there is none."""
    from gpusched_dsl.ir.definitions import Affines

    counts = np.diff(starts)
    nothing = Matrix(np.zeros(definition.size + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0))
    bare = replace(definition, arguments=Affines(nothing, np.zeros(definition.size)))
    with np.errstate(all="ignore"):
        values = bare.take(np.repeat(np.arange(definition.size), counts)).evaluate(arguments)
    return common_divisors(np.where(np.isfinite(values), np.abs(values), np.nan), starts[:-1])
