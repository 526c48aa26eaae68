"""Solves one scenario by several methods, solvers and policies, one after the other, each judged by the same model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gpusched_dsl.backends.isolation.backend import guard, is_crash
from gpusched_dsl.backends.protocol import Monitor, SolveOptions
from gpusched_dsl.compiling.build import Built
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.units import DIMENSIONLESS
from gpusched_dsl.reporting.comparison import Comparison, ComparisonRow
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.solving.aggregated import solve_built
from gpusched_dsl.solving.methods import Method
from gpusched_dsl.solving.starts import entries_of_point
from gpusched_dsl.workflows.solve_by_policy import BOUND_SECONDS, apart, solve_by_policy

Begin = Callable[[str], None]  # hears of the method that comes next


def compare(
    built: Built,
    methods: Sequence[Method],
    *,
    options: SolveOptions | None = None,
    seeds: Sequence[int] = (0,),
    judge: str = "highs",
    bound: bool = False,
    seconds_before: float = 0.0,
    spent: float = 0.0,
    monitor: Monitor | None = None,
    begin: Begin | None = None,
) -> Comparison:
    """One row per method; of a policy that draws, one per seed. Options and time limit hold for each of them.

    What was `spent` of the limit, on what all methods share, is no method's any more.

    `judge` is the solver that completes plans. With `bound` it also proves a bound, from the best plan on, where no
    solver is among the methods. What a method is refused for stands in its row. Ctrl-C and the monitor end the method
    that runs, whose row is kept with the best it has, and all that would come after it.
    """
    asked = options or SolveOptions()
    left = None if asked.time_limit is None else max(0.0, asked.time_limit - spent)
    rows: list[ComparisonRow] = []
    interrupted = False
    for method, seed in (wanted := list(_runs(methods, seeds))):
        if begin is not None:
            begin(_title(method, seed))
        try:
            own = replace(asked, seed=seeds[0] if seed is None else seed, time_limit=left)
            row = _run(built, method, seed, own, judge, monitor)
        except KeyboardInterrupt:
            interrupted = True
            break
        rows.append(row)
        stopped = row.result is not None and row.result.reason == "interrupt"
        if stopped or (monitor is not None and monitor.stop_requested):
            interrupted = len(rows) < len(wanted)
            break
    found = _compare(built, rows, interrupted, asked, seeds, seconds_before)
    stopping = interrupted or (monitor is not None and monitor.stop_requested)
    if bound and not stopping and all(row.is_policy for row in rows):
        if begin is not None:
            begin(f"bound by {judge}")
        found = _with_bound(built, found, judge, asked, monitor)
    return found


def _runs(methods: Sequence[Method], seeds: Sequence[int]) -> Iterator[tuple[Method, int | None]]:
    """Methods with their seeds; None for what draws nothing, or is a solver."""
    for method in methods:
        if isinstance(method, CheckedPolicy) and method.draws:
            yield from ((method, seed) for seed in seeds)
        else:
            yield method, None


def _run(
    built: Built, method: Method, seed: int | None, options: SolveOptions, judge: str, monitor: Monitor | None
) -> ComparisonRow:
    own = apart(built)
    began = time.perf_counter()
    name, policy = (method, None) if isinstance(method, str) else (method.name, method)
    try:
        if policy is None:
            solved, told = solve_built(own, guard(name), options, None, monitor)
        else:
            solved, told = solve_by_policy(own, policy, guard(judge), options, None, monitor)
    except DiagnosticError as error:
        return ComparisonRow(
            name, policy is not None, seed, None, tuple(error.diagnostics), time.perf_counter() - began
        )
    solved.close()
    told_of = solved.statistics
    compiling, aside = told_of.get("compile_seconds", 0.0), told_of.get("ready_seconds", 0.0)
    seconds = max(time.perf_counter() - began - aside - told_of.get("why_seconds", 0.0), 0.0)
    result = Result(solved, own.origins())
    return ComparisonRow(name, policy is not None, seed, result, (*told, *solved.warnings), seconds, compiling)


def _compare(
    built: Built,
    rows: list[ComparisonRow],
    interrupted: bool,
    options: SolveOptions,
    seeds: Sequence[int],
    before: float,
) -> Comparison:
    model = built.scenario.model
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
        origins=built.origins(before),
        options={
            "gap": options.gap,
            "time_limit": options.time_limit,
            "threads": options.threads,
            "seeds": list(seeds),
        },
    )


def _with_bound(
    built: Built, found: Comparison, judge: str, options: SolveOptions, monitor: Monitor | None
) -> Comparison:
    """The same with the bound that the judge proves."""
    if options.time_limit is None:
        options = replace(options, time_limit=BOUND_SECONDS)
    results = [row.result for row in found.rows if found.is_best(row) and row.result is not None]
    point = results[0].solved.point if results else None
    start = None if point is None else entries_of_point(results[0].problem, point)
    try:
        proved, _ = solve_built(apart(built), guard(judge), options, start, monitor)
    except DiagnosticError as error:
        if is_crash(error):
            return found  # the plans are worth more than the bound
        raise
    proved.close()
    return found if proved.bound is None else replace(found, bound=proved.bound, bound_by=judge)


def _title(method: Method, seed: int | None) -> str:
    name = method if isinstance(method, str) else method.name
    return name if seed is None else f"{name}, seed {seed}"
