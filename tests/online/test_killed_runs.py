"""Runs that are killed at any instant and resumed end as undisturbed ones, to the last bit."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from online_texts import CP_ON, ROLLING, machines, setup

from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.recorder import Recorder
from gpusched_dsl.online.open import loop_of
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.simulation.world import World

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")

NOISE = """
online Noisy for Machines extends Events {
  stretch truncate(normal(mean = 1, deviation = 0.2), low = 0.5, high = 1.5);
  outage n in Nodes every exponential(mean = 6[h]) lasting 0.5[h];
}
"""
MACHINES = machines(3, [(0.4 * i, 0.5 + 0.37 * (i % 7)) for i in range(14)]) + NOISE
FEW = machines(2, [(0.5 * i, 0.5 + 0.3 * i) for i in range(5)]) + NOISE
RUNS: dict[str, tuple[str, str, str | None, str, dict[str, str]]] = {
    "few": (FEW, "Noisy", "S", "SRPT", {}),
    "policy": (MACHINES, "Noisy", "S", "SRPT", {}),
    "solver": (machines(2, [(0.4 * i, 0.5 + 0.37 * (i % 7)) for i in range(14)]) + NOISE, "Noisy", "S", "highs", {}),
    "capacity": (CP_ON, "EveryEvent", "CpOn", "RandomisedGreedy", {"node_rule": "at_most"}),
    "windows": (ROLLING, "SlotBySlot", "ExclusionByNode", "highs", {}),
}


def recorded(kind: str, path: Path) -> tuple[World, list[Any]]:
    """A run with a journal, resumed where that has steps, and the plans recorded in the end."""
    text, online, scenario, method, settings = RUNS[kind]
    stateless = setup(text, online, scenario, method, settings, seed=3).stateless()
    about = RunInfo(method, None, scenario or "", settings, {}, {})
    with Recorder(path, stateless, about) as recorder:
        outcome = loop_of(stateless, journal=recorder.steps).run()
        recorder.close_with(outcome)
    with Journal.read(path) as journal:
        return outcome.world, [plan(journal.step(k + 1)) for k in range(len(journal))]


def plan(step: Any) -> Any:
    """What a step decided, without how long that took."""
    decision = {**step.decision["plan"], "seconds": 0.0}
    return step.seq, step.time, step.decision["why"], decision


def killed(kind: str, path: Path, after: float) -> bool:
    """Run in a process of its own that is killed after some seconds; whether it had ended before."""
    child = start(kind, path)
    try:
        code = child.wait(after)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return False
    assert code == 0
    return True


def start(kind: str, path: Path) -> subprocess.Popen[bytes]:
    """A new process: data cannot be read in a fork of one that has read some."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    return subprocess.Popen([sys.executable, __file__, kind, str(path)], env=environment)


def disturb(kind: str, kills: int, folder: Path, seed: int) -> None:
    """Kill and resume until so many processes were killed; each run that ends is compared with an undisturbed one."""
    rng = random.Random(seed)
    world, plans = recorded(kind, folder / "undisturbed.db")  # compiles kernels too
    began = time.perf_counter()
    assert start(kind, folder / "again.db").wait() == 0
    takes = time.perf_counter() - began
    assert len(plans) > 2
    count = number = 0
    while count < kills:
        path = folder / f"run{number}.db"
        number += 1
        for _ in range(rng.randint(2, 12)):
            if killed(kind, path, rng.uniform(0.0, takes)):
                break
            count += 1
        again, resumed = recorded(kind, path)
        assert resumed == plans
        for name in ("end", "first_start", "done", "place", "status"):
            assert getattr(again, name).tolist() == getattr(world, name).tolist(), name
        assert again.ledger.totals == world.ledger.totals
        path.unlink()


def test_a_few_kills(tmp_path: Path) -> None:
    disturb("few", 4, tmp_path, 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["policy", "solver", "capacity", "windows"])
def test_eighty_kills(kind: str, tmp_path: Path) -> None:
    disturb(kind, 80, tmp_path, 2)


if __name__ == "__main__":
    recorded(sys.argv[1], Path(sys.argv[2]))
