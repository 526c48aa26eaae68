"""Every plan of a run, verified against the rows of the model before it takes effect.

Runs follow broken plans, since some policies break rows on purpose, but mark them everywhere and never compare their
total; drivers refuse them. Activities of rows within bounds find what is broken for certain, propagation what is
coupled by variables that a policy leaves open.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gpusched_dsl.compiling.analysis.bounds import propagate
from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.tightening.open_part import open_part
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.planners.violations import is_large
from gpusched_dsl.policies.broken_rows import (
    BrokenRows,
    broken_by_propagation,
    fixed_problem,
    is_open,
    open_names,
)
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.policies.rows.problem import broken_side_rows, side_model

JUDGE: Final = "highs"
SOLVE_SECONDS: Final = 10.0  # to find values of the variables that a plan leaves open


@dataclass(frozen=True)
class PlanCheck:
    """Finds the rows and bounds that a plan violates; points of solvers are verified where they are made.

    By default only the side rows of a plan that obeys the roles of the placement are evaluated (`policies/covers.py`),
    and variables that a plan leaves open may have any value, as far as propagation can tell. Only the plans 0, 1, 2, 4,
    8 and so on are verified of those that their policy has evaluated itself, with `sample`, and where it would take
    longer than the plan (`is_large`). With `full` all rows of all plans are, and a solver looks for values of the open
    variables. With `strict` a plan that cannot be verified counts as broken.
    """

    full: bool = False
    sample: bool = False
    strict: bool = False

    def __call__(self, instance: Instance, plan: Plan, number: int) -> BrokenRows | None:
        """Return what the plan with this number violates; None if nothing is found."""
        if plan.status == "none" or plan.objective is not None:
            return None
        side, model = None, instance.scenario.model
        if not self.full and plan.obeys_roles and model.placement is not None:
            side = side_model(model)
            if not side.rows.constraints:
                return None
        if not self.full and number & (number - 1):  # none of the sample
            evaluated = model if side is None else side.checked
            if self.sample or plan.obeys_rows or is_large(evaluated, instance.store, plan.values):
                return None
        try:
            if side is not None:
                return broken_side_rows(side, instance.store, plan.values)
            problem = fixed_problem(instance.scenario.model, instance.store, plan.values)
            if isinstance(problem, BrokenRows):
                return problem
            found = broken_by_propagation(problem)
            if found is None and self.full and (problem.lower < problem.upper).any():
                found = self._broken_by_completion(problem)
        except DiagnosticError as error:
            message = f"the plan cannot be verified: {error.diagnostics[0].message}"
            return BrokenRows(1, message) if self.strict else None
        return found

    def _broken_by_completion(self, problem: Problem) -> BrokenRows | None:
        """Return what the plan violates whatever the open variables are; None if some values complete it.

        Raises DiagnosticError as solves do.
        """
        bounds = propagate(problem)
        for values in (np.zeros(problem.columns), bounds.upper, bounds.lower):
            point = np.clip(np.where(np.isfinite(values), values, 0.0), bounds.lower, bounds.upper)
            verified = verify(problem, point)
            if verified.feasible:
                return None
        if not is_open(problem).any():
            worst = verified.worst[0]
            return BrokenRows(len(verified.worst), str(worst), worst.absolute, worst.relative)
        return self._broken_by_solve(problem)

    def _broken_by_solve(self, problem: Problem) -> BrokenRows | None:
        from gpusched_dsl.solving.solve import solve_problem
        from gsdsl_backends.isolation.backend import guard
        from gsdsl_backends.protocol import SolveOptions

        options = SolveOptions(time_limit=SOLVE_SECONDS)
        solved = solve_problem(open_part(replace(problem, objectives=())), guard(JUDGE, everything=True), options)
        solved.close()
        if solved.point is not None:
            return None
        if solved.status is Status.INFEASIBLE:
            return BrokenRows(1, f"no values of {open_names(problem)} complete it")
        late = f"no values of {open_names(problem)} that complete it were found in time"
        return BrokenRows(1, late) if self.strict else None
