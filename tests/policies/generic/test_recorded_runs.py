"""Policies for any model in recorded runs: interrupted and resumed, they end as undisturbed ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from generic_clusters import random_cluster

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.journal.recorder import Recorder
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.policies.generic.catalogue import GENERIC

TEXT = random_cluster(7, outages=True, users=2).text("user owner[j];  share part[owner[j]];")


def run(method: str, path: Path | None, steps: int = 10**6) -> RunOutcome:
    """Run with a journal, at most so many steps."""
    found = Diagnostics()
    workspace = workspace_from_text(TEXT, "cluster.gsm", found)
    setup = setup_of(workspace, RunConfig(method=method, most_events=400))
    if path is None:
        return loop_of(setup, fast=False).run()
    setup = setup.stateless()
    about = RunInfo(method, None, "S", {}, {}, {})
    with Recorder(path, setup, about) as recorder:
        asked = iter(range(10**6))
        outcome = loop_of(setup, journal=recorder.steps, stop=lambda: next(asked) >= steps).run()
        recorder.close_with(outcome)
    return outcome


@pytest.mark.parametrize(
    "method", [pytest.param(m, marks=[] if m in ("LAS", "EASY") else pytest.mark.slow) for m in GENERIC]
)
def test_resumed_runs(method: str, tmp_path: Path) -> None:
    whole, path = run(method, None), tmp_path / "run.db"
    stopped = run(method, path, 12)
    assert len(stopped.steps) < len(whole.steps)
    resumed = run(method, path)
    assert [s.time for s in resumed.steps] == [s.time for s in whole.steps]
    for name in ("end", "first_start", "attained", "done"):
        np.testing.assert_array_equal(getattr(resumed.world, name), getattr(whole.world, name))
