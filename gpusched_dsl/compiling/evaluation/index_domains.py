"""Domains of index tuples: their construction from columns, and the order and the integer labels of their elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.domains import Component, Domain, IntervalDomain, Packing, TupleDomain


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


def is_ascending(domain: Domain) -> bool:
    """Whether a one-dimensional domain lists its elements in increasing order of code and of integer label."""
    if domain.arity != 1:
        return False
    if isinstance(domain, IntervalDomain) and domain.components[0] is None:
        return True
    codes = domain.columns()[0]
    component = domain.components[0]
    if component is None:
        return bool(np.all(np.diff(codes) > 0))
    labels = component.integer_labels
    return labels is not None and bool(np.all(np.diff(codes) > 0)) and bool(np.all(np.diff(labels) > 0))


def integer_labels(domain: Domain, codes: Codes) -> Codes:
    """Codes of a one-dimensional domain as the integers that label them; numbers of a plain range stay themselves."""
    component = domain.components[0]
    labels = None if component is None else component.integer_labels
    return codes if labels is None else labels[codes]
