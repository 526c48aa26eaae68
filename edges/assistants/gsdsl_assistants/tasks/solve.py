"""Solves a scenario of limited size, and explains its problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpusched_dsl.compiling.build import Built, check_solvable, choose_scenario
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.ir.deadline import Deadline
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.reporting.summary import size_text
from gpusched_dsl.workflows.listener import Listener
from gpusched_dsl.workflows.method import choose_method
from gpusched_dsl.workflows.solve import SolveConfig, solve_scenario
from gsdsl_assistants.limits import CallLimits, CallRefused
from gsdsl_assistants.tasks.reading import ModelFile, as_json


def solve(file: ModelFile, limits: CallLimits, **options: Any) -> dict[str, Any]:
    """Return the document of the result of a solver or a policy; raise CallRefused if the problem is too large."""
    selected = _select(file, options["scenario"], options["settings"])
    chosen = choose_method(selected.workspace, options["method"], selected.scenario.model)
    config = SolveConfig.of(selected, chosen, {"threads": 1, "second_opinion": True, **options})
    solved = solve_scenario(config, clock=Deadline(), listener=_SizeLimit(limits, chosen.is_policy))
    result = solved.result
    return {"ok": result.has_point, "diagnostics": as_json(result.diagnostics), "result": result.to_dict()}


def explain(file: ModelFile, limits: CallLimits, **options: Any) -> dict[str, Any]:
    """Return sizes, reformulations and why the problem is infeasible or unbounded; raise CallRefused as `solve`."""
    from gpusched_dsl.explaining.explain import explain as explain_problem

    selected = _select(file, options["scenario"], options["settings"])
    built = selected.build(aggregated=True)
    _check_size(built.problem, limits)
    explanation = explain_problem(
        built.problem, options["method"], origins=built.provenance(), time_limit=options["time_limit"],
        aggregation=built.aggregation,
    )  # fmt: skip
    return {
        "ok": explanation.status == "feasible",
        "diagnostics": as_json(built.warnings),
        "explanation": explanation.to_dict(),
        "report": str(explanation),
    }


def _select(file: ModelFile, scenario: str | None, settings: Mapping[str, str] | None) -> SelectedScenario:
    workspace, warnings = file.read_valid()
    given = dict(settings or {})
    checked, more = check_solvable(workspace, choose_scenario(workspace, scenario), given)
    return SelectedScenario(
        workspace=workspace,
        scenario=checked,
        settings=given,
        warnings=(*warnings, *more),
        permissions=file.permissions,
    )


class _SizeLimit(Listener):
    """Refuses large problems before they are solved."""

    def __init__(self, limits: CallLimits, is_policy: bool) -> None:
        self._limits, self._is_policy = limits, is_policy

    def has_built(self, built: Built) -> None:
        if not self._is_policy:  # the complete problem of a policy is never built
            _check_size(built.problem if built.aggregated is None else built.aggregated.problem, self._limits)


def _check_size(problem: Problem, limits: CallLimits) -> None:
    size = problem.size
    if size.columns > limits.columns or size.rows > limits.rows:
        raise CallRefused(
            f"the problem has {size_text(problem)}; at most {limits.columns:,} columns and "
            f"{count_text(limits.rows, 'row')} are "
            "solved here: use `gsdsl solve`, or a smaller scenario"
        )
