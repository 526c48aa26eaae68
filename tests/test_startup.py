"""Imports decide the start-up time of a command: `--help` and `check` load no unneeded library."""

import subprocess
import sys
from pathlib import Path

import pytest

SOLVERS = {"highspy", "pyscipopt", "cvxpy", "scipy"}
HEAVY = SOLVERS | {"numpy", "polars", "networkx", "jinja2", "numba", "rich", "pandas", "matplotlib"}

PROBE = """
import sys
from gpusched_dsl.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as exit:
    code = exit.code
print("exit", code or 0, *sorted(name for name in sys.modules if "." not in name), file=sys.stderr)
"""

MODEL = """
model Small {
  set Jobs;
  param hours[Jobs] in h >= 0;
  var late[Jobs] in h >= 0;
  minimize total in h: sum[j in Jobs] late[j];
  constraint enough[j in Jobs]: late[j] >= hours[j] - 1[h];
}
"""


def modules_after(*arguments: str, cwd: Path) -> tuple[int, set[str]]:
    """Exit code of a command and the top-level modules it has imported."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], cwd=cwd, capture_output=True, text=True, check=True, timeout=60
    )
    word, code, *modules = done.stderr.splitlines()[-1].split()
    assert word == "exit", done.stderr
    return int(code), set(modules)


@pytest.mark.quick(3)
@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["solve", "--help"], ["check", "--help"]])
def test_help_and_version_import_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    code, modules = modules_after(*arguments, cwd=tmp_path)
    assert code == 0
    assert not modules & HEAVY


def test_check_of_a_model_imports_no_solver(tmp_path: Path) -> None:
    (tmp_path / "small.gsm").write_text(MODEL, encoding="utf-8")
    code, modules = modules_after("check", "small.gsm", cwd=tmp_path)
    assert code == 0
    assert "lark" in modules
    assert not modules & SOLVERS


POLICY = """
import "gsdsl:capacity_planning/scenarios/figure1.gsm";
policy First for CapacityPlanning {
  order j in Jobs by deadline[j];
  choose (v, g) in Configs where (j, v, g) in Runnable by g;
  place new_node, postpone;
}
test T { solve Figure1 with First, Greedy; expect status == feasible; }
"""


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    "arguments",
    [["check", "first.gsm"], ["policies"], ["policies", "first.gsm"], ["policies", "--rules"],
     ["explain", "first.gsm", "--policy", "First"], ["compare", "--help"]],
)  # fmt: skip
def test_reading_policies_loads_no_compiler_and_no_solver(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "first.gsm").write_text(POLICY, encoding="utf-8")
    code, modules = modules_after(*arguments, cwd=tmp_path)
    assert code == 0
    assert not modules & {"numba", "llvmlite", *SOLVERS - {"scipy"}}


@pytest.mark.slow
def test_a_small_decision_loads_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GSDSL_PYTHON_KERNELS", raising=False)
    monkeypatch.delenv("GSDSL_COMPILED_KERNELS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "first.gsm").write_text(POLICY, encoding="utf-8")
    code, modules = modules_after("solve", "first.gsm", "--scenario", "Figure1", "--method", "First", cwd=tmp_path)
    assert code == 0
    assert not modules & {"numba", "llvmlite"}


SOLVES = """
import sys, gpusched_dsl as gs
text = "model M { param a; var x integer >= 0; minimize f: x; constraint c: x >= a; } scenario S for M { a = 1.5; }"
model = gs.loads(text)
assert model.solve(time_limit=60).objective == 2
assert "scipy" not in sys.modules
model.set("a", 2.5)
assert model.resolve().objective == 3
print(*(name for name in sys.modules if "." not in name))
"""


def test_solving_by_a_solver_loads_no_compiler(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SOLVES], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not set(done.stdout.split()) & {"numba", "llvmlite"}


def test_the_front_end_imports_no_number_library(tmp_path: Path) -> None:
    code = "import sys, pkgutil, importlib, gpusched_dsl.language as l\n"
    code += "for m in pkgutil.walk_packages(l.__path__, l.__name__ + '.'): importlib.import_module(m.name)\n"
    code += "print(*(name for name in sys.modules if '.' not in name))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & HEAVY
