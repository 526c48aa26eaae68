"""Piecewise-linear terms as rows, with binaries only where the wanted half of the function is not convex.

Takes `result == f(argument)`, f piecewise linear, each entry with a curve of its own, over the propagated range of its
argument; pieces outside the range go. Only the half that is needed is kept: `result >= f` where a smaller result
gains, `result <= f` where a larger one does.

    convex f from below, concave f from above:  result >= (<=) y + slope * (argument - x) for every piece
    otherwise:                                  the incremental or the logarithmic form over the range

A convex function is the maximum of its pieces, so the rows say `result >= f` exactly. In the other forms binaries stand
only at the kinks that break convexity; both have the convex hull of the function as their relaxation. What a target
takes as it is (`piecewise`: sets of type SOS2) is left when it would need binaries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.missing_bounds import missing_bounds
from gpusched_dsl.compiling.passes.piecewise_forms import (
    PiecewiseTerms,
    add_incremental,
    add_logarithmic,
    add_piece_rows,
)
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.ir.definitions import Piecewise
from gpusched_dsl.ir.definitions.piecewise_pieces import LinearPieces
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

# From this many runs on the logarithmic form is taken: two rows per bit instead of two per kink, but weaker branching.
# On transport problems with piecewise costs HiGHS was faster with the incremental form up to 8 pieces, with the other
# from 12 on.
MANY_RUNS = 9

Form = Callable[[ProblemBuilder, PiecewiseTerms], None]


class PiecewiseForms:
    """Piecewise -> linear rows, and binaries where they are needed."""

    name: ClassVar[str] = "piecewise"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return any(isinstance(d, Piecewise) and d.size for d in analysis.problem.definitions)

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        for definition in analysis.problem.definitions:
            if isinstance(definition, Piecewise) and definition.size:
                _reformulate(builder, analysis, definition, target)
        return builder.step()


def _reformulate(builder: ProblemBuilder, analysis: Analysis, definition: Piecewise, target: Target) -> None:
    low, high = analysis.bounds.of(definition.arguments)
    low, high = np.minimum(low, high), np.maximum(low, high)  # crossed: nothing is feasible, whatever the range
    down, up = analysis.directions.down[definition.results], analysis.directions.up[definition.results]
    assert definition.curves is not None
    segments = np.diff(definition.curves.starts)[definition.which] + 1
    builder.expect(int(segments.sum()), definition.name, definition.span)
    pieces = definition.pieces(low, high, down, up)
    needed = down | up
    plain, bent = needed & (pieces.runs == 1), needed & (pieces.runs > 1)
    # What needs binaries is left to targets that take it as it is, and refused behind the passes for those that
    # take no integer columns.
    kept = bent & (target.takes(definition.op) or not target.takes(INTEGERS))
    bent &= ~kept
    needed_ends = np.flatnonzero(bent & ~np.isfinite(low)), np.flatnonzero(bent & ~np.isfinite(high))
    if any(map(len, needed_ends)):
        problem, bounds = analysis.problem, analysis.bounds
        raise DiagnosticError(
            missing_bounds(problem, bounds, definition.arguments, needed_ends, definition.name, definition.span)
        )
    in_plain = np.where(plain, pieces.counts * np.diff(definition.arguments.matrix.starts), 0)
    builder.expect(int(in_plain.sum()), definition.name, definition.span)
    many = bent & (pieces.runs >= MANY_RUNS)
    forms: list[tuple[str, Bools, Form]] = [
        ("one row per piece", plain, add_piece_rows),
        ("incremental form", bent & ~many, add_incremental),
        ("logarithmic form", many, add_logarithmic),
    ]
    for effect, chosen, add in forms:
        entries = np.flatnonzero(chosen)
        if len(entries):
            rows, columns = builder.rows, builder.columns
            add(builder, _terms(builder, definition, pieces, down, up, entries))
            builder.notes.append(
                _note(definition, effect, len(entries), builder.rows - rows, builder.columns - columns)
            )
    builder.remove(definition, ~kept)


def _terms(
    builder: ProblemBuilder, definition: Piecewise, pieces: LinearPieces, down: Bools, up: Bools, entries: Codes
) -> PiecewiseTerms:
    name = builder.problem.column_family(int(definition.results[0])).name
    index = builder.index_of(definition, entries)
    return PiecewiseTerms(definition.take(entries), pieces.of(entries), down[entries], up[entries], name, index)


def _note(definition: Piecewise, effect: str, entries: int, rows: int, columns: int) -> Note:
    return Note(PiecewiseForms.name, definition.name, effect, entries, rows, columns, span=definition.span)
