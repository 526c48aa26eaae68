"""The tool `inspect`: reads what is in the folder of the server alone, and no live cluster."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from gpusched_dsl.cli import main
from gsdsl_assistants.calls import Calls, ModelText
from gsdsl_assistants.child import answer
from gsdsl_assistants.limits import CallLimits
from gsdsl_clusters.inspecting import starts

RECORDS = Path(__file__).resolve().parents[2] / "clusters" / "tests" / "inspecting" / "records" / "week.txt"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "server"
    found.mkdir()
    monkeypatch.chdir(found)  # as the process of the call starts there
    return found


def ask(source: str, **arguments: Any) -> dict[str, Any]:
    limits = asdict(CallLimits())
    given = {"source": source, **arguments}
    return answer({"tool": "inspect", "file": None, "allow_outside": False, "limits": limits, "arguments": given})


def test_records_in_the_folder(folder: Path) -> None:
    first = RECORDS.read_text(encoding="utf-8").splitlines()[:60]
    (folder / "week.txt").write_text("\n".join(first) + "\n", encoding="utf-8")
    found = ask("week.txt", nodes="6x8")
    assert found["ok"], found
    assert found["text"].startswith(found["headline"][:40])
    assert found["source"] == "sacct: week.txt"
    assert found["types"][0]["nodes"] == 6


def test_it_answers_as_the_command_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the starts, which are drawn."""
    monkeypatch.setattr(starts, "MOST_DRAWS", 5)
    header, *rows = RECORDS.read_text(encoding="utf-8").splitlines()
    Path("week.txt").write_text("\n".join([header, *rows[-110:]]) + "\n", encoding="utf-8")
    found = ask("week.txt")
    assert main(["inspect", "week.txt", "--json", "found.json", "--quiet"]) == 0
    printed = json.loads(Path("found.json").read_text(encoding="utf-8"))
    assert any(row["q10"] < row["q90"] for row in printed["starts"])  # else no draw would show
    assert {key: found[key] for key in printed} == printed


def test_the_process_of_the_call_starts_in_the_folder_of_the_server(tmp_path: Path) -> None:
    first = RECORDS.read_text(encoding="utf-8").splitlines()[:60]
    (tmp_path / "week.txt").write_text("\n".join(first) + "\n", encoding="utf-8")
    calls = Calls(tmp_path, CallLimits())
    found = asyncio.run(calls.run("inspect", ModelText(), here=True, source="week.txt", nodes="6x8"))
    assert found["source"] == "sacct: week.txt"


@pytest.mark.parametrize("way", ["above", "absolute", "link", "link in a folder", "nodes"])
def test_files_elsewhere_are_refused(folder: Path, tmp_path: Path, way: str) -> None:
    shutil.copy(RECORDS, tmp_path / "week.txt")
    shutil.copy(RECORDS, folder / "week.txt")
    (tmp_path / "nodes.csv").write_text("node,gpus\nn0,8\n", encoding="utf-8")
    (folder / "saved").mkdir()
    if way.startswith("link"):
        place = folder / "linked.txt" if way == "link" else folder / "saved" / "sacct.txt"
        place.symlink_to(tmp_path / "week.txt")
    source = {"above": "../week.txt", "absolute": str(tmp_path / "week.txt"), "link": "linked.txt"}.get(way, "saved")
    found = ask("week.txt", nodes="../nodes.csv") if way == "nodes" else ask(source)
    assert "outside the folder" in found["refused"]


def test_live_clusters_are_not_read(folder: Path) -> None:
    config = "apiVersion: v1\nkind: Config\nclusters:\n- name: a\n  cluster: {server: https://localhost:1}\n"
    (folder / "config").write_text(config, encoding="utf-8")
    found = ask("config")
    assert [each["code"] for each in found["diagnostics"]] == ["GSM5603"]
    assert [each["code"] for each in ask("slurm")["diagnostics"]] == ["GSM2001"]
