"""A total below its bound is never shown as an ordinary one: it is marked, reported, written, and exits with 70."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from run_texts import THREE_JOBS, opened, ran

import gpusched_dsl as gs
from gpusched_dsl.cli import exits, main
from gpusched_dsl.cli.run import exit_code
from gpusched_dsl.ir.contradiction import CODE, REMARK, beats
from gpusched_dsl.online.bounds import run_bound as bounding
from gpusched_dsl.online.bounds.single_job import RunBound
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.reporting.runs import result as run_result
from gpusched_dsl.reporting.runs.summary import summary_lines
from gpusched_dsl.workflows.run import run_methods

WRONG = RunBound(100.0, "a bound that is too high")


def test_rounding_is_no_contradiction() -> None:
    assert not beats(1.0, 1.0)
    assert not beats(1.0, 1.0 + 9e-7)
    assert beats(1.0, 1.0 + 2e-6)
    assert not beats(1.0, 1.0 + 2e-6, slack=2e-6)
    assert beats(2.0, 1.0, minimise=False)
    assert not beats(1.0, 2.0, minimise=False)
    assert not beats(None, 2.0)
    assert not beats(1.0, None)


def test_a_run_below_its_bound_is_told() -> None:
    good, _ = ran(THREE_JOBS)
    assert good.contradiction is None
    assert exit_code([good]) == exits.OK
    found = replace(good, given_bound=WRONG)
    assert found.contradiction is not None
    assert found.contradiction.code == CODE == "GSM9002"
    assert "the total of Greedy is 3.5 $, better than its bound 100 $" in found.contradiction.message
    assert found.gap is None
    assert exit_code([found]) == exits.INTERNAL
    assert CODE in [w["code"] for w in found.to_dict()["warnings"]]
    assert found.to_dict()["bound"] == {"value": 100.0, "gap": None, "how": WRONG.how}
    assert any(line.split() == ["gap", "-"] for line in summary_lines(found))


def test_a_run_that_did_not_end_is_not_compared_with_the_bound() -> None:
    good, _ = ran(THREE_JOBS)
    early = replace(good, outcome=replace(good.outcome, ended="interrupt"), given_bound=WRONG)
    assert early.contradiction is None


def test_a_row_below_the_bound_of_another_is_marked_in_every_form(tmp_path: Path) -> None:
    found = run_methods(opened(THREE_JOBS), ("FIFO", "Greedy"), RunConfig(online="EveryEvent"))
    assert found.contradictions == ()
    first, second = found.rows
    assert first.result is not None
    wrong = replace(found, rows=(replace(first, result=replace(first.result, given_bound=WRONG)), second))
    assert [d.code for d in wrong.contradictions] == [CODE, CODE]
    assert not any(wrong.is_best(row) for row in wrong.rows)
    table = str(wrong).splitlines()
    assert sum(REMARK in line and "!" in line and "*" not in line for line in table) == 2
    rows = wrong.to_dict()["rows"]
    assert [(row["best"], row["gap"], row["remark"]) for row in rows] == [(False, None, REMARK)] * 2
    assert wrong.csv_text().count(REMARK) == 2
    wrong.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count(REMARK) == 2


@pytest.mark.parametrize("methods", ["Greedy", "FIFO,Greedy"])
def test_the_command_says_so_and_still_writes(
    methods: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bound that is wrong, as a defect would make it."""
    text = tmp_path / "three.gsm"
    text.write_text(THREE_JOBS)
    monkeypatch.setattr(bounding, "job_by_job_bound", lambda reading: WRONG)
    command = ["run", str(text), "--scenario", "CpOn", "--online", "EveryEvent", "--methods", methods]
    assert main([*command, "--json", str(tmp_path / "out.json")]) == exits.INTERNAL
    assert f"error[{CODE}]" in capsys.readouterr().err
    written = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert written["bound"]["value"] == 100.0
    assert run_result.COMPLETE == ("finished", "horizon")


TIMED = """
model Timed {
  set Jobs;  set Nodes;
  param length[Jobs] in h > 0;  param submitted[Jobs] in h default 0;
  param remaining[Jobs] > 0 <= 1 default 1;  param price in $/h default 5;
  var run[Jobs, Nodes] binary;
  minimize cost in $: sum[j in Jobs, n in Nodes] price * length[j] * run[j, n];
  placement run[j, n] { job j; node n; lasts remaining[j] * length[j]; costs price in $/h; }
}
policy FIFO for Timed { order j in Jobs by submitted[j]; place new_node exclusive, wait; keep running; }
online Falling for Timed {
  arrive j in Jobs at submitted[j];  replan on arrival, completion, every 1[h];
  carry remaining[j] = remaining[j];
  carry price = if now > 3.99[h] then 1[$/h] else 5[$/h];
}
online Flat for Timed {
  arrive j in Jobs at submitted[j];  replan on arrival, completion;
  carry remaining[j] = remaining[j];
}
scenario S for Timed { Nodes = { n }; table Jobs: length[h] = a 4  b 4; }
"""


def test_there_is_no_bound_where_prices_move_with_time() -> None:
    found, _ = ran(TIMED, "Falling", "FIFO")
    assert found.total == pytest.approx(24.0)
    assert found.bound.value is None
    assert "`price` is carried from plan to plan" in found.bound.how
    flat, _ = ran(TIMED, "Flat", "FIFO")
    assert (flat.total, flat.bound.value) == (pytest.approx(40.0), pytest.approx(40.0))


def test_comparisons_of_single_solves_mark_what_is_better_than_the_bound(tmp_path: Path) -> None:
    text = tmp_path / "small.gsm"
    text.write_text("model Small { var x >= 1 <= 9; minimize cost: x; } scenario S for Small { }")
    found = gs.load(text).compare(["highs"])
    assert found.contradictions == ()
    wrong = replace(found, bound=2.0, bound_by="a defect")
    assert [d.code for d in wrong.contradictions] == [CODE]
    assert wrong.gap(wrong.rows[0]) is None
    assert REMARK in str(wrong)
    assert wrong.to_dict()["rows"][0]["remark"] == REMARK


def test_a_solve_that_is_better_than_its_bound_ends_in_70(tmp_path: Path) -> None:
    from gpusched_dsl.cli.solve import exit_code as of_solve

    text = tmp_path / "small.gsm"
    text.write_text("model Small { var x >= 1 <= 9; minimize cost: x; } scenario S for Small { }")
    good = gs.load(text).solve()
    assert of_solve(good) == exits.OK
    [one] = good.solved.objectives
    wrong = replace(good, solved=replace(good.solved, objectives=(structs.replace(one, bound=2.0),)))
    assert of_solve(wrong) == exits.INTERNAL
    assert CODE in [w["code"] for w in wrong.to_dict()["warnings"]]
