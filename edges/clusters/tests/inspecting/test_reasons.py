"""Why jobs wait, against a count over the nodes: on any number of nodes, and with nodes that are down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusched_dsl.explaining.job_reason import NEVER, NO_ROOM, ROOM
from gsdsl_clusters.inspecting.queue_simulation import QueueRule
from gsdsl_clusters.inspecting.reasons import waiting_reasons
from gsdsl_clusters.inspecting.snapshot import JOB_COLUMNS, NODE_COLUMNS, ClusterSnapshot, frame
from gsdsl_clusters.inspecting.starts import QueueOrder

TYPES = ("a100", "v100")


def made_cluster(seed: int) -> ClusterSnapshot:
    """Nodes of two types, some of them down, with a running job on some, and waiting jobs of many shapes."""
    draw = np.random.default_rng(seed)
    nodes: list[dict[str, Any]] = [
        {"node": f"n{at}", "gpu_type": TYPES[at % 2], "gpus": int(draw.integers(1, 9)), "up": bool(draw.random() < 0.7)}
        for at in range(5)
    ]
    running = [
        {
            "job": f"r{at}", "state": "running", "gpus": node["gpus"], "nodes": 1, "submitted": 0.0, "started": 0.0,
            "limit": float(draw.integers(200, 900)), "on_nodes": [node["node"]],
            "on_gpus": [int(draw.integers(1, node["gpus"] + 1))],
        }
        for at, node in enumerate(nodes) if node["up"] and draw.random() < 0.7
    ]  # fmt: skip
    waiting = [
        {
            "job": f"w{at}", "state": "waiting", "gpus": int(draw.integers(1, 20)), "nodes": int(draw.integers(0, 3)),
            "gpu_types": [] if draw.random() < 0.5 else [TYPES[at % 2]], "submitted": 1.0 + at,
        }
        for at in range(12)
    ]  # fmt: skip
    return ClusterSnapshot("made", 100.0, frame(nodes, NODE_COLUMNS), frame([*running, *waiting], JOB_COLUMNS))


def has_room(free: dict[str, int], gpus: int, nodes: int) -> bool:
    return sum(free.values()) >= gpus if nodes == 0 else sum(each >= gpus for each in free.values()) >= nodes


@pytest.mark.parametrize("seed", range(20))
def test_reasons_equal_a_count_over_nodes(seed: int) -> None:
    snapshot = made_cluster(seed)
    nodes = list(snapshot.nodes.iter_rows(named=True))
    jobs = {job["job"]: job for job in snapshot.jobs.iter_rows(named=True)}
    running = [job for job in jobs.values() if job["state"] == "running"]
    for found in waiting_reasons(snapshot, QueueOrder(False, QueueRule.EASY)):
        job = jobs[found.job]
        suits = [node for node in nodes if not job["gpu_types"] or node["gpu_type"] in job["gpu_types"]]
        shape = (job["gpus"], job["nodes"])

        def free(time: float, suits: list[dict[str, Any]] = suits) -> dict[str, int]:
            left = {node["node"]: node["gpus"] for node in suits if node["up"]}
            for other in running:
                if other["limit"] > time and other["on_nodes"][0] in left:
                    left[other["on_nodes"][0]] -= other["on_gpus"][0]
            return left

        if not has_room(free(np.inf), *shape):
            repaired = has_room({node["node"]: node["gpus"] for node in suits}, *shape)
            if repaired:
                down = ", ".join(node["node"] for node in suits if not node["up"])
                assert found.reason is None
                assert found.notes == (f"there is room for it only with nodes that are down: {down}",)
            else:
                assert found.reason is not None
                assert found.reason.kind == NEVER
            continue
        assert found.reason is not None
        assert found.reason.kind == (ROOM if has_room(free(snapshot.now), *shape) else NO_ROOM)
        ends = sorted(other["limit"] for other in running)
        at = next((end for end in ends if has_room(free(end), *shape)), None)
        assert found.reason.room_at == (None if found.reason.kind == ROOM else at)


@pytest.mark.parametrize(
    ("demand", "note"),
    [
        ({"gpu_types": ["h100", "h200"]}, "no node has GPUs of type h100 or h200"),
        ({"partitions": ["debug"]}, "no node with GPUs is in partition debug"),
        ({"gpu_types": ["a100"], "partitions": ["main"], "gpus": 99}, ""),
        ({"gpu_types": ["a100"], "partitions": ["main"]}, ""),
    ],
)
def test_what_no_node_has_is_named(demand: dict[str, Any], note: str) -> None:
    nodes = frame([{"node": "n", "gpus": 8, "gpu_type": "a100", "partitions": ["main"]}], NODE_COLUMNS)
    row = {"job": "j", "state": "waiting", "gpus": 1, "nodes": 1, "submitted": 0.0, **demand}
    snapshot = ClusterSnapshot("made", 1.0, nodes, frame([row], JOB_COLUMNS))
    [found] = waiting_reasons(snapshot, QueueOrder(False, QueueRule.EASY))
    assert found.notes == ((note,) if note else ())
