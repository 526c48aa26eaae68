"""A plan by the method of a run, by its fallback where the method fails, else the plan before."""

from __future__ import annotations

from collections.abc import Iterable

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.planners.failures import is_of_solving
from gpusched_dsl.online.planners.protocol import AS_BEFORE, Plan, Planner, PlanningRequest
from gpusched_dsl.online.run_diagnostics import RunDiagnostics


def plan_with_fallback(
    planners: Iterable[Planner | None], request: PlanningRequest, diagnostics: RunDiagnostics, now: float, unit: str
) -> tuple[Plan, DiagnosticError | None]:
    """Return the plan of the first planner that finds one, else the running jobs; and the first error of a solver.

    Each planner may take the seconds of the request. Failures and crashes are added to the diagnostics of the run.
    """
    failure: DiagnosticError | None = None
    for planner in planners:
        if planner is None:
            continue
        try:
            plan = planner.plan(request)
        except DiagnosticError as error:
            if not is_of_solving(error):
                raise
            diagnostics.count_failures(planner, error, now, unit)
            plan, failure = None, failure or error
        finally:
            diagnostics.warn_of_crashes(planner)
        if plan is not None:
            return plan, failure
    return Plan({} if request.running is None else request.running, AS_BEFORE, "none"), failure
