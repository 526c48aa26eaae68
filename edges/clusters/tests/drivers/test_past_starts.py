"""Estimates of a driven cluster are checked on its own past, with what was known then."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drive_files import CLUSTER, MODEL, run_driver, settings_of, write_files
from simulated_cluster import SimulatedCluster

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.online.checkpoints import state_files
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.rollouts.calibration import SHARES, Calibration, PastForecast, calibrate
from gpusched_dsl.workflows import past_starts
from gpusched_dsl.workflows.past_starts import StartCheck, check_starts
from gsdsl_clusters.drivers.drive import JOURNAL, parts_of, start_of_run
from gsdsl_clusters.drivers.live_estimate import estimate_driven, restore_loop
from gsdsl_clusters.drivers.protocol import JobState

HOUR = 3600.0
Driven = tuple[Any, Path, SimulatedCluster]


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Driven:
    """Thirty jobs of known lengths on eight GPUs, in a strict queue; a state before each fifth plan."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_files, "EVERY", 5)
        folder = tmp_path_factory.mktemp("driven")
        cluster, path = SimulatedCluster({"g1": 4, "g2": 4}), write_files(folder, MODEL, CLUSTER)
        draw = random.Random(3)
        for number in range(30):
            length = draw.randint(10, 60)
            cluster.submit(str(number), draw.randint(1, 4), length, at=7.0 * number, comment=f"length={length}")
        for number in range(10, 30, 4):
            cancel = partial(setattr, cluster.jobs[str(number)], "state", JobState.CANCELLED)
            cluster.at.append((cluster.now() + 7.0 * number + 20.0, cancel))
        run_driver(path, cluster, 50)
        return load_workspace(settings_of(path, cluster).model, Diagnostics()), path, cluster


def forecasts_of(driven: Driven, most: int = 10_000) -> tuple[list[PastForecast], StartCheck]:
    """What the check compares: the estimates of the past, beside the waits."""
    workspace, path, cluster = driven
    settings = settings_of(path, cluster)
    parts = parts_of(workspace, settings, start_of_run(workspace, settings, cluster.now, create=False))
    seen: list[PastForecast] = []

    def note(forecasts: Sequence[PastForecast], now: float) -> Calibration:
        seen.extend(forecasts)
        return calibrate(forecasts, now)

    with pytest.MonkeyPatch.context() as patch, Journal.read(settings.folder / JOURNAL) as journal:
        patch.setattr(past_starts, "calibrate", note)
        patch.setattr(past_starts, "LEAST_PLANS", 0)
        loop = restore_loop(parts, journal)
        found = check_starts(parts, journal, loop.world, loop.now, np.array([loop.now]), most, arrivals=False)
    return seen, found


def test_estimates_of_a_strict_queue_with_known_lengths_are_what_happened(driven: Driven) -> None:
    """All but the rounding to observations every 5 s: a job ends at the next one, and all after it are later."""
    forecasts, found = forecasts_of(driven)
    assert found.times == len(forecasts) >= 5
    assert [one.time for one in forecasts] == sorted(one.time for one in forecasts)
    late = []
    for one in forecasts:
        started = np.isfinite(one.waits)
        assert (one.quantiles == one.quantiles[:, :1]).all(), "nothing is drawn"
        late += (one.waits - one.quantiles[:, 1])[started].tolist()
    assert len(late) >= 20
    assert min(late) >= -1e-6
    assert max(late) <= 5.0 * 12, "at most 12 jobs one after the other, each up to an observation late"


def test_starts_are_those_of_the_journal(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a start is that of the run; a job that was withdrawn is no case."""
    forecasts, _ = forecasts_of(driven)
    workspace, path, cluster = driven
    settings = settings_of(path, cluster)
    parts = parts_of(workspace, settings, start_of_run(workspace, settings, cluster.now, create=False))
    with Journal.read(settings.folder / JOURNAL) as journal:
        loop = restore_loop(parts, journal)
    starts = loop.world.first_start[~np.isnan(loop.world.first_start)] * HOUR
    known = np.concatenate([one.time + one.waits for one in forecasts])
    known = known[np.isfinite(known)]
    assert len(known) >= 20
    assert all(np.abs(starts - one).min() < 1e-6 for one in known)
    monkeypatch.setattr(past_starts, "_withdrawn", lambda journal: set())
    again, _ = forecasts_of(driven)
    assert sum(len(one.waits) for one in again) > sum(len(one.waits) for one in forecasts)


def test_a_check_takes_no_more_plans_than_it_may(driven: Driven) -> None:
    _, many = forecasts_of(driven)
    _, few = forecasts_of(driven, most=1)
    assert few.times == 1 < many.times


def test_the_estimate_states_the_coverage_and_the_cases(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, path, cluster = driven
    settings = settings_of(path, cluster)
    monkeypatch.setattr(past_starts, "LEAST_PLANS", 10_000)
    monkeypatch.setattr("gpusched_dsl.online.rollouts.calibration.LEAST_CASES", 10)
    found = estimate_driven(workspace, settings, "28", samples=2, now=cluster.now)
    assert found.state == "waiting"
    check = found.to_dict()["check"]
    assert check["quantiles"] == list(SHARES)
    assert check["cases"] >= 1
    assert len(check["coverage"]) == len(check["start"]) == 3
    assert f"of {check['cases']} past waits of this run" in str(found)
    assert "start, corrected by the past of this run: 10 % by" in str(found)


def test_without_a_past_it_says_that_nothing_can_be_measured(tmp_path: Path) -> None:
    """The default: a state before each 128th plan, so a short run has none."""
    cluster, path = SimulatedCluster({"g1": 4}), write_files(tmp_path)
    for number in range(3):
        cluster.submit(str(number), 4, 60, comment="length=60")
    run_driver(path, cluster, 3)
    settings = settings_of(path, cluster)
    workspace = load_workspace(settings.model, Diagnostics())
    found = estimate_driven(workspace, settings, "2", samples=2, now=cluster.now)
    assert found.check is not None
    assert found.check.corrected is found.check.calibration.coverage is None
    assert "cannot be measured: it has no saved states in which jobs waited" in str(found)
    running = estimate_driven(workspace, settings, "0", samples=2, now=cluster.now)
    assert (running.state, running.check) == ("running", None)
