"""Functions of one argument that moves in steps, as piecewise-linear curves through the values it can have.

Takes `r == f(a)`, f a power, `exp`, `log` or a function of another package, where a is an expression of columns that
move in steps, such as integer columns and `min(x / 2, 3)` of integer x: within the bounds its values lie among
a_1 < ... < a_k, a step apart. Leaves

    r == c(a),   c piecewise linear through (a_1, f(a_1)), ..., (a_k, f(a_k))

for `piecewise`, which needs no binaries where c is convex and pushed down or concave and pushed up.

Proof. At every feasible point a is one of the a_i, where c is f. Exact, whatever f does between them.

Left alone: arguments without steps or with too many values, and functions that have no value at one of them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.argument_values import argument_values
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions import Curves, Definition, Piecewise


class IntegerArguments:
    """Power, exp and log of integer arguments -> Piecewise."""

    name: ClassVar[str] = "whole_arguments"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return target.takes(INTEGERS) and any(_takes(d, target) for d in analysis.problem.definitions)

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        taken = [d for d in analysis.problem.definitions if _takes(d, target)]
        units: Bools | Floats = analysis.problem.integer
        if not all(units[d.arguments.matrix.columns].all() for d in taken):
            units = analysis.units
        for definition in taken:
            _reformulate(builder, analysis, definition, units)
        return builder.step()


def _takes(definition: Definition, target: Target) -> bool:
    return bool(definition.size) and definition.is_tabulable and not target.takes(definition.operation)


def _reformulate(builder: ProblemBuilder, analysis: Analysis, definition: Definition, units: Bools | Floats) -> None:
    values = argument_values(definition.arguments, *analysis.bounds.of(definition.arguments), units)
    entries = np.flatnonzero(values.counts)
    if not len(entries):
        return
    few, counts = definition.take(entries), values.counts[entries]
    sizes = np.diff(few.arguments.matrix.starts) + 1  # one argument an entry
    builder.expect(int((counts * sizes).sum()), definition.name, definition.span)
    starts, x = values.take(entries).list_values()
    each = few.take(np.repeat(np.arange(few.size), counts))
    with np.errstate(all="ignore"):
        y = each.evaluate(x)
    defined = np.logical_and.reduceat(np.isfinite(y), starts[:-1])
    taken = np.zeros(definition.size, dtype=np.bool_)
    taken[entries[defined]] = True
    if not defined.any():
        return
    kept = np.repeat(defined, counts)
    curves = _curves(counts[defined], x[kept], y[kept])
    part = definition.take(np.flatnonzero(taken))
    which = np.arange(part.size, dtype=np.int64)
    curve_terms = Piecewise(part.results, part.starts, part.arguments, part.span, part.name, which, curves)
    builder.replace(definition, taken, (curve_terms,))
    effect = "piecewise linear through the values of its integer argument"
    builder.notes.append(Note("whole_arguments", definition.name, effect, part.size, span=definition.span))


def _curves(counts: Codes, x: Floats, y: Floats) -> Curves:
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    flat = np.zeros(len(counts))
    return Curves(starts, x, y, flat, flat, flat)
