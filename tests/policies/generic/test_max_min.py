"""`MaxMin`: shares of time against a linear programme written out by hand, and plans against plain rounding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from generic_clusters import Cluster, Job, Node, random_cluster
from generic_simulator import State, seat
from scipy.optimize import linprog
from test_against_simulator import check

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.language.checked_policy import CheckedPolicy, at
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.policies import max_min
from gpusched_dsl.policies.decide import decide
from gpusched_dsl.policies.instructions import cluster_for
from gpusched_dsl.policies.library import policy_named
from gpusched_dsl.policies.max_min import (
    normalised_throughputs,
    order_of_ways,
    possible_ways,
    shares_of_time,
)
from gpusched_dsl.policies.workload import Workload

LIMITS = MemoryLimits()


@dataclass
class Case:
    cluster: Cluster
    policy: CheckedPolicy
    store: object
    work: Workload
    weight: np.ndarray


def case(cluster: Cluster) -> Case:
    found = Diagnostics()
    workspace = workspace_from_text(cluster.text("user owner[j];  share part[owner[j]];"), "cluster.gsm", found)
    scenario = check_scenario(workspace, "S", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    policy = policy_named(workspace, "MaxMin", scenario.model)
    store = build_instance(scenario, folder=Path.cwd()).store
    weight = np.array([cluster.shares[job.owner][0] for job in cluster.jobs])
    return Case(cluster, policy, store, cluster_for(policy, store, LIMITS).work, weight)


def kinds_of(cluster: Cluster) -> list[Node]:
    return list(dict.fromkeys(cluster.nodes))


def by_hand(cluster: Cluster) -> float:
    """The largest least normalised throughput: one variable for each job and kind of node, and the least itself."""
    kinds = kinds_of(cluster)
    pairs = [
        (j, k)
        for j, job in enumerate(cluster.jobs)
        for k, kind in enumerate(kinds)
        if job.takes <= kind.memory and job.needs <= kind.gpus
    ]
    served = {k for _, k in pairs}
    gpus = [sum(n.gpus for n in cluster.nodes if n == kind and k in served) for k, kind in enumerate(kinds)]
    rows, most = [], []

    def row(values: dict[tuple[int, int], float], bound: float, least: float = 0.0) -> None:
        rows.append([values.get(pair, 0.0) for pair in pairs] + [least])
        most.append(bound)

    for j, job in enumerate(cluster.jobs):
        speed = {k: kinds[k].pace / job.length for i, k in pairs if i == j}
        equal = sum(speed[k] * gpus[k] for k in speed) / sum(gpus)
        weight = cluster.shares[job.owner][0]
        row({(j, k): 1.0 for k in speed}, 1.0)
        row({(j, k): -speed[k] / equal * job.needs / weight for k in speed}, 0.0, 1.0)
    for k, kind in enumerate(kinds):
        row({(j, k): cluster.jobs[j].needs for j, i in pairs if i == k}, gpus[k])
        memory = sum(n.memory for n in cluster.nodes if n == kind)
        row({(j, k): cluster.jobs[j].takes for j, i in pairs if i == k}, memory)
    found = linprog([0.0] * len(pairs) + [-1.0], A_ub=np.array(rows), b_ub=most, method="highs-ipm")
    return float(found.x[-1])


@pytest.mark.parametrize("large", [20_000, 0])
@pytest.mark.parametrize("seed", range(8))
def test_shares_are_max_min(seed: int, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(max_min, "_LARGE", large)
    cluster = random_cluster(seed, users=2)
    given = case(cluster)
    work = given.work
    ways = possible_ways(work, np.arange(len(work.job)))
    shares = shares_of_time(work, ways, given.weight)
    job, kind = work.job[ways], work.kind[ways]
    gain = np.bincount(job, normalised_throughputs(work, ways, given.weight) * shares, len(cluster.jobs))
    assert gain.min() == pytest.approx(by_hand(cluster), rel=1e-6, abs=1e-7)
    assert (np.bincount(job, shares) <= 1 + 1e-7).all()
    gpus = np.bincount(kind, shares * work.size[ways] / work.parts, len(work.units))
    total = np.bincount(work.node_kind, minlength=len(work.units)) * work.units / work.parts
    assert (gpus <= total + 1e-6).all()


def test_equal_jobs_share_a_fast_and_a_slow_node() -> None:
    cluster = Cluster([Node(1, 8, 3.0), Node(1, 8, 1.0)], [Job(1, 1, 3.0, 0, 9), Job(1, 1, 3.0, 0, 9)])
    shares = shares_of_time(case(cluster).work, np.arange(4), np.ones(2))
    assert shares.reshape(2, 2).sum(axis=1) == pytest.approx([1, 1])
    assert (shares.reshape(2, 2) @ [3, 1]).tolist() == pytest.approx([2, 2])


@pytest.mark.parametrize("seed", range(8))
def test_plans_are_rounded_by_priorities(seed: int) -> None:
    cluster = random_cluster(seed + 50, users=2)
    given = case(cluster)
    work, count = given.work, len(cluster.jobs)
    rng = np.random.default_rng(seed)
    now = 6.0
    arrived = rng.uniform(0, 5, count)
    attained = np.where(rng.random(count) < 0.3, 0.0, rng.uniform(0, 3, count) * [job.needs for job in cluster.jobs])
    known = {"arrived": arrived, "attained": attained}
    plan = decide(at(given.policy, now), given.store, LIMITS, known=known).values["run"]  # type: ignore[arg-type]
    found = dict(zip(plan.codes[0].tolist(), plan.codes[1].tolist(), strict=True))

    ways = possible_ways(work, np.arange(len(work.job)))
    shares = shares_of_time(work, ways, given.weight)
    queue = sorted(range(count), key=lambda j: (arrived[j], j))
    entries = []
    for at_way, w in enumerate(ways.tolist()):
        j, k = int(work.job[w]), int(work.kind[w])
        job = cluster.jobs[j]
        served = attained[j] / job.needs
        priority = np.inf if served == 0 else shares[at_way] * max(now - arrived[j], served) / served
        rank = sum(work.time[v] < work.time[w] - 1e-9 for v in ways if work.job[v] == j)
        key = (
            (0, -priority, -shares[at_way], 0, queue.index(j))
            if shares[at_way] > 1e-9
            else (1, 0, 0, rank, queue.index(j))
        )
        entries.append((key, w, j, k))
    expected: dict[int, int] = {}
    for _, _, j, k in sorted(entries):
        here = [n for n in range(len(cluster.nodes)) if work.node_kind[n] == k]
        if j not in expected:
            state = State(cluster, now, here, [], [1.0] * count, [0.0] * count, {})
            loads = state.loads() | {n: load for n, load in loads_so_far(cluster, expected).items() if n in here}
            n = seat(state, loads, j)
            if n is not None:
                expected[j] = n
    assert found == expected


def loads_so_far(cluster: Cluster, plan: dict[int, int]) -> dict[int, object]:
    """The nodes with the jobs of a plan, put there in its order."""
    state = State(cluster, 0.0, list(range(len(cluster.nodes))), [], [], [], {})
    loads = state.loads()
    for j, n in plan.items():
        place = loads[n].gpu_for(cluster.jobs[j])
        assert place is not None
        loads[n].put(j, cluster.jobs[j], place[1])
    return loads  # type: ignore[return-value]


def test_no_ways_no_shares() -> None:
    given = case(random_cluster(1))
    nothing = np.zeros(0, dtype=np.int64)
    assert len(shares_of_time(given.work, nothing, given.weight)) == 0
    assert len(order_of_ways(given.work, nothing, np.zeros(0), nothing, nothing, nothing, nothing)) == 0


@pytest.mark.parametrize("seed", [15, 33, 100, 167])
def test_whole_runs(seed: int) -> None:
    """Against the simulator, which has a linear programme of its own and stops where it has several optima."""
    check(random_cluster(seed, users=3), "MaxMin")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [17, 24, 26, 41, 44, 45, 55, 66, 70, 72, 82, 85, 93, 98, 102, 103, 109, 124, 136, 138])
def test_more_whole_runs(seed: int) -> None:
    check(random_cluster(seed, users=3), "MaxMin")


def test_times_that_differ_by_rounding_are_equal() -> None:
    """A job that has always run has a priority of its share, whatever the last digits of its times are."""
    given = case(Cluster([Node(1, 8, 1.0)], [Job(1, 1, 3.0, 0, 9), Job(1, 1, 3.0, 0, 9)]))
    elapsed, attained = np.array([1.0, 1.0 + 1e-15]), np.array([1.0, 1.0])
    same, queue = np.zeros(2, dtype=np.int64), np.array([0, 1])
    assert (elapsed / attained)[1] > 1.0
    order = order_of_ways(given.work, np.arange(2), np.full(2, 0.5), attained, elapsed, same, queue)
    assert order.tolist() == [0, 1]
