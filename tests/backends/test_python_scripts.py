"""Scripts on the packages of solvers run without this one and find the same optima."""

from __future__ import annotations

import io
import runpy
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

import gpusched_dsl as gs
from gpusched_dsl.ir.problem import Problem
from gsdsl_backends.exporters import write_problem
from gsdsl_backends.files.python_script import write

MODELS = {
    "integer": """
model Pack "a knapsack" {
  set Items;  set Pairs within Items cross Items;
  param worth[Items] in $ >= 0;  param size[Items] in GB > 0;  param room in GB >= 0;
  var take[i in Items] integer >= 0 <= 9 "how many";
  var both[Pairs] binary;
  var class in h >= -1 <= 4;
  var status in h;
  maximize gain in $: sum[i in Items] worth[i] * take[i] + sum[(i, k) in Pairs] 3[$] * both[i, k] - 2[$/h] * class
    + 7[$] - 1[$/h] * abs(status - 1[h]);
  constraint fits: 2[GB] <= sum[i in Items] size[i] * take[i] <= room;
  constraint paired[(i, k) in Pairs]: 2 * both[i, k] <= take[i] + take[k];
  constraint waits: class + status == 2.5[h];
  constraint low: class >= 0.5[h];
}
scenario S for Pack {
  table Items: worth[$] size[GB] = a 3 2  b 5 3  "c\\" + exit(1) #" 1.5 1;
  Pairs = { ("a", "b"), ("b", "c\\" + exit(1) #") };
  room = 17[GB];
}
""",
    "linear": """
model Mix { set K = 1..4; var x[k in K] >= 0 <= 2 * k; var free >= -5;
  minimize cost: sum[k in K] (k - 2.5) * x[k] + 0.1 * free;
  constraint total: sum[k in K] x[k] + free == 3;
  constraint part[k in K where k > 1]: x[k] <= x[k - 1] + 1; }
""",
    "quadratic": """
model Fit { set K = 1..3; var x[k in K] >= 0 <= 5;
  minimize cost: sum[k in K] (x[k] - k)^2 + x[1] * 2 + 1;
  constraint total: sum[k in K] x[k] == 4; }
""",
    "infeasible": "model No { var x integer >= 0 <= 3; minimize cost: x; constraint half: 2 * x == 3; }",
    "constant": "model Same { var x integer >= 1 <= 3; minimize cost: 4.5; }",
    "empty row": "model Same { set K; var x[K] >= 1 <= 3; var y >= 0; minimize cost: 4.5 + y; "
    "constraint none: sum[k in K] x[k] <= 3; } scenario S for Same { K = {}; }",
    "empty row that fails": "model Same { set K; var x[K] >= 1 <= 3; var y >= 0; minimize cost: 4.5 + y; "
    "constraint none: sum[k in K] x[k] >= 3; } scenario S for Same { K = {}; }",
}
NONLINEAR = {
    "products": """
model Bilinear { var x >= 0 <= 4; var y >= 1 <= 3; var z integer >= -2 <= 2; var b binary;
  maximize gain: x * y - exp(x) + log(y) + 2 * abs(z - 0.4) + (x - y)^3 * b;
  constraint bowl: x^2 + y^2 <= 8;
  constraint root: sqrt(x) + z <= 2.5;
  constraint turn: b == 1 => x + y <= 3.5; }
""",
    "conditions": """
model Switch { var x >= 0; var b binary; var c binary;
  minimize cost: x^1.5 + 4 * b - c;
  constraint small: b == 0 => x >= 3;
  constraint exact: c == 1 => 2 * x == 5; }
""",
    **MODELS,
}


def script_of(problem: Problem, form: str) -> str:
    file = io.BytesIO()
    write_problem(problem, form, file)  # type: ignore[arg-type]
    return file.getvalue().decode()


def run(text: str, folder: Path) -> tuple[dict[str, Any], str]:
    """The variables of a script after it ran, and its output."""
    path = folder / "script.py"
    path.write_text(text, encoding="utf-8")
    with redirect_stdout(io.StringIO()) as output:
        found = runpy.run_path(str(path))
    return found, output.getvalue()


def check(text: str, form: str, backend: str, folder: Path) -> str:
    """Run the script of a model, compare it with our own solve, and return the script."""
    model = gs.loads(text)
    expected = model.solve(backend=backend, gap=1e-6)
    script = script_of(model.ground(), form)
    found, printed = run(script, folder)
    assert found["status"] == expected.status
    assert f"status {expected.status}" in printed
    if expected.objective is None:
        assert found["objective"] is None
    else:
        assert found["objective"] == pytest.approx(expected.objective, rel=2e-4, abs=1e-6)
        assert f"objective {found['objective']}" in printed
    return script


@pytest.fixture(params=["listed", "arrays"])
def form_of_numbers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "arrays":
        monkeypatch.setattr(write, "LISTED", -1)
    return str(request.param)


@pytest.mark.parametrize("name", MODELS)
def test_highs(name: str, form_of_numbers: str, tmp_path: Path) -> None:
    script = check(MODELS[name], "python", "highs", tmp_path)
    assert ("frombuffer" in script) == (form_of_numbers == "arrays")
    assert "gpusched_dsl" not in script


@pytest.mark.parametrize("name", NONLINEAR)
def test_scip(name: str, form_of_numbers: str, tmp_path: Path) -> None:
    script = check(NONLINEAR[name], "python-scip", "scip", tmp_path)
    assert ("frombuffer" in script) == (form_of_numbers == "arrays")
    assert ("addConsIndicator" in script) == (form_of_numbers == "arrays" or name == "conditions")
    assert ("scip.exp" in script) == (name == "products")


def test_values_have_the_names_of_the_model(form_of_numbers: str, tmp_path: Path) -> None:
    model = gs.loads(MODELS["integer"])
    result = model.solve(gap=0.0)
    found, printed = run(script_of(model.ground(), "python"), tmp_path)
    expected = {tuple(row[:-1]): row[-1] for row in result["take"].rows()}
    for (label,), value in expected.items():
        assert f"take {label} = {value}" in printed
    assert set(found["families"]["both"]) == {("a", "b"), ("b", 'c" + exit(1) #')}
    assert f"class = {result.value('class')}" in printed or result.value("class") == 0.0


def test_it_reads_like_the_model() -> None:
    script = script_of(gs.loads(MODELS["linear"]).ground(), "python")
    assert 'model.addConstr(x[2] - x[1] <= 1, name="part[2]")' in script
    assert "# total (" in script
    assert "free = model.addVariable(-5, INFINITY, type=CONTINUOUS" in script
    integer = script_of(gs.loads(MODELS["integer"]).ground(), "python")
    assert "# take: how many (<text>, line 5)" in integer
    assert "class_ = model.addVariable(" in integer
    assert "status_ = " in integer


def test_texts_of_the_model_are_no_code(tmp_path: Path) -> None:
    problem = gs.loads(MODELS["linear"]).ground()
    wild = 'x"\nraise SystemExit(3)\r#'
    families = tuple(structs.replace(family, name=f"{wild}{n}", doc=wild) for n, family in enumerate(problem.variables))
    rows = tuple(structs.replace(family, name=wild, doc=wild) for family in problem.constraints)
    problem = replace(problem, name=wild, variables=families, constraints=rows)
    for form in ("python", "python-scip"):
        found, _ = run(script_of(problem, form), tmp_path)
        assert found["status"] == "optimal"
        assert list(found["families"]) == [family.name for family in families]


def test_what_a_solver_lacks_is_refused() -> None:
    problem = gs.loads("model M { var x >= 0 <= 3; var y >= 0 <= 3; maximize most: x * y; }").ground()
    with pytest.raises(gs.DiagnosticError, match="python-scip"):
        script_of(problem, "python")
    squares = gs.loads("model M { var x integer >= 0; var y >= 0; minimize least: (x - y - 0.5)^2 + y^2; }").ground()
    with pytest.raises(gs.DiagnosticError, match="python-scip"):
        script_of(squares, "python")


def test_it_runs_without_this_package(tmp_path: Path) -> None:
    model = gs.loads(MODELS["integer"])
    model.export(tmp_path / "pack.py")
    code = "import sys, runpy; sys.modules['gpusched_dsl'] = None; runpy.run_path('pack.py')"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"objective {model.solve(gap=0.0).objective}" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("form", ["python", "python-scip"])
def test_a_large_problem(form: str, tmp_path: Path) -> None:
    model = gs.load("gsdsl:capacity_planning/scenarios/gavel_40_jobs.gsm")
    problem = model.ground(model.scenarios[0])
    script = script_of(problem, form)
    assert "frombuffer" in script
    if form == "python":
        found, _ = run(script, tmp_path)
        assert found["objective"] == pytest.approx(model.solve(model.scenarios[0]).objective, rel=2e-4)
        return
    # SCIP gets the same numbers; to solve them takes it minutes
    lines = script.split("# --- load")[0]
    found, _ = run(lines, tmp_path)
    assert np.array_equal(found["factor"], problem.matrix.values)


SEVERAL = {
    "three": """
model Three { set K = 1..4; var x[k in K] integer >= 0 <= 6; var terms >= 0 <= 9;
  maximize gain: sum[k in K] k * x[k] + 7 - 0.5 * terms;
  then minimize spread: sum[k in K] (5 - k) * x[k] - 3;
  then maximize last: x[1] + 0.01 * x[2] + terms;
  constraint room: sum[k in K] (1 + k mod 2) * x[k] + 0.5 * terms <= 17;
  constraint pair: x[3] + x[4] <= 8; }
""",
    "a single column, and a constant": """
model Few { var x >= 0 <= 5; var y >= 0 <= 5;
  minimize first: x;  then minimize second: 4.5;  then maximize third: y;
  constraint both: x + y >= 2.5;  constraint less: y - 2 * x <= 1; }
""",
    "large and small numbers": """
model Sizes { var x >= 0 <= 5; var y integer >= 0 <= 5;
  maximize money: 1000000 * x + 2000000 * y;  then minimize little: 0.0001 * x + 0.00031 * y;
  constraint room: x + 2 * y <= 7.5; }
""",
    "no solution": "model No { var x integer >= 0 <= 3; minimize a: x; then maximize b: x; constraint c: 2 * x == 3; }",
    "unbounded at last": "model Up { var x >= 0; var y >= 1; minimize a: y; then maximize b: x; }",
}


@pytest.mark.parametrize("form", ["python", "python-scip"])
@pytest.mark.parametrize("name", SEVERAL)
def test_several_objectives_are_solved_in_order(name: str, form: str, form_of_numbers: str, tmp_path: Path) -> None:
    model = gs.loads(SEVERAL[name])
    expected = model.solve(gap=0.0)
    script = script_of(model.ground(), form)
    assert ("frombuffer" in script) == (form_of_numbers == "arrays")
    found, printed = run(script.replace("GAP = 1e-4", "GAP = 0.0"), tmp_path)
    assert found["status"] == expected.status
    if expected.status != "optimal":
        return
    names = [o.name for o in expected.objectives]
    values = [o.value for o in expected.objectives]
    assert list(found["objectives"]) == names
    # an earlier objective may become worse by a part in ten million, for what the later ones gain by it
    assert list(found["objectives"].values()) == pytest.approx(values, rel=3e-6, abs=3e-6)
    assert found["objective"] == found["objectives"][names[0]]
    assert f"objective {names[-1]} {found['objectives'][names[-1]]}" in printed


def test_terms_that_only_scip_has_with_several_objectives(form_of_numbers: str, tmp_path: Path) -> None:
    model = gs.loads("""model M { var x >= 0 <= 4; var y >= 0 <= 3; var z >= 0 <= 1;
      maximize most: x * y;  then minimize least: x + 2 * z;  constraint disc: x^2 + y^2 + z^2 <= 8; }""")
    found, _ = run(script_of(model.ground(), "python-scip").replace("GAP = 1e-4", "GAP = 0.0"), tmp_path)
    assert found["status"] == "optimal"
    assert list(found["objectives"].values()) == pytest.approx([4.0, 2.0], abs=5e-3)  # x == y == 2, and flat there


def test_objectives_are_named() -> None:
    script = script_of(gs.loads(SEVERAL["three"]).ground(), "python")
    assert "# maximize gain\n# then minimize spread\n# then maximize last\n" in script
    assert '("gain", "maximize", x[1] + 2 * x[2] + 3 * x[3] + 4 * x[4] - 0.5 * terms_ + 7, 4),' in script
    model = gs.loads("model M { var x >= 0; minimize x; then maximize x; constraint c: x <= 3; }")
    assert "# minimize objective 1\n# then maximize objective 2\n" in script_of(model.ground(), "python")
