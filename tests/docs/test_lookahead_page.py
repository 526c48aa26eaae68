"""The examples of docs/reference/lookahead.md are correct, and its model with two stages has the stated optimum."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli import main

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "lookahead.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```gsm\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", BLOCKS, ids=("rollouts", "windows", "stages"))
def test_the_examples_have_no_errors(text: str) -> None:
    gs.loads(text)


def test_the_two_stages(tmp_path: Path) -> None:
    """All decisions, each with its expected cost over the three futures."""
    model = gs.loads(BLOCKS[2])
    size, weight, wanted = (2, 2), (3, 1), (0, 2, 4)
    costs = {}
    for run in itertools.product((0, 1), repeat=2):
        free = 4 - sum(s * r for s, r in zip(size, run, strict=True))
        missing = sum(max(0, want - free) for want in wanted) / 3
        costs[run] = sum(w * (1 - r) for w, r in zip(weight, run, strict=True)) + 2 * missing
    best = min(costs, key=costs.__getitem__)
    solved = model.solve("Four", gap=0.0)
    assert solved.objective == pytest.approx(costs[best])
    assert tuple(solved.value("run", job) for job in "ab") == best
    (tmp_path / "stages.gsm").write_text(BLOCKS[2], encoding="utf-8")
    assert main(["test", str(tmp_path / "stages.gsm")]) == 0
