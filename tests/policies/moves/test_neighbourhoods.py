"""Each neighbourhood's best candidate against its candidate set, and its price against the full price."""

from __future__ import annotations

import numpy as np
import pytest
from move_clusters import random_schedule, random_workload, read, written
from neighbours import candidates

from gpusched_dsl.policies.kernels.moves.change import apply, clear, empty_change, name_job
from gpusched_dsl.policies.kernels.moves.delta_evaluation import empty_delta_evaluation, update_delta_evaluation
from gpusched_dsl.policies.kernels.pricing import PRICES, price
from gpusched_dsl.policies.local_search import BUILT_IN, improve, shortest_minus_due
from gpusched_dsl.policies.rules import MOVE_CODES
from gpusched_dsl.policies.search import UNLIMITED
from gpusched_dsl.policies.workload import NONE, copy_of

SEVEN = tuple(MOVE_CODES)[:7]  # those of the text


def _hold_against_enumeration(seeds: range) -> np.ndarray:
    found = np.zeros((len(SEVEN), 2), dtype=int)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        work = random_workload(rng)
        pressure = shortest_minus_due(work)
        if rng.random() < 0.3:
            pressure = rng.integers(0, 3, len(pressure)).astype(float)  # with ties
        change = empty_change(work)
        for plan in (random_schedule(rng, work) for _ in range(3)):
            for kind_of_price in PRICES.values():
                delta = empty_delta_evaluation(work, kind_of_price, pressure)
                update_delta_evaluation(work, plan, delta)
                assert delta.sums[0] == price(work, plan, kind_of_price)
                for move in range(len(SEVEN)):
                    length = int(rng.choice([0, 1, 3]))
                    gain = BUILT_IN[move](work, plan, delta, length, change)
                    all_prices = [price(work, p, kind_of_price) for p in candidates(work, plan, move, length, pressure)]
                    if not all_prices:
                        assert gain == np.inf
                        continue
                    after = copy_of(plan)
                    apply(work, after, change)
                    _check_delta_of(work, after)
                    full = price(work, after, kind_of_price)
                    assert delta.sums[0] + gain == pytest.approx(full, rel=1e-9, abs=1e-9)
                    assert full == pytest.approx(min(all_prices), rel=1e-8, abs=1e-8)
                    found[move, int(work.node_kind[0] >= 0)] += 1
    return found


def _check_delta_of(work, plan):
    """What a schedule says of its nodes agrees with where its jobs are, and everything fits."""
    again = written(work, *read(plan))
    assert again is not None
    for name in ("node", "way", "gpu", "kind", "used", "jobs", "spare"):
        assert (getattr(plan, name) == getattr(again, name)).all(), name
    assert plan.left == pytest.approx(again.left)
    assert ((plan.opened >= 0) == (plan.jobs > 0)).all()
    assert len(set(plan.opened[plan.opened >= 0].tolist())) == (plan.jobs > 0).sum()


@pytest.mark.slow
def test_best_candidates_are_those_of_the_text() -> None:
    found = _hold_against_enumeration(range(150))
    assert (found >= 8).all(), found  # of each move, on nodes to be rented and on nodes that are there


@pytest.mark.slow
def test_best_candidates_are_those_of_the_text_many() -> None:
    _hold_against_enumeration(range(1000, 2000))


def test_jobs_may_be_sent_to_the_queue_and_back() -> None:
    """Nodes close, and GPUs that were shared are whole again; another change opens them as they were."""
    shared = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        work = random_workload(rng)
        plan = random_schedule(rng, work)
        running = np.flatnonzero(plan.node >= 0)
        some = running[rng.random(len(running)) < 0.6]
        shared += int((plan.gpu[some] >= 0).sum())
        change, after = empty_change(work), copy_of(plan)
        for j in some.tolist():
            name_job(change, j, NONE, NONE, NONE)
        apply(work, after, change)
        _check_delta_of(work, after)
        for n in np.flatnonzero(
            (after.kind != plan.kind) & np.isin(np.arange(len(plan.kind)), plan.node[some])
        ).tolist():
            clear(change)  # one change opens one node
            change.shape[1:] = n, plan.kind[n]
            for j in some[plan.node[some] == n].tolist():
                name_job(change, j, int(plan.way[j]), n, int(plan.gpu[j]))
            apply(work, after, change)
            _check_delta_of(work, after)
    assert shared > 10


def test_search_never_makes_worse_and_ends_where_no_move_helps() -> None:
    everything = [(name, 0) for name in SEVEN]
    for seed in range(40):
        rng = np.random.default_rng(seed)
        work = random_workload(rng)
        plans = [random_schedule(rng, work) for _ in range(3)]
        for name, kind_of_price in PRICES.items():
            before = [price(work, plan, kind_of_price) for plan in plans]
            one = improve(work, plans, everything, 1, name)
            end = improve(work, plans, everything, UNLIMITED, name)
            _check_delta_of(work, end)
            assert price(work, one, kind_of_price) <= min(before) + 1e-9
            assert price(work, end, kind_of_price) <= min(before) + 1e-9
            pressure = shortest_minus_due(work)
            for move in range(len(SEVEN)):
                for other in candidates(work, end, move, 0, pressure):
                    assert price(work, other, kind_of_price) >= price(work, end, kind_of_price) - 1e-7
