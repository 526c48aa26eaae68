"""Terms that are not convex by themselves where they stand."""

from __future__ import annotations

from gpusched_dsl.compiling.passes.steps import Analysis
from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.definitions import Definition


def bent_entries(analysis: Analysis, definition: Definition) -> Bools:
    """Return the entries with a needed half that is not convex."""
    convex, concave = definition.convexity(*analysis.bounds.of(definition.arguments))
    results = definition.results
    bent: Bools = (analysis.directions.down[results] & ~convex) | (analysis.directions.up[results] & ~concave)
    return bent
