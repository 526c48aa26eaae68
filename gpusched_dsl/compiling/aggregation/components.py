"""The columns of interchangeable elements taken apart into components that no row of an element connects."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from gpusched_dsl.compiling.aggregation.parts import Component
from gpusched_dsl.compiling.symmetry.quotient import Quotient


def components_of(quotient: Quotient) -> list[Component]:
    """The components of all classes of more than one element, in the order of their first columns."""
    matrix = quotient.problem.matrix
    many = quotient.classes.sizes > 1
    local = (quotient.column_class >= 0) & many[np.maximum(quotient.column_class, 0)]
    at = np.flatnonzero(local[matrix.columns] & (quotient.row_class[matrix.row_of] >= 0))
    rows, columns = matrix.row_of[at].astype(np.int64), matrix.columns[at].astype(np.int64)
    count = quotient.problem.columns
    graph = sparse.coo_matrix(
        (np.ones(len(rows), dtype=np.int8), (columns, count + rows)), shape=(count + quotient.problem.rows,) * 2
    )
    _, label = connected_components(graph, directed=False)
    numbers = np.flatnonzero(local)
    order = numbers[np.argsort(label[numbers], kind="stable")]
    parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if len(order) else []
    used = np.unique(rows)
    rows_of = used[np.argsort(label[count + used], kind="stable")]
    names = label[count + rows_of]
    result = []
    for part in parts:
        name = label[part[0]]
        begin, end = np.searchsorted(names, (name, name + 1))
        found = Component(int(quotient.column_class[part[0]]), part, np.sort(rows_of[begin:end]))
        result.append(found)
    return sorted(result, key=lambda c: int(c.columns[0]))
