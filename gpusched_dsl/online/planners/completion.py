"""Completion of plans in runs: a solver finds the variables that charges and `carry` read and a policy leaves open."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.build import Permissions
from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.lowering.fixing import VariableValues, nonzero_values
from gpusched_dsl.compiling.passes.rewriting import without_rows
from gpusched_dsl.compiling.tightening.open_part import open_part
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.planners.violations import rows_broken_for_certain
from gpusched_dsl.policies.plan import Plan

if TYPE_CHECKING:
    from gsdsl_backends.protocol import SolveOptions

CODE = "GSM7018"
JUDGE = "highs"
LEAST_SECONDS = 10.0  # a time limit ends the policy, but its plan is a result
MOST_SECONDS = 60.0  # without a time limit


@dataclass(frozen=True, eq=False)
class PlanCompletion:
    """Completes plans as `gsdsl solve` completes that of a policy: at least cost, with the plan fixed in the model.

    `read` are the variables that the run reads after a plan.
    """

    read: Set[str]
    permissions: Permissions
    options: SolveOptions

    def __call__(
        self, instance: Instance, plan: Plan, seconds: float | None, when: str
    ) -> tuple[Plan, Diagnostic | None]:
        """Return the plan with values of all variables that the run reads.

        If no values complete it, or none are found in time, the same plan and a warning (GSM7018). `when` is the time
        of the run, for this warning; `seconds` the time limit of a plan.
        """
        missing = sorted(self.read - plan.values.keys())
        if not missing or plan.status == "none":
            return plan, None
        try:
            found = self._solve(instance, plan, set(missing), seconds)
        except DiagnosticError as error:
            return plan, _warning(plan, when, missing, error.diagnostics[0].message)
        if found is None:
            broken = rows_broken_for_certain(instance, plan)
            return plan, _warning(plan, when, missing, None if broken is None else broken.text)
        return replace(plan, values={**plan.values, **found}), None

    def _solve(
        self, instance: Instance, plan: Plan, missing: Set[str], seconds: float | None
    ) -> dict[str, VariableValues] | None:
        """Return the values of the best point found; None if there is none. Raises DiagnosticError as solves do."""
        from gpusched_dsl.solving.solve import solve_problem
        from gsdsl_backends.isolation.backend import guard

        store = structs.replace(instance.store, variables=dict(instance.store.variables), point=None)
        limit = MOST_SECONDS if seconds is None else max(seconds, LEAST_SECONDS)
        from gpusched_dsl.compiling.lowering.ground import ground

        problem = ground(instance.scenario.model, store, self.permissions.limits(), plan.values)
        problem = open_part(_without_decided_rows(problem))
        solved = solve_problem(problem, guard(JUDGE, everything=True), structs.replace(self.options, time_limit=limit))
        solved.close()
        if solved.point is None:
            return None
        return {f.name: nonzero_values(f, solved.point) for f in problem.variables if f.name in missing}


def _without_decided_rows(problem: Problem) -> Problem:
    """Return the problem without rows of fixed columns alone: if the plan violates them, so it does however completed.

    Rows under a condition stay.
    """
    matrix = problem.matrix
    is_open = np.zeros(problem.rows, dtype=np.bool_)
    is_open[matrix.row_of[(problem.lower < problem.upper)[matrix.columns]]] = True
    is_open[problem.conditions.rows] = True
    return without_rows(problem, ~is_open)[0]


def _warning(plan: Plan, when: str, missing: Sequence[str], why: str | None) -> Diagnostic:
    names = ", ".join(f"`{name}`" for name in missing)
    message = f"no values of {names} complete the plan of `{plan.method}` at {when}: charges and `carry` read 0"
    help = "`gsdsl solve --method POLICY` lists the violated rows; `serve` and `fix` of a policy state variables"
    return Diagnostic(CODE, message, notes=(why,) if why else (), help=help, severity=Severity.WARNING)
