"""Passes of other packages, by entry points that name their classes."""

from __future__ import annotations

from functools import cache

from gpusched_dsl.compiling.passes.steps import Pass
from gpusched_dsl.language.entry_points import load_entry_points

PASSES_GROUP, TIGHTENINGS_GROUP = "gpusched_dsl.passes", "gpusched_dsl.tightenings"


@cache
def added_passes(group: str) -> tuple[Pass, ...]:
    """Return the passes of other packages; raise ValueError for entries that are not classes."""
    return tuple(kind() for kind in load_entry_points(group, type).values())
