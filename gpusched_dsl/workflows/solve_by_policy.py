"""Policies as a backend: the plan is fixed in the model, a solver completes it, and the model's rows verify it.

The result is that of a solve, with another status: `feasible` (verified, nothing proved), or `broken` if the plan
violates rows of the model; then a diagnostic lists the smallest relaxation of the rows.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.interchangeable.fixed_plan import can_fix, fixed_plan_problem
from gpusched_dsl.compiling.lowering.fixing import VariableValues, values_at
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.compiling.tightening.open_part import open_part
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import active_deadline, grace, limit, remaining_share
from gpusched_dsl.ir.domains import TupleDomain
from gpusched_dsl.ir.problem import Problem, Size
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.policies.compile_clock import CompileClock
from gpusched_dsl.policies.decide import decide
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.solving.abandoned import CODE as ABANDONED
from gpusched_dsl.solving.aggregated import MOST_NONZEROS, store_columns
from gpusched_dsl.solving.built import solve_built
from gpusched_dsl.solving.solution import ObjectiveResult, Solution
from gpusched_dsl.solving.solve import solve_problem
from gpusched_dsl.solving.starts import NamedValues, entries_of_point, read_entries
from gsdsl_backends.interrupt import Control, CtrlC
from gsdsl_backends.protocol import Backend, Capabilities, Monitor, Session, SolveOptions, SolverProgress

START_SHARE = 1 / 3  # of the remaining time, for a plan as a warm start
START_SECONDS = 1.0  # at least, to complete this plan
JUDGE_SECONDS = 10.0  # at least, to complete a plan: a time limit ends the policy, but its plan is a result
BOUND_SECONDS = 60.0  # to complete a plan, and to prove a bound, without a time limit


class PolicyBackend:
    """Has the name of a policy for results; it cannot solve problems."""

    capabilities = Capabilities(duals=False)

    def __init__(self, name: str, judge: Backend) -> None:
        self.name, self.judge = name, judge

    def versions(self) -> dict[str, str]:
        from importlib.metadata import version
        from importlib.util import find_spec

        compiler = {"numba": version("numba")} if find_spec("numba") else {}  # kernels run without it too
        return {**self.judge.versions(), **compiler, "numpy": np.__version__}

    def open(self, problem: Problem) -> Session:
        raise TypeError(f"`{self.name}` is a policy: it plans for models, not for problems")


def solve_by_policy(
    built: Built,
    policy: CheckedPolicy,
    backend: Backend | str = "highs",
    options: SolveOptions | None = None,
    start: NamedValues | None = None,
    monitor: Monitor | None = None,
    judge_seconds: float = JUDGE_SECONDS,
) -> tuple[Solution, tuple[Diagnostic, ...]]:
    """Return the plan of a policy, completed by `backend` and evaluated by the model; and warnings.

    `start` is the previous plan, for policies with `keep`. `options.seed` is the seed of all random draws. The time
    limit, or the rest of the active deadline, applies to the policy, which always makes its first plan. The completion
    of the plan gets the same time again, but at least `judge_seconds`, and `BOUND_SECONDS` without a limit. Ctrl-C, the
    time limit and the monitor end the policy with the best plan found. Raises DiagnosticError as `decide` and
    `solve_problem` do.
    """
    original_options = options or SolveOptions()
    deadline = active_deadline()
    limit = (
        original_options.time_limit
        if deadline is None or deadline.remaining_seconds is None
        else deadline.remaining_seconds
    )
    with grace():
        limited_options = structs.replace(original_options, time_limit=limit)
        solved, warnings = _solve_by_policy(built, policy, backend, limited_options, start, monitor, judge_seconds)
        return replace(solved, options=original_options), warnings


def _solve_by_policy(
    built: Built,
    policy: CheckedPolicy,
    backend: Backend | str,
    options: SolveOptions,
    start: NamedValues | None,
    monitor: Monitor | None,
    least_seconds: float,
) -> tuple[Solution, tuple[Diagnostic, ...]]:
    warnings: list[Diagnostic] = []
    running = None
    if start is not None and policy.keep:
        running = _variable_values(built, policy, start)
    elif start is not None:
        warnings.append(_unused_start_warning(policy))
    store, limits = built.instance.store, built.permissions.limits()
    compiling = CompileClock()
    run = _Run(options.time_limit, monitor, compiling)
    with CtrlC(run.control), compiling:
        decision = decide(
            policy,
            store,
            limits,
            options.seed,
            running,
            run.stop,
            run.report_progress,
            seconds=options.time_limit,
            quotient=None if built.aggregated is None else built.aggregated.quotient,
        )
    patience = BOUND_SECONDS if options.time_limit is None else max(options.time_limit, least_seconds)
    judge_options = structs.replace(options, gap=0.0, time_limit=patience, second_opinion=False)
    problem, size = _problem_with_plan(built, decision)
    problem = _without_fixed_integers(problem)
    # A monitor that stopped the policy would also stop this solve at once, and the plan would be lost.
    solved = solve_problem(problem, backend, judge_options, None, None if run.ended_by else monitor)
    solved.close()
    # Kernels are compiled, or loaded from the cache, once per process: this is not time of the policy.
    ready = max(compiling.seconds, decision.statistics.get("compile_seconds", 0.0))
    seconds = {"compile_seconds": compiling.seconds, "ready_seconds": ready, "judge_seconds": solved.solve_seconds}
    if solved.status is Status.INFEASIBLE:
        why_start = time.perf_counter()
        from gpusched_dsl.workflows.broken_plan import broken_plan_warning  # loads the search for reasons

        warnings.append(broken_plan_warning(built, policy, decision, problem, solved.backend))
        seconds["why_seconds"] = time.perf_counter() - why_start
    # If the judge ran out of time, the decisions that the policy left open may not be optimal.
    ended_by = run.ended_by if decision.stopped else solved.reason
    decision = replace(
        decision,
        seconds=max(decision.seconds - ready, 0.0),
        statistics={
            **decision.statistics,
            **seconds,
            "price": math.nan if decision.objective is None else decision.objective,
        },
    )
    solved = replace(solved, size=size, broken_plan=_broken_plan(solved, decision))
    return _remove_proofs(policy, solved, decision, options, ended_by), tuple(warnings)


def _broken_plan(solved: Solution, decision: Plan) -> Floats | None:
    """Return the values of a plan that no solution completes, NaN for the variables that it leaves open."""
    if solved.status is not Status.INFEASIBLE:
        return None
    values = np.full(solved.problem.columns, np.nan)
    for family in solved.problem.variables:
        given = decision.values.get(family.name)
        if given is not None:
            values[family.slice] = values_at(family.domain, given)
    return values


def _problem_with_plan(built: Built, decision: Plan) -> tuple[Problem, Size | None]:
    """Return the problem with the variables of the plan fixed, of a large one only what the plan leaves open, and the
    size of the complete problem if it is another.

    Raises DiagnosticError as `ground` does.
    """
    aggregated = built.aggregated
    size = None if aggregated is None else aggregated.quotient.full_size
    problem = None
    if (
        aggregated is not None
        and aggregated.quotient.full_size.nonzeros > MOST_NONZEROS
        and can_fix(aggregated.quotient, decision.values)
    ):
        problem = fixed_plan_problem(aggregated.quotient, decision.values)
    kept_only = problem is not None
    if problem is None:
        problem = ground(built.scenario.model, built.instance.store, built.permissions.limits(), decision.values)
    if problem.matrix.nonzeros > MOST_NONZEROS:
        size = size or (built.grounded[0] if built.grounded else problem).size
        problem, kept_only = open_part(problem), True
    if kept_only:
        store_columns(built, problem)
    return problem, size


def _without_fixed_integers(problem: Problem) -> Problem:
    """Return the problem without integrality if a plan fixes all integers of a nonlinear problem.

    Backends that solve convex problems without integers can then complete it.
    """
    if problem.is_linear or (problem.integer & (problem.lower < problem.upper)).any():
        return problem
    return replace(problem, integer=np.zeros_like(problem.integer))


def start_by_policy(
    built: Built,
    policy: CheckedPolicy,
    backend: Backend | str = "highs",
    options: SolveOptions | None = None,
    monitor: Monitor | None = None,
) -> tuple[NamedValues | None, Solution, tuple[Diagnostic, ...]]:
    """Return the values of a policy's plan as a start (None if it violates the model), the plan, and warnings.

    The policy may use `START_SHARE` of the time until the active deadline. Raises what `solve_by_policy` raises.
    """
    with limit(remaining_share(START_SHARE)):
        plan, warnings = solve_by_policy(
            with_own_columns(built), policy, backend, options, None, monitor, START_SECONDS
        )
    return None if plan.point is None else entries_of_point(plan.problem, plan.point), plan, warnings


class _Run:
    """Ends a policy early and reports its progress. Compilation does not use the time limit."""

    def __init__(self, seconds: float | None, monitor: Monitor | None, compiling: CompileClock) -> None:
        self.compiling = compiling
        self.control = Control()
        self.monitor = monitor
        self.until = None if seconds is None else self.control.started + seconds
        self.ended_by = ""

    def stop(self) -> bool:
        if self.control.stop_requested or (self.monitor is not None and self.monitor.stop_requested):
            self.ended_by = "interrupt"
        elif self.until is not None and time.perf_counter() - self.compiling.seconds > self.until:
            self.ended_by = "time"
        return bool(self.ended_by)

    def report_progress(self, iterations: int, price: float) -> None:
        if self.monitor is not None:
            self.monitor.progress(SolverProgress(self.control.seconds, price, None, iterations=iterations))


def with_own_columns(built: Built) -> Built:
    """Return the same instance with its own columns, so that the results of several solves can be read later."""
    store = structs.replace(built.instance.store, variables=dict(built.instance.store.variables))
    return structs.replace(built, instance=structs.replace(built.instance, store=store), grounded=list(built.grounded))


def with_bound(
    built: Built,
    solved: Solution,
    backend: Backend | str = "highs",
    options: SolveOptions | None = None,
    monitor: Monitor | None = None,
) -> Solution:
    """Return the same result with the bound that a solver proves for the complete problem, starting from the plan.

    Of several objectives only the first gets one: a bound of a later objective is valid only if the earlier ones are
    optimal.
    Time limit and errors are those of `prove_bound`.
    """
    with grace():  # the time limit of the policy does not apply to the bound
        proved, warnings = prove_bound(built, solved, backend, options or SolveOptions(), monitor)
    objectives = tuple(
        objective if at else structs.replace(objective, bound=_better_bound(objective, proved.bound))
        for at, objective in enumerate(solved.objectives)
    )
    statistics = {**solved.statistics, "bound_seconds": proved.load_seconds + proved.solve_seconds}
    abandoned = tuple(warning for warning in warnings if warning.code == ABANDONED)
    return replace(solved, objectives=objectives, statistics=statistics, warnings=(*solved.warnings, *abandoned))


def _better_bound(objective: ObjectiveResult, proved: float | None) -> float | None:
    """Return the better of the bound that a solver proved and the one of the policy's prices."""
    known = [bound for bound in (objective.bound, proved) if bound is not None]
    if not known:
        return None
    return max(known) if objective.sense == "minimize" else min(known)


def prove_bound(
    built: Built, plan: Solution | None, backend: Backend | str, options: SolveOptions, monitor: Monitor | None
) -> tuple[Solution, tuple[Diagnostic, ...]]:
    """Solve the complete problem from a plan; return the solution, with the bound, and the warnings.

    This takes `BOUND_SECONDS` at most if the options have no time limit. Raises DiagnosticError as `solve_built` does.
    """
    limit = BOUND_SECONDS if options.time_limit is None else options.time_limit
    options = structs.replace(options, time_limit=limit, second_opinion=False)
    start = None if plan is None or plan.point is None else entries_of_point(plan.problem, plan.point)
    proved, warnings = solve_built(with_own_columns(built), backend, options, start, monitor)
    proved.close()
    return proved, (*warnings, *proved.warnings)


def _remove_proofs(
    policy: CheckedPolicy, solved: Solution, decision: Plan, options: SolveOptions, ended_by: str
) -> Solution:
    """Remove bound and optimality from the solution: they apply to the problem with the fixed plan only.

    A bound by the prices of the policy applies to the complete problem, so it is added.
    """
    status, reason = solved.status, solved.reason
    if solved.point is not None:
        status, reason = Status.FEASIBLE, ended_by
    elif status is Status.INFEASIBLE:
        status = Status.BROKEN
    bound = None if solved.point is None else decision.bound
    objectives = tuple(
        structs.replace(o, bound=None if at else bound, status=None if o.status is None else status)
        for at, o in enumerate(solved.objectives)
    )
    backend = PolicyBackend(policy.name, solved.backend)
    return replace(
        solved,
        backend=backend,
        versions=backend.versions(),
        options=options,
        status=status,
        reason=reason,
        objectives=objectives,
        row_duals=None,
        reduced_costs=None,
        solve_seconds=decision.seconds,
        load_seconds=solved.load_seconds + solved.solve_seconds,
        statistics=dict(decision.statistics),
        session=None,
    )


def _unused_start_warning(policy: CheckedPolicy) -> Diagnostic:
    return Diagnostic(
        "GSM6009",
        f"`{policy.name}` does not use the warm start",
        policy.span,
        "has no `keep running`",
        help="write `keep running;` in the policy to keep running jobs unchanged",
        severity=Severity.WARNING,
    )


def _variable_values(built: Built, policy: CheckedPolicy, start: NamedValues) -> dict[str, VariableValues]:
    """Return labelled values as codes; skip labels that are not elements (jobs that have left)."""
    model, store = built.scenario.model, built.instance.store
    found: dict[str, VariableValues] = {}
    for name, entries in start.items():
        variable = model.variables.get(name)
        if variable is None:
            continue
        components = tuple(store.component(v.type) for v in variable.indexing.variables)
        domain = TupleDomain(components, (np.zeros(0, dtype=np.int64),) * len(components))
        codes, values, is_element = read_entries(domain, entries)
        found[name] = VariableValues(tuple(c[is_element] for c in codes), values[is_element])
    return found
