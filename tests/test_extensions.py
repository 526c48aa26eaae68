"""Another package adds one extension of each kind by entry points alone, and each is used from text to result."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from derive import PAGES

import gpusched_dsl as gs

PACKAGE = Path(__file__).with_name("extensions_package")
SOLVE = str(PACKAGE / "solve_excess.py")
ENTRY_POINTS = """
[gpusched_dsl.rules]
last_fit = extras:last_fit
[gpusched_dsl.distributions]
pareto = extras:pareto
[gpusched_dsl.definitions]
excess = extras:Excess
[gpusched_dsl.passes]
excess_as_maximum = extras:ExcessAsMaximum
[gpusched_dsl.backends]
enumeration = extras:Enumeration
[gpusched_dsl.formats]
pipes = extras:pipes
[gpusched_dsl.generators]
ladder = extras:ladder
[gpusched_dsl.exporters]
counts = extras:counts
[gpusched_dsl.reporters]
line = extras:line
printer = extras:printer
lost = extras:lost
other = extras:counts
[gpusched_dsl.drivers]
shelf = extras:shelf
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as it is installed: a module, and beside it what its metadata say."""
    folder = tmp_path_factory.mktemp("installed")
    metadata = folder / "extras-1.0.dist-info"
    metadata.mkdir()
    (folder / "extras.py").write_bytes((PACKAGE / "extras.py").read_bytes())
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: extras\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


def run(installed: Path, folder: Path, *arguments: str) -> str:
    paths = os.pathsep.join(filter(None, (str(installed), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": paths, "GSDSL_PYTHON_KERNELS": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


COMMANDS = """
import contextlib, io, json, sys
from gpusched_dsl.cli import main
printed = []
for command in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        if code := main(command):
            sys.exit(f"{command} ends with {code}: {output.getvalue()}")
    printed.append(output.getvalue())
print(json.dumps(printed))
"""


def gsdsl(installed: Path, folder: Path, *commands: tuple[str, ...]) -> list[str]:
    """What each command prints, all in one process: to start one takes longer than most commands."""
    printed: list[str] = json.loads(run(installed, folder, "-c", COMMANDS, json.dumps(commands)))
    return printed


@pytest.mark.slow
def test_a_placing_rule(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "m.gsm").write_text("""
import "gsdsl:capacity_planning/scenarios/figure1.gsm";
import "gsdsl:capacity_planning/policies.gsm";
import "gsdsl:capacity_planning/online.gsm";
policy Last for CapacityPlanning extends Greedy { place last_fit, new_node, postpone; }
""")
    asked = ("--scenario", "Figure1", "--online", "EveryEvent", "--method", "Last", "--job", "j2", "--at", "0")
    rules, solved, why = gsdsl(
        installed,
        tmp_path,
        ("policies", "--rules"),
        ("solve", "m.gsm", "--scenario", "Figure1", "--backend", "Last", "--json", "-"),
        ("why", "m.gsm", *asked),
    )
    assert "last_fit" in rules
    assert json.loads(solved)["status"] == "feasible"
    assert "`last_fit` places it" in why


@pytest.mark.slow
def test_a_distribution(installed: Path, tmp_path: Path) -> None:
    """A newsvendor: the best stock is where the survival is cost over price, here (2 / x)^2 = 1/4."""
    (tmp_path / "m.gsm").write_text("""
model Newsvendor {
  random demand in h ~ pareto(scale = 2[h], shape = 2);
  param sold in h = E(min(demand, 4[h]));
  param rare = P(demand > 4[h]);
  var stock in h >= 2 <= 50;
  maximize profit in h: 4 * E(min(demand, stock)) - stock;
}
scenario S for Newsvendor { }
""")
    found = json.loads(gsdsl(installed, tmp_path, ("solve", "m.gsm", "--json", "-"))[0])
    # E[min(W, 4)] = 4 - 1 = 3
    assert found["objective"] == pytest.approx(4 * 3 - 4, abs=0.01)
    checks = """
import gpusched_dsl as gs
from gpusched_dsl.ir.json.codec import from_json, to_json
problem = gs.compile(open("m.gsm").read())
again = from_json(to_json(problem))
print(again.definitions[0].laws[0])
from gpusched_dsl.policies.distributions import Laws
import numpy as np
laws = Laws.of(again.definitions[0].laws)
print(laws.families[0].survival(np.array([[4.0]]), np.array([0]))[0, 0])
"""
    assert run(installed, tmp_path, "-c", checks).split("\n")[:2] == ["Pareto(scale=2.0, shape=2.0)", "0.25"]
    wrong = tmp_path / "wrong.gsm"
    wrong.write_text("model M { random w in h ~ pareto(scale = 2[h]); minimize f: 1; }")
    with pytest.raises(AssertionError, match="`pareto` needs `scale` and `shape`"):
        run(installed, tmp_path, "-m", "gpusched_dsl", "check", "wrong.gsm")


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("lower", "upper", "whole", "sense", "cost", "optimum"),
    [
        (-4.0, 3.0, False, "minimize", 0.5, -0.5),  # -1 / 2 + 0: both slopes are used
        (-4.0, 3.0, False, "maximize", 0.0, 3.0),
        (-4.0, 3.0, True, "maximize", 0.6, 3.8),
    ],
)
def test_a_definition_kind_and_a_pass(
    installed: Path, tmp_path: Path, lower: float, upper: float, whole: bool, sense: str, cost: float, optimum: float
) -> None:
    told = run(installed, tmp_path, SOLVE, "stored", str(lower), str(upper), str(int(whole)), sense, str(cost))
    status, objective, notes = told.split(maxsplit=2)
    assert status == "optimal"
    assert float(objective) == pytest.approx(optimum)
    assert "excess_as_maximum" in notes


ASKED = """
class Required:
    name = "required"

    def accepts(self, analysis, target):
        print(self.name)
        return False


class Tightening(Required):
    name = "tightening"
"""


def test_passes_are_asked_about_nonlinear_problems_and_tightenings_about_integers(tmp_path: Path) -> None:
    metadata = tmp_path / "installed" / "asked-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata.parent / "asked.py").write_text(ASKED)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: asked\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[gpusched_dsl.passes]\nr = asked:Required\n[gpusched_dsl.tightenings]\nt = asked:Tightening\n"
    )
    (tmp_path / "m.gsm").write_text("""
model Linear { var x >= 0 <= 9; minimize f: x; }
model Integers { var x integer >= 0 <= 9; minimize f: x; }
model Nonlinear { var x >= 0 <= 9; var y >= 0 <= 9; minimize f: max(x, y); }
scenario L for Linear { }
scenario I for Integers { }
scenario N for Nonlinear { }
""")
    solves = [("solve", "m.gsm", "--scenario", name) for name in "LIN"]
    printed = gsdsl(metadata.parent, tmp_path, *solves, (*solves[1], "--without", "tightening"))
    asked = [set(text.split()) & {"required", "tightening"} for text in printed]
    assert asked == [set(), {"tightening"}, {"required"}, set()]


def test_a_definition_kind_of_a_whole_argument_needs_no_pass(installed: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"  # the module without its entry points
    alone.mkdir()
    (alone / "extras.py").write_bytes((installed / "extras.py").read_bytes())
    status, objective, notes = run(alone, tmp_path, SOLVE, "fresh", "-4", "3", "1", "maximize", "0.6").split(maxsplit=2)
    assert (status, float(objective)) == ("optimal", 3.8)
    assert "whole_arguments" in notes


def test_a_backend(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "m.gsm").write_text("""
model M {
  var x integer >= 0 <= 5;
  var y integer >= 0 <= 5;
  maximize 2 * x + 3 * y;
  constraint room: 3 * x + 4 * y <= 17;
}
scenario S for M { }
""")
    found = json.loads(gsdsl(installed, tmp_path, ("solve", "m.gsm", "--backend", "enumeration", "--json", "-"))[0])
    assert (found["status"], found["objective"]) == ("optimal", 12)
    assert found["backend"] == "enumeration"


def test_a_trace_format(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "jobs.txt").write_text("a|3\nb|0\nc|4\n")
    (tmp_path / "m.gsm").write_text("""
model M {
  set Jobs;
  param gpus[Jobs];
  var x >= 0;
  minimize x;
  constraint enough: x >= sum[j in Jobs] gpus[j];
}
scenario S for M { data "jobs.txt" as pipes { Jobs = job; gpus[job] = gpus; } }
""")
    formats, solved = gsdsl(installed, tmp_path, ("trace", "--formats"), ("solve", "m.gsm", "--json", "-"))
    assert "pipes" in formats
    assert json.loads(solved)["objective"] == 7


@pytest.mark.slow
def test_a_generator_and_an_exporter(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "m.gsm").write_text("""
model M { set Jobs; param gpus[Jobs]; var x >= 0; minimize x; constraint enough: x >= sum[j in Jobs] gpus[j]; }
scenario S for M { generate ladder (jobs = 4) { Jobs = job; gpus[job] = gpus; } }
""")
    solved, exported = gsdsl(
        installed, tmp_path, ("solve", "m.gsm", "--json", "-"), ("export", "m.gsm", "--to", "counts")
    )
    assert json.loads(solved)["objective"] == 10
    assert exported == "1 columns, 1 rows\n"
    code = """import gpusched_dsl as gs
print(gs.load("m.gsm").export("size.counts").read_text().strip(), gs.load("m.gsm").export("m.lp").name)"""
    assert run(installed, tmp_path, "-c", code).strip() == "1 columns, 1 rows m.lp"


def test_an_upgrade_repeats_the_runs_of_a_campaign_that_use_it(installed: Path, tmp_path: Path) -> None:
    package = tmp_path / "installed"
    shutil.copytree(installed, package)
    (package / "extras-1.0.dist-info" / "entry_points.txt").write_text(
        "[gpusched_dsl.generators]\nladder = extras:ladder\n[gpusched_dsl.rules]\nlast_fit = extras:last_fit\n"
    )
    (tmp_path / "m.gsm").write_text("""
model M { set Jobs; param gpus[Jobs]; var x >= 0; minimize x; constraint enough: x >= sum[j in Jobs] gpus[j]; }
scenario S for M { generate ladder (jobs = 4) { Jobs = job; gpus[job] = gpus; } }
scenario T for M { Jobs = { a }; gpus = [1]; }
campaign C { solve S, T; }
""")
    campaign = ("m.gsm", "--engine", "inline")
    gsdsl(package, tmp_path, ("campaign", "run", *campaign))
    assert "2 runs, 0 to execute" in gsdsl(package, tmp_path, ("campaign", "run", *campaign, "--dry-run"))[0]
    metadata = package / "extras-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 1.1"))
    again, done = gsdsl(package, tmp_path, ("campaign", "run", *campaign, "--dry-run"), ("campaign", "run", *campaign))
    assert "2 runs, 1 to execute" in again
    assert "1 run executed" in done


SMALL = """
model M { var x >= 0 <= 3; minimize f: 2 - x; }
scenario S for M { }
"""


def test_a_format_of_reports(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "m.gsm").write_text(SMALL)
    gsdsl(installed, tmp_path, ("solve", "m.gsm", "--report", "line=a.txt", "--report", "line=b.txt"))
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "b.txt").read_text() == "optimal: -1\n"
    code = """import gpusched_dsl as gs
result = gs.load("m.gsm").solve()
print(result.export("c.line").read_text().strip(), result.export("d", to="line").name)
for name in ("printers", "printer", "lost", "other"):
    try:
        result.export("e.txt", to=name)
    except gs.DiagnosticError as error:
        print(error)
try:
    gs.load("m.gsm").explain().export("e.line")
except gs.DiagnosticError as error:
    print(error)"""
    printed = run(installed, tmp_path, "-c", code)
    assert printed.startswith("optimal: -1 d\n")
    for words in (
        "error[GSM6024]: unknown format of reports: `printers`\n  = help: did you mean `printer`?",
        "the format `printer` of reports failed: ValueError: the printer is out of paper\n"
        "  = note: it belongs to the package `extras`, not to gsdsl",
        "the format `lost` of reports cannot be loaded: AttributeError:",
        "the entry point `other` of `gpusched_dsl.reporters` is not a `Reporter`",
        "the format `line` is for `Result`, not for `Explanation`",
    ):
        assert words in printed
    assert not (tmp_path / "e.txt").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("solve", "--report", "lost=o"), "cannot be loaded"),
        (("solve", "--report", "line=no/o"), "folder `no` does not exist"),
        (("solve", "--report", "line"), "write NAME=OUT"),
        (("solve", "--report", "line=-"), "need a file"),
        (("compare", "-m", "highs", "--report", "line=o"), "is for `Result`, not for `Comparison`"),
        (("run", "--report", "line=o"), "is for `Result`, not for `RunResult`"),
        (("run", "--methods", "highs,scip", "--report", "line=o"), "not for `RunComparison`"),
        (("run", "--seeds", "1,2", "--report", "line=o"), "not for `SeedComparison`"),
    ],
)  # fmt: skip
def test_a_report_that_cannot_be_written_is_refused_before_the_solve(
    installed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    command: tuple[str, ...], words: str,
) -> None:  # fmt: skip
    from gpusched_dsl.cli import main

    monkeypatch.syspath_prepend(installed)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.gsm").write_text("model M { var x >= 0; minimize x; nothing of this is read }")
    assert main([command[0], "m.gsm", *command[1:]]) != 0
    printed = capsys.readouterr()
    assert words in printed.err
    assert "GSM1" not in printed.err


def test_a_driver(installed: Path, tmp_path: Path) -> None:
    code = """from gsdsl_clusters.drivers.registry import driver, driver_names
print("shelf" in driver_names(), driver("shelf")({"gpus": 3}).observe().nodes["shelf"].gpus)"""
    assert run(installed, tmp_path, "-c", code).strip() == "True 3"


@pytest.mark.parametrize("file", [*PACKAGE.glob("*.py"), *(PACKAGE.parent / "newcomers/embedding").glob("*.py")])
def test_examples_take_public_names_from_the_public_place(file: Path) -> None:
    """Pages show these packages to authors of others: a name that is stable is not taken from a module that is not."""
    taken = [node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
    inner = [node for node in taken if node.module and node.module.startswith(("gpusched_dsl.", "gsdsl_backends"))]
    assert {alias.name for node in inner for alias in node.names} & set(gs.__all__) == set()


def test_nothing_of_it_is_imported_unless_it_is_named(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "m.gsm").write_text("""
model M { set Jobs; param gpus[Jobs]; random w in h ~ uniform(0, 2[h]); var x >= 0; minimize x + E(w) / 1[h]; }
scenario S for M { Jobs = { a }; gpus = { a: 1 }; }
""")
    code = "import sys; from gpusched_dsl.cli import main; main(['check', 'm.gsm']); print('extras' in sys.modules)"
    assert run(installed, tmp_path, "-c", code).split()[-1] == "False"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_made_pages_do_not_depend_on_installed_extensions(installed: Path, tmp_path: Path, name: str) -> None:
    """`make docs` beside this package writes the same pages."""
    site = Path(__file__).parents[1] / "docs" / "site"
    write = (
        f"import sys; sys.path.insert(0, {str(site)!r}); from derive import PAGES; sys.stdout.write(PAGES[{name!r}]())"
    )
    assert run(installed, tmp_path, "-c", write) == (site.parent / name).read_text(encoding="utf-8")


def test_pages_of_mathematics_do_not_depend_on_installed_extensions(installed: Path, tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    run(installed, root, "-m", "gpusched_dsl.reporting.mathematics", "models", str(tmp_path))
    written, pages = (
        {file.relative_to(folder): file.read_text(encoding="utf-8") for file in folder.rglob("*.md")}
        for folder in (tmp_path, root / "docs" / "models")
    )
    assert len(written) > 20
    assert written == {name: text for name, text in pages.items() if name in written}
