"""The queue of a run is the queue of every moment of it."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched_dsl.online.replay.queue_order import NoOneOrder, queue_order
from gpusched_dsl.policies.kernels.ranking import order_rows


def order_of(keys: np.ndarray, rows: np.ndarray) -> list[int]:
    """How a policy sorts some of the jobs."""
    return [int(rows[at]) for at in order_rows(keys[rows])]


def test_random_queues_are_those_of_every_selection_of_jobs() -> None:
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(200):
        count = int(rng.integers(1, 12))
        keys = rng.integers(-2, 3, (count, int(rng.integers(0, 4)))).astype(np.float64)
        keys *= 1 + rng.choice([0.0, 7e-10, -6e-10, 1e-8], keys.shape, p=[0.7, 0.14, 0.14, 0.02])
        keys[rng.random(keys.shape) < 0.03] = np.inf
        keys[rng.random(keys.shape) < 0.03] = np.nan
        try:
            order = queue_order(keys)
        except NoOneOrder:
            refused += 1
            continue
        for _ in range(5):
            rows = np.flatnonzero(rng.random(count) < 0.7)
            assert order_of(keys, rows) == [j for j in order.tolist() if j in rows], keys
    assert 0 < refused < 150


def test_chains_of_near_keys_are_refused() -> None:
    # Of the first two the one listed first comes first; with the third one there, the second one does.
    keys = np.array([[1.0 + 1.6e-9], [1.0 + 0.8e-9], [1.0]])
    assert order_of(keys, np.array([0, 1])) == [0, 1]
    assert order_of(keys, np.array([0, 1, 2])) == [1, 2, 0]
    with pytest.raises(NoOneOrder):
        queue_order(keys)


def test_a_queue_of_nobody() -> None:
    assert queue_order(np.zeros((0, 2))).tolist() == []
    assert queue_order(np.zeros((3, 0))).tolist() == [0, 1, 2]
