"""The parts of the gap of a run: their sum, what each is zero for, and runs without parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from online_texts import machines
from rollout_texts import cluster, some_jobs

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.workflows import why_gap

BLOCK = "EveryArrivalAndCompletion"


def run(folder: Path, text: str, online: str, method: str) -> RunResult:
    (folder / "c.gsm").write_text(text, encoding="utf-8")
    return gs.load(folder / "c.gsm").run("S", online, method, why_gap=True)


@pytest.mark.slow
def test_the_parts_add_up_to_the_gap(tmp_path: Path) -> None:
    result = run(tmp_path, cluster(some_jobs(1, 6)), BLOCK, "FIFO")
    parts = result.gap_parts
    assert parts is not None
    assert result.bound.value is not None
    assert sum(parts.parts.values()) == pytest.approx(result.total - result.bound.value)
    assert parts.total == result.total
    assert parts.methods == ("FIFO", "ATC", "EDF", "SRTF")
    assert parts.myopia > 0
    assert parts.undivided >= -1e-9
    document = json.loads(result.json_text())["gap_parts"]
    assert document["myopia"] == pytest.approx(parts.myopia)
    assert "  myopia" in str(result)


@pytest.mark.slow
def test_when_nothing_is_unknown_there_is_no_forecast_error(tmp_path: Path) -> None:
    """All jobs are there from the beginning, and take the planned times."""
    jobs = [job._replace(submitted=0.0) for job in some_jobs(2, 5)]
    parts = run(tmp_path, cluster(jobs), BLOCK, "EDF").gap_parts
    assert parts is not None
    assert parts.forecast_error == pytest.approx(0.0, abs=1e-9)


def test_what_only_the_future_tells(tmp_path: Path) -> None:
    """One machine, halts are dear: only who knows the dear job that comes at 0.5 h starts the short one before it."""
    weights = "table Jobs: weight[$/h] = j0 1  j1 0.1  j2 9;"
    text = machines(1, [(0, 4.0), (0, 0.5), (0.5, 1.0)], weights, due=[4, 9, 1.5])
    text = text.replace("replan on arrival", "on halt costs 100[$]; replan on arrival")
    result = run(tmp_path, text, "Events", "FIFO")
    parts = result.gap_parts
    assert parts is not None
    assert parts.total == pytest.approx(5.5 + 9 * 4.0)
    assert parts.ahead == pytest.approx(5.5 + 9 * 3.5)
    assert parts.informed == pytest.approx(5.5 + 1 * 1.5)
    result.to_html(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    for name in ("myopia", "forecast error", "undivided"):
        assert name in page
    assert json.loads(result.json_text())["gap_parts"]["forecast_error"] == pytest.approx(9 * 3.5 - 1.5)


def test_a_failure_of_the_other_runs_loses_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DiagnosticError([Diagnostic("GSM7013", "the program has failed", help="correct it")])

    monkeypatch.setattr(why_gap, "loop_of", fail)
    result = run(tmp_path, machines(1, [(0, 1.0)]), "Events", "FIFO")
    assert result.ended == "finished"
    assert result.gap_parts is None
    [warning] = [w for w in result.warnings if w.code == "GSM7017"]
    assert "a run that looks ahead failed (GSM7013): the program has failed" in warning.message


def test_runs_without_parts(tmp_path: Path) -> None:
    stuck = machines(1, [(0, 1.0)]).replace("place new_node exclusive, wait;", "place postpone;")
    result = run(tmp_path, stuck, "Events", "FIFO")
    assert result.gap_parts is None
    [warning] = [w for w in result.warnings if w.code == "GSM7017"]
    assert warning.message == "the gap has no parts: the run did not finish all jobs"


def test_the_bound_is_that_by_prices_of_the_capacity(tmp_path: Path) -> None:
    """One machine, six jobs at once: each by itself costs its own time, but together five of them have to wait."""
    text = machines(1, [(0, 1.0)] * 6, "table Jobs: weight[$/h] = " + "  ".join(f"j{j} 5" for j in range(6)) + ";",
                    due=[1.0] * 6)  # fmt: skip
    divided = run(tmp_path, text, "Events", "FIFO")
    (tmp_path / "c.gsm").write_text(text, encoding="utf-8")
    alone = gs.load(tmp_path / "c.gsm").run("S", "Events", "FIFO").bound.value
    parts = divided.gap_parts
    assert parts is not None
    assert parts.bound == divided.bound.value
    assert alone == pytest.approx(6.0)
    assert parts.bound > 60.0  # of the optimum, 6 + 5 * (1 + 2 + 3 + 4 + 5) = 81
    assert "not told apart" in str(divided)
