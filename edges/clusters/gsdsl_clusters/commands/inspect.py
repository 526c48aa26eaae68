"""`gsdsl inspect`: a look at a cluster or a history of jobs, without a model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.documents import STDOUT, check_targets, write_forms
from gpusched_dsl.cli.instance import permissions
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import watch_progress
from gpusched_dsl.cli.trace import diagnostic_of
from gpusched_dsl.data.sources.files import FileLimits, Unreadable
from gpusched_dsl.data.sources.writing import check_writable
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

if TYPE_CHECKING:
    from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot


def print_commands(source: str, output: Output) -> None:
    """Print the commands that save what an inspection of a live cluster reads."""
    from gsdsl_clusters.inspecting.readers.slurm_documents import script
    from gsdsl_clusters.inspecting.reading import LIVE_SLURM

    if source != LIVE_SLURM:
        help = "`gsdsl inspect slurm --commands`"
        raise DiagnosticError([Diagnostic("GSM6002", "`--commands` is for the source `slurm`", help=help)])
    for line in script().split("\n"):
        output.say(line)


def run(options: argparse.Namespace, output: Output) -> int:
    from gsdsl_clusters.inspecting.inspection import inspect
    from gsdsl_clusters.inspecting.reading import read_snapshot

    if options.commands:
        print_commands(options.source, output)
        return exits.OK
    check_targets(json=options.json, html=options.html)
    if options.csv is not None:
        check_writable(Path(options.csv), folder=True)
    check_model_folder(options.write)
    limits = FileLimits.within(permissions(options).memory, allow_outside=True)
    if STDOUT in (options.json, options.html):
        output.only_diagnostics()
    with watch_progress(output, show=output.shows_progress) as watch:
        watch.begin("reading")
        try:
            snapshot = read_snapshot(
                options.source, limits, form=options.format, zone=options.timezone, nodes=options.nodes
            )
        except Unreadable as error:
            raise DiagnosticError([diagnostic_of(fault) for fault in error.faults]) from None
        watch.begin("simulating")
        found = inspect(snapshot, seed=options.seed, price=options.price)
    for line in found.lines():
        output.say(line)
    if options.write is not None:
        write_model(snapshot, options.write, None, output)
    write_forms(found, options, output)
    return exits.OK


def check_model_folder(folder: str | None) -> None:
    """Check before a long computation that a model can be written there. Raises DiagnosticError (GSM5610)."""
    from gsdsl_clusters.inspecting.written_model import FILES, check_free

    if folder is not None:
        check_free(Path(folder), FILES)


def write_model(snapshot: ClusterSnapshot, folder: str, driver: str | None, output: Output) -> None:
    """Write a model of the cluster, and report what it leaves out and the next command.

    Raises DiagnosticError (GSM5610, GSM5611, GSM6008).
    """
    from gsdsl_clusters.inspecting.written_model import model_folder

    found = model_folder(snapshot, driver)
    found.write(Path(folder))
    output.note(f"wrote {', '.join(found.files)} to {folder}")
    for each in found.left_out:
        output.note(f"the model leaves out: {each}")
    output.note(f"next: the commands in {Path(folder) / 'README.md'}")
