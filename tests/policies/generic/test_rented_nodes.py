"""Rules that place all jobs, where the plan chooses the types of nodes: against plans written out on lists."""

from __future__ import annotations

import numpy as np
import pytest
from rented_clusters import Plain, Stay, random_workload
from scipy.optimize import linprog

import gpusched_dsl as gs
from gpusched_dsl.policies.kernels.later_rows import no_linked_rows
from gpusched_dsl.policies.kernels.reservations import backfill, place_ways, take_turns
from gpusched_dsl.policies.max_min import normalised_throughputs, possible_ways, shares_of_time
from gpusched_dsl.policies.standalone import schedule_of, ways_of
from gpusched_dsl.policies.verifying import violations
from gpusched_dsl.policies.workload import NONE, Schedule, Workload, empty_schedule


def ranked_of(work: Workload) -> list[list[int]]:
    """The ways of each job, fastest first; every job has one."""
    jobs = len(work.due)
    return [sorted(range(*work.first_way[j : j + 2]), key=lambda w: (work.time[w], w)) for j in range(jobs)]


def check(work: Workload, plan: Schedule, expected: dict[int, Stay]) -> None:
    found = {j: (int(plan.node[j]), int(plan.way[j])) for j in np.flatnonzero(plan.node != NONE).tolist()}
    assert found == {j: (stay.node, stay.way) for j, stay in expected.items()}
    assert violations(work, schedule_of(work, plan.node, plan.way, plan.gpu)) == []


@pytest.mark.quick(60)
@pytest.mark.parametrize("seed", range(300))
def test_backfilling(seed: int) -> None:
    work = random_workload(seed, existing=seed % 3 == 0)
    ranked = ranked_of(work)
    queue = np.random.default_rng(seed).permutation(len(work.due))
    for every in (False, True):
        plan, reserved = empty_schedule(work), np.full(len(work.due), np.inf)
        backfill(ways_of(work), np.concatenate(ranked), queue, every, plan, reserved, None, no_linked_rows())
        plain, expected, starts = Plain(work), {}, np.full(len(work.due), np.inf)
        for j in queue.tolist():
            stay = next((s for w in ranked[j] if (s := plain.seat(j, w)) is not None), None)
            if stay is not None:
                expected[j] = stay
            elif every or not np.isfinite(starts).any():
                starts[j] = plain.reserve(j, ranked[j])
        check(work, plan, expected)
        np.testing.assert_allclose(reserved, starts, atol=1e-7)


@pytest.mark.parametrize("seed", range(40))
def test_fair_share(seed: int) -> None:
    work = random_workload(seed)
    jobs, ranked = len(work.due), ranked_of(work)
    rng = np.random.default_rng(seed)
    user, share, quota = rng.integers(0, 2, jobs), np.array([1.0, 2.0]), np.array([3.0, 4.0])
    plan = empty_schedule(work)
    queue, used = np.arange(jobs), np.zeros(2)
    take_turns(ways_of(work), np.concatenate(ranked), queue, user, share, quota, used, plan, None)
    plain, expected, taken = Plain(work), {}, [0.0, 0.0]
    waiting = [[j for j in range(jobs) if user[j] == u] for u in (0, 1)]
    while any(waiting):
        u = min((u for u in (0, 1) if waiting[u]), key=lambda u: taken[u] / share[u])
        j = waiting[u].pop(0)
        for w in ranked[j]:
            gpus = work.size[w] / work.parts
            if taken[u] + gpus <= quota[u] + 1e-9 and (stay := plain.seat(j, w)) is not None:
                expected[j] = stay
                taken[u] += gpus
                break
    check(work, plan, expected)


@pytest.mark.parametrize("seed", range(40))
def test_shares_of_time_choose_the_types(seed: int) -> None:
    work = random_workload(seed, existing=seed % 2 == 0)
    ways = possible_ways(work, np.arange(len(work.job)))
    if not len(ways):
        return
    weight = np.ones(len(work.due))
    shares, gain = shares_of_time(work, ways, weight), normalised_throughputs(work, ways, weight)
    jobs, job = np.unique(work.job[ways], return_inverse=True)
    least = np.bincount(job, gain * shares, len(jobs)).min()

    kinds, nodes = len(work.units), len(work.node_kind)
    rows, most = [], []

    def row(values: dict[int, float], bound: float) -> None:
        rows.append([values.get(c, 0.0) for c in range(len(ways) + kinds + 1)])
        most.append(bound)

    exists = [int((work.node_kind == k).sum()) for k in range(kinds)]
    for i in range(len(jobs)):
        mine = np.flatnonzero(job == i).tolist()
        row(dict.fromkeys(mine, 1.0), 1.0)
        row({c: -gain[c] for c in mine} | {len(ways) + kinds: 1.0}, 0.0)
    for k in range(kinds):
        here = [c for c in range(len(ways)) if work.kind[ways[c]] == k]
        of_node = [
            (work.size, work.units[k]),
            *((work.needs[:, r], work.room[k, r]) for r in range(work.room.shape[1])),
        ]
        for amount, total in of_node:
            row({c: amount[ways[c]] for c in here} | {len(ways) + k: -total}, total * exists[k])
        row({len(ways) + k: 1.0}, max(0, work.stock[k] - exists[k]))
    row({len(ways) + k: 1.0 for k in range(kinds)}, nodes - sum(exists))
    found = linprog([0.0] * (len(ways) + kinds) + [-1.0], A_ub=np.array(rows), b_ub=most, method="highs-ipm")
    assert least == pytest.approx(found.x[-1], rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_ways_in_an_order(seed: int) -> None:
    work = random_workload(seed)
    order = np.random.default_rng(seed).permutation(len(work.job))
    plan, plain, expected = empty_schedule(work), Plain(work), {}
    place_ways(ways_of(work), order, plan, None)
    for w in order.tolist():
        j = int(work.job[w])
        if j not in expected and (stay := plain.seat(j, w)) is not None:
            expected[j] = stay
    check(work, plan, expected)


@pytest.mark.parametrize(
    ("file", "scenario"),
    [("three_jobs", "ThreeJobs"), pytest.param("gavel_at_most", "GavelAtMost", marks=pytest.mark.slow)],
)
def test_capacity_planning(file: str, scenario: str) -> None:
    model = gs.loads(f'import "gsdsl:capacity_planning/scenarios/{file}.gsm";')
    plans = {name: model.solve(scenario, method=name) for name in ("EASY", "Conservative", "MaxMin")}
    assert {plan.status for plan in plans.values()} == {"feasible"}
