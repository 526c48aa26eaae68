"""Simulated runs that were recorded: restored before some of their plans, they end as they did, to the last bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import net_roads
import numpy as np
import pytest
from gang_windows import drawn_gang_window
from net_cases import drawn
from restored_runs import fingerprint, only_states, save_often
from state_cases import drawn_state
from state_window_roads import config_of
from state_windows import drawn_state_window
from typed_cases import drawn_typed

from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.checkpoints.restoring import restored_loop
from gpusched_dsl.online.checkpoints.state_files import StateFiles
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.recorder import Recorder
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.workflows.why import why

CASES = {"events": drawn, "states": drawn_state, "typed": drawn_typed, "windows": drawn_state_window}


@pytest.mark.quick(6)
@pytest.mark.parametrize("kind", [*CASES, "gangs"])
@pytest.mark.parametrize("seed", range(5))
def test_runs_end_as_they_did(kind: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With drawn lengths and outages, whose random streams go on."""
    save_often(monkeypatch)
    case = drawn_gang_window(seed) if kind == "gangs" else CASES[kind](seed)
    workspace = net_roads.opened(case)
    config = net_roads.CONFIG if kind in ("events", "states", "typed") else config_of(case)
    config = replace(config, most_events=400)
    expected = record(workspace, config, tmp_path / "run.db")
    setup = setup_of(workspace, config).stateless()

    def make(steps: object) -> SimulationLoop:
        return loop_of(setup, journal=steps)  # type: ignore[arg-type]

    steps = StateFiles.of(tmp_path / "run.db").steps()
    assert steps or expected.step_count < 2
    for step in {*steps[:: max(len(steps) // 4, 1)], *steps[-1:]}:
        with Journal.read(tmp_path / "run.db") as journal, only_states((step,)):
            loop, _ = restored_loop(make, journal, {})
            assert loop.step_count == step + 1
            while not loop.step():
                pass
        ours, theirs = fingerprint(loop), fingerprint(expected)
        assert [name for name in theirs if ours[name] != theirs[name]] == [], step


def record(workspace: Workspace, config: RunConfig, path: Path) -> SimulationLoop:
    setup = setup_of(workspace, config).stateless()
    with Recorder(
        path,
        setup,
        RunInfo(config.method, scenario=setup.base.instance.scenario.name or "", inputs_sha256=workspace.sha256),
    ) as recorder:
        loop = loop_of(setup, journal=recorder.steps)
        while not loop.step():
            pass
    return loop


@pytest.mark.parametrize("kind", ["states", "windows"])
def test_why_is_the_same(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the times of plans, and within slots."""
    save_often(monkeypatch)
    asked = 0
    for seed in range(3):
        workspace = net_roads.opened(case := CASES[kind](seed))
        config = replace(net_roads.CONFIG if kind == "states" else config_of(case), most_events=400)
        loop = record(workspace, config, path := tmp_path / f"{seed}.db")
        config, length, world = replace(config, journal=path), loop.setup.slot_length, loop.world
        for step in loop.steps[:: max(len(loop.steps) // 3, 1)]:
            at = step.time + 0.3 * length
            present = np.flatnonzero((world.arrival <= step.time) & ~(world.end <= at))
            for job in present[:1].tolist():
                found = why(workspace, f"j{job}", at, config).to_dict()
                with only_states(()):
                    assert found == why(workspace, f"j{job}", at, config).to_dict()
                asked += 1
    assert asked >= 4
