"""The example of docs/inspect.md is correct: its command prints what the page shows, and its Python runs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gpusched_dsl.cli import main
from gsdsl_clusters.inspecting import starts

TESTS = Path(__file__).resolve().parents[1]
PAGE = (TESTS.parent / "docs" / "inspect.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def without_drawn(text: str) -> str:
    """Without the digits of what depends on the number of drawn futures: dates of starts, and how often they held."""
    before, title, rest = text.partition("\nstarts, with the probability")
    drawn, empty, after = rest.partition("\n\n")
    assert title
    assert empty
    shapes = re.sub(r"(Mon|Tue|Wed)( \d| +(?=\d))", "day ", drawn)
    return before + title + " ".join(re.sub(r"[\d.]+", "0", shapes).split()) + empty + after


@pytest.mark.parametrize("draws", [5, pytest.param(None, marks=pytest.mark.slow)])
def test_the_command_prints_what_the_page_shows(
    draws: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few futures do for all but the starts: a simulation of the week takes long where kernels are plain Python."""
    if draws is not None:
        monkeypatch.setattr(starts, "MOST_DRAWS", draws)
    compared = (lambda text: text) if draws is None else without_drawn
    shutil.copy(TESTS.parent / "edges" / "clusters" / "tests" / "inspecting" / "records" / "week.txt", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main([*block("sh").split()[1:], "--html", "page.html", "--csv", "tables"]) == 0
    assert compared(capsys.readouterr().out.strip()) == compared(block("text").strip())
    page = Path("page.html").read_text(encoding="utf-8")
    for title in ("Schedule", "GPUs in use and waited for", "Unused GPUs by hour of the day", "Who waits and why"):
        assert title in page
    names: dict[str, Any] = {}
    exec(compile(block("python"), "inspect.md", "exec"), names)
    assert capsys.readouterr().out.startswith("48 of 48 GPUs are in use")
    found = names["found"]
    assert found.blocking["blocks"].max() == 92
    written = {path.stem: pl.read_csv(path) for path in Path("tables").iterdir()}
    named = re.search(r"writes each table to a file \(([^;]*);", PAGE)
    assert named is not None
    assert {f"`{name}.csv`" for name in written} == set(re.split(r",\s+", named[1]))
    assert written["starts"].height == found.starts.table.height > 50
    assert written["waiting"]["job"].cast(pl.String).to_list() == [job.job for job in found.waiting]
    assert written["blocking"]["on_nodes"][0] == ", ".join(found.blocking["on_nodes"][0])
    assert written["queues"]["mean_wait"].to_list()[1] == pytest.approx(found.queues.own.mean_wait)
