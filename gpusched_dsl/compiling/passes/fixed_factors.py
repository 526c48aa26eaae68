"""Removes nonlinear terms for which the bounds leave only one value or an affine expression.

    result == f(a, ...), one value within the bounds     ->  the result is that constant
    result == c * x * ... with c fixed                   ->  the product of the others, the last of them scaled by c
    result == c * x,  max(x),  x^1                       ->  x itself if c == 1 and x is a column,
                                                             else rows that hold the result to it

Where other terms read a result that moves in steps but is not integer, `max(c * x)` takes the place of the rows until
`extremes`: rows do not show the steps, which the passes of these terms need.

Takes every kind of definition and leaves those in which several arguments still move. Bounds are propagated ones, which
stand as bounds of the columns that are read, so that what is used here stays in the problem. Of the rows only the half
that somebody gains from is kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.analysis.bounds import Bounds
from gpusched_dsl.compiling.analysis.ranges import image_of
from gpusched_dsl.compiling.passes.linear_terms import hold_to, sum_of
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions import Definition, MinMax, Power, Product, Reified, unary_starts
from gpusched_dsl.ir.tolerances import FEASIBILITY


class FixedFactors:
    """Terms with fixed arguments -> constants, columns, rows and shorter products."""

    name: ClassVar[str] = "fixed_factors"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return bool(analysis.problem.definitions)

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        # Later definitions read the values that are found here, which are more exact than propagated bounds.
        bounds = Bounds(analysis.bounds.lower.copy(), analysis.bounds.upper.copy())
        for definition in analysis.problem.definitions:
            if definition.size:
                _simplify(builder, analysis, bounds, definition, target)
        return builder.step() if builder.notes else PassResult(analysis.problem)


def _simplify(
    builder: ProblemBuilder, analysis: Analysis, bounds: Bounds, definition: Definition, target: Target
) -> None:
    low, high = bounds.of(definition.arguments)
    fixed = (low == high) & np.isfinite(low)
    values = _constants(definition, low, high, fixed)
    if isinstance(definition, Reified):
        values = _as_required(definition, values, analysis)
    constant = np.isfinite(values)
    moving = np.bincount(definition.entry_of, weights=~fixed, minlength=definition.size).astype(np.int64)
    counts = np.diff(definition.starts)
    linear = np.zeros(definition.size, dtype=np.bool_)
    shorter = linear
    scale = np.ones(definition.size)
    match definition:
        case Product():
            linear, shorter = moving == 1, (moving > 1) & (moving < counts)
            scale = np.multiply.reduceat(np.where(fixed, low, 1.0), definition.starts[:-1])
        case MinMax():
            linear = counts == 1
        case Power():
            linear = definition.exponents == 1
    linear, shorter = linear & ~constant, shorter & ~constant
    steps = _keeps_steps(analysis, definition, linear, target)
    if isinstance(definition, MinMax):
        linear, steps = linear & ~steps, np.zeros(definition.size, dtype=np.bool_)
    if not (constant | linear | shorter).any():
        return
    effects: list[tuple[str, int]] = []
    rows = builder.rows
    if constant.any():
        results = definition.results[constant]
        builder.bound(results, values[constant], values[constant])
        bounds.lower[results] = bounds.upper[results] = values[constant]
        effects.append(("are fixed", int(constant.sum())))
    by: tuple[Definition, ...] = ()
    if linear.any():
        _read_moving_argument(
            builder, analysis, definition, np.flatnonzero(linear & ~steps), fixed, scale[linear & ~steps]
        )
        if steps.any():
            by = (_linear(definition, np.flatnonzero(steps), fixed, scale),)
        effects.append(("are linear because their other factors are fixed", int(linear.sum())))
    if shorter.any():
        by = (
            *by,
            _shorter(definition, np.flatnonzero(shorter), fixed, scale),
        )
        effects.append(("have fewer factors because others are fixed", int(shorter.sum())))
    builder.replace(definition, constant | linear | shorter, by)
    for at, (effect, entries) in enumerate(effects):
        added = builder.rows - rows if at == len(effects) - 1 else 0
        builder.notes.append(Note(FixedFactors.name, definition.name, effect, entries, added, span=definition.span))


def _constants(definition: Definition, low: Floats, high: Floats, fixed: Bools) -> Floats:
    """The value of each entry that has only one, else NaN."""
    least, most = image_of(definition, low, high)
    values = np.where(least == most, least, np.nan)
    fixed_entries = np.flatnonzero(np.logical_and.reduceat(fixed, definition.starts[:-1]))
    if len(fixed_entries):
        some = definition.take(fixed_entries)
        with np.errstate(all="ignore"):
            values[fixed_entries] = some.evaluate(low[arguments_of(definition, fixed_entries)])
    return values


def _as_required(definition: Reified, values: Floats, analysis: Analysis) -> Floats:
    """The truth of comparisons; one that must be true and is, but for the rounding of bounds, is true."""
    point = np.clip(0.0, analysis.bounds.lower, analysis.bounds.upper)
    true = (values == 0.0) & (point[definition.results] == 1.0)
    return np.where(true, definition.values_with_tolerance(point, FEASIBILITY), values)


def _keeps_steps(analysis: Analysis, definition: Definition, linear: Bools, target: Target) -> Bools:
    """Return the linear entries that are stepwise without being integer and occur in other terms."""
    problem = analysis.problem
    kept = linear & ~problem.integer[definition.results]
    if not kept.any() or not target.takes(INTEGERS) or target.takes(MinMax.op):
        return np.zeros(definition.size, dtype=np.bool_)
    read = np.zeros(problem.columns, dtype=np.bool_)
    for other in problem.definitions:
        read[other.arguments.matrix.columns] = True
    kept &= read[definition.results]
    return kept & (analysis.units[definition.results] > 0) if kept.any() else kept


def _linear(definition: Definition, entries: Codes, fixed: Bools, scale: Floats) -> Definition:
    """The one moving argument times `scale` of each entry, as the largest of one."""
    places = arguments_of(definition, entries)
    places = places[~fixed[places]] if isinstance(definition, Product) else places
    value = sum_of((definition.arguments.take(places), scale[entries]))
    return MinMax(definition.results[entries], unary_starts(len(entries)), value, definition.span, definition.name)


def arguments_of(definition: Definition, entries: Codes) -> Codes:
    """The places of all arguments of some entries."""
    chosen = np.zeros(definition.size, dtype=np.bool_)
    chosen[entries] = True
    return np.flatnonzero(chosen[definition.entry_of])


def _read_moving_argument(
    builder: ProblemBuilder, analysis: Analysis, definition: Definition, entries: Codes, fixed: Bools, scale: Floats
) -> None:
    """Read the one moving argument, times `scale`, in the place of each result."""
    places = arguments_of(definition, entries)
    places = places[~fixed[places]] if isinstance(definition, Product) else places
    arguments = definition.arguments.take(places)
    results = definition.results[entries]
    same = (scale == 1.0) & (arguments.single >= 0)
    if same.any():
        builder.substitute(results[same], arguments.single[same])
    down, up = analysis.directions.down[results], analysis.directions.up[results]
    others = np.flatnonzero(~same & (down | up))
    if len(others):
        name = builder.problem.column_family(int(definition.results[0])).name
        value = sum_of((arguments.take(others), scale[others]))
        index = builder.index_of(definition, entries[others])
        hold_to(builder, f"{name}.value", index, results[others], value, down[others], up[others], definition.span)


def _shorter(definition: Definition, entries: Codes, fixed: Bools, scale: Floats) -> Definition:
    """Return the products of the moving factors, the last times `scale` (0/1 factors come first and do not change)."""
    places = arguments_of(definition, entries)
    places = places[~fixed[places]]
    owner = definition.entry_of[places]
    starts = np.append(np.flatnonzero(np.diff(owner, prepend=-1)), len(places)).astype(np.int64)
    scales = np.ones(len(places))
    scales[starts[1:] - 1] = scale[entries]
    arguments = sum_of((definition.arguments.take(places), scales))
    return replace(definition.take(entries), starts=starts, arguments=arguments)
