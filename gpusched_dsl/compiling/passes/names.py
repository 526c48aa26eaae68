"""Names of the steps that users may skip: tightening passes, and aggregation, which is earlier."""

from __future__ import annotations

from collections.abc import Collection

AGGREGATION = "aggregation"
EVERY = "all"


def allows_aggregation(without: Collection[str]) -> bool:
    """Whether interchangeable elements are to be aggregated."""
    return AGGREGATION not in without and EVERY not in without
