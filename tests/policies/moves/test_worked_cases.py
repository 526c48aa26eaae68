"""Cases worked out by hand: the best candidate of each neighbourhood, and where repeated steps end."""

from __future__ import annotations

import numpy as np
import pytest
from move_clusters import Places, workload, written

from gpusched_dsl.policies.kernels.moves.change import empty_change
from gpusched_dsl.policies.kernels.moves.delta_evaluation import empty_delta_evaluation, update_delta_evaluation
from gpusched_dsl.policies.kernels.pricing import PRICES, price
from gpusched_dsl.policies.local_search import BUILT_IN, improve, shortest_minus_due
from gpusched_dsl.policies.rules import MOVE_CODES
from gpusched_dsl.policies.search import UNLIMITED
from gpusched_dsl.policies.workload import NONE, Schedule, Workload

EVERYTHING = [(name, 10) for name in tuple(MOVE_CODES)[:7]]


def plan_of(work: Workload, kinds: list[int], gpus: list[tuple[int, int, int]]) -> Schedule:
    """A schedule from (job, node, GPUs)."""
    places: Places = {j: (n, int(work.way_at[j, kinds[n], g]), NONE) for j, n, g in gpus}
    plan = written(work, kinds, places)
    assert plan is not None
    return plan


def gpus_of(work: Workload, plan: Schedule) -> list[tuple[int, dict[int, int]]]:
    """Kinds of the open nodes with the GPUs of their jobs, sorted."""
    nodes = []
    for n in np.flatnonzero(plan.jobs > 0).tolist():
        here = {j: int(work.size[plan.way[j]]) for j in np.flatnonzero(plan.node == n).tolist()}
        nodes.append((int(plan.kind[n]), here))
    return sorted(nodes, key=str)


def gains(work: Workload, plan: Schedule, price_name: str) -> list[float]:
    delta = empty_delta_evaluation(work, PRICES[price_name], shortest_minus_due(work))
    update_delta_evaluation(work, plan, delta)
    return [float(delta.sums[0] + move(work, plan, delta, 10, empty_change(work))) for move in BUILT_IN[:7]]


def four_jobs() -> Workload:
    """Kinds K2, K4 of one family and M2, M4 of another, four jobs, two nodes; postponing costs 100 times lateness."""
    k = [[8, 4.4, 3.2, 2.6], [4, 2.2, 1.6, 1.3], [6, 3.3, 2.4, 1.95], [2, 1.1, 0.8, 0.65]]
    m = [[6.4, 3.52, 2.56, 2.08], [5, 2.75, 2, 1.62], [4.8, 2.64, 1.92, 1.56], [2, 1.1, 0.8, 0.65]]
    kinds = [(2, 0, 1.0), (4, 0, 2.0), (2, 1, 1.3), (4, 1, 2.6)]
    due, weight = [3, 6, 3, 2.5], [1.0, 0.5, 0.8, 0.6]
    times = [
        {
            (kind, g): (k, m)[family][j][g - 1]
            for kind, (gpus, family, _) in enumerate(kinds)
            for g in range(1, gpus + 1)
        }
        for j in range(4)
    ]
    postponed = [100 * weight[j] * max(0.0, 1 + max(times[j].values()) - due[j]) for j in range(4)]
    return workload(
        kinds=kinds, times=times, due=due, weight=weight, postponed=postponed, node_kind=[NONE, NONE], idle=1.0
    )


START = [(0, 0, 2), (1, 0, 2), (2, 1, 2)]  # K4[J1:2, J2:2] + K2[J3:2]


@pytest.mark.parametrize(
    ("price_name", "start", "expected"),
    [
        ("total", 41.54, [41.54, 41.54, 10.44, 41.432, 41.9, 44.54, 40.54]),
        ("first_end", 38.24, [38.24, 38.24, 4.94, 38.66, 39.2, 41.84, 40.04]),
    ],
)
def test_each_neighbourhood_of_four_jobs(price_name: str, start: float, expected: list[float]) -> None:
    work = four_jobs()
    plan = plan_of(work, [1, 0], START)
    assert price(work, plan, PRICES[price_name]) == pytest.approx(start, abs=1e-9)
    assert gains(work, plan, price_name) == pytest.approx(expected, abs=1e-9)


def test_one_step_takes_the_postponed_job_in() -> None:
    work = four_jobs()
    for price_name, expected in (("total", 10.44), ("first_end", 4.94)):
        after = improve(work, [plan_of(work, [1, 0], START)], EVERYTHING, 1, price_name)
        assert gpus_of(work, after) == [(0, {2: 2}), (1, {0: 2, 3: 2})]
        assert price(work, after, PRICES[price_name]) == pytest.approx(expected, abs=1e-9)


def test_repeated_steps_end_in_local_optima() -> None:
    work = four_jobs()
    start = plan_of(work, [1, 0], START)
    total = improve(work, [start], EVERYTHING, UNLIMITED, "total")
    assert price(work, total, PRICES["total"]) == pytest.approx(9.432, abs=1e-9)
    assert gpus_of(work, total) == [(1, {0: 3, 3: 1}), (2, {2: 2})]
    first_end = improve(work, [start], EVERYTHING, UNLIMITED, "first_end")
    assert price(work, first_end, PRICES["first_end"]) == pytest.approx(4.48, abs=1e-9)
    assert gpus_of(work, first_end) == [(0, {3: 2}), (3, {0: 2, 2: 2})]


def test_one_step_from_a_greedy_packing() -> None:
    """Three jobs on two nodes of four GPUs; GPUs are all in use, so swaps and new numbers are all there is."""
    times = [[8, 4.5, 3, 2.8], [8, 4.5, 3, 2.8], [5, 3, 2.4, 2.1]]
    work = workload(
        kinds=[(4, 0, 2.0)],
        times=[{(0, g): table[g - 1] for g in range(1, 5)} for table in times],
        due=[3, 3, 3],
        weight=[2, 2, 2],
        postponed=[200 * (1 + max(table) - 3) for table in times],
        node_kind=[NONE, NONE],
        idle=1.0,
    )
    plan = plan_of(work, [0, 0], [(0, 0, 3), (2, 0, 1), (1, 1, 4)])
    assert price(work, plan, PRICES["total"]) == pytest.approx(16.6)
    assert price(work, plan, PRICES["first_end"]) == pytest.approx(15.2)
    none = np.inf
    assert gains(work, plan, "total")[:6] == pytest.approx([22.7, 22.7, none, none, none, none])
    assert gains(work, plan, "first_end") == pytest.approx([18.4, 18.4, none, none, none, none, 14.2])
    after = improve(work, [plan], EVERYTHING, 1, "first_end")
    assert price(work, after, PRICES["first_end"]) == pytest.approx(14.2)
    assert price(work, after, PRICES["total"]) == pytest.approx(16.1)
    assert gpus_of(work, after) == [(0, {0: 2, 2: 2}), (0, {1: 4})]


def test_functions_may_stand_among_the_moves() -> None:
    """A move that postpones everything claims much and is refused; one that does what N3 does is made."""
    work = four_jobs()
    start = plan_of(work, [1, 0], START)

    def empty(work, plan, delta, length, change):
        change.shape[:] = (3, NONE, NONE)
        change.job[:3], change.way[:3], change.node[:3], change.gpu[:3] = (0, 1, 2), NONE, NONE, NONE
        return -1000.0

    after = improve(work, [start], [(empty, 0)], 3, "total")
    assert gpus_of(work, after) == gpus_of(work, start)
    after = improve(work, [start], [(empty, 0), (BUILT_IN[2], 0)], 1, "total")
    assert price(work, after, PRICES["total"]) == pytest.approx(10.44)
    after = improve(work, [start], [(empty, 0), ("swap_postponed_running", 0), ("halve_gpus", 0)], 1, "total")
    assert price(work, after, PRICES["total"]) == pytest.approx(10.44)
    assert gpus_of(work, start) == [(0, {2: 2}), (1, {0: 2, 1: 2})]


def test_a_long_distribution_of_gpus_is_a_transfer() -> None:
    """Sixteen GPUs among eight jobs have more distributions than are tried: one GPU at a time goes to a late job."""
    times = [{(0, g): 10.0 / g for g in range(1, 17)} for _ in range(8)]
    work = workload(
        kinds=[(16, 0, 16.0)],
        times=times,
        due=[4.0] + [100.0] * 7,
        weight=[1.0] * 8,
        postponed=[0.0] * 8,
        node_kind=[0],
    )
    plan = plan_of(work, [0], [(j, 0, 2) for j in range(8)])
    after = improve(work, [plan], [("regroup_gpus", 0)], 1, "total")
    assert sorted(gpus_of(work, after)[0][1].values()) == [1, 2, 2, 2, 2, 2, 2, 3]
    assert gpus_of(work, after)[0][1][0] == 3
