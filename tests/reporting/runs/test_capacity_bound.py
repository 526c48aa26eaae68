"""The time-indexed bound against exact optima, random schedules of an independent simulation, and runs of methods."""

from __future__ import annotations

import inspect
import itertools
from dataclasses import replace

import numpy as np
import pytest
from run_texts import opened, ran, random_text
from scipy.optimize import linprog

from gpusched_dsl.online.bounds.least_schedules import OfBins, PricedJobs, least_costs
from gpusched_dsl.online.bounds.subgradient import largest_value
from gpusched_dsl.online.bounds.time_indexed import Lagrangian, bins_of, time_indexed_bound
from gpusched_dsl.online.bounds.timed_jobs import TimedJobs, possible, rounded_shares, undominated
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.workflows.run import run_methods


def machine(time: list[float], came: list[float], due: list[float], weight: list[float], capacity: float) -> TimedJobs:
    """Jobs with one way each, on one machine of a pool."""
    count = len(time)
    return TimedJobs(
        np.arange(count + 1), np.array(time), np.zeros(count), np.ones(count), np.zeros(count, dtype=np.int64),
        np.array([capacity]), np.ones(1), np.array(came), np.array(due), np.array(weight),
        np.zeros(count, dtype=np.int64),
    )  # fmt: skip


def drawn(seed: int) -> TimedJobs:
    rng = np.random.default_rng(seed)
    jobs, pools = int(rng.integers(2, 7)), int(rng.integers(1, 3))
    count = rng.integers(1, 5, jobs)
    first = np.concatenate(([0], np.cumsum(count)))
    ways = int(first[-1])
    pool = rng.integers(0, pools, ways)
    node = rng.integers(1, 4, pools).astype(float)
    capacity = node * rng.integers(1, 4, pools)
    share = rng.choice([0.25, 1 / 3, 0.5, 0.6, 0.7, 0.75, 0.9, 1.0], ways)
    came = np.where(rng.random(jobs) < 0.5, 0.0, rng.uniform(0, 4, jobs))
    due = np.where(rng.random(jobs) < 0.2, np.inf, came + rng.uniform(-1, 6, jobs))
    return TimedJobs(
        first, rng.uniform(0.5, 4, ways), rng.uniform(0, 3, ways), share * node[pool], pool,
        capacity, node, came, due, rng.choice([0.0, 1.0, 5.0], jobs), pool,
    )  # fmt: skip


def random_schedule(jobs: TimedJobs, rng: np.random.Generator) -> tuple[float, float]:
    """Cost and mean completion time of a random schedule with halts and changes, in steps of 0.1."""
    left, now, cost = np.ones(len(jobs.came)), 0.0, 0.0
    end = np.zeros(len(jobs.came))
    keen = rng.random() < 0.8  # seldom lets a job wait without need
    favourite = rng.random(len(jobs.came))
    while (left > 1e-12).any():
        room = [np.full(round(c / n), n) for c, n in zip(jobs.capacity, jobs.node, strict=True)]
        for j in np.argsort(favourite if rng.random() < 0.7 else rng.random(len(left))):
            if left[j] <= 1e-12 or now < jobs.came[j] - 1e-12 or (not keen and rng.random() < 0.2):
                continue
            ways = np.arange(jobs.first[j], jobs.first[j + 1])
            ways = ways[[jobs.uses[w] <= room[jobs.pool[w]].max() + 1e-12 for w in ways]]
            if not len(ways):
                continue
            w = int(rng.choice(ways))
            nodes = room[jobs.pool[w]]
            nodes[rng.choice(np.flatnonzero(nodes + 1e-12 >= jobs.uses[w]))] -= jobs.uses[w]
            part = min(left[j], 0.1 / jobs.time[w])
            cost += part * jobs.cost[w]
            left[j] -= part
            if left[j] <= 1e-12:
                end[j] = now + part * jobs.time[w]
        now += 0.1
    late = np.maximum(0.0, end - jobs.due)
    return cost + float((jobs.weight * late).sum()), float((end - jobs.came).mean())


def completions(jobs: TimedJobs) -> TimedJobs:
    count = len(jobs.came)
    return replace(jobs, cost=np.zeros(len(jobs.time)), due=jobs.came, weight=np.full(count, 1 / count))


@pytest.mark.quick(4)
@pytest.mark.parametrize("seed", range(40))
def test_no_schedule_is_below(seed: int) -> None:
    jobs, rng = drawn(seed), np.random.default_rng([seed, 1])
    bound, completion = time_indexed_bound(jobs), time_indexed_bound(completions(jobs))
    assert bound is not None
    assert completion is not None
    for _ in range(10):
        cost, mean = random_schedule(jobs, rng)
        assert cost >= bound - 1e-9
        assert mean >= completion - 1e-9


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(12))
def test_one_machine(seed: int) -> None:
    """All jobs at once: the mean completion time of the shortest first is exact, and the bound comes close to it.

    The weighted tardiness of the best order of all (halts do not help) is above the bound too.
    """
    rng = np.random.default_rng(seed)
    time, weight = rng.uniform(0.5, 3, 6), rng.uniform(0.5, 2, 6)
    due = rng.uniform(0.5, 8, 6)
    nothing = [0.0] * 6
    best = float(np.cumsum(np.sort(time)).mean())
    found = time_indexed_bound(machine(list(time), nothing, nothing, [1 / 6] * 6, 1.0))
    assert found is not None
    assert 0.999 * best <= found <= best + 1e-9
    orders = (np.array(order) for order in itertools.permutations(range(6)))
    least = min(
        float((weight[o] * np.maximum(0.0, np.cumsum(time[o]) - due[o])).sum()) for o in orders
    )  # fmt: skip
    bound = time_indexed_bound(machine(list(time), nothing, list(due), list(weight), 1.0))
    assert bound is not None
    assert 0.8 * least - 1e-3 <= bound <= least + 1e-9


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", range(30))
def test_dominated_ways_do_not_count(seed: int) -> None:
    """The bound is the same with ways that another one dominates; a search over all pairs finds the same ways."""
    jobs = drawn(seed)
    rng = np.random.default_rng([seed, 2])
    copied = rng.integers(0, len(jobs.time), 4)
    order = np.sort(np.concatenate((np.arange(len(jobs.time)), copied)))  # equal ways are next to one another
    worse = np.concatenate(([False], order[1:] == order[:-1]))
    more = np.where(worse, 1 + rng.choice([0.0, 0.5], len(order)), 1.0)
    counts = np.bincount(jobs.owner[order], minlength=len(jobs.came))
    larger = replace(
        jobs, first=np.append(0, np.cumsum(counts)), time=jobs.time[order] * more, cost=jobs.cost[order] * more,
        uses=jobs.uses[order], pool=jobs.pool[order], type=jobs.type[order],
    )  # fmt: skip
    left, of_left = undominated(larger), undominated(jobs)
    for ours, other in zip(fields_of(left), fields_of(of_left), strict=True):
        np.testing.assert_array_equal(ours, other)
    amounts = [load * of_left.time for load in (of_left.uses, *rounded_shares(of_left.share))]
    table = list(zip(of_left.owner.tolist(), of_left.pool.tolist(), of_left.time, of_left.cost, *amounts, strict=True))
    for one, other in itertools.permutations(table, 2):
        assert one[:2] != other[:2] or any(a < b for a, b in zip(one[2:], other[2:], strict=True))
    assert time_indexed_bound(larger) == time_indexed_bound(jobs)


def fields_of(jobs: TimedJobs) -> list[np.ndarray]:
    return [getattr(jobs, name) for name in TimedJobs.__dataclass_fields__]


def test_slow_ways_count() -> None:
    """One job of 4 h on one GPU or 1 h on four, due at once; an expensive GPU makes the slow way the cheaper one.

    It ends after 4 h; with half of the least time alone, the mean time of its work would prove 2.5 h of tardiness.
    """
    jobs = TimedJobs(
        np.array([0, 2]), np.array([4.0, 1.0]), np.array([0.0, 100.0]), np.array([1.0, 4.0]),
        np.zeros(2, dtype=np.int64), np.array([4.0]), np.array([4.0]), np.zeros(1), np.zeros(1), np.ones(1),
        np.zeros(2, dtype=np.int64),
    )  # fmt: skip
    bound = time_indexed_bound(jobs)
    assert bound is not None
    assert 3.99 <= bound <= 4.0 + 1e-9


def test_four_equal_jobs_in_turn() -> None:
    """Four jobs of 2 h or, at a high price, 1 h, one at a time: 2 + 4 + 6 + 8 h late."""
    jobs = TimedJobs(
        np.arange(0, 9, 2), np.tile([2.0, 1.0], 4), np.tile([0.0, 100.0], 4), np.ones(8), np.zeros(8, dtype=np.int64),
        np.array([1.0]), np.ones(1), np.zeros(4), np.zeros(4), np.ones(4), np.zeros(8, dtype=np.int64),
    )  # fmt: skip
    bound = time_indexed_bound(jobs)
    assert bound is not None
    assert 19.9 <= bound <= 20.0 + 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_rounded_shares_of_a_node_add_up_to_one(seed: int) -> None:
    """Of any shares that fit on one node, also if they fill it."""
    rng = np.random.default_rng(seed)
    for _ in range(200):
        units = int(rng.integers(1, 25))
        sizes: list[int] = []
        while sum(sizes) < units and (rng.random() < 0.9 or not sizes):
            sizes.append(int(rng.integers(1, units - sum(sizes) + 1)))
        halves, thirds, quarters = rounded_shares(np.array(sizes) / units)
        assert max(halves.sum(), thirds.sum(), quarters.sum()) <= 1 + 1e-12


def test_rounded_shares_of_large_jobs() -> None:
    """More than half, more than a third, more than a quarter of a node; all of it; several nodes."""
    one, two, three = rounded_shares(np.array([0.6, 0.4, 0.3, 1.0, 2.0]))
    np.testing.assert_allclose(one, [1, 0, 0, 1, 0])
    np.testing.assert_allclose(two, [0.5, 0.5, 0, 1, 0])
    np.testing.assert_allclose(three, [2 / 3, 1 / 3, 1 / 3, 1, 0])


def test_large_jobs_do_not_share_a_node() -> None:
    """Three jobs of 6 of 10 GPUs and 1 h each, due at once, run one after another: 1 + 2 + 3 h late. By GPUs alone they
    would take 1.8 h together. On three nodes of 10 GPUs they run at once.
    """
    jobs = replace(
        machine([1.0] * 3, [0.0] * 3, [0.0] * 3, [1.0] * 3, 10.0), uses=np.full(3, 6.0), node=np.array([10.0])
    )
    bound = time_indexed_bound(jobs)
    assert bound is not None
    assert 5.9 <= bound <= 6.0 + 1e-9
    bound = time_indexed_bound(replace(jobs, capacity=np.array([30.0])))
    assert bound is not None
    assert 2.9 <= bound <= 3.0 + 1e-9


@pytest.mark.quick(4)
@pytest.mark.parametrize("seed", range(20))
def test_any_prices_bound(seed: int) -> None:
    """And slopes are those of a concave function."""
    jobs, rng = drawn(seed), np.random.default_rng([seed, 3])
    lagrangian, best = Lagrangian(undominated(possible(jobs)), bins_of(jobs, 12)), time_indexed_bound(jobs)
    assert best is not None
    costs = [random_schedule(jobs, rng)[0] for _ in range(5)]
    points = [
        lagrangian.limited * scale * rng.random(lagrangian.room.shape) * (rng.random(lagrangian.room.shape) < 0.5)
        for scale in (0.0, 0.1, 1.0, 10.0)
    ]
    found = [(value, slope.copy()) for value, slope in map(lagrangian.at, points)]
    for prices, (value, _) in zip(points, found, strict=True):
        assert value <= min(costs) + 1e-9
        for other, (at_other, slope) in zip(points, found, strict=True):
            assert value <= at_other + np.vdot(slope, prices - other) + 1e-7


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(40))
def test_schedules_of_a_job_by_itself(seed: int) -> None:
    """Their least cost at given prices is that of linear programs, one for each bin in which it may complete."""
    jobs, rng = drawn(seed), np.random.default_rng([seed, 4])
    starts = bins_of(jobs, 9)
    lagrangian = Lagrangian(jobs, starts)
    prices = lagrangian.limited * rng.exponential(1.0, lagrangian.room.shape)
    used = of_pools(np.empty(prices.shape))
    costs = least_costs(lagrangian.jobs, of_pools(prices), used)
    np.testing.assert_allclose(costs, [least_by_programs(lagrangian.jobs, prices, j) for j in range(len(costs))])
    assert (used.pools >= -1e-9).all()


def of_pools(values: np.ndarray) -> OfBins:
    """Values of pools, without any of pairs."""
    return OfBins(values, np.zeros((1, values.shape[2])))


def least_by_programs(jobs: PricedJobs, prices: np.ndarray, j: int) -> float:
    came, due, weight, ends = jobs.came[j], jobs.due[j], jobs.weight[j], np.append(jobs.starts[1:], np.inf)
    edges = np.unique(np.concatenate((np.maximum(jobs.starts, came), [due] if came < due < np.inf else [])))
    cells = [
        (s, e, b) for s, e in itertools.pairwise([*edges.tolist(), np.inf])
        for b in [int(np.searchsorted(ends, s, side="right"))]
    ]  # fmt: skip
    ways = np.arange(jobs.first[j], jobs.first[j + 1])
    best = np.inf
    for last, (begin, _, _) in enumerate(cells):
        late = weight > 0 and begin >= due
        used = cells[: last + 1]
        cost = [
            [
                jobs.cost[w] + jobs.time[w] * (prices[:, jobs.pool[w], b] @ jobs.loads[:, w])
                + (weight * jobs.time[w] if late and at == last else 0.0)
                for w in ways
            ]
            for at, (_, _, b) in enumerate(used)
        ]  # fmt: skip
        lengths = np.array([min(e - s, 1e6) for s, e, _ in used])
        if weight > 0 and not late and used[-1][1] > due:
            continue  # a cell without an end that begins before the due date
        found = linprog(
            np.ravel(cost), np.kron(np.eye(len(used)), jobs.time[ways]), lengths, np.ones((1, len(used) * len(ways))),
            [1.0],
        )  # fmt: skip
        if found.status == 0:
            best = min(best, found.fun + (weight * (begin - due) if late else 0.0))
    return float(best)


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(16))
def test_best_prices(seed: int) -> None:
    """The bound is the optimum of the relaxation in which each job mixes its schedules, found by column generation."""
    jobs = undominated(possible(drawn(seed)))
    lagrangian = Lagrangian(jobs, bins_of(jobs, 16))
    assert lagrangian.jobs.weight.any() or seed
    found = largest_value(lagrangian.at, lagrangian.scale, lagrangian.size, lambda: False)
    optimum = by_column_generation(lagrangian)
    assert optimum - 1e-3 * max(1.0, abs(optimum)) <= found <= optimum + 1e-7 * max(1.0, abs(optimum))


def by_column_generation(lagrangian: Lagrangian) -> float:
    """The optimum over prices by cutting planes: one for each job and step, in a box that no optimal price leaves."""
    jobs, limited = lagrangian.jobs, lagrangian.limited
    count, rows, room = len(jobs.came), int(limited.sum()), lagrangian.room[limited]
    cuts, levels = [], []
    prices = np.zeros(limited.shape)
    for _ in range(400):
        for j in range(count):
            one = jobs._replace(
                first=jobs.first[j : j + 2], came=jobs.came[j : j + 1], due=jobs.due[j : j + 1],
                weight=jobs.weight[j : j + 1],
            )  # fmt: skip
            used = np.empty(prices.shape)
            [cost] = least_costs(one, of_pools(prices), of_pools(used))
            own = np.zeros(count)
            own[j] = 1.0
            cuts.append(np.concatenate((own, -used[limited])))
            levels.append(cost - np.vdot(prices, used))
        found = linprog(
            np.concatenate((-np.ones(count), room)), np.array(cuts), np.array(levels),
            bounds=[(None, 1e4)] * count + [(0, 1e3)] * rows,
        )  # fmt: skip
        assert found.status == 0
        prices = np.zeros(limited.shape)
        prices[limited] = found.x[count:]
        if -found.fun <= lagrangian.at(prices)[0] + 1e-6 * max(1.0, abs(found.fun)):
            return float(-found.fun)
    raise AssertionError("cutting planes have not converged")


def test_ways_that_no_pool_has_room_for() -> None:
    """A job of 3 h on one GPU, or of 1 h on four GPUs where there are two, is not done earlier than after 3 h."""
    jobs = TimedJobs(
        np.array([0, 2]), np.array([3.0, 1.0]), np.zeros(2), np.array([1.0, 4.0]), np.zeros(2, dtype=np.int64),
        np.array([2.0]), np.array([2.0]), np.zeros(1), np.zeros(1), np.ones(1),
        np.zeros(2, dtype=np.int64),
    )  # fmt: skip
    assert time_indexed_bound(jobs) == pytest.approx(3.0)


def test_capacity_counts() -> None:
    """Four jobs of 1 h at once on one machine, due in 1 h: 0 + 1 + 2 + 3 h late; each alone is in time."""
    bound = time_indexed_bound(machine([1.0] * 4, [0.0] * 4, [1.0] * 4, [1.0] * 4, 1.0))
    assert bound is not None
    assert 5.5 <= bound <= 6.0 + 1e-9


def test_runs_have_it(capsys: pytest.CaptureFixture[str]) -> None:
    text = random_text(5, jobs=7, nodes=1)
    methods = ["Greedy", "FIFO", "EDF", "ATC"]
    found = run_methods(opened(text), methods, RunConfig(online="EveryArrivalAndCompletion", bound=True))
    for row in found.rows:
        assert row.result is not None
        assert row.result.bound.value is not None, row.result.bound.how
        assert row.result.completion_bound is not None
        assert row.result.completion_bound.value is not None, row.result.completion_bound.how
        assert row.result.total >= row.result.bound.value - 1e-9
        assert row.result.metrics["jct_mean"] >= row.result.completion_bound.value - 1e-9
    alone, _ = ran(text, "EveryArrivalAndCompletion", "Greedy")
    assert found.bound.value >= alone.bound.value
    assert "mean completion at least" in str(found)
    assert "at least" in str(found.rows[0].result)
    assert found.rows[0].result.to_dict()["completion_bound"]["value"] > 0
    assert alone.to_dict()["completion_bound"] is None


def test_a_stopped_bound_is_that_of_the_prices_so_far() -> None:
    jobs = machine([1.0] * 4, [0.0] * 4, [0.0] * 4, [1.0] * 4, 1.0)
    assert time_indexed_bound(jobs, lambda: True) == pytest.approx(4.0)  # each by itself
    found = time_indexed_bound(jobs)
    assert found is not None
    assert 9.9 <= found <= 10.0 + 1e-9


def test_ctrl_c_in_the_search_keeps_the_run_and_a_bound() -> None:
    """The `stop` of a run ends the search at once; nothing else of the result is missing."""
    text = random_text(5, jobs=7, nodes=1)
    config = RunConfig(online="EveryArrivalAndCompletion", bound=True)
    asked = []

    def stop() -> bool:
        searches = any(frame.function == "largest_value" for frame in inspect.stack(0))
        asked.append(searches)
        return searches

    [complete] = run_methods(opened(text), ["Greedy"], config).rows
    [stopped] = run_methods(opened(text), ["Greedy"], config, stop=stop).rows
    assert any(asked)
    assert complete.result is not None
    assert stopped.result is not None
    assert stopped.result.total == complete.result.total
    assert complete.result.bound.value >= stopped.result.bound.value > 0
