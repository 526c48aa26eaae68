import json
from collections.abc import Callable
from pathlib import Path

import pytest
from found_codes import shows

Run = Callable[..., object]


def lines(text: str) -> list[str]:
    """The lines of a report without its times."""
    return [line.split("   (")[0] for line in text.splitlines()]


def test_what_holds_passes(gsdsl: Run, pack: Path) -> None:
    done = gsdsl("test", pack)
    assert done.code == 0
    assert lines(done.out)[:3] == ["  PASS  Small: solve Small with highs", "  PASS  Small: solve Small with scip", ""]
    assert done.out.splitlines()[3].startswith("2 passed in ")
    assert done.err == ""


def test_what_fails_shows_both_sides_at_its_place(gsdsl: Run, variant: Callable[..., Path]) -> None:
    path = variant("gain == 10", "gain == 11")
    done = gsdsl("test", path)
    assert done.code == 1
    assert lines(done.out)[0] == "  FAIL  Small: solve Small with highs"
    assert "2 failed in" in done.out
    assert shows(done.err, "GSM6015", "gain == 11", "gain", "10")
    line = path.read_text().splitlines().index("  expect gain == 11;") + 1
    assert f"{path}:{line}:10" in done.err
    assert "a difference of 1.1e-05 is allowed" in done.err
    assert "in `solve Small with scip`" in done.err


@pytest.mark.quick(14)
@pytest.mark.parametrize(
    ("expectation", "holds"),
    [
        ("gain == 10.000009", True),
        ("gain == 10.00002", False),
        ("gain == 10.4 within 0.5", True),
        ("gain == 10.4 within 300[$]", True),
        ("gain == 10.6 within 0.5", False),
        ("gain != 10", False),
        ("gain <= 9.999995", True),
        ("gain < 10", False),
        ("10 <= gain <= 11", True),
        ("sold == 11", True),
        ("fee == -1", True),
        ("objective == 10", True),
        ("bound == gain", True),
        ("gap <= 0", True),
        ("status == infeasible", False),
        ('status != "limit"', True),
        ("sum[i in Items] size[i] * take[i] == 7", True),
        ("sum[i in Items] size[i] * take[i] == 7000[MB]", True),
        ("all[i in Items] take[i] <= 2", True),
        ("all[i in Items] take[i] <= 1", False),
        ("any[i in Items] take[i] == 2", True),
        ('take["a"] == 2 and take["b"] == 1', True),
        ('take["a"] == 2 and take["b"] == 2', False),
        ("room == 7[GB]", True),
        ("room == 7.4[GB] within 0.5[GB]", True),
        ("room == 7.6[GB] within 0.5[GB]", False),
        ("room >= 7.4[GB] within 500[MB]", True),
        ("count(Items) == 2", True),
    ],
)
def test_expectations(gsdsl: Run, variant: Callable[..., Path], expectation: str, holds: bool) -> None:
    done = gsdsl("test", variant("gain == 10", expectation), "--backend", "highs")
    assert (done.code == 0) == holds, done.err
    if not holds:
        assert done.err.count("error[GSM6015]") == 1


def test_a_failing_all_names_the_first_index(gsdsl: Run, variant: Callable[..., Path]) -> None:
    done = gsdsl("test", variant("gain == 10", "all[i in Items] take[i] <= 1"), "--backend", "highs")
    assert shows(done.err, "GSM6015", "take[i] <= 1", "1", "2", "take[i]")


def test_what_an_answer_does_not_have(gsdsl: Run, variant: Callable[..., Path]) -> None:
    path = variant("<= room;", ">= 100[GB];", "status == optimal", "status == infeasible")
    done = gsdsl("test", path, "--backend", "highs")
    assert done.code == 1
    assert shows(done.err, "GSM6015", "gain", "infeasible")
    assert shows(done.err, "GSM6015", 'take["a"]')
    assert done.err.count("error[GSM6015]") == 2


def test_settings_and_solver_options(gsdsl: Run, variant: Callable[..., Path]) -> None:
    path = variant(
        "solve Small with highs, scip (gap = 0)",
        "solve Small (room = 3[GB]) with highs (gap = 0, time_limit = 1[min], threads = 1, seed = 3, presolve = off)",
        "gain == 10", "gain == 4", 'take["a"] == 2', 'take["a"] == 0',
    )  # fmt: skip
    done = gsdsl("test", path)
    assert done.code == 0, done.err
    assert lines(done.out)[0] == "  PASS  Small: solve Small (room = 3[GB]) with highs"


@pytest.mark.parametrize(
    ("method", "code"),
    [("hihgs", "GSM1602"), ("highs (gap = tight)", "GSM1603"), ("highs (seed = 0.5)", "GSM1603"),
     ("highs (no_option = 1)", "GSM1609"), ("highs (gap = -1)", "GSM1603")],
)  # fmt: skip
def test_wrong_methods(gsdsl: Run, variant: Callable[..., Path], method: str, code: str) -> None:
    done = gsdsl("test", variant("highs, scip (gap = 0)", method))
    assert done.code == 1
    assert f"error[{code}]" in done.err
    assert "1 with errors in" in done.out


def test_a_test_without_a_method_uses_highs(gsdsl: Run, variant: Callable[..., Path]) -> None:
    done = gsdsl("test", variant(" with highs, scip (gap = 0)", ""))
    assert lines(done.out)[0] == "  PASS  Small: solve Small with highs"


PLANS = """
scenario Scarce extends Small { node_rule = force; stock["v1"] = 0; stock["v2"] = 0; stock["v3"] = 0; }
test Plans {
  solve Small with Greedy, highs (gap = 0), Drawn (seed = 1, judge = scip), scip (gap = 0);
  expect total >= 0.92875;
  expect sum[j in Jobs, n in Nodes, (v, g) in Configs] run[j, n, v, g] == 3;
  solve Scarce with Lazy;
  expect status == broken;
}
"""


def test_policies_run_where_they_are_named(gsdsl: Run, rented: Callable[..., Path]) -> None:
    done = gsdsl("test", rented(PLANS))
    assert done.code == 0, done.err
    assert lines(done.out)[:5] == [
        "  PASS  Plans: solve Small with Greedy",
        "  PASS  Plans: solve Small with highs",
        "  PASS  Plans: solve Small with Drawn",
        "  PASS  Plans: solve Small with scip",
        "  PASS  Plans: solve Scarce with Lazy",
    ]
    only = gsdsl("test", rented(PLANS), "--backend", "Greedy")
    assert "1 passed in" in only.out
    every = gsdsl("test", rented(PLANS), "--every-backend")
    assert every.out.count("with Greedy") == 1
    assert every.out.count("with Lazy") == 1


def test_what_a_plan_does_not_meet(gsdsl: Run, rented: Callable[..., Path]) -> None:
    done = gsdsl("test", rented(PLANS.replace("total >= 0.92875", "status == optimal")), "--backend", "Greedy")
    assert done.code == 1
    assert "`status == optimal` is false: `status` is `feasible`" in done.err


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("method", "code"),
    [("Greedy (judge = 3)", "GSM1603"), ("Greedy (judge = hihgs)", "GSM4001"), ("Elsewhere", "GSM4016"),
     ("Greedy (seed = 0.5)", "GSM1603"), ("Greedi", "GSM1602")],
)  # fmt: skip
def test_methods_that_cannot_plan(gsdsl: Run, rented: Callable[..., Path], method: str, code: str) -> None:
    done = gsdsl("test", rented(f"test T {{ solve Small with {method}; expect total >= 0; }}"))
    assert done.code == 1
    assert f"error[{code}]" in done.err


def test_every_backend_runs_what_it_takes(gsdsl: Run, tmp_path: Path) -> None:
    path = tmp_path / "m.gsm"
    path.write_text("""model Box { var x >= 0 <= 2; var y >= 0 <= 3; maximize area: x * y; }
scenario S for Box { }
test Area { solve S with scip; expect area == 6 within 0.0001; }
""")
    done = gsdsl("test", path, "--every-backend")
    assert done.code == 0, done.err
    assert [line.split()[0] for line in lines(done.out)[:4]] == ["PASS", "SKIP", "SKIP", "SKIP"]
    assert "`highs`" in done.out
    assert "1 passed, 3 skipped in" in done.out


def test_wrong_data_break_a_test(gsdsl: Run, variant: Callable[..., Path]) -> None:
    done = gsdsl("test", variant("b 5 3", "b 5 -3"))
    assert done.code == 1
    assert "  ERROR Small: solve Small\n" in done.out
    assert "error[GSM2109]" in done.err


def test_files_folders_and_filters(gsdsl: Run, variant: Callable[..., Path], tmp_path: Path) -> None:
    variant(name="a.gsm")
    variant("test Small", "test Other", name="b.gsm")
    done = gsdsl("test", tmp_path)
    assert lines(done.out)[:2] == [str(tmp_path / "a.gsm"), "  PASS  Small: solve Small with highs"]
    assert "4 passed in" in done.out
    done = gsdsl("test", tmp_path, "--filter", "Oth", "--backend", "scip")
    assert lines(done.out)[:2] == [str(tmp_path / "b.gsm"), "  PASS  Other: solve Small with scip"]
    assert "1 passed in" in done.out


def test_imported_tests_are_not_run(gsdsl: Run, pack: Path, tmp_path: Path) -> None:
    (tmp_path / "importer.gsm").write_text('import "pack.gsm";\n')
    done = gsdsl("test", tmp_path / "importer.gsm")
    assert done.code == 1
    assert "error[GSM6013]" in done.err


def test_no_test_is_no_success(gsdsl: Run, pack: Path) -> None:
    done = gsdsl("test", pack, "--filter", "nothing")
    assert done.code == 1
    assert "check `--filter`" in done.err


def test_quiet_tells_failures_only(gsdsl: Run, pack: Path, variant: Callable[..., Path]) -> None:
    done = gsdsl("test", pack, "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    done = gsdsl("test", variant("gain == 10", "gain == 11"), "--quiet")
    assert done.out == ""
    assert "GSM6015" in done.err


def test_failures_as_json(gsdsl: Run, variant: Callable[..., Path]) -> None:
    done = gsdsl("test", variant("gain == 10", "gain == 11"), "--diagnostics", "json")
    assert done.code == 1
    assert json.dumps(json.loads(done.err)).count("GSM6015") == 2
