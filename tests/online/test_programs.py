"""External programs as planners: honest ones give the runs of the same policies, cheats and failures are refused."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from found_codes import raises_code
from online_texts import ROLLING, run

from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.live.messages import event_of
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.workflows.run import run_method

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "leaderboard" / "entries" / "sample.py"
OURS = ("cluster", "job")  # the kinds of lines that live runs do not have
TEXT = """
import "gsdsl:capacity_planning/online.gsm";
import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";
scenario Three for CapacityPlanning extends ThreeJobs { node_rule = at_most; }
"""

# Answers each tick with the decision of a rule; `present` are the jobs by name, each with its ways.
PROGRAM = """
import json, sys
present, seen = {}, []
for line in sys.stdin:
    seen.append(line)
    event = json.loads(line)
    if event["kind"] == "job":
        present[event["job"]] = event["ways"]
    elif event["kind"] == "completion":
        del present[event["job"]]
    elif event["kind"] == "tick":
        entries = []
        RULE
        chosen = [{"index": index, "value": 1} for index in entries]
        print(json.dumps({"kind": "decision", "entries": {"run": chosen}}), flush=True)
"""
HONEST = 'entries = [[job, "n1", "B", 1] for job in list(present)[:2]]'


def method(tmp_path: Path, rule: str) -> str:
    file = tmp_path / "entry.py"
    file.write_text(PROGRAM.replace("RULE", rule), encoding="utf-8")
    return f"program:{shlex.quote(sys.executable)} {shlex.quote(str(file))}"


def drive(tmp_path: Path, rule: str, **given: Any) -> Any:
    return run(TEXT, "EveryArrivalAndCompletion", "Three", method(tmp_path, rule), **given)


def test_a_program_decides_a_run(tmp_path: Path) -> None:
    """J1 and J2 share the node from 1 on, J3 follows J2 at 3; nothing is late, and each pays half of the node."""
    outcome = drive(tmp_path, HONEST)
    assert outcome.ended == "finished"
    assert outcome.world.end.tolist() == pytest.approx([4.0, 3.0, 4.0])
    assert outcome.total == pytest.approx(0.5 * (4 + 2 + 1))


def test_the_lines_are_those_of_live_runs(tmp_path: Path) -> None:
    log = tmp_path / "log"
    drive(tmp_path, f"open({str(log)!r}, 'w').writelines(seen); {HONEST}")
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if line["kind"] not in OURS:
            event_of(line)
    first = [line for line in lines if line.get("time", 0) <= 1 and line["kind"] in ("arrival", "job")]
    assert [line["job"] for line in first] == ["J1", "J1", "J2", "J2", "J3", "J3"]
    assert first[2]["values"]["deadline"] == 3.4  # as the scenario states it
    assert first[3]["due"] == pytest.approx(3.4)
    assert first[3]["ways"][2] == {"index": ["J2", None, "B", 2], "type": "B", "gpus": 2, "lasts": 1.2, "costs": 1}
    assert next(line["fraction"] for line in lines if line["kind"] == "progress") == pytest.approx(0.25)


CHEATS = {
    'entries = [[job, "n1", "A", 1] for job in present]': "uses 3 GPUs of the node `n1`, which has 1",
    'entries = [["J1", "n1", "B", 2], ["J2", "n1", "B", 1]] if "J2" in present else []': "uses 3 GPUs of the node",
    'entries = [["J3", "n1", "B", 1]]': "runs `J3`, but no job of this name is present now",
    'entries = [["J7", "n1", "B", 1]]': "runs `J7`, but no job of this name is present now",
    'entries = [["J1", "n1", "B", 1], ["J1", "n1", "B", 1]]': "runs `J1` 2 times",
    'entries = [["J1", "n1", "A", 2]]': "[J1, n1, A, 2], which is no way to run this job",
    'entries = [["J1", "n2", "A", 1]]': "names an unknown or unavailable node, `n2`",
    'entries = [["J1", "n1", "A"]]': "has the index [J1, n1, A], of 3 labels",
    'entries = [[job, "n1", "AB"[job > "J1"], 1] for job in list(present)[:2]]': "gives the node `n1` several types",
    'print("[]", flush=True); continue': "is no decision record",
    """print('{"kind": "decision", "entries": {"run": [], "run": []}}', flush=True); continue""": "the key `run` twice",
    'print(json.dumps({"kind": "decision", "entries": {"hosts": []}}), flush=True); continue': "has values of `hosts`",
}


@pytest.mark.quick(4)
@pytest.mark.parametrize("rule", CHEATS)
def test_cheats_are_refused(tmp_path: Path, rule: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        drive(tmp_path, rule)
    [diagnostic] = raised.value.diagnostics
    assert diagnostic.code == "GSM7012"
    assert CHEATS[rule] in diagnostic.message
    assert diagnostic.help


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("sys.exit('no more')", "ended with exit code 1 before its decision"),
        ("import time; time.sleep(60)", "did not answer within"),
    ],
)
def test_programs_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str, message: str) -> None:
    monkeypatch.setattr("gpusched_dsl.online.planners.program.START_SECONDS", 5.0 if "sleep" in rule else 30.0)
    with pytest.raises(DiagnosticError, match=message) as raised:
        drive(tmp_path, rule, time_limit=0.2 if "sleep" in rule else None)
    [diagnostic] = raised.value.diagnostics
    assert diagnostic.code == "GSM7013"
    assert diagnostic.notes == (() if "sleep" in rule else ("its standard error ends with: no more",))


def test_a_run_ends_with_the_failure_of_its_program() -> None:
    """The run closes the program once more, which nothing can be sent to any longer."""
    found = Diagnostics()
    config = RunConfig(method="program:false", online="EveryArrivalAndCompletion", scenario="Three")
    config = config.allowing(config.method)
    with pytest.raises(DiagnosticError, match="ended with exit code 1 before its decision"):
        run_method(workspace_from_text(TEXT, "three.gsm", found), config)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("/does/not/exist", "No such file"),
        ("", "it has no command"),
        ("python 'entry.py", "No closing quotation"),
        ("a\0b", "embedded null byte"),
    ],
)
def test_a_program_that_cannot_be_started(command: str, reason: str) -> None:
    with pytest.raises(DiagnosticError, match=f"cannot be started: {reason}") as raised:
        run(TEXT, "EveryArrivalAndCompletion", "Three", f"program:{command}")
    assert raised.value.diagnostics[0].code == "GSM7013"


def test_slots_are_not_for_programs() -> None:
    with raises_code("GSM7002", "program:cat", at="Rolling"):
        run(ROLLING, "Rolling", "ValleysByNode", "program:cat")


def test_the_sample_is_first_come_first_served() -> None:
    """The same run as that of the policy: every job on the node of its own, in its cheapest way in time."""
    found = run(TEXT, "EveryArrivalAndCompletion", "Three", f"program:{sys.executable} {SAMPLE}")
    assert found.total == pytest.approx(7.3)
