"""Solves that the time limit or a stop ends early: the best point that there is by then."""

from __future__ import annotations

from dataclasses import replace

from gpusched_dsl.backends.protocol import Backend, SolveOptions
from gpusched_dsl.backends.registry import backend as backend_named
from gpusched_dsl.ir.deadline import StoppedEarly
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.unfinished import solution_without_problem


def stopped_solve(
    model: CheckedModel,
    policy: CheckedPolicy | None,
    backend: Backend | str,
    options: SolveOptions,
    stopped: StoppedEarly,
    plan: Solution | None = None,
) -> Solution:
    """The result of a solve that ended while its problem was being built: the `plan` to start from, else no point.

    `backend` is the solver, or that which completes the plans of the `policy`.
    """
    maker = backend_named(backend) if isinstance(backend, str) else backend
    if policy is not None:
        from gpusched_dsl.workflows.solve_by_policy import (
            PolicyBackend,  # loads the compiler of policies: every solve comes by here
        )

        maker = PolicyBackend(policy.name, maker)
    return with_plan(solution_without_problem(model, maker, options, stopped), plan)


def with_plan(solved: Solution, plan: Solution | None) -> Solution:
    """`solved`, or where it ended at a limit without a point, the plan of a policy that it was to start from."""
    if plan is None or plan.point is None or solved.point is not None or solved.status is not Status.LIMIT:
        return solved
    objectives = tuple(
        replace(own, bound=proved.bound, status=proved.status)
        for own, proved in zip(plan.objectives, solved.objectives, strict=True)
    )
    solved.close()
    return replace(
        solved,
        problem=plan.problem,
        reformulated=plan.reformulated,
        point=plan.point,
        verification=plan.verification,
        whole=plan.whole,
        objectives=objectives,
        size=plan.size,
        folded=None,
        session=None,
    )
