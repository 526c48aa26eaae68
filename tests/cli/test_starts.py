"""`gsdsl solve` with a search for a start, and from plans that no longer fit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from found_codes import shows

TEXT = """
model Packing {
  set Jobs;
  param room;
  var run[Jobs] binary;
  var spare >= 0;
  maximize total: sum[j in Jobs] run[j] - spare;
  constraint fits: 2 * sum[j in Jobs] run[j] == room + 2 * spare;
  constraint little: spare <= 0.25;
}
scenario Day for Packing { Jobs = { a, b, c };  room = 4; }
scenario Odd for Packing { Jobs = { a, b, c };  room = 3; }
"""


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "packing.gsm").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    return "packing.gsm"


@pytest.mark.parametrize("mode", ["auto", "on", "off"])
def test_every_mode_gives_the_optimum(mode: str, text: str, gsdsl: Callable[..., Any]) -> None:
    done = gsdsl("solve", text, "--scenario", "Day", "--heuristic", mode, "--json", "-")
    assert done.code == 0
    assert json.loads(done.out)["objectives"][0]["value"] == 2


def test_a_plan_that_leads_nowhere_is_told(text: str, gsdsl: Callable[..., Any]) -> None:
    assert gsdsl("solve", text, "--scenario", "Day", "--json", "plan.json").code == 0
    done = gsdsl("solve", text, "--scenario", "Odd", "--warm-start", "plan.json")
    assert done.code == 3
    assert shows(done.err, "GSM4010", severity="warning")
    assert "`fits`" in done.err or "`little`" in done.err  # as aggregation leaves the rows
