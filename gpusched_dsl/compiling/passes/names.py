"""Names that users give to what may be left out: of tightening passes, and of aggregation, which comes before them."""

from __future__ import annotations

from collections.abc import Collection

AGGREGATION = "aggregation"
EVERY = "all"


def folds(without: Collection[str]) -> bool:
    """Whether interchangeable elements are to be aggregated."""
    return AGGREGATION not in without and EVERY not in without
