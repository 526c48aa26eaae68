"""Limits that count the jobs of an owner within a team, QOS or partition: the queue and the reasons obey the same."""

from __future__ import annotations

from typing import Any

import pytest

from gpusched_dsl.inspecting.queue_simulation import QueueRule, present_state, simulate
from gpusched_dsl.inspecting.reasons import waiting_reasons
from gpusched_dsl.inspecting.snapshot import JOB_COLUMNS, LIMIT_COLUMNS, NODE_COLUMNS, ClusterSnapshot, frame
from gpusched_dsl.inspecting.starts import QueueOrder
from gpusched_dsl.inspecting.what_if import what_if

JOBS = [
    {"job": f"{user}{at}", "user": user, "team": team, "qos": qos, "partitions": [partition], "gpu_types": types}
    for user, team, qos, partition, types in (
        ("ann", "red", "low", "main", ["a100"]), ("bob", "red", "high", "main", ["a100", "h100"]),
        ("cid", "blue", "low", "big", []),
    )
    for at in range(4)
]  # fmt: skip


def start_now(limit: dict[str, Any]) -> dict[str, int]:
    """How many of four jobs of each user start at once, on a cluster with room for all."""
    rows = [{"state": "waiting", "gpus": 1, "nodes": 1, "submitted": 0.0, "limit": 60.0, **job} for job in JOBS]
    nodes = [{"node": f"n{k}", "gpus": 16, "gpu_type": k, "partitions": ["main", "big"]} for k in ("a100", "h100")]
    snapshot = ClusterSnapshot(
        "test", 0.0, frame(nodes, NODE_COLUMNS), frame(rows, JOB_COLUMNS), limits=frame([limit], LIMIT_COLUMNS)
    )
    data = present_state(snapshot)
    began = simulate(data).start <= 0.0
    started = {job for job, at_once in zip(data.table["job"].to_list(), began, strict=True) if at_once}
    ran = [{**row, "state": "running", "started": 0.0, "on_nodes": ["na100"], "on_gpus": [1]} if row["job"] in started
           else row for row in rows]  # fmt: skip
    after = ClusterSnapshot("test", 0.0, snapshot.nodes, frame(ran, JOB_COLUMNS), limits=snapshot.limits)
    reasons = waiting_reasons(after, QueueOrder(False, QueueRule.EASY))
    assert all(len(each.notes) == 1 for each in reasons), "each job that does not start has a note with its limit"
    return {user: sum(job.startswith(user) for job in started) for user in ("ann", "bob", "cid")}


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ({"scope": "user", "owner": ""}, (2, 2, 2)),
        ({"scope": "user", "owner": "ann"}, (2, 4, 4)),
        ({"scope": "user", "owner": "", "qos": "low"}, (2, 4, 2)),
        ({"scope": "user", "owner": "", "partition": "big"}, (4, 4, 2)),
        ({"scope": "user", "owner": "bob", "team": "blue"}, (4, 4, 4)),
        ({"scope": "user", "owner": "bob", "team": "red"}, (4, 2, 4)),
        ({"scope": "team", "owner": "", "qos": "low"}, (2, 4, 2)),
        ({"scope": "qos", "owner": "high"}, (4, 2, 4)),
        ({"scope": "partition", "owner": "big"}, (4, 4, 2)),
        ({"scope": "qos", "owner": "low", "gpu_type": "a100"}, (2, 4, 4)),
        ({"scope": "partition", "owner": "main", "gpu_type": "a100"}, (2, 4, 4)),  # bob's may be of another type
    ],
)
def test_limits_count_the_jobs_that_they_are_for(limit: dict[str, Any], expected: tuple[int, int, int]) -> None:
    assert tuple(start_now({**limit, "gpus": 2}).values()) == expected


def test_only_limits_that_jobs_meet_are_doubled() -> None:
    rows = [
        {"job": f"j{at}", "user": "ann", "team": "red", "state": "waiting", "gpus": 2, "nodes": 1, "submitted": 0.0,
         "limit": 60.0}
        for at in range(4)
    ]  # fmt: skip
    limits = [{"scope": "user", "owner": "", "gpus": 2, "team": "red"}, {"scope": "team", "owner": "red", "gpus": 7}]
    running = {**rows[0], "job": "r", "state": "running", "started": 0.0, "on_nodes": ["n"], "on_gpus": [2]}
    nodes, jobs = frame([{"node": "n", "gpus": 16}], NODE_COLUMNS), frame([running, *rows], JOB_COLUMNS)
    snapshot = ClusterSnapshot("t", 0.0, nodes, jobs, limits=frame(limits, LIMIT_COLUMNS))
    texts = {change.text: change.starts_now for change in what_if(snapshot, QueueOrder(False, QueueRule.EASY))}
    assert texts == {"as it is": 0, "one more node of the same type": 0, "limit of user (each) in red 2 -> 4 GPUs": 1}
