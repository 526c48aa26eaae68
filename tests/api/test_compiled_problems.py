"""Problems without their model: those that were stored as JSON are solved as the model itself is."""

from __future__ import annotations

from pathlib import Path

import pytest
from found_codes import raises_code

import gpusched_dsl as gs

PACK = """model Pack { set Items;  param worth[Items];  param size[Items];
  var take[Items] integer >= 0 <= 9;  var spare >= 0;
  maximize gain: sum[i in Items] worth[i] * take[i];
  then minimize left: spare;
  constraint fits: sum[i in Items] size[i] * take[i] + spare == 17.5; }
scenario S for Pack { table Items: worth size = a 3 2  b 5 3  c 1.5 1; }"""
MIX = """model Mix { set K = 1..3; var x[k in K] >= 0 <= 2 * k; var y integer >= 0 <= 5;
  minimize cost: sum[k in K] (4 - k) * x[k] + 1.4 * y; constraint total: sum[k in K] x[k] + 2 * y >= 7.5; }"""


def stored(text: str) -> gs.Problem:
    return gs.problem_from_json(gs.problem_to_json(gs.compile(text)))


@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_a_stored_problem_has_the_solution_of_its_model(backend: str) -> None:
    expected = gs.loads(PACK).solve(backend=backend, gap=0.0)
    result = gs.solve(stored(PACK), backend, gap=0.0)
    assert (result.status, expected.objective) == ("optimal", 28.0)
    assert [o.value for o in result.objectives] == pytest.approx([o.value for o in expected.objectives])
    assert [o.value for o in result.objectives] == pytest.approx([28.0, 0.5])
    assert result.value("spare") == pytest.approx(0.5)
    assert result.to_dict()["backend"] == backend
    assert gs.solve(stored(PACK), method=backend).objective == pytest.approx(28.0)


def test_options_reach_the_solver(tmp_path: Path) -> None:
    problem = stored(MIX)
    exact = gs.solve(problem, duals=True)
    assert (exact.objective, exact.value("y")) == pytest.approx((5.6, 4.0))
    assert exact.duals("total")["dual"].to_list() == gs.loads(MIX).solve(duals=True).duals("total")["dual"].to_list()
    relaxed = gs.solve(problem, relax=True)
    assert relaxed.relaxed
    assert relaxed.objective == pytest.approx(5.25)  # y = 3.75
    exact.to_json(tmp_path / "r.json")
    for start in (exact, tmp_path / "r.json", {"y": 3, "x": {1: 0.0, 2: 0.0, 3: 1.5}}):
        assert gs.solve(problem, warm_start=start).objective == pytest.approx(exact.objective)
    warned = gs.solve(problem, warm_start={"z": 1})
    assert [d.code for d in warned.warnings] == ["GSM6009"]


def test_problems_without_a_solution_are_results() -> None:
    assert gs.solve(stored("model No { var x >= 0 <= 1; minimize c: x; constraint r: x >= 2; }")).status == "infeasible"


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"backend": "Greedy"}, "GSM6016", "`Greedy` is a policy"),
        ({"backend": "higs"}, "GSM4001", "did you mean `highs`"),
        ({"time_limit": "5m"}, "GSM4011", "write `time_limit=300`"),
        ({"threads": 0}, "GSM4011", "from 1 to"),
        ({"without": "all"}, "GSM4011", "list of names"),
        ({"relax": 1}, "GSM4011", "True or False"),
        ({"warm_start": "nowhere.json"}, "GSM6009", "nowhere.json"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], code: str, words: str) -> None:
    with pytest.raises(gs.DiagnosticError) as refused:
        gs.solve(stored(MIX), **options)  # type: ignore[arg-type]
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == code
    assert words in str(refused.value)


@pytest.mark.parametrize("wrong", [b"{}", gs.loads(MIX)])
def test_only_problems_are_solved(wrong: object) -> None:
    with raises_code("GSM4011", type(wrong).__name__):
        gs.solve(wrong)  # type: ignore[arg-type]
