"""The bound that knows that a node has one type at a time, against schedules of an independent simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpusched_dsl.online.bounds.node_types import LagrangianOfTypes, by_types
from gpusched_dsl.online.bounds.time_indexed import Lagrangian, bins_of, time_indexed_bound
from gpusched_dsl.online.bounds.timed_jobs import TimedJobs, possible, undominated


def drawn(seed: int) -> TimedJobs:
    """Jobs with ways on two or three types of one or two nodes, which can have any type."""
    rng = np.random.default_rng(seed)
    jobs, types = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    rows = [(j, t, s) for j in range(jobs) for t in range(types) for s in (0.25, 0.5, 1.0) if rng.random() < 0.6]
    rows += [(j, int(rng.integers(types)), 0.5) for j in range(jobs) if j not in {row[0] for row in rows}]
    job, type_, share = (np.array(column) for column in zip(*sorted(rows), strict=True))
    came = np.where(rng.random(jobs) < 0.5, 0.0, rng.uniform(0, 4, jobs))
    due = np.where(rng.random(jobs) < 0.2, np.inf, came + rng.uniform(-1, 6, jobs))
    ways = len(job)
    return TimedJobs(
        np.searchsorted(job, np.arange(jobs + 1)), rng.uniform(0.5, 4, ways), rng.uniform(0, 3, ways), share,
        np.zeros(ways, dtype=np.int64), np.array([float(rng.integers(1, 3))]), np.ones(1), came, due,
        rng.choice([0.0, 1.0, 5.0], jobs), type_,
    )  # fmt: skip


def random_schedule(jobs: TimedJobs, rng: np.random.Generator) -> float:
    """The cost of a random schedule in steps of 0.1, in which the nodes get random types again and again."""
    left, now, cost = np.ones(len(jobs.came)), 0.0, 0.0
    end = np.zeros(len(jobs.came))
    types = int(jobs.type.max()) + 1
    while (left > 1e-12).any():
        room = np.ones(round(float(jobs.capacity[0])))
        of_node = rng.integers(0, types, len(room))
        for j in rng.permutation(len(left)):
            if left[j] <= 1e-12 or now < jobs.came[j] - 1e-12 or rng.random() < 0.1:
                continue
            ways = np.arange(jobs.first[j], jobs.first[j + 1])
            pairs = [
                (w, n) for w in ways for n in range(len(room))
                if jobs.type[w] == of_node[n] and jobs.uses[w] <= room[n] + 1e-12
            ]  # fmt: skip
            if not pairs:
                continue
            w, n = pairs[int(rng.integers(len(pairs)))]
            room[n] -= jobs.uses[w]
            part = min(left[j], 0.1 / jobs.time[w])
            cost += part * jobs.cost[w]
            left[j] -= part
            if left[j] <= 1e-12:
                end[j] = now + part * jobs.time[w]
        now += 0.1
    return cost + float((jobs.weight * np.maximum(0.0, end - jobs.due)).sum())


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", range(40))
def test_no_schedule_is_below(seed: int) -> None:
    jobs, rng = drawn(seed), np.random.default_rng([seed, 1])
    bound = time_indexed_bound(jobs)
    assert bound is not None
    assert all(random_schedule(jobs, rng) >= bound - 1e-9 for _ in range(10))


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(20))
def test_any_prices_bound(seed: int) -> None:
    """And slopes are those of a concave function."""
    jobs, rng = drawn(seed), np.random.default_rng([seed, 2])
    typed = by_types(possible(jobs))
    if typed is None:
        assert len(np.unique(jobs.type)) > 1  # one dominates the others
        return
    lagrangian = LagrangianOfTypes(typed, bins_of(undominated(possible(jobs)), 12))
    cost = min(random_schedule(jobs, rng) for _ in range(5))
    points = [
        lagrangian.within((lagrangian.scale > 0) * scale * rng.random(lagrangian.scale.shape))
        for scale in (0.0, 0.1, 1.0, 10.0)
    ]
    found = [(value, slope.copy()) for value, slope in map(lagrangian.at, points)]
    for prices, (value, _) in zip(points, found, strict=True):
        assert value <= cost + 1e-9
        for other, (at_other, slope) in zip(points, found, strict=True):
            assert value <= at_other + np.vdot(slope, prices - other) + 1e-7


def two(due: float) -> TimedJobs:
    """Two jobs of 1 h on half a node of the type that the other one cannot have."""
    return TimedJobs(
        np.arange(3), np.ones(2), np.zeros(2), np.full(2, 0.5), np.zeros(2, dtype=np.int64), np.ones(1), np.ones(1),
        np.zeros(2), np.full(2, due), np.ones(2), np.arange(2),
    )  # fmt: skip


def test_jobs_of_different_types_run_one_after_another() -> None:
    """By shares of the node they would run at once."""
    bound = time_indexed_bound(two(1.0))
    assert bound is not None
    assert 0.95 <= bound <= 1.0 + 1e-9
    assert time_indexed_bound(replace(two(1.0), type=np.zeros(2, dtype=np.int64))) == pytest.approx(0.0, abs=1e-9)


def test_a_type_that_another_one_dominates_is_left_out() -> None:
    jobs = TimedJobs(
        np.array([0, 2]), np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.array([0.5, 1.0]),
        np.zeros(2, dtype=np.int64), np.ones(1), np.ones(1), np.zeros(1), np.ones(1), np.ones(1), np.arange(2),
    )  # fmt: skip
    assert by_types(jobs) is None
    typed = by_types(replace(jobs, cost=np.array([3.0, 2.0])))
    assert typed is not None
    assert typed.pool.tolist() == [0, 1]
    assert typed.capacity.tolist() == [1.0, 1.0]


def test_capacity_without_limit_is_not_priced() -> None:
    """The last bin never ends: its price stays 0."""
    jobs = two(4.0)
    lagrangian = Lagrangian(jobs, bins_of(jobs, 8))
    assert 0 < lagrangian.limited.sum() < lagrangian.limited.size
    assert (lagrangian.scale[~lagrangian.limited] == 0).all()
    assert (lagrangian.scale[lagrangian.limited] > 0).all()
