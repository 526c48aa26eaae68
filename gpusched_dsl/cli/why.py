"""`gsdsl why`: why a job runs where it does, or waits, at some time of a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.documents import STDOUT, check_targets, write_document
from gpusched_dsl.cli.instance import read_workspace, run_config
from gpusched_dsl.cli.kernels import announce_compiling
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import watch_progress
from gpusched_dsl.policies.library import is_policy


def run(options: argparse.Namespace, output: Output) -> int:
    from gpusched_dsl.backends.registry import backend
    from gpusched_dsl.explaining.clock import SearchClock
    from gpusched_dsl.workflows.why import why

    check_targets(options.json)
    judge = backend(options.judge)
    workspace = read_workspace(Path(options.file), options.allow_outside, output)
    if is_policy(workspace, options.method):
        announce_compiling(output)
    if options.json == STDOUT:
        output.only_diagnostics()
    with watch_progress(output, show=output.shows_progress) as watch:
        explanation = why(
            workspace,
            options.job,
            options.at,
            run_config(options),
            judge=judge,
            clock=SearchClock(options.patience, watch),
            report=lambda warning: output.report([warning]),
        )
    for line in explanation.lines():
        output.say_wrapped(line)
    if options.json is not None:
        write_document(explanation.json_text(), options.json, output)
    return exits.OK
