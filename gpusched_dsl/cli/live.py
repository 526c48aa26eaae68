"""`gsdsl run --live`: reads events as lines of JSON and writes decisions to standard output."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.crash import crash_diagnostic
from gpusched_dsl.cli.instance import run_config
from gpusched_dsl.cli.output import Output
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.solving.option_checks import as_flag


def run(options: argparse.Namespace, output: Output) -> int:
    """Return 0 at the end of the events, even if the run can be resumed; 3 if a plan violates the model."""
    for name in ("methods", "seeds", "replay", "json", "csv", "html", "figures", "report", "bound", "why_gap"):
        if getattr(options, name, None):
            message = f"`{as_flag(name)}` is only for simulated runs, not for `--live`"
            raise CommandLineError("GSM6002", message, "remove one of them")
    from gpusched_dsl.online.planners.violations import VIOLATED
    from gpusched_dsl.workflows.live import run_live_loop

    output.only_diagnostics()
    diagnostics = Diagnostics()
    workspace = load_workspace(Path(options.file), diagnostics, allow_outside=options.allow_outside)
    diagnostics.raise_if_errors()
    output.report(diagnostics)
    warnings: list[Diagnostic] = []
    has_ended = run_live_loop(
        workspace,
        options.live,
        sys.stdout.buffer,
        run_config(options),
        start=options.start,
        report_from=options.tell_from,
        defect=lambda failure: crash_diagnostic(failure, sys.argv),
        report=warnings.extend,
    )
    output.report(warnings)
    if not has_ended:
        journal_note = (
            f"all of them are in {options.journal}"
            if options.journal
            else ("without `--journal` they are not recorded")
        )
        output.note(f"no more events; {journal_note}")
    return exits.INFEASIBLE if any(warning.code == VIOLATED for warning in warnings) else exits.OK
