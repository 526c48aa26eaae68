"""A library for other programs: it neither prints nor exits, keeps no state of its own, and logs by `logging`."""

from __future__ import annotations

import ast
import logging
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpusched_dsl as gs
from benchmarks.packages import sources

ROOT = Path(__file__).resolve().parents[1]
# Programs of their own: the command line, `python -m`, servers over standard input and output, worker processes.
PROGRAMS = ("gpusched_dsl/cli/",)
# Worker processes end themselves; state of the process that no result depends on.
ALLOWED = {
    ("gpusched_dsl/data/sources/parquet_process.py", "os._exit"),
    ("gpusched_dsl/engines/lifetime.py", "os._exit"),
    ("gpusched_dsl/engines/worker.py", "os._exit"),
    ("backends/gsdsl_backends/isolation/process.py", "os._exit"),
    ("gpusched_dsl/policies/kernels/background.py", "global _child"),  # the process that compiles kernels
    ("gpusched_dsl/policies/kernels/background.py", "sys.exit"),  # that process, where its parent has ended
    ("gpusched_dsl/policies/kernels/compiled.py", "global _ready_seconds"),  # a measure of compiling
    ("backends/gsdsl_backends/cvxpy/backend.py", "warnings.simplefilter"),  # within `catch_warnings`
}
SETTINGS = ("logging.basicConfig", "logging.disable", "random.seed", "np.random.seed")
WORDS = ("print(", "input(", "exit", "quit(", "abort(", "chdir(", "breakpoint(", "SystemExit", "global ", "logging.",
         "random.seed", "simplefilter")  # fmt: skip
FILES = [
    path
    for path in sources()
    if not path.relative_to(ROOT).as_posix().startswith(PROGRAMS) and path.name != "__main__.py"
]


def name_of(node: ast.AST) -> str:
    """`sys.exit` of a call or attribute."""
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def offences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """What a library must not do: lines and names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield node.lineno, f"global {', '.join(node.names)}"
        elif isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if name_of(raised) == "SystemExit":
                yield node.lineno, "raise SystemExit"
        elif isinstance(node, ast.Call):
            name = name_of(node.func)
            if name in (
                "print",
                "input",
                "exit",
                "quit",
                "sys.exit",
                "os._exit",
                "os.abort",
                "os.chdir",
                "breakpoint",
            ) or name in (*SETTINGS, "warnings.simplefilter"):
                yield node.lineno, name
            elif name.startswith(("logging.info", "logging.warning", "logging.error", "logging.debug")):
                yield node.lineno, f"{name}: the root logger"


@pytest.mark.parametrize(
    "text",
    [
        "print(1)", "def f():\n    sys.exit(2)", "raise SystemExit", "raise SystemExit(3)", "os._exit(1)",
        "def f():\n    global x\n    x = 1", "np.random.seed(1)", "logging.basicConfig()", "logging.info('x')",
    ],
)  # fmt: skip
def test_offences_are_found(text: str) -> None:
    assert len(list(offences(ast.parse(text)))) == 1


def test_the_library_does_nothing_on_its_own() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), what): line
        for path in FILES
        for texts in (path.read_text(encoding="utf-8"),)
        if any(word in texts for word in WORDS)  # to parse all files would take seconds
        for line, what in offences(ast.parse(texts))
    }
    assert len(FILES) > 800
    assert {place: line for place, line in found.items() if place not in ALLOWED} == {}
    assert found.keys() >= ALLOWED, "these need no permission any more"


def test_problems_survive_json() -> None:
    text = """model M { set K = 1..3; var x[k in K] integer >= 0 <= 0.1 * k + 5; var y >= 0;
      minimize cost: sum[k in K] x[k] / 3 + y; constraint c[k in K]: x[k] * y >= k / 7; }"""
    problem = gs.compile(text)
    written = gs.problem_to_json(problem)
    back = gs.problem_from_json(written.decode())
    again = gs.problem_to_json(back)  # without the places in the source
    assert gs.problem_to_json(gs.problem_from_json(again)) == again
    assert (back.matrix.values == problem.matrix.values).all()
    assert (back.upper == problem.upper).all()
    assert [f.name for f in back.column_families] == [f.name for f in problem.column_families]
    with pytest.raises(gs.DiagnosticError):
        gs.problem_from_json("{}")


FORKED = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import gpusched_dsl as gs

def solve(most):
    model = gs.loads("model M { param most; var x >= 0 <= most; maximize f: x; }")
    model.set("most", most)
    try:
        return model.solve().objective
    except gs.DiagnosticError as error:
        return error.diagnostics[0].code

with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
    print(list(pool.map(solve, [2, 3])))  # the first use is in the fork
print(solve(4))
with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
    print(list(pool.map(solve, [2, 3])))
"""


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
def test_a_fork_after_use_is_refused() -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines() == ["[2.0, 3.0]", "4.0", "['GSM6025', 'GSM6025']"]


def test_a_former_name_warns() -> None:
    from gpusched_dsl.policies import speed_levels

    with pytest.warns(DeprecationWarning, match=r"deprecated since gsdsl 0.1: use `filter_levels`") as caught:
        assert speed_levels.filtered is speed_levels.filter_levels
    assert caught[0].filename == __file__
    assert "`filter_levels`" in (ROOT / "docs" / "reference" / "stability.md").read_text(encoding="utf-8")


def test_the_former_place_of_the_notebook_warns() -> None:
    import gpusched_dsl.notebook as former
    import gsdsl_notebook

    with pytest.warns(DeprecationWarning, match=r"deprecated since gsdsl 0.3: use `gsdsl_notebook.page`") as caught:
        from gpusched_dsl.notebook import page
    assert page is gsdsl_notebook.page
    assert caught[0].filename == __file__
    for name in gsdsl_notebook.__all__:
        with pytest.warns(DeprecationWarning, match=f"`gsdsl_notebook.{name}`"):
            assert getattr(former, name) is getattr(gsdsl_notebook, name)
    with pytest.raises(AttributeError):
        former.absent  # noqa: B018
    assert "`gsdsl_notebook`" in (ROOT / "docs" / "reference" / "stability.md").read_text(encoding="utf-8")


def test_the_former_place_of_drivers_warns() -> None:
    from gsdsl_clusters.drivers import protocol

    with pytest.warns(DeprecationWarning, match=r"use `gsdsl_clusters.drivers.protocol.DrivenCluster`"):
        from gpusched_dsl.drivers.protocol import DrivenCluster
    assert DrivenCluster is protocol.DrivenCluster


def test_logs_of_the_program_are_not_silenced(caplog: pytest.LogCaptureFixture) -> None:
    from gsdsl_backends.cvxpy.backend import silence

    with caplog.at_level(logging.INFO), silence():
        logging.getLogger("program").info("still here")
        logging.getLogger("__cvxpy__").warning("not wanted")
    assert [record.message for record in caplog.records] == ["still here"]
