"""Limits that count the jobs of an owner within a team, QOS or partition: the queue and the reasons obey the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from made_history import made_history

from gsdsl_clusters.inspecting.inspection import inspect
from gsdsl_clusters.inspecting.other_queues import compare_queues, recent
from gsdsl_clusters.inspecting.queue_simulation import QueueRule, present_state, ready_at, simulate
from gsdsl_clusters.inspecting.reasons import waiting_reasons
from gsdsl_clusters.inspecting.snapshot import JOB_COLUMNS, LIMIT_COLUMNS, NODE_COLUMNS, ClusterSnapshot, frame
from gsdsl_clusters.inspecting.starts import QueueOrder
from gsdsl_clusters.inspecting.times import length_text
from gsdsl_clusters.inspecting.what_if import what_if

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


def test_a_limit_of_nothing_is_not_doubled(tmp_path: Path) -> None:
    """A closed QOS: no past job can be compared, and real waits are stated all the same."""
    history = made_history(3, jobs=60, nodes=3)
    closed = replace(history, limits=frame([{"scope": "team", "owner": "", "gpus": 0}], LIMIT_COLUMNS))
    found = inspect(closed)
    changes = [(change.text, change.mean_wait) for change in found.changes]
    assert changes == [("as it is", None), ("one more node of type a100", None)]
    text = " ".join(str(found).split())
    ran = history.jobs.filter(pl.col("started").is_not_null())
    wait = ran.select((pl.col("started") - pl.col("submitted")).mean()).item()
    assert f"mean wait so far {length_text(wait)}" in text
    note = f"none of the {ran.height} jobs of the past starts on the present nodes and limits"
    assert f"no comparison with other queues: {note}" in text
    assert "mean wait of past jobs" not in text
    queues = found.to_dict()["queues"]
    assert (queues["cluster"], queues["simulated"], queues["others"], queues["jobs"]) == (None, None, [], 0)
    assert tmp_path / "queues.csv" not in found.to_csv(tmp_path)


@pytest.mark.parametrize("most", [1, 2])
def test_mean_waits_of_changes_are_those_of_the_same_jobs(most: int) -> None:
    """More jobs start within a doubled limit; these must not change the mean of the others."""
    history = made_history(3, jobs=60, nodes=3)
    limited = replace(history, limits=frame([{"scope": "team", "owner": "", "gpus": most}], LIMIT_COLUMNS))
    order = QueueOrder(False, QueueRule.EASY)
    changes = what_if(limited, order)
    assert [change.text.startswith("limit of team") for change in changes] == [False, False, True]
    starts = []
    for gpus in (most, 2 * most):
        data = recent(replace(limited, limits=limited.limits.with_columns(pl.lit(gpus, pl.Int32).alias("gpus"))))
        ready = data.table.select(ready_at()).to_series().to_numpy()
        starts.append(simulate(data.in_order(ready), order.rule).start - ready)
    both = ~np.isnan(starts[0]) & ~np.isnan(starts[1])
    assert both.sum() < (~np.isnan(starts[1])).sum()
    assert changes[0].mean_wait == pytest.approx(starts[0][both].mean())
    assert changes[2].mean_wait == pytest.approx(starts[1][both].mean())


def test_the_past_wait_is_that_of_all_jobs() -> None:
    """Not only of those that the present limits let start again."""
    history = made_history(3, jobs=120, nodes=3)
    limited = replace(history, limits=frame([{"scope": "user", "owner": "", "gpus": 2}], LIMIT_COLUMNS))
    found, free = (compare_queues(each, QueueOrder(False, QueueRule.EASY)) for each in (limited, history))
    assert found is not None
    assert free is not None
    assert 0 < found.left_out < free.jobs
    assert found.wait == pytest.approx(free.wait)
    assert found.real is not None
    assert found.real.mean_wait != pytest.approx(free.wait)
