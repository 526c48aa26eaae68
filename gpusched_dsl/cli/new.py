"""`gsdsl new`: creates a starter project that passes check, solve and test."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.starters import TEMPLATES, starter_files
from gpusched_dsl.data.sources.writing import cannot_write, make_folder, write_text
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


def run(options: argparse.Namespace, output: Output) -> int:
    if options.list:
        for template, (purpose, _) in TEMPLATES.items():
            output.say_wrapped(f"{template:<9}  {purpose}")
        return exits.OK
    if options.name is None:
        raise CommandLineError(
            "GSM6002", "the name of the project is missing", "`gsdsl new NAME`, or `gsdsl new --list`"
        )
    if options.template not in TEMPLATES:
        help = did_you_mean(options.template, TEMPLATES) or f"the templates are {', '.join(TEMPLATES)}"
        raise CommandLineError("GSM6002", f"unknown template `{options.template}`", help)
    folder = Path(options.name)
    name = folder.name
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name, re.ASCII):
        raise DiagnosticError(
            [
                Diagnostic(
                    "GSM6002",
                    f"`{options.name}` is not a valid name of a project",
                    help="use letters, digits, `-`, `_` and `.`, and start with a letter or a digit",
                )
            ]
        )
    _refuse_taken(folder)
    make_folder(folder)
    for file, text in starter_files(name, options.template).items():
        write_text(folder / file, text)
        output.say(f"wrote {folder / file}")
    output.say(f"\nnext: gsdsl solve {folder / name}.gsm, gsdsl run {folder / name}.gsm")
    return exits.OK


def _refuse_taken(folder: Path) -> None:
    """Raise DiagnosticError if a file exists that must not be overwritten."""
    try:
        taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    except OSError as failure:
        raise DiagnosticError([cannot_write(folder, failure)]) from failure
    if taken:
        message = f"`{folder}` already exists and is not an empty folder"
        raise DiagnosticError([Diagnostic("GSM6011", message, help="choose another name")])
