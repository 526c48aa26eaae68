"""Repeated comparisons lead any cluster to the plan, without stopping what may not be stopped and without overload."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from simulated_cluster import EPOCH, SimulatedCluster

from gsdsl_clusters.drivers.protocol import ActionKind, JobState, Observation, ObservedJob, ObservedNode
from gsdsl_clusters.drivers.reconcile import WantedState, difference, free_gpus

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


def running(name: str, node: str, gpus: int) -> ObservedJob:
    return ObservedJob(name, JobState.RUNNING, gpus, allocation={node: gpus})


def test_a_job_runs_on_until_its_new_place_is_free() -> None:
    """2 moves to where 1 was, 3 to where 2 was, and 4 starts where 3 was: one after the other, each from free GPUs."""
    nodes = {name: ObservedNode(name, 4) for name in ("g1", "g2", "g3", "g4")}
    places = {"1": ("g1", "g4"), "2": ("g2", "g1"), "3": ("g3", "g2")}
    plan = WantedState({job: {new: 4} for job, (_, new) in places.items()} | {"4": {"g3": 4}}, ("4", "3", "2", "1"))
    jobs = {job: running(job, old, 4) for job, (old, _) in places.items()}
    jobs["4"] = ObservedJob("4", JobState.PENDING, 4, held=True)
    done, counted = [], Counter[str]()
    for _ in range(20):
        found = difference(plan, Observation(jobs, nodes), preempt=True)
        counted.update(found.waiting)
        for name, job in list(jobs.items()):
            if job.state is JobState.PENDING and not job.held:  # released before: it starts now
                jobs[name] = running(name, job.pinned[0], 4)
            elif job.state is JobState.PENDING and job.allocation:  # stopped before: its GPUs become free now
                jobs[name] = ObservedJob(name, JobState.PENDING, 4, held=True)
        for action in found.actions:
            done.append((action.kind.value, action.job))
            job = jobs[action.job]
            if action.kind is ActionKind.REQUEUE:
                jobs[action.job] = ObservedJob(action.job, JobState.PENDING, 4, held=True, allocation=job.allocation)
            else:
                jobs[action.job] = ObservedJob(action.job, JobState.PENDING, 4, pinned=tuple(action.allocation))
    moves = [(kind, job) for job in ("1", "2", "3") for kind in ("requeue", "start")]
    assert done == [*moves, ("start", "4")]
    assert counted["4"] <= 2, "a start that waits for moves is not stuck"


def test_gpus_that_a_job_is_leaving_are_counted_once() -> None:
    """On g1, 1 has just stopped and starts again, 2 leaves, and 3 waits for 2."""
    nodes = {name: ObservedNode(name, 8) for name in ("g1", "g2")}
    stopped = ObservedJob("1", JobState.PENDING, 4, held=True, allocation={"g1": 4})
    jobs = {"1": stopped, "2": running("2", "g1", 4), "3": ObservedJob("3", JobState.PENDING, 4, held=True)}
    plan = WantedState({"1": {"g1": 4}, "2": {"g2": 4}, "3": {"g1": 4}}, ("1", "2", "3"))
    found = difference(plan, Observation(jobs, nodes), preempt=True)
    assert [(action.kind, action.job) for action in found.actions] == [(ActionKind.REQUEUE, "2")]
    assert found.waiting == ("1",)


def test_a_start_that_no_move_makes_room_for_waits() -> None:
    nodes = {name: ObservedNode(name, 4) for name in ("g1", "g2", "g3")}
    jobs = {"1": running("1", "g1", 4), "other": running("other", "g3", 4)}
    jobs["2"] = ObservedJob("2", JobState.PENDING, 4, held=True)
    plan = WantedState({"1": {"g2": 4}, "2": {"g3": 4}}, ("1", "2"))
    found = difference(plan, Observation(jobs, nodes), preempt=True)
    assert [(action.kind, action.job) for action in found.actions] == [(ActionKind.REQUEUE, "1")]
    assert found.waiting == ("2",)


def test_of_two_jobs_that_change_places_one_is_halted_first() -> None:
    nodes = {name: ObservedNode(name, 4) for name in ("g1", "g2")}
    jobs = {"1": running("1", "g1", 4), "2": running("2", "g2", 3)}
    plan = WantedState({"1": {"g2": 4}, "2": {"g1": 3}}, ("1", "2"))
    found = difference(plan, Observation(jobs, nodes), preempt=True)
    assert [(action.kind, action.job) for action in found.actions] == [(ActionKind.REQUEUE, "2")]


@pytest.mark.parametrize("seed", range(60))
def test_no_job_is_stopped_before_its_new_place_is_free_but_in_circles(seed: int) -> None:
    rng = random.Random(seed)
    cluster = random_cluster(rng)
    plan = random_plan(rng, cluster)
    for _ in range(12):
        observation = cluster.observe()
        found = difference(plan, observation, preempt=True)
        free = Counter(free_gpus(plan, observation))
        for action in found.actions:
            wanted = plan.allocations.get(action.job, {})
            own = observation.jobs[action.job].allocation
            if action.kind is ActionKind.START:
                free.subtract(wanted)
            elif action.kind is ActionKind.REQUEUE and any(free[n] + own.get(n, 0) < g for n, g in wanted.items()):
                others = [job for job, place in plan.allocations.items() if job != action.job and set(place) & set(own)]
                assert others, "nobody needs its place"
        for action in found.actions:
            cluster.act(action)
        cluster.sleep(1.0)
    assert all(job.restarts <= 1 for job in cluster.jobs.values())


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
