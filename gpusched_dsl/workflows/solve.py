"""Solves a scenario or a compiled problem by a solver or a policy, within a time limit that includes building."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.ir.deadline import INTERRUPT, TIME, Deadline, StoppedEarly, limit
from gpusched_dsl.ir.log import log, log_phase
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.scenarios.scenario import scenario_title
from gpusched_dsl.language.text.numbers import number_text, seconds_text, with_unit
from gpusched_dsl.reporting.gangs import gang_warnings
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.solving.option_checks import solve_options
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import deadline_of, solve_problem
from gpusched_dsl.workflows.listener import Listener
from gpusched_dsl.workflows.method import Method, SolverMethod
from gpusched_dsl.workflows.start_from_options import start_from_options, starts_from_options
from gpusched_dsl.workflows.warm_start import Start, WarmStart, start_from, with_plan
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions, StopMonitor

if TYPE_CHECKING:
    from gpusched_dsl.compiling.provenance import Provenance
    from gpusched_dsl.solving.sensitivity import Sensitivity
    from gpusched_dsl.solving.starts import NamedValues


WITHIN = 0.01


class AlternativesConfig(Struct, frozen=True):
    """Up to `count` solutions within this share of the best, distinct by these variables (empty: by the default)."""

    count: int
    within: float = WITHIN
    distinct_by: tuple[str, ...] = ()


class SolveConfig(Struct, frozen=True, eq=False, kw_only=True):
    """The configuration of a solve.

    `method`, a solver or a policy, makes the plan. `options` are the time limit, the gap, the threads, the seed, the
    passes to skip, the decomposition, the heuristic and the solver's own options. `warm_start` is a point or a
    policy to start from. With `bound`, the judge of a policy also proves a bound; with `duals`, the result has
    duals and ranges, those of the linear program with fixed integers if there are integers; with `reasons` it has why
    jobs wait; with `alternatives` it has other solutions, and with `options_of` the options of that job.
    """

    scenario: SelectedScenario
    method: Method
    options: SolveOptions
    warm_start: WarmStart = None
    bound: bool = False
    duals: bool = False
    reasons: bool = False
    alternatives: AlternativesConfig | None = None
    options_of: str | None = None

    @classmethod
    def of(cls, scenario: SelectedScenario, method: Method, values: Mapping[str, Any]) -> SolveConfig:
        """Return the configuration with the values of options by their names in the table; others keep the default.

        Raises DiagnosticError (GSM4011) for wrong ones.
        """
        own = (name for name in cls.__struct_fields__ if name not in ("scenario", "method", "options"))
        given = {name: values[name] for name in own if name in values}
        if (count := given.pop("alternatives", None)) is not None:
            within = WITHIN if values.get("within") is None else float(values["within"])
            given["alternatives"] = AlternativesConfig(int(count), within, tuple(values.get("distinct_by", ())))
        return cls(scenario=scenario, method=method, options=solve_options(values), **given)


class SolvedScenario(Struct, frozen=True, eq=False):
    """The result of a solve, and the state that a re-solve reuses. `plan` is that of the policy that gave the start, if
    any.
    """

    config: SolveConfig
    result: Result
    instance: Instance | None
    plan: Solution | None

    @property
    def solution(self) -> Solution:
        return self.result.solved


def solve_scenario(
    config: SolveConfig,
    *,
    clock: Deadline | None = None,
    monitor: Monitor | None = None,
    listener: Listener | None = None,
    earlier: SolvedScenario | None = None,
) -> SolvedScenario:
    """Read the data, build the problem and solve it; if there is an `earlier` solve, from its instance and session.

    The time limit counts from the start of `clock`. If the limit, the monitor or Ctrl-C ends the solve, the result
    has the best point so far. Raises DiagnosticError with all errors in data, options and starts, and as solvers and
    policies do.
    """
    clock, observer = clock or Deadline(), listener or Listener()
    build_start = time.perf_counter()
    scenario, method, options = config.scenario, config.method, config.options
    title = scenario_title(scenario.scenario.model.name, scenario.scenario.name)
    instance, before = (None, None) if earlier is None else (earlier.instance, earlier.solution)
    built: Built | None = None
    start = Start()
    with deadline_of(method.time_to_build(clock.rest_of(options.time_limit)), monitor):
        try:
            with observer.working_context():
                built = scenario.build(full=False, earlier=instance)
                instance = built.instance
                observer.has_read(built)
                if config.alternatives is not None or config.options_of is not None:
                    from gpusched_dsl.workflows.alternatives import check_request

                    other = config.alternatives
                    check_request(built, None if other is None else other.distinct_by, config.options_of)
                start = start_from(built, config.warm_start, method.judge, options, monitor, observer.begin)
                built = method.with_problem(built, options, clock)
            observer.has_built(built)
            log(f"{title} with {method.name}: starts")
            if config.warm_start is None and before is None and starts_from_options(built, method, options):
                choices = built.scenario.model.start_options
                observer.begin(f"{', '.join(f'{name} = {choice}' for name, choice in choices.items())} for a start")
                with observer.working_context():
                    start, interrupted = start_from_options(built, method, options, monitor)
                observer.begin("")
                monitor = StopMonitor(lambda: True) if interrupted else monitor
            with observer.working_context(), limit(clock.rest_of(options.time_limit)):
                solved, warnings = method.solve(built, options, start, monitor, before)
                if config.bound:
                    solved = _with_bound(built, solved, config, monitor, observer)
            provenance = built.provenance()
        except StoppedEarly as stopped:
            if before is not None:
                before.close()
            from gpusched_dsl.solving.unfinished import solution_without_problem

            solved, warnings = solution_without_problem(scenario.scenario.model, method.backend(), options, stopped), ()
            solved = with_plan(solved, start.plan, built)
            seconds = scenario.seconds + time.perf_counter() - build_start
            provenance = (
                scenario.provenance(seconds) if built is None else structs.replace(built, seconds=seconds).provenance()
            )
    sensitivity, without_duals = _sensitivity(solved) if config.duals else (None, ())
    relaxed = isinstance(method, SolverMethod) and method.relax
    provenance = _with_warnings(provenance, (*start.warnings, *warnings, *without_duals))
    result = Result(solved, provenance, sensitivity, relaxed)
    if parts := gang_warnings(result):
        result = replace(result, provenance=_with_warnings(provenance, parts))
    log(f"{title} with {method.name}: {outcome_text(result)}")
    if config.reasons and result.reason != "interrupt" and not (monitor is not None and monitor.stop_requested):
        result = _with_reasons(result, method, observer, clock.rest_of(options.time_limit))
    if built is not None and result.has_point:
        result = _with_other_solutions(result, built, config, clock, monitor, observer)
    return SolvedScenario(config, result, instance, start.plan)


def _sensitivity(solved: Solution) -> tuple[Sensitivity | None, tuple[Diagnostic, ...]]:
    """Return the sensitivity, or why there is none: the solution remains."""
    from gpusched_dsl.solving.sensitivity import sensitivity_of

    if solved.point is None:
        return None, ()
    try:
        return sensitivity_of(solved), ()
    except DiagnosticError as failure:
        return None, _as_warnings(failure)


def _as_warnings(failure: DiagnosticError) -> tuple[Diagnostic, ...]:
    return tuple(structs.replace(found, severity=Severity.WARNING) for found in failure.diagnostics)


def outcome_text(result: Result) -> str:
    """`optimal, 57.55 $, after 0.03 s`."""
    objective = result.objectives[0] if result.objectives else None
    value = ""
    if objective is not None and objective.value is not None:
        value = f", {with_unit(number_text(objective.value), '' if objective.unit == '1' else objective.unit)}"
    return f"{result.status.value}{value}, after {seconds_text(result.build_seconds + result.solve_seconds)}"


def _with_reasons(result: Result, method: Method, observer: Listener, rest: float | None) -> Result:
    """Add why each waiting job waits, as far as the rest of the time limit admits."""
    waiting = result.waiting_jobs
    if waiting is None or not waiting.labels:
        return result
    observer.begin("why jobs wait")
    with observer.working_context(), log_phase("why jobs wait"):
        search = method.waiting_search()
        if rest is not None:
            search = replace(search, seconds=min(search.seconds, rest))
        return replace(result, waiting_reasons=search(result, waiting))


def _with_other_solutions(
    result: Result,
    built: Built,
    config: SolveConfig,
    clock: Deadline,
    monitor: Monitor | None,
    observer: Listener,
) -> Result:
    """Add alternative solutions and the options of a job, within the rest of the time limit."""
    if config.alternatives is None and config.options_of is None:
        return result
    if result.reason in (TIME, INTERRUPT):
        what = "alternatives" if config.alternatives is not None else f"options of `{config.options_of}`"
        why = "took all of the time" if result.reason == TIME else "was interrupted"
        warning = Diagnostic(
            "GSM4024", f"there are no {what}: the first solve {why}",
            help="they need the best solution: allow more time (`--time-limit`), or a larger gap (`--gap`)",
            severity=Severity.WARNING,
        )  # fmt: skip
        return replace(result, provenance=_with_warnings(result.provenance, (warning,)))
    from gpusched_dsl.workflows.alternatives import (
        solver_of,
        with_alternatives,
        with_options,
    )

    solver = solver_of(config.method, config.options, clock, monitor)
    try:
        with observer.working_context():
            if config.alternatives is not None:
                observer.begin("alternatives")
                other = config.alternatives
                result = with_alternatives(result, built, other.count, other.within, other.distinct_by, solver)
            if config.options_of is not None:
                observer.begin(f"options of {config.options_of}")
                result = with_options(result, built, config.options_of, solver)
    except DiagnosticError as failure:  # the solution remains, except if what was asked for does not exist
        if failure.diagnostics[0].code == "GSM6021":
            raise
        return replace(result, provenance=_with_warnings(result.provenance, _as_warnings(failure)))
    return result


def _with_bound(
    built: Built, solved: Solution, config: SolveConfig, monitor: Monitor | None, observer: Listener
) -> Solution:
    if config.method.proves or (monitor is not None and monitor.stop_requested):
        return solved
    from gpusched_dsl.workflows.solve_by_policy import with_bound  # loads the compiler of policies

    judge = config.method.judge()
    observer.begin(f"bound by {judge.name}")
    # Options of its own that a local search was given mean nothing to the judge.
    options = config.options if config.method.is_policy else structs.replace(config.options, extra={})
    return with_bound(built, solved, judge, options, monitor)


def solve_compiled(
    problem: Problem,
    provenance: Provenance,
    backend: Backend,
    options: SolveOptions,
    start: NamedValues | None,
    *,
    relax: bool = False,
    duals: bool = False,
    clock: Deadline,
    monitor: Monitor | None = None,
) -> Result:
    """Solve a compiled problem; `provenance` has its source. `relax` and `duals` as in a solve of a scenario.

    Time limit and errors are those of `solve_scenario`.
    """
    from gpusched_dsl.solving.starts import point_from

    point, warnings = (None, []) if start is None else point_from(problem, start)
    with deadline_of(clock.rest_of(options.time_limit), monitor):
        if relax:
            from gpusched_dsl.solving.relaxation import solve_relaxed

            solved = solve_relaxed(problem, backend, options, monitor)
        else:
            solved = solve_problem(problem, backend, options, point, monitor)
    sensitivity, without_duals = _sensitivity(solved) if duals else (None, ())
    provenance = _with_warnings(provenance, (*warnings, *without_duals))
    return Result(solved, provenance, sensitivity=sensitivity, relaxed=relax)


def _with_warnings(provenance: Provenance, warnings: tuple[Diagnostic, ...]) -> Provenance:
    return structs.replace(provenance, warnings=(*provenance.warnings, *warnings))
