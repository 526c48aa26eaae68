"""Inserted jobs: exact gains, valid schedules, and nothing left that one job could gain by another place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from move_clusters import random_schedule, random_workload, read, written

from gpusched_dsl.policies.kernels.moves.change import apply, empty_change
from gpusched_dsl.policies.kernels.moves.delta_evaluation import empty_delta_evaluation, update_delta_evaluation
from gpusched_dsl.policies.kernels.moves.insertion import insert_job
from gpusched_dsl.policies.kernels.pricing import PRICES, TOTAL, price
from gpusched_dsl.policies.local_search import improve, shortest_minus_due
from gpusched_dsl.policies.search import UNLIMITED
from gpusched_dsl.policies.workload import NONE, Schedule, Workload, copy_of


def other_places(work: Workload, plan: Schedule) -> Iterator[Schedule]:
    """Every schedule in which one job waits, or has another node or way, on a node with room as it is."""
    kinds, places = read(plan)
    for j in range(len(work.due)):
        rest = {job: place for job, place in places.items() if job != j}
        ways = [(n, w) for w in range(work.first_way[j], work.first_way[j + 1]) for n in range(len(kinds))]
        for n, w in [(NONE, NONE), *ways]:
            now = list(kinds)
            if n != NONE and all(place[0] != n for place in rest.values()):
                now[n] = int(work.kind[w])
            gpus = range(work.units[now[n]] // work.parts) if n != NONE and work.size[w] < work.parts else [NONE]
            for gpu in gpus:
                made = written(work, now, rest if n == NONE else {**rest, j: (n, w, gpu)})
                if made is not None:
                    yield made


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(40))
def test_a_change_costs_what_it_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    work = random_workload(rng)
    for name, kind_of_price in PRICES.items():
        plan = random_schedule(rng, work)
        delta = empty_delta_evaluation(work, kind_of_price, shortest_minus_due(work))
        update_delta_evaluation(work, plan, delta)
        change = empty_change(work)
        gain = insert_job(work, plan, delta, int(rng.choice([0, 1, 3])), change)
        if np.isfinite(gain):
            after = copy_of(plan)
            apply(work, after, change)
            again = written(work, *read(after))
            assert again is not None, name
            assert (after.used == again.used).all()
            assert (after.spare == again.spare).all()
            assert gain < 0
            assert price(work, after, kind_of_price) == pytest.approx(delta.sums[0] + gain, rel=1e-9, abs=1e-9)


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(40))
def test_at_the_end_no_job_gains_by_another_place(seed: int) -> None:
    rng = np.random.default_rng(seed)
    work = random_workload(rng)
    end = improve(work, [random_schedule(rng, work)], [("insert_job", 0)], UNLIMITED, "total")
    least = price(work, end, TOTAL)
    for other in other_places(work, end):
        assert price(work, other, TOTAL) >= least - 1e-7 * max(1.0, least)


@pytest.mark.parametrize("seed", range(6))
def test_only_the_given_ways_are_taken(seed: int) -> None:
    """Jobs without a way stay where they are, and the others get one of theirs or wait."""
    rng = np.random.default_rng(seed)
    work = random_workload(rng)
    usable = rng.integers(0, 2, len(work.job))
    held = int(rng.integers(len(work.due)))
    usable[work.job == held] = 0
    start = random_schedule(rng, work)
    end = improve(work, [start], [("insert_job", 0)], UNLIMITED, "total", usable=usable)
    moved = np.flatnonzero((end.node != start.node) | (end.way != start.way))
    assert held not in moved
    assert all(end.way[j] == NONE or usable[end.way[j]] == 1 or end.node[j] == start.node[j] for j in moved)
