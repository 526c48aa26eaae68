"""A text in a cell becomes a checked model."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from gpusched_dsl.api import Model, load, loads
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.diagnostics.html import render_html
from gpusched_dsl.language.diagnostics.render import render_text
from gsdsl_notebook.frontend import in_marimo

NAME = "cell"  # of the text in diagnostics


def gsm(text: str, *, file: str | Path | None = None, allow_outside: bool = False) -> Model:
    """Return the model of a text whose imports and data are relative to the current folder.

    With `file`, the text is also written to this file, which other texts may import. Warnings are shown. Errors raise
    DiagnosticError, which notebooks show without a traceback; in marimo they end the cell, with the text underlined.
    """
    try:
        model = _read(text, file, allow_outside)
        _show(model.check())
    except DiagnosticError as error:
        _end_cell(error)
        raise
    return model


def _read(text: str, file: str | Path | None, allow_outside: bool) -> Model:
    if file is None:
        return loads(text, NAME, base=Path.cwd(), allow_outside=allow_outside)
    from gpusched_dsl.data.sources.writing import write_text

    write_text(Path(file), text)
    return load(file, allow_outside=allow_outside)


def _show(diagnostics: Iterable[Diagnostic]) -> None:
    """Write warnings to the output of the cell."""
    text = render_text(diagnostics, color=not in_marimo())
    if text:
        sys.stdout.write(text)


def _end_cell(error: DiagnosticError) -> None:
    """End a cell of marimo and those that depend on it, with the diagnostics as its output."""
    if in_marimo():
        import marimo

        marimo.stop(True, marimo.Html(render_html(error.diagnostics)))
