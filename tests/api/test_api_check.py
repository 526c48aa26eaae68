"""`Model.check` reports the same diagnostics as `gsdsl check`, with and without scenarios."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli import main

UNKNOWN = "model M { set Jobs; param weight[Jobs]; var x >= 0; minimize total: x + sum[j in Jobs] wieght[j]; }"


def test_an_unknown_name_without_a_scenario() -> None:
    model = gs.loads(UNKNOWN)
    with pytest.raises(gs.DiagnosticError) as caught:
        model.check()
    [finding] = caught.value.diagnostics
    assert (finding.code, finding.help) == ("GSM1101", "did you mean `weight`?")
    assert [(edit.span.text, edit.text) for edit in finding.edits] == [("wieght", "weight")]
    assert model.check(strict=False) == (finding,)


def test_a_sound_text_and_its_warnings() -> None:
    assert gs.loads(UNKNOWN.replace("wieght", "weight")).check() == ()
    [warning] = gs.loads(UNKNOWN.replace("wieght", "weight") + " scenario S for M { Jobs = { a }; }").check()
    assert (warning.code, warning.severity) == ("GSM2115", "warning")


@pytest.mark.parametrize(
    "statement",
    ["Jobs = { a, a };", "table Jobs: weight = a 1 b true;", 'data "none.csv" { Jobs = job; }', "Job = { a };"],
)
def test_the_same_as_the_command(
    statement: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = UNKNOWN.replace("wieght", "weight") + f'\nscenario S for M {{ {statement} weight["a"] = 2; }}\n'
    Path("m.gsm").write_text(text, encoding="utf-8")
    main(["--diagnostics", "json", "check", "m.gsm"])
    told = [(d["code"], d["message"]) for d in json.loads(capsys.readouterr().out)]
    found = gs.load("m.gsm").check(strict=False)
    assert told
    assert [(d.code, d.message) for d in found] == told
