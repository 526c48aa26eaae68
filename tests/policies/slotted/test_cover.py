"""The cheapest nodes for some loads, by enumeration of every assignment of nodes to services."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gpusched_dsl.policies.kernels.slotted_cluster import Guard
from gpusched_dsl.policies.kernels.slotted_cover import Cover, cost_of, greedy, least_excess, search
from gpusched_dsl.policies.kernels.slotted_guard import ask, ask_one_service_each


def cheapest(free, capacity, load, whole, unit, class_by_id):  # type: ignore[no-untyped-def]
    """Cost, excess, whether proven, and counts: as a policy asks for them in a slot."""
    count = np.zeros(capacity.shape, dtype=np.int64)
    excess, proven = least_excess(free, capacity, load, count)
    if excess > 0:
        return np.inf, excess, proven, count
    cover = Cover(free, capacity, load, whole, unit, np.inf)
    cost, proven = search(cover, class_by_id, count, cost_of(cover, count))
    return cost, 0.0, proven, count


def tried(capacity, load, whole, unit, class_of):  # type: ignore[no-untyped-def]
    """The least of (excess, cost, number of nodes, their numbers); only the excess where there is any."""
    best = (np.inf, np.inf, 0, ())
    for choice in product(range(-1, len(load)), repeat=len(class_of)):
        excess = cost = 0.0
        for s, rest in enumerate(load):
            mine = [c for k, c in enumerate(class_of) if choice[k] == s]
            cost += sum(whole[s, c] for c in mine)
            for c in sorted(mine, key=lambda c: unit[s, c]):
                take = min(rest, capacity[s, c])
                cost += take * unit[s, c]
                rest -= take
            excess += rest
        nodes = tuple(k for k, s in enumerate(choice) if s >= 0)
        found = (round(excess, 6), round(cost, 6), len(nodes), nodes)
        best = min(best, found if found[0] == 0 else (found[0], np.inf, 0, ()))
    return best


def random_problem(seed: int):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    services, classes, nodes = rng.integers(1, 4), rng.integers(1, 4), rng.integers(1, 6)
    class_of = rng.integers(0, classes, nodes)
    capacity = rng.integers(0, 8, (services, classes)) * 100.0
    load = rng.integers(0, 9, services) * 100.0
    whole = rng.integers(0, 5, (services, classes)) * 10.0
    unit = rng.integers(0, 4, (services, classes)) * 0.05
    return class_of, np.bincount(class_of, minlength=classes), capacity, load, whole, unit


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, pytest.param(1000, marks=pytest.mark.slow)])
def test_cheapest_nodes(first: int) -> None:
    served = 0
    for seed in range(first, first + (80 if first == 0 else 3000)):
        class_of, free, capacity, load, whole, unit = random_problem(seed)
        cost, excess, proven, count = cheapest(free, capacity, load, whole, unit, class_of)
        wanted = tried(capacity, load, whole, unit, class_of)
        assert proven
        assert excess == pytest.approx(wanted[0], abs=1e-5)
        assert (count.sum(axis=0) <= free).all()
        if wanted[0] > 0:
            continue
        served += 1
        assert cost == pytest.approx(wanted[1], abs=1e-5)
        order = {c: list(np.flatnonzero(class_of == c)) for c in range(len(free))}
        nodes = sorted(k for c, m in enumerate(count.sum(axis=0)) for k in order[c][:m])
        assert tuple(nodes) == wanted[3]  # the fewest, then those of lowest number
    assert served > 20


def test_fewer_nodes_then_lower_numbers() -> None:
    """Two nodes at 50 cost as much as one at 100; of two at 100 the first is taken."""
    free, class_by_id = np.array([2, 1, 1]), np.array([0, 0, 2, 1])
    capacity, whole = np.array([[50.0, 100.0, 100.0]]), np.array([[50.0, 100.0, 100.0]])
    cost, _, _, count = cheapest(free, capacity, np.array([100.0]), whole, np.zeros((1, 3)), class_by_id)
    assert cost == 100
    assert count.tolist() == [[0, 0, 1]]


def test_nodes_of_many_classes_are_shared_out() -> None:
    """Each class serves one service only: taken greedily, the first takes the only node of the second."""
    capacity = np.array([[100.0, 100.0], [100.0, 0.0]])
    count = np.zeros((2, 2), dtype=np.int64)
    excess, proven = least_excess(np.array([1, 1]), capacity, np.array([100.0, 100.0]), count)
    assert (excess, proven) == (0, True)
    assert count.tolist() == [[0, 1], [1, 0]]


def test_what_no_node_can_take_is_the_excess() -> None:
    capacity = np.array([[100.0, 30.0]])
    count = np.zeros((1, 2), dtype=np.int64)
    assert greedy(np.array([1, 1]), capacity, np.array([150.0]), count) == pytest.approx(20)
    assert count.tolist() == [[1, 1]]


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_answers_of_the_guard(kind: int) -> None:
    """One more node of a class trains: all nodes that are left, tried one by one."""
    from slotted_reference import can_serve
    from small_clusters import random_case

    yes = 0
    for seed in range(60):
        case = random_case(seed)
        classes = case.length.shape[1]
        rng = np.random.default_rng(seed)
        training = rng.random((case.nodes, case.slots)) < 0.3
        left = np.stack([(~training[case.class_of == c]).sum(axis=0) for c in range(classes)])
        known = np.full(left.shape, -1)
        guard = Guard(kind, case.capacity, case.load)
        (ask_one_service_each if kind == 2 else ask)(guard, left, known, 0, case.slots)
        for c in range(classes):
            for h in range(case.slots):
                idle = [k for k in range(case.nodes) if not training[k, h]]
                mine = [k for k in idle if case.class_of[k] == c]
                wanted = bool(mine) and can_serve(case, h, [k for k in idle if k != mine[0]], kind)
                assert known[c, h] == wanted
                yes += wanted
    assert yes > 100
