"""Plans of a run, checked against the rows of the model: the first ones and some later, or all with `verify="full"`."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.planners.protocol import Plan
from gpusched_dsl.online.planners.violations import is_large, violation_in

CODE = "GSM7008"


@dataclass(frozen=True)
class PlanCheck:
    """Warns once of the first plan that breaks the model.

    A sample has the plans 0, 1, 2, 4, 8 and so on, of policies alone: points of solvers are checked where they are
    made. Variables that a policy leaves open may have any value within their bounds, and rows under a condition are not
    looked at, so what is found is sure.
    """

    full: bool = False

    def __call__(self, loop: SimulationLoop, instance: Instance, plan: Plan) -> None:
        number = loop.step_count
        if not self.full and (number & (number - 1) or plan.objective is not None or is_large(instance)):
            return
        if plan.status == "none" or any(warning.code == CODE for warning in loop.diagnostics.warnings):
            return
        broken = violation_in(instance, plan)
        if broken is not None:
            message = f"the plan of `{plan.method}` at {loop.world.now:g} {loop.unit} violates the model: {broken}"
            help = "the run continues with these plans; `gsdsl solve --backend POLICY` lists all violations of a plan"
            loop.diagnostics.warnings.append(
                Diagnostic(CODE, message, loop.online.span, help=help, severity=Severity.WARNING)
            )
