"""`gsdsl compare`: one table of several methods, the best marked, reasons of failures, rows kept after Ctrl-C."""

import csv
import io
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from json_schemas import complaints, published

Run = Callable[..., object]
BEST = 0.92875  # proved by both solvers in models/capacity_planning/scenarios/figure1.gsm


def compared(gsdsl: Run, path: Path, methods: str, *arguments: object, code: int = 0) -> dict:
    done = gsdsl("compare", path, "--methods", methods, *arguments, "--json", "-")
    assert done.code == code, done.err
    return json.loads(done.out)


def by_method(found: dict) -> dict[str, dict]:
    return {row["method"]: row for row in found["rows"]}


@pytest.mark.slow
def test_the_table(gsdsl: Run, rented: Callable[..., Path]) -> None:
    done = gsdsl("compare", rented(), "--methods", "highs,FIFO,Greedy", "--gap", 0)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "CapacityPlanning, scenario Small"
    assert lines[2].split() == [
        "method",
        "status",
        "lateness",
        "postponed",
        "idle",
        "rent",
        "total",
        "[$]",
        "gap",
        "[%]",
        "time",
        "[s]",
    ]
    assert [line.split()[:2] for line in lines[4:7]] == [
        ["highs", "optimal"],
        ["FIFO", "feasible"],
        ["Greedy", "feasible"],
    ]
    assert [line.count("*") for line in lines[4:7]] == [1, 0, 1]  # Greedy finds the optimum of this one
    assert lines[-1] == "bound 0.92875 $, proved by highs: no plan is better"
    assert done.err == "" or "compiled the heuristic kernels" in done.err


def test_a_narrow_terminal_gets_fewer_columns(
    gsdsl: Run, rented: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpusched_dsl.cli.output import Output

    monkeypatch.setattr(Output, "is_terminal", True)
    for columns, shown in (("45", False), ("200", True)):
        monkeypatch.setenv("COLUMNS", columns)
        done = gsdsl("compare", rented(), "--methods", "highs,FIFO")
        assert done.code == 0
        at = next(n for n, line in enumerate(done.out.splitlines()) if "method" in line)
        heading = " ".join(done.out.splitlines()[: at + 1])  # long headings have two lines
        assert ("lateness" in heading) == shown
        assert "total" in heading
        assert max(map(len, done.out.splitlines()[at:-1])) <= max(int(columns), 51)  # the bound has 51
        (line,) = [line for line in done.out.splitlines() if "FIFO" in line]
        assert "feasible" in line
        assert ("too narrow" in done.err) != shown


@pytest.mark.slow
def test_rows_are_those_of_single_solves(gsdsl: Run, rented: Callable[..., Path]) -> None:
    path = rented()
    found = compared(gsdsl, path, "highs,scip,FIFO,Greedy", "--gap", 0)
    assert [row["method"] for row in found["rows"]] == ["highs", "scip", "FIFO", "Greedy"]
    for row in found["rows"]:
        done = gsdsl("solve", path, "--backend", row["method"], "--gap", 0, "--json", "-")
        alone = json.loads(done.out)
        assert (row["status"], row["objective"]) == (alone["status"], pytest.approx(alone["objective"]))
        assert row["terms"] == pytest.approx(alone["terms"])
        assert row["gap"] == pytest.approx((row["objective"] - BEST) / row["objective"], abs=1e-9)
    assert found["bound"] == pytest.approx(BEST)
    assert [row["best"] for row in found["rows"]] == [True, True, False, True]


def test_without_a_solver_there_is_no_gap_but_by_asking(gsdsl: Run, rented: Callable[..., Path]) -> None:
    path = rented()
    found = compared(gsdsl, path, "FIFO,Greedy")
    assert (found["bound"], found["bound_by"]) == (None, None)
    assert {row["gap"] for row in found["rows"]} == {None}
    asked = compared(gsdsl, path, "FIFO,Greedy", "--bound", "--judge", "scip", "--gap", 0)
    assert (asked["bound"], asked["bound_by"]) == (pytest.approx(BEST), "scip")
    assert [row["objective"] for row in asked["rows"]] == [row["objective"] for row in found["rows"]]
    assert [row["gap"] > 0 for row in asked["rows"]] == [True, False]


def test_seeds_are_for_what_draws(gsdsl: Run, rented: Callable[..., Path]) -> None:
    path = rented()
    found = compared(gsdsl, path, "Greedy,Drawn", "--seeds", "4,5,4")
    assert [(row["method"], row["seed"]) for row in found["rows"]] == [("Greedy", None), ("Drawn", 4), ("Drawn", 5)]
    alone = json.loads(gsdsl("solve", path, "--backend", "Drawn", "--seed", 5, "--json", "-").out)
    assert found["rows"][2]["objective"] == alone["objective"]
    assert found["solver_options"]["seeds"] == [4, 5]
    assert list(complaints(found, published("comparison.schema.json"))) == []
    pairs = {row["method"]: row for row in found["paired"]["methods"]}
    of_seeds = [row["objective"] for row in found["rows"][1:]]
    assert pairs["Drawn"]["mean"] == pytest.approx(sum(of_seeds) / 2)
    assert (pairs["Greedy"]["seeds"], pairs["Greedy"]["mean"]) == (1, found["rows"][0]["objective"])


def test_what_fails_stands_in_the_table_with_its_reason(
    gsdsl: Run, rented: Callable[..., Path], without_stock: tuple[str, ...]
) -> None:
    path = rented()
    done = gsdsl("compare", path, "--methods", "Greedy,Lazy", *without_stock)
    assert done.code == 3
    (line,) = [line for line in done.out.splitlines() if line.startswith("  Lazy")]
    assert line.split()[1] == "broken"
    assert line.endswith("violates `nodes_rented`, `enough_run`")
    assert "the smallest relaxation" in done.err
    assert "warning[GSM4015]" in done.err
    found = by_method(compared(gsdsl, path, "Greedy,Lazy", *without_stock, code=3))
    assert found["Lazy"]["objective"] is None
    assert [f["code"] for f in found["Lazy"]["findings"]] == ["GSM4015"]
    assert compared(gsdsl, path, "Lazy", *without_stock, code=3)["rows"][0]["status"] == "broken"


def test_a_solver_that_does_not_take_the_problem(gsdsl: Run, tmp_path: Path) -> None:
    path = tmp_path / "m.gsm"
    path.write_text("model M { var x >= 0 <= 4; minimize total: x^3 - 3 * x^2; } scenario S for M { }")
    done = gsdsl("compare", path, "--methods", "scip,highs", "--json", "-")
    rows = by_method(json.loads(done.out))
    assert rows["scip"]["objective"] == pytest.approx(-4.0, abs=1e-4)
    assert rows["highs"]["status"] == "refused"
    assert rows["highs"]["remark"]
    assert rows["highs"]["findings"][0]["code"].startswith("GSM32")


def test_more_is_better_where_the_model_says_so(gsdsl: Run, pack: Path) -> None:
    found = compared(gsdsl, pack, "highs,scip", "--gap", 0)
    assert found["sense"] == "maximize"
    assert found["bound"] == pytest.approx(10.0)
    assert [row["best"] for row in found["rows"]] == [True, True]
    assert "no plan has a larger value" in gsdsl("compare", pack, "--methods", "highs").out


def test_csv(gsdsl: Run, rented: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    done = gsdsl("compare", rented(), "--methods", "highs,FIFO", "--csv", out)
    assert f"wrote {out}" in done.err
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert list(rows[0]) == [
        "method", "seed", "status", "waiting_jobs", "lateness", "postponed", "idle", "rent", "total", "gap", "seconds",
        "best", "remark",
    ]  # fmt: skip
    assert float(rows[0]["total"]) == pytest.approx(BEST)
    assert {row["waiting_jobs"] for row in rows} == {"0"}
    assert [row["best"] for row in rows] == ["true", "false"]


def test_the_document_is_as_described(gsdsl: Run, rented: Callable[..., Path], tmp_path: Path) -> None:
    schema = published("comparison.schema.json")
    found = compared(gsdsl, rented(), "highs,Drawn,Lazy", "--set", "node_rule=force", "--time-limit", 60)
    assert list(complaints(found, schema)) == []
    assert set(schema["required"]) == set(found) == set(schema["properties"])
    row = schema["properties"]["rows"]["items"]
    assert all(set(row["required"]) == set(r) == set(row["properties"]) for r in found["rows"])
    assert list(complaints({**found, "sense": "up"}, schema)) != []
    listed = published("policies.schema.json")
    for arguments in ([rented()], ["--rules"]):
        told = json.loads(gsdsl("policies", *arguments, "--json", "-").out)
        assert list(complaints(told, listed)) == []


@pytest.mark.quick(8)
@pytest.mark.parametrize(
    ("arguments", "code", "exit_code", "words"),
    [
        (["--methods", "highs,Gredy"], "GSM4001", 1, "did you mean `Greedy`?"),
        (["--methods", "Elsewhere"], "GSM4016", 1, "another model"),
        (["--methods", "Greedy,"], "GSM6002", 2, "is not a list of names"),
        (["--methods", "Greedy,Greedy"], "GSM6002", 2, "`Greedy` is repeated"),
        ([], "GSM6002", 2, "--methods"),
        (["--methods", "Greedy", "--seeds", "1,x"], "GSM6002", 2, "`x` is not a number"),
        (["--methods", "Greedy", "--judge", "hihgs"], "GSM4001", 1, "did you mean `highs`?"),
        (["--methods", "Greedy", "--json", "-", "--csv", "-"], "GSM6002", 2, "both write to standard output"),
        (["--methods", "Greedy", "--json", "x.out", "--csv", "./x.out"], "GSM6002", 2, "cannot both go to `./x.out`"),
        (["--methods", "Greedy", "--json", "no/such/out.json"], "GSM6008", 1, "folder"),
    ],
)
def test_what_cannot_be_compared(
    gsdsl: Run, rented: Callable[..., Path], arguments: list[str], code: str, exit_code: int, words: str
) -> None:
    done = gsdsl("compare", rented(), *arguments)
    assert done.code == exit_code
    assert f"error[{code}]" in done.err
    assert words in done.err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_keeps_the_rows_that_are_there(
    rented: Callable[..., Path], tmp_path: Path, child: Callable[..., Any]
) -> None:
    arguments = ["compare", rented(), "--methods", "highs,Greedy,Endless,FIFO", "--json", "out.json"]
    process = child(
        [sys.executable, "-m", "gpusched_dsl", *arguments],
        cwd=tmp_path, env={**os.environ, "GSDSL_PYTHON_KERNELS": "1"},
    )  # fmt: skip
    assert "scenario Small" in process.stdout.readline()
    time.sleep(6)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "interrupted: the methods after the last row were not run" in out
    assert "Traceback" not in err
    found = json.loads((tmp_path / "out.json").read_text())
    rows = found["rows"]
    assert [row["method"] for row in rows] == ["highs", "Greedy", "Endless"]
    assert [row["reason"] for row in rows] == ["", "", "interrupt"]
    assert rows[2]["objective"] is not None
    assert found["interrupted"]
