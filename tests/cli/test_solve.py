import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from found_codes import shows

from gpusched_dsl.cli.progress import ProgressMonitor
from gpusched_dsl.compiling.data import instance
from gpusched_dsl.compiling.lowering import ground as grounding
from gpusched_dsl.ir.deadline import checkpoint
from gsdsl_backends.protocol import SolverProgress

Run = Callable[..., object]

REPORT = """\
Pack, scenario Small, with highs
2 columns (2 integer), 1 row, 2 nonzeros

status  optimal
gain    10 $   (maximised)
  sold  11 $
  fee   -1 $
bound   10 $
gap     0 %
build   # s
solve   # s

take: 2 nonzero values
  i  value
  -  -----
  a      2
  b      1
"""


def seconds_hidden(text: str) -> str:
    return re.sub(r"\d+\.\d+ s", "# s", text)


def test_the_report(gsdsl: Run, pack: Path) -> None:
    done = gsdsl("solve", pack)
    assert done.code == 0
    assert seconds_hidden(done.out) == REPORT
    assert done.err == ""


def test_both_backends_agree(gsdsl: Run, pack: Path, tmp_path: Path) -> None:
    found = {}
    for backend in ("highs", "scip"):
        done = gsdsl("solve", pack, "--backend", backend, "--gap", 0, "--json", tmp_path / f"{backend}.json")
        assert done.code == 0
        found[backend] = json.loads((tmp_path / f"{backend}.json").read_text())
    assert {f["objective"] for f in found.values()} == {10.0}
    assert [f["backend"] for f in found.values()] == ["highs", "scip"]


def test_json_to_standard_output_is_all_there_is(gsdsl: Run, pack: Path) -> None:
    done = gsdsl("solve", pack, "--json", "-")
    found = json.loads(done.out)
    assert found["status"] == "optimal"
    assert found["terms"] == {"sold": 11.0, "fee": -1.0}
    assert found["variables"] == {"take": [{"index": ["a"], "value": 2}, {"index": ["b"], "value": 1}]}
    assert list(found["inputs_sha256"]) == [str(pack)]


def test_csv_and_json_files(gsdsl: Run, pack: Path, tmp_path: Path) -> None:
    done = gsdsl("solve", pack, "--csv", tmp_path / "out", "--json", tmp_path / "out.json")
    assert done.code == 0
    assert (tmp_path / "out" / "take.csv").read_text() == "i,value\na,2.0\nb,1.0\n"
    assert json.loads((tmp_path / "out.json").read_text())["objective"] == 10.0
    assert f"wrote {tmp_path / 'out.json'}" in done.err


def test_settings_change_the_scenario(gsdsl: Run, pack: Path) -> None:
    done = gsdsl("solve", pack, "--set", "room=4[GB]", "--set", "room=2000[MB]", "--json", "-")
    found = json.loads(done.out)
    assert found["terms"]["sold"] == 3.0
    assert found["settings"] == {"room": "2000[MB]"}


def test_a_warm_start_is_taken(gsdsl: Run, pack: Path, tmp_path: Path) -> None:
    gsdsl("solve", pack, "--json", tmp_path / "first.json")
    done = gsdsl("solve", pack, "--warm-start", tmp_path / "first.json")
    assert done.code == 0
    assert "10 $" in done.out


def test_a_warm_start_that_does_not_fit_is_told(gsdsl: Run, pack: Path, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"variables": {"take": [{"index": ["z"], "value": 1}]}}')
    done = gsdsl("solve", pack, "--warm-start", tmp_path / "other.json")
    assert done.code == 0
    assert "warning[GSM6009]" in done.err
    (tmp_path / "broken.json").write_text("{")
    assert gsdsl("solve", pack, "--warm-start", tmp_path / "broken.json").code == 1


def test_a_limit_of_any_size_is_one(gsdsl: Run, pack: Path) -> None:
    assert gsdsl("solve", pack, "--memory-limit", "1e300", "--time-limit", "1e30").code == 0


def test_quiet_says_nothing(gsdsl: Run, pack: Path) -> None:
    done = gsdsl("--quiet", "solve", pack)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert gsdsl("solve", pack, "--quiet").out == ""


@pytest.mark.parametrize(
    ("replaced", "code", "words"),
    [
        (("room = 7[GB]", "room = 0[GB]"), 0, "gain    -1 $"),
        (("<= room;", ">= 100[GB];"), 3, "infeasible"),
        ((" integer >= 0 <= 9", " >= 0", "<= room", ">= room"), 4, "unbounded"),
    ],
)
def test_how_a_solve_can_end(
    gsdsl: Run, variant: Callable[..., Path], replaced: tuple[str, ...], code: int, words: str
) -> None:
    done = gsdsl("solve", variant(*replaced))
    assert done.code == code
    assert words in done.out


def test_without_a_solution_there_is_advice_and_json(gsdsl: Run, variant: Callable[..., Path], tmp_path: Path) -> None:
    path = variant("<= room;", ">= 100[GB];")
    done = gsdsl("solve", path, "--json", tmp_path / "out.json", "--csv", tmp_path / "csv")
    assert done.code == 3
    assert "`gsdsl explain`" in done.out
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["status"] == "infeasible"
    assert found["objective"] is None
    assert not (tmp_path / "csv").exists()
    assert "there is no solution" in done.err


def test_a_limit_before_any_solution(gsdsl: Run, pack: Path) -> None:
    done = gsdsl("solve", pack, "--time-limit", 0, "--backend", "scip")
    assert done.code == 5
    assert "stopped by the time limit before any solution" in done.out


def test_several_scenarios_are_listed(gsdsl: Run, variant: Callable[..., Path]) -> None:
    path = variant("test Small {", "scenario Large extends Small { room = 20[GB]; }\ntest Small {")
    done = gsdsl("solve", path)
    assert done.code == 1
    assert shows(done.err, "GSM6006", "2", "Small", "Large")
    assert gsdsl("solve", path, "--scenario", "Large").code == 0
    done = gsdsl("solve", path, "--scenario", "Larg")
    assert "error[GSM6007]" in done.err
    assert "did you mean `Large`?" in done.err


def test_a_model_without_a_scenario(gsdsl: Run, tmp_path: Path) -> None:
    path = tmp_path / "model.gsm"
    path.write_text("model M { param least default 2; var x >= least; minimize cost: x; }")
    assert gsdsl("solve", path).out.startswith("M, with highs")
    assert "cost    5 " in gsdsl("solve", path, "--set", "least=5").out
    assert gsdsl("check", path).code == 0
    assert gsdsl("explain", path).out.startswith("M\nLP")
    assert "cost" in gsdsl("export", path, "--to", "lp").out
    path.write_text("model M { set Jobs; param d[Jobs]; var x >= 0; minimize cost: x; }")
    assert shows(gsdsl("solve", path).err, "GSM6005", "M", "Jobs", "d")
    more = "model A { var x >= 1; minimize cost: x; check: 1 > 2; } model B { var y >= 3; minimize cost: y; }"
    path.write_text(more + "model C extends B { constraint more: y >= 4; } test T { solve B; expect cost == 3; }")
    assert shows(gsdsl("solve", path).err, "GSM6006", "2", "A", "C")
    assert "cost    4 " in gsdsl("solve", path, "--scenario", "C").out
    assert "did you mean `C`?" in gsdsl("solve", path, "--scenario", "CC").err
    assert "error[GSM2201]" in gsdsl("check", path).err
    assert "1 passed" in gsdsl("test", path).out


def test_the_own_scenario_wins_over_imported_ones(gsdsl: Run, pack: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.gsm"
    path.write_text('import "pack.gsm";\nscenario Own extends Small { room = 3[GB]; }\n')
    assert "scenario Own" in gsdsl("solve", path).out
    path.write_text('import "pack.gsm";\n')
    assert "scenario Small" in gsdsl("solve", path).out


@pytest.mark.quick(8)
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--backend", "Greedy"], "GSM4016", "is a policy for another model"),
        (["--backend", "hihgs"], "GSM4001", "did you mean `highs`?"),
        (["--set", "room"], "GSM6003", "does not set a value"),
        (["--set", "rom=3"], "GSM1504", "did you mean `room`?"),
        (["--set", "room=3"], "GSM1303", "needs a unit"),
        (["--solver-option", "mip"], "GSM6003", "does not set a value"),
        (["--solver-option", "mip_rel_gab=1"], "GSM4004", "did you mean `mip_rel_gap`"),
        (["--json", "no/such/folder/out.json"], "GSM6008", "folder"),
        (["--csv", "pack.gsm"], "GSM6008", "is a file"),
        (["--memory-limit", "1e-9"], "GSM3001", "limit"),
        (["--without", "everything"], "GSM4011", "unknown pass `everything`"),
        (["--decompose", "on"], "GSM4013", "has no `decompose by`"),
        (["--engine", "spark"], "GSM5309", "unknown engine `spark`"),
    ],
)
def test_wrong_options_are_findings(
    gsdsl: Run,
    variant: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: str,
    words: str,
) -> None:
    path = variant(name="pack.gsm")
    monkeypatch.chdir(path.parent)
    done = gsdsl("solve", path.name, *arguments)
    assert done.code == 1
    assert f"error[{code}]" in done.err
    assert words in done.err
    assert "Traceback" not in done.err


def test_an_engine_without_work_is_noted(gsdsl: Run, pack: Path) -> None:
    done = gsdsl("solve", pack, "--engine", "inline")
    assert done.code == 0
    assert "no worker was needed: only blocks that a solver prices (`decompose by`) and the controllers" in done.err
    assert seconds_hidden(done.out) == REPORT


def test_tightening_can_be_left_out(gsdsl: Run, pack: Path) -> None:
    done = gsdsl("solve", pack, "--without", "all", "--without", "all")
    assert done.code == 0
    assert seconds_hidden(done.out) == REPORT


def test_random_quantities_can_be_solved(gsdsl: Run, tmp_path: Path) -> None:
    path = tmp_path / "random.gsm"
    path.write_text(
        "model M { random w in h; var x in h >= 0 <= 90; minimize c in h: 3 * E(max(w - x, 0[h])) + x; }\n"
        "scenario S for M { w ~ exponential(mean = 30[h]); }\n"
    )
    done = gsdsl("solve", path)
    assert done.code == 0
    assert "62.95" in done.out  # 30 log 3 + 30
    assert gsdsl("check", path).code == 0


def test_a_problem_file_can_be_solved(gsdsl: Run, pack: Path, tmp_path: Path) -> None:
    gsdsl("export", pack, "--to", "json", "--out", tmp_path / "problem.json")
    done = gsdsl("solve", tmp_path / "problem.json", "--csv", tmp_path / "csv")
    assert done.code == 0
    assert seconds_hidden(done.out) == REPORT.replace(", scenario Small", "").replace(
        "  i  value\n  -  -", "  Items  value\n  -----  -"
    ).replace("  a  ", "  a      ").replace("  b  ", "  b      ")
    assert (tmp_path / "csv" / "take.csv").read_text() == "Items,value\na,2.0\nb,1.0\n"
    document = json.loads(gsdsl("solve", tmp_path / "problem.json", "--relax", "--duals", "--json", "-").out)
    assert document["relaxed"]
    assert document["duals"]
    for option in (["--scenario", "Small"], ["--set", "room=1[GB]"]):
        done = gsdsl("solve", tmp_path / "problem.json", *option)
        assert done.code == 1
        assert "error[GSM6016]" in done.err


@pytest.mark.parametrize("text", ["", "{}", "[1, 2", '{"format": "other", "version": 1}', "\x00\xff"])
def test_files_that_are_no_problem(gsdsl: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "problem.json").write_text(text)
    done = gsdsl("solve", tmp_path / "problem.json")
    assert done.code == 1
    assert "error[GSM4020]" in done.err


def test_a_missing_file_has_a_guess(gsdsl: Run, pack: Path) -> None:
    done = gsdsl("solve", pack.with_name("pak.gsm"))
    assert done.code == 1
    assert "did you mean `pack.gsm`?" in done.err
    assert gsdsl("solve", pack.with_name("none.json")).code == 1


def test_findings_as_json_go_to_standard_error(gsdsl: Run, variant: Callable[..., Path]) -> None:
    path = variant("room = 7[GB]", "room = 7[$]")
    done = gsdsl("solve", path, "--diagnostics", "json")
    assert done.code == 1
    assert "GSM1302" in json.dumps(json.loads(done.err))
    assert done.out == ""


def test_the_placement_is_printed_by_node(gsdsl: Run, tmp_path: Path) -> None:
    gsdsl("new", tmp_path / "starter")
    done = gsdsl("solve", tmp_path / "starter" / "starter.gsm")
    assert done.code == 0
    table = done.out[done.out.index("placement") :]
    assert table == (
        "placement: 4 jobs on 2 nodes, cost 17.55 $\n"
        "  node   job      uses    runs for [h]  rate [$/h]  cost [$]\n"
        "  -----  -------  ------  ------------  ----------  --------\n"
        "  fast   resnet   2 of 4         1.500       1.800     2.700\n"
        "         whisper  1 of 4         0.500       0.900     0.450\n"
        "  large  bert     4 of 8         4.000       2.400     9.600\n"
        "         tuning   4 of 8         2.000       2.400     4.800\n"
        "\n"
        "4 of 5 jobs placed; 1 waits\n"
        "  job     why it waits\n"
        "  ------  -----------------------------------------------------------------------\n"
        "  search  no room: needs 8 GPUs, none is free (`capacity[large]` needs 8, 0 free)\n"
    )


def forever(*anything: Any) -> Any:
    while True:
        checkpoint()
        time.sleep(0.001)


@pytest.mark.parametrize("stage", ["reading data", "grounding"])
def test_the_limit_covers_building(
    stage: str, gsdsl: Run, pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = {"reading data": (instance._Builder, "_param"), "grounding": (grounding._Grounding, "_constraint")}
    monkeypatch.setattr(*slow[stage], forever)
    done = gsdsl("solve", pack, "--time-limit", 0.3, "--without", "aggregation", "--json", tmp_path / "out.json")
    assert done.code == 5
    assert f"stopped by the time limit before any solution, in the stage `{stage}`" in done.out
    found = json.loads((tmp_path / "out.json").read_text())
    assert (found["status"], found["reason"], found["objective"]) == ("limit", "time", None)


def test_ctrl_c_while_building(gsdsl: Run, pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grounding._Grounding, "_constraint", forever)
    presser = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    presser.start()
    done = gsdsl("solve", pack, "--without", "aggregation")
    presser.join()
    assert done.code == 130
    assert "stopped by Ctrl-C before any solution" in done.out
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_stage_is_shown_until_the_solver_works() -> None:
    watch = ProgressMonitor(print)
    watch.stage("grounding")
    assert watch.line().startswith("grounding   ")
    watch.stage("solving")
    assert watch.line().startswith("solving   ")
    watch.stage("reformulation")
    watch.progress(SolverProgress(1.0, 12.5, 12.0))
    assert watch.line().startswith("incumbent 12.5   bound 12   ")


def test_pages_of_solves_and_comparisons(gsdsl: Run, tmp_path: Path) -> None:
    gsdsl("new", tmp_path / "starter")
    file, page = tmp_path / "starter" / "starter.gsm", tmp_path / "page.html"
    done = gsdsl("solve", file, "--html", page)
    assert (done.code, f"wrote {page}" in done.err) == (0, True)
    assert "no room: needs 8 GPUs, none is free (`capacity[large]` needs 8, 0 free)" in page.read_text(encoding="utf-8")
    done = gsdsl("compare", file, "--methods", "highs,scip", "--html", "-")
    assert done.out.startswith("<!DOCTYPE html>")
    assert done.out.count("<section>") == 2
    for command in (("solve", file), ("compare", file, "--methods", "highs")):
        done = gsdsl(*command, "--html", "-", "--json", "-")
        assert (done.code, shows(done.err, "GSM6002", "--json -", "--html -")) == (2, True)
