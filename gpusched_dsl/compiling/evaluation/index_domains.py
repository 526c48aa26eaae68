"""Domains of index tuples from code columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.domains import Component, Packing, TupleDomain


def sorted_tuples(
    components: tuple[Component, ...],
    columns: Sequence[Codes],
    *,
    keep_order: bool = False,
    order: Sequence[Codes] | None = None,
) -> TupleDomain:
    """The domain of the distinct tuples in some columns.

    `keep_order`: first occurrences in the given order; `order`: distinct already, sorted by these key columns.
    """
    columns = tuple(np.ascontiguousarray(c) for c in columns)
    if keep_order and len(columns[0]):
        _, first = np.unique(Packing.of(columns).keys(columns), return_index=True)
        if len(first) < len(columns[0]):
            rows = np.sort(first)
            columns = tuple(c[rows] for c in columns)
    if order is not None and len(columns[0]):
        keys = Packing.of(order).keys(order)
        if not np.all(np.diff(keys) > 0):
            rows = np.argsort(keys, kind="stable")
            columns = tuple(c[rows] for c in columns)
    return TupleDomain(components, columns)
