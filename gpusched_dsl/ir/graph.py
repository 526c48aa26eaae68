"""Connected components of a graph that is given by its edges.

SciPy takes longer to load than a small solve takes in all, so it searches only graphs of 200,000 edges and more.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Int32s

MANY = 200_000  # edges: with more, the search of SciPy saves as much time as it takes to load


def connected_components(nodes: int, first: Codes | Int32s, second: Codes | Int32s) -> Codes:
    """Return the component of each of the nodes 0, 1, ..., where edge i joins `first[i]` and `second[i]`.

    Components are numbered by their lowest nodes. Each round joins every tree with the lowest tree that an edge leads
    to, and then points all nodes at their roots: few rounds even for long paths.
    """
    if len(first) > MANY:
        from scipy.sparse import coo_array, csgraph

        graph = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(nodes, nodes))
        return np.asarray(csgraph.connected_components(graph, directed=False)[1], dtype=np.int64)
    root = np.arange(nodes)
    begin, end = root[first], root[second]
    while len(apart := np.flatnonzero(begin != end)):
        first, second, begin, end = first[apart], second[apart], begin[apart], end[apart]
        np.minimum.at(root, np.maximum(begin, end), np.minimum(begin, end))
        while not np.array_equal(above := root[root], root):
            root = above
        begin, end = root[first], root[second]
    is_root = root == np.arange(nodes)
    return (np.cumsum(is_root) - 1)[root]
