"""Methods that read the future are found by repeating their decisions in other futures; honest ones pass."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from online_texts import MACHINES

from benchmarks.leaderboard.foresight import find_foresight
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.run_config import RunConfig

# Two machines; jobs really end after `truth` of their stated length, which only the simulation may know.
TEXT = (
    MACHINES
    + """
model Drawn extends Machines { param truth[Jobs] > 0; }
online Hidden for Drawn extends Events { ends at truth[j]; }
online Stretched for Machines extends Events {
  stretch truncate(normal(mean = 1, deviation = 0.5), low = 0.5, high = 2);
}
policy ShortestRealLength for Drawn { order j in Jobs by truth[j]; place new_node exclusive, wait; }
policy Fair for Drawn { order j in Jobs by left[j] descending; place new_node exclusive, wait; keep running; }
scenario S for Drawn {
  Nodes = 1..2;
  table Jobs: submitted[h] length[h] truth =
    a 0.0 4 0.9   b 0.1 4 0.5   c 0.2 4 0.3   d 0.3 4 0.8   e 0.4 4 0.2
    f 1.0 3 0.7   g 1.5 3 0.1   h 4.0 2 1.0   i 5.0 2 0.4   k 5.1 2 0.6;
}
scenario Plain for Machines {
  Nodes = 1..2;
  table Jobs: submitted[h] length[h] = a 0 4  b 0.1 2  c 0.2 3  d 0.3 1  e 4 2  f 5 2;
}
"""
)
# Shortest first; with `PEEK` by a file beside it, which contains what the run will be.
PROGRAM = """
import json, sys
present = {}
for line in sys.stdin:
    event = json.loads(line)
    if event["kind"] == "job": present[event["job"]] = event
    elif event["kind"] == "completion": del present[event["job"]]
    elif event["kind"] == "tick":
        assert "truth" not in line
        queue = sorted(present, key=lambda job: present[job]["ways"][0]["lasts"])
        entries = [{"index": [job, n], "value": 1} for job, n in zip(queue, (1, 2))]
        print(json.dumps({"kind": "decision", "entries": {"run": entries}}), flush=True)
    elif event["kind"] == "arrival":
        assert set(event["values"]) <= {"submitted", "length", "due_in", "weight", "remaining"}, event
"""


def check(method: str, online: str = "Hidden", scenario: str = "S") -> object:
    diagnostics = Diagnostics()
    workspace = workspace_from_text(TEXT, Path(), diagnostics)
    diagnostics.raise_if_errors()
    return find_foresight(workspace, RunConfig(method=method, online=online, scenario=scenario).allowing(method))


def test_a_policy_that_reads_the_real_ends_is_found() -> None:
    found = check("ShortestRealLength")
    assert getattr(found, "code", None) == "GSM7014"
    assert "changes with the future" in getattr(found, "message", "")


@pytest.mark.parametrize(("method", "online", "scenario"), [("Fair", "Hidden", "S"), ("FIFO", "Stretched", "Plain")])
def test_online_policies_pass(method: str, online: str, scenario: str) -> None:
    assert check(method, online, scenario) is None


def test_programs_are_told_nothing_of_the_future(tmp_path: Path) -> None:
    file = tmp_path / "entry.py"
    file.write_text(PROGRAM, encoding="utf-8")
    assert check(f"program:{sys.executable} {file}") is None


def test_a_program_that_draws_by_the_clock_is_found(tmp_path: Path) -> None:
    file = tmp_path / "entry.py"
    drawn = PROGRAM.replace('present[job]["ways"][0]["lasts"]', "__import__('os').urandom(8)")
    file.write_text(drawn, encoding="utf-8")
    assert getattr(check(f"program:{sys.executable} {file}"), "code", None) == "GSM7014"
