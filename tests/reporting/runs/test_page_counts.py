"""Counts on the page of a run agree with their nouns: of none, of one and of two."""

from __future__ import annotations

import re

import pytest
from page_reader import figures_of, seen

import gpusched_dsl as gs
from gpusched_dsl.reporting.pages import run_page as pages
from gpusched_dsl.reporting.runs.result import RunResult

REPLAY = """
import "gsdsl:trace_replay/tests/queues.gsm";
scenario Pool for TraceReplay {
  Nodes = { p, q };
  gpus["p"] = 4; gpus["q"] = 2;
  table Jobs: submitted[h] needs exec_time[h] = ROWS;
}
"""
ROWS = ("a 0 3 5", "b 1 2 1", "c 2 1 4")
SEVERAL = (
    "jobs?|nodes?|plans?|times?|boots?|resizes?|preemptions?|migrations?|stages?|events?|runs?|gpus?|rows?|steps?"
    "|GPUs?|starts?|stops?|moves?|places?"
)
COUNTED = re.compile(rf"(?<![\w.,:&#])([\d,]+) ({SEVERAL})\b(?!-)")


def texts(result: RunResult) -> str:
    """What a reader of the page sees."""
    made = pages.run_page(result)
    schedules = [f"{f['note']}\n{f['idle']}" for f in figures_of(made, "schedule")]
    return seen(made) + "\n".join(schedules)


def run(jobs: int) -> RunResult:
    result = gs.loads(REPLAY.replace("ROWS", "   ".join(ROWS[:jobs]))).run(method="FIFO")
    assert isinstance(result, RunResult)
    return result


@pytest.mark.parametrize("jobs", [0, 1, 2])
def test_counts_agree(jobs: int) -> None:
    shown = texts(run(jobs))
    found = COUNTED.findall(shown)
    assert [one for one in found if (one[0] == "1") == one[1].endswith("s")] == []
    assert f"{jobs} of {jobs} finished" in shown
    if jobs:
        assert found


@pytest.mark.parametrize(("most", "told"), [(3, ""), (2, "(1 more is in"), (1, "(2 more are in")])
def test_jobs_left_out(most: int, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST_JOBS", most)
    shown = texts(run(3))
    assert told in shown
    assert ("more are in" in shown or "more is in" in shown) == bool(told)


def test_unfinished_jobs_are_named() -> None:
    """`b` needs more GPUs than any node has, so the queue stops."""
    text = REPLAY.replace("ROWS", "a 0 3 5  b 1 8 1  c 2 1 4")
    result = gs.loads(text).run(method="FIFO")
    assert isinstance(result, RunResult)
    assert "unfinished  b (since 1 h), c (since 2 h)" in str(result)
