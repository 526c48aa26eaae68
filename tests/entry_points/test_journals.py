"""Journals of a run: whoever writes a consistent one cannot make the run start, open or import what it names."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hostile_values import TOKEN, VALUES, hostile, nothing_reached
from test_cluster_objects import leaves

from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import Workspace, workspace_from_text
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.records import External
from gpusched_dsl.online.live.messages import AnyEvent
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.workflows.live import live_parts, run_live_loop

TEXT = """
import "gsdsl:capacity_planning/online.gsm";
import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";
"""
CONFIG = RunConfig(online="EveryEvent", method="FIFO", fallback="EDF", settings={"period": "2[h]"})


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    found = Diagnostics()
    workspace = workspace_from_text(TEXT, "three.gsm", found)
    found.raise_if_errors()
    return workspace


def resume(workspace: Workspace, journal: Path) -> None:
    events = journal.with_name("events")
    events.touch()
    run_live_loop(workspace, str(events), io.BytesIO(), replace(CONFIG, journal=journal), start="2026-01-01")


def forged_headers(header: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for number, at in enumerate(leaves(header)):
        for text in VALUES[number % 9 :: 9]:
            made = {key: dict(value) if isinstance(value, dict) else value for key, value in header.items()}
            inner: Any = made
            for key in at[:-1]:
                inner = inner[key]
            inner[at[-1]] = text
            yield made


def test_every_text_of_a_header(workspace: Workspace, tmp_path: Path) -> None:
    """A run takes nothing from a header: it compares it with its own, and refuses another one."""
    header = dict(live_parts(workspace, CONFIG, start="2026-01-01").header)
    for number, forged in enumerate(forged_headers(header)):
        path = tmp_path / f"{number}.db"
        Journal.open(path, forged).close()
        changed = {key for key in forged if forged[key] != header[key]}
        with nothing_reached():
            if changed == {"gsdsl"}:  # the version, which a run only reports
                resume(workspace, path)
                continue
            with pytest.raises(DiagnosticError, match="GSM5104"):
                resume(workspace, path)
    assert not list(tmp_path.glob(f"**/*{TOKEN}*"))


def test_every_text_of_a_recorded_event(workspace: Workspace, tmp_path: Path) -> None:
    header = live_parts(workspace, CONFIG, start="2026-01-01").header
    for number, content in enumerate(list(hostile(AnyEvent))[::41]):
        path = tmp_path / f"{number}.db"
        with Journal.open(path, header) as journal:
            journal.accept([External("a", 0.0, content)])
        with nothing_reached(), suppress(DiagnosticError):
            resume(workspace, path)
