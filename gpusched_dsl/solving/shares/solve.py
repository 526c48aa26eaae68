"""Solves a scenario share by share of its jobs; says why not where its model has another form."""

from __future__ import annotations

import time

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.passes.steps import Note, ReformulatedProblem
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import grace
from gpusched_dsl.ir.log import log
from gpusched_dsl.ir.problem import Size
from gpusched_dsl.ir.solver_result import Status, relative_gap
from gpusched_dsl.ir.verify import Tolerances, Verification, objective_value
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.solving.aggregated import store_columns
from gpusched_dsl.solving.shares.evaluation import evaluate
from gpusched_dsl.solving.shares.planning import Planned, plan
from gpusched_dsl.solving.shares.pricing import Pricing
from gpusched_dsl.solving.shares.share import ShareModel
from gpusched_dsl.solving.shares.tables import MOST_JOBS, NoWay, ShareTables, tables_of
from gpusched_dsl.solving.solution import Loading, ObjectiveResult, Solution
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions, SolverProgress

PASS = "shares"


def solve_by_shares_if_suitable(
    built: Built,
    root: str,
    backend: Backend,
    options: SolveOptions,
    monitor: Monitor | None = None,
    prices: Floats | None = None,
) -> Solution | None:
    """Solve as `solve_by_shares` does; None for a model of another form, which the log names."""
    try:
        return solve_by_shares(built, root, backend, options, monitor, prices)
    except Obstacle as obstacle:
        log(f"not share by share of {root}: {obstacle}")
        return None


def solve_by_shares(
    built: Built,
    root: str,
    backend: Backend,
    options: SolveOptions,
    monitor: Monitor | None = None,
    prices: Floats | None = None,
    most_jobs: int = MOST_JOBS,
) -> Solution:
    """Solve a scenario whose data have been read, with the elements of `root` as jobs; `prices` are earlier ones.

    Raises Obstacle for a model of another form, and if no plan is found; StoppedEarly if the active deadline ends
    before there is a plan; DiagnosticError as `ground` does.
    """
    began = time.perf_counter()
    model = ShareModel.of(built.scenario.model, built.instance.store, built.permissions.limits(), root)
    try:
        tables = tables_of(model, most_jobs)
    except NoWay as stuck:
        raise Obstacle(f"`{model.jobs.labels[stuck.job]}` of `{root}` has no way that its rows allow") from None
    loaded = time.perf_counter()
    log(f"{tables.jobs:,} jobs in {len(tables.shares):,} shares")
    pricing = Pricing(tables)
    sign = tables.common.sign

    def report(objective: float | None, bound: float) -> None:
        if monitor is not None:
            value = None if objective is None else sign * objective
            monitor.progress(SolverProgress(time.perf_counter() - began, value, sign * bound))

    if prices is not None and len(prices) != tables.common.rows:
        prices = None  # what jobs have in common has changed
    found = plan(pricing, backend, options, monitor, report, prices)
    if found.plan is None:
        raise Obstacle("no plan was found from the prices of what jobs have in common")
    with grace():
        return _solution(built, tables, found, backend, options, loaded - began, time.perf_counter() - loaded)


def _solution(
    built: Built,
    tables: ShareTables,
    found: Planned,
    backend: Backend,
    options: SolveOptions,
    load_seconds: float,
    solve_seconds: float,
) -> Solution:
    assert found.plan is not None
    evaluated = evaluate(tables, found.plan)
    problem = evaluated.problem
    store_columns(built, problem)
    value = objective_value(problem.objectives[0], evaluated.point)
    bound = tables.common.sign * found.bound
    status = Status.OPTIMAL if relative_gap(value.value, bound) <= options.gap else Status.LIMIT
    verification = Verification(True, evaluated.row, evaluated.row, 0.0, 0.0, 0.0, (), (value,))
    note = Note(PASS, tables.model.root, _effect(tables), tables.jobs)
    objective = ObjectiveResult.of(problem.objectives[0], value, bound, status, solve_seconds, problem.columns)
    return Solution(
        problem=problem,
        reformulated=ReformulatedProblem(problem, problem, (note,)),
        backend=backend,
        options=options,
        tolerances=Tolerances(),
        status=status,
        reason="" if status is Status.OPTIMAL else "accuracy",
        point=evaluated.point,
        objectives=(objective,),
        row_duals=None,
        reduced_costs=None,
        verification=verification,
        is_integral=True,
        loading=Loading.FIRST,
        load_seconds=load_seconds,
        solve_seconds=solve_seconds,
        statistics={"shares": float(len(tables.shares))},
        versions=backend.versions(),
        session=None,
        size=Size(evaluated.columns, evaluated.integer, evaluated.rows, evaluated.nonzeros),
        prices=found.prices,
    )


def _effect(tables: ShareTables) -> str:
    ways = sum(share.count for share in tables.shares)
    shares, rows = count_text(len(tables.shares), "share"), count_text(tables.common.rows, "row")
    return f"{count_text(tables.jobs, 'job')} with {count_text(ways, 'way')}, in {shares}, with {rows} in common"
