"""A recorded run with a state before each plan, restored from some of them, and repeated from its beginning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.checkpoints import state_files
from gpusched_dsl.online.checkpoints.codec import encode
from gpusched_dsl.online.checkpoints.loop_state import state_of
from gpusched_dsl.online.checkpoints.state_files import StateFiles
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.external_slots import AnyExternalLoop
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.workflows.live import LiveParts, live_parts, run_live_loop
from gsdsl_clusters.drivers.live_estimate import restore_loop


def save_often(monkeypatch: pytest.MonkeyPatch, every: int = 1) -> None:
    """Let runs save a state before each plan, or before one in so many, and keep all."""
    monkeypatch.setattr(state_files, "EVERY", every)
    monkeypatch.setattr(state_files, "MOST_FILES", 10**6)


def record_live(workspace: Workspace, config: RunConfig, lines: list[bytes], path: Path) -> RunConfig:
    """Record a live run; return its configuration."""
    config = replace(config, journal=path)
    file = path.with_suffix(".jsonl")
    file.write_bytes(b"".join(lines))
    with path.with_suffix(".out").open("wb") as out:
        run_live_loop(workspace, str(file), out, config)
    return config


def check_live(workspace: Workspace, config: RunConfig, cuts: int = 6) -> int:
    """Restore a recorded live run from some of its states; return their number, which is not 0 with two plans.

    Complete states are equal to the last bit, and so are the decision in effect and the costs. Raises AssertionError.
    """
    assert config.journal is not None
    parts = live_parts(workspace, config)
    with Journal.read(config.journal) as journal:
        files = StateFiles.of(journal.path)
        with only_states(()):
            expected = fingerprint(restored(parts, journal))
        steps = files.steps()
        chosen = sorted({steps[at * (len(steps) - 1) // max(cuts - 1, 1)] for at in range(cuts)} if steps else ())
        wrong = []
        for step in chosen:
            with only_states((step,)):
                found = fingerprint(restored(parts, journal))
            wrong += [f"from plan {step}: {name}" for name in expected if found[name] != expected[name]]
        assert not wrong, f"{wrong} of {len(journal)} plans"
        assert chosen or len(journal) < 2
    return len(chosen)


def restored(parts: LiveParts, journal: Journal) -> AnyExternalLoop:
    told: list[Diagnostic] = []
    loop = restore_loop(parts, journal, told.append)
    assert not told, told
    return loop


@contextmanager
def only_states(steps: tuple[int, ...]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StateFiles, "steps", lambda self: list(steps))
        yield


def fingerprint(loop: SimulationLoop) -> Mapping[str, Any]:
    """All that a loop answers from."""
    state = state_of(loop, ())
    state["steps"] = [step[:2] for step in state["steps"]]  # the rest has seconds
    found: dict[str, Any] = {name: encode(value, loop.setup.kept_variables) for name, value in state["values"].items()}
    found |= {name: encode(value, frozenset()) for name, value in state.items() if name != "values"}
    if isinstance(loop, AnyExternalLoop):
        decision = loop.decision()
        found["decision"] = None if decision is None else (decision.step, decision.time, decision.entries)
        found["costs"] = loop.finish()
    return found
