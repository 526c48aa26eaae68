"""Repeated comparisons lead any cluster to the plan, without stopping what may not be stopped and without overload."""

from __future__ import annotations

import random

import pytest
from simulated_cluster import EPOCH, SimulatedCluster

from gpusched_dsl.drivers.protocol import ActionKind, JobState, Observation, ObservedJob, ObservedNode
from gpusched_dsl.drivers.reconcile import WantedState, difference

NODES = {"g1": 4, "g2": 4, "g3": 2}


def random_cluster(rng: random.Random) -> SimulatedCluster:
    """Jobs without an end that wait (held, or released for some node) or run anywhere."""
    cluster = SimulatedCluster(dict(NODES))
    for number in range(rng.randint(1, 9)):
        gpus = rng.choice((1, 1, 2, 4))
        cluster.submit(str(number), gpus, 1e9, held=rng.random() < 0.6)
        job = cluster.jobs[str(number)]
        fitting = [node for node, free in cluster.free().items() if free >= gpus]
        if fitting and rng.random() < 0.5:
            node = rng.choice(fitting)
            job.state, job.held, job.pinned, job.allocation = JobState.RUNNING, False, (node,), {node: gpus}
            job.started, job.starts = EPOCH, 1
        elif not job.held:
            job.pinned = (rng.choice(list(NODES)),)
    return cluster


def random_plan(rng: random.Random, cluster: SimulatedCluster) -> WantedState:
    """A plan that fits: some jobs, some of them with other numbers of GPUs."""
    free, allocations = dict(NODES), {}
    for job in rng.sample(list(cluster.jobs.values()), len(cluster.jobs)):
        gpus = job.gpus if job.state is JobState.RUNNING or rng.random() < 0.8 else rng.choice((1, 2))
        fitting = [node for node, left in free.items() if left >= gpus]
        if fitting and rng.random() < 0.7:
            node = rng.choice(fitting)
            free[node] -= gpus
            allocations[job.name] = {node: gpus}
    return WantedState(allocations, tuple(cluster.jobs))


@pytest.mark.parametrize("preempt", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_any_cluster_comes_to_the_plan(seed: int, preempt: bool) -> None:
    rng = random.Random(seed)
    cluster = random_cluster(rng)
    plan = random_plan(rng, cluster)
    ran = {name for name, job in cluster.jobs.items() if job.state is JobState.RUNNING}
    for _ in range(12):
        for action in difference(plan, cluster.observe(), preempt=preempt).actions:
            cluster.act(action)
        cluster.sleep(1.0)
        assert min(cluster.free().values()) >= 0
    last = difference(plan, cluster.observe(), preempt=preempt)
    assert last.actions == ()
    running = {name: job.allocation for name, job in cluster.jobs.items() if job.state is JobState.RUNNING}
    if preempt:
        assert (running, last.contradictions, last.waiting) == (plan.allocations, (), ())
        return
    assert ran <= running.keys()
    assert all(cluster.jobs[name].restarts == 0 for name in running)
    elsewhere = {name for name in running if running[name] != plan.allocations.get(name)}
    assert {contradiction.about for contradiction in last.contradictions} == elsewhere
    missing = plan.allocations.keys() - running.keys()
    assert set(last.waiting) <= missing
    assert not missing or elsewhere


def test_nothing_that_is_under_way_is_done_again() -> None:
    """A job that was released for its node and has not started keeps its GPUs."""
    nodes = {"g1": ObservedNode("g1", 4)}
    released = ObservedJob("1", JobState.PENDING, 4, pinned=("g1",))
    other = ObservedJob("2", JobState.PENDING, 2, held=True)
    plan = WantedState({"1": {"g1": 4}, "2": {"g1": 2}}, ("1", "2"))
    found = difference(plan, Observation({"1": released, "2": other}, nodes), preempt=False)
    assert (found.actions, found.waiting) == ((), ("2",))


def test_a_job_for_another_number_of_nodes_is_not_started() -> None:
    nodes = {name: ObservedNode(name, 4) for name in ("g1", "g2")}
    job = ObservedJob("1", JobState.PENDING, 4, nodes=2, held=True)
    found = difference(WantedState({"1": {"g1": 4}}, ("1",)), Observation({"1": job}, nodes), preempt=True)
    assert found.actions == ()
    assert found.contradictions[0].message == "job `1` needs 2 nodes, but the plan lets it run on g1 (4 GPUs)"
    found = difference(WantedState({"1": {"g1": 2, "g2": 2}}, ("1",)), Observation({"1": job}, nodes), preempt=True)
    assert [action.kind for action in found.actions] == [ActionKind.START]


def test_another_type_of_gpus_stops_all_actions() -> None:
    nodes = {"g1": ObservedNode("g1", 4, gpu_type="a100"), "g2": ObservedNode("g2", 4, gpu_type="h200")}
    job = ObservedJob("1", JobState.PENDING, 4, held=True)
    plan = WantedState({"1": {"g1": 4}}, ("1",), kinds={"g1": "h200"})
    found = difference(plan, Observation({"1": job}, nodes), preempt=True)
    assert [c.message for c in found.contradictions if c.stops_all] == [
        "the plan uses `g1` as `h200`, but its GPUs are `a100`"
    ]
