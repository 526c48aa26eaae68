"""Why a term is not convex where it stands, in words."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.convexity.factored_terms import RECIPROCAL, UNIT, FactoredTerms
from gpusched_dsl.compiling.convexity.groups import groups_of
from gpusched_dsl.compiling.convexity.readers import Readers
from gpusched_dsl.compiling.convexity.semidefinite import SymmetricMatrices
from gpusched_dsl.compiling.passes.steps import Analysis
from gpusched_dsl.ir.definitions import Definition

NEITHER = "it is neither convex nor concave"
EQUALITY = "it occurs as an equality: both directions are needed"


def reason(analysis: Analysis, definition: Definition, entry: int) -> str:
    """Why an entry is not convex, together with the other terms of the first sum that reads it."""
    convex, concave = (bool(shape[entry]) for shape in definition.convexity(*analysis.bounds.of(definition.arguments)))
    result = int(definition.results[entry])
    if convex or concave:
        shape, wrong = ("convex", "larger") if convex else ("concave", "smaller")
        if analysis.directions.down[result] and analysis.directions.up[result]:
            return f"it is {shape}, but {EQUALITY}"
        return f"it is {shape}, but {wrong} values of it are better"
    return _together(analysis, result)


def _together(analysis: Analysis, column: int) -> str:
    readers, terms = Readers.of(analysis), FactoredTerms(analysis.problem)
    at = np.flatnonzero(readers.matrix.columns == column)
    if not len(at):
        return NEITHER
    reader = int(readers.matrix.row_of[at[0]])
    if readers.smaller[reader] and readers.larger[reader]:
        return EQUALITY
    kind = int(terms.kind_of(np.array([column]))[0])
    only = np.arange(readers.count) == reader
    asked = np.arange(analysis.problem.columns) == column
    groups = groups_of(readers, terms, kind, asked, only, np.ones(readers.matrix.nonzeros, dtype=np.bool_))
    if not groups.count:
        return NEITHER
    if kind == RECIPROCAL:
        low, high = analysis.bounds.of(terms.arguments.take(groups.factors))
        if low[0] < 0 < high[0]:
            return f"its denominator is between {low[0]:.6g} and {high[0]:.6g}"
        return NEITHER
    if kind != UNIT:
        return NEITHER
    matrices = SymmetricMatrices.of_polynomials(groups.polynomials.quadratic)
    smallest = matrices.smallest_eigenvalue(0) if matrices.sizes[0] else None
    if smallest is None:
        return f"a quadratic of {int(matrices.sizes[0]):,} variables is too large to be examined"
    name, _ = readers.source(int(readers.owner[reader]))
    wanted = "smaller" if groups.signs[0] > 0 else "larger"
    whose = "its matrix" if len(groups.entries) == 1 else f"the matrix of all quadratic terms of `{name}`"
    return f"{wanted} values of it are better, but {whose} has the eigenvalue {smallest * groups.signs[0]:.4g}"
