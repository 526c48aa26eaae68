"""Orders by several keys against sorting with tuples; equality within a tolerance; excluded elements."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.policies.kernels.ranking import are_same, list_ways, order_rows, rank_ways
from gpusched_dsl.policies.workload import NEVER, NONE


def test_rows_are_ordered_as_tuples_are() -> None:
    rng = np.random.default_rng(1)
    for rows in (0, 1, 2, 7, 8, 9, 31, 32, 33, 64, 65, 200, 1_000):
        for columns in range(4):
            keys = rng.integers(0, 1 + rows // 3, (rows, columns)).astype(float)
            expected = sorted(range(rows), key=lambda row: (*keys[row].tolist(), row))
            assert order_rows(keys).tolist() == expected


def test_keys_that_differ_by_rounding_are_equal() -> None:
    near = 1.0 + 5e-10
    assert order_rows(np.array([[near, 2.0], [1.0, 3.0], [1.0, 1.0]])).tolist() == [2, 0, 1]
    assert order_rows(np.array([[near], [1.0], [near]])).tolist() == [0, 1, 2]
    assert order_rows(np.array([[1.0 + 5e-9], [1.0], [1.0 + 5e-9]])).tolist() == [1, 0, 2]
    # A chain: the third is the same as the second, but not as the first, where the group begins.
    chain = np.array([[1.0 + 16e-10, 0.0], [1.0 + 8e-10, 0.0], [1.0, 1.0]])
    assert order_rows(chain).tolist() == [1, 2, 0]


def test_infinite_keys_are_equal_to_each_other_alone() -> None:
    assert are_same(np.inf, np.inf)
    assert not are_same(np.inf, 1.0)
    assert not are_same(-np.inf, np.inf)
    keys = np.array([[np.inf, 2.0], [1.0, 0.0], [np.inf, 1.0], [-np.inf, 0.0]])
    assert order_rows(keys).tolist() == [3, 1, 2, 0]


def test_ranks_count_what_comes_before_and_ties_share_them() -> None:
    first_way = np.array([0, 4, 4, 7])
    keys = np.array([[2.0], [1.0], [1.0], [0.0], [5.0], [5.0], [4.0]])
    mask = np.array([1, 1, 1, 0, 1, 1, 1])
    choose = rank_ways(first_way, keys, mask)
    assert choose.tolist() == [2, 0, 0, NEVER, 1, 1, 0]
    otherwise = rank_ways(first_way, -keys, np.array([1, 1, 1, 1, 0, 0, 0]))
    assert otherwise.tolist() == [0, 1, 1, 3, NEVER, NEVER, NEVER]
    ranked, preferred = list_ways(first_way, choose, otherwise)
    assert ranked.tolist() == [1, 2, 0, 3, 6, 4, 5]
    assert preferred.tolist() == [3, 0, 3]
    ranked, preferred = list_ways(first_way, choose, np.full(7, NEVER))
    assert ranked.tolist() == [1, 2, 0, NONE, 6, 4, 5]
