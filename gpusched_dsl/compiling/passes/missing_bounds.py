"""GSM3202: a reformulation needs the range of an expression, and a column in it has no bound."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.analysis.bounds import Bounds
from gpusched_dsl.compiling.passes.unsupported import KNOWN
from gpusched_dsl.ir.arrays import Bools, Codes, Int32s
from gpusched_dsl.ir.definitions import Affines
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Label
from gpusched_dsl.language.source import Span


def missing_bounds(
    problem: Problem,
    bounds: Bounds,
    affines: Affines,
    needed: tuple[Codes, Codes],
    what: str,
    span: Span | None,
    operation: str = "",
) -> list[Diagnostic]:
    """A diagnostic per variable without the bound that the lower (`needed[0]`) and upper ends of expressions need.

    It names the backends that take the `operation` without bounds.
    """
    takers = [f"`{target.name}`" for target in KNOWN if operation and not target.convex and target.takes(operation)]
    otherwise = f"; or choose {' or '.join(takers)}, which supports the term directly" if takers else ""
    matrix = affines.matrix
    column, positive = matrix.columns, matrix.values > 0
    for_low, for_high = np.zeros(affines.count, dtype=np.bool_), np.zeros(affines.count, dtype=np.bool_)
    for_low[needed[0]] = for_high[needed[1]] = True
    for_low, for_high = for_low[matrix.row_of], for_high[matrix.row_of]
    no_lower = np.isneginf(bounds.lower[column]) & ((positive & for_low) | (~positive & for_high))
    no_upper = np.isposinf(bounds.upper[column]) & ((positive & for_high) | (~positive & for_low))
    without_upper, without_lower = _declared_columns(problem, bounds, column[no_upper], column[no_lower])
    found: dict[tuple[int, str], Diagnostic] = {}
    for columns, side in ((without_upper, "upper"), (without_lower, "lower")):
        firsts = np.array([f.first for f in problem.column_families])
        for place in np.unique(np.searchsorted(firsts, columns, side="right"), return_index=True)[1]:
            family = problem.column_family(int(columns[place]))
            name = entry_name(family, int(columns[place]))
            found[family.first, side] = Diagnostic(
                "GSM3202",
                f"`{what}` can only be made linear if `{family.name}` has {_article(side)} {side} bound",
                span,
                secondary=(Label(family.span, f"no {side} bound declared here"),) if family.span is not None else (),
                notes=(f"`{name}` has none: bound propagation through the constraints finds none either",),
                help=f"state {_article(side)} {side} bound in the declaration of `{family.name}`, as tight as possible"
                + otherwise,
            )
    return list(found.values())


def _declared_columns(problem: Problem, bounds: Bounds, no_upper: Int32s, no_lower: Int32s) -> tuple[Int32s, Int32s]:
    """Return the columns that determine the results: those without bounds in their definitions."""
    above, below = (np.zeros(problem.columns, dtype=np.bool_) for _ in range(2))
    above[no_upper] = below[no_lower] = True
    stop = problem.variables[-1].stop if problem.variables else 0
    seen = -1
    while seen != (seen := int(above.sum() + below.sum())):
        for definition in reversed(problem.definitions):
            wanted = np.flatnonzero((above | below)[definition.results])
            columns = definition.take(wanted).arguments.matrix.columns
            above[columns] |= np.isposinf(bounds.upper[columns])
            below[columns] |= np.isneginf(bounds.lower[columns])
        for family in problem.column_families:
            if family.first >= stop and (above | below)[family.slice].any():
                _follow_rows(problem, bounds, family, above, below)
    if above[:stop].any() or below[:stop].any():
        above[stop:] = below[stop:] = False
    return np.flatnonzero(above).astype(np.int32), np.flatnonzero(below).astype(np.int32)


def _follow_rows(problem: Problem, bounds: Bounds, family: Family, above: Bools, below: Bools) -> None:
    """Mark the columns that keep those of `family` without an end: in the rows to which a pass turned its term."""
    for rows in problem.constraints:
        if not rows.name.startswith(f"{family.name}."):
            continue
        matrix = problem.matrix.take(np.arange(rows.first, rows.stop))
        columns, positive = matrix.columns, matrix.values > 0
        own = (columns >= family.first) & (columns < family.stop)
        endless_above, endless_below, is_positive = (np.zeros(matrix.rows, dtype=np.bool_) for _ in range(3))
        endless_above[matrix.row_of[own & above[columns]]] = True
        endless_below[matrix.row_of[own & below[columns]]] = True
        is_positive[matrix.row_of[own & positive]] = True
        opposite = positive != is_positive[matrix.row_of]
        up = np.where(opposite, endless_above[matrix.row_of], endless_below[matrix.row_of])
        down = np.where(opposite, endless_below[matrix.row_of], endless_above[matrix.row_of])
        above[columns[~own & up & np.isposinf(bounds.upper[columns])]] = True
        below[columns[~own & down & np.isneginf(bounds.lower[columns])]] = True


def _article(side: str) -> str:
    return "an" if side == "upper" else "a"
