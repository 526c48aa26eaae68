"""Every model of this folder gives equal results on the command line and in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli import main

FOLDER = Path(__file__).parent / "models"
WITHOUT_DATA = {"data_road"}  # its files are made by the test that uses them
MODELS = sorted(path.stem for path in FOLDER.glob("*.gsm") if path.stem not in WITHOUT_DATA)
SCENARIOS = [(name, s) for name in MODELS for s in gs.load(FOLDER / f"{name}.gsm").scenarios]


def file_of(name: str) -> str:
    return str(FOLDER / f"{name}.gsm")


def test_there_are_models() -> None:
    assert len(MODELS) >= 18


@pytest.mark.quick(6)
@pytest.mark.parametrize("name", MODELS)
def test_it_is_formatted_checks_and_keeps_its_promises(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--check", file_of(name)]) == 0
    assert main(["check", file_of(name)]) == 0
    out = capsys.readouterr()
    assert "warning" not in out.err
    if "\ntest " in (FOLDER / f"{name}.gsm").read_text(encoding="utf-8"):
        code = main(["test", file_of(name)])
        out = capsys.readouterr()
        assert code == 0, out.err
        assert "PASS" in out.out
        assert "SKIP" not in out.out


@pytest.mark.quick(3)
@pytest.mark.parametrize(("name", "scenario"), SCENARIOS)
def test_both_solvers_both_ways_and_the_stored_problem_agree(name: str, scenario: str, tmp_path: Path) -> None:
    out, again, problem = (tmp_path / n for n in ("out.json", "again.json", "problem.json"))
    options = ["--scenario", scenario, "--gap", "0", "--json"]
    code = main(["solve", file_of(name), *options, str(out)])
    told = json.loads(out.read_text(encoding="utf-8"))
    assert code == {"optimal": 0, "infeasible": 3, "unbounded": 4}[told["status"]]

    with gs.load(FOLDER / f"{name}.gsm") as model:
        for backend in ("highs", "scip"):
            result = model.solve(scenario, backend, gap=0)
            assert result.status == told["status"]
            if told["objective"] is None:
                assert result.objective is None
                continue
            assert result.objective == pytest.approx(told["objective"], rel=1e-6, abs=1e-6)
            assert [o.value for o in result.objectives] == [
                pytest.approx(o["value"], rel=1e-6, abs=1e-6) for o in told["objectives"]
            ]
            nonzeros = {name: len(result[name]) for name in told["variables"]}
            assert list(nonzeros) == [family.name for family in result.problem.variables]

    assert main(["export", file_of(name), "--scenario", scenario, "--to", "json", "--out", str(problem)]) == 0
    assert main(["solve", str(problem), "--gap", "0", "--json", str(again)]) == code
    stored = json.loads(again.read_text(encoding="utf-8"))
    assert stored["status"] == told["status"]
    assert stored["objective"] == (told["objective"] and pytest.approx(told["objective"], rel=1e-6, abs=1e-6))


@pytest.mark.quick(3)
@pytest.mark.parametrize(("name", "scenario"), SCENARIOS)
def test_written_for_other_solvers_and_read_by_them(name: str, scenario: str, tmp_path: Path) -> None:
    """LP and MPS texts, read by HiGHS itself, have the optimum that we find."""
    import highspy

    result = gs.load(FOLDER / f"{name}.gsm").solve(scenario, gap=0)
    if len(result.objectives) > 1 or result.objective is None:
        pytest.skip("LP and MPS hold one objective")
    for kind in ("lp", "mps") if result.problem.columns else ("mps",):
        path = tmp_path / f"problem.{kind}"
        assert main(["export", file_of(name), "--scenario", scenario, "--to", kind, "--out", str(path)]) == 0
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("mip_rel_gap", 0.0)
        assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
        highs.run()
        found = highs.getInfo().objective_function_value
        assert abs(found) == pytest.approx(abs(result.objective), rel=1e-6, abs=1e-6)
