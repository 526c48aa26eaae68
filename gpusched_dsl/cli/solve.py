"""`gsdsl solve`: build a scenario, solve it, show and write what came out."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments import UsageError
from gpusched_dsl.cli.instance import Opened, open_instance
from gpusched_dsl.cli.kernels import announce_compiling, tell_compiled
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import Watch, watching
from gpusched_dsl.cli.show import show_result
from gpusched_dsl.cli.solver_options import own_options
from gpusched_dsl.compiling.passes.names import folds
from gpusched_dsl.ir.answer import Status
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics import Diagnostic
from gpusched_dsl.reporting.document import json_text
from gpusched_dsl.reporting.files import check_writable, write_text
from gpusched_dsl.reporting.numbers import seconds_text
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.reporting.summary import size_text

if TYPE_CHECKING:
    from gpusched_dsl.backends.protocol import Backend, Monitor, SolveOptions
    from gpusched_dsl.backends.solved import Solved
    from gpusched_dsl.folding import Entries

STDOUT = "-"
SOLVER_LOG: dict[str, dict[str, bool | int]] = {"highs": {"output_flag": True}, "scip": {"display/verblevel": 4}}


def run(options: argparse.Namespace, output: Output) -> int:
    from gpusched_dsl.backends.registry import backend

    _check_targets(options)
    solver_options = _solver_options(options)
    opened = open_instance(options, output, fold=folds(solver_options.without))
    if options.bound and opened.policy is None:
        message = f"`--bound` goes with a policy: `{options.backend}` proves a bound by itself"
        raise UsageError("GSM6002", message, "leave it out")
    chosen = backend(options.backend if opened.policy is None else options.judge)
    start = _start(opened, options)
    if options.json == STDOUT:
        output.only_findings()
    _say_what(opened, options, output)
    with watching(output, show=output.shows_progress and not options.verbose) as watch:
        if isinstance(start, CheckedPolicy):
            start = _planned_start(opened, start, solver_options, options.judge, output, watch)
        if opened.policy is not None:
            solved, told = _planned(opened, opened.policy, chosen, solver_options, start, options.bound, output, watch)
        else:
            solved, told = _solved(opened, chosen, solver_options, start, watch)
    output.report((*told, *solved.warnings))
    origins = opened.origins
    result = Result(solved, replace(origins, warnings=(*origins.warnings, *told)))
    show_result(result, output)
    output.report(() if result.contradiction is None else (result.contradiction,))
    _write(result, options, output)
    solved.close()
    return exit_code(result)


def exit_code(result: Result) -> int:
    """0 with a solution, 70 with one that is better than its bound, else by the status (see `exits`)."""
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
    """Find out before a long solve that its result could not be written."""
    if options.json not in (None, STDOUT):
        check_writable(Path(options.json))
    if options.csv is not None:
        check_writable(Path(options.csv), folder=True)


def _solver_options(options: argparse.Namespace) -> SolveOptions:
    from gpusched_dsl.backends.protocol import SolveOptions

    extra = own_options(options.solver_option)
    if options.verbose:
        extra = {**SOLVER_LOG.get(options.backend, {}), **extra}
    return SolveOptions(
        options.time_limit,
        options.gap,
        options.threads,
        options.seed,
        extra,
        without=frozenset(options.without),
        heuristic=options.heuristic,
        decompose=options.decompose,
    )


def _start(opened: Opened, options: argparse.Namespace) -> Entries | CheckedPolicy | None:
    """Where to start: the values of a file, or the policy that shall make them."""
    from gpusched_dsl.methods import means_policy
    from gpusched_dsl.policy_library import policy_named
    from gpusched_dsl.reporting.points import entries_of_file

    given = options.warm_start
    if given is None:
        return None
    if opened.built is not None and opened.workspace is not None and means_policy(opened.workspace, given):
        return policy_named(opened.workspace, given, opened.built.scenario.model)
    return entries_of_file(Path(given))


def _planned_start(
    opened: Opened, policy: CheckedPolicy, options: SolveOptions, judge: str, output: Output, watch: Watch
) -> Entries | None:
    """The plan of the policy that `--warm-start` names."""
    from gpusched_dsl.planning import start_by_policy

    assert opened.built is not None
    watch.begin(f"{policy.name} for a start")
    announce_compiling(output)
    start, plan, told = start_by_policy(opened.built, policy, judge, replace(options, extra={}), watch)
    tell_compiled(plan.statistics["compile_seconds"], output)
    output.report(told)
    watch.begin("")
    return start


def _planned(
    opened: Opened,
    policy: CheckedPolicy,
    judge: Backend,
    options: SolveOptions,
    start: Entries | None,
    bound: bool,
    output: Output,
    watch: Watch,
) -> tuple[Solved, tuple[Diagnostic, ...]]:
    """The plan of a policy, with the bound of a solver if that is asked for."""
    from gpusched_dsl.planning import solve_by_policy, with_bound

    assert opened.built is not None
    announce_compiling(output)
    solved, told = solve_by_policy(opened.built, policy, judge, options, start, watch)
    tell_compiled(solved.statistics["compile_seconds"], output)
    if bound and not watch.stop_requested:
        watch.begin(f"bound by {judge.name}")
        solved = with_bound(opened.built, solved, judge, options, watch)
        if solved.bound is None:
            output.note(f"{judge.name} proved no bound in {seconds_text(solved.statistics['bound_seconds'])}")
    return solved, told


def _solved(
    opened: Opened, backend: Backend, options: SolveOptions, start: Entries | None, monitor: Monitor
) -> tuple[Solved, tuple[Diagnostic, ...]]:
    from gpusched_dsl.backends.driver import solve_problem
    from gpusched_dsl.folding import solve_built
    from gpusched_dsl.reporting.points import point_from

    if opened.built is not None:
        return solve_built(opened.built, backend, options, start, monitor)
    point, told = (None, []) if start is None else point_from(opened.problem, start)
    return solve_problem(opened.problem, backend, options, point, monitor), tuple(told)


def _say_what(opened: Opened, options: argparse.Namespace, output: Output) -> None:
    """The header, before the solver starts."""
    from gpusched_dsl.compiling.symmetry.full_size import full_size

    built = opened.built
    folded = None if built is None else built.folded
    name = opened.problem.name if built is None else built.scenario.model.name
    scenario = f", scenario {built.scenario.name}" if built is not None and built.scenario.name else ""
    judge = f", judged by {options.judge}" if opened.policy is not None else ""
    output.say(f"{name}{scenario}, with {options.backend}{judge}")
    if folded is not None:
        output.say(size_text(full_size(folded.quotient)))
        if opened.policy is None:
            output.say(f"with {folded.quotient.root} counted: {size_text(folded.problem)}")
    elif opened.policy is None:  # for a policy the problem is never grounded whole
        output.say(size_text(opened.problem))
    output.say()
    output.flush()


def _write(result: Result, options: argparse.Namespace, output: Output) -> None:
    if options.json == STDOUT:
        print(json_text(result.to_dict()), end="")
    elif options.json is not None:
        write_text(Path(options.json), json_text(result.to_dict()))
        output.note(f"wrote {options.json}")
    if options.csv is None:
        return
    if result.has_point:
        files = result.to_csv(options.csv)
        output.note(f"wrote {len(files)} files into {options.csv}")
    else:
        output.note(f"nothing to write into {options.csv}: there is no solution")
