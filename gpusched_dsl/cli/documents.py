"""Documents that commands write to a file or to standard output."""

from __future__ import annotations

from pathlib import Path

from gpusched_dsl.cli.output import Output
from gpusched_dsl.data.sources.writing import check_writable, write_text

STDOUT = "-"


def check_targets(*targets: str | None) -> None:
    """Check before a long computation that files can be written; raise DiagnosticError (GSM6008)."""
    for target in targets:
        if target not in (None, STDOUT):
            check_writable(Path(target))


def write_document(text: str, target: str, output: Output) -> None:
    """Write a text to a file and report it, or write it to standard output."""
    if target == STDOUT:
        print(text, end="")
    else:
        write_text(Path(target), text)
        output.note(f"wrote {target}")
