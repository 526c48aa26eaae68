"""A program as method of a live run: when it fails, the cluster goes on."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from live_toy import line
from test_live_cluster import LINES, decisions, live, runs

# The first plans run `j1`; from hour 1 on the program answers with FAULT.
PROGRAM = """
import json, sys
for text in sys.stdin:
    event = json.loads(text)
    if event["kind"] == "tick":
        if event["time"] >= 1:
            FAULT
        entries = {"run": [{"index": ["j1", "n1", "small", 1], "value": 1}]}
        print(json.dumps({"kind": "decision", "entries": entries}), flush=True)
"""
FAULTS = {
    "it ends": "sys.exit(3)",
    "it raises": "raise KeyError",
    "no record": "print('hello', flush=True)",
    "a job that is not there": (
        'print(\'{"kind": "decision", "entries": {"run": [{"index": ["x", "n1", "small", 1], '
        '"value": 1}]}}\', flush=True)'
    ),
}
EVENTS = [LINES[0], line("completion", "c", 2, job="old"), line("node_down", "d", 3, node="n1"), line("end", "e", 9)]


def method(tmp_path: Path, fault: str) -> str:
    file = tmp_path / "entry.py"
    file.write_text(PROGRAM.replace("FAULT", fault), encoding="utf-8")
    return f"program:{shlex.quote(sys.executable)} {shlex.quote(str(file))}"


@pytest.mark.quick(5)
@pytest.mark.parametrize("fault", FAULTS)
def test_what_has_happened_is_accepted_and_the_fallback_plans(fault: str, tmp_path: Path) -> None:
    records = live(EVENTS, tmp_path, method(tmp_path, FAULTS[fault]), str(tmp_path / "run.db"))
    assert [r["id"] for r in records if r["kind"] == "ack"] == ["1", "c", "d", "e"]
    assert not [r for r in records if r["kind"] == "error"]
    made = decisions(records)
    assert made[0]["method"].startswith("program:")
    assert {d["method"] for d in made[1:]} == {"Greedy"}
    assert runs(made[-1])["j1"][0] == "n2", "the other node is down"
    assert records[-1]["kind"] == "finished"
    again = live([], tmp_path, method(tmp_path, FAULTS[fault]), str(tmp_path / "run.db"))
    assert again[-1]["result"] == records[-1]["result"], "recorded plans of the fallback are repeated"


def test_an_arrival_at_which_the_program_begins_to_fail_is_refused(tmp_path: Path) -> None:
    records = live([LINES[0], LINES[4], *EVENTS[1:]], tmp_path, method(tmp_path, "sys.exit(3)"))
    [refused] = [r for r in records if r["kind"] == "error"]
    assert (refused["id"], refused["code"]) == ("6", "GSM5209")
    assert "(GSM7013)" in refused["message"]
    assert "extreme" not in refused["help"], "the program is the cause, not a number"
    assert records[-1]["kind"] == "finished"
