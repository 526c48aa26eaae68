"""Nodes that a user states for a source of jobs only, and what such sources leave in doubt."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_read_clusters import LIMITS, SACCT

from gpusched_dsl.data.sources.files import Unreadable
from gsdsl_clusters.inspecting.inspection import inspect
from gsdsl_clusters.inspecting.reading import read_snapshot

TRACE = "submit_time,duration_s,num_gpus,vc\n" + "".join(
    f"2017-09-07 04:00:{at:02},3600,4,a\n" for at in range(10)
)  # 40 GPUs wanted at once


def test_a_stated_cluster_makes_the_jobs_of_a_trace_wait(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text(TRACE)
    free, stated = (read_snapshot(str(tmp_path / "trace.csv"), LIMITS, nodes=n) for n in (None, "2x4"))
    assert (free.nodes["gpus"].sum(), stated.nodes["gpus"].to_list()) == (40, [4, 4])
    waits = [found.own.mean_wait for each in (free, stated) if (found := inspect(each).queues) is not None]
    # pairs of jobs follow each other: 0, 0, 1, 1, 2, 2, 3, 3, 4, 4 hours, less the seconds between the submissions
    assert waits == [0.0, pytest.approx(7200.0, abs=10.0)]
    assert "no starts are known: all waits are those of a simulation, not of the cluster" in str(inspect(stated))


def test_groups_and_types() -> None:
    found = read_snapshot(str(SACCT), LIMITS, nodes="1x4:h100,2x8:a100")
    nodes = found.nodes.sort("node").select("node", "gpus", "gpu_type").rows()
    assert nodes == [("g1", 8, "a100"), ("g2", 8, "a100"), ("node-1", 4, "h100")]  # g1 and g2 ran jobs with a100
    alike = read_snapshot(str(SACCT), LIMITS, nodes="2x8:h100,2x8:a100").nodes
    assert alike.filter(alike["gpu_type"] == "a100")["node"].sort().to_list() == ["g1", "g2"]
    assert found.inferred == ""
    assert not found.notes


def test_a_table_of_nodes(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("node,gpus,type,rack,partition\ng1,8,a100,r1,main\ng3,4,h100,r2,\ng3,4,h100,r2,\ng4,2.5,h100,,\n")
    found = read_snapshot(str(SACCT), LIMITS, nodes=str(path))
    assert found.nodes.select("node", "gpus", "gpu_type", "rack", "partitions").rows() == [
        ("g1", 8, "a100", "r1", ["main"]), ("g3", 4, "h100", "r2", [])
    ]  # fmt: skip
    assert [text.split(": ", 1)[1] for text in found.unread[:2]] == [
        "1: the number of GPUs is not an integer (first on line 5)", "1: its name occurs before (first on line 4)"
    ]  # fmt: skip
    assert found.notes == ("1 running job on unknown nodes (g2): 8 GPUs not counted",)


def test_nodes_that_are_too_small_are_noticed() -> None:
    found = read_snapshot(str(SACCT), LIMITS, nodes="3x4:a100")
    assert any("1 job (2) for up to 8 GPUs of a node: the largest known node has 4" in note for note in found.notes)
    assert any("1 running job on unknown nodes (g1, g2): 16 GPUs" in note for note in found.notes)


def test_more_gpus_in_use_than_there_are(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("node,gpus\ng1,4\ng2,8\n")
    found = read_snapshot(str(SACCT), LIMITS, nodes=str(path))
    assert "jobs use 8 of the 4 GPUs of node g1: nodes are larger than known" in found.notes


@pytest.mark.parametrize("nodes", ["3by8", "x8", "2x8;1x4", "0x8", "8x0", "", "999999x8", "2x8,"])
def test_other_forms_are_refused(nodes: str) -> None:
    with pytest.raises(Unreadable) as raised:
        read_snapshot(str(SACCT), LIMITS, nodes=nodes)
    assert raised.value.faults[0].code == "GSM5602"


def test_missing_files_of_nodes_are_named() -> None:
    with pytest.raises(Unreadable, match=r"data file `nowhere\.csv` does not exist"):
        read_snapshot(str(SACCT), LIMITS, nodes="nowhere.csv")
