"""`gsdsl flexibility`: how much power a cluster can guarantee to shed, at what cost, and which jobs move."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.documents import STDOUT, check_targets, write_forms
from gpusched_dsl.cli.instance import open_scenario, solver_options
from gpusched_dsl.cli.listener import ProgressListener
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import ProgressMonitor

if TYPE_CHECKING:
    from gpusched_dsl.reporting.flexibility import Flexibility


def run(options: argparse.Namespace, output: Output) -> int:
    from gpusched_dsl.solving.option_checks import solve_options
    from gpusched_dsl.workflows.flexibility.asked import FlexibilityConfig, read_days
    from gpusched_dsl.workflows.flexibility.run import flexibility, solver_named
    from gsdsl_backends.isolation.backend import guard

    check_targets(json=options.json, csv=options.csv)
    config = FlexibilityConfig.of(vars(options), read_days(options.days))
    if options.scenario is None:
        options.scenario = config.days[0].scenario
    scenario = open_scenario(options, output)
    backend = solver_named(options.method, guard)
    if STDOUT in (options.json, options.csv):
        output.only_diagnostics()
    requested = solve_options({**vars(options), "solver_options": solver_options(options.solver_options)})
    watch = ProgressMonitor(output.note, options.time_limit, for_each=True)
    listener = ProgressListener(output, watch)
    result = flexibility(scenario, config, backend, requested, monitor=watch, listener=listener, load=guard)
    output.report(result.warnings)
    for line in result.lines():
        output.say(line)
    write_forms(result, options, output)
    return exit_code(result, interrupted=watch.stop_requested)


def exit_code(result: Flexibility, *, interrupted: bool) -> int:
    """Return 0 if a shed can be guaranteed; else 3, or 5 or 130 if days were not finished for a limit or Ctrl-C."""
    if result.guaranteed > 0:
        return exits.OK
    if interrupted:
        return exits.INTERRUPTED
    return exits.NO_SOLUTION_YET if any(day.status == "limit" for day in result.days) else exits.INFEASIBLE
