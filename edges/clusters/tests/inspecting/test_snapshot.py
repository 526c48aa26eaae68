"""The tables of a snapshot: their columns, types and defaults."""

from __future__ import annotations

import polars as pl
import pytest

from gsdsl_clusters.inspecting.snapshot import (
    JOB_COLUMNS,
    NODE_COLUMNS,
    ClusterSnapshot,
    SnapshotState,
    complete,
    frame,
)

NODES = frame([{"node": "g1", "gpus": 4, "up": False}, {"node": "g2", "gpus": 8, "partitions": ["main"]}], NODE_COLUMNS)
JOBS = frame([{"job": "1", "state": "waiting", "gpus": 2}, {"job": "2", "state": "running", "nodes": 3}], JOB_COLUMNS)


def test_missing_values_have_defaults() -> None:
    assert NODES["up"].to_list() == [False, True]
    assert NODES["partitions"].to_list() == [[], ["main"]]
    assert NODES["gpu_type"].to_list() == ["", ""]
    assert NODES["cpus"].to_list() == [None, None]
    assert JOBS["nodes"].to_list() == [0, 3]
    assert frame([], JOB_COLUMNS).schema == pl.Schema(JOB_COLUMNS)


def test_jobs_by_state() -> None:
    snapshot = ClusterSnapshot("test", 0.0, NODES, JOBS)
    assert snapshot.jobs_in(SnapshotState.RUNNING)["job"].to_list() == ["2"]
    assert snapshot.jobs_in(SnapshotState.WAITING, SnapshotState.RUNNING).height == 2
    assert snapshot.limits.height == snapshot.reservations.height == 0


def test_wrong_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="a job occurs twice"):
        ClusterSnapshot("test", 0.0, NODES, pl.concat([JOBS, JOBS]))
    with pytest.raises(ValueError, match="the table of nodes has the columns"):
        ClusterSnapshot("test", 0.0, NODES.drop("rack"), JOBS)
    with pytest.raises(pl.exceptions.InvalidOperationError):
        complete(pl.DataFrame({"job": ["1"], "gpus": ["four"]}), JOB_COLUMNS)


def test_a_column_may_begin_after_many_rows() -> None:
    rows = [{"node": f"n{at}", "gpus": 4} for at in range(300)] + [{"node": "last", "gpus": 4, "rack": "r1"}]
    assert frame(rows, NODE_COLUMNS)["rack"].to_list()[-1] == "r1"
    with pytest.raises(ValueError, match="unknown columns: racks"):
        frame([{"node": "n", "gpus": 4, "racks": "r1"}], NODE_COLUMNS)
