"""The nodes of one gang against enumeration: all workers or none, the fewest racks, then the fewest nodes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.policies.kernels.gang_nodes import ANYWHERE, ONE_NODE, ONE_RACK, fewest_racks


def place(rack: Ints, most: Ints, used: Ints, rest: Ints, workers: int) -> tuple[int, Ints] | None:
    """The first span with room, and the workers on each node."""
    counts = np.zeros(len(rack), dtype=np.int64)
    for span in (ONE_NODE, ONE_RACK, ANYWHERE):
        if fewest_racks(rack, most, used.astype(np.bool_), rest, workers, span, counts):
            return span, counts
    return None


def least(rack: Ints, most: Ints, workers: int) -> tuple[int, int] | None:
    """The fewest racks, and of these the fewest nodes, by enumeration of sets of nodes."""
    best = None
    for size in range(1, len(rack) + 1):
        for nodes in combinations(range(len(rack)), size):
            if sum(int(most[n]) for n in nodes) >= workers:
                found = (len({int(rack[n]) for n in nodes}), size)
                best = found if best is None else min(best, found)
    return best


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 20))])
def test_against_enumeration(seed: int) -> None:
    for at in range(40):
        check(np.random.default_rng(100 * seed + at))


def check(rng: np.random.Generator) -> None:
    count = int(rng.integers(1, 9))
    rack = np.unique(rng.integers(0, 4, count), return_inverse=True)[1].astype(np.int64)
    most, used, rest = (rng.integers(0, high, count) for high in (5, 2, 9))
    workers = int(rng.integers(1, 1 + max(1, int(most.sum()) + 2)))
    expected, found = least(rack, most, workers), place(rack, most, used, rest, workers)
    assert (expected is None) == (found is None)
    if expected is None or found is None:
        return
    span, counts = found
    nodes = np.flatnonzero(counts)
    assert counts.sum() == workers
    assert (counts <= most).all()
    assert (len(np.unique(rack[nodes])), len(nodes)) == expected
    assert span == (ONE_NODE if expected[1] == 1 else ONE_RACK if expected[0] == 1 else ANYWHERE)


def test_one_node_is_the_best_fit() -> None:
    rack, most = np.zeros(4, dtype=np.int64), np.array([4, 2, 3, 2])
    rest = np.array([4, 2, 3, 2])
    found = place(rack, most, np.array([0, 0, 1, 1]), rest, 2)
    assert found is not None
    assert found[1].tolist() == [0, 0, 0, 2]  # in use, and the fewest free GPUs
    found = place(rack, most, np.array([0, 0, 0, 0]), rest, 3)
    assert found is not None
    assert found[1].tolist() == [0, 0, 3, 0]


def test_the_last_node_is_tight_and_the_fuller_rack_comes_first() -> None:
    rack, most = np.array([0, 0, 0, 1, 1]), np.array([4, 4, 1, 4, 4])
    free = np.zeros(5, dtype=np.int64)
    found = place(rack, most, free, most, 5)
    assert found is not None
    assert found[1].tolist() == [0, 0, 0, 4, 1]  # two nodes in both racks: the second has less room
    found = place(rack[:3], most[:3], free[:3], most[:3], 5)
    assert found is not None
    assert found[1].tolist() == [4, 0, 1]  # one worker goes on the small node, not on the second large one
