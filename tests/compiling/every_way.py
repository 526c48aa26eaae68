"""One text solved in every way: backends, tightening, starts, decomposition, files, the formatter; and described."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import highspy
import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.ir.json.codec import to_json
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.reporting.mathematics.formulation import formulation
from gpusched_dsl.reporting.mathematics.rendering import to_latex, to_markdown
from gpusched_dsl.reporting.result import Result
from gsdsl_backends.files.linearise import linear
from gsdsl_backends.files.lp_mps import write_lp, write_mps

BACKENDS = ("highs", "scip", "cvxpy")


def solve_every_way(
    text: str, best: float, folder: Path, *, backends: Sequence[str] = BACKENDS, scenario: str = "S"
) -> list[Result]:
    """The results of all ways to solve a text; asserts that each has the optimum `best`."""
    model = gs.loads(text)
    first = model.solve(scenario)
    ways: list[Callable[[], Result]] = [lambda backend=backend: model.solve(scenario, backend) for backend in backends]
    ways += [lambda without=without: model.solve(scenario, without=(without,)) for without in ("all", "aggregation")]
    ways += [lambda: model.solve(scenario, heuristic="on"), lambda: model.solve(scenario, warm_start=first)]
    ways += [lambda: gs.loads(format_text(text)).solve(scenario), model.resolve]
    if "decompose by" in text:
        ways.append(lambda: model.solve(scenario, decompose="on"))
    found = [first, *(way() for way in ways)]
    for number, result in enumerate(found):
        assert (number, result.status.value) == (number, "optimal")
        assert (number, result.objective) == (number, pytest.approx(best, abs=1e-6, rel=1e-4))
    assert format_text(format_text(text)) == format_text(text)
    _check_files(model, best, folder, scenario)
    _check_descriptions(text, folder, scenario)
    return found


def _check_files(model: gs.Model, best: float, folder: Path, scenario: str) -> None:
    """LP, MPS and JSON files have the same optimum."""
    problem = model.ground(scenario)
    for write in (write_lp, write_mps):
        path = folder / f"problem.{write.__name__.removeprefix('write_')}"
        write(linear(problem, path.suffix[1:]).problem, path)
        highs = highspy.Highs()
        highs.silent()
        highs.readModel(str(path))
        highs.run()
        assert highs.getObjectiveValue() == pytest.approx(best, abs=1e-6, rel=1e-4), write.__name__
    (folder / "problem.json").write_bytes(to_json(problem))
    assert main(["solve", str(folder / "problem.json"), "--json", str(folder / "result.json")]) == 0
    assert json.loads((folder / "result.json").read_text())["objective"] == pytest.approx(best, abs=1e-6, rel=1e-4)


def _check_descriptions(text: str, folder: Path, scenario: str) -> None:
    """`explain` describes the problem, and the mathematics of the model can be written."""
    path = folder / "model.gsm"
    path.write_text(text)
    assert main(["explain", str(path), "--scenario", scenario]) == 0
    found = Diagnostics()
    workspace = workspace_from_text(text, "<text>", found, folder)
    models = [formulation(workspace, name) for name in workspace.models]
    assert to_latex(models)
    assert to_markdown(models)
