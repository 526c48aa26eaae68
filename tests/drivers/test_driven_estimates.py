"""Estimates of the jobs of a driven cluster, from its records."""

from __future__ import annotations

from pathlib import Path

import pytest
from drive_files import run_driver, settings_of, write_files
from simulated_cluster import SimulatedCluster

from gpusched_dsl.cli import main
from gpusched_dsl.drivers.live_estimate import estimate_driven
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import load_workspace


def test_the_start_of_a_waiting_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two nodes run jobs of 60 s; the third job starts when the first one ends, and the cluster agrees."""
    cluster, path = SimulatedCluster({"g1": 4, "g2": 4}), write_files(tmp_path)
    for number, length in ((1, 60), (2, 90), (3, 30)):
        cluster.submit(str(number), 4, length, comment=f"length={length}")
    run_driver(path, cluster, 3)
    settings = settings_of(path, cluster)
    workspace = load_workspace(settings.model, Diagnostics())
    found = estimate_driven(workspace, settings, "3", now=cluster.now)
    assert (found.state, found.unit) == ("waiting", "h")
    expected = found.quantile("start", 0.5)
    run_driver(path, cluster, 18)
    origin = 1_800_000_000.0
    started = cluster.jobs["3"].started
    assert started is not None
    assert expected is not None
    assert abs((started - origin) / 3600 - expected) <= 6 / 3600  # an observation every 5 s
    with pytest.raises(DiagnosticError, match="unknown job `9`"):
        estimate_driven(workspace, settings, "9", now=cluster.now)
    assert main(["estimate", str(path), "--job", "3", "--at", "2"]) == 2
    assert "an estimate of a cluster file is from now on" in capsys.readouterr().err
