"""The example of docs/live.md gives the shown output."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.online.live.messages import KINDS
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.workflows.live import run_live_loop

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "live.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def without_measures(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rounded, and without what is not the same every time."""
    rounded = [{n: round(v, 6) if isinstance(v, float) else v for n, v in record.items()} for record in records]
    return [{n: v for n, v in record.items() if n != "seconds"} for record in rounded]


def live(folder: Path, events: str) -> list[dict[str, Any]]:
    (folder / "cluster.gsm").write_text(blocks("gsm")[0], encoding="utf-8")
    (folder / "first.jsonl").write_text(events, encoding="utf-8")
    found = Diagnostics()
    workspace = load_workspace(folder / "cluster.gsm", found)
    found.raise_if_errors()
    out = io.BytesIO()
    config = RunConfig(online="EveryEvent", journal=folder / "run.db")
    run_live_loop(workspace, str(folder / "first.jsonl"), out, config, start="2026-03-01T00:00Z")
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_the_example(tmp_path: Path) -> None:
    events, told = blocks("json")[:2]  # the third shows a program
    wanted = [json.loads(line) for line in told.splitlines()]
    assert without_measures(live(tmp_path, events)) == without_measures(wanted)
    again = live(tmp_path, events)
    assert (again[0]["steps"], again[0]["events"]) == (3, 3)
    assert [(r["kind"], r.get("duplicate")) for r in again[1:]] == [("ack", True)] * 3 + [("error", None)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_event_is_listed(kind: str) -> None:
    assert f"`{kind}`" in PAGE
