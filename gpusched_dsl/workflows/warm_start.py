"""Warm starts: the values to start a solve from, and the plan that replaces a solve without a point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct, structs

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.solving.methods import means_policy
from gpusched_dsl.solving.solution import Solution
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions

if TYPE_CHECKING:
    from gpusched_dsl.solving.starts import NamedValues


# A `Result`, the path of a JSON result, the name of a policy, values by variable, or None.
WarmStart: TypeAlias = Any


class Start(Struct, frozen=True, eq=False):
    """The values of a warm start, None without any. If a policy computed them, also its plan and its warnings."""

    entries: NamedValues | None = None
    plan: Solution | None = None
    warnings: tuple[Diagnostic, ...] = ()


def start_from(
    built: Built,
    warm_start: WarmStart,
    judge: Callable[[], Backend],
    options: SolveOptions,
    monitor: Monitor | None,
    begin: Callable[[str], None],
) -> Start:
    """Read a warm start; if it names a policy, compute its plan, which the solver `judge` completes.

    Raises DiagnosticError for files and values that cannot be read, and what `start_by_policy` raises.
    """
    if warm_start is None:
        return Start()
    assert built.workspace is not None
    from gpusched_dsl.workflows.text_start import StartPolicy

    if isinstance(warm_start, StartPolicy):
        name = warm_start.name
    elif isinstance(warm_start, str) and means_policy(built.workspace, warm_start):
        name = warm_start
    else:
        return Start(read_entries(warm_start))
    from gpusched_dsl.policies.library import policy_named
    from gpusched_dsl.workflows.solve_by_policy import start_by_policy  # loads the compiler of policies

    policy = policy_named(built.workspace, name, built.scenario.model)
    begin(f"{policy.name} for a start")
    start = Start(*start_by_policy(built, policy, judge(), structs.replace(options, extra={}), monitor))
    begin("")
    return start


def read_entries(warm_start: WarmStart) -> NamedValues | None:
    """Return the values of a warm start by variable; raise DiagnosticError (GSM6009) if they cannot be read."""
    if warm_start is None:
        return None
    if isinstance(warm_start, Result):
        from gpusched_dsl.solving.starts import entries_of_point

        return {} if warm_start.solved.point is None else entries_of_point(warm_start.problem, warm_start.solved.point)
    from gpusched_dsl.solving.starts import entries_of_file, entries_of_mapping

    return entries_of_file(Path(warm_start)) if isinstance(warm_start, str | Path) else entries_of_mapping(warm_start)


def with_plan(solved: Solution, plan: Solution | None, built: Built | None) -> Solution:
    """Return `solved`, or the plan of its warm start if it ended at a limit without a point.

    Then the store of `built`, whose problem may not be complete, has the columns of the plan.
    """
    if plan is None or plan.point is None or solved.point is not None or solved.status is not Status.LIMIT:
        return solved
    objectives = tuple(
        structs.replace(objective, bound=proved.bound, status=proved.status)
        for objective, proved in zip(plan.objectives, solved.objectives, strict=True)
    )
    solved.close()
    if built is not None:
        from gpusched_dsl.solving.aggregated import store_columns  # loads SciPy

        store_columns(built, plan.problem)
    return replace(
        solved,
        problem=plan.problem,
        reformulated=plan.reformulated,
        point=plan.point,
        verification=plan.verification,
        is_integral=plan.is_integral,
        objectives=objectives,
        size=plan.size,
        aggregated=None,
        session=None,
    )
