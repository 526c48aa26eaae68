"""Functions of one argument that moves in steps, as piecewise-linear curves through the values it can have.

Takes `r == f(a)`, f a power, `exp` or `log`, where a is an expression of whole columns: within the bounds its values
are a_1 < ... < a_k, a step apart. Leaves

    r == c(a),   c piecewise linear through (a_1, f(a_1)), ..., (a_k, f(a_k))

for `piecewise`, which needs no binaries where c is convex and pushed down or concave and pushed up.

Proof. At every feasible point a is one of the a_i, where c is f. Exact, whatever f does between them.

Left alone: arguments without steps or with more than `MOST` values, and functions that have no value at one of them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.bounds_whole import whole_columns
from gpusched_dsl.compiling.frames import ranges
from gpusched_dsl.compiling.monotone import Flags
from gpusched_dsl.compiling.passes.growth import Growth
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, Step, Target
from gpusched_dsl.ir.definitions import Affines, Curves, Definition, Piecewise, Power, Unary
from gpusched_dsl.ir.domains import Codes
from gpusched_dsl.ir.lattice import steps_of
from gpusched_dsl.ir.problem import Floats

MOST = 1024


class WholeArguments:
    """Power, exp and log of whole arguments -> Piecewise."""

    name: ClassVar[str] = "whole_arguments"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return target.takes(INTEGERS) and any(_taken(d, target) for d in analysis.problem.definitions)

    def apply(self, analysis: Analysis, target: Target) -> Step:
        growth = Growth(analysis.problem)
        whole = whole_columns(analysis.problem)
        for definition in analysis.problem.definitions:
            if _taken(definition, target):
                _reformulate(growth, analysis, definition, whole)
        return growth.step()


def _taken(definition: Definition, target: Target) -> bool:
    if not definition.size:
        return False
    if isinstance(definition, Power):
        return not target.takes(definition.op)
    return isinstance(definition, Unary) and definition.function != "abs" and not target.takes(definition.function)


def _reformulate(growth: Growth, analysis: Analysis, definition: Definition, whole: Flags) -> None:
    points = _values(definition.arguments, analysis, whole)
    counts = np.where(points[1] <= MOST, points[1], 0)
    entries = np.flatnonzero(counts)
    if not len(entries):
        return
    few = definition.take(entries)
    sizes = np.diff(few.arguments.matrix.starts) + 1  # one argument an entry
    growth.expect(int((counts[entries] * sizes).sum()), definition.name, definition.span)
    starts, x = _listed(points[0][entries], counts[entries], points[2][entries])
    each = few.take(np.repeat(np.arange(few.size), counts[entries]))
    with np.errstate(all="ignore"):
        y = each.evaluate(x)
    defined = np.logical_and.reduceat(np.isfinite(y), starts[:-1])
    taken = np.zeros(definition.size, dtype=np.bool_)
    taken[entries[defined]] = True
    if not defined.any():
        return
    kept = np.repeat(defined, counts[entries])
    curves = _curves(counts[entries][defined], x[kept], y[kept])
    part = definition.take(np.flatnonzero(taken))
    which = np.arange(part.size, dtype=np.int64)
    made = Piecewise(part.results, part.starts, part.arguments, part.span, part.name, which, curves)
    growth.replace(definition, taken, (made,))
    did = "piecewise linear through the values that its whole argument can have"
    growth.notes.append(Note("whole_arguments", definition.name, did, part.size, span=definition.span))


def _values(arguments: Affines, analysis: Analysis, whole: Flags) -> tuple[Floats, Codes, Floats]:
    """The first value that each argument can have, how many there are (0: too many to say), and their step."""
    steps = steps_of(arguments, whole)
    low, high = analysis.bounds.of(arguments)
    usable = (steps > 0) & np.isfinite(low) & np.isfinite(high)
    step = np.where(usable, steps, 1.0)
    with np.errstate(invalid="ignore"):
        first = np.ceil((low - arguments.constants) / step - 1e-6)
        last = np.floor((high - arguments.constants) / step + 1e-6)
    number = np.where(usable, np.clip(last - first + 1, 0, MOST + 1), 0)
    start = np.where(usable, arguments.constants + step * first, 0.0)
    return start, number.astype(np.int64), step


def _listed(first: Floats, counts: Codes, steps: Floats) -> tuple[Codes, Floats]:
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    return starts, np.repeat(first, counts) + np.repeat(steps, counts) * ranges(counts)


def _curves(counts: Codes, x: Floats, y: Floats) -> Curves:
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    flat = np.zeros(len(counts))
    return Curves(starts, x, y, flat, flat, flat)
