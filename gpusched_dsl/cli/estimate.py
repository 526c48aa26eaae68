"""`gsdsl estimate`: the start and end of a job in a run, its cost, and the probability that it is late."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.documents import STDOUT, check_targets, write_forms
from gpusched_dsl.cli.instance import cluster_settings, read_workspace, run_config
from gpusched_dsl.cli.kernels import announce_compiling
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import watch_progress
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.policies.library import is_policy


def run(options: argparse.Namespace, output: Output) -> int:
    from gpusched_dsl.workflows.estimate import estimate

    check_targets(json=options.json, csv=options.csv)
    path = Path(options.file)
    settings = cluster_settings(path, options.at) if path.suffix == ".toml" else None
    workspace = read_workspace(path if settings is None else settings.model, options.allow_outside, output)
    if is_policy(workspace, options.method if settings is None else settings.method):
        announce_compiling(output)
    changes = options.changes if options.alternatives or options.changes else None
    if STDOUT in (options.json, options.csv):
        output.only_diagnostics()
    with watch_progress(output, show=output.shows_progress) as watch:
        watch.begin("running")
        if settings is not None:
            from gpusched_dsl.cli.edges import cluster_function

            result = cluster_function("estimate")(
                workspace, settings, options.job, samples=options.samples, changes=changes,
                arrivals=not options.no_arrivals, stop=lambda: watch.stop_requested,
                report=lambda warning: output.report([warning]),
            )  # fmt: skip
        else:
            result = estimate(
                workspace,
                options.job,
                run_config(options),
                at=options.at,
                samples=options.samples,
                changes=changes,
                stop=lambda: watch.stop_requested,
                tell=lambda done: watch.begin(f"{count_text(done, 'run')} of {options.samples}"),
            )
    for line in result.lines():
        output.say_wrapped(line)
    if changes is not None and result.alternatives is None:
        output.say(_no_alternatives(result.state))
    write_forms(result, options, output)
    return exits.OK if result.unfinished < result.samples else exits.NO_SOLUTION_YET


def _no_alternatives(state: str) -> str:
    if state == "waiting":
        return "alternatives are only found for plans at events, not for plans of time slots"
    return f"no alternatives: the job is {state}"
