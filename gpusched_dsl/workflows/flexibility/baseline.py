"""The plan of a day without the event, if a policy makes it: the plan of the model as a point of the extended one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.backends.protocol import Backend, Monitor, SolveOptions
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.solving.flexibility.day import Baseline
from gpusched_dsl.workflows.method import choose_method
from gpusched_dsl.workflows.solve import SolveConfig, solve_scenario


@dataclass(frozen=True, eq=False)
class BaselineMethod:
    """The method that makes the plans without the event; `load` loads the solver that completes plans of policies."""

    name: str
    load: Callable[[str], Backend]
    options: SolveOptions
    monitor: Monitor | None = None

    def plan(self, scenario: SelectedScenario, extended: Problem) -> Baseline:
        """Return the plan for a scenario as a point of its extended problem.

        A plan that violates the model is none. Raises DiagnosticError as `choose_method` and `solve_scenario` do.
        """
        method = choose_method(scenario.workspace, self.name, scenario.scenario.model, load=self.load)
        config = SolveConfig(scenario=scenario, method=method, options=self.options)
        solved = solve_scenario(config, monitor=self.monitor).solution
        solved.close()
        point = None
        if solved.point is not None and solved.status is not Status.BROKEN:
            point = _point_of(extended, solved.problem, solved.point)
        return Baseline(point, solved.status, solved.reason, None)


def _point_of(extended: Problem, problem: Problem, point: Floats) -> Floats:
    """The point with the same values of the variables in a problem with more variables; others are 0."""
    found = np.zeros(extended.columns)
    known = {family.name: family for family in extended.variables}
    for family in problem.variables:
        target = known[family.name]
        found[target.first + target.domain.locate(family.domain.columns())] = point[family.slice]
    return complete(extended.definitions, found)
