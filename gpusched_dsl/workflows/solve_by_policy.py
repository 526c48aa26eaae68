"""Policies as a backend: the plan is fixed in the model, a solver completes it, and the model's rows verify it.

The result is that of a solve, but for its status: `feasible` (checked, nothing proved), or `broken` where the plan
breaks rows of the model; the rows that would have to give way are told then.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from gpusched_dsl.backends.interrupt import Control, CtrlC
from gpusched_dsl.backends.protocol import Backend, Capabilities, Monitor, Session, SolveOptions, SolverProgress
from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.compiling.symmetry.full_size import full_size
from gpusched_dsl.ir.deadline import active, grace, limit, share_left
from gpusched_dsl.ir.domains import TupleDomain
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.policies.compile_clock import CompileClock
from gpusched_dsl.policies.decide import Decision, decide
from gpusched_dsl.solving.abandoned import CODE as ABANDONED
from gpusched_dsl.solving.aggregated import Entries, solve_built
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import solve_problem
from gpusched_dsl.solving.starts import entries_of_point, read_entries

START_SHARE = 1 / 3  # of the time that is left, for a plan to start from
START_SECONDS = 1.0  # at least, for completing it
WHY_SECONDS = 10.0  # for finding out which rows a plan breaks
OPTION_SECONDS = 5.0  # for finding an option of the model with which it breaks none
JUDGE_SECONDS = 10.0  # at least, for completing a plan: a time limit ends the policy, and its plan shall be told
BOUND_SECONDS = 60.0  # for completing a plan, and for a bound, where no time limit is stated


class PolicyBackend:
    """Names the policy of the plan in results; it solves nothing itself."""

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
    start: Entries | None = None,
    monitor: Monitor | None = None,
    judging: float = JUDGE_SECONDS,
) -> tuple[Solution, tuple[Diagnostic, ...]]:
    """The plan of a policy, completed by `backend` and checked and priced by the model; and warnings.

    `start` is the plan before, for policies that `keep` what runs. `options.seed` seeds every draw. The time limit, or
    what the active deadline leaves of it, is for the policy, which always makes its first plan. Completing the plan
    may take as long again, but gets `judging` seconds at least, and `BOUND_SECONDS` where there is no limit. Ctrl-C,
    the time limit and the monitor end the policy with the best plan found. Raises DiagnosticError as `decide` and
    `solve_problem` do.
    """
    asked = options or SolveOptions()
    deadline = active()
    limit = asked.time_limit if deadline is None or deadline.left is None else deadline.left
    with grace():
        within = replace(asked, time_limit=limit)
        solved, told = _solve_by_policy(built, policy, backend, within, start, monitor, judging)
        return replace(solved, options=asked), told


def _solve_by_policy(
    built: Built,
    policy: CheckedPolicy,
    backend: Backend | str,
    asked: SolveOptions,
    start: Entries | None,
    monitor: Monitor | None,
    judging: float,
) -> tuple[Solution, tuple[Diagnostic, ...]]:
    warnings: list[Diagnostic] = []
    running = None
    if start is not None and policy.keep:
        running = _variable_values(built, policy, start)
    elif start is not None:
        warnings.append(_not_kept(policy))
    store, limits = built.instance.store, built.permissions.limits()
    compiling = CompileClock()
    run = _Run(asked.time_limit, monitor, compiling)
    with CtrlC(run.control), compiling:
        decision = decide(policy, store, limits, asked.seed, running, run.stop, run.tell)
    patience = BOUND_SECONDS if asked.time_limit is None else max(asked.time_limit, judging)
    completing = replace(asked, gap=0.0, time_limit=patience)
    problem = ground(built.scenario.model, store, limits, decision.values)
    # A monitor that has ended the policy would end this at once, and the plan would be lost.
    solved = solve_problem(problem, backend, completing, None, None if run.ended_by else monitor)
    solved.close()
    # Kernels are compiled, or read from the cache, once in a process: no policy's own time.
    ready = max(compiling.seconds, decision.statistics.get("compile_seconds", 0.0))
    seconds = {"compile_seconds": compiling.seconds, "ready_seconds": ready, "judge_seconds": solved.solve_seconds}
    if solved.status is Status.INFEASIBLE:
        began = time.perf_counter()
        warnings.append(_broken_rows(built, policy, decision, problem, solved.backend))
        seconds["why_seconds"] = time.perf_counter() - began
    # Where it was the judge that ran out of time, what the policy left open may not be at its best.
    ended_by = run.ended_by if decision.stopped else solved.reason
    decision = replace(
        decision,
        seconds=max(decision.seconds - ready, 0.0),
        statistics={**decision.statistics, **seconds, "price": decision.price},
    )
    return _as_plan(built, policy, solved, decision, asked, ended_by), tuple(warnings)


def start_by_policy(
    built: Built,
    policy: CheckedPolicy,
    backend: Backend | str = "highs",
    options: SolveOptions | None = None,
    monitor: Monitor | None = None,
) -> tuple[Entries | None, Solution, tuple[Diagnostic, ...]]:
    """The values of a policy's plan to start a solve from, None where it breaks the model; the plan, and warnings.

    The policy may take `START_SHARE` of what is left until the active deadline. Raises what `solve_by_policy` raises.
    """
    with limit(share_left(START_SHARE)):
        plan, told = solve_by_policy(apart(built), policy, backend, options, None, monitor, START_SECONDS)
    return None if plan.point is None else entries_of_point(plan.problem, plan.point), plan, told


class _Run:
    """Ends a policy early and reports its progress. Compilation does not use the time limit."""

    def __init__(self, seconds: float | None, monitor: Monitor | None, compiling: CompileClock) -> None:
        self.compiling = compiling
        self.control = Control()
        self.monitor = monitor
        self.until = None if seconds is None else self.control.started + seconds
        self.ended_by = ""

    def stop(self) -> bool:
        if self.control.stopping or (self.monitor is not None and self.monitor.stop_requested):
            self.ended_by = "interrupt"
        elif self.until is not None and time.perf_counter() - self.compiling.seconds > self.until:
            self.ended_by = "time"
        return bool(self.ended_by)

    def tell(self, iterations: int, price: float) -> None:
        if self.monitor is not None:
            self.monitor.progress(SolverProgress(self.control.seconds, price, None, iterations=iterations))


def apart(built: Built) -> Built:
    """The same instance with a place of its own for columns, so that results of several solves can be read later."""
    store = replace(built.instance.store, variables=dict(built.instance.store.variables))
    return replace(built, instance=replace(built.instance, store=store), grounded=list(built.grounded))


def with_bound(
    built: Built,
    solved: Solution,
    backend: Backend | str = "highs",
    options: SolveOptions | None = None,
    monitor: Monitor | None = None,
) -> Solution:
    """Return the same result with the bound that a solver proves for the complete problem, starting from the plan.

    Of several objectives only the first gets one: a bound of another holds where those before have their best values.
    Time limit and errors are those of `prove_bound`.
    """
    with grace():  # the limit of the policy is not that of the bound
        proved, told = prove_bound(built, solved, backend, options or SolveOptions(), monitor)
    objectives = tuple(own if at else replace(own, bound=proved.bound) for at, own in enumerate(solved.objectives))
    statistics = {**solved.statistics, "bound_seconds": proved.load_seconds + proved.solve_seconds}
    kept = tuple(warning for warning in told if warning.code == ABANDONED)
    return replace(solved, objectives=objectives, statistics=statistics, warnings=(*solved.warnings, *kept))


def prove_bound(
    built: Built, plan: Solution | None, backend: Backend | str, options: SolveOptions, monitor: Monitor | None
) -> tuple[Solution, tuple[Diagnostic, ...]]:
    """Solve the complete problem from a plan; return the solution, with the bound, and the warnings.

    This takes `BOUND_SECONDS` at most if the options have no time limit. Raises DiagnosticError as `solve_built` does.
    """
    if options.time_limit is None:
        options = replace(options, time_limit=BOUND_SECONDS)
    start = None if plan is None or plan.point is None else entries_of_point(plan.problem, plan.point)
    proved, told = solve_built(apart(built), backend, options, start, monitor)
    proved.close()
    return proved, (*told, *proved.warnings)


def _as_plan(
    built: Built, policy: CheckedPolicy, solved: Solution, decision: Decision, options: SolveOptions, ended_by: str
) -> Solution:
    """Remove the proofs of the plan's problem, which prove nothing about the model: no bound, and another status."""
    status, reason = solved.status, solved.reason
    if solved.point is not None:
        status, reason = Status.FEASIBLE, ended_by
    elif status is Status.INFEASIBLE:
        status = Status.BROKEN
    objectives = tuple(replace(o, bound=None, status=None if o.status is None else status) for o in solved.objectives)
    folded, maker = built.folded, PolicyBackend(policy.name, solved.backend)
    return replace(
        solved,
        backend=maker,
        versions=maker.versions(),
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
        size=full_size(folded.quotient) if folded is not None else None,
    )


def _broken_rows(
    built: Built, policy: CheckedPolicy, decision: Decision, problem: Problem, backend: Backend
) -> Diagnostic:
    """Which rows the plan breaks: the smallest relaxation; and the option with which it breaks none, if one exists."""
    from gpusched_dsl.explaining.clock import SearchClock
    from gpusched_dsl.explaining.findings import relaxation_text
    from gpusched_dsl.explaining.relaxation import relaxations
    from gpusched_dsl.workflows.option_advice import setting_that_fits

    everything = np.ones(problem.rows, dtype=np.bool_)
    found = relaxations(problem, everything, everything, backend, SearchClock(WHY_SECONDS))
    notes = (f"the smallest relaxation: {relaxation_text(problem, found[0])}",) if found else ()
    broken = {problem.row_family(row).name for relaxation in found for row in relaxation.rows.tolist()}
    setting = (
        setting_that_fits(built, decision.values, broken, backend, SearchClock(OPTION_SECONDS)) if broken else None
    )
    if setting is None:
        help = "choose options of the model that fit the policy, or another policy"
    else:
        help = f"the plan satisfies the model with `--set {setting}`; or choose another policy"
    return Diagnostic(
        "GSM4015",
        f"the plan of `{policy.name}` violates constraints of the model",
        policy.span,
        "this policy",
        notes=notes,
        help=help,
        severity=Severity.WARNING,
    )


def _not_kept(policy: CheckedPolicy) -> Diagnostic:
    return Diagnostic(
        "GSM6009",
        f"`{policy.name}` does not use the warm start",
        policy.span,
        "has no `keep running`",
        help="write `keep running;` in the policy to keep running jobs unchanged",
        severity=Severity.WARNING,
    )


def _variable_values(built: Built, policy: CheckedPolicy, start: Entries) -> dict[str, VariableValues]:
    """Labelled values as codes; labels that are no elements (jobs that have left) are left out."""
    model, store = built.scenario.model, built.instance.store
    found: dict[str, VariableValues] = {}
    for name, entries in start.items():
        variable = model.variables.get(name)
        if variable is None:
            continue
        components = tuple(store.component(v.type) for v in variable.indexing.variables)
        domain = TupleDomain(components, (np.zeros(0, dtype=np.int64),) * len(components))
        codes, values, known = read_entries(domain, entries)
        found[name] = VariableValues(tuple(c[known] for c in codes), values[known])
    return found
