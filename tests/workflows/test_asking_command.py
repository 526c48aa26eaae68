"""`gsdsl estimate` and `gsdsl why`, and the same from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from asking_texts import DRAWN, THREE_JOBS

import gpusched_dsl as gs
from gpusched_dsl.cli import exits, main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("three.gsm").write_text(THREE_JOBS, encoding="utf-8")
    Path("drawn.gsm").write_text(DRAWN, encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_an_estimate_is_told_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    asked = "estimate drawn.gsm --online EveryEvent --job j1 --method Greedy --samples 8 --json"
    command = [*asked.split(), "out.json"]
    assert main(command) == exits.OK
    told = capsys.readouterr().out
    assert told.startswith("GpuSharing, online block EveryEvent, scenario Drawn, with Greedy\n")
    assert "j1 at 0 h: running, submitted at 0 h, due at 70 h\n8 runs from this time" in told
    written = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert (written["samples"], len(written["end"]["values"]), written["unit"]) == (8, 8, "h")
    assert f"late in {100 * written['late']:g} % of the runs" in told
    assert main([*command[:-1], "-"]) == exits.OK
    assert json.loads(capsys.readouterr().out) == written
    found = gs.load("drawn.gsm").estimate("j1", method="Greedy", online="EveryEvent", samples=8)
    assert json.loads(json.dumps(found.to_dict())) == written


@pytest.mark.usefixtures("folder")
def test_an_answer_is_told_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["why", "three.gsm", "--online", "EveryEvent", "--job", "J3", "--at", "1", "--json", "out.json"]
    assert main(command) == exits.OK
    told = capsys.readouterr().out
    assert "J3 at 1 h waits, by the plan of highs at 1 h\n" in told
    assert "    violates `capacity[n1,A]` by 1: " in told
    written = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert written["others_as_planned"]["possible"] is False
    assert written["others_free"]["changes"]["total"] == pytest.approx(0.5)
    found = gs.load("three.gsm").why("J3", 1, online="EveryEvent")
    assert found.to_dict() == written
    assert "\n".join(found.lines()) + "\n" == told


@pytest.mark.usefixtures("folder")
def test_values_that_were_set_hold() -> None:
    model = gs.load("drawn.gsm")
    model.set("deadline", {"j1": 20.0})
    assert model.estimate("j1", method="Greedy", online="EveryEvent", samples=2).due == 20.0


@pytest.mark.quick(3)
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("estimate three.gsm --online EveryEvent --job J7", "GSM6021"),
        ("why three.gsm --online EveryEvent --job J7 --at 1", "GSM6021"),
        ("estimate three.gsm --online EveryEvent --job J1 --at 50 --method Greedy", "GSM6022"),
        ("why three.gsm --online EveryEvent --job J3 --at 0.5", "GSM6022"),
        ("why three.gsm --online EvryEvent --job J3 --at 1", "GSM6019"),
    ],
)
def test_what_cannot_be_asked(command: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == exits.BAD_INPUT
    assert f"error[{code}]" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "command", ["why three.gsm --job J1", "estimate three.gsm", "estimate three.gsm --job J1 --samples 0"]
)
def test_what_is_no_question(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == exits.USAGE
    assert "error[GSM6002]" in capsys.readouterr().err
