"""`gsdsl run --live` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from live_child import TEXT
from live_toy import line

from gpusched_dsl.cli import main


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "cluster.gsm"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


def live(file: str, events: list[bytes], *more: str) -> int:
    source = Path(file).with_name("events.jsonl")
    source.write_bytes(b"".join(events))
    return main(["run", file, "--online", "EveryEvent", "--method", "Greedy", "--live", str(source), *more])


def test_a_live_run(file: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    journal = ("--journal", str(tmp_path / "run.db"))
    assert live(file, [line("tick", "a", 1)], *journal) == 0
    captured = capfdbinary.readouterr()
    first = [json.loads(text) for text in captured.out.splitlines()]
    assert [r["kind"] for r in first] == ["started", "ack", "decision"]
    assert first[2]["entries"]["run"][0]["index"][0] == "old"
    assert b"all of them are in" in captured.err
    assert live(file, [line("tick", "a", 1), line("end", "b", 2)], *journal, "--tell-from", "1") == 0
    again = [json.loads(text) for text in capfdbinary.readouterr().out.splitlines()]
    assert [r["kind"] for r in again] == ["started", "decision", "ack", "ack", "finished"]
    assert {**again[1], "seconds": 0, "again": False} == {**first[2], "seconds": 0}
    assert live(file, [], *journal, "--set", "period=3[h]") == 1
    assert b"GSM5104" in capfdbinary.readouterr().err


def test_dates_need_a_start(file: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    events = [line("tick", "a", "2026-03-01T01:30Z")]
    assert live(file, events) == 0
    assert json.loads(capfdbinary.readouterr().out.splitlines()[1])["code"] == "GSM5205"
    assert live(file, events, "--start", "2026-03-01T00:00Z") == 0
    assert json.loads(capfdbinary.readouterr().out.splitlines()[1])["time"] == 1.5


@pytest.mark.parametrize(
    ("more", "code", "finding"),
    [(["--live", "-", "--json", "x.json"], 2, "GSM6002"), (["--live", "-", "--methods", "highs,Greedy"], 2, "GSM6002"),
     (["--start", "2026-03-01"], 1, "GSM1691"), (["--tell-from", "1"], 2, "GSM6002"),
     (["--live", "none"], 1, "GSM5208"), (["--live", "-", "--start", "soon"], 1, "GSM5205")],
)  # fmt: skip
def test_wrong_usage(file: str, more: list[str], code: int, finding: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", file, "--online", "EveryEvent", *more]) == code
    captured = capfd.readouterr()
    assert finding in captured.err
    assert captured.out == ""
