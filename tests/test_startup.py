"""Imports decide the start-up time of a command: `--help` and `check` load no unneeded library."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.packages import ROOT, package_folders

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
    folder = package_folders()["gpusched_dsl"]
    files = (path.relative_to(folder.parent).with_suffix("") for path in (folder / "language").rglob("*.py"))
    modules = [".".join(path.parts).removesuffix(".__init__") for path in files]
    assert len(modules) > 150
    code = f"import sys, importlib\nfor name in {modules}: importlib.import_module(name)\n"
    code += "print(*(name for name in sys.modules if '.' not in name))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & HEAVY


SMALL = """
import "gsdsl:capacity_planning/model.gsm";
import "gsdsl:capacity_planning/online.gsm";
scenario Small for CapacityPlanning {
  Nodes = { n1, n2, n3 };
  period = 72[h];
  Types = { v };
  gpus[v] = 2;
  table Types: price[$/h] = v 3 ;
  data "jobs.csv" { Jobs = job; deadline[job] = deadline_h[h]; weight[job] = weight[$/h]; }
  data "times.csv" { Runnable = (job, vm_type, gpus); exec_time[job, vm_type, gpus] = hours[h]; }
}
"""
JOBS = "job,deadline_h,weight\na,137.03125,0.5\nb,90.5,0.25\nc,20.251953125,2\n"
TIMES = "job,vm_type,gpus,hours\na,v,1,100\na,v,2,60\nb,v,1,50\nb,v,2,30\nc,v,1,80\nc,v,2,45\n"
ADVANCE = '{"event": "advance", "time": 1}\n'
LOADED = """
import sys
from gpusched_dsl.cli import main
code = main(sys.argv[1:])
files = (name for name, module in sys.modules.items() if getattr(module, "__file__", None))
print("exit", code, *files, file=sys.stderr)
"""
LARGE = {"polars", "scipy", "numba", "networkx", "jinja2", "rich", "numpy.ma"}
GRAPHS = {"networkx", "scipy.sparse.csgraph", "scipy.sparse.linalg"}
ERRORS = {"gpusched_dsl.language.parsing.advice", "gpusched_dsl.language.parsing.fix_its"}
SOLVING = {
    "gpusched_dsl.compiling.passes.nonlinear",
    "gpusched_dsl.compiling.interchangeable.counts",
    "gpusched_dsl.compiling.data.distributions",
    "gpusched_dsl.data.sources.formatted",
}
DEFINITIONS = {
    f"gpusched_dsl.ir.definitions.{name}" for name in ("base", "min_max", "norm", "piecewise", "product", "reified")
}
POLICIES = {
    "gpusched_dsl.language.blocks.policies.policy",
    "gpusched_dsl.policies.local_search",
    "gpusched_dsl.policies.gangs.run",
    "gpusched_dsl.policies.queues.run",
    "gpusched_dsl.policies.slotted.run",
}
LIVE = {
    "gpusched_dsl.compiling.passes.nonlinear",
    "gpusched_dsl.data.sources.formatted",
    "gpusched_dsl.compiling.passes.pipeline",
    "gpusched_dsl.online.journal.journal",
    "gpusched_dsl.online.rollouts.outlook",
    "gpusched_dsl.workflows.run",
    "scipy",
    "sqlite3",
}


def first_example() -> str:
    """The first model in the README."""
    return (ROOT / "README.md").read_text(encoding="utf-8").split("```gsm\n")[1].split("```")[0]


@pytest.mark.parametrize(
    ("arguments", "most", "unneeded"),
    [
        pytest.param(["check", "first.gsm"], 175, {*LARGE, *SOLVERS, *ERRORS, *SOLVING, *POLICIES}, id="first check"),
        pytest.param(
            ["solve", "first.gsm"],
            249,
            {*LARGE, *ERRORS, *SOLVING, *POLICIES, *DEFINITIONS, "gpusched_dsl.policies.library"},
            id="first solve",
        ),
        pytest.param(["check", "small.gsm"], 245, {*LARGE, *SOLVERS, *ERRORS, *SOLVING}, id="check"),
        pytest.param(
            ["solve", "small.gsm"],
            300,
            {*LARGE - {"scipy", "numpy.ma"}, *GRAPHS, *ERRORS, *SOLVING, *POLICIES},
            id="solve",
        ),
        pytest.param(
            ["solve", "small.gsm", "--method", "EDF"],
            415,
            {"polars", *GRAPHS, *ERRORS, *SOLVING, *POLICIES - {"gpusched_dsl.language.blocks.policies.policy"}},
            id="policy",
        ),
        pytest.param(
            ["run", "small.gsm", "--live", "-", "--online", "EveryEvent", "--method", "EDF"],
            385,
            {*GRAPHS, *ERRORS, *LIVE},
            id="live",
        ),
    ],
)
def test_a_small_command_loads_only_the_features_it_uses(
    arguments: list[str], most: int, unneeded: set[str], tmp_path: Path
) -> None:
    """At most `most` modules of the package; a higher bound needs a reason."""
    files = {"small.gsm": SMALL, "first.gsm": first_example(), "jobs.csv": JOBS, "times.csv": TIMES}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        cwd=tmp_path, input=ADVANCE, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    word, code, *modules = done.stderr.splitlines()[-1].split()
    assert (word, code) == ("exit", "0"), done.stderr
    assert not unneeded & set(modules)
    assert len([name for name in modules if name.split(".")[0] in package_folders()]) <= most
