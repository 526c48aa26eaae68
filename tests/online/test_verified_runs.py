"""Replays are checked in production: at some times of the run by default, all of it with `verify="full"`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from online_texts import driver, machines

import gpusched_dsl as gs
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.planners.policy import PolicyPlanner
from gpusched_dsl.online.replay import fast_replay as whole_run
from gpusched_dsl.online.replay.fast_replay import fast_replay
from gpusched_dsl.workflows.replay_verification import disagreement

TEXT = machines(2, [(0.0, 2.0), (0.5, 3.0), (0.5, 1.0), (4.0, 0.5)], "weight = 1[$/h];", due=[1.5, 2.0, 3.0, 9.0])
MOVING = TEXT.replace("costs rent in $/h", "costs rent * (1 + clock / 1[h]) in $/h").replace(
    "param rent in", "param clock in h default 0[h];  param rent in"
).replace("carry remaining", "carry clock = now;  carry remaining")  # fmt: skip


def test_a_sample_finds_what_the_proof_would_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof is switched off, as a defect of it would."""
    assert driver(MOVING).run().event_by_event == ("`costs` may change: `clock` is carried from plan to plan",)
    monkeypatch.setattr(whole_run, "replay_obstacles", lambda policy, facts: [])
    loop = driver(MOVING)
    assert isinstance(loop, EventLoop)
    assert isinstance(loop.planner, PolicyPlanner)
    found = fast_replay(loop, loop.planner.policy)
    assert isinstance(found, list)
    assert "has another `costs`" in found[0]
    assert loop.run().total == pytest.approx(driver(MOVING, journal=None).run().total)


def test_a_sample_agrees_with_a_replay_that_is_right() -> None:
    assert driver(TEXT).run().event_by_event == ()


def test_a_replay_that_differs_is_found() -> None:
    fast, loop = driver(TEXT).run(), driver(TEXT)
    loop.fast_replay = None
    slow = loop.run()
    assert disagreement(fast, slow) is None
    fast.world.end[1] += 0.5
    finding = disagreement(replace(fast), slow)
    assert finding is not None
    assert finding.code == "GSM9003"
    assert "ends" in finding.message


def test_a_fully_verified_run_is_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "run.gsm"
    path.write_text(TEXT)
    model = gs.load(path)
    one, other = model.run(method="FIFO"), model.run(method="FIFO", verify="full")
    assert one.event_by_event == other.event_by_event == ()
    assert one.total == other.total
    assert np.array_equal(one.outcome.world.end, other.outcome.world.end)
    assert not [w for w in other.warnings if w.code == "GSM9003"]
