"""Starts by the compiled queue equal those of a plain one: gangs, types, limits, dependencies, closed times."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import numpy as np
import plain_queue
import pytest

from gsdsl_clusters.inspecting.queue_simulation import QueueRule, present_state, simulate
from gsdsl_clusters.inspecting.snapshot import (
    JOB_COLUMNS,
    LIMIT_COLUMNS,
    NODE_COLUMNS,
    RESERVATION_COLUMNS,
    ClusterSnapshot,
    frame,
)

NOW = 1_000_000.0
KINDS = ("a", "b", "c")


def drawn(
    seed: int, *, together: bool = False
) -> tuple[ClusterSnapshot, list[plain_queue.Node], list[plain_queue.Job], int]:
    """A snapshot, and the same nodes and jobs for the reference, with all lengths equal to the limits."""
    draw = Random(seed)
    nodes = [plain_queue.Node(draw.choice((2, 4, 8)), draw.choice(KINDS)) for _ in range(draw.choice((1, 2, 3, 7)))]
    windows = [
        (at, start, start + draw.randint(1, 6))
        for at in range(len(nodes))
        if draw.random() < 0.2
        for start in [draw.randint(-2, 10)]
    ]
    for at, start, end in windows:
        if end > 0:
            nodes[at].windows.append((start, end))
    most = draw.choice((0, 4, 12))
    jobs, used = [], [0] * len(nodes)
    for at in range(draw.choice((5, 15, 30))):
        gpus, wanted = draw.choice(((1, 1), (2, 1), (4, 1), (1, 2), (2, 3), (4, 2), (3, 0), (6, 0)))
        kinds = frozenset(draw.sample(KINDS, draw.randint(1, 3)))
        if together and seed % 2:  # many het jobs with equal components
            (gpus, wanted), kinds = draw.choice(((2, 1), (3, 1))), frozenset(KINDS)
        length = float(draw.choice((1, 2, 3, 5, 8, 20)))
        owner = draw.choice(("", "x")) if most else ""
        after = [draw.randrange(at)] if at and draw.random() < 0.15 else []
        job = plain_queue.Job(0.0, gpus, wanted, kinds, length, length, owner, after)
        free = {n: node.gpus - used[n] for n, node in enumerate(nodes) if node.kind in kinds}
        if draw.random() < 0.3 and not after and (places := plain_queue.choose(free, gpus, wanted)):
            job.start, job.places = -length + draw.randint(1, 3), places
            for n, g in places.items():
                used[n] += g
        jobs.append(job)
    if together:
        join(jobs, draw)
    limits = [{"scope": "team", "owner": "x", "gpus": most}] if most else []
    het_job = {at: f"het {head}" for head, job in enumerate(jobs) if job.members for at in (head, *job.members)}
    snapshot = ClusterSnapshot(
        "drawn",
        NOW,
        frame([{"node": f"n{at}", "gpus": n.gpus, "gpu_type": n.kind} for at, n in enumerate(nodes)], NODE_COLUMNS),
        frame([row(at, job, het_job) for at, job in enumerate(jobs)], JOB_COLUMNS),
        frame(
            [
                {"reservation": f"r{at}", "nodes": [f"n{node}"], "start": NOW + start, "end": NOW + end}
                for at, (node, start, end) in enumerate(windows)
            ],
            RESERVATION_COLUMNS,
        ),
        frame(limits, LIMIT_COLUMNS),
    )
    return snapshot, nodes, jobs, most


def join(jobs: list[plain_queue.Job], draw: Random) -> None:
    """Let some waiting jobs start together with later ones; all wait for what one of them comes after."""
    free = [at for at, job in enumerate(jobs) if math.isnan(job.start) and (not job.after or draw.random() < 0.3)]
    while len(free) > 1:
        count = draw.choice((1, 2, 2, 3))
        head, *members = free[:count]
        free = free[count:]
        jobs[head].members = members
        for at in members:
            jobs[at].is_member = True


def row(at: int, job: plain_queue.Job, het_job: dict[int, str]) -> dict[str, object]:
    runs = not math.isnan(job.start)
    return {
        "job": str(at),
        "state": "running" if runs else "blocked" if job.after else "waiting",
        "gpus": job.gpus,
        "nodes": job.nodes,
        "gpu_types": sorted(job.kinds),
        "team": job.owner,
        "het_job": het_job.get(at, ""),
        "after": [str(other) for other in job.after],
        "priority": -float(at),
        "submitted": NOW + job.submitted,
        "started": NOW + job.start if runs else None,
        "limit": job.length,
        "on_nodes": [f"n{n}" for n in job.places],
        "on_gpus": list(job.places.values()),
    }


@pytest.mark.quick(8)
@pytest.mark.parametrize("rule", list(QueueRule))
@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize("together", [False, True], ids=["alone", "together"])
def test_starts_equal_those_of_the_plain_queue(rule: QueueRule, part: int, together: bool) -> None:
    differing = 0
    for seed in range(40 * part, 40 * part + 40):
        snapshot, nodes, jobs, most = drawn(seed, together=together)
        data = present_state(snapshot)
        found = simulate(data, rule)
        order = [int(name[1:]) for name in data.node_names]
        expected = [replace(job, places={order.index(n): g for n, g in job.places.items()}) for job in jobs]
        for at, hopeless in enumerate(data.hopeless):
            if hopeless:
                expected[at].submitted = math.inf
        for job in expected:
            job.submitted = max([job.submitted, *(expected[at].submitted for at in job.members)])
            job.after = [*job.after, *(other for at in job.members for other in expected[at].after)]
        plain_queue.run([nodes[n] for n in order], expected, most, rule.value)
        np.testing.assert_allclose(found.start, [job.start for job in expected], atol=1e-9, err_msg=f"seed {seed}")
        for at, job in enumerate(expected):
            assert found.nodes_of(at) == {f"n{order[n]}": g for n, g in job.places.items()}, (seed, at)
        differing += sum(job.start > 0 for job in expected)
    assert differing > 40  # jobs that had to wait


def test_components_beside_jobs_that_use_more_than_a_node_has() -> None:
    """By the records two jobs use all GPUs of the first node; another one has half of the second node for longer."""
    job = {"state": "running", "nodes": 1, "submitted": NOW, "started": NOW}
    ends = (("n0", 8, 100.0), ("n0", 8, 200.0), ("n1", 4, 300.0))
    jobs = [
        {**job, "job": f"r{end}", "gpus": gpus, "limit": end, "on_nodes": [node], "on_gpus": [gpus]}
        for node, gpus, end in ends
    ]
    part = {"state": "waiting", "gpus": 8, "nodes": 1, "submitted": NOW, "limit": 50.0, "het_job": "7"}
    jobs += [{**part, "job": f"7+{at}", "gpu_types": [kind]} for at, kind in enumerate("ab")]
    one = {"state": "waiting", "gpus": 1, "nodes": 1, "submitted": NOW, "priority": -1.0}
    jobs += [{**one, "job": "short", "limit": 60.0}, {**one, "job": "long", "limit": 400.0}]
    nodes = frame([{"node": f"n{at}", "gpu_type": kind, "gpus": 8} for at, kind in enumerate("ab")], NODE_COLUMNS)
    found = simulate(present_state(ClusterSnapshot("made", NOW, nodes, frame(jobs, JOB_COLUMNS))), QueueRule.EASY)
    assert found.start.tolist()[3:] == [300.0, 300.0, 0.0, 350.0]  # `long` would delay the het job


def test_a_reservation_changes_no_running_job_with_equal_components() -> None:
    part = {"state": "waiting", "gpus": 3, "nodes": 1, "submitted": NOW, "limit": 100.0}
    jobs: list[dict[str, object]] = [
        {**part, "job": f"{het}+{at}", "het_job": str(het), "priority": -float(het)}
        for het in (7, 8)
        for at in range(2)
    ]
    jobs += [{**part, "job": f"small {at}", "gpus": 1, "priority": -9.0, "limit": 30.0} for at in range(3)]
    nodes = frame([{"node": "n0", "gpus": 8}], NODE_COLUMNS)
    found = simulate(present_state(ClusterSnapshot("made", NOW, nodes, frame(jobs, JOB_COLUMNS))), QueueRule.EASY)
    assert found.start.tolist() == [0.0, 0.0, 100.0, 100.0, 0.0, 0.0, 30.0]
    assert [found.nodes_of(at) for at in range(4)] == [{"n0": 3}] * 4


def test_a_reservation_is_after_the_maintenance_that_its_job_cannot_be_done_before() -> None:
    """A job behind it that ends before the maintenance starts now."""
    hour = 3600.0
    job = {"state": "waiting", "gpus": 8, "submitted": NOW}
    jobs = [
        {**job, "job": "runs", "state": "running", "nodes": 1, "started": NOW, "limit": 4 * hour}
        | {"on_nodes": ["n0"], "on_gpus": [8]},
        {**job, "job": "large", "nodes": 2, "limit": 4 * hour, "priority": -1.0},
        {**job, "job": "small", "nodes": 1, "limit": 4.5 * hour, "priority": -2.0},
    ]
    window = {"reservation": "r", "nodes": ["n0", "n1"], "start": NOW + 5 * hour, "end": NOW + 7 * hour}
    nodes = frame([{"node": name, "gpus": 8} for name in ("n0", "n1")], NODE_COLUMNS)
    tables = (frame(jobs, JOB_COLUMNS), frame([window], RESERVATION_COLUMNS))
    found = simulate(present_state(ClusterSnapshot("made", NOW, nodes, *tables)), QueueRule.EASY)
    assert found.start.tolist() == [0.0, 7 * hour, 0.0]


def test_a_job_that_only_a_closed_time_stops_has_a_reservation() -> None:
    """Else jobs behind it would take its other node again and again."""
    job = {"state": "waiting", "gpus": 8, "submitted": NOW}
    jobs = [
        {**job, "job": "gang", "nodes": 2, "limit": 100.0, "priority": -1.0},
        {**job, "job": "long", "nodes": 1, "limit": 300.0, "priority": -2.0},
    ]
    window = {"reservation": "r", "nodes": ["n1"], "start": NOW + 30.0, "end": NOW + 200.0}
    nodes = frame([{"node": name, "gpus": 8} for name in ("n0", "n1")], NODE_COLUMNS)
    tables = (frame(jobs, JOB_COLUMNS), frame([window], RESERVATION_COLUMNS))
    found = simulate(present_state(ClusterSnapshot("made", NOW, nodes, *tables)), QueueRule.EASY)
    assert found.start.tolist() == [200.0, 300.0]
