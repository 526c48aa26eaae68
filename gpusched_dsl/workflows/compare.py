"""Solves one scenario by several methods, solvers and policies, one after the other, all verified by the same model."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from msgspec import structs

from gpusched_dsl.compiling.build import Built, with_counts
from gpusched_dsl.compiling.passes.names import allows_aggregation
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.ir.deadline import Deadline, StoppedEarly, limit
from gpusched_dsl.ir.log import log
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.scenarios.scenario import scenario_title
from gpusched_dsl.language.units import DIMENSIONLESS
from gpusched_dsl.reporting.comparison import Comparison, SolveTrial
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.solving.option_checks import solve_options
from gpusched_dsl.solving.solve import deadline_of
from gpusched_dsl.workflows.listener import Listener
from gpusched_dsl.workflows.method import Method, SolverMethod, choose_method
from gpusched_dsl.workflows.solve import outcome_text
from gpusched_dsl.workflows.solve_by_policy import prove_bound, with_own_columns
from gpusched_dsl.workflows.trials import run_in_turn
from gsdsl_backends.isolation.backend import guard, is_crash
from gsdsl_backends.protocol import Monitor, SolveOptions

_Planned: TypeAlias = tuple[Method, int | None]  # a method and its seed


@dataclass(frozen=True, eq=False, kw_only=True)
class CompareConfig:
    """The configuration of a comparison: `options` and their time limit apply to each method.

    Policies that draw run once for each of `seeds`. If no solver is among the methods, `bound_by` proves a bound.
    """

    scenario: SelectedScenario
    methods: Sequence[Method]
    options: SolveOptions
    seeds: Sequence[int] = (0,)
    bound_by: SolverMethod | None = None

    @classmethod
    def of(cls, scenario: SelectedScenario, values: Mapping[str, Any]) -> CompareConfig:
        """Return the configuration from options by their names; raise DiagnosticError for unknown methods."""
        judge, model = values["judge"], scenario.scenario.model
        return cls(
            scenario=scenario,
            methods=[
                choose_method(scenario.workspace, name, model, judge=judge, load=guard)
                for name in dict.fromkeys(values["methods"])
            ],
            options=solve_options(values),
            seeds=values["seeds"],
            bound_by=SolverMethod(judge, load=guard) if values["bound"] else None,
        )


def compare(
    config: CompareConfig,
    *,
    clock: Deadline | None = None,
    monitor: Monitor | None = None,
    listener: Listener | None = None,
) -> Comparison:
    """Solve a scenario by several methods: one row per method, or per seed for a policy that draws.

    The time limit applies to each method, and includes the time since the start of `clock` for the common work.
    A refused method has a row with the reason. Ctrl-C and the monitor stop the current method, keep its best
    result and skip the rest; before the first method they raise KeyboardInterrupt. Raises DiagnosticError with all
    errors in the data.
    """
    clock, observer = clock or Deadline(), listener or Listener()
    try:
        with observer.working_context(), deadline_of(None, monitor):
            built = config.scenario.build(full=False)
            with limit(clock.rest_of(config.options.time_limit)):
                built = with_counts(built, aggregated=allows_aggregation(config.options.without))
    except StoppedEarly:
        raise KeyboardInterrupt from None  # no method has run
    observer.has_built(built)
    with observer.working_context():
        return _compare(built, config, clock.rest_of(config.options.time_limit), monitor, observer)


def _compare(
    built: Built, config: CompareConfig, time_limit: float | None, monitor: Monitor | None, observer: Listener
) -> Comparison:
    began = 0.0

    def run(planned: _Planned) -> SolveTrial:
        nonlocal began
        method, seed = planned
        observer.begin(method.name if seed is None else f"{method.name}, seed {seed}")
        options = structs.replace(config.options, seed=config.seeds[0] if seed is None else seed, time_limit=time_limit)
        own_built, began = with_own_columns(built), time.perf_counter()
        solved, warnings = method.solve(own_built, options, None, monitor)
        solved.close()
        statistics = solved.statistics
        compiling, ready = statistics.get("compile_seconds", 0.0), statistics.get("ready_seconds", 0.0)
        seconds = max(time.perf_counter() - began - ready - statistics.get("why_seconds", 0.0), 0.0)
        result, diagnostics = Result(solved, own_built.provenance()), (*warnings, *solved.warnings)
        return SolveTrial(method.name, result, diagnostics, seed, method.is_policy, seconds, compiling)

    def refuse(planned: _Planned, diagnostics: tuple[Diagnostic, ...]) -> SolveTrial:
        method, seed = planned
        return SolveTrial(method.name, None, diagnostics, seed, method.is_policy, time.perf_counter() - began)

    def stops(trial: SolveTrial) -> bool:
        found = trial.status if trial.result is None else outcome_text(trial.result)
        log(f"{scenario_title(built.scenario.model.name, built.scenario.name)} with {trial.method}: {found}")
        stopped = trial.result is not None and trial.result.reason == "interrupt"
        return stopped or (monitor is not None and monitor.stop_requested)

    planned = list(_trials(config.methods, config.seeds))
    rows = run_in_turn(planned, run, refuse, stops)
    interrupted = len(rows) < len(planned)
    comparison = _comparison(built, config, rows, interrupted)
    stopped_early = interrupted or (monitor is not None and monitor.stop_requested)
    if config.bound_by is None or stopped_early or any(method.proves for method in config.methods):
        return comparison
    observer.begin(f"bound by {config.bound_by.name}")
    return _with_bound(built, comparison, config.bound_by, config.options, monitor)


def _trials(methods: Sequence[Method], seeds: Sequence[int]) -> Iterator[_Planned]:
    """Pair methods with their seeds; None for deterministic methods and solvers."""
    for method in methods:
        if method.draws:
            yield from ((method, seed) for seed in seeds)
        else:
            yield method, None


def _comparison(built: Built, config: CompareConfig, rows: list[SolveTrial], interrupted: bool) -> Comparison:
    model, options = built.scenario.model, config.options
    first = model.objectives[0] if model.objectives else None
    minimise = first is None or first.sense == "minimize"
    bounds = [(row.result.bound, row.method) for row in rows if row.result is not None and row.result.bound is not None]
    best = (max if minimise else min)(bounds, key=lambda pair: pair[0], default=(None, None))
    return Comparison(
        model=model.name,
        scenario=built.scenario.name,
        objective=(first.name if first is not None else None) or "objective",
        unit="" if first is None or first.unit == DIMENSIONLESS else first.unit.text,
        minimise=minimise,
        rows=tuple(rows),
        bound=best[0],
        bound_by=best[1],
        interrupted=interrupted,
        provenance=built.provenance(),
        options={
            "gap": options.gap,
            "time_limit": options.time_limit,
            "threads": options.threads,
            "seeds": list(config.seeds),
        },
    )


def _with_bound(
    built: Built, comparison: Comparison, solver: SolverMethod, options: SolveOptions, monitor: Monitor | None
) -> Comparison:
    """Return the comparison with the bound that a solver proves, starting from the best plan."""
    results = [row.result for row in comparison.rows if comparison.is_best(row) and row.result is not None]
    try:
        proved, _ = prove_bound(built, results[0].solved if results else None, solver.backend(), options, monitor)
    except DiagnosticError as error:
        if is_crash(error):
            return comparison  # the plans are worth more than the bound
        raise
    return comparison if proved.bound is None else replace(comparison, bound=proved.bound, bound_by=solver.name)
