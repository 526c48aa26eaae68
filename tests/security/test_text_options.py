"""Texts set only numbers, switches and choices of solvers, and read only their folder: constants and varied values."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from campaign_files import plan_of, run_in
from msgspec import structs

from gpusched_dsl.campaigns.execute import execute
from gpusched_dsl.compiling.build import Permissions
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import load_workspace, workspace_from_text
from gpusched_dsl.workflows.check import check_all
from gpusched_dsl.workflows.model_tests import run_tests
from gsdsl_backends.text_options import COMMON, NUMBER, SWITCH, TEXT_OPTIONS, accepts, refused_option

MODEL = "model M { var x integer >= 1 <= 9;  minimize total: x; }\nscenario S for M { }\n"
OPTIONS = (
    'highs (solution_file = "x", write_solution_to_file = true)',
    'highs (write_model_file = "x", write_model_to_file = true)',
    'highs (write_basis_file = "x")',
    'highs (log_file = "x")',
    'highs (read_solution_file = "x")',
    'highs (presolve = "x")',
    "highs (mip_rel_gap = small)",
    'cvxpy (solver = scs, write_data_filename = "x")',
    'cvxpy (solver = "x")',
    "cvxpy (verbose = true)",
    'scip (filename = "x")',
    'cpsat (log_prefix = "x")',
    "cpsat (output_drat_proof = true)",
)


def found_errors(found: Diagnostics) -> list[Diagnostic]:
    return [diagnostic for diagnostic in found if diagnostic.severity is Severity.ERROR]


def codes(text: str) -> set[str]:
    found = Diagnostics()
    check_all(workspace_from_text(MODEL + text, Path(), found), found, Permissions())
    return {diagnostic.code for diagnostic in found_errors(found)}


@pytest.mark.parametrize("method", OPTIONS)
def test_options_of_tests_and_campaigns(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused = {"GSM1603"} if "presolve" in method or "small" in method or 'solver = "x"' in method else {"GSM1609"}
    assert codes(f"test T {{ solve S with {method}; expect total == 1; }}") == refused
    assert codes(f"campaign C {{ solve S with {method}; }}") == refused
    solver, _, options = method.partition(" (")
    first, _, others = options.removesuffix(")").partition(", ")
    name, _, value = first.partition(" = ")
    more = f", {others}" if others else ""
    varied = f'vary m in {{ "{solver}" }}; vary v in {{ {value} }}; solve S with m ({name} = v{more});'
    assert codes(f"campaign C {{ {varied} }}") == refused
    assert codes(f"campaign C {{ {varied.replace('with m', 'with NoPolicy')} }}") & {"GSM1602", *refused}
    workspace = workspace_from_text(
        MODEL + f"test T {{ solve S with {method}; expect total == 1; }}", Path(), Diagnostics()
    )
    assert all(run.outcome.value != "passed" for run in run_tests(workspace))
    assert list(tmp_path.iterdir()) == []


def test_options_that_texts_may_set() -> None:
    allowed = (
        "highs (presolve = off, mip_max_nodes = 10, mip_detect_symmetry = false), cvxpy (solver = scs, eps_abs = 1e-9)"
    )
    assert codes(f"test T {{ solve S with {allowed}; expect total == 1; }}") == set()


def test_no_allowed_option_of_an_installed_solver_is_a_text() -> None:
    """One process each: libraries of solvers do not always get on."""
    program = (
        "import sys, json\n"
        "from gsdsl_backends.text_options import TEXT_OPTIONS\n"
        "names = json.loads(sys.stdin.read())\n"
        "def highs():\n"
        "    import highspy; h = highspy.Highs(); h.silent()\n"
        "    return {n: h.getOptionValue(n)[1] for n in names if h.getOptionValue(n)[0] == highspy.HighsStatus.kOk}\n"
        "def scip():\n"
        "    import pyscipopt; return pyscipopt.Model().getParams()\n"
        "def cpsat():\n"
        "    from ortools.sat.python.cp_model_helper import SatParameters\n"
        "    p = SatParameters(); return {n: getattr(p, n) for n in names if hasattr(p, n)}\n"
        "def cvxpy():\n"
        "    import clarabel; p = clarabel.DefaultSettings()\n"
        "    return {n: getattr(p, n) for n in names if hasattr(p, n)}\n"
        "def search():\n"
        "    from gsdsl_backends.search.backend import DEFAULTS; return dict(DEFAULTS)\n"
        "known = globals()[sys.argv[1]]()\n"
        "print(json.dumps({n: known[n] if isinstance(known[n], (bool, int, float, str)) else repr(known[n])"
        " for n in names if n in known}))\n"
    )
    every = {name for options in TEXT_OPTIONS.values() for name in options}
    for solver, options in TEXT_OPTIONS.items():
        done = subprocess.run(
            [sys.executable, "-c", program, solver],
            input=json.dumps(sorted(every)),
            capture_output=True,
            text=True,
            check=True,
        )
        values = json.loads(done.stdout.splitlines()[-1])
        assert set(options) <= set(values) or solver == "cvxpy"
        for name, value in values.items():
            if isinstance(value, str):  # also of options of other solvers, which a policy passes on
                kinds = [known[name] for known in TEXT_OPTIONS.values() if name in known]
                assert not any(isinstance(kind, str) for kind in kinds), (solver, name)
            elif name in options:
                assert options[name] == (SWITCH if isinstance(value, bool) else NUMBER), (solver, name)


def test_kinds_of_values() -> None:
    assert [accepts(NUMBER, value) for value in (1, 0.5, True, "1", float("inf"), float("nan"))] == [True] * 2 + [
        False
    ] * 4
    assert [accepts(SWITCH, value) for value in (True, 0, 1.0, 2, "on", "1")] == [True] * 3 + [False] * 3
    assert [accepts(("on", "off"), value) for value in ("on", True, False, "x", 1)] == [True] * 3 + [False] * 2
    assert refused_option("highs+scip", "highs:presolve", "off") is None
    assert refused_option("highs+scip", "scip:presolve", "off") is not None
    assert refused_option("concurrent", "highs:log_file", "x") is not None
    assert refused_option("FIFO", "log_file", "x") is not None
    for name in COMMON:
        assert all(name not in options for options in TEXT_OPTIONS.values())


def test_options_of_policies_for_their_solvers() -> None:
    text = 'import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";\n'
    for method in ('FIFO (fallback = highs, log_file = "x")', 'FIFO (judge = highs, solution_file = "x")'):
        verb = "run ThreeJobs online EveryArrivalAndCompletion" if "fallback" in method else "solve ThreeJobs"
        found = Diagnostics()
        check_all(
            workspace_from_text(text + f"campaign C {{ {verb} with {method}; }}", Path(), found), found, Permissions()
        )
        assert {diagnostic.code for diagnostic in found_errors(found)} == {"GSM1609"}


RUNS = 'import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";\ncampaign C { vary f in { $ }; '
PROGRAM = '"program:touch x"'


@pytest.mark.parametrize(
    "statement",
    [
        "run ThreeJobs online EveryArrivalAndCompletion with highs (fallback = f, time_limit = 0[s]);",
        "run ThreeJobs online EveryArrivalAndCompletion with f;",
        "solve ThreeJobs with f;",
        "solve ThreeJobs with FIFO (judge = f);",
        "solve ThreeJobs with highs (warm_start = f);",
    ],
)
def test_no_factor_names_a_program(statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "c.gsm"
    path.write_text(RUNS.replace("$", PROGRAM) + statement + " }", encoding="utf-8")
    found = Diagnostics()
    check_all(load_workspace(path, found), found, Permissions())
    assert len(found_errors(found)) == 1
    with pytest.raises(DiagnosticError):
        plan_of(path)
    # A worker that gets the task all the same does not execute it either.
    path.write_text(RUNS.replace("$", "highs" if "judge" in statement else "FIFO") + statement + " }", encoding="utf-8")
    task = plan_of(path).runs[0].task
    options = {
        name: PROGRAM.strip('"') if value in ("FIFO", "highs") else value for name, value in task.options.items()
    }
    method = PROGRAM.strip('"') if "with f" in statement else task.method
    record = execute(structs.replace(task, options=options, method=method))
    assert record.state == "failed"
    assert not (tmp_path / "x").exists()


def test_a_worker_checks_options(tmp_path: Path) -> None:
    path = tmp_path / "c.gsm"
    path.write_text(MODEL + "campaign C { solve S with highs; }", encoding="utf-8")
    task = plan_of(path).runs[0].task
    file = tmp_path / "written"
    options = {**task.options, "solution_file": str(file), "write_solution_to_file": True}
    record = execute(structs.replace(task, options=options))
    assert [diagnostic.code for diagnostic in record.diagnostics] == ["GSM1609", "GSM1609"]
    assert not file.exists()


def test_warm_starts_stay_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    outside = tmp_path / "outside.json"
    outside.write_text('{"variables": {"x": [{"index": [], "value": 3}]}}', encoding="utf-8")
    (home / "link.json").symlink_to(outside)
    path = home / "c.gsm"
    for start in ("../outside.json", str(outside), "link.json", "http://example.org/x"):
        path.write_text(MODEL + f'campaign C {{ solve S with highs (warm_start = "{start}"); }}', encoding="utf-8")
        with pytest.raises(DiagnosticError, match=r"GSM200[23]"):
            plan_of(path)
    (home / "own.json").write_text(outside.read_text(encoding="utf-8"), encoding="utf-8")
    path.write_text(MODEL + 'campaign C { solve S with highs (warm_start = "own.json"); }', encoding="utf-8")
    plan = plan_of(path)
    assert [record.state for record in run_in(tmp_path / "store", plan).records.values()] == ["done"]
    task = plan.runs[0].task
    record = execute(structs.replace(task, options={**task.options, "warm_start": str(outside)}))
    assert [diagnostic.code for diagnostic in record.diagnostics] == ["GSM2002"]


def test_a_policy_as_a_start_is_never_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the current folder that is called like the policy is not read."""
    monkeypatch.chdir(tmp_path)
    Path("FIFO").write_text("no result", encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir()
    path = home / "c.gsm"
    path.write_text(
        'import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";\n'
        "campaign C { solve ThreeJobs with highs (warm_start = FIFO); }",
        encoding="utf-8",
    )
    assert [execute(run.task).state for run in plan_of(path).runs] == ["done"]
