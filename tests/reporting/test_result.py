import csv
import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from found_codes import raises_code

from benchmarks.packages import ROOT, sources
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.csv_files import csv_text, write_csv_folder
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.solving.starts import entries_of_document, entries_of_file, entries_of_mapping, point_from

Solve = Callable[..., Result]


def test_tables_have_the_labels_and_the_nonzeros(problem: Problem, solved: Solve) -> None:
    result = solved(problem)
    assert result["run"].rows() == [("j1", 4, 1.0), ("=2+3", 4, 1.0)]
    assert result["run"].columns == ["Jobs", "Nodes", "value"]
    assert result.table("run").height == 4
    assert result["spread"].rows() == [(0.75,)]
    assert result.value("run", "j1", 4) == 1.0
    assert result.value("spread") == pytest.approx(0.75)


def test_the_objective_is_the_sum_of_its_terms(problem: Problem, solved: Solve) -> None:
    result = solved(problem)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(4.375)
    assert result.terms == pytest.approx({"rent": 3.0, "late": 1.375})
    assert result.gap == pytest.approx(0.0, abs=1e-9)


def test_unknown_names_are_key_errors_with_a_guess(problem: Problem, solved: Solve) -> None:
    result = solved(problem)
    with pytest.raises(KeyError, match="did you mean `run`"):
        result["rum"]
    with pytest.raises(KeyError, match=r"run\[j1, 5\]"):
        result.value("run", "j1", 5)
    with pytest.raises(KeyError):
        result.value("run", "j1")
    with pytest.raises(KeyError, match="not a constraint"):
        result.duals("runs")


def test_duals_of_a_linear_problem(linear: Problem, solved: Solve) -> None:
    result = solved(linear)
    duals = result.duals("once")
    assert duals.columns == ["Jobs", "dual"]
    # one more unit of `once[j1]` costs its rent and half of the price of `spread` more
    assert duals.rows() == [("j1", pytest.approx(1.25)), ("=2+3", pytest.approx(2.0))]
    assert result.duals("floor").rows() == [(pytest.approx(0.5),)]
    reduced = {row[:2]: row[2] for row in result.reduced_costs("run").rows()}
    assert reduced["j1", 7] == pytest.approx(1.75)
    assert reduced["=2+3", 4] == pytest.approx(0.0, abs=1e-9)


def test_integers_have_no_duals(problem: Problem, solved: Solve) -> None:
    with pytest.raises(DiagnosticError, match="no duals") as error:
        solved(problem).duals("once")
    assert error.value.diagnostics[0].code == "GSM6010"


def test_no_point_no_values(problem: Problem, solved: Solve) -> None:
    result = solved(replace(problem, row_lower=np.array([5.0, 1, 0]), row_upper=np.array([5.0, 1, np.inf])))
    assert result.status == "infeasible"
    assert not result.has_point
    assert result.placement is None
    with pytest.raises(DiagnosticError, match="infeasible"):
        result["run"]
    found = result.to_dict()
    assert found["objective"] is None
    assert found["variables"] == {"run": [], "spread": []}
    assert found["terms"] == {}


def test_json_has_the_promised_keys_first(problem: Problem, solved: Solve, tmp_path: Path) -> None:
    result = solved(problem)
    result.to_json(tmp_path / "result.json")
    found = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert list(found)[:12] == [
        "status", "objective", "bound", "gap", "terms", "variables", "placement", "build_seconds", "solve_seconds",
        "backend", "versions", "inputs_sha256",
    ]  # fmt: skip
    assert found["variables"]["run"] == [{"index": ["j1", 4], "value": 1}, {"index": ["=2+3", 4], "value": 1}]
    assert found["variables"]["spread"] == [{"index": [], "value": pytest.approx(0.75)}]
    assert found == json.loads(json.dumps(result.to_dict()))


def test_numbers_that_are_not_finite_become_null(problem: Problem, solved: Solve) -> None:
    result = solved(problem)
    object.__setattr__(result.solved, "statistics", {"nodes": float("inf"), "iterations": float("nan")})
    assert result.to_dict()["statistics"] == {"nodes": None, "iterations": None}


def test_csv_has_one_file_per_variable(problem: Problem, solved: Solve, tmp_path: Path) -> None:
    files = solved(problem).to_csv(tmp_path / "out")
    assert sorted(f.name for f in files) == ["run.csv", "spread.csv"]
    assert (tmp_path / "out" / "run.csv").read_text() == "Jobs,Nodes,value\nj1,4,1.0\n'=2+3,4,1.0\n"


def test_csv_cells_are_no_formulas() -> None:
    risky = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "-", None]
    harmless = ["-3", "+1.5e3", "a=b", "j1", "", "a,b"]
    frame = pl.DataFrame({"job": [*risky, *harmless], "value": [-1.0] * 12})
    rows = csv_text(frame).splitlines()
    assert rows[1:7] == ["'=1+1,-1.0", "'+cmd,-1.0", "'-2+3,-1.0", "'@SUM(A1),-1.0", "'-,-1.0", ",-1.0"]
    assert rows[7:] == ["-3,-1.0", "+1.5e3,-1.0", "a=b,-1.0", "j1,-1.0", '"",-1.0', '"a,b",-1.0']


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, None])
def test_csv_cells_of_any_kind_are_no_formulas(kind: type | None) -> None:
    starts = ["\t", "\r", "\n", "\n=", " =", "\x00=", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\u3000\uff1d"]
    risky = [f"{start}1+1" for start in starts]
    frame = pl.DataFrame({"job": pl.Series(risky, dtype=pl.Enum(risky) if kind is None else kind), "=A1": 1})
    read = list(csv.reader(StringIO(csv_text(frame), newline="")))
    assert read == [["job", "'=A1"], *(["'" + text, "1"] for text in risky)]


def test_no_other_function_writes_results_as_csv() -> None:
    """Besides it, only data are written that models read again, and one text that is hashed."""
    files = [path for path in sources() if ".write_csv(" in path.read_text(encoding="utf-8")]
    assert {path.relative_to(ROOT).as_posix() for path in files} == {
        *(f"gpusched_dsl/{name}" for name in ("reporting/csv_files.py", "cli/trace.py", "cli/profile.py")),
        "gpusched_dsl/data/sources/formatted.py",
        "edges/clusters/gsdsl_clusters/inspecting/written_model.py",
        "backends/gsdsl_backends/files/lp_mps.py",  # problems, not results
    }


def test_a_result_leads_back_to_its_point(problem: Problem, solved: Solve, tmp_path: Path) -> None:
    result = solved(problem)
    result.to_json(tmp_path / "result.json")
    point, warnings = point_from(problem, entries_of_file(tmp_path / "result.json"))
    assert np.nan_to_num(point).tolist() == pytest.approx(result.solved.point.tolist())
    assert warnings == []


def test_what_a_plan_says_nothing_of_is_unknown(problem: Problem) -> None:
    two = {"run": {("j1", 7): 1, ("=2+3", 4): 1}}
    point, _ = point_from(problem, entries_of_mapping(two))
    np.testing.assert_array_equal(point, [0, 1, 1, 0, np.nan])  # `spread` is not spoken of
    point, _ = point_from(problem, entries_of_mapping({"run": {("j1", 7): 1}}))
    np.testing.assert_array_equal(point, [np.nan, 1, np.nan, np.nan, np.nan])
    point, _ = point_from(problem, entries_of_mapping({"run": {}, "spread": 0.5}))
    np.testing.assert_array_equal(point, [np.nan, np.nan, np.nan, np.nan, 0.5])


def test_values_without_a_place_are_told(problem: Problem) -> None:
    entries = entries_of_document(
        {
            "variables": {
                "run": [{"index": ["j1", 7], "value": 1}, {"index": ["gone", 4], "value": 1},
                        {"index": ["j1"], "value": 1}],
                "rum": [],
                "spread": [{"index": [], "value": -5}],
            }
        }
    )  # fmt: skip
    point, warnings = point_from(problem, entries)
    np.testing.assert_array_equal(point, [np.nan, 1, np.nan, np.nan, 0])  # outside its bounds: onto the nearest
    assert [w.code for w in warnings] == ["GSM6009", "GSM6009"]
    assert "2 of 3 values of `run`" in warnings[0].message
    assert warnings[1].help == "did you mean `run`?"


def test_points_from_python(problem: Problem) -> None:
    frame = pl.DataFrame({"job": ["j1"], "node": [7], "value": [1.0]})
    by_mapping, _ = point_from(problem, entries_of_mapping({"run": {("j1", 7): 1}, "spread": 2.0}))
    by_frame, _ = point_from(problem, entries_of_mapping({"run": frame, "spread": 2.0}))
    np.testing.assert_array_equal(by_mapping, [np.nan, 1, np.nan, np.nan, 2])
    np.testing.assert_array_equal(by_frame, by_mapping)


@pytest.mark.parametrize(
    "text", ["", "[1]", "{}", '{"variables": 3}', '{"variables": {"run": [{"index": 3}]}}', "[" * 10**5]
)
def test_files_that_are_no_results(tmp_path: Path, text: str) -> None:
    path = tmp_path / "start.json"
    path.write_text(text)
    with pytest.raises(DiagnosticError) as error:
        entries_of_file(path)
    assert [d.code for d in error.value.diagnostics] == ["GSM6009"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"variables": {"run": [{"index": [], "value": 1}], "run": []}}', "run"),
        ('{"variables": {"run": [{"index": [], "value": 1, "value": 0}]}}', "value"),
        ('{"variables": {}, "status": "optimal", "variables": {}}', "variables"),
    ],
)
def test_a_warm_start_with_repeated_keys_is_refused(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "start.json"
    path.write_text(text)
    with raises_code("GSM6009", str(path), key):
        entries_of_file(path)


def test_a_missing_warm_start_is_told(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="No such file"):
        entries_of_file(tmp_path / "none.json")


def test_names_that_some_file_systems_confuse_are_numbered(tmp_path: Path) -> None:
    frame = pl.DataFrame({"value": [1.0]})
    files = write_csv_folder(tmp_path, {"run": frame, "Run": frame, "run_2": frame})
    assert [f.name for f in files] == ["run.csv", "Run_2.csv", "run_2_2.csv"]
