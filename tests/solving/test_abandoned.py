"""A solve with aggregation or tightening that ended early gives one warning, and its result is still exact."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.compiling.interchangeable import aggregate, work
from gpusched_dsl.compiling.passes import pipeline

CODE = "GSM4018"
# Four jobs of 3, 2, 2 and 1 GPUs on two equal nodes of 4: all fit, worth 10 + 7 + 6 + 1.
MODEL = """model Rooms {
  set Nodes; set Jobs; param gpus[Jobs]; param value[Jobs];
  var x[Jobs, Nodes] binary;
  maximize worth: sum[j in Jobs, n in Nodes] value[j] * x[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] x[j, n] <= 1;
  constraint room[n in Nodes]: sum[j in Jobs] gpus[j] * x[j, n] <= 4;
}
scenario S for Rooms { Nodes = 1..2; table Jobs: gpus value = a 3 10  b 2 7  c 2 6  d 1 1; }"""
# Two nodes that are coupled by their numbers: elements differ, which is no reason for a warning.
APART = MODEL.replace("Nodes; set", "Nodes; param price[Nodes]; set").replace("4;", "4 + price[n];")


def codes(result: gs.Result) -> list[str]:
    return [warning.code for warning in result.warnings]


def test_the_budget_of_aggregation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GSM4018, once in the output of `solve` and once in `Result.warnings`."""
    assert codes(gs.loads(MODEL).solve()) == []
    monkeypatch.setattr(work, "LEAST", 0)
    monkeypatch.setattr(work, "A_COLUMN", 0)
    result = gs.loads(MODEL).solve()
    assert codes(result) == [CODE]
    assert "the aggregation of `Nodes` was abandoned" in result.warnings[0].message
    assert "`--without aggregation`" in str(result.warnings[0].help)
    assert result.objective == pytest.approx(24)
    (tmp_path / "m.gsm").write_text(MODEL, encoding="utf-8")
    assert main(["solve", str(tmp_path / "m.gsm")]) == 0
    assert capsys.readouterr().err.count(f"warning[{CODE}]") == 1
    assert codes(gs.loads(MODEL).solve(without=["aggregation"])) == []


def test_the_share_of_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregate, "SHARE", 0.0)
    monkeypatch.setattr(pipeline, "SHARE", 0.0)
    assert codes(gs.loads(MODEL).solve()) == []  # there is no limit
    result = gs.loads(MODEL).solve(time_limit=60)
    assert codes(result) == [CODE, CODE]
    told = sorted(w.message for w in result.warnings)
    assert "aggregation of `Nodes` was abandoned" in told[0]
    assert "`tightening` was skipped in part" in told[1]
    assert all("longer `--time-limit`" in str(w.help) for w in result.warnings)
    assert result.objective == pytest.approx(24)


def test_the_budget_of_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many passes are left out, it is one warning."""
    monkeypatch.setattr(pipeline, "WORK", 0)
    result = gs.loads(MODEL).solve(without=["aggregation"])
    assert codes(result) == [CODE]
    assert result.warnings[0].message.count("was skipped") > 1
    assert result.objective == pytest.approx(24)


def test_what_does_not_apply_is_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    text = APART.replace("Nodes = 1..2;", "table Nodes: price = 1 0  2 1;")
    assert codes(gs.loads(text).solve()) == []
    monkeypatch.setattr(work, "LEAST", 0)
    monkeypatch.setattr(work, "A_COLUMN", 0)
    assert codes(gs.loads(text).solve()) == []  # no two nodes are equal: nothing was to be found out
    squared = MODEL.replace("<= 4;", '<= 4;\n  constraint even: sum[n in Nodes] x["a", n] * x["b", n] <= 5;')
    assert codes(gs.loads(squared).solve()) == []
