"""Documents that commands write to a file or to standard output."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpusched_dsl.cli.output import Output
from gpusched_dsl.data.sources.writing import check_writable, write_text
from gpusched_dsl.language.text.numbers import count_text

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


def write_figures(pages: Mapping[str, str], folder: str, output: Output) -> None:
    """Write the charts of pages as SVG files; with several pages, the name of a page precedes that of its files."""
    import re

    from gpusched_dsl.data.sources.writing import make_folder
    from gpusched_dsl.reporting.pages.figures import figures

    make_folder(Path(folder))
    count = 0
    for name, page in pages.items():
        for file, text in figures(page).items():
            head = "" if len(pages) == 1 else re.sub(r"[^A-Za-z0-9_.]+", "-", name) + "-"
            write_text(Path(folder) / f"{head}{file}", text)
            count += 1
    output.note(f"wrote {count_text(count, 'file')} into {folder}")
