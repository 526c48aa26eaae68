"""`gsdsl check`: checks files completely without a solver."""

from __future__ import annotations

import argparse

from msgspec import structs

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.instance import permissions, refuse_options
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.paths import gsm_files
from gpusched_dsl.ir.log import log_phase
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.language.workspace import Workspace, load_workspace
from gpusched_dsl.workflows.check import WEAKENED, check_all


def run(options: argparse.Namespace, output: Output) -> int:
    refuse_options("check", vars(options))
    allowed, deep = permissions(options), (options.method or "highs") if options.deep else None
    several = len(files := gsm_files(options.files)) > 1
    for path in files:
        before = output.errors
        diagnostics = Diagnostics()
        with log_phase("text and checks"):
            workspace = load_workspace(path, diagnostics, allow_outside=options.allow_outside)
        if not diagnostics.has_errors:
            with log_phase("checking with data"):
                check_all(workspace, diagnostics, allowed, deep)
        output.report(map(_as_error, diagnostics) if options.strict else diagnostics)
        if output.errors == before:
            grounded = ", grounded" if options.deep else ""
            verdict = "incomplete, a data file is missing" if _lacks_files(diagnostics) else "ok"
            output.say(f"{f'{path}: ' if several else ''}{verdict}: {contents(workspace)}{grounded}")
    return exits.BAD_INPUT if output.errors else exits.OK


def _as_error(diagnostic: Diagnostic) -> Diagnostic:
    """Turn a warning into an error. A note, such as on the rows of a log that cannot be used, remains one."""
    is_warning = diagnostic.severity == Severity.WARNING
    return structs.replace(diagnostic, severity=Severity.ERROR) if is_warning else diagnostic


def _lacks_files(diagnostics: Diagnostics) -> bool:
    return any(diagnostic.code in WEAKENED for diagnostic in diagnostics)


def contents(workspace: Workspace) -> str:
    """`1 model, 2 scenarios, 1 test`, of a file with its imports."""
    counts: list[tuple[int, str, str]] = [
        (len(workspace.models), "model", "models"),
        (len(workspace.scenarios), "scenario", "scenarios"),
        (len(workspace.tests), "test", "tests"),
        (len(workspace.policies), "policy", "policies"),
        (len(workspace.onlines), "online block", "online blocks"),
        (len(workspace.campaigns), "campaign", "campaigns"),
    ]
    return ", ".join(count_text(n, singular, plural) for n, singular, plural in counts if n) or "nothing declared"
