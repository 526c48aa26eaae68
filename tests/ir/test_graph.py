"""Connected components against those of SciPy: random graphs, paths, stars, and none at all."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import coo_array, csgraph

from gpusched_dsl.ir import graph
from gpusched_dsl.ir.graph import connected_components


def by_scipy(nodes: int, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int32]:
    matrix = coo_array((np.ones(len(first)), (first, second)), shape=(nodes, nodes))
    label: NDArray[np.int32] = csgraph.connected_components(matrix, directed=False)[1]
    return label


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs(seed: int) -> None:
    random = np.random.default_rng(seed)
    nodes = int(random.integers(1, 60))
    first, second = random.integers(0, nodes, (2, int(random.integers(0, 2 * nodes))))
    assert np.array_equal(connected_components(nodes, first, second), by_scipy(nodes, first, second))


def test_long_paths_and_stars() -> None:
    path = np.random.default_rng(0).permutation(3000)
    star = np.full(2999, 1500)
    for first, second in ((path[:-1], path[1:]), (star, np.arange(2999))):
        assert np.array_equal(connected_components(3000, first, second), by_scipy(3000, first, second))


def test_many_edges_are_left_to_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = np.random.default_rng(1).integers(0, 300, (2, 250))
    expected = connected_components(300, first, second)
    monkeypatch.setattr(graph, "MANY", 249)
    found = connected_components(300, first, second)
    assert np.array_equal(found, expected)
    assert found.dtype == expected.dtype


def test_no_nodes_and_no_edges() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert connected_components(0, none, none).tolist() == []
    assert connected_components(3, none, none).tolist() == [0, 1, 2]
    loops = np.array([1, 0], dtype=np.int32)
    assert connected_components(2, loops, loops).tolist() == [0, 1]
