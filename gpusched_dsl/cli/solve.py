"""`gsdsl solve`: build a scenario, solve it, show and write what came out."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments import UsageError
from gpusched_dsl.cli.instance import LoadedProblem, SelectedScenario, choose_instance, read_instance
from gpusched_dsl.cli.kernels import announce_compiling, tell_compiled
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import ProgressMonitor, watch_progress
from gpusched_dsl.cli.show import show_result
from gpusched_dsl.cli.solver_options import own_options
from gpusched_dsl.compiling.build import with_counts, with_problem
from gpusched_dsl.compiling.passes.names import folds
from gpusched_dsl.compiling.provenance import Provenance
from gpusched_dsl.data.sources.writing import check_writable, write_text
from gpusched_dsl.ir.deadline import READING, Deadline, StoppedEarly, limit
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.text.counting import count_text
from gpusched_dsl.language.text.numbers import seconds_text
from gpusched_dsl.reporting.document import json_text
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.reporting.summary import size_text

if TYPE_CHECKING:
    from gpusched_dsl.backends.protocol import Backend, Monitor, SolveOptions
    from gpusched_dsl.solving.aggregated import Entries
    from gpusched_dsl.solving.solution import Solution

STDOUT = "-"
SOLVER_LOG: dict[str, dict[str, bool | int]] = {"highs": {"output_flag": True}, "scip": {"display/verblevel": 4}}


def run(options: argparse.Namespace, output: Output) -> int:
    from gpusched_dsl.backends.isolation.backend import guard
    from gpusched_dsl.backends.registry import backend
    from gpusched_dsl.solving.solve import deadline_of

    _check_targets(options)
    asked = _solver_options(options)
    clock = Deadline()
    wanted = choose_instance(options, output)
    if options.bound and wanted.policy is None:
        message = f"`--bound` goes with a policy: `{options.backend}` proves a bound by itself"
        raise UsageError("GSM6002", message, "leave it out")
    name = options.backend if wanted.policy is None else options.judge
    solver = backend(name) if options.verbose else guard(name)  # the log of a solver is written where it works
    if options.json == STDOUT:
        output.only_findings()
    watch = ProgressMonitor(output.note)
    attempt = _Attempt(options, output, watch, solver, asked, wanted, clock)
    # A policy always makes its first plan: no limit ends what it needs for that.
    with deadline_of(None if wanted.policy is not None else clock.rest_of(asked.time_limit), watch):
        try:
            attempt.build()
            with limit(clock.rest_of(asked.time_limit)):
                solved, told = attempt.solve()
        except StoppedEarly as stopped:
            solved, told = attempt.stopped(stopped), ()
    output.report((*told, *solved.warnings))
    origins = attempt.origins()
    result = Result(solved, replace(origins, warnings=(*origins.warnings, *told)))
    show_result(result, output)
    output.report(() if result.contradiction is None else (result.contradiction,))
    _write(result, options, output)
    solved.close()
    return exit_code(result)


class _Attempt:
    """One solve of the command line, which Ctrl-C and the time limit may end at every step."""

    def __init__(
        self,
        options: argparse.Namespace,
        output: Output,
        watch: ProgressMonitor,
        solver: Backend,
        asked: SolveOptions,
        wanted: SelectedScenario | LoadedProblem,
        clock: Deadline,
    ) -> None:
        self.options, self.output, self.watch = options, output, watch
        self.solver, self.asked, self.wanted = solver, asked, wanted
        self.clock = clock  # from the beginning of the command
        self.show = output.shows_progress and not options.verbose
        self.opened = wanted if isinstance(wanted, LoadedProblem) else None
        self.start: Entries | None = None
        self.plan: Solution | None = None  # that of the policy to start from

    def build(self) -> None:
        """Read the data, plan a start, and make the problem of a solver."""
        if isinstance(self.wanted, SelectedScenario):
            self.watch.stage(READING)
        with watch_progress(self.output, show=self.show, watch=self.watch):
            if isinstance(self.wanted, SelectedScenario):
                self.opened = read_instance(self.wanted, self.options, self.output, whole=False)
            assert self.opened is not None
            start = _start(self.opened, self.options)
            if isinstance(start, CheckedPolicy):
                judge = self.options.judge
                start, self.plan = _planned_start(self.opened, start, self.asked, judge, self.output, self.watch)
            self.start = start
            built, fold = self.opened.built, folds(self.asked.without)
            if built is not None and self.opened.policy is None:
                self.opened = replace(self.opened, built=with_problem(built, fold=fold))
            elif built is not None:
                with limit(self.clock.rest_of(self.asked.time_limit)):
                    self.opened = replace(self.opened, built=with_counts(built, fold=fold))
        _say_what(self.opened, self.options, self.output)

    def solve(self) -> tuple[Solution, tuple[Diagnostic, ...]]:
        opened, output, watch = self.opened, self.output, self.watch
        assert opened is not None
        with watch_progress(output, show=self.show, watch=watch):
            if opened.policy is not None:
                bound = self.options.bound
                return _plan(opened, opened.policy, self.solver, self.asked, self.start, bound, output, watch)
            from gpusched_dsl.workflows.early_stop import with_plan

            solved, told = _solve(opened, self.solver, self.asked, self.start, watch)
            return with_plan(solved, self.plan), told

    def stopped(self, stopped: StoppedEarly) -> Solution:
        """What there is where the problem was not built in time."""
        from gpusched_dsl.solving.unfinished import unfinished_solution
        from gpusched_dsl.workflows.early_stop import stopped_solve

        if isinstance(self.wanted, LoadedProblem):
            return unfinished_solution(self.wanted.problem, self.solver, self.asked, None, stopped)
        model = self.wanted.scenario.model
        return stopped_solve(model, self.wanted.policy, self.solver, self.asked, stopped, self.plan)

    def origins(self) -> Provenance:
        if self.opened is not None:
            return self.opened.origins
        assert isinstance(self.wanted, SelectedScenario)
        wanted = self.wanted
        return Provenance(
            model=wanted.scenario.model,
            scenario=wanted.scenario.name,
            build_seconds=time.perf_counter() - self.watch.began + wanted.seconds,
            warnings=wanted.warnings,
            settings=wanted.settings,
        )


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


def _start(opened: LoadedProblem, options: argparse.Namespace) -> Entries | CheckedPolicy | None:
    """Where to start: the values of a file, or the policy that shall make them."""
    from gpusched_dsl.policies.library import policy_named
    from gpusched_dsl.solving.methods import means_policy
    from gpusched_dsl.solving.starts import entries_of_file

    given = options.warm_start
    if given is None:
        return None
    if opened.built is not None and opened.workspace is not None and means_policy(opened.workspace, given):
        return policy_named(opened.workspace, given, opened.built.scenario.model)
    return entries_of_file(Path(given))


def _planned_start(
    opened: LoadedProblem,
    policy: CheckedPolicy,
    options: SolveOptions,
    judge: str,
    output: Output,
    watch: ProgressMonitor,
) -> tuple[Entries | None, Solution]:
    """The plan of the policy that `--warm-start` names."""
    from gpusched_dsl.workflows.solve_by_policy import start_by_policy

    assert opened.built is not None
    watch.begin(f"{policy.name} for a start")
    announce_compiling(output)
    start, plan, told = start_by_policy(opened.built, policy, judge, replace(options, extra={}), watch)
    tell_compiled(plan.statistics["compile_seconds"], output)
    output.report(told)
    watch.begin("")
    return start, plan


def _plan(
    opened: LoadedProblem,
    policy: CheckedPolicy,
    judge: Backend,
    options: SolveOptions,
    start: Entries | None,
    bound: bool,
    output: Output,
    watch: ProgressMonitor,
) -> tuple[Solution, tuple[Diagnostic, ...]]:
    """The plan of a policy, with the bound of a solver if that is asked for."""
    from gpusched_dsl.workflows.solve_by_policy import solve_by_policy, with_bound

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


def _solve(
    opened: LoadedProblem, backend: Backend, options: SolveOptions, start: Entries | None, monitor: Monitor
) -> tuple[Solution, tuple[Diagnostic, ...]]:
    from gpusched_dsl.solving.aggregated import solve_built
    from gpusched_dsl.solving.solve import solve_problem
    from gpusched_dsl.solving.starts import point_from

    if opened.built is not None:
        return solve_built(opened.built, backend, options, start, monitor)
    point, told = (None, []) if start is None else point_from(opened.problem, start)
    return solve_problem(opened.problem, backend, options, point, monitor), tuple(told)


def _say_what(opened: LoadedProblem, options: argparse.Namespace, output: Output) -> None:
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
        output.note(f"wrote {count_text(len(files), 'file')} into {options.csv}")
    else:
        output.note(f"nothing to write into {options.csv}: there is no solution")
