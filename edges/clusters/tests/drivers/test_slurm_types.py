"""Mixed types of GPUs and jobs on several nodes, on a simulated Slurm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from drive_files import mapping_for, write_files
from simulated_slurm import Node, SimulatedSlurm
from test_slurm_json import JOBS_22, NODES_22

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gsdsl_clusters.drivers.drive import DriveOptions, drive
from gsdsl_clusters.drivers.exclusions import wrong_shape
from gsdsl_clusters.drivers.protocol import JobState, ObservedJob
from gsdsl_clusters.drivers.settings import read_settings
from gsdsl_clusters.drivers.slurm.observe import observation_of

GANGS = """import "gsdsl:gangs/online.gsm";
scenario Cluster for Gangs {
  Racks = { A, B };
  table Nodes: rack gpus = h1 A 4  h2 A 4  a1 B 4  a2 B 4  a3 B 4  a4 B 4;
  Jobs = { };
}
"""
CLUSTER = """driver = "slurm"
model = "cluster.gsm"
online = "EveryEvent"
method = "{method}"
interval = 5

[slurm]
partition = "main"

[jobs]
submitted = "submitted"
workers = "gpus"
length = {{ field = "comment", match = "length=([0-9.]+)", unit = "s" }}
deadline = 1
weight = 1

[guard]
changes_per_hour = 1000000
patience = 3
retry = 60
"""
PRICED = """import "gsdsl:trace_replay/priced.gsm";
scenario Cluster for PricedReplay {
  table Types: price[$/h] = a100 1  h200 2;
  table Nodes: node_type gpus = g1 h200 8  g2 h200 8  g3 a100 8;
  Jobs = { };
  Allowed = { };
}
"""
LISTED = """driver = "slurm"
model = "cluster.gsm"
online = "PricedArrivals"
method = "highs"

[jobs]
submitted = "submitted"
needs = "gpus"
exec_time = 1
deadline = 1
weight = 1
Allowed = ALLOWED
"""


def typed_nodes() -> SimulatedSlurm:
    return SimulatedSlurm(
        [*(Node(f"h{n}", 4, "h200") for n in (1, 2)), *(Node(f"a{n}", 4, "a100") for n in range(1, 5))]
    )


def run(folder: Path, slurm: SimulatedSlurm, rounds: int, method: str = "FIFO") -> list[Diagnostic]:
    """Drive the cluster by the model of gangs of the library; return the messages."""
    path = write_files(folder, GANGS, CLUSTER.format(method=method))
    settings, cluster = read_settings(path, slurm.cluster())
    diagnostics = Diagnostics()
    workspace = load_workspace(settings.model, diagnostics)
    diagnostics.raise_if_errors()
    told: list[Diagnostic] = []
    drive(workspace, settings, cluster, DriveOptions(True, rounds, now=slurm.now, wait=slurm.sleep), report=told.append)
    return told


def test_a_typed_gang_of_sixteen_gpus_starts(tmp_path: Path) -> None:
    """With the model of gangs of the library: on the four nodes of its type, one with untyped GPUs beside it."""
    slurm = typed_nodes()
    gang = slurm.submit(gpus=4, nodes=4, kind="a100", seconds=30)
    anywhere = slurm.submit(gpus=4, nodes=2, seconds=30)
    told = run(tmp_path, slurm, 20)
    assert (gang.state, set(gang.node.split(","))) == ("COMPLETED", {"a1", "a2", "a3", "a4"}), told
    assert anywhere.state == "COMPLETED"
    assert anywhere.started < gang.ended or gang.started < anywhere.ended


@pytest.mark.parametrize("method", ["FIFO", "highs"])
def test_a_job_that_the_plan_divides_otherwise_is_not_started(tmp_path: Path, method: str) -> None:
    """The job needs its eight GPUs on one node, which has four: the plan spreads it, and others get the GPUs."""
    slurm = typed_nodes()
    slurm.nodes = [*slurm.nodes[:2], Node("a1", 4, "a100")]
    whole = slurm.submit(gpus=8, seconds=30)
    other = slurm.submit(gpus=4, nodes=2, seconds=30)
    told = run(tmp_path, slurm, 12, method)
    assert (whole.state, whole.held, whole.listed) == ("PENDING", "JobHeldUser", ())
    assert other.state == "COMPLETED"
    [message] = {one.message for one in told if "job `1`" in one.message}
    assert "it needs 1 node, not 2; it is not started, and its GPUs go to others" in message


@pytest.mark.parametrize(
    ("nodes", "even", "allocation", "why"),
    [
        (1, True, {"a": 4}, ""),
        (1, True, {"a": 2, "b": 2}, "it needs 1 node, not 2"),
        (4, True, {"a": 4, "b": 4}, "it needs 4 nodes, not 2"),
        (2, True, {"a": 4, "b": 4}, ""),
        (2, True, {"a": 5, "b": 3}, "it needs the same number of GPUs on each node, not 5, 3"),
        (2, False, {"a": 5, "b": 3}, ""),
        (0, False, {"a": 5, "b": 3, "c": 1}, ""),
    ],
)
def test_shapes(nodes: int, even: bool, allocation: dict[str, int], why: str) -> None:
    assert wrong_shape(ObservedJob("1", JobState.PENDING, 8, nodes, even=even), allocation) == why


@pytest.mark.parametrize(
    ("change", "types", "nodes"),
    [
        ({"tres_per_node": "gres:gpu:4"}, ("a100", "h200"), ("g1", "g2", "g3")),
        ({"tres_per_node": "gres:gpu:h200:4"}, ("h200",), ("g1", "g2")),
        ({"tres_per_node": "gres:gpu:4", "features": "new"}, ("a100",), ("g3",)),
        ({"tres_per_node": "gres:gpu:4", "excluded_nodes": "g[1-2]"}, ("a100",), ("g3",)),
        ({"tres_per_node": "gres:gpu:4", "resv_name": "r"}, ("a100", "h200"), ("g1", "g2", "g3")),
        ({"tres_per_node": "gres:gpu:v100:4"}, (), ()),
    ],
)
def test_types_and_nodes_of_a_job_are_lists(
    change: dict[str, Any], types: tuple[str, ...], nodes: tuple[str, ...], tmp_path: Path
) -> None:
    more = {**NODES_22[0], "name": "g3", "gres": "gpu:a100:8", "features": "new", "state_flags": ["RESERVED"]}
    job = observation_of([{**JOBS_22[1], "required_nodes": "", **change}], [*NODES_22, more], None).jobs["2"]
    assert (job.lists["gpu_types"], job.lists["allowed_nodes"]) == (types, nodes)
    assert job.even
    path = write_files(tmp_path, PRICED, LISTED.replace("ALLOWED", '"gpu_types"'))
    assert mapping_for(path).values(job)["Allowed"] == [[kind] for kind in types]
    translated = '{ field = "gpu_types", values = { h200 = "a100" } }'
    path = write_files(tmp_path, PRICED, LISTED.replace("ALLOWED", translated))
    assert mapping_for(path).values(job)["Allowed"] == [["a100"] for kind in types if kind == "h200"]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("Allowed = ALLOWED", 'Allowed = { field = "gpu_types", match = "x" }', "is a list, which has no `match`"),
        ("weight = 1\nAllowed = ALLOWED", 'weight = "gpu_types"\nAllowed = "gpu_types"', "`weight` is no set"),
        ("[jobs]", '[fields]\nkind = { field = "gpu_types" }\n\n[jobs]', "which a further field cannot keep"),
    ],
)
def test_lists_where_none_may_be(before: str, after: str, why: str, tmp_path: Path) -> None:
    text = LISTED.replace(before, after).replace("ALLOWED", '"gpu_types"')
    path = write_files(tmp_path, PRICED, text)
    with pytest.raises(DiagnosticError) as raised:
        mapping_for(path)
    assert any(why in diagnostic.message for diagnostic in raised.value.diagnostics)
