"""The diagnostics on docs/explaining.md are those that `gsdsl explain` prints."""

import re
from pathlib import Path

import pytest

from gpusched_dsl.cli import main

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "explaining.md").read_text(encoding="utf-8")
DUE = """\
model Due "Each job on one node, in time" {
  set Jobs;
  set Nodes;
  param hours[Jobs] in h;
  param deadline[Jobs] in h;
  var run[Jobs, Nodes] binary;

  minimize used: sum[j in Jobs, n in Nodes] run[j, n];

  # every job runs once
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] == 1;
  constraint due[j in Jobs]: sum[n in Nodes] hours[j] * run[j, n] <= deadline[j];
}
scenario Today for Due { Nodes = { n1, n2 };  table Jobs: hours[h] deadline[h] = j6 2 3  j7 5.2 4; }
"""
TRADE = """\
model Trade {
  # what is sold is bought before
  var bought >= 0;
  var sold >= 0;
  maximize gain in $: 3[$] * sold - 1[$] * bought;
  constraint stock: sold <= bought;
}
"""


@pytest.mark.parametrize(
    ("name", "text", "code", "exit_code"), [("due.gsm", DUE, "GSM3301", 3), ("trade.gsm", TRADE, "GSM3302", 4)]
)
def test_a_diagnostic_of_the_page(
    name: str,
    text: str,
    code: str,
    exit_code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text, encoding="utf-8")
    assert main(["explain", name]) == exit_code
    shown = f"error[{code}]" + PAGE.split(f"\nerror[{code}]", 1)[1].split("```", 1)[0]
    assert shown.strip() in "".join(capsys.readouterr())


def test_what_is_said_of_aggregation(capsys: pytest.CaptureFixture[str]) -> None:
    """One that is exact."""
    (block,) = (text for text in re.findall(r"^```\n(.*?)^```$", PAGE, re.M | re.S) if "aggregated\n" in text)
    assert main(["explain", "gsdsl:gavel_40_jobs.gsm"]) == 0
    assert block in capsys.readouterr().out


@pytest.mark.slow
def test_why_elements_are_not_aggregated(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = (text for text in re.findall(r"^```\n(.*?)^```$", PAGE, re.M | re.S) if "not aggregated" in text)
    assert main(["explain", "gsdsl:price_aware/scenarios/day.gsm", "--scenario", "DayByNode"]) == 0
    assert " ".join(block.split()) in " ".join(capsys.readouterr().out.split())
