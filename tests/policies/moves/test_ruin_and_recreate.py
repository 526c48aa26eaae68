"""Repacked nodes: the best content of one or two nodes, against enumeration."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pytest
from move_clusters import Places, random_schedule, random_workload, read, written

from gpusched_dsl.policies.kernels.moves.change import apply, empty_change
from gpusched_dsl.policies.kernels.moves.delta_evaluation import empty_delta_evaluation, update_delta_evaluation
from gpusched_dsl.policies.kernels.moves.ruin_and_recreate import is_separable, repack_node, repack_two
from gpusched_dsl.policies.kernels.pricing import FIRST_END, TOTAL, price
from gpusched_dsl.policies.local_search import improve, shortest_minus_due
from gpusched_dsl.policies.search import UNLIMITED
from gpusched_dsl.policies.workload import NONE, Schedule, Workload, copy_of

MOST_CONTENTS = 4000


def contents(work: Workload, plan: Schedule, nodes: tuple[int, ...], *, new_kinds: bool) -> Iterator[Schedule]:
    """Every schedule in which the jobs of some nodes and the postponed ones run on these nodes or not."""
    kinds, places = read(plan)
    others: Places = {j: place for j, place in places.items() if place[0] not in nodes}
    free = [j for j in range(len(work.due)) if j not in others]
    for chosen in product(*(range(len(work.units)) if new_kinds else [kinds[n]] for n in nodes)):
        now = list(kinds)
        for n, k in zip(nodes, chosen, strict=True):
            now[n] = k
        ways = [
            [(NONE, NONE)]
            + [(n, w) for n in nodes for w in range(work.first_way[j], work.first_way[j + 1]) if work.kind[w] == now[n]]
            for j in free
        ]
        for picked in product(*ways):
            taken = {j: (n, w, NONE) for j, (n, w) in zip(free, picked, strict=True) if n != NONE}
            made = written(work, now, {**others, **taken})
            if made is not None:
                yield made


def cases(seeds: range) -> Iterator[tuple[np.random.Generator, Workload]]:
    """Small workloads whose nodes have prices of their own."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        work = random_workload(rng)
        delta = empty_delta_evaluation(work, TOTAL, shortest_minus_due(work))
        if is_separable(work, delta) and len(work.job) <= 60 and len(work.due) <= 5:
            yield rng, work


def _hold_one_node(seeds: range) -> int:
    held = 0
    for rng, work in cases(seeds):
        change = empty_change(work)
        for plan in (random_schedule(rng, work) for _ in range(2)):
            delta = empty_delta_evaluation(work, TOTAL, shortest_minus_due(work))
            update_delta_evaluation(work, plan, delta)
            gain = repack_node(work, plan, delta, 0, change)
            best = np.inf
            for n in range(len(plan.kind)):
                for made in contents(work, plan, (n,), new_kinds=True):
                    best = min(best, price(work, made, TOTAL))
            assert delta.sums[0] + gain == pytest.approx(best, rel=1e-9, abs=1e-9)
            after = copy_of(plan)
            apply(work, after, change)
            assert written(work, *read(after)) is not None
            assert price(work, after, TOTAL) == pytest.approx(best, rel=1e-9, abs=1e-9)
            held += 1
    return held


@pytest.mark.slow
def test_one_node_gets_its_best_content() -> None:
    assert _hold_one_node(range(250)) >= 10


@pytest.mark.slow
def test_one_node_gets_its_best_content_many() -> None:
    assert _hold_one_node(range(1000, 6000)) >= 200


def _hold_two_nodes(seeds: range) -> int:
    held = 0
    for rng, work in cases(seeds):
        change = empty_change(work)
        plan = random_schedule(rng, work)
        delta = empty_delta_evaluation(work, TOTAL, shortest_minus_due(work))
        update_delta_evaluation(work, plan, delta)
        before = delta.sums[0]
        gain = repack_two(work, plan, delta, 0, change)
        assert delta.sums[0] == before  # they are those of the schedule again
        if np.isfinite(gain):
            after = copy_of(plan)
            apply(work, after, change)
            assert written(work, *read(after)) is not None
            assert price(work, after, TOTAL) == pytest.approx(before + gain, rel=1e-9, abs=1e-9)
            assert gain < 0
        # Where nothing helps any more, no content of two nodes is better.
        end = improve(work, [plan], [("repack_node", 0), ("repack_two", 0)], UNLIMITED, "total")
        least = price(work, end, TOTAL)
        used = [n for n in range(len(end.kind)) if end.jobs[n] > 0]
        for pair in combinations(used, 2):
            for number, made in enumerate(contents(work, end, pair, new_kinds=False)):
                assert price(work, made, TOTAL) >= least - 1e-7 * max(1.0, least)
                held += 1
                if number > MOST_CONTENTS:
                    break
    return held


@pytest.mark.slow
def test_two_nodes_end_with_their_best_content() -> None:
    assert _hold_two_nodes(range(250)) >= 100


@pytest.mark.slow
def test_two_nodes_end_with_their_best_content_many() -> None:
    assert _hold_two_nodes(range(1000, 5000)) >= 1000


def test_other_prices_are_left_alone() -> None:
    rng = np.random.default_rng(3)
    work = random_workload(rng)
    plan = random_schedule(rng, work)
    delta = empty_delta_evaluation(work, FIRST_END, shortest_minus_due(work))
    update_delta_evaluation(work, plan, delta)
    change = empty_change(work)
    for move in (repack_node, repack_two):
        assert move(work, plan, delta, 0, change) == np.inf
        assert change.shape[0] == 0


def test_a_search_is_stopped_between_changes() -> None:
    moves = [("repack_node", 0), ("halve_gpus", 10)]
    earlier = 0
    for rng, work in cases(range(150)):
        plan = random_schedule(rng, work)
        whole = improve(work, [plan], moves, UNLIMITED, "total")
        stopped = improve(work, [plan], moves, UNLIMITED, "total", stopped=lambda: True)
        prices = [price(work, one, TOTAL) for one in (whole, stopped, plan)]
        assert prices == sorted(prices)
        earlier += prices[0] < prices[1] - 1e-9
    assert earlier > 3
