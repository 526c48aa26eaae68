"""`gsdsl why`: why a job runs where it does, or waits, at some time of a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.documents import STDOUT, check_targets, write_forms
from gpusched_dsl.cli.instance import cluster_settings, read_workspace, run_config
from gpusched_dsl.cli.kernels import announce_compiling
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import watch_progress
from gpusched_dsl.policies.library import is_policy


def run(options: argparse.Namespace, output: Output) -> int:
    from gpusched_dsl.solving.variants.solver import VariantSolver
    from gsdsl_backends.registry import backend

    check_targets(json=options.json)
    judge, path = backend(options.judge), Path(options.file)
    settings = cluster_settings(path, options.at) if path.suffix == ".toml" else None
    if settings is None and options.at is None:
        raise CommandLineError("GSM6002", "`--at` is missing", "state the time of the run to explain, such as --at 2h")
    workspace = read_workspace(path if settings is None else settings.model, options.allow_outside, output)
    if is_policy(workspace, options.method if settings is None else settings.method):
        announce_compiling(output)
    if options.json == STDOUT:
        output.only_diagnostics()
    with watch_progress(output, show=output.shows_progress) as watch:
        solver = VariantSolver(judge, options.patience, watch)
        if settings is not None:
            from gpusched_dsl.cli.edges import cluster_function

            explanation = cluster_function("why")(
                workspace, settings, options.job, solver=solver,
                report=lambda warning: output.report([warning]),
            )  # fmt: skip
        else:
            from gpusched_dsl.workflows.why import why

            explanation = why(
                workspace, options.job, options.at, run_config(options), solver=solver,
                report=lambda warning: output.report([warning]),
            )  # fmt: skip
    for line in explanation.lines():
        output.say_wrapped(line)
    write_forms(explanation, options, output)
    return exits.OK
