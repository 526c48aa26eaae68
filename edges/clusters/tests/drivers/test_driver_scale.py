"""The driver at 100 nodes and 400 jobs: the time from an event to its action, and memory over many events."""

from __future__ import annotations

import gc
import time
import tracemalloc
from pathlib import Path

import pytest
from drive_files import CLUSTER, MODEL, run_driver, write_files
from simulated_cluster import EPOCH, SimulatedCluster

from gsdsl_clusters.drivers import events
from gsdsl_clusters.drivers.protocol import Action, JobState

NODES = {f"g{number}": 4 for number in range(1, 101)}
LARGE = MODEL.replace("{ g1, g2 }", "{ " + ", ".join(NODES) + " }")


@pytest.mark.slow
def test_from_event_to_action_takes_less_than_a_second(tmp_path: Path) -> None:
    """400 jobs are there; another one comes, and its start is the only thing to do."""
    cluster, path = SimulatedCluster(dict(NODES)), write_files(tmp_path, LARGE)
    for number in range(1, 400):
        cluster.submit(str(number), 1, 1e6, comment="length=1000000")
    cluster.submit("400", 1, 1e6, at=20.0, comment="length=1000000")
    seen: dict[str, float] = {}
    observe, act = cluster.observe, cluster.act

    def timed_observe():  # type: ignore[no-untyped-def]
        found = observe()
        if "400" in found.jobs and "observed" not in seen:
            seen["observed"] = time.process_time()
        return found

    def timed_act(action: Action) -> None:
        if action.job == "400":
            seen["acted"] = time.process_time()
        act(action)

    cluster.observe, cluster.act = timed_observe, timed_act  # type: ignore[method-assign]
    run_driver(path, cluster, 8)
    assert {job.state for job in cluster.jobs.values()} == {JobState.RUNNING}
    assert seen["acted"] - seen["observed"] < 1.0  # with the plan


@pytest.mark.slow
def test_memory_does_not_grow_with_events(tmp_path: Path) -> None:
    """Nodes that fail and come back, 10,000 events: the driver keeps nothing of them."""
    cluster, path = SimulatedCluster(dict(NODES)), write_files(tmp_path, LARGE)
    cluster.submit("1", 4, 1e9, comment="length=1000000")
    sizes: list[int] = []
    observe = cluster.observe
    rounds = 0

    def switch():  # type: ignore[no-untyped-def]
        nonlocal rounds
        rounds += 1
        for name in list(NODES)[50:]:
            (cluster.fail if rounds % 2 else cluster.recover)(name)
        if rounds in (100, 200):
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
        return observe()

    cluster.observe = switch  # type: ignore[method-assign]
    tracemalloc.start()
    try:
        summary = run_driver(path, cluster, 200, acts=False)
    finally:
        tracemalloc.stop()
    assert summary.events >= 9_900
    assert sizes[1] - sizes[0] < 3_000_000  # the journal keeps the ids of events, some 300 bytes each


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_memory_does_not_grow_with_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 jobs come, run and end, 10,000 events. The run forgets them 1,000 at a time; what it keeps of each, in each
    of the two places that know ended jobs, are 8 bytes.
    """
    monkeypatch.setattr(events, "FORGOTTEN_AFTER", 5)
    text = CLUSTER.replace("changes_per_hour = 1000", "changes_per_hour = 1000000")
    cluster, path = SimulatedCluster(dict(NODES)), write_files(tmp_path, LARGE, text)
    sizes: list[int] = []
    observe = cluster.observe
    rounds = 0

    def turn():  # type: ignore[no-untyped-def]
        nonlocal rounds
        for name in [job.name for job in cluster.jobs.values() if job.state.has_ended]:
            del cluster.jobs[name]  # as Slurm forgets it
        cluster.actions.clear()
        for number in range(50 * rounds, 50 * (rounds + 1)):
            cluster.submit(str(number), 1, 3, at=cluster.time - EPOCH - 1, comment="length=3")
        rounds += 1
        if 41 <= rounds <= 60 or 81 <= rounds <= 100:  # a cycle of 1,000 jobs each
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
        return observe()

    cluster.observe = turn  # type: ignore[method-assign]
    tracemalloc.start()
    try:
        summary = run_driver(path, cluster, 101)
    finally:
        tracemalloc.stop()
    assert summary.events >= 9_900
    assert (max(sizes[20:]) - max(sizes[:20])) / 2_000 < 100  # bytes by job
