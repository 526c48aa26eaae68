"""GSM3202: a reformulation needs the range of an expression, and a column in it has no bound."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.bounds import Bounds
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.domains import Codes
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics import Diagnostic, Label
from gpusched_dsl.language.source import Span


def missing_bounds(
    problem: Problem, bounds: Bounds, affines: Affines, needed: tuple[Codes, Codes], what: str, span: Span | None
) -> list[Diagnostic]:
    """A diagnostic per variable without the bound that the lower (`needed[0]`) and upper ends of expressions need."""
    matrix = affines.matrix
    column, positive = matrix.columns, matrix.values > 0
    for_low, for_high = np.zeros(affines.count, dtype=np.bool_), np.zeros(affines.count, dtype=np.bool_)
    for_low[needed[0]] = for_high[needed[1]] = True
    for_low, for_high = for_low[matrix.row_of], for_high[matrix.row_of]
    no_lower = np.isneginf(bounds.lower[column]) & ((positive & for_low) | (~positive & for_high))
    no_upper = np.isposinf(bounds.upper[column]) & ((positive & for_high) | (~positive & for_low))
    found: dict[tuple[int, str], Diagnostic] = {}
    for places, side in ((no_upper, "upper"), (no_lower, "lower")):
        columns = np.unique(column[places])
        firsts = np.array([f.first for f in problem.column_families])
        for place in np.unique(np.searchsorted(firsts, columns, side="right"), return_index=True)[1]:
            family = problem.column_family(int(columns[place]))
            name = entry_name(family, int(columns[place]))
            found[family.first, side] = Diagnostic(
                "GSM3202",
                f"`{what}` can only be made linear when `{family.name}` has {_article(side)} {side} bound",
                span,
                secondary=(Label(family.span, f"no {side} bound is stated here"),) if family.span is not None else (),
                notes=(f"`{name}` is without one: none follows from the constraints either",),
                help=f"state {_article(side)} {side} bound where `{family.name}` is declared, as tight as you know it",
            )
    return list(found.values())


def _article(side: str) -> str:
    return "an" if side == "upper" else "a"
