"""`gsdsl compare`: one scenario by several solvers and policies, one table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.documents import STDOUT, check_figures, check_reports, check_targets, report_trials
from gpusched_dsl.cli.instance import open_scenario
from gpusched_dsl.cli.kernels import announce_compiling, report_compiling
from gpusched_dsl.cli.listener import ProgressListener
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import ProgressMonitor
from gpusched_dsl.compiling.build import Built
from gpusched_dsl.ir.deadline import Deadline
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.scenarios.scenario import scenario_title

if TYPE_CHECKING:
    from gpusched_dsl.reporting.comparison import Comparison


def run(options: argparse.Namespace, output: Output) -> int:
    from gpusched_dsl.workflows.compare import CompareConfig, compare
    from gpusched_dsl.workflows.method import SolverMethod
    from gsdsl_backends.isolation.backend import guard

    _check_targets(options)
    clock, watch = Deadline(), ProgressMonitor(output.note, options.time_limit, for_each=True)
    config = CompareConfig.of(open_scenario(options, output), vars(options))
    for solver in (
        *(m for m in config.methods if isinstance(m, SolverMethod)),
        SolverMethod(options.judge, load=guard),
    ):
        solver.backend()  # their processes start
    policies = any(method.is_policy for method in config.methods)
    only_diagnostics = STDOUT in (options.json, options.csv, options.html)
    listener = _Announcer(output, watch, policies=policies, only_diagnostics=only_diagnostics)
    comparison = compare(config, clock=clock, monitor=watch, listener=listener)
    report_compiling(sum(row.compile_seconds for row in comparison.rows), output)
    report_trials(comparison, options, output)
    return _exit_code(comparison)


class _Announcer(ProgressListener):
    """Also write the compared scenario before the first method runs."""

    def __init__(self, output: Output, watch: ProgressMonitor, *, policies: bool, only_diagnostics: bool) -> None:
        super().__init__(output, watch)
        self.policies, self.only_diagnostics = policies, only_diagnostics

    def has_built(self, built: Built) -> None:
        output, scenario = self.output, built.scenario
        output.report(built.warnings)
        if self.only_diagnostics:
            output.only_diagnostics()
        output.say(scenario_title(scenario.model.name, scenario.name))
        output.say()
        output.flush()
        if self.policies:
            announce_compiling(output)


def _check_targets(options: argparse.Namespace) -> None:
    """Refuse unwritable targets before a long run."""
    check_targets(json=options.json, csv=options.csv, html=options.html)
    if options.report:
        from gpusched_dsl.reporting.comparison import Comparison

        check_reports(options.report, Comparison)
    check_figures(options.figures)


def _exit_code(comparison: Comparison) -> int:
    """Return 70 if a value is better than the bound, 0 if a method has a plan, else the code of the first row."""
    if comparison.contradictions:
        return exits.INTERNAL
    if comparison.best is not None or any(row.result is not None and row.result.has_point for row in comparison.rows):
        return exits.OK
    if comparison.interrupted:
        return exits.INTERRUPTED
    statuses = [row.result.status for row in comparison.rows if row.result is not None]
    if not statuses:
        return exits.BAD_INPUT
    if any(s in (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED, Status.BROKEN) for s in statuses):
        return exits.INFEASIBLE
    return exits.UNBOUNDED if Status.UNBOUNDED in statuses else exits.NO_SOLUTION_YET
