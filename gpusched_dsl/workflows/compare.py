"""Solves one scenario by several methods, solvers and policies, one after the other, each judged by the same model."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpusched_dsl.backends.isolation.backend import is_crash
from gpusched_dsl.backends.protocol import Monitor, SolveOptions
from gpusched_dsl.compiling.build import Built, with_counts
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.ir.deadline import Deadline, StoppedEarly, limit
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.units import DIMENSIONLESS
from gpusched_dsl.reporting.comparison import Comparison, ComparisonRow
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.solving.solve import deadline_of
from gpusched_dsl.workflows.listener import Listener
from gpusched_dsl.workflows.method import Method, SolverMethod
from gpusched_dsl.workflows.solve_by_policy import apart, prove_bound


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


def compare(
    config: CompareConfig,
    *,
    clock: Deadline | None = None,
    monitor: Monitor | None = None,
    listener: Listener | None = None,
) -> Comparison:
    """Solve a scenario by several methods: one row per method, or per seed for a policy that draws.

    The time limit is that of each method, and counts from the beginning of `clock` for the work that all methods share.
    A method that is refused has a row with the reason. Ctrl-C and the monitor stop the current method, keep its best
    result and skip the rest; before the first method they raise KeyboardInterrupt. Raises DiagnosticError with
    everything wrong in the data.
    """
    clock, hear = clock or Deadline(), listener or Listener()
    try:
        with hear.working(), deadline_of(None, monitor):
            built = config.scenario.build(whole=False)
            with limit(clock.rest_of(config.options.time_limit)):
                built = with_counts(built, fold=True)
    except StoppedEarly:
        raise KeyboardInterrupt from None  # no method has run
    hear.has_built(built)
    with hear.working():
        return _compare(built, config, clock.rest_of(config.options.time_limit), monitor, hear)


def _compare(
    built: Built, config: CompareConfig, left: float | None, monitor: Monitor | None, hear: Listener
) -> Comparison:
    rows: list[ComparisonRow] = []
    interrupted = False
    for method, seed in (wanted := list(_runs(config.methods, config.seeds))):
        hear.begin(method.name if seed is None else f"{method.name}, seed {seed}")
        options = replace(config.options, seed=config.seeds[0] if seed is None else seed, time_limit=left)
        try:
            row = _run(built, method, seed, options, monitor)
        except KeyboardInterrupt:
            interrupted = True
            break
        rows.append(row)
        stopped = row.result is not None and row.result.reason == "interrupt"
        if stopped or (monitor is not None and monitor.stop_requested):
            interrupted = len(rows) < len(wanted)
            break
    found = _comparison(built, config, rows, interrupted)
    stopping = interrupted or (monitor is not None and monitor.stop_requested)
    if config.bound_by is None or stopping or not all(row.is_policy for row in rows):
        return found
    hear.begin(f"bound by {config.bound_by.name}")
    return _with_bound(built, found, config.bound_by, config.options, monitor)


def _runs(methods: Sequence[Method], seeds: Sequence[int]) -> Iterator[tuple[Method, int | None]]:
    """Pair methods with their seeds; None for deterministic methods and solvers."""
    for method in methods:
        if method.draws:
            yield from ((method, seed) for seed in seeds)
        else:
            yield method, None


def _run(
    built: Built, method: Method, seed: int | None, options: SolveOptions, monitor: Monitor | None
) -> ComparisonRow:
    own = apart(built)
    began = time.perf_counter()
    try:
        solved, told = method.solve(own, options, None, monitor)
    except DiagnosticError as error:
        seconds = time.perf_counter() - began
        return ComparisonRow(method.name, method.is_policy, seed, None, tuple(error.diagnostics), seconds)
    solved.close()
    told_of = solved.statistics
    compiling, aside = told_of.get("compile_seconds", 0.0), told_of.get("ready_seconds", 0.0)
    seconds = max(time.perf_counter() - began - aside - told_of.get("why_seconds", 0.0), 0.0)
    result, findings = Result(solved, own.origins()), (*told, *solved.warnings)
    return ComparisonRow(method.name, method.is_policy, seed, result, findings, seconds, compiling)


def _comparison(built: Built, config: CompareConfig, rows: list[ComparisonRow], interrupted: bool) -> Comparison:
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
        origins=built.origins(),
        options={
            "gap": options.gap,
            "time_limit": options.time_limit,
            "threads": options.threads,
            "seeds": list(config.seeds),
        },
    )


def _with_bound(
    built: Built, found: Comparison, solver: SolverMethod, options: SolveOptions, monitor: Monitor | None
) -> Comparison:
    """The same with the bound that a solver proves from the best plan on."""
    results = [row.result for row in found.rows if found.is_best(row) and row.result is not None]
    try:
        proved, _ = prove_bound(built, results[0].solved if results else None, solver.backend(), options, monitor)
    except DiagnosticError as error:
        if is_crash(error):
            return found  # the plans are worth more than the bound
        raise
    return found if proved.bound is None else replace(found, bound=proved.bound, bound_by=solver.name)
