"""A plan by the method of a run, by its fallback where the method fails, else the plan before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span
from gpusched_dsl.online.planners.failures import OF_SOLVING, is_of_solving
from gpusched_dsl.online.planners.protocol import AS_BEFORE, Planner, PlanningRequest
from gpusched_dsl.online.planners.violations import (
    VIOLATED,
    is_large,
    rows_broken_for_certain,
    violation_note,
)
from gpusched_dsl.online.run_diagnostics import RunDiagnostics
from gpusched_dsl.policies.broken_rows import BrokenRows
from gpusched_dsl.policies.plan import Plan


def plan_with_fallback(
    planners: Sequence[Planner | None],
    request: PlanningRequest,
    diagnostics: RunDiagnostics,
    now: float,
    span: Span | None = None,
    refused: Callable[[Plan], BrokenRows | None] = lambda plan: None,
    codes: frozenset[str] = OF_SOLVING,
) -> tuple[Plan, DiagnosticError | None]:
    """Return the plan of the first planner that finds one, else the running jobs; and the first error of these `codes`.

    Each planner may take the seconds of the request. Failures and crashes are added to the diagnostics of the run. A
    plan that runs nothing although the model does not permit this is a failure if another planner is there: all jobs
    might wait for ever. So is a plan that `refused` returns broken rows for. `span` is where an error is shown that has
    no other place.
    """
    failure: DiagnosticError | None = None
    notes: list[str] = []
    present = [planner for planner in planners if planner is not None]
    for planner in present:
        try:
            plan = planner.plan(request)
        except DiagnosticError as error:
            if not is_of_solving(error, codes):
                raise
            diagnostics.count_failures(planner, error, now)
            plan, failure = None, failure or error
        else:
            if plan is None and (why := getattr(planner, "without_plan", "")):
                diagnostics.count_failures(planner, _without_plan(planner, why, span), now)
        finally:
            diagnostics.warn_of_crashes(planner)
        if plan is not None and planner.name != present[-1].name and (idle := _idleness(request, plan, span)):
            diagnostics.count_failures(planner, idle, now)
            plan = None  # no failure: an arrival is not to blame
        if plan is not None and (broken := refused(plan)) is not None:
            diagnostics.count_failures(planner, _refusal(plan, broken, span), now)
            notes.append(violation_note(plan.method, broken))
            plan = None
        if plan is not None:
            return plan, failure
    return Plan({} if request.running is None else request.running, AS_BEFORE, "none", notes=tuple(notes)), failure


def _refusal(plan: Plan, broken: BrokenRows, span: Span | None) -> DiagnosticError:
    message = f"the plan of `{plan.method}` violates the model: {broken.text}"
    help = "plan with a method that obeys the rule, such as a solver, or soften the rule in the model"
    return DiagnosticError([Diagnostic(VIOLATED, message, span, help=help)])


def _without_plan(planner: Planner, why: str, span: Span | None) -> DiagnosticError:
    help = "give it more time (`--time-limit`), or another method as its fallback (`--fallback`)"
    return DiagnosticError([Diagnostic("GSM7019", f"`{planner.name}` found no plan: {why}", span, help=help)])


def _idleness(request: PlanningRequest, plan: Plan, span: Span | None) -> DiagnosticError | None:
    """Return the error of a policy's plan that runs nothing and violates a row of the model by itself, else None.

    Solvers verify their plans.
    """
    if plan.objective is not None or is_large(request.instance.scenario.model, request.instance.store):
        return None
    if any((values.values != 0).any() for values in plan.values.values()):
        return None
    broken = rows_broken_for_certain(request.instance, plan)
    if broken is None:
        return None
    message = f"the plan of `{plan.method}` runs nothing and violates constraints of the model: {broken.text}"
    return DiagnosticError([Diagnostic("GSM4015", message, span)])
