"""`gsdsl solve`: builds a scenario, solves it, prints and writes the result."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.documents import (
    STDOUT,
    check_figures,
    check_reports,
    check_targets,
    write_forms,
)
from gpusched_dsl.cli.instance import LoadedProblem, choose_instance, refuse_options, solver_options
from gpusched_dsl.cli.listener import ProgressListener
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import ProgressMonitor
from gpusched_dsl.cli.show import check_shown, show_other_solutions, show_result
from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.engines.active import engine_in_use
from gpusched_dsl.ir.deadline import READING, Deadline
from gpusched_dsl.ir.log import log_phase
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.scenarios.scenario import scenario_title
from gpusched_dsl.language.text.numbers import seconds_text
from gpusched_dsl.options.table import by_name
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.reporting.summary import size_text
from gpusched_dsl.solving.option_checks import as_flag, given_options, solve_options
from gpusched_dsl.workflows.method import Method, SolverMethod, choose_method
from gpusched_dsl.workflows.solve import SolveConfig, solve_compiled, solve_scenario

if TYPE_CHECKING:
    from gsdsl_backends.protocol import SolveOptions

DISTRIBUTED = "blocks that a solver prices (`decompose by`) and the controllers of policies (`split`)"
SOLVER_LOG: dict[str, dict[str, bool | int]] = {"highs": {"output_flag": True}, "scip": {"display/verblevel": 4}}


def run(options: argparse.Namespace, output: Output) -> int:
    _check_targets(options)
    values = {**vars(options), "solver_options": _solver_options(options)}
    clock = Deadline()
    instance = choose_instance(options, output)
    method = _method(instance, options)
    refuse_options("solve", vars(options), options.method, method.proves)
    if isinstance(instance, LoadedProblem):
        _refuse_for_problem(options)
    if options.show and not isinstance(instance, LoadedProblem):
        check_shown(options.show, instance.scenario.model)
    with log_phase("starting the solver"):
        method.backend()  # starts its process
    if STDOUT in (options.json, options.html):
        output.only_diagnostics()
    listener = _Announcer(options, output, ProgressMonitor(output.note, options.time_limit), method)
    with engine_in_use(options.engine, options.workers) as use:
        if isinstance(instance, LoadedProblem):
            result = _solve_compiled(instance, method, solve_options(values), clock, listener)
        else:
            result = _solve_scenario(SolveConfig.of(instance, method, values), clock, listener)
    output.report(result.warnings)
    if use is not None and not use.used:
        output.note(f"no worker was needed: only {DISTRIBUTED} are distributed")
    with log_phase("printing and writing"):
        show_result(result, output, options.show)
        show_other_solutions(result, output)
        output.report(() if result.contradiction is None else (result.contradiction,))
        _write(result, options, output)
    result.solved.close()
    return exit_code(result)


def _refuse_for_problem(options: argparse.Namespace) -> None:
    """Refuse options that a compiled problem cannot have, before a long solve."""
    given = given_options("solve", vars(options))
    for name, row in by_name("solve", "cli").items():
        if name in given and "problem" in row.absent:
            message = f"`{as_flag(name)}` needs a `.gsm` file: {row.absent['problem']}"
            raise CommandLineError("GSM6002", message, "solve the `.gsm` file")


def _method(instance: SelectedScenario | LoadedProblem, options: argparse.Namespace) -> Method:
    """Return the solver or policy of `--method`. With `--verbose`, a solver runs in this process."""
    from gsdsl_backends.isolation.backend import guard
    from gsdsl_backends.registry import backend

    load = backend if options.verbose else guard
    if isinstance(instance, LoadedProblem):
        return SolverMethod(options.method, load=load, relax=options.relax)
    return choose_method(
        instance.workspace,
        options.method,
        instance.scenario.model,
        judge=options.judge,
        load=load,
        relax=options.relax,
    )


def _solve_scenario(config: SolveConfig, clock: Deadline, listener: _Announcer) -> Result:
    from gpusched_dsl.solving.methods import means_policy

    output, start = listener.output, config.warm_start
    if config.method.is_policy or (start is not None and means_policy(config.scenario.workspace, start)):
        from gpusched_dsl.cli.kernels import announce_compiling

        announce_compiling(output)
    listener.watch.stage(READING)
    solved = solve_scenario(config, clock=clock, monitor=listener.watch, listener=listener)
    statistics_of_plans = (
        [solved.solution.statistics] if solved.plan is None else [solved.plan.statistics, solved.solution.statistics]
    )
    if compile_seconds := sum(statistics.get("compile_seconds", 0.0) for statistics in statistics_of_plans):
        from gpusched_dsl.cli.kernels import report_compiling

        report_compiling(compile_seconds, output)
    seconds = solved.solution.statistics.get("bound_seconds")
    if seconds is not None and solved.solution.bound is None:
        output.note(f"{config.method.judge().name} proved no bound in {seconds_text(seconds)}")
    return solved.result


def _solve_compiled(
    loaded: LoadedProblem, method: Method, requested: SolveOptions, clock: Deadline, listener: _Announcer
) -> Result:
    from gpusched_dsl.solving.starts import entries_of_file

    path = listener.options.warm_start
    start = None if path is None else entries_of_file(Path(path))
    listener.announce(loaded.problem.name, size_text(loaded.problem))
    with listener.working_context():
        return solve_compiled(
            loaded.problem,
            loaded.provenance,
            method.backend(),
            requested,
            start,
            relax=listener.options.relax,
            duals=listener.options.duals,
            clock=clock,
            monitor=listener.watch,
        )


class _Announcer(ProgressListener):
    """Also write the problem before the solve begins."""

    def __init__(self, options: argparse.Namespace, output: Output, watch: ProgressMonitor, method: Method) -> None:
        super().__init__(output, watch, show=not options.verbose)
        self.options, self.method = options, method

    def has_read(self, built: Built) -> None:
        self.output.report(built.warnings)

    def has_built(self, built: Built) -> None:

        aggregated, sizes = built.aggregated, []
        if aggregated is not None:
            sizes.append(size_text(aggregated.quotient.full_size))
            if not self.method.is_policy:
                sizes.append(f"with {aggregated.quotient.root} aggregated: {size_text(aggregated.problem)}")
        elif built.shares_of is not None:
            jobs = len(built.instance.store.universes[built.shares_of].labels)
            sizes.append(f"share by share of {jobs:,} elements of {built.shares_of}")
        elif not self.method.is_policy:  # for a policy the complete problem is never grounded
            sizes.append(size_text(built.problem))
        self.announce(scenario_title(built.scenario.model.name, built.scenario.name), *sizes)

    def announce(self, problem: str, *sizes: str) -> None:
        judge = f", completed by {self.options.judge}" if self.method.is_policy else ""
        for line in (f"{problem}, with {self.options.method}{judge}", *sizes, ""):
            self.output.say(line)
        self.output.flush()


def exit_code(result: Result) -> int:
    """Return 0 for a solution, 70 for one that is better than its bound, else the code of the status (see `exits`)."""
    if result.contradiction is not None:
        return exits.INTERNAL
    if result.has_point:
        return exits.OK
    match result.status:
        case Status.INFEASIBLE | Status.INFEASIBLE_OR_UNBOUNDED | Status.BROKEN:
            return exits.INFEASIBLE
        case Status.UNBOUNDED:
            return exits.UNBOUNDED
    return exits.INTERRUPTED if result.reason == "interrupt" else exits.NO_SOLUTION_YET


def _check_targets(options: argparse.Namespace) -> None:
    """Refuse unwritable targets before a long solve."""
    check_targets(json=options.json, html=options.html)
    check_reports(options.report, Result)
    check_figures(options.figures)
    if options.csv is not None:
        from gpusched_dsl.data.sources.writing import check_writable

        check_writable(Path(options.csv), folder=True)


def _solver_options(options: argparse.Namespace) -> dict[str, bool | int | float | str]:
    given = solver_options(options.solver_options)
    return {**SOLVER_LOG.get(options.method, {}), **given} if options.verbose else given


def _write(result: Result, options: argparse.Namespace, output: Output) -> None:
    if options.csv is not None and not result.has_point:
        output.note(f"nothing to write into {options.csv}: there is no solution")
        options.csv = None
    write_forms(result, options, output)
