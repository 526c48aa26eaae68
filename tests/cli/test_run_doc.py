"""docs/reference/running.md: its example prints the shown output, and its table has every metric."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpusched_dsl.reporting.runs.metrics import METRICS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "running.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [text for word, text in found if word == kind]


def masked(text: str) -> str:
    """Without times of the wall clock, which stand in the last column."""
    return re.sub(r" *\d+\.\d+$", "", text.strip(), flags=re.MULTILINE)


@pytest.mark.slow
def test_the_example(gsdsl: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = blocks("gsm")[0]
    (tmp_path / "three.gsm").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = re.search(r"`gsdsl (run three.gsm [^`]*)` prints", PAGE)
    assert found is not None
    done = gsdsl(*found[1].split())
    assert done.code == 0, done.err
    [printed] = blocks("")
    assert masked(done.out) == masked(printed)


def test_every_figure_is_explained() -> None:
    metrics = PAGE.split("`gsdsl run FILE --why-gap`")[0]  # which has a table of its own
    rows = dict(re.findall(r"^\| `(\w+)` \|[^|]*\| (.*) \|$", metrics, re.MULTILINE))
    assert rows == {metric.name: metric.means for metric in METRICS.values()}
