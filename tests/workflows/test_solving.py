"""One workflow of solves: its steps for solvers and policies, and the same results for Python and the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from asking_texts import read

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.compiling.build import Built, check_solvable
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.explaining.explanation import Explanation
from gpusched_dsl.reporting.comparison import Comparison
from gpusched_dsl.reporting.report import Report
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.reporting.runs.comparison import RunComparison
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.workflows.compare import CompareConfig, compare
from gpusched_dsl.workflows.estimate import Estimate
from gpusched_dsl.workflows.listener import Listener
from gpusched_dsl.workflows.method import Method, SolverMethod, choose_method
from gpusched_dsl.workflows.solve import SolveConfig, SolvedScenario, solve_scenario
from gpusched_dsl.workflows.why import DecisionExplanation
from gsdsl_backends.protocol import SolveOptions

TEXT = """
import "gsdsl:capacity_planning/scenarios/figure1.gsm";
scenario Small extends Figure1Synthetic { node_rule = at_most; }
policy Lazy for CapacityPlanning { order j in Jobs by deadline[j]; choose (v, g) in Configs by g; place postpone; }
"""
BEST = 0.92875


class Steps(Listener):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    @contextmanager
    def working_context(self) -> Iterator[None]:
        self.heard.append("(")
        yield
        self.heard.append(")")

    def has_read(self, built: Built) -> None:
        self.heard.append("read")

    def has_built(self, built: Built) -> None:
        self.heard.append("built")

    def begin(self, doing: str) -> None:
        self.heard.append(doing)


def selected() -> SelectedScenario:
    workspace = read(TEXT)
    scenario, warnings = check_solvable(workspace, "Small")
    return SelectedScenario(workspace=workspace, scenario=scenario, warnings=warnings)


def chosen(scenario: SelectedScenario, name: str) -> Method:
    return choose_method(scenario.workspace, name, scenario.scenario.model)


def solved(method: str, listener: Listener | None = None, **asked: Any) -> SolvedScenario:
    scenario = selected()
    config = SolveConfig(scenario=scenario, method=chosen(scenario, method), options=SolveOptions(gap=0.0), **asked)
    return solve_scenario(config, listener=listener)


@pytest.mark.parametrize(
    ("method", "asked", "heard"),
    [
        ("highs", {}, ["(", "read", ")", "built", "(", ")"]),
        ("highs", {"warm_start": "Greedy"}, ["(", "read", "Greedy for a start", "", ")", "built", "(", ")"]),
        ("Greedy", {}, ["(", "read", ")", "built", "(", ")"]),
        ("Greedy", {"bound": True}, ["(", "read", ")", "built", "(", "bound by highs", ")"]),
    ],
)
def test_the_steps_are_told(method: str, asked: dict[str, Any], heard: list[str]) -> None:
    steps = Steps()
    found = solved(method, steps, **asked)
    assert steps.heard == heard
    assert found.result.backend == method
    if method == "highs" or asked.get("bound"):
        assert found.result.bound == pytest.approx(BEST)
    assert (found.plan is None) == ("warm_start" not in asked)


def test_a_comparison_tells_its_methods() -> None:
    scenario, steps = selected(), Steps()
    methods = [chosen(scenario, "Greedy"), chosen(scenario, "FIFO")]
    config = CompareConfig(scenario=scenario, methods=methods, options=SolveOptions(), bound_by=SolverMethod("highs"))
    found = compare(config, listener=steps)
    assert steps.heard == ["(", ")", "built", "(", "Greedy", "FIFO", "bound by highs", ")"]
    assert found.bound == pytest.approx(BEST)
    assert found.bound_by == "highs"


def test_what_a_re_solve_needs_is_kept() -> None:
    first = solved("highs")
    again = solve_scenario(first.config, earlier=first)
    assert again.instance is not None
    assert again.result.rebuilt is None
    assert again.result.objective == first.result.objective
    again.solution.close()


@pytest.mark.parametrize(
    ("extra", "asked"),
    [
        ([], {}),
        (["--backend", "Greedy", "--bound"], {"backend": "Greedy", "bound": True}),
        (["--warm-start", "Lazy"], {"warm_start": "Lazy"}),
    ],
)
def test_python_and_the_command_line_give_the_same_document(
    extra: list[str], asked: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small.gsm").write_text(TEXT, encoding="utf-8")
    with gs.load(tmp_path / "small.gsm") as model:
        ours = model.solve("Small", **asked).to_dict()
    main(["solve", str(tmp_path / "small.gsm"), "--scenario", "Small", "--json", "-", *extra])
    theirs = json.loads(capsys.readouterr().out)
    for document in (ours, theirs):
        for name in ("build_seconds", "solve_seconds", "statistics", "inputs_sha256"):
            del document[name]
        for objective in document["objectives"]:
            del objective["seconds"]
    assert json.loads(json.dumps(ours)) == theirs


@pytest.mark.parametrize(
    "kind", [Result, RunResult, Comparison, RunComparison, Explanation, Estimate, DecisionExplanation]
)
def test_every_report_has_the_same_methods(kind: type) -> None:
    assert issubclass(kind, Report)


def test_a_report_is_written_in_one_way(tmp_path: Path) -> None:
    result = solved("highs").result
    result.to_json(tmp_path / "one.json")
    result.save(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_text() == (tmp_path / "two.json").read_text() == result.json_text()
    assert json.loads(result.json_text()) == json.loads(json.dumps(result.to_dict()))
