"""A small cluster with its model and cluster file, and a run of the driver on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from simulated_cluster import SimulatedCluster

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.online.live.clock import start_of
from gpusched_dsl.workflows.live import live_parts
from gsdsl_clusters.drivers.drive import ACTIONS, DriveOptions, DriveSummary, config_of, drive, mapping_of
from gsdsl_clusters.drivers.mapping import JobMapping
from gsdsl_clusters.drivers.records import read_records
from gsdsl_clusters.drivers.settings import DriveSettings, read_settings

MODEL = """import "gsdsl:trace_replay/policies.gsm";
scenario Cluster for TraceReplay "Two nodes" {
  Nodes = { g1, g2 };
  gpus[n in Nodes] = 4;
  Jobs = { };
}
online Live for TraceReplay {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry clock = now;
}
"""
CLUSTER = """driver = "simulated"
model = "cluster.gsm"
online = "Live"
method = "FIFO"
interval = 5

[jobs]
submitted = "submitted"
needs = "gpus"
exec_time = { field = "comment", match = "length=([0-9.]+)", unit = "s" }

[guard]
changes_per_hour = 1000
"""


def write_files(folder: Path, model: str = MODEL, cluster: str = CLUSTER) -> Path:
    (folder / "cluster.gsm").write_text(model)
    path = folder / "cluster.toml"
    path.write_text(cluster)
    return path


def settings_of(path: Path, cluster: SimulatedCluster) -> DriveSettings:
    return read_settings(path, cluster)[0]


def mapping_for(path: Path, cluster: SimulatedCluster | None = None) -> JobMapping:
    """The mapping of a cluster file, checked against its model."""
    settings, _ = read_settings(path, cluster)
    diagnostics = Diagnostics()
    workspace = load_workspace(settings.model, diagnostics)
    diagnostics.raise_if_errors()
    start = start_of(settings.start or "2027-01-15T08:00:00Z")
    return mapping_of(settings, live_parts(workspace, config_of(settings), start=start.isoformat()), start)


def run_driver(
    path: Path,
    cluster: SimulatedCluster,
    rounds: int,
    *,
    acts: bool = True,
    told: list[Diagnostic] | None = None,
    stop: Callable[[], bool] = lambda: False,
    on_observation: Callable[[float], None] = lambda now: None,
) -> DriveSummary:
    diagnostics = Diagnostics()
    settings = settings_of(path, cluster)
    workspace = load_workspace(settings.model, diagnostics)
    diagnostics.raise_if_errors()
    found = [] if told is None else told
    options = DriveOptions(acts, rounds, stop, cluster.now, cluster.sleep, on_observation=on_observation)
    return drive(workspace, settings, cluster, options, report=found.append)


def wait_for_actions(path: Path, count: int, seconds: float = 240.0) -> None:
    """Wait until a process that drives the cluster of a file has begun so many actions in all."""
    until = time.monotonic() + seconds
    while sum("action" in line for line in read_records(path.parent / "shadow" / ACTIONS)) < count:
        assert time.monotonic() < until, (path.parent / "drive.log").read_text()[-3000:]
        time.sleep(0.05)
